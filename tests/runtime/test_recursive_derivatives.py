"""Derivatives of functions that call themselves: both modes, and second order by each of the two over reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

BACKWARD = sg.opt.FAST_RUN.excluding("forward")
"""Tapes, also where few numbers matter."""


def fibonacci_like(x, n):
    if n < 2:
        return x * n
    a = np.sin(x * n)
    return fibonacci_like(x * 0.5, n - 1) * fibonacci_like(a, n - 2) + a


def even(x, n):
    if n == 0:
        return x
    return odd(x * 1.1, n - 1) * x


def odd(x, n):
    if n == 0:
        return x * x
    return even(np.exp(-x), n - 1) + x


def calls_in_a_while(x, n):
    if n <= 0:
        return x
    while x > 0.3:
        x = x * 0.7 + 0.01 * calls_in_a_while(x, n - 1)
    return x + np.cos(x)


def calls_in_a_counted_loop(x, depth):
    if depth == 0:
        return x * x
    total = 0.0
    for k in range(3):
        y = np.sin(x + k) * 0.8
        total += calls_in_a_counted_loop(y, depth - 1) * y
    return total


def halves(x):
    if len(x) == 0:
        return 0.0
    if len(x) == 1:
        return x[0] ** 3
    half = len(x) // 2
    return halves(x[:half]) * 0.5 + halves(x[half:]) + np.sin(halves(x[:1]))


def _sort(x, low, high):
    if low >= high:
        return
    i = low
    for j in range(low, high):
        if x[j] < x[high]:
            x[i], x[j] = x[j], x[i]
            i += 1
    x[i], x[high] = x[high], x[i]
    _sort(x, low, i - 1)
    _sort(x, i + 1, high)


def sorted_in_place(x):
    y = x.copy()
    _sort(y, 0, len(y) - 1)
    return np.sum(y**2 * np.arange(1, len(y) + 1))


def _fill(x, i, so_far):
    if i >= len(x):
        return so_far
    x[i] = x[i] * so_far
    so_far = so_far + np.sin(x[i])
    return _fill(x, i + 1, so_far) + x[i]


def filled(x):
    y = x * 1.0
    return _fill(y, 0, 1.0) + np.sum(y**2)


def arrays_handed_down(x, n):
    if n == 0:
        return np.sum(x * x)
    y = np.sin(x) * n
    return arrays_handed_down(y, n - 1) + np.sum(y) * y[0]


def _changes_its_argument(x, scale, n):
    """The argument is needed on the way back as it was, and the caller changes it after the call."""
    if n <= 0:
        return scale + np.sum(x)
    before = x * 1.0
    x[1] += scale
    y = x * 0.5
    deeper = _changes_its_argument(y, np.sum(before**2), n - 1)
    y[0] *= deeper
    return deeper * scale + y[0]


def changed_by_calls(x, n):
    return _changes_its_argument(x * 1.0, x[2], n)


def not_always(x, n):
    """Some calls have nothing to do with what is differentiated: they save nothing."""
    return fibonacci_like(x, n) * fibonacci_like(0.5, n) + even(0.25, n)


X = np.array([0.3, 1.2, 0.7, 0.9, 0.1])
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((f, (0.7, n)) for f in (fibonacci_like, even, calls_in_a_while, not_always) for n in (0, 2, 5)),
    *((calls_in_a_counted_loop, (0.4, n)) for n in (0, 1, 3)),
    *((f, (X[:size].copy(),)) for f in (halves, sorted_in_place, filled) for size in (1, 2, 5)),
    *((f, (X, n)) for f in (arrays_handed_down, changed_by_calls) for n in (0, 1, 3)),
]


def differences(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Central differences with one extrapolation, by the first argument."""

    def slope(index: Any, step: float) -> float:
        moved = [np.array(args[0], float) for _ in range(2)]
        for x, by in zip(moved, (step, -step), strict=True):
            x[index] += by
        high, low = (function(x[()] if x.ndim == 0 else x, *args[1:]) for x in moved)
        return (high - low) / (2 * step)

    out = np.empty(np.shape(args[0]))
    for index in np.ndindex(out.shape):
        out[index] = (4 * slope(index, 5e-5) - slope(index, 1e-4)) / 3
    return out


gradient_of = cache(sg.grad)


def name(case: Any) -> str:
    return case.__name__ if callable(case) else str(np.size(case[0]) if len(case) == 1 else case[1])


