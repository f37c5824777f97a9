"""Arrays read beside their transposes, in one nest: a number of the nest is of one place at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(3)
X, Y = RNG.uniform(-1.0, 1.0, 4), RNG.uniform(-1.0, 1.0, 4)


def pairs(x, y):
    d = x[:, None] - x[None, :]
    g = (np.exp(-0.5 * d**2) - np.where(d > 0.0, d**2, 0.0)) * (y[:, None] + y[None, :])
    return np.sum(g - g.T) + np.sum(g * g.T)


def powers(x, y):
    d = x[:, None] - 2.0 * x
    g = (np.exp(d) - d**3) * (y[:, None] + y * x)
    return np.sum(g * g.T) + np.sum(np.sin(g) - g.T * x)


def chosen(x, y):
    g = np.where(x[:, None] > y, x[:, None] * y, np.cos(x) + y[:, None]) * (x + y[:, None] ** 2)
    return np.sum((g + 1.0) * (g.T - 0.5)) - np.sum(g.T**2 * x)


def test_each_way_to_ask_for_derivatives() -> None:
    def f(d, w):
        g = (d + 1.0) * (w[:, None] + w[None, :])
        return np.sum(g - g.T) + np.sum(g * g.T)

    d, w = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([1.0, 2.0])
    d_d, d_w = np.array([[8.0, 54.0], [36.0, 128.0]]), np.array([80.0, 328.0])
    value, (first, second) = sg.value_and_grad(f, argnums=(0, 1))(d, w)
    assert value == 368.0
    np.testing.assert_array_equal(first, d_d)
    np.testing.assert_array_equal(second, d_w)
    assert sg.jvp(f, (d, w), (np.eye(2), np.ones(2))) == (368.0, np.trace(d_d) + np.sum(d_w))


@pytest.mark.parametrize("program", [pairs, powers, chosen], ids=lambda p: p.__name__)
def test_value_and_derivatives(program: Any) -> None:
    value, slopes = sg.value_and_grad(program, argnums=(0, 1))(X, Y)
    assert value == pytest.approx(program(X, Y), rel=1e-13)
    for alone, slope in zip(sg.grad(program, argnums=(0, 1))(X, Y), slopes, strict=True):
        np.testing.assert_allclose(slope, alone, rtol=1e-11)
    step = 1e-6 * RNG.uniform(-1.0, 1.0, (2, 4))
    difference = (program(X + step[0], Y + step[1]) - program(X - step[0], Y - step[1])) / 2.0
    np.testing.assert_allclose(slopes[0] @ step[0] + slopes[1] @ step[1], difference, rtol=1e-6)
