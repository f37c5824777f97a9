"""Loops that depend on few numbers: derivatives carried along are those of the reverse sweep, and of differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

BACKWARD = sg.opt.FAST_RUN.excluding("forward")


def newton(a, tol):
    x = 0.5 * (1.0 + a)
    while abs(x * x - a) > tol:
        x = 0.5 * (x + a / x)
    return x


def roots(a, weight):
    total = 0.0
    for i in range(len(a)):
        x = 0.5 * (1.0 + a[i])
        while abs(x * x - a[i]) > 1e-12:
            x = 0.5 * (x + a[i] / x)
        total += weight * x**3
    return total


def kepler(mean, e, steps):
    at = mean
    for _ in range(steps):
        at = mean + e * math.sin(at)
    return at * e


def hunters(grow, eat, die, gain, steps):
    prey, hunter = 1.0, 0.5
    total = 0.0
    for _ in range(steps):
        born = grow * prey - eat * prey * hunter
        died = gain * prey * hunter - die * hunter
        prey, hunter = prey + 0.1 * born, hunter + 0.1 * died
        total += prey * hunter
    return total


def five(a, b, c, d, e, steps):
    x = 0.3
    for _ in range(steps):
        x = a * x * x + b * math.sin(c * x) + d * e * x
    return x


def bent(a, b, steps):
    """Between the numbers and the loop lie others; one of them is checked."""
    rate = 1.0 / (1.0 + a * a)
    start = rate * b
    x, y = start, rate
    for _ in range(steps):
        x, y = y * math.cos(x), 0.5 * (x + rate) / start
    return x * y * b


def several_results(a, steps):
    low, high, middle = 0.0, a, 0.5 * a
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if middle * middle * middle < a:
            low = middle
        else:
            high = middle
    return low + 2.0 * high + 3.0 * middle


def stopped(a, b, steps):
    x = a
    for k in range(steps):
        x = x * (1.0 + b / (k + 1.0))
        if x > 3.0:
            break
        x += 0.01 * x * x
    return x


def two_loops(a, w):
    x = a
    for k in range(len(w)):
        x = math.tanh(x + 0.3)
        for _ in range(k):
            x = math.sin(a * x)
    return np.sum(w * x)


def per_row(m, a):
    total = 0.0
    for i in range(m.shape[0]):
        x = a
        for j in range(m.shape[1]):
            x = x * math.exp(-0.1 * x * m[i, j])
        total += m[i, 0] * x
    return total


def heated(kappa, u, steps):
    for _ in range(steps):
        u[1:-1] += kappa * u[1:-1] * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(u * u)


def heated_with_source(kappa, u, steps):
    for _ in range(steps):
        u[1:-1] += kappa * u[1:-1] * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(u * u) * kappa + u[0] * u[1]


def factorial(x, n):
    return x if n < 1 else x * factorial(0.9 * x, n - 1)


def listed(a, steps):
    xs = [a]
    for _ in range(steps):
        xs.append(math.sin(2.0 * xs[-1]))
    total = 0.0
    for x in xs:
        total += x * x
    return total


def chosen(a, b):
    """Where the loop's result is not chosen, its derivative, infinite, does not matter."""
    x = a - a
    for _ in range(2):
        x = math.sqrt(x)
    return float(np.where(b > 0.0, b * b, x)) + b


def in_a_branch(a, b, n):
    x = a
    for _ in range(n):
        x = x * x
    y = b
    if x > 1.0:
        for _ in range(n):
            y = y * x + math.sin(y)
    return x * y


A = np.array([0.5, 1.0, 1.7, 2.2])
M = np.cos(np.arange(12.0)).reshape(4, 3)
U = np.sin(np.arange(7.0))
CASES: list[tuple[Callable, tuple[Any, ...], tuple[int, ...], bool]] = [
    # program, arguments, argnums, whether the loop is gone through forwards
    (newton, (2.0, 1e-9), (0,), True),
    (roots, (A, 0.7), (0, 1), True),
    (kepler, (1.0, 0.3, 4), (0, 1), True),
    (kepler, (1.0, 0.3, 0), (0, 1), True),
    (hunters, (0.9, 0.8, 0.7, 0.6, 5), (0, 1, 2, 3), True),
    (hunters, (0.9, 0.8, 0.7, 0.6, 1), (1, 3), True),
    (five, (0.1, 0.2, 0.3, 0.4, 0.5, 4), (0, 1, 2, 3, 4), False),
    (five, (0.1, 0.2, 0.3, 0.4, 0.5, 4), (0, 2, 4), True),
    (bent, (0.6, 0.4, 3), (0, 1), True),
    (bent, (0.6, 0.4, 2), (0,), True),
    (several_results, (2.0, 9), (0,), True),
    (stopped, (0.5, 0.4, 3), (0, 1), True),
    (stopped, (0.5, 0.4, 30), (0, 1), True),
    (two_loops, (0.4, A), (0,), True),
    (two_loops, (0.4, A), (0, 1), True),
    (per_row, (M, 0.4), (1,), True),
    (per_row, (M, 0.4), (0, 1), False),
    (heated, (0.1, U, 4), (0,), True),
    (heated, (0.1, U, 4), (0, 1), False),
    (heated_with_source, (0.1, U, 3), (0,), True),
    (factorial, (0.8, 5), (0,), True),
    (listed, (0.3, 5), (0,), True),
    (in_a_branch, (1.1, 0.3, 3), (0, 1), True),
    (in_a_branch, (0.9, 0.3, 3), (0, 1), True),
]


