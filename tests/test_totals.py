"""Contributions to the derivative of a number from one loop nest are one sum."""

from __future__ import annotations

import numpy as np
import pytest

import srcgraph as sg


def residuals(x, a, b, c):
    y = np.exp(-a * x * x) * b + c
    z = y * a - c * x
    return np.sum(z * z) + a * b


def passed_on(x, a, b, c):
    y = np.sin(a * x + b)
    s = np.sum(y)
    z = y * s + a * c
    return np.sum(z) * b


def in_trips(x, a, b, c):
    s = 0.0
    for k in range(3):
        y = x * a + b * k
        s += np.sum(y * y * c) + np.sum(a * y)
        a = a * 0.9 + b * 0.1
    return s


def in_a_branch(x, a, b, c):
    y = np.where(x > 0.0, a * x, b * x)
    if a > 0.5:
        y = y * a + c
    else:
        y = y - b
    return np.sum(y * y) - np.sum(a * y + c)


def stored(x, a, b, c):
    y = np.zeros(len(x))
    y[:] = a * x + b
    y[1:] += a * c
    y[:-1] *= b
    return np.sum(y * a) - np.sum(y * c)


@pytest.mark.parametrize("function", [residuals, passed_on, in_trips, in_a_branch, stored])
@pytest.mark.parametrize("n", [0, 1, 7, 300])
def test_gradient(function, n):
    args = (np.random.default_rng(n).normal(size=n), 0.7, -0.4, 1.3)
    got = sg.grad(function, argnums=(1, 2, 3))(*args)
    for k, slope in enumerate(got, 1):
        up, down = ([*args[:k], args[k] + h, *args[k + 1 :]] for h in (1e-6, -1e-6))
        np.testing.assert_allclose(slope, (function(*up) - function(*down)) / 2e-6, rtol=1e-5, atol=1e-5)


def test_one_sum_each():
    text = sg.inspect(sg.grad(residuals, argnums=(1, 2, 3)), np.ones(3), 0.7, -0.4, 1.3).cpu
    assert text.count("two_sum(") == 3
    assert text.count("plus(part") == 3


def test_sums_of_the_user_stay():
    """Rounding is as in the text: what the user adds up is added up in that order."""

    def two(x):
        return np.sum(x) + np.sum(x * x)

    assert sg.inspect(two, np.ones(3)).cpu.count("plus(part") == 2


def test_matrix_of_elements_is_not_made():
    def scaled(q, x, a):
        return a * q @ x

    text = sg.inspect(scaled, np.ones((3, 3)), np.ones(3), 0.5).cpu
    assert "matmul(" not in text and text.count("empty(") == 1