@pytest.mark.parametrize(("function", "args"), CASES, ids=name)
def test_first_order(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    want = differences(function, args)
    np.testing.assert_allclose(gradient_of(function)(*args), want, rtol=1e-8, atol=1e-9)
    direction = np.linspace(1.0, 2.0, np.size(want)).reshape(np.shape(want))
    given = direction if np.ndim(want) else float(direction)
    moved = sg.jvp(function, args, (given, *(None for _ in args[1:])))[1]
    np.testing.assert_allclose(moved, np.sum(want * direction), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("function", [fibonacci_like, even, calls_in_a_while])
def test_second_order(function: Callable[..., Any]) -> None:
    slope = gradient_of(function)
    want = differences(slope, (0.7, 4))
    np.testing.assert_allclose(sg.grad(slope)(0.7, 4), want, rtol=1e-7)
    np.testing.assert_allclose(sg.jvp(slope, (0.7, 4), (1.0, None))[1], want, rtol=1e-7)


def squared_slope(x):
    slope = sg.grad(halves)(x)
    return np.sum(slope * slope)


def test_inside_a_compiled_function() -> None:
    want = differences(sg.compile(squared_slope), (X,))
    np.testing.assert_allclose(sg.grad(squared_slope)(X), want, rtol=1e-7)


def down(x, n):
    if n == 0:
        return x
    return np.sin(down(x * 0.9, n - 1))


def test_what_a_call_is_given_is_not_saved() -> None:
    tape = sg.inspect(sg.grad(down, mode=BACKWARD), 0.7, 5).tape
    saved = [row for row in tape if row.choice in ("array", "list", "blocks")]
    assert {row.variable for row in saved} == {"down(x * 0.9, n - 1)"}, "the sine's operand, and neither x nor n"
    with pytest.raises(RecursionError):
        sg.grad(down, mode=BACKWARD)(0.7, 10**7)


def test_pullback_of_recursion() -> None:
    """What calls save crosses from one sweep to the other, any number of times."""
    value, pullback = sg.vjp(fibonacci_like, 0.7, 5)
    slope = sg.grad(fibonacci_like)(0.7, 5)
    np.testing.assert_allclose(value, fibonacci_like(0.7, 5), rtol=1e-14)
    np.testing.assert_allclose([pullback(1.0)[0], pullback(2.0)[0]], [slope, 2.0 * slope], rtol=1e-14)


# -- by several arguments ----------------------------------------------------------------------------------


def of_two(a, b, k):
    """As many arguments move by the one as by the other."""
    if k == 0:
        return a * a * b * b * b
    return of_two(a, b, k - 1) + a


def of_one_or_two(x, y, k):
    """One moves by the one, two by the other."""
    if k <= 0:
        return x * np.sin(y)
    return of_one_or_two(x * y, y, k - 1)


def of_a_pair(p, k):
    a, b = p
    if k == 0:
        return a * 2.0 + b * 5.0 * a
    return of_a_pair((a, b), k - 1)


def called_in_two_ways(x, y, k):
    return of_two(x, y, k) + of_two(2.0, x, k)


@pytest.mark.parametrize("program", [of_two, of_one_or_two, called_in_two_ways])
def test_by_each_argument(program: Callable[..., Any]) -> None:
    args = 0.7, 1.3, 2
    by_two = {"argnums": (0, 1)}
    slope = sg.grad(program, **by_two)(*args)
    moved = tuple(sg.jvp(program, args, d)[1] for d in ((1.0, None, None), (None, 1.0, None)))
    assert slope == pytest.approx(moved, rel=1e-12)
    assert sg.jacfwd(program, **by_two)(*args) == pytest.approx(slope, rel=1e-12)
    second = sg.hessian(program, **by_two)(*args)
    h = 1e-6
    for k, row in enumerate(zip(*second, strict=True)):
        up, down = (sg.grad(program, **by_two)(*(x + s * (j == k) for j, x in enumerate(args[:2])), 2) for s in (h, -h))
        assert row == pytest.approx((np.array(up) - np.array(down)) / (2 * h), rel=1e-6)


def on_a_curve(p, t):
    """A point of a Bezier curve; the points move by the number, from the first call on."""
    if len(p) == 1:
        return p[0]
    return on_a_curve((1.0 - t) * p[:-1] + t * p[1:], t)


def test_by_a_number_alone() -> None:
    """What the function that calls itself does with its arrays is nothing that the first call does."""
    p, h = np.array([1.0, 2.0, 4.0, -1.0]), 1e-6
    slope = sg.grad(on_a_curve, argnums=1)(p, 0.3)
    assert (
        slope == sg.jvp(on_a_curve, (p, 0.3), (None, 1.0))[1] == pytest.approx(sg.grad(on_a_curve, (0, 1))(p, 0.3)[1])
    )
    assert slope == pytest.approx((on_a_curve(p, 0.3 + h) - on_a_curve(p, 0.3 - h)) / (2 * h), rel=1e-8)


def test_by_each_number_of_a_pair() -> None:
    assert sg.jacfwd(of_a_pair)((1.5, 3.0), 1) == pytest.approx((17.0, 7.5))