def copied(args: tuple[Any, ...]) -> list[Any]:
    return [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]


def along(value: Any) -> Any:
    direction = np.sin(1.0 + np.arange(np.size(value))).reshape(np.shape(value))
    return direction if isinstance(value, np.ndarray) else float(direction)


def slope(function: Callable, args: tuple[Any, ...], argnums: tuple[int, ...], h: float = 1e-6) -> float:
    """By central differences."""
    found = []
    for step in (h, -h):
        moved = copied(args)
        for k in argnums:
            moved[k] = moved[k] + step * along(args[k])
        found.append(function(*moved))
    return (found[0] - found[1]) / (2.0 * h)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].__name__}{c[2]}")
def test_derivative(case: tuple) -> None:
    function, args, argnums, forwards = case
    fast, plain = (sg.value_and_grad(function, argnums=argnums, mode=mode) for mode in (sg.opt.FAST_RUN, BACKWARD))
    value, cts = fast(*copied(args))
    assert value == pytest.approx(function(*copied(args)), rel=1e-13)
    got = sum(float(np.sum(ct * along(args[k]))) for k, ct in zip(argnums, cts, strict=True))
    assert got == pytest.approx(slope(function, args, argnums), rel=1e-7, abs=1e-9)
    for ct, other in zip(cts, plain(*copied(args))[1], strict=True):
        np.testing.assert_allclose(ct, other, rtol=1e-12, atol=1e-14)
    assert forwards == any(row.choice == "forward" for row in sg.inspect(fast, *copied(args)).tape)


@pytest.mark.parametrize("case", [c for c in CASES if c[3]], ids=lambda c: f"{c[0].__name__}{c[2]}")
def test_second_derivative(case: tuple) -> None:
    """The gradient of a gradient by both ways, and a tangent of the gradient."""
    function, args, argnums, _ = case
    k = argnums[0]

    def first(*given):
        return np.sum(sg.grad(function, argnums=k)(*given))

    fast, plain = (sg.grad(first, argnums=k, mode=mode) for mode in (sg.opt.FAST_RUN, BACKWARD))
    got = fast(*copied(args))
    np.testing.assert_allclose(got, plain(*copied(args)), rtol=1e-10, atol=1e-12)
    assert np.sum(got * along(args[k])) == pytest.approx(slope(first, args, (k,)), rel=1e-5, abs=1e-7)


def test_what_is_not_chosen() -> None:
    assert sg.grad(chosen, argnums=(0, 1))(0.4, 0.5) == (0.0, 2.0)


def test_pullbacks() -> None:
    """The number of results does not matter."""

    def orbit(a, b, steps):
        x, y = a, b
        for _ in range(steps):
            x, y = y * math.cos(x), x + b * math.sin(y)
        return x, y

    value, pull = sg.vjp(orbit, 0.3, 0.4, 5)
    assert value == pytest.approx(orbit(0.3, 0.4, 5))
    rows = [pull(ct)[:2] for ct in ((1.0, 0.0), (0.0, 1.0))]
    columns = [sg.jvp(orbit, (0.3, 0.4, 5), t)[1] for t in ((1.0, 0.0, None), (0.0, 1.0, None))]
    np.testing.assert_allclose(rows, np.transpose(columns), rtol=1e-13)


def test_single_precision() -> None:
    def power(a, n):
        x = a
        for _ in range(n):
            x = x * x * np.float32(0.5)
        return x

    found = sg.grad(power)(np.float32(1.1), 3)
    assert type(found) is np.float32
    assert found == pytest.approx(1.1**7 / 16, rel=1e-6)


def test_loops_that_need_no_tape_are_gone_through_once() -> None:
    def line(a, x):
        total = 0.0
        for i in range(len(x)):
            total += math.sin(x[i]) * a
        return total

    assert not any(row.choice == "forward" for row in sg.inspect(sg.grad(line), 0.3, A).tape)


def test_what_is_asked_to_be_saved_is() -> None:
    def saved(a, steps):
        x = a
        for _ in range(steps):
            x = sg.save(math.sin(x))
        return x

    table = sg.inspect(sg.grad(saved), 0.3, 4).tape
    assert {row.choice for row in table} & {"array", "list"} and all(row.choice != "forward" for row in table)
    assert sg.grad(saved)(0.3, 4) == pytest.approx(slope(saved, (0.3, 4), (0,)) / along(0.3), rel=1e-7)


def test_printing_runs_once(capsys: pytest.CaptureFixture[str]) -> None:
    def told(a, steps):
        x = a
        for k in range(steps):
            print("step", k)
            x = x * x
        return x

    assert sg.grad(told)(0.5, 2) == pytest.approx(4 * 0.5**3)
    assert capsys.readouterr().out == "step 0\nstep 1\n"
