"""Stores that nobody reads are left out; all others stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcgraph as sg

WITH_STORES = sg.opt.FAST_RUN.excluding("unread")


def squares(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = x[i] * x[i]
    return y.sum()


def scaled_twice(x):
    y = x.copy()
    for i in range(len(x)):
        y[i] = np.sin(y[i]) * y[i]
        y[i] = y[i] * x[i]
    return np.dot(y, x)


def table(x, n):
    y = np.empty((n, len(x)))
    for i in range(n):
        for j in range(len(x)):
            y[i, j] = x[j] ** (i + 1)
    return np.sum(y * y)


def running(x):
    """Each trip reads what the one before stored."""
    y = np.zeros(len(x) + 1)
    for i in range(len(x)):
        y[i + 1] = 0.5 * y[i] + x[i]
    return y.sum()


def twice_over(x, n):
    """What one trip of the outer loop stores, the next one reads."""
    y = x.copy()
    for _ in range(n):
        for i in range(len(x)):
            y[i] = 0.9 * y[i] + 0.1 * x[i]
    return np.sum(y * y)


def returned(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = 3.0 * x[i]
    return y


def looked_up(x, k):
    """Two trips may have one place."""
    y = np.zeros(3)
    last = 0.0
    for i in range(len(x)):
        last = y[k[i]] + x[i]
        y[k[i]] = last
    return last


def on_one_side(x):
    y = np.ones(len(x))
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0.3:
            y[i] = x[i]
        total += y[i] * x[i]
    return total


def seen_by_the_caller(x):
    for i in range(len(x)):
        x[i] = 2.0 * x[i]
    return 1.0


X = np.linspace(0.1, 0.9, 7)
PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (squares, (X,)),
    (scaled_twice, (X,)),
    (table, (X, 3)),
    (running, (X,)),
    (twice_over, (X, 4)),
    (looked_up, (X, np.array([0, 1, 0, 2, 1, 1, 0]))),
    (on_one_side, (X,)),
]


@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_the_same_numbers(program: Any, args: tuple[Any, ...]) -> None:
    assert sg.compile(program)(*args) == pytest.approx(program(*args), rel=1e-14)
    plainly = sg.grad(program, mode=WITH_STORES)(*args)
    np.testing.assert_allclose(sg.grad(program)(*args), plainly, rtol=1e-14)
    step = 1e-6 * np.cos(np.arange(X.size))
    difference = (program(args[0] + step, *args[1:]) - program(args[0] - step, *args[1:])) / 2.0
    np.testing.assert_allclose(np.dot(plainly, step), difference, rtol=1e-5)


@pytest.mark.parametrize(("program", "args"), [PROGRAMS[0], PROGRAMS[2]], ids=lambda p: getattr(p, "__name__", ""))
def test_no_zeros_are_stored(program: Any, args: tuple[Any, ...]) -> None:
    text = sg.inspect(sg.grad(program), *args).cpu
    assert "] = 0.0" in sg.inspect(sg.grad(program, mode=WITH_STORES), *args).cpu
    assert "] = 0.0" not in text, text


def test_what_others_see_is_stored() -> None:
    np.testing.assert_array_equal(sg.compile(returned)(X), 3.0 * X)
    given = X.copy()
    assert sg.compile(seen_by_the_caller)(given) == 1.0
    np.testing.assert_array_equal(given, 2.0 * X)
