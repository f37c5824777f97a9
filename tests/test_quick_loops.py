"""Loops as LLVM takes several steps of at a time: what changes in the text, and what does not in the numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly


def pairs(positions, masses):
    total = 0.0
    n = len(masses)
    for i in range(n):
        for j in range(i + 1, n):
            dx = positions[i, 0] - positions[j, 0]
            dy = positions[i, 1] - positions[j, 1]
            total -= masses[i] * masses[j] / math.sqrt(dx * dx + dy * dy + 0.01)
    return total


def below(x, y):
    """The index of the outer loop is above the inner one's."""
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            total += x[i] * y[j] * y[j]
    return total


def overlapping(x, y):
    """The outer index is one of the inner loop's: places meet."""
    total = 0.0
    for i in range(len(x)):
        for j in range(i, len(x)):
            total += x[i] * x[j] * y[j]
    return total


def carried(x):
    """Steps depend on each other."""
    level = 0.3
    for i in range(len(x)):
        level = level * x[i] + 0.1 * x[i] * x[i]
    return level


def weighted(w, x):
    """Two parameters that every step adds to."""
    total = 0.0
    for i in range(len(x)):
        total += w[0] * x[i] + w[1] * x[i] * x[i]
    return total


def guarded(x, first):
    """An index that is looked at before it is used."""
    total = 0.0
    for j in range(first - 3, len(x)):
        if j >= 0:
            total += x[j] * x[j]
    return total


def from_somewhere(x, first):
    out = np.zeros(len(x))
    for j in range(first, len(x)):
        out[j] = x[j] * 2.0
    return np.sum(out * x)


def partly(x, first):
    """Not every element is stored."""
    out = np.zeros(len(x))
    for j in range(len(x)):
        if x[j] > 0.9:
            out[j] = x[j] * 2.0
    return np.sum(out * x)


def left_early(x, first):
    out = np.zeros(len(x))
    for j in range(len(x)):
        if j == first:
            break
        out[j] = x[j] * 2.0
    return np.sum(out * x)


def diffused(u, steps):
    u = u.copy()
    for _ in range(steps):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (around - 4.0 * u[1:-1, 1:-1])
    return 0.5 * np.sum(u * u)


def spread(x, y):
    return np.sum(np.exp(x) * y)


def spread_along_rows(x, y):
    return np.sum(np.exp(x)[:, None] * y, axis=1)


def spread_at_places(x, y):
    d = x[1:] - x[:-1]
    return (d[1:] + d[:-1]) / (d[1:] * d[:-1] + 2.0) * y[:, 2:]


def rows_times(a, n):
    total = 0.0
    for i in range(n):
        total += np.sum((a[:, i] @ a[:, i:]) ** 2)
        total += np.sum(a[i:, :] @ a[i])
        total += np.sum(a[i, :2] @ a[:2, 1:].T[:, :2].T)
    return total


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).uniform(0.5, 1.5, shape)


PROGRAMS: list[tuple[Callable, Callable[[int], tuple[Any, ...]], int | tuple[int, ...]]] = [
    (pairs, lambda n: (numbers(n, 2), numbers(n)), (0, 1)),
    (below, lambda n: (numbers(n), numbers(n)), (0, 1)),
    (overlapping, lambda n: (numbers(n), numbers(n)), (0, 1)),
    (carried, lambda n: (numbers(n),), 0),
    (weighted, lambda n: (numbers(2), numbers(n)), (0, 1)),
    (guarded, lambda n: (numbers(n), 1), 0),
    (from_somewhere, lambda n: (numbers(n), 2), 0),
    (partly, lambda n: (numbers(n), 2), 0),
    (left_early, lambda n: (numbers(n), 2), 0),
    (diffused, lambda n: (numbers(n + 1, n + 2), 3), 0),
    (spread, lambda n: (numbers(n), numbers(4, n)), (0, 1)),
]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 70, 600])
@pytest.mark.parametrize(("program", "given", "argnums"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS])
def test_values_and_gradients(program: Callable, given: Callable, argnums: Any, n: int) -> None:
    args = given(n)
    np.testing.assert_allclose(sg.compile(program)(*args), program(*args), rtol=1e-11)
    found = sg.grad(program, argnums=argnums)(*args)
    direction = [numbers(*np.shape(args[k])) for k in np.atleast_1d(argnums)]
    parts = found if isinstance(found, tuple) else (found,)
    slope = sum(float(np.sum(d * p)) for d, p in zip(direction, parts, strict=True))
    h = 1e-6
    up, down = (
        program(*[a + s * h * direction[list(np.atleast_1d(argnums)).index(k)] if k in np.atleast_1d(argnums) else a
                  for k, a in enumerate(args)])
        for s in (1, -1)
    )  # fmt: skip
    assert slope == pytest.approx((up - down) / (2 * h), rel=2e-6, abs=1e-6)


