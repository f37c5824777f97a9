"""What loops ask of indices and floats: once, with the same errors, in Python's order of tests."""

from __future__ import annotations

import numpy as np
import pytest

import srcgraph as sg

X = np.linspace(-1.5, 2.5, 9)


def gathered(x, rows):
    s = 0.0
    for k in range(len(rows)):
        s += x[rows[k]] * (k + 1)
    return s


def counted(x, n):
    h = np.zeros(n)
    for i in range(len(x)):
        h[int(x[i])] += 1.0
    return h


ROWS = ([0, 1, -1], [-9, 8], [9], [-10], [2**62], [-(2**62)], [-(2**63)], [])


@pytest.mark.parametrize("rows", ROWS, ids=str)
def test_indices(rows):
    rows = np.array(rows, np.int64)
    try:
        expected = gathered(X, rows)
    except IndexError:
        with pytest.raises(IndexError, match=f"index {rows[0]} is out of bounds for axis 0 with size 9"):
            sg.compile(gathered)(X, rows)
    else:
        assert sg.compile(gathered)(X, rows) == pytest.approx(expected, rel=1e-15)


def test_asked_once():
    text = sg.compile(gathered).python(X, np.array([1]))
    assert "if not 0 <= " in text and " or " not in text


FLOATS = (1.0, -1.9, 2.999, -3.0, 3.0, -4.0, np.nan, np.inf, -np.inf, 1e19, -1e19, 2.0**63, -(2.0**63))


@pytest.mark.parametrize("x", FLOATS)
def test_floats(x):
    given = np.array([0.5, x])
    try:
        expected = counted(given, 3)
    except (IndexError, ValueError, OverflowError) as error:
        with pytest.raises(OverflowError if abs(x) >= 2.0**63 else type(error)):
            sg.compile(counted)(given, 3)
    else:
        np.testing.assert_array_equal(sg.compile(counted)(given, 3), expected)


def nearest(d, done):
    best, at = np.inf, -1
    for i in range(len(d)):
        if not done[i] and d[i] < best:
            best = d[i]
            at = i
    return best, at


def smaller_left(d, done):
    """What is read is read after the branch, too."""
    best = t = 0.0
    for i in range(len(d)):
        t = d[i]
        if not done[i] and t < best:
            best = t
    return best, t


def summed(d, done):
    s = 0.0
    for i in range(len(d)):
        if not done[i] and d[i] < 0.5:
            s += d[i]
    return s


@pytest.mark.parametrize("function", [nearest, smaller_left, summed], ids=lambda f: f.__name__)
@pytest.mark.parametrize("done", [np.arange(9) % 3 == 0, np.ones(9, bool), np.zeros(9, bool)], ids=str)
def test_tests(function, done):
    assert sg.compile(function)(X, done) == pytest.approx(function(X, done))


def test_elements_are_read_where_they_are_asked():
    """LLVM would make a chain of both tests, from step to step."""
    assert "if not done[i] and d[i] < best:" in sg.compile(nearest).python(X, X > 0)
    assert "and d_i < 0.5:" in sg.compile(summed).python(X, X > 0)


def of_times(x, first, last):
    return x * (last - first) ** 2 * 1e-18, (last - first) * 1000 // 7, (first - last) * (last - first - 2)


def test_products_of_differences():
    """Their terms would need more than 64 bits."""
    args = 1.5, 1_790_000_000_000_000_000, 1_790_000_000_000_100_000
    assert sg.compile(of_times)(*args) == of_times(*args)
    assert "(last - first) ** 2" in sg.compile(of_times).python(*args)


def neville(xs, ys, q):
    total, p = 0.0, np.empty(len(xs))
    for k in range(len(q)):
        for i in range(len(xs)):
            p[i] = ys[i]
        for m in range(1, len(xs)):
            for i in range(len(xs) - m):
                p[i] = ((q[k] - xs[i + m]) * p[i] + (xs[i] - q[k]) * p[i + 1]) / (xs[i] - xs[i + m])
        total += p[0]
    return total


@pytest.mark.parametrize("n", [1, 2, 6, 17])
def test_triangles(n):
    xs, q = np.linspace(0.0, 1.0, n), np.linspace(0.1, 0.9, 7)
    ys = np.sin(xs)
    assert sg.compile(neville)(xs, ys, q) == pytest.approx(neville(xs, ys, q), rel=1e-13)
