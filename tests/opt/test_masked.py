"""Loops that the steps of another loop have one each, taken together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("masked", "abreast")
SIZES = (0, 1, 8, 9, 63, 64, 65, 200)


def roots(a: Any, m: int) -> Any:
    total = 0.0
    for i in range(len(a)):
        target = 2.0 + a[i]
        root = 1.0 + target
        while abs(root * root * root - target) > 1e-10:
            root -= (root * root * root - target) / (3.0 * root * root)
        total += root * m
    return total


def anomalies(a: Any, m: int) -> Any:
    """Python's sine of what is infinite raises; the exponential is computed before the steps."""
    total = 0.0
    for i in range(len(a)):
        mean = math.exp(a[i])
        x, change = mean, 1.0
        while abs(change) > 1e-12:
            change = (x - 0.3 * math.sin(x) - mean) / (1.0 - 0.3 * math.cos(x))
            x -= change
        total += math.cos(x)
    return total


def escapes(a: Any, m: int) -> Any:
    """How many steps it takes, and where it is left."""
    out, count = np.zeros(len(a)), np.zeros(len(a), np.int64)
    for i in range(len(a) - 1, -1, -1):
        x, y, k = 0.0, 0.0, 0
        while x * x + y * y <= 4.0 and k < m:
            x, y = x * x - y * y + a[i], 2.0 * x * y + 0.4
            k += 1
        out[i] = x + y
        count[i] = k
    return out, count


def last_step(a: Any, m: int) -> Any:
    """The number of a step outlives its loop, and that of an element before where a loop has no steps."""
    count = np.zeros((2, len(a)))
    for p in range(2):
        for i in range(len(a)):
            x, y = 0.0, 0.0
            for k in range(p, m):  # noqa: B007
                x, y = x * x - y * y + a[i], 2.0 * x * y + 0.4
                if x * x + y * y > 4.0:
                    break
            count[p, i] = k + x
    return count


def until_it_is_small(a: Any, m: int) -> Any:
    out = np.zeros(len(a))
    for i in range(len(a)):
        x, steps = 1.0 + a[i] * a[i], 0
        while True:
            x = 0.7 * x if x > 0.5 else 0.9 * x
            if x < 0.01 or steps == m:
                break
            steps += 1
        out[i] = x + steps
    return out


def in_single_precision(a: Any, m: int) -> Any:
    x = a.astype(np.float32)
    out = np.zeros(len(a), np.float32)
    for i in range(len(a)):
        s = x[i]
        while abs(s) > np.float32(0.01):
            s = np.float32(0.5) * np.tanh(s)
        out[i] = s
    return out


def two_of_them(a: Any, m: int) -> Any:
    total = 0.0
    for i in range(len(a)):
        x, y = a[i], 0.5
        while abs(x) > 0.001:
            x *= 0.5
        for _ in range(m):
            y = 0.9 * y + 0.1 * a[i] * y * y
        total += x - y
    return total


TOGETHER = [
    roots, anomalies, escapes, last_step, until_it_is_small, in_single_precision, two_of_them,
]  # fmt: skip


def of_the_one_before(a: Any, m: int) -> Any:
    x, out = 1.0, np.zeros(len(a))
    for i in range(len(a)):
        while abs(x) > 0.1 + 0.01 * i:
            x *= 0.5
        x += a[i]
        out[i] = x
    return out


def integers(a: Any, m: int) -> Any:
    """Python's integers raise where 64 bits are too few."""
    out = np.zeros(len(a))
    for i in range(len(a)):
        x, k = 1.0, 1
        while x < 1.5 + a[i] * a[i]:
            x *= 1.1
            k *= 3
        out[i] = k
    return out


