"""Arrays that one way computes anew and the other leaves as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

X = np.random.default_rng(5).normal(size=(6, 7))


def weights(x, n):
    total = 0.0
    for t in range(n):
        w = np.maximum(x[t], 0.0)
        if w.sum() > 1.0:
            w = w / w.sum()
        total += w @ x[t]
    return total


def the_other_way(x, n):
    total = 0.0
    for t in range(n):
        w = np.cos(x[t])
        if w[0] > 0.5:
            total += w[1]
        else:
            w = w * w + w
        total += np.sum(w * x[0])
    return total


def of_two_axes(x, n):
    m = x * 2.0
    if m[0, 0] > 0.0:
        m = np.sin(m) + n
    m[1] = 0.5
    return m


IN_PLACE = [weights, the_other_way, of_two_axes]


def shifted(x, n):
    total = 0.0
    for t in range(n):
        w = np.cos(x[t])
        if w[0] > 0.5:
            w = w - np.roll(w, 1)
        total += np.sum(w * x[0])
    return total


def needed_later(x, n):
    total = 0.0
    for t in range(n):
        w = np.cos(x[t])
        v = w
        if w[0] > 0.5:
            v = w * 2.0
        total += np.sum(v * w)
    return total


def kept_in_a_list(x, n):
    kept, total = [], 0.0
    for t in range(n):
        w = np.cos(x[t])
        kept.append(w)
        if w[0] > 0.5:
            w = w * 2.0
        total += np.sum(w)
    return total + (kept[0][0] if n > 0 else 0.0)


def handed_on(x, n):
    last = x[0] * 1.0
    for t in range(n):
        w = np.cos(x[t]) + 0.1 * last
        if w[0] > 0.5:
            w = w * 2.0
        last = w
    return last


def of_an_argument(x, n):
    w = x[0]
    if n > 2:
        w = w * 2.0
    w[1] = 7.0
    return w.copy(), x


def its_sum(x, n):
    """The number that all are divided by changes while they are."""
    total = 0.0
    for t in range(n):
        w = np.cos(x[t])
        if w[0] > 0.2:
            w = w / np.sqrt(np.sum(w * w))
        total += w[0] * w[-1]
    return total


PROGRAMS = [*IN_PLACE, shifted, needed_later, kept_in_a_list, handed_on, of_an_argument, its_sum]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_values(program: Callable[..., Any]) -> None:
    compiled = sg.compile(program)
    for n in (0, 1, 3, 6):
        x, y = X.copy(), X.copy()
        found, expected = compiled(x, n), program(y, n)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-13)
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p is not of_an_argument], ids=lambda p: p.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    def loss(x, n):
        return np.sum(np.sin(program(x, n)))

    slope, h = np.sin(np.arange(42.0)).reshape(6, 7), 1e-6
    along = (loss(X + h * slope, 5) - loss(X - h * slope, 5)) / (2 * h)
    assert np.sum(sg.grad(loss)(X, 5) * slope) == pytest.approx(along, rel=1e-6)


@pytest.mark.parametrize("program", IN_PLACE, ids=lambda p: p.__name__)
def test_texts(program: Callable[..., Any]) -> None:
    text = sg.compile(program).python(X, 4)
    assert text.count("= empty(") + text.count("= np.empty(") == 1, text
