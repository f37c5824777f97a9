"""Coordinates of points in loops over all pairs of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(6)
WITHOUT = sg.opt.FAST_RUN.excluding("coordinates")


def energy(x, m):
    between = x[:, None, :] - x[None, :, :]
    return np.sum(m[:, None] * m / np.sqrt(np.sum(between**2, axis=2) + 0.1))


def kernel(x, m):
    d = x[None, :, :] - x[:, None, :]
    return np.exp(-np.sum(d * d, -1)) @ m


def moved(x, m):
    x[0] += 1.0
    d = x[:, None, :] - x[None, :, :]
    return np.sum(np.abs(d)) * m[0]


def moved_then(x, m):
    d = x[:, None, :] - x[None, :, :]
    x[0] += 1.0
    return np.sum(np.abs(d)) * m[0] + x[0, 0]


def computed(x, m):
    y = x * 2.0 + m[:, None]
    d = y[:, None, :] - y[None, :, :]
    return np.sum(d**2, axis=(1, 2))


def in_steps(x, m, n):
    for _ in range(n):
        d = x[:, None, :] - x[None, :, :]
        x = x - 0.01 * np.sum(d / (np.sum(d * d, 2) + 0.1)[:, :, None] * m[:, None, None], 1)
    return x


PROGRAMS: list[tuple[Callable, tuple[Any, ...], tuple[int, ...]]] = [
    # program, further arguments, of how many coordinates a copy is made
    (energy, (), (2, 3, 4)), (kernel, (), (2, 3, 4)), (moved, (), (2, 3, 4)),
    (moved_then, (), ()), (computed, (), ()), (in_steps, (3,), (2, 3, 4)),
]  # fmt: skip


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("program", "more", "copied"), PROGRAMS, ids=lambda x: getattr(x, "__name__", None))
def test_the_same_numbers(program: Callable, more: tuple[Any, ...], copied: tuple[int, ...], count: int) -> None:
    with_it, without = (sg.compile(program, mode=mode) for mode in (sg.opt.FAST_RUN, WITHOUT))
    for n in (70, 7, 2, 1, 0) if program not in (moved, moved_then) else (70, 7, 1):
        points, masses = RNG.normal(size=(n, count)), RNG.uniform(1.0, 2.0, n)
        new, old, plain = (np.asarray(f(points.copy(), masses, *more)) for f in (with_it, without, program))
        np.testing.assert_allclose(new, old, rtol=1e-14, atol=1e-15)  # sums may be in another order
        np.testing.assert_allclose(new, plain, rtol=1e-12, atol=1e-14)
    points, masses = RNG.normal(size=(70, count)), RNG.uniform(1.0, 2.0, 70)  # short axes beside long ones are known
    assert ("x_T" in sg.inspect(with_it, points, masses, *more).cpu) == (count in copied)


@pytest.mark.parametrize("program", [energy, kernel])
def test_gradients_stay_the_same(program: Callable) -> None:
    def loss(x, m):
        return np.sum(np.cos(program(x, m)))

    points, masses = RNG.normal(size=(70, 3)), RNG.uniform(1.0, 2.0, 70)
    new, old = (sg.grad(loss, argnums=(0, 1), mode=mode)(points, masses) for mode in (sg.opt.FAST_RUN, WITHOUT))
    for x, y in zip(new, old, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
