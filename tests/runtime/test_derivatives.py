"""What users call to differentiate: structures, orders and refusals of forward mode."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import srcgraph as sg

X = np.array([0.2, 0.9, 0.4, 0.7])
V = np.array([1.0, -2.0, 0.5, 3.0])


def wave(x, speed):
    total = 0.0
    for k in range(1, len(x)):
        if x[k] > 0.5:
            total += np.sin(speed * x[k]) * x[k - 1]
        else:
            total -= x[k] ** 2
    while total > 0.3:
        total *= speed
    return total


def shifted(x, speed):
    y = np.zeros_like(x)
    y[1:] = x[:-1] * speed
    y[0] += y.sum()
    return y, {"largest": np.max(y)}["largest"], len(y)


def pushed(x):
    items = []
    for v in x:
        items.append(v * v)
    items[0] = items[-1] * 3.0
    return sum(items) * items.pop()


def central(f: Callable, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    h = 1e-6
    return (np.asarray(f(x + h * v)) - np.asarray(f(x - h * v))) / (2 * h)


def test_value_and_tangent() -> None:
    value, tangent = sg.jvp(wave, (X, 0.8), (V, 0.0))
    assert value == wave(X, 0.8)
    np.testing.assert_allclose(tangent, central(lambda x: wave(x, 0.8), X, V), rtol=1e-8)


def test_tangent_is_the_gradient_times_the_direction() -> None:
    by_x, by_speed = sg.grad(wave, argnums=(0, 1))(X, 0.8)
    _, tangent = sg.jvp(wave, (X, 0.8), (V, 2.0))
    np.testing.assert_allclose(tangent, by_x @ V + 2.0 * by_speed, rtol=1e-14)


def test_structure_of_the_value() -> None:
    """Several results, of which one is an integer and has no tangent."""
    (y, largest, count), (d_y, d_largest, d_count) = sg.jvp(shifted, (X, 0.8), (V, None))
    want = shifted(X, 0.8)
    np.testing.assert_array_equal(y, want[0])
    assert (largest, count, d_count) == (want[1], 4, None)
    np.testing.assert_allclose(d_y, central(lambda x: shifted(x, 0.8)[0], X, V), atol=1e-8)
    np.testing.assert_allclose(d_largest, central(lambda x: shifted(x, 0.8)[1], X, V), atol=1e-8)


def test_through_lists() -> None:
    np.testing.assert_allclose(sg.jvp(pushed, (X,), (V,))[1], central(pushed, X, V), rtol=1e-8)


def test_forward_over_reverse() -> None:
    """The gradient in a direction: the Hessian times it."""
    value, product = sg.jvp(sg.grad(wave), (X, 0.8), (V, 0.0))
    np.testing.assert_array_equal(value, sg.grad(wave)(X, 0.8))
    np.testing.assert_allclose(product, central(lambda x: sg.grad(wave)(x, 0.8), X, V), atol=1e-7)


def test_arguments_counted_from_the_end() -> None:
    slope, bend = sg.jvp(sg.grad(lambda x, y: x * y**3, argnums=-1), (2.0, 3.0), (0.0, 1.0))
    assert (slope, bend) == (54.0, 36.0)


def test_changed_arguments_are_copies() -> None:
    def scaled(x):
        x *= 2.0
        return x

    x = X.copy()
    value, tangent = sg.jvp(scaled, (x,), (V,))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(value, 2.0 * X)
    np.testing.assert_array_equal(tangent, 2.0 * V)


@dataclasses.dataclass
class Spring:
    stiffness: float

    def energy(self, x):
        return 0.5 * self.stiffness * x**2


def test_methods_and_tuples() -> None:
    assert sg.jvp(Spring(3.0).energy, (2.0,), (1.0,)) == (6.0, 6.0)
    assert sg.jvp(lambda p: p[0] * p[1][0], ((3.0, (2.0, 1)),), ((1.0, (10.0, None)),)) == (6.0, 32.0)


def test_what_does_not_fit() -> None:
    with pytest.raises(sg.errors.ArgumentError, match="2 primals, but 1 tangents"):
        sg.jvp(wave, (X, 0.8), (V,))
    with pytest.raises(sg.errors.ArgumentError, match="tangent of x, an array of int64, is an array of float64"):
        sg.jvp(pushed, (np.arange(4),), (V,))
    with pytest.raises(ValueError, match="the shape of its primal: lengths 3 and 4"):
        sg.jvp(pushed, (X,), (V[:3],))
