"""Additions of what is 0 unless a branch is taken, done in that branch."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("within")


def pairs_within(x: Any, w: Any) -> Any:
    energy = 0.0
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            r2 = 0.0
            for k in range(x.shape[1]):
                d = x[i, k] - x[j, k]
                r2 += d * d
            if r2 < 0.5:
                energy += w[i] * w[j] * (1.0 - r2) ** 3
    return energy


def pairs_skipped(x: Any, w: Any) -> Any:
    energy = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            r2 = 0.0
            for k in range(x.shape[1]):
                r2 += (x[i, k] - x[j, k]) ** 2
            if i == j or r2 > 0.6:
                continue
            energy += w[i] / (0.1 + np.sqrt(r2))
    return energy


def rows_that_count(x: Any, w: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for k in range(x.shape[1]):
            s += x[i, k] * w[k]
        total += 0.5
        if s > 0.9:
            total += s * s * np.exp(s)
    return total


WITHIN = [pairs_within, pairs_skipped, rows_that_count]


def used_either_way(x: Any, w: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for k in range(x.shape[1]):
            s += x[i, k] * w[k]
        if s > 0.9:
            total += s * s
        else:
            total -= s
    return total


def without_a_loop(x: Any, w: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        s = x[i, 0] * w[i]
        if s > 0.3:
            total += s * s
    return total


def args() -> tuple[Any, Any]:
    draw = np.random.default_rng(4)
    return draw.uniform(0.0, 1.0, (12, 3)), draw.uniform(0.2, 1.0, 12)


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def additions_under_a_test(text: str) -> int:
    """How many loops that add to elements stand in a branch."""
    found = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.If)]
    loops = [n for branch in found for s in branch.body + branch.orelse for n in ast.walk(s) if isinstance(n, ast.For)]
    return sum(any(isinstance(n, ast.AugAssign) for s in loop.body for n in ast.walk(s)) for loop in loops)


@pytest.mark.parametrize("program", WITHIN, ids=name)
def test_adds_where_it_is_not_zero(program: Callable[..., Any]) -> None:
    made, plain = (sg.grad(program, argnums=(0, 1), mode=m).python(*args()) for m in (sg.opt.FAST_RUN, PLAIN))
    assert additions_under_a_test(made) > additions_under_a_test(plain), made


@pytest.mark.parametrize("program", [used_either_way, without_a_loop], ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    made, plain = (sg.grad(program, argnums=(0, 1), mode=m).python(*args()) for m in (sg.opt.FAST_RUN, PLAIN))
    assert made == plain


@pytest.mark.parametrize("program", WITHIN, ids=name)
def test_gradient(program: Callable[..., Any]) -> None:
    got, want = (sg.grad(program, argnums=(0, 1), mode=m)(*args()) for m in (sg.opt.FAST_RUN, PLAIN))
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    sg.grad(program, argnums=(0, 1), verify=True)(*args())
