"""Comparisons of absolute values by squares are those of the absolute values: next to the bound, and at the ends."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from numba import njit

import srcgraph as sg
from srcgraph.runtime import hypots

COMPARED = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
BOUNDS = [0.0, -0.0, -2.0, 2.0, 1e-10, 5.0, 1e-150, 1e-160, 1e-320, 1e149, 1.3e154, 1e200, np.inf, -np.inf, np.nan]


@njit
def _root(x: float, y: float) -> float:
    return np.hypot(x, y)


def _points(bound: float) -> list[tuple[float, float]]:
    """Points on, next to and far from a circle."""
    rng = np.random.default_rng(1)
    radius = abs(bound) if np.isfinite(bound) else 1e308
    near = []
    for angle in np.concatenate(
        (rng.uniform(0.0, 2.0 * np.pi, 40), np.arctan2([3.0, 4.0, 5.0, 8.0], [4.0, 3.0, 12.0, 15.0]))
    ):
        for steps in range(-4, 5):
            scale = 1.0 + steps * 1.1e-16
            near.append((radius * scale * np.cos(angle), radius * np.sin(angle)))
    special = [0.0, 1.0, -1e-200, 1e-323, 1e200, np.inf, np.nan, bound]
    return near + [(x, y) for x in special for y in special]


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("bound", BOUNDS)
def test_as_the_hypotenuse(name: str, bound: float) -> None:
    compared = getattr(hypots, f"hypot_{name}")
    for x, y in _points(bound):
        assert compared(x, y, bound) == COMPARED[name](_root(x, y), bound), (x, y)


def escapes(c: complex, most: int) -> int:
    """After how many steps a point of the plane is too far away."""
    z = 0j
    for k in range(most):
        z = z * z + c
        if abs(z) > 2:
            return k
    return most


def reach(z: complex, w: complex, tol: float) -> tuple[bool, bool, bool, bool, float]:
    """All comparisons, from both sides, and a size that something else reads, too."""
    size = abs(w)
    return abs(z) < tol, tol <= abs(z), tol < abs(z * w), abs(z - w) <= tol, size if size > tol else tol


def test_in_programs() -> None:
    fast = sg.compile(escapes)
    for re in np.linspace(-2.1, 0.9, 31):
        for im in np.linspace(-1.2, 1.2, 25):
            assert fast(complex(re, im), 60) == escapes(complex(re, im), 60)
    assert "hypot_greater(" in fast.python(0.5 + 0j, 60)
    also = sg.compile(reach)
    for z in (0.6 + 0.8j, 3 - 4j, -1j, 0j):
        for w in (1 + 0j, 0.3 - 0.4j):
            for tol in (0.5, 1.0, 5.0):
                assert also(z, w, tol) == reach(z, w, tol)


def newton(z: complex, tol: float) -> float:
    """How far a root of ``z**3 = 1`` is from where the search began."""
    start = z
    while abs(z * z * z - 1.0) > tol:
        z = z - (z * z * z - 1.0) / (3.0 * z * z)
    return abs(z - start)


def test_derivatives_of_searches() -> None:
    def by_parts(x: float) -> float:
        return newton(complex(x, 0.5), 1e-12)

    slope = sg.grad(by_parts)(1.3)
    assert slope == pytest.approx((by_parts(1.3 + 1e-6) - by_parts(1.3 - 1e-6)) / 2e-6, rel=1e-7)
