"""Loops whose first and last steps differ, in parts, so that the steps between ask nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("peeled")
Row = Any


def round_the_ends(u: Row, c: float) -> Any:
    n = len(u)
    v = np.zeros(n)
    for i in range(n):
        v[i] = u[i] + c * (u[(i + 1) % n] * u[(i - 1) % n] - u[(i + 2) % n])
    return np.sum(v * v)


def asked_at_the_ends(u: Row, c: float) -> Any:
    n = len(u)
    v = np.zeros(n)
    for i in range(n):
        left = u[n - 1] if i == 0 else u[i - 1]
        if i == n - 1:
            right = u[0]
        else:
            right = u[i + 1]
        v[i] = np.sin(c * left) * right + u[i]
    return np.sum(v * v)


def counted_round(u: Row, c: float) -> Any:
    n = len(u)
    v = np.zeros(n)
    for i in range(n - 1, -1, -1):
        after = i + 1
        if after == n:
            after = 0
        v[i] += c * u[after] * u[i - 1]
    return np.sum(v * v)


def held_at_the_ends(u: Row, c: float) -> Any:
    n = len(u)
    v = u * 0.5
    for i in range(n):
        v[i] += c * (u[max(i - 1, 0)] * u[min(i + 1, n - 1)] - u[i])
    return np.sum(v * v)


def but_for_the_ends(u: Row, c: float) -> Any:
    n = len(u)
    total = 0.0
    v = np.zeros(n)
    for i in range(n):
        if 0 < i < n - 1:
            v[i] = c * (u[i - 1] - 2.0 * u[i] + u[i + 1]) ** 2
        total += v[i] * u[i]
    return total


def not_near_the_end(u: Row, c: float) -> Any:
    n = len(u)
    v = np.zeros(n)
    for i in range(1, n):
        if i >= 3 and i < n - 2:
            v[i] = u[i - 3] * u[i + 2]
        elif i != 2:
            v[i] = c * u[i]
    return np.sum(v * v)


def grid_round_the_ends(u: Row, c: float) -> Any:
    a = np.outer(u, np.append(u, 1.0))
    n, m = a.shape
    b = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            around = a[(i + 1) % n, j] * a[(i - 1) % n, j] + a[i, (j + 1) % m] + a[i, (j - 1) % m]
            b[i, j] = a[i, j] + c * (around - 4.0 * a[i, j])
    return np.sum(b * b)


PEELED = [
    round_the_ends, asked_at_the_ends, counted_round, held_at_the_ends, but_for_the_ends, not_near_the_end,
    grid_round_the_ends,
]  # fmt: skip


def waits_for_the_step_before(u: Row, c: float) -> Any:
    v = np.zeros(len(u))
    for i in range(len(u)):
        v[i] = u[i] if i == 0 else c * v[i - 1] + u[i]
    return np.sum(v * v)


def asked_in_the_middle(u: Row, c: float) -> Any:
    v = np.zeros(len(u))
    for i in range(len(u)):
        v[i] = u[i] if i < len(u) // 2 else c * u[i]
    return np.sum(v * v)


def short(u: Row, c: float) -> Any:
    total = 0.0
    for i in range(4):
        total += u[(i + 1) % 4] * c if i > 0 else u[0]
    return total


LEFT = [waits_for_the_step_before, asked_in_the_middle, short]


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def row(size: int) -> Row:
    return np.random.default_rng(size).uniform(0.5, 1.5, size)


def asks(loop: ast.For) -> bool:
    """Whether a loop has a branch, a remainder or a limit in it."""
    inside = [n for s in loop.body for n in ast.walk(s)]
    limits = [n for n in inside if isinstance(n, ast.Name) and n.id in ("max", "min")]
    return bool(limits) or any(isinstance(n, ast.If | ast.IfExp | ast.Mod) for n in inside)


def between(text: str) -> list[ast.For]:
    """The innermost loops over elements, but for those over a few steps at the ends."""
    loops = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.For)]
    inner = [loop for loop in loops if not any(isinstance(n, ast.For) for s in loop.body for n in ast.walk(s))]
    few = [
        loop for loop in inner if any(isinstance(n, ast.Name) and n.id in ("max", "min") for n in ast.walk(loop.iter))
    ]
    return [x for x in inner if x not in few and any(isinstance(n, ast.Subscript) for s in x.body for n in ast.walk(s))]


@pytest.mark.parametrize("program", PEELED, ids=name)
def test_no_step_between_asks(program: Callable[..., Any]) -> None:
    made, plain = (sg.compile(program, mode=mode).python(row(40), 0.3) for mode in (sg.opt.FAST_RUN, PLAIN))
    assert any(map(asks, between(plain)))
    assert not any(map(asks, between(made))), made


@pytest.mark.parametrize("program", PEELED + LEFT, ids=name)
def test_value_and_gradient(program: Callable[..., Any]) -> None:
    compiled = sg.compile(program)
    gradient, plain = sg.grad(program, argnums=(0, 1)), sg.grad(program, argnums=(0, 1), mode=PLAIN)
    for size in (*range(4, 8), 12) if program is short else (1, 2, 3, 4, 5, 6, 7, 12):
        u = row(size)
        np.testing.assert_allclose(compiled(u, 0.3), program(u, 0.3), rtol=1e-13)
        for got, want in zip(gradient(u, 0.3), plain(u, 0.3), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    if program is not short:
        assert compiled(row(0), 0.3) == program(row(0), 0.3)


@pytest.mark.parametrize("program", LEFT, ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    args = row(9), 0.3
    assert sg.compile(program).python(*args) == sg.compile(program, mode=PLAIN).python(*args)
