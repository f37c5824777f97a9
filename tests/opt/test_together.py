"""Loops that go back over independent trips, in one with what they go back over; steps by one factor; tapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

BACKWARD = sg.opt.FAST_RUN.excluding("forward")
"""Tapes, also where few numbers matter."""

APART = sg.opt.FAST_RUN.excluding("together", "slopes")


def roots(x):
    total = 0.0
    for i in range(len(x)):
        y = 1.0 + x[i]
        while abs(y * y * y - x[i]) > 1e-10:
            y -= (y * y * y - x[i]) / (3.0 * y * y)
        total += y
    return total


def stored_roots(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        y = x[i]
        while y > 1.5:
            y = np.sqrt(y) * 1.1
        out[i] = y
    return out.sum()


def powers(x, a):
    total = 0.0
    for i in range(1, len(x)):
        y = 1.0
        for k in range(i):
            y = y * math.sin(x[k] * y) + a
        total += y * x[i]
    return total


def nested(x):
    total = 0.0
    for i in range(len(x)):
        y = x[i]
        while y < 40.0:
            z = y
            while z < 20.0:
                z = z * 1.5 + 0.1 * y * z
            y = y + z * 0.3
        total += math.log(y)
    return total


def checked(x, a):
    total = 0.0
    for i in range(len(x)):
        y = x[i]
        while y > 0.1:
            y = y - a * math.log(1.0 + y) * y
        total += math.sqrt(y)
    return total


def branching(x, a):
    total = 0.0
    for i in range(len(x)):
        y = x[i]
        while y < 10.0:
            if y > 1.0:
                y = y * y * a + 1.0
            else:
                y = y + a * y + 0.5
        total += y
    return total


def used_after(x):
    total = 0.0
    for i in range(len(x)):
        y = x[i]
        while y < 10.0:
            y = y * y * 0.3 + 1.0 + y
        total += y
    return math.log(1.0 + total) * total


def linked(x):
    total, last = 0.0, 1.0
    for i in range(len(x)):
        y = x[i] * last
        while y < 10.0:
            y = y * 1.3 + 1.0 / (1.0 + y)
        last = 1.0 + 0.1 * math.sin(y)
        total += y
    return total


def own_list(x):
    """A list of the program's own: each loop leaves something for the other trips."""
    kept = []
    for i in range(len(x)):
        kept.append(x[i])
        kept.append(x[i] * x[i])
    total = 0.0
    for _ in range(len(x) - 1, -1, -1):
        total = total * 0.5 + kept.pop()
    return total


def changed_in_place(x):
    for i in range(len(x)):
        y = x[i]
        while y < 5.0:
            y = y * y * 0.5 + 1.0
        x[i] = y
    return np.sum(x * x)


def neighbours(x):
    y = np.zeros(len(x))
    total = 0.0
    for i in range(1, len(x)):
        z = x[i] + 0.1 * y[i - 1]
        while z < 3.0:
            z = z * 1.7 + 0.1 * z * z
        y[i] = z
        total += z
    return total


def nearest(x):
    """Sums that all trips add to, at places that are known when running; loops that add nothing are left out."""
    centres = np.array([0.5, 1.5, 3.0]) * x[0]
    total = 0.0
    for i in range(len(x)):
        best = np.inf
        for k in range(len(centres)):
            best = min(best, (x[i] - centres[k]) ** 2)
        total += best
    return total


def closest_rows(x):
    rows = np.outer(np.arange(1.0, 7.0), x)
    ends = rows[:3] * 1.5 + 0.1
    total = 0.0
    for row in rows:
        best = np.inf
        for end in ends:
            best = min(best, np.sum((row - end) ** 2))
        total += best
    return total


X = np.linspace(0.3, 4.0, 9)
ONE_LOOP = [(roots, (X,)), (stored_roots, (X,)), (checked, (X, 0.3))]
OTHERS = [(nested, (X,)), (branching, (X, 0.4)), (used_after, (X,)), (linked, (X,)), (powers, (X, 0.2)),
          (own_list, (X,)), (changed_in_place, (X,)), (neighbours, (X,)),
          (nearest, (X,)), (closest_rows, (X,))]  # fmt: skip


def difference(program: Any, args: tuple[Any, ...], direction: np.ndarray) -> float:
    values = [program(args[0] + h * direction, *args[1:]) for h in (1e-6, -1e-6)]
    return (values[0] - values[1]) / 2e-6


@pytest.mark.parametrize(("program", "args"), [*ONE_LOOP, *OTHERS], ids=lambda p: getattr(p, "__name__", ""))
def test_gradients(program: Any, args: tuple[Any, ...]) -> None:
    """As with the loops apart, and as differences say; none, one and many trips."""
    for size in (0, 1, 2, len(X)):
        if size == 0 and program is nearest:
            continue
        given = (args[0][:size].copy(), *args[1:])
        fresh = lambda given=given: [a.copy() if isinstance(a, np.ndarray) else a for a in given]  # noqa: E731
        slope = sg.grad(program)(*fresh())
        apart = sg.grad(program, mode=APART)(*fresh())
        np.testing.assert_allclose(slope, apart, rtol=1e-11, atol=1e-13)
        value, again = sg.value_and_grad(program)(*fresh())
        np.testing.assert_allclose(again, apart, rtol=1e-11, atol=1e-13)
        assert value == pytest.approx(program(*fresh()), rel=1e-13)
    direction = np.cos(np.arange(len(X)))
    got = sg.grad(program)(*[a.copy() if isinstance(a, np.ndarray) else a for a in args]) @ direction
    assert got == pytest.approx(difference(program, args, direction), rel=1e-6)


