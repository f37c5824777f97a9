"""Arrays that are copied and then stored over but for their edges are copied at their edges alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

RNG = np.random.default_rng(13)


def diffused(u, steps):
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] - u[:-2, 1:-1])
        u = new
    return u


def wide(u, steps):
    new = u.copy()
    new[2:-2, 2:-2] = steps * u[:-4, :-4]
    return new


def one_axis(u, steps):
    new = u[0].copy()
    new[1:-1] = steps * u[0, 2:]
    return new


def read_before(u, steps):
    new = u.copy()
    total = np.sum(new)
    new[1:-1, 1:-1] = steps * u[1:-1, 1:-1]
    return new, total


def read_for_it(u, steps):
    new = u.copy()
    new[1:-1, 1:-1] = new[1:-1, 1:-1] * steps + new[2:, 1:-1]
    return new


def uneven(u, steps):
    new = u.copy()
    new[1:-1, 2:-2] = 1.0 * steps
    return new


def lower(u, steps):
    new = u.copy()
    new[1:-2, 1:-1] = 1.0 * steps
    return new


AT_EDGES = [diffused, wide, one_axis]
WHOLE = [read_before, read_for_it, uneven, lower]


@pytest.mark.parametrize("program", [*AT_EDGES, *WHOLE], ids=lambda p: p.__name__)
def test_values(program: Callable[..., Any]) -> None:
    compiled = sg.compile(program)
    for shape in [(6, 7), (4, 4), (5, 3), (2, 2), (1, 5)]:
        u = RNG.normal(size=shape)
        if (program is wide and min(shape) < 4) or (program is one_axis and shape[1] < 2):
            continue
        for dtype in (np.float64, np.float32):
            given = u.astype(dtype)
            found, expected = compiled(given, 2), program(given.copy(), 2)
            for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected)), strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-5 if dtype == np.float32 else 1e-14)
            np.testing.assert_array_equal(given, u.astype(dtype))


@pytest.mark.parametrize("program", [*AT_EDGES, *WHOLE], ids=lambda p: p.__name__)
def test_texts(program: Callable[..., Any]) -> None:
    text = sg.compile(program).python(RNG.normal(size=(6, 7)), 2)
    assert ("edges(" in text) == (program in AT_EDGES), text
