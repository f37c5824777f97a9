"""Stores and sums of what masks mark are one loop, also where lengths had to be compared before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def stored(z, y):
    z = z.copy()
    m = z > 0.5
    z[m] = np.sqrt(z[m]) * y[m]
    return z


def added(z, y):
    z = z.copy()
    m = (z > 0.5) & (y < 0.3)
    z[m] += y[m] ** 2
    return z


def named(z, y):
    z = z.copy()
    m = z > 0.5
    t = z[m]
    u = y[m]
    z[m] = t + u * np.exp(-t)
    return z


def both_sides(z, y):
    out = np.zeros_like(z)
    m = z > 0.5
    out[m] = np.log(z[m])
    out[~m] = y[~m] * z[~m]
    return out


def mean(z, y):
    m = z > 0.5
    return np.mean(z[m] * y[m])


def total(z, y):
    return z[z > 0.5].sum() + y.sum()


def columns(z, y):
    w = np.outer(z, y)
    m = z > 0.4
    w[m] = y * z[m][:, None] ** 2
    return w


def grid(z, y):
    w = np.outer(z, y)
    m = w > 0.2
    out = np.zeros(w.shape)
    out[m] = np.sqrt(w[m]) * 2.0
    return out


def cube(z, y):
    w = z[:, None, None] * y[:, None] * np.arange(1.0, 4.0)
    m = w[:, :, 0] > 0.2
    out = np.zeros(m.shape)
    out[m] = (w[m] ** 2).sum(axis=1) + w[m][:, 1] * w[m][:, :1][:, 0]
    return out


PROGRAMS = [stored, added, named, both_sides, mean, total, columns, grid, cube]


def loss(f: Callable[..., Any]) -> Callable[..., Any]:
    def weighted(z, y):
        return np.sum(np.sin(f(z, y)))

    return weighted


def options(size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(size)
    return rng.random(size), rng.random(size)


@pytest.mark.parametrize("program", PROGRAMS)
def test_one_loop(program: Callable[..., Any]) -> None:
    """But for derivatives of parts of what is marked, which are added to parts of an array of it."""
    z, y = options(7)
    derived = [] if program is cube else [sg.grad(loss(program), argnums=(0, 1)).python(z, y)]
    for text in (sg.compile(program).python(z, y), *derived):
        assert "compress" not in text and "expand" not in text, text


@pytest.mark.parametrize("size", [0, 1, 2, 9, 300])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_values(program: Callable[..., Any], size: int) -> None:
    z, y = options(size)
    np.testing.assert_allclose(sg.compile(program)(z, y), program(z, y), rtol=1e-14)


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients(program: Callable[..., Any]) -> None:
    f, (z, y) = loss(program), options(9)
    d_z, d_y = sg.grad(f, argnums=(0, 1))(z, y)
    for k in range(len(z)):
        h = np.eye(len(z))[k] * 1e-6
        np.testing.assert_allclose(d_z[k], (f(z + h, y) - f(z - h, y)) / 2e-6, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(d_y[k], (f(z, y + h) - f(z, y - h)) / 2e-6, rtol=1e-7, atol=1e-8)


def test_what_is_not_marked_does_not_count() -> None:
    """Logarithms of what is not marked are NaN, their derivatives infinite: neither is seen."""
    z, y = np.array([-1.0, 0.0, 0.75, np.inf, np.nan, -np.inf]), np.array([1.0, np.inf, 2.0, 3.0, np.nan, 4.0])

    def total(z, y):
        out = np.zeros_like(z)
        m = z > 0.5
        out[m] = np.log(z[m]) * y[m]
        return np.sum(np.where(np.isfinite(out), out, 0.0))

    d_z, d_y = sg.grad(total, argnums=(0, 1))(z, y)
    np.testing.assert_allclose(sg.compile(total)(z, y), 2.0 * np.log(0.75))
    np.testing.assert_array_equal(d_z, [0.0, 0.0, 2.0 / 0.75, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(d_y, [0.0, 0.0, np.log(0.75), 0.0, 0.0, 0.0])


def test_lengths_that_differ() -> None:
    with pytest.raises(IndexError, match="boolean index did not match"):
        sg.compile(stored)(np.ones(3), np.ones(4))


def test_results_keep_their_names() -> None:
    """What rules make of a named value has its name."""
    z, y = options(7)
    text = sg.grad(loss(stored), argnums=(0, 1)).python(z, y)
    assert "return d_z, d_y" in text
