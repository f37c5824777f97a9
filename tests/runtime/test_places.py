"""Integers that are nothing but places in arrays may wrap on the way; what is compared, or stored, may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import srcgraph as sg
from srcgraph.runtime.integers import Integers


def read(x: Any, k: int, m: int) -> Any:
    total = 0.0
    for i in range(4):
        total += x[k * m + i]
    return total


def stored(x: Any, k: int, m: int) -> Any:
    for i in range(4):
        x[k + i - m] = 1.0
    return x[0]


def two_axes(x: Any, k: int, m: int) -> Any:
    total = 0.0
    for i in range(2):
        at = k + i
        total += x[at - m, i * k] if x.ndim == 2 else x[at - m]
    return total


def compared(x: Any, k: int, m: int) -> Any:
    total = 0.0
    for i in range(4):
        at = k * m + i
        if at < x.shape[0]:
            total += x[at]
    return total


def kept(x: Any, k: int, m: int) -> Any:
    total = 0
    for i in range(4):
        total = k * m + i
        x[i] = total
    return x[0]


def both(x: Any, k: int, m: int) -> Any:
    """The place itself is stored."""
    for i in range(4):
        at = i + k * m
        x[at] = at
    return x[0]


def counted(x: Any, k: int, m: int) -> Any:
    at = k
    for _ in range(4):
        at = at + m
    return x[at]


def watched(f: Callable[..., Any]) -> bool:
    made = njit(error_model="numpy", pipeline_class=Integers)(f)
    made.compile("float64(float64[::1], int64, int64)")
    return "with.overflow" in next(iter(made.inspect_llvm().values()))


@pytest.mark.parametrize("f", [read, stored, two_axes])
def test_places_are_not_watched(f: Callable[..., Any]) -> None:
    assert not watched(f)


@pytest.mark.parametrize("f", [compared, kept, both, counted])
def test_other_integers_are(f: Callable[..., Any]) -> None:
    assert watched(f)


def test_what_is_out_of_bounds_raises() -> None:
    made = sg.compile(read)
    x = np.arange(10.0)
    for k, m in ((1, 2), (-1, 3), (2, 3)):
        assert made(x, k, m) == read(x, k, m)
    for k, m in ((3, 5), (2**62, 4), (2**33, 2**33), (-(2**63), 2)):
        with pytest.raises((IndexError, OverflowError)):
            made(x, k, m)


def eroded(image: Any, k: int) -> Any:
    """The lengths of slices are not known to be equal."""
    n, m = image.shape
    out = np.full((n, m), 255, np.uint8)
    for di in range(-k, k + 1):
        for dj in range(-k, k + 1):
            part = image[k + di : n - k + di, k + dj : m - k + dj]
            out[k : n - k, k : m - k] = np.minimum(out[k : n - k, k : m - k], part)
    return out


def test_slices_of_lengths_that_are_not_known_to_be_equal() -> None:
    made = sg.compile(eroded)
    for n, m, k in ((20, 30, 2), (5, 5, 2), (5, 5, 1), (3, 3, 1), (7, 4, 0)):
        image = np.random.default_rng(n).integers(0, 255, (n, m)).astype(np.uint8)
        np.testing.assert_array_equal(made(image, k), eroded(image, k))
