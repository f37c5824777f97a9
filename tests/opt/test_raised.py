"""Derivatives of loops over elements, taken as operations on rows where each step adds to several elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("raised")
Grid = Any


def five_points(u: Grid, k: float) -> Any:
    for _ in range(3):
        old = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                around = old[i + 1, j] + old[i - 1, j] + old[i, j + 1] + old[i, j - 1]
                u[i, j] = old[i, j] + k * (around - 4.0 * old[i, j]) + 0.1 * np.sin(old[i + 1, j] - old[i, j - 1])
    return np.sum(u * u)


def along_rows(u: Grid, k: float) -> Any:
    v = np.zeros(u.shape)
    for i in range(u.shape[0]):
        for j in range(u.shape[1] - 2):
            v[i, j] = u[i, j] * u[i, j + 2] - k * u[i, j + 1]
    return np.sum(v * v)


def along_columns(u: Grid, k: float) -> Any:
    v = u * 0.5
    for j in range(u.shape[1]):
        for i in range(1, u.shape[0]):
            v[i, j] += k * (u[i, j] - u[i - 1, j]) ** 2
    return np.sum(v * u)


def backwards(u: Grid, k: float) -> Any:
    v = np.zeros(u.shape)
    for i in range(u.shape[0] - 2, 0, -1):
        for j in range(u.shape[1] - 1, 0, -1):
            v[i, j] = np.exp(k * u[i + 1, j - 1]) * u[i - 1, j] + u[i, j - 1]
    return np.sum(v * v)


def far_from_the_ends(u: Grid, k: float) -> Any:
    v = u.copy()
    for i in range(3, u.shape[0] - 1):
        for j in range(u.shape[1] - 3):
            v[i, j + 2] = u[i - 3, j] * k + u[i - 1, j + 3] * u[i, j + 1]
    return np.sum(v * v)


def one_line(u: Grid, k: float) -> Any:
    x = u[:, 0].copy()
    y = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        flux = np.where(x[i] > 0.0, x[i] - x[i - 1], x[i + 1] - x[i])
        y[i] = x[i] - k * x[i] * flux + max(x[i + 1], 0.1) * min(x[i - 1], 0.2)
    return np.sum(y * y)


def sums_of_neighbours(u: Grid, k: float) -> Any:
    total = 0.0
    for i in range(1, u.shape[0]):
        for j in range(u.shape[1]):
            total += k * u[i, j] * u[i - 1, j]
    return total


def three_axes(u: Grid, k: float) -> Any:
    w = np.stack((u, u * k, u * u))
    v = np.zeros(w.shape)
    for a in range(1, w.shape[0]):
        for i in range(1, w.shape[1]):
            for j in range(w.shape[2] - 1):
                v[a, i, j] = w[a, i, j + 1] * w[a - 1, i, j] + w[a, i - 1, j]
    return np.sum(v * v)


def factors(u: Grid, k: float) -> Any:
    """Each row, and each column, has its own."""
    rows, columns = np.cos(u[:, 0]), np.sin(u[0, :])
    v = np.zeros(u.shape)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = rows[i] * (u[i, j + 1] - u[i, j - 1]) + columns[j] * (u[i + 1, j] - u[i - 1, j]) * k
    return np.sum(v * v)


def in_place(u: Grid, k: float) -> Any:
    """Each step reads what the one before has stored."""
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            u[i, j] = 0.2 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) + k * u[i, j]
    return np.sum(u * u)


def prefixes(u: Grid, k: float) -> Any:
    x = u[:, 0] * 1.0
    for i in range(2, len(x)):
        x[i] = k * x[i - 1] + np.sin(x[i - 2])
    return np.sum(x * x)


def places_from_numbers(u: Grid, k: float) -> Any:
    v = np.zeros(u.shape[0])
    for i in range(u.shape[0]):
        v[i] = i * k * u[i, 0] + u[(2 * i) % u.shape[0], 0] * u[-1 - i, 0]
    return np.sum(v * v)


def sometimes(u: Grid, k: float) -> Any:
    v = np.zeros(u.shape)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            if u[i, j] > 0.0:
                v[i, j] = u[i + 1, j] * u[i - 1, j]
            else:
                v[i, j] = k * u[i, j + 1] - u[i, j - 1]
    return np.sum(v * v)


def transposed(u: Grid, k: float) -> Any:
    v = np.zeros((u.shape[1], u.shape[0]))
    for i in range(u.shape[0]):
        for j in range(1, u.shape[1] - 1):
            v[j, i] = u[i, j + 1] * k - u[i, j - 1] * u[i, j]
    return np.sum(v * v)


def pairs(u: Grid, k: float) -> Any:
    """All pairs of columns: what a row computes is an array, what all compute would be larger than any other."""
    f = np.zeros(u.shape)
    for i in range(u.shape[1]):
        for j in range(u.shape[1]):
            dx, dy = u[0, i] - u[0, j], u[1, i] - u[1, j]
            f[0, i] += k * dx / (1.0 + dx * dx + dy * dy)
            f[1, i] += k * dy / (1.0 + dx * dx + dy * dy)
    return np.sum(f * f)


RAISED = [five_points, along_rows, backwards, far_from_the_ends, one_line, three_axes, factors]
OTHERS = [in_place, prefixes, places_from_numbers, sometimes, along_columns, transposed]
ALL = [*RAISED, *OTHERS, sums_of_neighbours, pairs]


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def grid(*shape: int) -> Grid:
    return 0.8 * np.cos(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)


@pytest.mark.parametrize("program", ALL, ids=name)
def test_the_same_numbers(program: Callable[..., Any]) -> None:
    """As without, at all small sizes and with loops of no step; derivatives are slopes."""
    mine, plain = (sg.grad(program, argnums=(0, 1), mode=m) for m in (sg.opt.FAST_RUN, PLAIN))
    for shape in [(n, m) for n in range(2, 7) for m in range(1, 6)] + [(11, 23)]:
        for found, wanted in zip(mine(grid(*shape), 0.3), plain(grid(*shape), 0.3), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12, err_msg=str(shape))
    u, along, h = grid(7, 8), np.sin(np.arange(56.0)).reshape(7, 8), 1e-6
    d_u, d_k = mine(u.copy(), 0.3)
    slope = (program(u + h * along, 0.3 + h) - program(u - h * along, 0.3 - h)) / (2 * h)
    np.testing.assert_allclose(np.sum(d_u * along) + d_k, slope, rtol=1e-6)


@pytest.mark.parametrize("program", RAISED, ids=name)
def test_no_step_adds_to_several_elements(program: Callable[..., Any]) -> None:
    text, plain = (sg.inspect(sg.grad(program, mode=m), grid(7, 8), 0.3).cpu for m in (sg.opt.FAST_RUN, PLAIN))
    assert text != plain and most_added(text) < most_added(plain) >= 2


def most_added(text: str) -> int:
    """The most additions to an array in one loop, one after the other."""
    most = run = 0
    for line in text.splitlines():
        run = run + 1 if (line.strip().startswith("d_") and "] += " in line) or "] -= " in line else 0
        most = max(most, run)
    return most


@pytest.mark.parametrize("program", OTHERS, ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    own, plain = (sg.inspect(sg.grad(program, mode=m), grid(7, 8), 0.3).cpu for m in (sg.opt.FAST_RUN, PLAIN))
    assert own == plain


def test_no_array_is_larger_than_those_that_were() -> None:
    text = sg.inspect(sg.grad(pairs), grid(2, 30), 0.3).cpu
    assert "(max(m, 0), max(m, 0))" not in text and "empty((m, m))" not in text


def test_single_precision() -> None:
    u = grid(7, 8).astype(np.float32)
    mine, plain = (sg.grad(five_points, mode=m)(u.copy(), np.float32(0.3)) for m in (sg.opt.FAST_RUN, PLAIN))
    assert mine.dtype == np.float32
    np.testing.assert_allclose(mine, plain, rtol=2e-5)


def test_of_second_order() -> None:
    """The derivative along a direction of the gradient."""
    u, along, h = grid(6, 6), np.sin(np.arange(36.0)).reshape(6, 6), 1e-6
    gradient = sg.grad(five_points)
    _, found = sg.jvp(gradient, (u, 0.3), (along, 0.0))
    slope = (gradient(u + h * along, 0.3) - gradient(u - h * along, 0.3)) / (2 * h)
    np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-7)
