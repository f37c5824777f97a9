"""What is stored into the array that it is computed of, in one loop, and what is computed of all of that array then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(21)


def american(v, p, n):
    v = v.copy()
    for _ in range(n):
        v[1:-1] = 0.3 * v[:-2] + 0.4 * v[1:-1] + 0.2 * v[2:]
        v = np.maximum(v, p)
    return v


def in_the_same_memory(v, p, n):
    for _ in range(n):
        v[2:-1] = 0.3 * v[:-3] + 0.4 * v[1:-2] + 0.2 * v[3:]
        v[:] = np.where(v > p, v, p) * 0.9
    return v


def copied(v, p, n):
    for _ in range(n):
        new = v.copy()
        new[1:-1] = v[:-2] * v[2:]
        v = np.where(new > p, new, p)
    return v


def with_a_boundary(v, p, n):
    w = v
    for k in range(n):
        w = w.copy()
        w[1:-1] = w[:-2] * w[2:]
        if len(w) > 0:
            w[0] = k
        w = np.clip(w + p, -1.0, 1.0)
    return w


def of_a_boundary(v, p, n):
    v = v.copy()
    for _ in range(n):
        v[1:-1] = (v[:-2] + v[2:]) * 0.5
        if len(v) > 1:
            v[-1] = v[-2]
        v = np.minimum(v, p)
    return v


def a_few(v, p, n):
    v = v.copy()
    k = 0
    while k < n and (len(v) == 0 or v[0] < 50.0):
        v[3:7] = 1.0
        v = v * 0.5 + p
        k += 1
    return v


def read_before(v, p, n):
    v = v.copy()
    total = 0.0
    for _ in range(n):
        v[1:-1] = 0.25 * (v[:-2] + v[2:]) + p[1:-1]
        total += np.sum(v)
        v = np.abs(v) - p
    return v + total


def heat(v, p, n):
    for _ in range(n):
        v[1:-1] += 0.1 * (v[:-2] - 2.0 * v[1:-1] + v[2:]) * p[1:-1]
    return v


def upwind(v, p, n):
    for _ in range(n):
        v[1:] -= 0.1 * v[1:] * (v[1:] - v[:-1])
        v[:-1] = 0.5 * (v[:-1] + v[1:])
    return v


def wide(v, p, n):
    for _ in range(n):
        v[2:-2] = 0.1 * (v[:-4] + v[1:-3] + v[2:-2] + v[3:-1] + v[4:]) + p[2:-2]
        v[3:] = v[:-3] * p[3:]
    return v


LINES = [american, in_the_same_memory, copied, with_a_boundary, of_a_boundary, a_few, read_before, heat, upwind, wide]


def masked_rows(v, p, n):
    v = v.copy()
    for _ in range(n):
        v[1:-1, 1:-1] = 0.2 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] + v[1:-1, 1:-1])
        v = np.maximum(v, p)
    return v


def rows(v, p, n):
    for _ in range(n):
        v[1:-1] = v[:-2] - v[2:]
        v[:] = v * p + 0.1
    return v


def columns(v, p, n):
    v = v.copy()
    for _ in range(n):
        v[:, 2:-1] = 0.5 * (v[:, :-3] + v[:, 3:])
        v[:, 0] = 1.0
        v = np.minimum(v, p) - v * 0.1
    return v


def chosen(v, p, n):
    for _ in range(n):
        new = v.copy()
        new[1:-1, 1:-1] = 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:])
        v = np.where(p > 0.0, new, v)
    return v


GRIDS = [masked_rows, rows, columns, chosen]
CASES = [(f, [(k,) for k in (0, 1, 2, 3, 4, 5, 6, 7, 9, 70)]) for f in LINES]
CASES += [(f, [(1, 1), (1, 4), (2, 2), (2, 5), (3, 3), (4, 7), (5, 2), (9, 8)]) for f in GRIDS]


def of_sine(program: Callable[..., Any]) -> Callable[..., Any]:
    return lambda v, p, n: np.sum(np.sin(program(v * 1.0, p, n)))


@pytest.mark.parametrize(("program", "shapes"), CASES, ids=[f.__name__ for f, _ in CASES])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values(program: Callable[..., Any], shapes: list[tuple[int, ...]], dtype: type) -> None:
    compiled, close = sg.compile(program), {np.float64: 1e-12, np.float32: 2e-5}[dtype]
    for shape in shapes:
        for n in (0, 1, 4):
            v, p = (RNG.standard_normal(shape).astype(dtype) for _ in range(2))
            here, there = v.copy(), v.copy()
            expected, found = program(here, p.copy(), n), compiled(there, p.copy(), n)
            assert n == 0 or found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=close, atol=close)
            np.testing.assert_allclose(there, here, rtol=close, atol=close)


@pytest.mark.parametrize("program", [*LINES, *GRIDS], ids=lambda f: f.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    total = of_sine(program)
    for shape in [(1,), (2,), (3,), (6,), (70,)] if program in LINES else [(1, 1), (2, 3), (4, 5), (8, 9)]:
        v, p, h = RNG.standard_normal(shape) * 2.0, RNG.standard_normal(shape), 1e-7
        d_v, d_p = sg.grad(total, argnums=(0, 1))(v, p, 3)
        to_v, to_p = RNG.standard_normal(shape), RNG.standard_normal(shape)
        slope = (total(v + h * to_v, p + h * to_p, 3) - total(v - h * to_v, p - h * to_p, 3)) / (2.0 * h)
        assert np.sum(d_v * to_v) + np.sum(d_p * to_p) == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("program", [american, heat, upwind, wide], ids=lambda f: f.__name__)
def test_elements_are_kept_as_numbers(program: Callable[..., Any]) -> None:
    v, p = RNG.standard_normal((2, 9))
    text = sg.compile(program).python(v, p, 3)
    assert "_left = " in text and "_here" in text
    assert program is wide or "empty" not in text  # three elements are too many


@pytest.mark.parametrize("program", [american, in_the_same_memory, copied, masked_rows, rows], ids=lambda f: f.__name__)
def test_the_middle_is_stored_once(program: Callable[..., Any]) -> None:
    v, p = RNG.standard_normal((2, 6, 7) if program in GRIDS else (2, 9))
    text = sg.compile(program).python(v, p, 3)
    assert "min(1, " in text or "min(2, " in text, text


def test_short_loops_stay_two() -> None:
    v, p = RNG.standard_normal((2, 9))

    def of_nine(v, p, n):
        w = np.zeros(9)
        w[:] = v
        return heat(w, p, n)

    assert "_left" not in sg.compile(of_nine).python(v, p, 3)
