"""Adjoints of stencils in place: each row takes what it is due at once, whatever the sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness import slopes

import srcgraph as sg

pytestmark = pytest.mark.plainly


def five_points(u, k):
    for _ in range(2):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += k * (around - 4.0 * u[1:-1, 1:-1])
    return np.sum(u**2)


def not_linear(u, k):
    for _ in range(2):
        o = u[1:-1, 1:-1]
        u[1:-1, 1:-1] = o * (1.0 + k * o) + 0.2 * np.sin(u[2:, 1:-1] - o) * u[:-2, 2:] - k * u[1:-1, :-2]
    return np.sum(u**2)


def further(u, k):
    for _ in range(2):
        u[2:-1, :-1] += k * u[:-3, 1:] * u[3:, :-1] - 0.5 * u[1:-2, 1:]
    return np.sum(u**3)


def nine_points(u, k):
    for _ in range(2):
        beside = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]
        across = u[:-2, :-2] + u[:-2, 2:] + u[2:, :-2] + u[2:, 2:]
        u[1:-1, 1:-1] = u[1:-1, 1:-1] * (1.0 - k) + 0.2 * beside + 0.05 * across
    return np.sum(u**2)


def cubes(u, k):
    v = np.stack((u, u * k, np.cos(u), u * u))
    for _ in range(2):
        around = v[:-2, 1:-1, 1:-1] + v[2:, 1:-1, 1:-1] + v[1:-1, :-2, 1:-1] + v[1:-1, 1:-1, 2:]
        v[1:-1, 1:-1, 1:-1] += k * (around - 4.0 * v[1:-1, 1:-1, 1:-1])
    return np.sum(v**2)


def solid(u, k):
    """Three axes, of which the last is reached further along; no number but literals is a factor of what is added."""
    v = np.stack((u, np.sin(u), u * k, u * u, np.cos(u)))
    for _ in range(2):
        w = 0.125 * (v[2:, 1:-1, 1:-2] - 2.0 * v[1:-1, 1:-1, 1:-2] + v[:-2, 1:-1, 1:-2]) + 0.25 * v[1:-1, 1:-1, 3:]
        v[1:-1, 1:-1, 1:-2] = w + v[1:-1, :-2, :-3] / 3.0
    return np.sum(v**2)


def infinite(u, k):
    """A factor that is infinite, of what is not there, would be no number."""
    for _ in range(2):
        u[1:-1, 1:-1] = k * (u[:-2, 1:-1] + u[1:-1, 2:] + u[2:, 1:-1])
    return np.sum(u[0, 1:])


RINGS = [five_points, nine_points, further]


def values(*shape: int) -> np.ndarray:
    return 0.8 * np.cos(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)


def name(program: Callable[..., Any]) -> str:
    return program.__name__


@pytest.mark.parametrize("program", [*RINGS, not_linear, cubes, solid, infinite], ids=name)
def test_all_small_sizes(program: Callable[..., Any]) -> None:
    for shape in [(n, m) for n in range(3, 9) for m in range(3, 6)] + [(13, 12)]:
        wanted, found = slopes(program, values(*shape), 0.3)
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-7), shape


@pytest.mark.parametrize("program", RINGS, ids=name)
def test_rows_take_all_at_once(program: Callable[..., Any]) -> None:
    text = sg.grad(program).python(values(9, 9), 0.3)
    assert "_old = " in text and "_new = " in text
    assert any(line.count("_old") + line.count("_new[") > 2 for line in text.splitlines())


@pytest.mark.parametrize("program", [five_points, nine_points, solid], ids=name)
def test_zeros_around_rows(program: Callable[..., Any]) -> None:
    """All places of a row take one sum, in one nest as wide as the array."""
    text = sg.grad(program).python(values(9, 9), 0.3)
    added = [line for line in text.splitlines() if "_old[" in line and "+=" in line and "d_" in line]
    assert len(added) == 1 and "_older[" in added[0] and "min(" not in text, text


def test_what_is_not_there_is_not_multiplied() -> None:
    """Rims have no infinite parts: 0 times infinity is no number."""
    u = values(5, 6)
    d, in_order = sg.grad(infinite, parallel=True)(u, np.inf), sg.grad(infinite)(u, np.inf)
    np.testing.assert_array_equal(in_order, d)


def test_threads_do_not_wait_for_rows() -> None:
    u = values(40, 40)
    shared = sg.grad(five_points, parallel=True)
    assert "_older" not in shared.python(u, 0.3)
    np.testing.assert_allclose(shared(u, 0.3), sg.grad(five_points)(u, 0.3), rtol=1e-12, atol=1e-14)


def test_sums_of_the_user_stay_in_order() -> None:
    def stored(u, v):
        n, m = u.shape
        t = np.empty((n - 2, m))
        for i in range(n - 2):
            for j in range(m):
                t[i, j] = u[i + 1, j] * 2.0
        for i in range(n - 2):
            for j in range(m):
                v[i, j] += t[i, j]
            for j in range(m):
                v[i + 2, j] += t[i, j]
            for j in range(m):
                v[i + 1, j] += t[i, j]
        return v

    u, v = values(7, 5), 1e8 * values(7, 5)
    np.testing.assert_array_equal(sg.compile(stored)(u, v.copy()), stored(u, v.copy()))
