"""Second derivatives where a rule, or a rewrite, has a case of its own, or where a cotangent is 0."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly


def equal_exponents(x):
    return np.logaddexp(x, 1.0)


def equal_exponents_of_two(x):
    return np.logaddexp2(1.0, x)


def sum_of_exponentials(x):
    return np.log(np.exp(x) + np.exp(2.0 * x))


def log_cosh(x):
    return np.log(np.cosh(x))


def folded(x):
    return np.logaddexp.reduce(np.array([x, 0.0, -x]))


def cardinal_sine(x):
    return np.sinc(x)


def chosen_product(x):
    return np.where(x > -1.0, x * np.exp(x), 0.0)


def product_of_chosen(x):
    return x * np.where(x > -1.0, np.log(x + 2.0), 0.0)


def chosen_square(x):
    return x * np.where(x > -1.0, np.sin(x + 1.0), 0.0) ** 2


def interpolated(x):
    return x * np.interp(x, np.array([-20.0, 20.0]), np.array([0.0, 1.0]))


def power_of_power(x):
    return (x + 2.0) ** x


def logarithm_of_difference(x):
    return np.log(1.0 - np.exp(-x * x - 1.0))


POINTS = [
    (equal_exponents, 1.0, 0.25),
    (equal_exponents_of_two, 1.0, 0.25 * math.log(2.0)),
    (sum_of_exponentials, 0.0, 0.25),
    (log_cosh, 0.0, 1.0),
    (folded, 0.0, 2.0 / 3.0),
    (cardinal_sine, 0.0, -(math.pi**2) / 3.0),
    (cardinal_sine, 1e-9, -(math.pi**2) / 3.0),
    (chosen_product, 0.0, 2.0),
    (product_of_chosen, 0.0, 1.0),
    (chosen_square, 0.0, 2.0 * math.sin(2.0)),
    (interpolated, 0.0, 0.05),
    (power_of_power, 0.0, 1.0 + math.log(2.0) ** 2),
    (logarithm_of_difference, 30.0, 0.0),
]


@pytest.mark.parametrize(("function", "x", "want"), POINTS, ids=[f"{f.__name__} at {x}" for f, x, _ in POINTS])
def test_second_derivative(function: Callable, x: float, want: float) -> None:
    slope = sg.grad(function)
    for second in (sg.grad(slope), sg.jacfwd(slope), sg.jacrev(slope), sg.hessian(function)):
        assert second(x) == pytest.approx(want, rel=1e-12, abs=1e-300)


def powers(v):
    return v[0] ** v[1]


def weighted(v):
    return np.sum(np.where(v[2:] > 0.0, v[:2] * np.sqrt(v[2:]), 0.0))


def test_mixed_derivatives_beside_a_zero() -> None:
    found = sg.hessian(powers)(np.array([2.0, 0.0]))
    np.testing.assert_allclose(found, [[0.0, 0.5], [0.5, math.log(2.0) ** 2]], rtol=1e-14)
    found = sg.hessian(weighted)(np.array([0.0, 2.0, 4.0, 0.0]))
    want = np.zeros((4, 4))
    want[0, 2] = want[2, 0] = 0.25
    np.testing.assert_array_equal(found, want)


def added(x, y):
    return np.logaddexp(x, y)


def test_infinite_exponents_share_the_derivative() -> None:
    slope = sg.grad(added, argnums=(0, 1))
    for x, y, want in [
        (np.inf, np.inf, (0.5, 0.5)),
        (-np.inf, -np.inf, (0.5, 0.5)),
        (np.inf, 1.0, (1.0, 0.0)),
        (-np.inf, 1.0, (0.0, 1.0)),
    ]:
        assert slope(x, y) == want


def nearest(points, centroids):
    total = 0.0
    for point in points:
        least = np.inf
        for centroid in centroids:
            least = min(least, np.sum((point - centroid) ** 2))
        total += least
    return total


def newton(points, centroids):
    return sg.jvp(lambda c: sg.grad(nearest, argnums=1)(points, c), (centroids,), (np.ones_like(centroids),))


def test_what_only_adds_zeros_is_left_out_of_second_derivatives_too() -> None:
    draw = np.random.default_rng(3)
    points, centroids = draw.normal(size=(20, 3)), draw.normal(size=(4, 3))
    slope, curvature = sg.compile(newton)(points, centroids)
    closest = np.argmin(((points[:, None] - centroids) ** 2).sum(-1), axis=1)
    counts = np.bincount(closest, minlength=4)
    np.testing.assert_allclose(curvature, np.repeat(2.0 * counts[:, None], 3, axis=1), rtol=1e-14)
    sums = np.stack([points[closest == k].sum(axis=0) for k in range(4)])
    np.testing.assert_allclose(slope, 2.0 * (counts[:, None] * centroids - sums), rtol=1e-12)
    text = sg.compile(newton).python(points, centroids)
    assert "which_saved" in text and "== 0.0" not in text
