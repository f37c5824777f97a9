"""The arithmetic of derivatives: reciprocals that several quotients share, and what is added last."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

BACKWARD = sg.opt.FAST_RUN.excluding("forward")
"""Tapes, also where few numbers matter."""

PLAIN = sg.opt.FAST_RUN.excluding("slopes")


def quotients(x, y):
    total = 0.0
    for k in range(len(x)):
        total += x[k] / y + math.log(y) / x[k] - 2.0 / y
        y = y + 0.1 * x[k] / y
    return total


def variance(omega, beta, x):
    h, total = omega, 0.0
    for k in range(len(x)):
        total += math.log(h) + x[k] / h
        h = omega + beta * h + 0.2 * x[k]
    return total


def steered(x):
    """The number of steps depends on a derivative."""
    count = 0.0
    while abs(sg.grad(quotients, argnums=1)(np.array([x, 2.0]), x)) > 0.1:
        x = x * 1.5
        count += x / (1.0 + x)
        if count > 50.0:
            break
    return count


X = np.linspace(0.5, 1.5, 7)
CASES = [(quotients, (X, 1.3), (0, 1)), (variance, (0.4, 0.5, X), (0, 1, 2)), (steered, (0.3,), 0)]


@pytest.mark.parametrize(("program", "args", "argnums"), CASES, ids=[c[0].__name__ for c in CASES])
def test_the_same_up_to_rounding(program: Any, args: Any, argnums: Any) -> None:
    found = sg.grad(program, argnums=argnums)(*args)
    plain = sg.grad(program, argnums=argnums, mode=PLAIN)(*args)
    pairs = [(found, plain)] if argnums == 0 else zip(found, plain, strict=True)
    for x, y in pairs:
        np.testing.assert_allclose(x, y, rtol=1e-13)


def test_one_division() -> None:
    text = sg.inspect(sg.grad(variance, mode=BACKWARD), 0.4, 0.5, X).cpu
    back = text[text.index("- 1, -1, -1)") :]
    assert back.count(" / ") == 1
    assert back.index("d_h = ") < back.index("+ d_h * beta")


def test_one_factor_of_several_tangents() -> None:
    """What tangents by several numbers are multiplied by is computed once, and each is multiplied once."""
    text = sg.inspect(sg.grad(variance, argnums=(0, 1)), 0.4, 0.5, X).cpu
    sums = [line.split("#")[0].split() for line in text.splitlines() if line.strip().startswith("d_total")]
    added = [words for words in sums if words[1] == "+="]
    assert [(words[0], words[2], words[3]) for words in added] == [
        ("d_total_beta", "d_h_beta", "*"),
        ("d_total_omega", "d_h_omega", "*"),
    ]
    assert len({words[4] for words in added}) == 1 and all(len(words) == 5 for words in added)


def test_values_stay_as_they_are() -> None:
    """Quotients of the program's own are quotients."""
    text = sg.inspect(quotients, X, 1.3).cpu
    assert text.count(" / y") == 3
    assert sg.compile(quotients)(X, 1.3) == quotients(X, 1.3)


@pytest.mark.parametrize("y", [0.0, -0.0, math.inf, -math.inf, math.nan])
def test_special_divisors(y: float) -> None:
    """Where a divisor is zero, infinite or NaN, so is what comes of it, as without."""
    x = np.array([1.0, -2.0, 0.5])

    def ratios(x, y):
        total = 0.0
        for k in range(len(x)):
            total += x[k] / y - x[k] * x[k] / y
        return total

    args = x, np.float64(y)
    for found, plain in zip(
        sg.grad(ratios, argnums=(0, 1))(*args), sg.grad(ratios, argnums=(0, 1), mode=PLAIN)(*args), strict=True
    ):
        np.testing.assert_allclose(found, plain)


# -- what is multiplied first in the next step -----------------------------------------------------------


def leaky(a, v, x):
    total = 0.0
    for i in range(len(x)):
        v = a * v + x[i]
        total += v * v
    return total


def squared_decay(a, v, x):
    """The factor is one in each trip, and may not be put off."""
    for i in range(len(x)):
        v = x[i] * v + a
        x[i] = v * v
    return np.sum(x)


def two_states(a, v, x):
    w = v
    for i in range(len(x)):
        v, w = a * v + x[i], 0.5 * w + v * v
    return v * w


@pytest.mark.parametrize("program", [leaky, squared_decay, two_states])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_products_are_put_off(program, n):
    x = np.cos(np.arange(float(n)))
    exact = sg.grad(program, argnums=(0, 1, 2))
    fused = sg.grad(program, argnums=(0, 1, 2), fastmath={"contract"})
    for got, want in zip(fused(0.9, 0.3, x.copy()), exact(0.9, 0.3, x.copy()), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


def test_what_is_fused_is_added_to_first():
    text = sg.grad(leaky, argnums=(0, 1, 2), fastmath={"contract"}).python(0.9, 0.3, X)
    back = text[text.index("- 1, -1, -1)") :]
    assert back.index("d_v = d_v_ * a") < back.index("d_v_ = d_v + ")
    assert "d_v_" not in sg.grad(leaky, argnums=(0, 1, 2)).python(0.9, 0.3, X)


def test_one_quotient_for_arrays_in_one_product():
    """The reciprocal is a factor twice, of one product."""

    def energy(positions, masses):
        between = positions[:, None, :] - positions[None, :, :]
        distance = np.sqrt(np.sum(between * between, axis=2) + 0.01)
        return -0.5 * np.sum(masses[:, None] * masses[None, :] / distance)

    x, m = np.random.default_rng(1).normal(size=(7, 3)), np.linspace(1.0, 2.0, 7)
    gradient = sg.grad(energy)
    text = gradient.python(x, m)
    assert text.count(" / distance") + text.count("/ t_") == 1, text
    way = np.cos(np.arange(21.0)).reshape(7, 3)
    slope = (energy(x + 1e-6 * way, m) - energy(x - 1e-6 * way, m)) / 2e-6
    np.testing.assert_allclose(np.sum(gradient(x, m) * way), slope, rtol=1e-7)