LEFT = [of_the_one_before, integers]


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def row(size: int) -> Any:
    return np.random.default_rng(size).uniform(-1.2, 1.2, size)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (ValueError, ArithmeticError, UnboundLocalError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("program", TOGETHER, ids=name)
def test_taken_together(program: Callable[..., Any]) -> None:
    assert "np.empty(64" in sg.compile(program).python(row(100), 20)


@pytest.mark.parametrize("program", TOGETHER, ids=name)
@pytest.mark.parametrize("options", [{}, {"parallel": True}], ids=["", "parallel"])
def test_values(program: Callable[..., Any], options: Any) -> None:
    made, plain = sg.compile(program, **options), sg.compile(program, mode=PLAIN, **options)
    rough = 1e-5 if program is in_single_precision else 1e-11
    for size in SIZES:
        for m in (0, 3, 30):
            want = outcome(program, row(size), m)
            got = outcome(made, row(size), m)
            if isinstance(want, tuple) and isinstance(want[0], type):
                assert got == want or got[0] is want[0]
                continue
            for g, w, p in zip(*map(np.atleast_1d, (got, want, plain(row(size), m))), strict=True):
                np.testing.assert_allclose(g, w, rtol=rough, atol=rough)
                np.testing.assert_allclose(g, p, rtol=rough if program is not escapes else 0.0, atol=rough)


@pytest.mark.parametrize("program", [roots, anomalies], ids=name)
def test_gradients(program: Callable[..., Any]) -> None:
    made, plain = (sg.grad(program, mode=m) for m in (sg.opt.FAST_RUN, PLAIN))
    assert "np.empty(64" in made.python(row(70), 2)
    for size in SIZES:
        np.testing.assert_allclose(made(row(size), 2), plain(row(size), 2), rtol=1e-10)


def test_lanes_of_vmap() -> None:
    def halved(x: Any) -> Any:
        while abs(x) > 0.1:
            x *= 0.5
        return x

    made = sg.vmap(halved)
    assert "np.empty(64" in made.python(row(70))
    np.testing.assert_array_equal(made(row(70)), [halved(x) for x in row(70)])


@pytest.mark.parametrize("program", LEFT, ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    args = row(30), 12
    assert sg.compile(program).python(*args) == sg.compile(program, mode=PLAIN).python(*args)


def raising(x: Any, out: Any) -> Any:
    for i in range(len(x)):
        y, k = x[i], 0
        while abs(y) > 0.01:
            if y > 1000.0:
                raise ValueError("too large")
            y = y * 0.5 if y < 100.0 else y * 2.0
            k += 1
        out[i] = y + k


def test_a_step_that_raises_does_at_its_turn() -> None:
    x, out, want = np.linspace(0.0, 1.0, 300), np.zeros(300), np.zeros(300)
    x[[150, 200]] = 200.0
    with pytest.raises(ValueError, match="too large"):
        raising(x, want)
    with pytest.raises(ValueError, match="too large"):
        sg.compile(raising)(x, out)
    np.testing.assert_array_equal(out, want)


def divided(x: Any, by: float, out: Any) -> Any:
    for i in range(len(x)):
        out[i] = -1.0
        term = total = x[i] / 4.0 + 1.0 / by
        for k in range(50):
            term *= x[i] / (k + 2.0)
            total += term
            if abs(term) < 1e-9:
                break
        out[i] = total


def test_a_divisor_of_what_loops_begin_with_is_checked_at_its_turn() -> None:
    x, out, want = np.linspace(0.1, 1.0, 100), np.zeros(100), np.zeros(100)
    made = sg.compile(divided)
    assert "np.empty(64" in made.python(x, 2.0, out)
    for by in (2.0, 0.0):
        assert outcome(made, x, by, out) == outcome(divided, x, by, want)
        np.testing.assert_allclose(out, want, rtol=1e-14)


def endless(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        y = 1.0
        while y > x[i]:
            y *= 0.5
        if i == 3:
            raise ValueError("enough")
        total += y
    return total


def test_one_that_never_ends_is_not_waited_for() -> None:
    """Of the numbers after the fourth none is reached, as nothing is halved to less than none."""
    x = np.full(64, -1.0)
    x[:4] = 0.3
    with pytest.raises(ValueError, match="enough"):
        sg.compile(endless)(x)


def counting(x: Any, big: int) -> Any:
    total = 0
    for i in range(len(x)):
        y, k = x[i], 0
        while y > 0.1:
            y *= 0.5
            k += 1
        total += k * big
    return total


@pytest.mark.native
def test_what_is_counted_is_pythons_after_it() -> None:
    assert sg.compile(counting)(np.full(70, 0.3), 1) == 140
    with pytest.raises(OverflowError, match="64 bits"):
        sg.compile(counting)(np.full(70, 0.3), 2**62)


def roots(x):
    total = 0.0
    for i in range(len(x)):
        z = x[i]
        while abs(z * z - x[i]) > 1e-12:
            z = 0.5 * (z + x[i] / z)
        total += z
    return total


@pytest.mark.parametrize("size", [1, 7, 100])
def test_tangents_of_lengths_that_are_compared(size: int) -> None:
    """The array that each element begins with has its length from a comparison before the loop."""
    x, d_x = np.linspace(0.5, 3.0, size), np.cos(np.arange(float(size)))
    value, slope = sg.jvp(roots, (x,), (d_x,))
    np.testing.assert_allclose(value, np.sqrt(x).sum(), rtol=1e-12)
    np.testing.assert_allclose(slope, np.sum(0.5 * d_x / np.sqrt(x)), rtol=1e-9)
