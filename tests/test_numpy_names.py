"""NumPy functions as users call them, over dtypes, memory layouts, lengths and special values.

What NumPy returns is returned, what it raises is raised; inputs of other dtypes than float64 may be refused, but
never answered otherwise. Runs the reference interpreter: code for the ops in it is tested op by op.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from harness import Versions, compare, interpreted, outcome
from numpy_calls import CALLS

from srcgraph.errors import SrcgraphError

SHAPES = {"x": (0,), "y": (0,), "mask": (0,), "m": (0, 3), "q": (0, 0), "r": (2, 3, 0)}
"""Shapes of inputs; 0 stands for the length tried."""
DTYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, np.complex128)


def drawn(name: str, size: int, dtype: Any, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape = tuple(n or size for n in SHAPES[name])
    if name == "mask":
        return rng.uniform(size=shape) < 0.5
    if np.dtype(dtype).kind == "c":
        return (rng.uniform(-1.5, 1.5, shape) + 1j * rng.uniform(-1.5, 1.5, shape)).astype(dtype)
    if np.dtype(dtype).kind in "iub":
        return rng.integers(0, 5, shape).astype(dtype)
    return rng.uniform(-1.5, 1.5, shape).astype(dtype)


def strided(x: np.ndarray) -> np.ndarray:
    """The same numbers, every axis backwards in memory and with gaps."""
    room = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    view = room[tuple(slice(None, None, -2) for _ in x.shape)]
    view[...] = x
    return view


def special(x: np.ndarray) -> np.ndarray:
    """With NaN, infinity and zeros of both signs."""
    if x.dtype.kind == "f" and x.size > 2:
        x.reshape(-1)[: min(x.size, 4)] = np.array([np.nan, np.inf, -0.0, 0.0])[: min(x.size, 4)]
    return x


def inputs(function: Callable) -> Iterator[tuple[str, tuple[Any, ...]]]:
    names = list(inspect.signature(function).parameters)

    def args(size: int, dtype: Any = np.float64, change: Callable = lambda x: x) -> tuple[Any, ...]:
        numbers: dict[str, Any] = {"k": 3, "a": 0.7}
        return tuple(
            numbers[n] if n in numbers else change(drawn(n, size, dtype, 7 * k + size)) for k, n in enumerate(names)
        )

    for dtype in DTYPES:
        yield np.dtype(dtype).name, args(5, dtype)
    yield "strided", args(4, change=strided)
    yield "Fortran", args(4, change=np.asfortranarray)
    yield "special", args(4, change=special)
    yield "one", args(1)
    yield "empty", args(0)
    yield "empty integers", args(0, np.int64)


def name_of(function: Callable) -> str:
    return inspect.getsource(function).strip().removesuffix(",").removeprefix("lambda ")


@pytest.mark.parametrize("function", CALLS, ids=name_of)
def test_call(function: Callable) -> None:
    versions = Versions(function)
    for label, args in inputs(function):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = outcome(function, args)
        try:
            got = interpreted(versions, args)
        except SrcgraphError as error:
            assert label != "float64" or want.error, f"refused: {error}"
            continue
        compare(got, want, f"{name_of(function)} of {label} {args}")