def test_upwards_and_in_registers() -> None:
    text = sg.inspect(sg.grad(pairs), numbers(70, 2), numbers(70)).cpu
    assert "blocks(i + 1, n)" in text and "plus(" in text
    text = sg.inspect(sg.grad(weighted), numbers(2), numbers(70)).cpu
    assert "blocks(n)" in text and "range(n - 1, -1, -1)" not in text


def test_order_is_kept_where_it_matters() -> None:
    text = sg.inspect(sg.grad(carried), numbers(70)).cpu
    assert "range(n - 1, -1, -1)" in text


def test_places_that_meet_stay_in_memory() -> None:
    gradient = sg.grad(overlapping, mode=sg.opt.FAST_RUN.excluding("raised"))
    text = sg.inspect(gradient, numbers(70), numbers(70)).cpu
    assert "d_x[j] +=" in text


def test_nothing_is_zero_first() -> None:
    assert "zeros" not in sg.inspect(sg.grad(carried), numbers(70)).cpu
    for program in (partly, left_early, from_somewhere):
        assert "zeros" in sg.inspect(program, numbers(70), 2).cpu


def test_rows_together() -> None:
    """What a stencil's derivative adds goes row by row."""
    text = sg.inspect(sg.grad(diffused), numbers(70, 70), 3).cpu
    back = text[text.index("d_u") :]
    assert back.count("for i in range(n") == 2 and sum("_older[" in line for line in back.splitlines()) == 1


def test_what_is_stretched_is_computed_once() -> None:
    """One exponential for each element of x, not for each of y."""
    for program in (spread, spread_along_rows):
        text = sg.inspect(program, numbers(70), numbers(70, 70)).cpu
        assert text.index("exp(x[i])") < text.index("for j in")


def test_cheap_parts_are_computed_again() -> None:
    """A number read at two places of one nest is two numbers."""
    x, y = numbers(70), numbers(3, 70)
    np.testing.assert_allclose(sg.compile(spread_at_places)(x, y), spread_at_places(x, y), rtol=1e-13)


@pytest.mark.parametrize("order", ["C", "F"])
def test_parts_of_matrices(order: Any) -> None:
    """Rows, columns and blocks are multiplied where they are."""
    a = np.asarray(numbers(40, 40), order=order)
    assert "matmul(a[:, i], a[:, i:])" in sg.inspect(rows_times, a, 40).cpu
    assert sg.compile(rows_times)(a, 40) == pytest.approx(rows_times(a, 40), rel=1e-12)
    sg.grad(rows_times, verify=True)(np.asarray(numbers(6, 6), order=order), 5)


def named_as_helpers(w, x, indices):
    blocks = 0.0
    plus = w[0]
    for i in range(len(x)):
        blocks += plus * x[i] + w[1] * x[i] * x[i] * indices
    return blocks


def test_names_that_helpers_have() -> None:
    """A variable of the user's that is called like a helper keeps its meaning."""
    x = numbers(70)
    slope = sg.grad(named_as_helpers)(numbers(2), x, 1.5)
    np.testing.assert_allclose(slope, [np.sum(x), 1.5 * np.sum(x * x)], rtol=1e-12)


def test_sums_over_no_columns() -> None:
    """A short loop of no steps leaves nothing where it is written out."""

    def total(m, x):
        b = m + x
        for i in range(1, len(m)):
            b[i][:0:-1] -= -0.8 * x[1:]
        return np.sum(b * b)

    m, x = np.array([[0.3], [0.5], [0.2]]), np.array([0.7])
    slopes = sg.grad(total, argnums=(0, 1))(m, x)
    np.testing.assert_allclose(slopes[0], 2.0 * (m + x), rtol=1e-14)
    np.testing.assert_allclose(slopes[1], [2.0 * np.sum(m + x)], rtol=1e-14)
