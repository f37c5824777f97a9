"""What stays in an array is not saved; what a later store may change is, and gradients are right either way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

BACKWARD = sg.opt.FAST_RUN.excluding("forward")
"""Tapes, also where few numbers matter."""


# -- nothing is saved --------------------------------------------------------------------------------------


def solved(m, b):
    x = np.zeros(len(b))
    for i in range(len(b)):
        x[i] = (b[i] - m[i, :i] @ x[:i]) / m[i, i]
    return np.sum(x**2)


def solved_upwards(m, b):
    x = b.copy()
    n = len(b)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= m[j, i] * x[j]
        x[i] /= m[i, i]
    return np.sum(x**2)


def factored(m, b):
    a = m * 1.0
    n = len(b)
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.sum(a * a * b)


def inverted(m, b):
    """What is stored is the negative of what is needed."""
    x = np.zeros_like(m)
    n = len(b)
    for j in range(n):
        x[j, j] = 1.0 / m[j, j]
        for i in range(j + 1, n):
            x[i, j] = -(m[i, j:i] @ x[j:i, j]) / m[i, i]
    return np.sum(x * m) + np.sum(x)


def chosen(m, b):
    """Stores in branches."""
    x = b * 1.0
    for i in range(1, len(b)):
        if m[i, i] > 2.0:
            x[i] = np.sin(x[i - 1]) * b[i]
        else:
            x[i] += x[i - 1] * x[i - 1]
    return np.sum(x)


def rows(m, b):
    """Whole rows, each of those before."""
    a = m * 1.0
    for i in range(1, len(b)):
        a[i] = m[i] * a[i - 1] + np.sin(a[i - 1]) * b[i]
    return np.sum(a)


def two_columns(m, b):
    """What is stored lies on other columns than what is read."""
    a = m * 1.0
    for _ in range(3):
        for i in range(len(b)):
            a[i, 1] += a[i, 0] * b[i]
    return np.sum(a * a)


# -- something has to be ------------------------------------------------------------------------------------


def swept_again(m, b):
    """The next sweep changes what this one reads."""
    x = b * 1.0
    for _ in range(2):
        for i in range(1, len(b)):
            x[i] = np.sin(x[i - 1]) * x[i]
    return np.sum(x)


def read_ahead(m, b):
    x = b * 1.0
    for i in range(len(b) - 1):
        x[i] = x[i] * x[i + 1]
        x[i + 1] = np.cos(x[i]) + x[i + 1] * x[i]
    return np.sum(x)


def stored_elsewhere(m, b):
    """One value at many places, which are not where it is computed."""
    x = b * 1.0
    a = m * 1.0
    for i in range(len(b)):
        t = np.exp(x[i] * 0.1)
        for j in range(i):
            a[i, j] = t
            x[j] = t * x[j]
    return np.sum(a * a) + np.sum(x)


def place_told_by_what_is_stored(m, b):
    a = m * 1.0
    for i in range(len(b)):
        t = np.sin(b[i]) * 2.0
        k = int(abs(t))
        a[i, k] = t * t
    return np.sum(a * a)


def stored_if(m, b):
    """What is computed before a branch is not in the array unless the branch is taken."""
    a = m * 1.0
    for i in range(len(b)):
        t = np.exp(b[i] * b[i])
        if b[i] > 0.5:
            a[i, 0] = t
        a[i, 1] = a[i, 1] * t * t
    return np.sum(a * a)


def upwards_and_down(m, b):
    x = b * 1.0
    for i in range(1, len(b)):
        x[i] += x[i - 1] * x[i]
    for i in range(len(b) - 2, -1, -1):
        x[i] *= x[i + 1]
    return np.sum(x)


def every_second(m, b):
    x = b * 1.0
    n = len(b)
    for i in range(0, n - 2, 2):
        x[i] = x[i + 1] * x[i + 2]
        x[n - 1 - i] *= x[i]
    return np.sum(x * x)


def by_while(m, b):
    x = b * 1.0
    i = 1
    while i < len(b) and x[i - 1] < 5.0:
        x[i] = x[i - 1] * x[i] + 0.5
        i += 1
    return np.sum(x * x)


NOTHING = [solved, solved_upwards, factored, inverted, chosen, rows, two_columns]
OTHERS = [
    swept_again, read_ahead, stored_elsewhere, place_told_by_what_is_stored, stored_if, upwards_and_down, every_second,
    by_while,
]  # fmt: skip


def given(n: int) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(n)
    return r.uniform(0.5, 1.5, (n, max(n, 2))) + 2.0 * np.eye(n, max(n, 2)), r.uniform(-1.0, 1.0, n)


@pytest.mark.parametrize("program", NOTHING, ids=lambda p: p.__name__)
def test_nothing_is_saved(program: Callable[..., Any]) -> None:
    m, b = given(4)
    made = sg.inspect(sg.grad(program, argnums=(0, 1), mode=BACKWARD), m, b)
    assert not any(row.bytes for row in made.tape) and "_saved" not in made.cpu


@pytest.mark.parametrize(
    "program", [f for f in OTHERS if f is not place_told_by_what_is_stored], ids=lambda p: p.__name__
)
def test_what_changes_is_saved(program: Callable[..., Any]) -> None:
    m, b = given(4)
    assert any(row.bytes for row in sg.inspect(sg.grad(program, argnums=(0, 1), mode=BACKWARD), m, b).tape)


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("program", [*NOTHING, *OTHERS], ids=lambda p: p.__name__)
def test_gradients(program: Callable[..., Any], n: int) -> None:
    """Against forward mode, which has no tape; the second order by both orders of modes."""
    m, b = given(n)
    if program in (read_ahead, every_second) and n == 1:
        return
    dm, db = np.cos(np.arange(m.size)).reshape(m.shape), np.sin(1.0 + np.arange(n))
    by_m, by_b = sg.grad(program, argnums=(0, 1), mode=BACKWARD)(m, b)
    moved = sg.jvp(program, (m, b), (dm, db))[1]
    assert np.sum(by_m * dm) + np.sum(by_b * db) == pytest.approx(moved, rel=1e-10, abs=1e-12)
    slope = sg.grad(program, argnums=1, mode=BACKWARD)
    twice = sg.grad(lambda m, b: np.sum(sg.grad(program, argnums=1)(m, b) * np.sin(1.0 + np.arange(len(b)))), argnums=1)
    np.testing.assert_allclose(twice(m, b), sg.jvp(slope, (m, b), (None, db))[1], rtol=1e-9, atol=1e-11)
