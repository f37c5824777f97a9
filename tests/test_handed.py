"""Arrays that one loop fills for the next are numbers; where that could be seen, they stay arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(7)
X = RNG.normal(size=40)
ROWS = RNG.integers(-40, 40, size=23)


def of_rows(x, rows, w):
    return x[rows] @ w[: len(rows)] if len(w) >= len(rows) else 0.0


def sparse_product(starts, columns, values, x):
    y = np.empty(starts.size - 1)
    for i in range(starts.size - 1):
        first, last = starts[i], starts[i + 1]
        y[i] = values[first:last] @ x[columns[first:last]]
    return y


def two_sums(x, rows):
    part = x[rows]
    return np.sum(part * part), np.sum(part)


def filled_by_hand(x):
    t = np.empty(len(x))
    for k in range(len(x)):
        y = x[k]
        while y < 2.0:
            y = y * 1.5 + 1.0
        t[k] = y
    return np.sum(t * x)


def single(x, rows):
    return np.sum(x[rows].astype(np.float32) * np.float32(0.1))


def running_sums(x):
    first = np.cumsum(x)
    return np.sum(np.cumsum(first * first))


def smoothed_twice(x, w):
    y, z = np.empty(len(x)), np.empty(len(x))
    s = t = 0.5
    for i in range(len(x)):
        s += w * (x[i] - s)
        y[i] = s
    for i in range(len(x)):
        t += w * (y[i] - t)
        z[i] = t
    return s, t, np.max(np.cumsum(z))


def ended_before(x):
    first = np.cumsum(x)
    return np.cumsum(first)[-1] / first[-1]


def kept(x, rows):
    part = x[rows]
    return np.sum(part), part


def shifted(x, rows):
    part = x[rows]
    total = 0.0
    for j in range(1, len(rows)):
        total += part[j - 1] * part[j]
    return total


def with_function(x, rows):
    return np.sum(np.exp(-(x[rows] ** 2)))


def index_after(x):
    t = np.empty(len(x))
    k = -1
    for k in range(len(x)):
        t[k] = x[k] * 2.0
    return np.sum(t) + k


def both_looked_up(x, rows):
    return np.sum(x[rows] * x[rows + 1])


def counted_in(x, rows):
    part = x[rows]
    counts = np.zeros(3)
    for j in range(len(rows)):
        counts[j % 3] += part[j]
    return counts


PROGRAMS: dict[Callable[..., Any], tuple[Any, ...]] = {
    running_sums: (X,),
    smoothed_twice: (X, 0.2),
    ended_before: (X,),
    of_rows: (X, ROWS, RNG.normal(size=23)),
    sparse_product: (np.array([0, 3, 3, 10, 23]), ROWS, RNG.normal(size=23), X),
    two_sums: (X, ROWS),
    filled_by_hand: (np.abs(X) + 0.1,),
    single: (X, ROWS),
    kept: (X, ROWS),
    shifted: (X, ROWS),
    with_function: (X, ROWS),
    index_after: (X,),
    both_looked_up: (X, ROWS - 1),
    counted_in: (X, ROWS),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_same_numbers(program: Any) -> None:
    args = PROGRAMS[program]
    found, expected = sg.compile(program)(*args), program(*args)
    together = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for value, plain in together:
        assert np.asarray(value).dtype == np.asarray(plain).dtype
        np.testing.assert_allclose(value, plain, rtol=1e-6 if program is single else 1e-13)


@pytest.mark.parametrize(
    "program", [of_rows, sparse_product, two_sums, filled_by_hand, running_sums], ids=lambda p: p.__name__
)
def test_no_array_is_between(program: Any) -> None:
    made = sg.compile(program, mode=sg.opt.FAST_RUN.excluding("masked"))
    text = sg.inspect(made, *PROGRAMS[program]).cpu
    assert text.count("empty(") == (program is sparse_product), text


@pytest.mark.parametrize("program", [kept, shifted, ended_before], ids=lambda p: p.__name__)
def test_what_others_read_stays_an_array(program: Any) -> None:
    assert "empty(" in sg.inspect(program, *PROGRAMS[program]).cpu


def test_functions_are_called_for_several_elements() -> None:
    """A loop that may raise would call ``exp`` element by element."""
    text = sg.inspect(with_function, X, ROWS).cpu
    assert text.index("raise") < text.index("exp("), text
    assert text.count("for ") > 1


@pytest.mark.parametrize("bad", [-41, 40])
def test_what_is_seen_when_an_index_is_out_of_range(bad: int) -> None:
    rows = np.array([0, 1, bad, 2])

    def stored(out, x, rows):
        part = x[rows]
        for j in range(len(rows)):
            out[j] = part[j]

    for program in (stored, sg.compile(stored)):
        out = np.zeros(4)
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 40"):
            program(out, X, rows)
        np.testing.assert_array_equal(out, 0.0)


def test_what_raises_first_is_raised() -> None:
    def summed(x, rows):
        part = x[rows]
        total, count = 0.0, 1
        for j in range(len(rows)):
            total += part[j]
            count *= 10
        return total, count

    rows = np.zeros(30, np.int64)
    rows[25] = 99
    for program in (summed, sg.compile(summed)):
        with pytest.raises(IndexError, match="index 99"):
            program(X, rows)


def test_derivative_of_a_sparse_product() -> None:
    starts, columns, values, x = PROGRAMS[sparse_product]

    def loss(starts, columns, values, x):
        return np.sum(sparse_product(starts, columns, values, x) ** 2)

    d_values, d_x = sg.grad(loss, argnums=(2, 3))(starts, columns, values, x)
    dense = np.zeros((4, 40))
    for i in range(4):
        for k in range(starts[i], starts[i + 1]):
            dense[i, columns[k]] += values[k]
    np.testing.assert_allclose(d_x, 2.0 * dense.T @ (dense @ x), rtol=1e-12)
    y = 2.0 * (dense @ x)
    rows = np.repeat(np.arange(4), np.diff(starts))
    np.testing.assert_allclose(d_values, y[rows] * x[columns], rtol=1e-12)
    text = sg.inspect(sg.grad(loss, argnums=(2, 3)), starts, columns, values, x).cpu
    assert "append" not in text


def cleared(x):
    """The array that is read is stored over before the trip ends."""
    d = x * 2.0
    t = np.empty(len(x))
    for k in range(len(x)):
        t[k] = d[k] * d[k]
        d[k] = 0.0
    total = 0.0
    for k in range(len(x)):
        total += x[k] * t[k]
    return total + np.sum(d)


def of_first(w, out):
    for i in range(out.shape[0]):
        for t in range(out.shape[1]):
            out[i, t] = 1.0 / (1.0 + w[i, 0] ** 2) + w[i, t]
    return np.sum(out * out)


def of_first_column(w, out):
    for t in range(out.shape[1]):
        out[:, t] = 1.0 / (2.0 + w[:, 0] ** 2) + w[:, t]
    return np.sum(out * out)


def test_what_is_stored_over_is_read_before() -> None:
    assert sg.compile(cleared)(X) == pytest.approx(cleared(X), rel=1e-12)
    w, out = RNG.normal(size=(5, 6)), np.zeros((5, 6))
    for f in (of_first, of_first_column):
        found, rest = sg.grad(f, argnums=(0, 1))(w, out)
        assert not np.any(rest)
        for at in np.ndindex(w.shape):
            step = np.zeros_like(w)
            step[at] = 1e-6
            near = (f(w + step, out.copy()) - f(w - step, out.copy())) / 2e-6
            assert found[at] == pytest.approx(near, rel=1e-6, abs=1e-6)


# -- elements made anew where they are ------------------------------------------------------------


def looked_up_and_scaled(x, rows):
    return x[rows] * 2.0


def looked_up_and_more(x, rows):
    return 1.0 - x[rows] * rows


def looped_and_scaled(x, rows):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] + 1.0
    out *= out
    return out


def changed_twice(x, rows):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] + 1.0
    for i in range(len(x)):
        out[i] = out[i] * out[i] - out[i]
        out[i] -= x[i]
    return out


def changed_in_part(x, rows):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] + 1.0
    for i in range(len(x) - 1):
        out[i] *= 2.0
    return out


def read_beside(x, rows):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] + 1.0
    for i in range(len(x)):
        out[i] = out[i] * out[i // 2]
    return out


def changed_if(x, rows):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] + 1.0
    for i in range(len(x)):
        if x[i] > 0.0:
            out[i] *= 2.0
    return out


ONE_LOOP = [looked_up_and_scaled, looked_up_and_more, looped_and_scaled]
APART = [changed_twice, changed_in_part, read_beside, changed_if]


@pytest.mark.parametrize("program", [*ONE_LOOP, *APART], ids=lambda p: p.__name__)
def test_elements_made_anew(program: Any) -> None:
    for x, rows in ((X, ROWS), (X[:1], np.zeros(1, np.int64)), (X, ROWS[:0])):
        np.testing.assert_allclose(sg.compile(program)(x, rows), program(x, rows), rtol=1e-15)
    with pytest.raises(IndexError, match="index 99 is out of bounds"):
        sg.compile(looked_up_and_scaled)(X, np.array([0, 99, 1]))


@pytest.mark.parametrize("program", ONE_LOOP, ids=lambda p: p.__name__)
def test_elements_made_anew_in_one_loop(program: Any) -> None:
    text = sg.compile(program).python(X, ROWS)
    assert sum(line.startswith("    for ") for line in text.splitlines()) == 1 and "fails" not in text


def test_long_formulas_are_computed_for_several_elements() -> None:
    def polynomial(x, rows):
        y = x[rows]
        return ((((y * 0.1 + 0.2) * y + 0.3) * y + 0.4) * y + 0.5) * y + 0.6

    text = sg.compile(polynomial).python(X, ROWS)
    assert sum(line.startswith("    for ") for line in text.splitlines()) == 2 and "fails" not in text
    np.testing.assert_allclose(sg.compile(polynomial)(X, ROWS), polynomial(X, ROWS), rtol=1e-14)
