"""Arrays that each trip makes shorter stay in one memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(8)


def tree(x, p):
    n = len(x) - 1
    v, s = np.maximum(p - x, 0.0), x * 1.5
    for _ in range(n - 1, -1, -1):
        s = s[:-1] * 0.9
        v = np.maximum(0.4 * v[:-1] + 0.5 * v[1:], p - s)
    return v[0] if len(v) > 0 else 0.0


def de_casteljau(x, p):
    b = x.copy()
    while len(b) > 1:
        b = (1.0 - p) * b[:-1] + p * b[1:]
    return b[0] if len(b) > 0 else 0.0


def differences(x, p):
    d, out = x + p, np.zeros(len(x))
    for k in range(len(x)):
        out[k] = d[0]
        d = (d[1:] - d[:-1]) / (k + 1)
    return out


def far_apart(x, p):
    v, total = x * p, 0.0
    while len(v) > 3:
        total += v[0] * len(v)
        v = v[3:] * v[:-3] + v[1:-2]
    return total + np.sum(v)


INSIDE = [tree, de_casteljau, differences, far_apart]


def returned(x, p):
    v = x * p
    for _ in range(len(x) // 2):
        v = v[1:] + v[:-1]
    return v


def left_early(x, p):
    v = x * p
    while len(v) > 2:
        new = v[1:] * 0.5 + v[:-1]
        if new[0] > 1.0:
            break
        v = new
    return np.sum(v)


def both_needed(x, p):
    v, total = x * p, 0.0
    while len(v) > 2:
        new = v[1:] - v[:-1]
        total += np.sum(v) * new[0]
        v = new
    return total


def backwards(x, p):
    v = x * p
    while len(v) > 2:
        v = v[:0:-1] + v[:-1]
    return np.sum(v * np.arange(len(v)))


def kept(x, p):
    v = x * p
    first = v
    for _ in range(len(x) // 3):
        v = v[1:] + v[:-1]
    return np.sum(first) + np.sum(v)


def given(x, p):
    v = x
    while len(v) > 2:
        v = v[1:] - p * v[:-1]
    return np.sum(v) + np.sum(x)


OTHERS = [returned, left_early, both_needed, backwards, kept, given]


@pytest.mark.parametrize("program", [*INSIDE, *OTHERS], ids=lambda f: f.__name__)
def test_values(program: Callable[..., Any]) -> None:
    compiled = sg.compile(program)
    for size in (0, 1, 2, 3, 4, 5, 8, 13, 40):
        for dtype in (np.float64, np.float32):
            x = RNG.uniform(0.2, 1.5, size).astype(dtype)
            before = x.copy()
            expected, found = program(x, 0.75), compiled(x, 0.75)
            np.testing.assert_allclose(found, expected, rtol=1e-11 if dtype is np.float64 else 1e-4)
            assert np.array_equal(x, before)


@pytest.mark.parametrize("program", [*INSIDE, *OTHERS], ids=lambda f: f.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    def total(x, p):
        return np.sum(program(x, p)) * 1.0

    for size in (3, 4, 9):
        x, along, h = RNG.uniform(0.2, 1.5, size), RNG.standard_normal(size), 1e-7
        d_x, d_p = sg.grad(total, argnums=(0, 1))(x, 0.75)
        slope = (total(x + h * along, 0.75 + h) - total(x - h * along, 0.75 - h)) / (2.0 * h)
        assert np.sum(d_x * along) + d_p == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("program", [*INSIDE, *OTHERS], ids=lambda f: f.__name__)
def test_texts(program: Callable[..., Any]) -> None:
    text = sg.compile(program).python(RNG.uniform(0.2, 1.5, 40), 0.75)
    cut = any(" = " in line and "[:" in line for line in text.splitlines())
    assert cut == (program in INSIDE), text
