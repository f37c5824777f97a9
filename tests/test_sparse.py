"""Sweeps back through tables of least costs leave out what nothing depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

RNG = np.random.default_rng(8)
X, Y = RNG.normal(size=8), RNG.normal(size=6)


def warping(x, y):
    n, m = len(x), len(y)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d[i, j] = (x[i - 1] - y[j - 1]) ** 2 + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[n, m]


def knapsack(x, y):
    best = np.zeros(20)
    for k in range(len(x)):
        for c in range(19, k, -1):
            best[c] = max(best[c], best[c - k - 1] + x[k] * x[k])
    return best[19] * y[0]


def option(x, y):
    v = [max(x[0] * 1.1 ** (6 - 2 * j) - x[1], 0.0) for j in range(7)]
    for i in range(5, -1, -1):
        v = [max(0.9 * (0.6 * v[j] + x[2] * v[j + 1]), x[0] * 1.1 ** (i - 2 * j) - x[1]) for j in range(i + 1)]
    return v[0]


def cheapest_way(x, y):
    """Down a grid of products, with a charge for each turn that is handed on."""
    cost = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            here = np.exp(x[i] * y[j])
            if i == 0 and j == 0:
                cost[i, j] = here
            elif i == 0:
                cost[i, j] = here + cost[i, j - 1]
            elif j == 0:
                cost[i, j] = here + cost[i - 1, j]
            else:
                cost[i, j] = here + min(cost[i - 1, j], cost[i, j - 1] + 0.1 * x[0])
    return cost[-1, -1]


def relaxed(x, y):
    """Each distance from those before it, again and again."""
    d = np.full(len(x), 10.0)
    d[0] = 0.0
    for _ in range(3):
        for i in range(1, len(x)):
            d[i] = min(d[i], d[i - 1] + np.abs(x[i]), d[i] * 0.5 + y[0] * y[0])
    return np.sum(d * d)


def arguments(program: Callable[..., Any]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([10.0, 9.7, 0.35]) if program is option else X.copy(), Y.copy()


PROGRAMS = [warping, knapsack, option, cheapest_way, relaxed]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    x, y = arguments(program)
    found = sg.grad(program, argnums=(0, 1))(x, y)
    step = 1e-6
    near = (
        [(program(x + step * e, y) - program(x - step * e, y)) / (2 * step) for e in np.eye(len(x))],
        [(program(x, y + step * e) - program(x, y - step * e)) / (2 * step) for e in np.eye(len(y))],
    )
    for gradient, expected in zip(found, near, strict=True):
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("program", "derivative"), [(warping, "d_d_ij"), (option, "d_v_j")])
def test_texts(program: Callable[..., Any], derivative: str) -> None:
    text = sg.grad(program).python(arguments(program)[0], Y)
    assert f"if {derivative} != 0.0:" in text, text
    assert f"if {derivative} == 0.0" not in text, text


def test_dense_derivatives_are_not_asked() -> None:
    def filtered(x):
        y = x.copy()
        for i in range(1, len(x)):
            y[i] = y[i - 1] / y[i] + 0.5 * y[i - 1]
        return np.sum(y * y)

    assert "!= 0.0:" not in sg.grad(filtered).python(X)
