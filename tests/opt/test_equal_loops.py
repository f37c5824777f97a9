"""Loops and branches that do the same are one, and a loop that another does not change leaves it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def norm(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return np.sqrt(s)


def root(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def normalised(x):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] / norm(x)
    return y.sum() + norm(x)


def called_twice(a):
    return root(a) * root(a) + root(a + 1.0)


def branched_twice(x):
    def sign(v):
        if v > 0.0:
            w = np.sin(v)
        else:
            w = v * v
        return w

    return sign(x) + 2.0 * sign(x) + sign(-x)


def stored_between(x):
    y = x.copy()
    first = norm(y)
    y[0] = 7.0
    return first + norm(y)


def of_other_lengths(x):
    return norm(x) * norm(x[1:]) + norm(x)


def matrix_in_a_loop(a, n):
    total = 0.0
    for k in range(n):
        rows = np.zeros(len(a))
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                rows[i] += a[i, j] * a[i, j]
        total += k * rows.max()
    return total


def changed_in_the_loop(x, n):
    total = 0.0
    for k in range(n):
        total += norm(x) * k
        x = x * 0.5
    return total


def may_raise_inside(x, k, n):
    total = 0.0
    for _ in range(n):
        for i in range(k):
            total += x[i]
    return total


def stopped_by_a_break(x, n):
    count = 0.0
    for k in range(n):
        below = 0.0
        for i in range(len(x)):
            if x[i] > 2.5:
                break
            below += x[i]
        count += below * k
    return count


def printing(x):
    for v in x:
        print(v)
    for v in x:
        print(v)
    return x.sum()


def gathered_twice(x, at):
    return np.sum(x[at] * (1.0 + x[at]))


def gathered_and_stored(x, at):
    y = x[at]
    y[0] = 3.0
    return np.sum(y * x[at])


def gathered_apart(x, at):
    return x[at], x[at]


X = np.array([1.0, 2.0, 3.0, 0.5])
AT = np.array([2, -1, 0])
A = np.arange(6.0).reshape(2, 3)
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], int]] = [
    (normalised, (X,), 2),
    (called_twice, (2.0,), 4),
    (branched_twice, (0.7,), 2),
    (stored_between, (X,), 3),
    (gathered_twice, (X, AT), 2),
    (gathered_and_stored, (X, AT), 4),
    (of_other_lengths, (X,), 2),
    (matrix_in_a_loop, (A, 4), 5),
    (changed_in_the_loop, (X, 3), 3),
    (may_raise_inside, (X, 3, 2), 3),
    (stopped_by_a_break, (X, 3), 3),
]


@pytest.mark.parametrize(("function", "args", "most"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_value_gradient_and_loops(function: Callable[..., Any], args: tuple[Any, ...], most: int) -> None:
    assert sg.compile(function)(*args) == pytest.approx(function(*args), rel=1e-14)
    text = sg.inspect(function, *args).cpu
    found = sum(text.count(f"    {word} ") for word in ("for", "while", "if")) - text.count("in blocks(")
    assert found == most, text
    x = np.asarray(args[0])
    way = np.cos(np.arange(1.0, x.size + 1)).reshape(x.shape)
    step = 1e-6
    expected = (function(args[0] + step * way, *args[1:]) - function(args[0] - step * way, *args[1:])) / (2 * step)
    assert np.sum(sg.grad(function)(*args) * way) == pytest.approx(expected, rel=1e-7)


def test_results_are_apart() -> None:
    """What one loop makes is two arrays where the caller gets two."""
    first, second = sg.compile(gathered_apart)(X, np.array([0, 3]))
    first[0] = 9.0
    assert second.tolist() == [1.0, 0.5]
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        sg.compile(gathered_apart)(X, np.array([0, 4]))


@pytest.mark.parametrize(("n", "size"), [(0, 3), (2, 0), (0, 0)])
def test_no_trips(n: int, size: int) -> None:
    """A loop that leaves another runs where that has no trips, and does no harm."""
    a = np.ones((size, 2))
    if size == 0 and n > 0:
        with pytest.raises(ValueError):
            sg.compile(matrix_in_a_loop)(a, n)
    else:
        assert sg.compile(matrix_in_a_loop)(a, n) == matrix_in_a_loop(a, n)
    assert sg.compile(may_raise_inside)(np.ones(2), 5, 0) == 0.0


def test_what_is_seen_is_done_twice(capsys: pytest.CaptureFixture[str]) -> None:
    sg.compile(printing)(np.array([1.0, 2.0]))
    assert capsys.readouterr().out == "1.0\n2.0\n1.0\n2.0\n"