@pytest.mark.parametrize(("program", "args"), ONE_LOOP, ids=lambda p: getattr(p, "__name__", ""))
def test_one_loop(program: Any, args: tuple[Any, ...]) -> None:
    text = sg.inspect(sg.grad(program), *args).cpu
    assert sum(line.startswith("    for ") for line in text.splitlines()) == 1, text


def mean_of_decays(x: Any, rate: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * np.exp(-rate * x[i])
    return total / len(x)


def log_of_decays(x: Any, rate: Any) -> Any:
    """Its derivative needs the whole sum."""
    total = 0.0
    for i in range(len(x)):
        total += np.exp(-rate * x[i])
    return np.log(total)


def test_what_both_compute_is_computed_once() -> None:
    plain = sg.opt.FAST_RUN.excluding("strips")
    for program, loops in ((mean_of_decays, 1), (log_of_decays, 2)):
        both = sg.value_and_grad(program, argnums=(0, 1), mode=plain)
        assert both.python(X, 0.7).count("for ") == both.python(X, 0.7).count("exp(") == loops
        value, (slope, _) = sg.value_and_grad(program, argnums=(0, 1))(X, 0.7)
        assert value == pytest.approx(program(X, 0.7), rel=1e-13)
        direction = np.cos(np.arange(len(X)))
        assert slope @ direction == pytest.approx(difference(program, (X, 0.7), direction), rel=1e-6)


@pytest.mark.parametrize(("program", "args"), [OTHERS[2], OTHERS[3]], ids=lambda p: getattr(p, "__name__", ""))
def test_two_loops(program: Any, args: tuple[Any, ...]) -> None:
    """What comes after all trips, or from the one before, is waited for."""
    text = sg.inspect(sg.grad(program, mode=sg.opt.FAST_RUN.excluding("strips")), *args).cpu
    assert sum(line.startswith("    for ") for line in text.splitlines()) == 2, text


def test_derivatives_of_derivatives() -> None:
    def slope(x):
        return np.sum(sg.grad(roots)(x) ** 2)

    found = sg.grad(slope)(X)
    for k in range(len(X)):
        one = np.eye(len(X))[k]
        assert found[k] == pytest.approx(difference(slope, (X,), one), rel=1e-5)


def test_errors_come_from_the_same_trip() -> None:
    bad = X.copy()
    bad[3] = -2.0

    def logs(x):
        total = 0.0
        for i in range(len(x)):
            y = x[i]
            for _ in range(3):
                y = math.log(1.5 + y)
            total += y
        return total

    with pytest.raises(ValueError, match="math domain error"):
        logs(bad)
    with pytest.raises(ValueError, match="math domain error"):
        sg.grad(logs)(bad)


def test_a_tape_gets_longer() -> None:
    """More steps in one trip than there is room for at first."""

    def slow(x):
        total = 0.0
        for i in range(len(x)):
            y = x[i]
            while y < 3.0:
                y = y + 0.001 * math.cos(y) ** 2 + 0.001
            total += y
        return total

    text = sg.inspect(sg.grad(slow, mode=BACKWARD), X).cpu
    assert "longer(" in text and ".append" not in text
    np.testing.assert_allclose(sg.grad(slow)(X), sg.grad(slow, mode=APART)(X), rtol=1e-10)


def test_a_step_by_one_factor() -> None:
    """What a step of a derivative waits for is one product."""

    def newton(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x -= 0.3 * (x * x - a) / (2.0 * x)
        return x

    text = sg.inspect(sg.grad(newton, mode=BACKWARD), 2.0).cpu
    assert "d_x *= " in text
    assert sg.grad(newton, mode=BACKWARD)(2.0) == pytest.approx(0.5 / math.sqrt(2.0), rel=1e-9)


def test_what_adds_nothing_is_left_out() -> None:
    def cost(points, centres):
        total = 0.0
        for point in points:
            best = np.inf
            for centre in centres:
                best = min(best, np.sum((point - centre) ** 2))
            total += best
        return total

    rng = np.random.default_rng(3)
    points, centres = rng.normal(size=(70, 3)), rng.normal(size=(5, 3))
    text = sg.inspect(sg.grad(cost, argnums=1), points, centres).cpu
    assert "which_saved" in text and "== 0.0" not in text, text
    slope = sg.grad(cost, argnums=1)(points, centres)
    mine = np.argmin(((points[:, None] - centres) ** 2).sum(axis=2), axis=1)
    wanted = [2.0 * (centres[k] - points[mine == k]).sum(axis=0) for k in range(5)]
    np.testing.assert_allclose(slope, wanted, rtol=1e-12)
