"""Costly work that is the same in all trips of an outer loop, done before it; and what must stay in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(3)
X, K = RNG.normal(size=7), RNG.random(7)
A, B = RNG.normal(size=(4, 3)), RNG.normal(size=(6, 3))
PLAIN = sg.opt.FAST_RUN.excluding("distribute")
ALONE = sg.opt.FAST_RUN.excluding("tabulated", "strips")
"""Without what comes after it and does some of the same."""
NEITHER = ALONE.excluding("distribute")


def decay(x, k, steps=5):
    x = x.copy()
    for t in range(steps):
        for i in range(len(x)):
            x[i] = x[i] * np.exp(-k[i] * 0.1) + 0.01 * t
    return np.sum(x**2)


def until_at_rest(x, k):
    s, change = 0.0, 1.0
    while change > 1e-3:
        before = s
        for i in range(1, len(k)):
            s += 0.1 * np.sin(x[i]) * k[i] / (1 + s * s)
        change = abs(s - before) * 0.1 / (1 + abs(s))
    return s


def rows(a, b):
    t = 0.0
    for i in range(b.shape[0]):
        for j in range(a.shape[0]):
            e = np.exp(a[j])
            t += np.sum(e * b[i]) + np.log(np.sum(e))
    return t


def numbers_of_rows(a, b):
    t = 0.0
    for i in range(b.shape[0]):
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                t += np.exp(a[j, k]) * np.cos(b[i, k])
    return t


def to_the_right(x, k):
    t = 0.0
    for i in range(len(x)):
        for j in range(len(k)):
            for m in range(j, len(k)):
                t += np.sqrt(k[m]) * x[i] * np.exp(k[j])
    return t


def changed_in_the_loop(x, k):
    k = k.copy()
    t = 0.0
    for _ in range(4):
        for i in range(len(x)):
            t += np.exp(-k[i]) * x[i]
            k[i] *= 1.1
    return t


def of_the_outer_index(x, k):
    t = 0.0
    for s in range(4):
        for i in range(len(x)):
            t += np.exp(-k[i] * s) * x[i]
    return t


def of_indices_alone(x, k):
    """There may be very many trips of the inner loop: no array of that many elements."""
    t = 0.0
    for i in range(3):
        for j in range(1000):
            t += np.sin(0.5 * j) * x[i] * k[i]
    return t


def twice(x, k):
    t = 0.0
    for _ in range(2):
        for i in range(len(x)):
            t += np.exp(-k[i]) * x[i] + t * 0.01
    return t


def where_it_is_there(x, k):
    """Only so many elements are read as there are, which the number of trips sees to."""
    t = 0.0
    for s in range(3):
        for i in range(min(len(k), 4)):
            t += np.exp(k[i] * x[s])
            t += np.sin(k[i])
    return t


def past_the_end(x, k):
    t = 0.0
    for s in range(len(x) - 7):
        for i in range(len(k) + 1):
            t += np.exp(k[i]) * x[s]
    return t


BEFORE = [(decay, X, K), (until_at_rest, X, K), (rows, A, B), (numbers_of_rows, A, B), (to_the_right, X, K)]
INSIDE = [(changed_in_the_loop, X, K), (of_the_outer_index, X, K), (of_indices_alone, X, K), (twice, X, K)]
OTHERS = [(where_it_is_there, X, K), (past_the_end, X, K)]


def name(f: Any) -> str:
    return getattr(f, "__name__", "")


@pytest.mark.parametrize(("program", "x", "k"), BEFORE + INSIDE + OTHERS, ids=name)
def test_the_same_numbers(program: Callable[..., Any], x: np.ndarray, k: np.ndarray) -> None:
    np.testing.assert_allclose(sg.compile(program)(x, k), program(x, k), rtol=1e-12)
    mine, plain = sg.grad(program, (0, 1))(x, k), sg.grad(program, (0, 1), mode=PLAIN)(x, k)
    for one, other in zip(mine, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("program", "x", "k"), BEFORE + INSIDE[:2], ids=name)
def test_derivatives_are_slopes(program: Callable[..., Any], x: np.ndarray, k: np.ndarray) -> None:
    dx, dk = (np.cos(np.arange(v.size)).reshape(v.shape) for v in (x, k))
    found, h = sg.grad(program, (0, 1))(x, k), 1e-6
    slope = (program(x + h * dx, k + h * dk) - program(x - h * dx, k - h * dk)) / (2.0 * h)
    np.testing.assert_allclose(np.sum(found[0] * dx) + np.sum(found[1] * dk), slope, rtol=1e-6)


@pytest.mark.parametrize(("program", "x", "k"), BEFORE, ids=name)
def test_what_is_the_same_is_done_before(program: Callable[..., Any], x: np.ndarray, k: np.ndarray) -> None:
    assert depth_of_calls(sg.compile(program, mode=ALONE).python(x, k)) < depth_of_calls(
        sg.compile(program, mode=NEITHER).python(x, k)
    )


@pytest.mark.parametrize(("program", "x", "k"), INSIDE, ids=name)
def test_what_differs_stays(program: Callable[..., Any], x: np.ndarray, k: np.ndarray) -> None:
    assert sg.compile(program, mode=ALONE).python(x, k) == sg.compile(program, mode=NEITHER).python(x, k)


def depth_of_calls(text: str) -> int:
    """In how many loops functions are called, at most."""
    calls = ("exp(", "sin(", "cos(", "log(")
    lines = [s for s in text.splitlines() if s.startswith("    ") and any(c in s for c in calls)]
    return max((len(s) - len(s.lstrip())) // 4 - 1 for s in lines)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_of_any_number_of_trips(steps: int) -> None:
    for n in (0, 1, 7):
        assert np.isclose(sg.compile(decay)(X[:n], K[:n], steps), decay(X[:n], K[:n], steps), rtol=1e-13)


def test_an_index_that_is_not_there_is_an_error_in_the_loop_only() -> None:
    """With no trips of the outer loop nothing is read."""
    made = sg.compile(past_the_end)
    assert made(X, K) == 0.0
    with pytest.raises(IndexError):
        made(np.ones(9), K)


def test_what_loops_inside_others_have_in_common_leaves_the_inner_one() -> None:
    def prefix(x):
        t = 0.0
        for i in range(len(x)):
            for j in range(i, len(x)):
                t += x[j] * np.exp(x[i])
        return t

    text = sg.inspect(prefix, X).cpu
    (line,) = [s for s in text.splitlines() if "exp(" in s]
    assert line.startswith(" " * 8) and not line.startswith(" " * 9), text
