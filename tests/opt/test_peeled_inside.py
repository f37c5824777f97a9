"""Loops around loops of a few steps, and windows, in parts: those between the ends ask nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

RNG = np.random.default_rng(9)


def clamped(x):
    rows, columns = x.shape
    out = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    total += x[min(max(i + a, 0), rows - 1), min(max(j + b, 0), columns - 1)]
            out[i, j] = total / 9.0
    return out


def around(x):
    rows, columns = x.shape
    out = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            out[i, j] = x[(i + 1) % rows, j] - x[i, (j - 1) % columns] + x[i, (j + 2) % columns]
    return out


def windows(x):
    rows, columns = x.shape
    out = x.copy()
    for i in range(1, rows):
        for j in range(columns):
            low, high = max(j - 1, 0), min(j + 2, columns)
            out[i, j] += np.min(out[i - 1, low:high])
    return out


def with_choices(x):
    rows, columns = x.shape
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            left = x[i, j - 1] if j > 0 else 0.0
            out[i, j] = left
            if j < columns - 1:
                out[i, j] += x[i, j + 1]
            if j == 0 or j == columns - 1:
                out[i, j] *= 0.5
    return out


def inside_or_not(x):
    rows, columns = x.shape
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for b in range(-2, 3):
                if 0 <= j + b < columns:
                    total += x[i, j + b]
            out[i, j] = total
    return out


def before_the_last(x):
    rows, columns = x.shape
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(1, columns - 1):
            out[i, j] = x[i, max(j - 1, 0)] + x[i, max(j - 2, 0)] + x[i, min(j + 1, columns - 1)]
    return out


def leaves_early(x):
    rows, columns = x.shape
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            if x[i, j] > 1.5:
                break
            out[i, j] = x[i, max(j - 1, 0)]
    return out


def counts(x):
    rows, columns = x.shape
    out, total = np.zeros((rows, columns)), 0.0
    for i in range(rows):
        for j in range(columns):
            total += x[i, max(j - 1, 0)]
            out[i, j] = total
    return out


def one_from_the_other(x):
    rows, columns = x.shape
    out = x.copy()
    for i in range(rows):
        for j in range(columns):
            out[i, j] += 0.5 * out[i, max(j - 1, 0)]
    return out


def far_from_the_edge(x):
    rows, columns = x.shape
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            out[i, j] = x[i, max(j - 7, 0)]
    return out


def of_another_number(x):
    rows, columns = x.shape
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            out[i, j] = x[i, min(i + j, columns - 1)]
    return out


DIVIDED = [clamped, around, windows, with_choices, inside_or_not, before_the_last]
WHOLE = [leaves_early, counts, one_from_the_other, far_from_the_edge, of_another_number]
SHAPES = [(3, 11), (4, 5), (3, 4), (2, 3), (2, 2), (3, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize("program", [*DIVIDED, *WHOLE], ids=lambda p: p.__name__)
def test_values(program: Callable[..., Any]) -> None:
    for shape in SHAPES:
        x = RNG.normal(size=shape)
        found, expected = sg.compile(program)(x.copy()), program(x.copy())
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("program", [*DIVIDED, *WHOLE], ids=lambda p: p.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    def total(x):
        return np.sum(np.sin(program(x)))

    for shape in SHAPES[:5]:
        x, h = RNG.normal(size=shape), 1e-6
        slope = np.cos(np.arange(x.size)).reshape(shape)
        along = (total(x + h * slope) - total(x - h * slope)) / (2 * h)
        assert np.sum(sg.grad(total)(x) * slope) == pytest.approx(along, rel=1e-6, abs=1e-8)


def text_between(program: Callable[..., Any]) -> str:
    """The loop that begins after the first edge, or the first of all."""
    text = sg.compile(program).python(RNG.normal(size=(4, 9)))
    (start,) = re.findall(r"for j in range\([12], n_?\d* ?- ?\d\):|for j in range\(\d, m - \d\):", text)[:1]
    return re.split(r"for j in|if m >", text[text.index(start) :])[1]


@pytest.mark.parametrize("program", DIVIDED, ids=lambda p: p.__name__)
def test_nothing_is_asked(program: Callable[..., Any]) -> None:
    between = text_between(program)
    assert not re.search(r"\bif\b|max\(j|min\(j|max\(b|[jb0-9]\) % ", between), between


@pytest.mark.parametrize("program", WHOLE, ids=lambda p: p.__name__)
def test_texts_left(program: Callable[..., Any]) -> None:
    text = sg.compile(program).python(RNG.normal(size=(4, 9)))
    assert text.count("for j in") == 1, text


def test_a_window_is_as_long_as_it_is() -> None:
    assert "for k in range(3):" in text_between(windows)


def test_indices_out_of_range() -> None:
    def shifted(x, by):
        out = np.zeros(len(x))
        for j in range(len(x)):
            out[j] = x[j + by] if j < len(x) - 1 else x[max(j - 1, 0)]
        return out

    compiled = sg.compile(shifted)
    x = RNG.normal(size=5)
    np.testing.assert_array_equal(compiled(x, 1), shifted(x, 1))
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        compiled(x, 2)
