"""Loops over rows that run row by row together, and what is left of arrays between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

RNG = np.random.default_rng(3)
X = RNG.uniform(0.5, 2.0, (7, 5))
P = RNG.normal(size=(9, 5))
ROWS = RNG.integers(-9, 9, size=7)
OTHERS = RNG.integers(-9, 9, size=7)


def scaled(x, rows, others):
    """A user's loops over elements, and code for arrays."""
    out = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * x[i, j] if x[i, j] > 1.0 else 0.0
    return out * 2.0 + x


def summed(x, rows, others):
    y = np.sqrt(x)
    out = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = y[i, j] / (1.0 + y[i, j])
    return out.sum(axis=1)


def normalized(x, rows, others):
    """A number for each row."""
    norms = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        norms[i] = np.sqrt(np.sum(x[i] ** 2))
    return x / norms[:, None]


def looked_up(x, rows, others):
    return x[rows % 7] * 2.0


def distances(x, rows, others):
    """Two rows that are looked up, and checked, for each number."""
    d = P[rows] - P[others]
    return np.sqrt((d**2).sum(axis=1))


def in_three_steps(x, rows, others):
    out = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] + 1.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] += out[i, j] / x[i, j]
    return np.sqrt(out * out), out


def other_variables(x, rows, others):
    n, m = x.shape
    out = np.empty((n, m))
    for r in range(n):
        for c in range(m):
            out[r, c] = x[r, c] - 1.0
    return out.max(axis=1)


def carried(x, rows, others):
    """A number that goes from row to row, in each of the two."""
    n, m = x.shape
    out = np.empty((n, m))
    s = t = 0.5
    for i in range(n):
        for j in range(m):
            s = 0.9 * s + x[i, j]
            out[i, j] = s
    for i in range(n):
        for j in range(m):
            t = 0.8 * t + out[i, j] * s
            out[i, j] -= t
    return out, s, t


def next_row(x, rows, others):
    n, m = x.shape
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = x[i, j] * 2.0
    for i in range(n - 1):
        for j in range(m):
            out[i, j] += out[i + 1, j]
    return out


def row_before(x, rows, others):
    n, m = x.shape
    out, total = np.empty((n, m)), np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = x[i, j] * 2.0
    for i in range(n):
        for j in range(m):
            total[i, j] = out[i - 1, j] + out[i, j]
    return total


def transposed(x, rows, others):
    n = len(x)
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = x[i, 0] * x[j, -1] + i
    return out * 2.0 - out.T


def kept_from_the_time_before(x, rows, others):
    """What a row holds is from the step before."""
    n, m = x.shape
    old, total = np.zeros((n, m)), 0.0
    for t in range(3):
        for i in range(n):
            for j in range(m):
                total += old[i, j] * x[i, j]
        for i in range(n):
            for j in range(m):
                old[i, j] = x[i, j] + t
    return total


def directions(x, rows, others):
    """Rows that are looked up, and needed twice."""
    d = x[rows % 7] - x[others % 7]
    return d / (1.0 + np.sqrt((d**2).sum(axis=1)))[:, None]


def stored_over(x, rows, others):
    """The row that is copied is stored over before the copy is read again."""
    y = x * 1.0
    total = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        t = np.empty(x.shape[1])
        for j in range(x.shape[1]):
            t[j] = y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = t[j] * t[-1]
        for j in range(x.shape[1]):
            total[j] += t[j] * y[i, j]
    return total, y


TOGETHER = [scaled, summed, normalized, looked_up, distances, in_three_steps, other_variables]
ALSO = [directions, stored_over]
APART = [carried, next_row, row_before, transposed, kept_from_the_time_before]


@pytest.mark.parametrize("program", [*TOGETHER, *APART, *ALSO], ids=lambda p: p.__name__)
def test_the_same_numbers(program: Any) -> None:
    for x in (X, X[:, :1], X[:, :3].astype(np.float32)):
        found, expected = sg.compile(program)(x, ROWS, OTHERS), program(x, ROWS, OTHERS)
        together = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for value, plain in together:
            assert np.asarray(value).dtype == np.asarray(plain).dtype
            np.testing.assert_allclose(value, plain, rtol=1e-12 if x.dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("program", [*TOGETHER, *APART, *ALSO], ids=lambda p: p.__name__)
def test_derivatives(program: Any) -> None:
    direction = np.cos(np.arange(X.size)).reshape(X.shape)

    def total(x):
        out = program(x, ROWS, OTHERS)
        return sum(np.sum(part) for part in out) if isinstance(out, tuple) else np.sum(out)

    out, pullback = sg.vjp(program, X, ROWS, OTHERS)
    ones = tuple(np.ones_like(part) for part in out) if isinstance(out, tuple) else np.ones_like(out)
    near = (total(X + 1e-6 * direction) - total(X - 1e-6 * direction)) / 2e-6
    assert np.sum(pullback(ones)[0] * direction) == pytest.approx(near, rel=1e-6, abs=1e-6)


def nests(program: Any) -> int:
    text = sg.compile(program).python(X, ROWS, OTHERS)
    return sum(line.startswith("    for ") for line in text.splitlines())


@pytest.mark.parametrize("program", TOGETHER, ids=lambda p: p.__name__)
def test_one_nest(program: Any) -> None:
    assert nests(program) == 1


@pytest.mark.parametrize("program", APART[:-1], ids=lambda p: p.__name__)
def test_rows_of_others_come_first(program: Any) -> None:
    assert nests(program) == 2


@pytest.mark.parametrize("program", [scaled, summed, normalized, distances], ids=lambda p: p.__name__)
def test_no_array_is_between(program: Any) -> None:
    assert sg.compile(program).python(X, ROWS, OTHERS).count("empty(") == 1


@pytest.mark.parametrize("bad", [(2, 5), (5, 2), (3, 3)], ids=str)
def test_what_is_checked_first_is_raised(bad: tuple[int, int]) -> None:
    rows, others = ROWS.copy(), OTHERS.copy()
    rows[bad[0]], others[bad[1]] = 90, 80
    for program in (distances, sg.compile(distances)):
        with pytest.raises(IndexError, match="index 90 is out of bounds for axis 0 with size 9"):
            program(X, rows, others)
        with pytest.raises(IndexError, match="index 80 is out of bounds for axis 0 with size 9"):
            program(X, ROWS, others)


def test_rows_are_read_where_they_are() -> None:
    text = sg.compile(directions).python(X, ROWS, OTHERS)
    assert text.count("empty(") == 1 and sum(line.startswith("    for ") for line in text.splitlines()) == 1
