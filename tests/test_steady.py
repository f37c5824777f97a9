"""Checks that ask the same in each trip of a loop, before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly


def burgers(u, n, dx):
    for _ in range(n):
        old = u.copy()
        for i in range(1, len(u) - 1):
            u[i] = old[i] - 0.1 * old[i] * (old[i] - old[i - 1]) + 0.01 / dx**2 * (old[i + 1] - old[i])
    return u


def nested(u, n, dx):
    out = np.zeros((len(u), n))
    for i in range(len(u)):
        for j in range(n):
            out[i, j] = u[i] / (float(dx) * 2.0) + 1.0 / float(dx)
    return out.sum()


def after_a_store(u, n, dx):
    for i in range(len(u)):
        u[i] += 1.0
        if dx > 5.0:
            raise KeyError("large")
    return u


def after_another(u, n, dx):
    for i in range(len(u)):
        u[i + n] += 1.0 / float(dx)
    return u


def changing(u, n, dx):
    for i in range(len(u)):
        dx = dx - 1.0
        u[i] += 1.0 / dx
    return u


def found_first(u, n, dx):
    total = 0.0
    for i in range(n):
        if dx < 0.0:
            raise ValueError("negative")
        if u[i] < 0.0:
            raise ValueError("below")
        total += u[i] / dx
    return total


PROGRAMS = [burgers, nested, after_a_store, after_another, changing, found_first]
ARGUMENTS = [(7, 2, 0.5), (7, 0, 0.0), (0, 2, 0.0), (2, 2, 0.0), (7, 2, 0.0), (7, 2, 9.0), (7, 9, 2.0), (7, 3, -1.0)]


def outcome(program: Callable[..., Any], length: int, n: int, dx: float) -> tuple[Any, ...]:
    u = np.linspace(1.0, 2.0, length)
    try:
        return program(u, n, dx), u, ""
    except (ArithmeticError, LookupError, ValueError) as error:
        return 0.0, u, f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("given", ARGUMENTS, ids=str)
def test_what_is_seen(program: Callable[..., Any], given: tuple[int, int, float]) -> None:
    value, left, message = outcome(sg.compile(program), *given)
    expected, wanted, said = outcome(program, *given)
    assert message == said
    np.testing.assert_allclose(left, wanted, rtol=1e-14)
    np.testing.assert_allclose(value, expected, rtol=1e-14)


def loops_and_checks(program: Callable[..., Any]) -> tuple[list[int], list[int]]:
    """The lines of a text with loops, and those that raise."""
    lines = [line.strip() for line in sg.compile(program).python(np.ones(7), 2, 0.5).splitlines()]
    return [k for k, s in enumerate(lines) if s.startswith("for ")], [k for k, s in enumerate(lines) if "raise " in s]


@pytest.mark.parametrize("program", [burgers, nested], ids=lambda p: p.__name__)
def test_they_are_before_the_loop(program: Callable[..., Any]) -> None:
    loops, checks = loops_and_checks(program)
    assert any(k < loops[-1] for k in checks) and not any(loops[-1] < k <= loops[-1] + 4 for k in checks)


@pytest.mark.parametrize("program", [after_a_store, after_another, changing], ids=lambda p: p.__name__)
def test_others_stay(program: Callable[..., Any]) -> None:
    loops, checks = loops_and_checks(program)
    assert any(k > loops[-1] for k in checks)
