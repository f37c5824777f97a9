"""Loops around nests over elements go inside, where each element gets the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

RNG = np.random.default_rng(5)
X = RNG.normal(size=(9, 11))
K = RNG.normal(size=(3, 3))


def convolved(x, k, n):
    rows, columns = x.shape
    out = np.zeros((rows - 2, columns - 2))
    for a in range(3):
        for b in range(3):
            out += k[a, b] * x[a : a + rows - 2, b : b + columns - 2]
    return out


def boxes(x, k, n):
    rows, columns = x.shape
    out = np.zeros((rows - 2 * n, columns - 2 * n))
    for a in range(-n, n + 1):
        for b in range(-n, n + 1):
            out += x[n + a : rows - n + a, n + b : columns - n + b]
    return out / (2 * n + 1) ** 2


def polynomial(x, k, n):
    y, power = np.zeros(x.shape[1]), np.ones(x.shape[1])
    for i in range(k.shape[0] * n):
        y += k[i % 3, 0] * power
        power *= x[0]
    return y


def horner(x, k, n):
    y = np.zeros_like(x)
    for i in range(n, -1, -1):
        y = y * x + float(k[0, i])
    return y


def with_exponentials(x, k, n):
    y = np.ones_like(x)
    for i in range(3):
        y += np.exp(-k[i, 0] * x * y)
    return y


def of_neighbours(x, k, n):
    """What a step makes the next one reads beside it."""
    u = np.zeros(x.shape[1])
    for _ in range(n + 2):
        for j in range(1, x.shape[1]):
            u[j] += 0.5 * u[j - 1] + x[0, j]
    return u


def counted(x, k, n):
    """A number goes from element to element."""
    y, total = np.zeros(x.shape[1]), 0.0
    for _ in range(n):
        for j in range(x.shape[1]):
            total += x[0, j]
            y[j] += total
    return y, total


def last_index(x, k, n):
    y, i, factor = np.zeros(x.shape[1]), 7, 0.0
    for i in range(n):
        factor = k[i, 0]
        for j in range(x.shape[1]):
            y[j] += factor * x[0, j]
    return y, i, factor


def triangle(x, k, n):
    """The steps say over what the elements go."""
    y = np.zeros(x.shape[1])
    for i in range(n + 3):
        for j in range(min(i, len(y))):
            y[j] += x[0, j] * (i + 1)
    return y


def of_itself(x, k, n):
    """Steps read what all of the step before have made."""
    y = np.ones(x.shape[1])
    for _ in range(n):
        total = np.sum(y)
        for j in range(x.shape[1]):
            y[j] += 0.1 * total * x[0, j]
    return y


def into_an_argument(x, k, n):
    for i in range(n):
        for j in range(x.shape[1]):
            x[0, j] += k[i, 0] * x[1, j]
    return x


def never(x, k, n):
    y = np.full(x.shape[1], 2.0)
    for i in range(n - 2):
        for j in range(x.shape[1]):
            y[j] *= x[0, j] + i
    return y


def rows_and_their_sum(x, k, n):
    """One array has an element for each step, and one does not."""
    scaled, total = np.empty(x.shape), np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            scaled[i, j] = x[i, j] * k[0, 0]
            total[j] += scaled[i, j]
    return scaled, total


def few_rows_and_their_sum(x, k, n):
    scaled, total = np.empty((3, x.shape[1])), np.zeros(x.shape[1])
    for i in range(3):
        for j in range(x.shape[1]):
            scaled[i, j] = x[i, j] * k[0, 0]
            total[j] += scaled[i, j]
    return scaled, total


def moved_to_a_copy(x, k, n):
    """With no step it is the argument itself."""
    y = x[0]
    for _ in range(n):
        y = 0.9 * y * (1.0 - 0.1 * y)
    return y


def where_a_mask_is_set(x, k, n):
    rows, columns = x.shape
    out = np.full((rows - 2, columns - 2), -np.inf)
    for a in range(3):
        for b in range(3):
            if k[a, b] > 0.0:
                out = np.maximum(out, x[a : a + rows - 2, b : b + columns - 2])
    return out


def where_the_array_says(x, k, n):
    """What steps store says what the next one does."""
    y = np.zeros(x.shape[1])
    for _ in range(3):
        if y[0] <= 0.5:
            for j in range(x.shape[1]):
                y[j] += abs(x[0, j])
    return y


def column_sums(x, k, n):
    """Each step has a row of its own: nothing is gone through again."""
    total = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total[j] += x[i, j]
    return total


def in_narrow_arrays(x, k, n):
    """What is stored is rounded, and wraps, in each step."""
    y, z = np.zeros(x.shape[1], np.float32), np.zeros(x.shape[1], np.int8)
    for a in range(3):
        for j in range(x.shape[1]):
            y[j] += 0.1 * x[0, j] + a
            z[j] = (z[j] + 9) * 3 // 2
    return y, z


EXCHANGED = [convolved, boxes, polynomial, horner, with_exponentials, never, moved_to_a_copy]
EXCHANGED += [where_a_mask_is_set, in_narrow_arrays]
LEFT = [
    of_neighbours,
    counted,
    last_index,
    triangle,
    of_itself,
    into_an_argument,
    rows_and_their_sum,
    few_rows_and_their_sum,
    where_the_array_says,
]


def outcome(program: Callable[..., Any], *args: Any) -> list[np.ndarray]:
    args = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    found = program(*args)
    return [np.asarray(part) for part in (*(found if isinstance(found, tuple) else (found,)), *args)]


@pytest.mark.parametrize("program", [*EXCHANGED, *LEFT], ids=lambda p: p.__name__)
def test_values(program: Callable[..., Any]) -> None:
    for x in (X, X[:3, :3], np.asfortranarray(X), X.astype(np.float32)):
        for n in (1, 2):
            if program is boxes and x.shape[0] < 2 * n:
                continue
            for found, expected in zip(outcome(sg.compile(program), x, K, n), outcome(program, x, K, n), strict=True):
                assert found.dtype == expected.dtype and found.shape == expected.shape
                np.testing.assert_allclose(found, expected, rtol=1e-13 if x.dtype == np.float64 else 1e-5, atol=1e-15)


@pytest.mark.parametrize("program", [*EXCHANGED[:-1], *LEFT], ids=lambda p: p.__name__)
def test_derivatives(program: Callable[..., Any]) -> None:
    slopes = np.cos(np.arange(X.size)).reshape(X.shape)

    def total(x):
        found = program(x.copy(), K, 2)
        return sum(np.sum(part) for part in found) if isinstance(found, tuple) else np.sum(found)

    found, pullback = sg.vjp(program, X.copy(), K, 2)
    parts = found if isinstance(found, tuple) else (found,)
    ones = tuple(np.ones_like(p) if np.asarray(p).dtype.kind == "f" else None for p in parts)
    near = (total(X + 1e-6 * slopes) - total(X - 1e-6 * slopes)) / 2e-6
    slope = np.sum(pullback(ones if isinstance(found, tuple) else ones[0])[0] * slopes)
    assert slope == pytest.approx(near, rel=1e-6, abs=1e-6)


def text(program: Callable[..., Any]) -> list[str]:
    return sg.compile(program).python(X, K, 2).splitlines()


def test_few_steps_are_made_for_each_element() -> None:
    lines = [line.split("#")[0].strip() for line in text(convolved)]
    loops = [line for line in lines if line.startswith("for ")]
    assert [loop.split()[1] for loop in loops] == ["a", "b", "i", "j", "a", "b"]  # the first are checks of k[a, b]
    assert "out[i, j] = out_ij" in lines


def test_other_steps_are_made_for_each_row_or_strip() -> None:
    loops = [line.split("#")[0].split() for line in text(boxes) if line.strip().startswith("for ")]
    assert [loop[1] for loop in loops] == ["i", "a", "b", "j", "j"]
    for program in (polynomial, horner):
        loops = [line for line in text(program) if line.strip().startswith("for ")]
        assert len(loops) == 3 if program is polynomial else loops[0].split()[1] == "i"


@pytest.mark.parametrize("program", LEFT, ids=lambda p: p.__name__)
def test_others_stay(program: Callable[..., Any]) -> None:
    mode = sg.opt.FAST_RUN.excluding("interchanged")
    lines = sg.compile(program, mode=mode).python(X, K, 2).splitlines()
    loops = [line for line in lines if line.startswith("    for ")]
    assert loops and not any(" start " in line for line in lines)


def test_what_is_out_of_range_is_raised_before() -> None:
    for k, x in ((K[:2], X), (K[:, :2], X), (K[:2], X[:2])):
        said = []
        for f in (convolved, sg.compile(convolved)):
            with pytest.raises(IndexError) as caught:
                f(x, k, 1)
            said.append(str(caught.value))
        assert said[0] == said[1]


def test_threads_share_rows() -> None:
    made = sg.compile(convolved, parallel=True)
    np.testing.assert_allclose(made(X, K, 1), convolved(X, K, 1), rtol=1e-13)
    assert "in_parallel" in made.python(X, K, 1)
