"""Stencils on grids that go round, or on as they end, read the grid itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

RNG = np.random.default_rng(14)


def laplacian(u, steps):
    for _ in range(steps):
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        u = u + 0.1 * (around - 4.0 * u)
    return u


def advected(u, steps):
    v = u[0] * 2.0
    for _ in range(steps):
        v = v - 0.3 * (np.roll(v, -1) - np.roll(v, 1)) + 0.1 * np.roll(v, 2)
    return v


def diagonal(u, steps):
    corners = np.roll(np.roll(u, 1, 0), 1, 1) * np.roll(np.roll(u, -2, 0), 1, 1)
    return corners + np.roll(u, (2, -1), axis=(0, 1))


def two_fields(u, steps):
    v = np.zeros(u.shape)
    for _ in range(steps):
        change = np.roll(u, 1, 1) - 2.0 * u + np.roll(u, -1, 1)
        v = v + 0.2 * change
        u = u + 0.2 * v
    return u, v


def chosen(u, steps):
    ahead, behind = np.roll(u, -1, 1), np.roll(u, 1, 1)
    return np.where(u > 0.0, u - behind, ahead - u) * steps


def all_around(u, steps):
    """Shifts of shifts, some by nothing."""
    for _ in range(steps):
        around = sum(np.roll(np.roll(u, a, 0), b, 1) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
        u = 0.1 * around + 0.1 * u
    return u


def far_together(u, steps):
    """Two shifts that are further together than a copy has more at its ends."""
    return np.roll(np.roll(u, 3, 0), 3, 0) * np.roll(np.roll(u, 3, 0), -3, 0) + steps * np.roll(u, 3, 0)


def in_place(u, steps):
    v = u.copy()
    for _ in range(steps):
        v += 0.1 * (np.roll(v, 1, 0) - np.roll(v, -1, 0))
    return v


def summed(u, steps):
    return np.sum((np.roll(u, 1, 0) - u) ** 2 + (np.roll(u, -1, 0) * u) * steps)


def of_another_length(u, steps):
    ahead, behind = np.roll(u, -1, 1), np.roll(u, 1, 1)
    return (ahead * behind)[:, 1:] * u[:, 1:]


def insulated(u, steps):
    for _ in range(steps):
        p = np.pad(u, 1, mode="edge")
        u = u + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u)
    return u


def smoothed(u, steps):
    v = u[0] * 2.0
    for _ in range(steps):
        p = np.pad(v, 2, mode="edge")
        v = (p[:-4] + 4.0 * p[1:-3] + 6.0 * v * v + 4.0 * p[3:-1] + p[4:]) / 16.0
    return v


def both_ends(u, steps):
    p, q = np.pad(u, 1, mode="edge"), np.pad(u, 1, mode="wrap")
    return p[2:, 1:-1] * q[:-2, 1:-1] - p[1:-1, :-2] * q[1:-1, 2:] + steps * p[2:, 2:]


def padded_in_place(u, steps):
    v = u.copy()
    for _ in range(steps):
        p = np.pad(v, 1, mode="edge")
        v[:] = v + 0.2 * (p[2:, 1:-1] - p[:-2, 1:-1]) * v
    return v


def changed_at_the_end(u, steps):
    p = np.pad(u, 1, mode="edge")
    p[0] = steps
    return p[:-2, 1:-1] + p[1:-1, 2:]


WITHOUT = [far_together, insulated, smoothed, both_ends, all_around, laplacian, advected, two_fields, chosen, diagonal]
WITH = [padded_in_place, changed_at_the_end, in_place, summed, of_another_length]
PADDED = [insulated, smoothed, both_ends, padded_in_place, changed_at_the_end]


def parts(found: Any) -> tuple:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("program", [*WITHOUT, *WITH], ids=lambda p: p.__name__)
def test_values(program: Callable[..., Any]) -> None:
    compiled = sg.compile(program)
    for shape in [(5, 6), (4, 4), (3, 2), (2, 3), (2, 1), (1, 1), (1, 2), *[(1, 0)] * (program not in PADDED)]:
        u = RNG.normal(size=shape)
        for steps in (1, 3):
            found, expected = parts(compiled(u.copy(), steps)), parts(program(u.copy(), steps))
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("program", [*WITHOUT, *WITH], ids=lambda p: p.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    def total(u, steps):
        return sum(np.sum(np.sin(part)) for part in parts(program(u, steps)))

    def of_one(u, steps):
        return np.sum(np.sin(program(u, steps)))

    def of_two(u, steps):
        x, y = program(u, steps)
        return np.sum(np.sin(x)) + np.sum(np.sin(y))

    for shape in [(5, 6), (3, 2), (2, 1)]:
        u, h = RNG.normal(size=shape), 1e-6
        slope = np.cos(np.arange(u.size)).reshape(shape)
        along = (total(u + h * slope, 2) - total(u - h * slope, 2)) / (2 * h)
        gradient = sg.grad(of_two if program is two_fields else of_one)(u, 2)
        assert np.sum(gradient * slope) == pytest.approx(along, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("program", [*WITHOUT, *WITH], ids=lambda p: p.__name__)
def test_texts(program: Callable[..., Any]) -> None:
    text = sg.compile(program).python(RNG.normal(size=(5, 6)), 2)
    assert ("wrapped" not in text and "extended" not in text) == (program in WITHOUT), text
    assert "rolled" not in text


@pytest.mark.parametrize("program", [insulated, both_ends, padded_in_place], ids=lambda p: p.__name__)
def test_nothing_is_extended(program: Callable[..., Any]) -> None:
    for shape in [(0, 3), (3, 0)]:
        with pytest.raises(ValueError, match="can't extend empty axis") as expected:
            program(np.zeros(shape), 1)
        with pytest.raises(ValueError, match=str(expected.value)[:24]):
            sg.compile(program)(np.zeros(shape), 1)


def test_adjoints_of_ends_take_rows_at_once() -> None:
    """A row of the padded array's derivative is one sum, and its ends are added to where they come from."""
    u = RNG.normal(size=(5, 6))

    def total(u, steps):
        return np.sum(insulated(u, steps) ** 2)

    text = sg.inspect(sg.grad(total), u, 2).cpu
    assert "d_p[i, 1] += d_p[i, 0]" in text and "d_p[i, j] = " in text


def shallow(h, hu, steps):
    for _ in range(steps):
        f = hu * hu / h + 0.5 * h * h
        hn = 0.5 * (np.roll(h, 1) + np.roll(h, -1)) - 0.1 * (np.roll(hu, -1) - np.roll(hu, 1))
        hun = 0.5 * (np.roll(hu, 1) + np.roll(hu, -1)) - 0.1 * (np.roll(f, -1) - np.roll(f, 1))
        h, hu = hn, hun
    return h, hu


def test_arguments_of_one_length() -> None:
    for n in (1, 2, 3, 8):
        h, hu = RNG.uniform(1.0, 2.0, n), RNG.normal(size=n)
        for found, expected in zip(sg.compile(shallow)(h, hu, 4), shallow(h, hu, 4), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert "wrapped" not in sg.compile(shallow).python(h, hu, 4)
