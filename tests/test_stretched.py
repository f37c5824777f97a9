"""What is the same along an axis is found once for each row, and what is quick is not kept in arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.sum((e / np.sum(e, axis=-1, keepdims=True)) ** 2)


def shares(x):
    return np.sum(x / np.sum(x, axis=1, keepdims=True))


def centred(x):
    h = x - np.mean(x, axis=0)
    return np.sum(h / np.sqrt(np.mean(h * h, axis=0) + 0.1))


def stretched(x):
    """Numbers, rows and columns, stretched by the user."""
    row = np.broadcast_to(x[0], x.shape) / (1.0 + x[1] * x[1])
    column = np.broadcast_to(x[:, :1], x.shape) * np.broadcast_to(x[:, 1:2], x.shape)
    return np.sum(row * column) + np.sum(np.broadcast_to(x[0, 0], x.shape) - np.broadcast_to(x[0], x.shape))


def changed_between(x):
    """What is stretched is overwritten before it is read."""
    last = np.broadcast_to(x[0], x.shape) / (2.0 + x[1])
    x[0] = x[0] * x[0]
    x[1] = 3.0
    return np.sum(last * x)


def far(shape: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape) + 0.1


@pytest.mark.parametrize("shape", [(2, 2), (2, 7), (9, 3)])
@pytest.mark.parametrize("program", [softmax, shares, centred, stretched, changed_between], ids=lambda f: f.__name__)
def test_values_and_slopes(program: Callable[..., Any], shape: tuple[int, int]) -> None:
    x = far(shape)
    assert sg.compile(program)(x.copy()) == pytest.approx(program(x.copy()), rel=1e-12, abs=1e-13)
    got = sg.grad(program)(x.copy())
    h, along = 1e-6, np.cos(np.arange(x.size)).reshape(shape)
    slope = (program(x + h * along) - program(x - h * along)) / (2 * h)
    assert np.sum(got * along) == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_integers_wrap_as_those_of_arrays() -> None:
    def scaled(k, j):
        return np.broadcast_to(k, (3,)) * j

    for big in (2**62, np.int64(2**62)):
        assert sg.compile(scaled)(big, 4).tolist() == scaled(big, 4).tolist() == [0, 0, 0]
    assert sg.compile(scaled)(2**62, 0.5).tolist() == scaled(2**62, 0.5).tolist()


def test_no_arrays_of_what_is_quick() -> None:
    """The largest are marked where they are needed; of all elements there is the derivative alone."""
    lines = sg.grad(softmax).python(far((3, 4))).splitlines()
    whole = [line for line in lines if "empty((n, m_2))" in line or "empty((n, m))" in line]
    assert len(whole) == 1, whole
    assert not any("zeros(" in line for line in lines if "import" not in line)
    text = sg.grad(shares).python(far((3, 4)))
    assert text.count("empty((n, m") == 1, text


def halves(x):
    return x[::2] + x[1::2]


def columns(x):
    return np.sum(x[:, ::2] * x[:, 1::2])


def rows_from_others(x):
    x[::2] -= 0.5 * x[1::2]
    return x[:, 0:1] * x[0]


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (4, 3), (8, 6), (1, 1)])
@pytest.mark.parametrize("program", [halves, columns, rows_from_others], ids=lambda f: f.__name__)
def test_parts_that_may_be_stretched_are_read_where_they_are(
    program: Callable[..., Any], shape: tuple[int, int]
) -> None:
    x = far(shape)
    try:
        want = program(x.copy())
    except ValueError:
        with pytest.raises(ValueError, match=r"could not (be )?broadcast"):
            sg.compile(program)(x.copy())
        return
    np.testing.assert_allclose(sg.compile(program)(x.copy()), want, rtol=1e-13)
    if shape != (1, 1):
        assert sg.compile(program).python(x).count("empty(") == (program is not columns)
