"""Arrays that a loop binds anew, element by element, stay where they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

RNG = np.random.default_rng(8)
X, Y = RNG.normal(size=7), RNG.normal(size=7)


def floored(x, y, n):
    v = x * 2.0
    for _ in range(n):
        v[1:-1] = v[1:-1] + 0.1 * (v[2:] - v[:-2])
        v = np.maximum(v, y)
    return v


def in_a_branch(x, y, n):
    v = x.copy()
    for i in range(n):
        if y[i] > 0.0:
            v = np.maximum(v, i * y)
    return v


def nested(x, y, n):
    size = len(x)
    v = np.full(size - 2, -0.3)
    for i in range(n):
        for j in range(3):
            if y[i] < x[j]:
                v = np.maximum(v, x[j : j + size - 2])
    return v


def two_at_once(x, y, n):
    v, w = np.zeros(len(x)), np.ones(len(x))
    for _ in range(n):
        v, w = 0.9 * v + w * x, w - 0.1 * v
    return v, w


def one_after_the_other(x, y, n):
    v, w = np.zeros(len(x)), np.ones(len(x))
    for _ in range(n):
        v = 0.9 * v + x * w
        w = w - 0.1 * v
    return v, w


def twice_in_a_step(x, y, n):
    v = np.ones(len(x))
    for i in range(n):
        v = v * x
        v = v + y[i]
    return v


def on_both_sides(x, y, n):
    v = np.ones(len(x))
    for i in range(n):
        v = v * x if y[i] > 0.0 else v + x
    return v


def kept_in_a_list(x, y, n):
    v, kept = x * 2.0, []
    for _ in range(n):
        v = v * y
        kept.append(v)
    return kept[0], kept[-1], v


def read_later(x, y, n):
    v, w = x * 2.0, x * 3.0
    for _ in range(n):
        before = v
        v = v * y
        w = w + before
    return v, w


def by_another_name(x, y, n):
    v = x * 2.0
    first = v
    for _ in range(n):
        v = v * y
    return v, first


def exchanged(x, y, n):
    v, w = x * 2.0, y * 2.0
    for _ in range(n):
        v, w = w, v * 0.5
    return v, w


def of_neighbours(x, y, n):
    v = x * 2.0
    for _ in range(n):
        v = v * 0.5 + v[::-1]
    return v


def of_the_argument(x, y, n):
    for _ in range(n):
        x = x * y
    return x


def shorter(x, y, n):
    v = x * 2.0
    for _ in range(n):
        v = v[1:] * 0.5
    return v


IN_PLACE = [floored, in_a_branch, nested, two_at_once, one_after_the_other, twice_in_a_step, on_both_sides]
MADE_ANEW = [kept_in_a_list, read_later, by_another_name, exchanged, of_neighbours, of_the_argument, shorter]


def parts(found: Any) -> tuple:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("program", [*IN_PLACE, *MADE_ANEW], ids=lambda p: p.__name__)
def test_values(program: Callable[..., Any]) -> None:
    for n in (1, 2, 5):
        x, y = X.copy(), Y.copy()
        for found, expected in zip(parts(sg.compile(program)(x, y, n)), parts(program(X, Y, n)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)
        np.testing.assert_array_equal([x, y], [X, Y])


@pytest.mark.parametrize("program", [*IN_PLACE, *MADE_ANEW], ids=lambda p: p.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    def total(x, y, n):
        found = parts(program(x, y, n))
        return sum(np.sum(np.cos(part)) for part in found)

    slope, h = np.sin(np.arange(len(X))), 1e-6
    gradient = sg.grad(by_program(program))(X, Y, 3)
    along = (total(X + h * slope, Y, 3) - total(X - h * slope, Y, 3)) / (2 * h)
    assert gradient @ slope == pytest.approx(along, rel=1e-7, abs=1e-9)


def by_program(program: Callable[..., Any]) -> Callable[..., Any]:
    count = len(parts(program(X, Y, 1)))

    def one(x, y, n):
        return np.sum(np.cos(program(x, y, n)))

    def two(x, y, n):
        v, w = program(x, y, n)
        return np.sum(np.cos(v)) + np.sum(np.cos(w))

    def three(x, y, n):
        u, v, w = program(x, y, n)
        return np.sum(np.cos(u)) + np.sum(np.cos(v)) + np.sum(np.cos(w))

    return (one, two, three)[count - 1]


def loop_text(program: Callable[..., Any]) -> str:
    text = sg.compile(program).python(X, Y, 3)
    return text[text.index("for _ in range(n)" if "for _ in" in text else "for i in range(n)") :]


@pytest.mark.parametrize("program", [p for p in IN_PLACE if p is not two_at_once], ids=lambda p: p.__name__)
def test_texts(program: Callable[..., Any]) -> None:
    """No array is made in the loop, and none bound anew or copied after it."""
    text = loop_text(program)
    assert not re.search(r"empty|copy|\b[vw] = \w+$", text, re.MULTILINE), text
