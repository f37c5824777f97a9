"""A gradient that is computed forwards is that of reverse mode where something else was chosen."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import srcgraph as sg

BACKWARDS = sg.opt.FAST_RUN.excluding("forward")
Z = np.array([1.5, -4.0, 2.0, -3.0, 0.5, 1.0])


def truncated(a: float) -> float:
    """The variance of a simulation, where it is not negative."""
    v = total = 0.04
    for z in Z:
        v = v + a * (0.04 - v) + 0.5 * np.sqrt(np.maximum(v, 0.0)) * z
        total += v
    return total


def by_branches(a: float) -> float:
    v = a
    for z in Z:
        positive = v if v > 0.0 else 0.0
        v = a * z + math.sqrt(positive)
    return v


def in_a_while(a: float) -> float:
    v, k = a, 0
    while k < 6:
        v = np.log(np.where(v > 0.5, v, 0.0)) if k == 4 else np.cbrt(np.minimum(v, 0.0)) + a
        k += 1
    return np.where(np.isfinite(v), v, a)


def quotient(a: float) -> float:
    v = np.float64(a)
    for z in Z:
        v = a * z + 1.0 / np.maximum(v, -0.25) ** 2
    return v


def over_elements(a: float) -> float:
    """Each element has a loop that depends on the number alone."""
    total = 0.0
    for z in Z:
        v = a
        for _ in range(4):
            v = np.sqrt(np.maximum(v * z, 0.0)) + a
        total += v
    return total


@pytest.mark.native
@pytest.mark.parametrize("f", [truncated, by_branches, in_a_while, quotient, over_elements])
def test_gradients_do_not_depend_on_the_way(f: Callable[[float], float]) -> None:
    for a in (0.3, -0.7, 0.0, 1.2):
        forwards, backwards = sg.grad(f)(a), sg.compile(sg.grad(f), mode=BACKWARDS)(a)
        np.testing.assert_allclose(forwards, backwards, rtol=1e-10, atol=1e-12, err_msg=str(a))


def test_it_is_finite_and_right() -> None:
    assert any(row.choice == "forward" for row in sg.inspect(sg.grad(truncated), 0.3).tape)
    step = 1e-6
    near = (truncated(0.3 + step) - truncated(0.3 - step)) / (2 * step)
    assert sg.grad(truncated)(0.3) == pytest.approx(near, rel=1e-4)


def test_second_derivatives() -> None:
    def f(a: float) -> float:
        return sg.grad(truncated)(a)

    found = sg.grad(f)(0.3)
    assert found == pytest.approx((f(0.3 + 1e-5) - f(0.3 - 1e-5)) / 2e-5, rel=1e-3)


def test_what_is_never_chosen_away_is_only_multiplied() -> None:
    def newton(a: float) -> float:
        x = 1.0
        for _ in range(5):
            x = x - (x * x - a) / (2.0 * x)
        return x

    assert "== 0.0" not in sg.grad(newton).python(2.0)
