"""Loops that threads share: the same numbers as in order, from any number of threads, whatever else goes on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.runtime.workers import STATE
from tests import parallel_programs

PROGRAMS = [f for _, f in inspect.getmembers(parallel_programs, inspect.isfunction)]
SIZES = (0, 1, 2, 3, 5, 64, 300, 1025)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Three threads, however many cores there are."""
    before = sg.threads.limit()
    sg.threads.limit(3)
    yield
    sg.threads.limit(before)


def arguments(function: Any, size: int, seed: int = 0) -> list[Any]:
    """By the names of the parameters."""
    rng = np.random.default_rng(seed)
    made = {
        "x": lambda: rng.standard_normal(size),
        "y": lambda: rng.standard_normal(size),
        "z": lambda: rng.standard_normal(size) + 1j * rng.standard_normal(size),
        "m": lambda: rng.standard_normal((size, size) if size < 100 else (size, 7)),
        "k": lambda: rng.integers(0, max(size, 1), size),
        "n": lambda: 5,
    }
    return [made[name]() for name in inspect.signature(function).parameters]


def outcome(function: Any, args: list[Any]) -> Any:
    """What a call returns, or raises, and what its arrays are then."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    try:
        result = function(*args)
    except Exception as error:
        result = type(error), str(error)
    return result, [a for a in args if isinstance(a, np.ndarray)]


def assert_alike(found: Any, expected: Any) -> None:
    """Numbers are equal to the rounding of sums, everything else is equal."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            assert_alike(f, e)
    elif isinstance(expected, np.ndarray | float | complex):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    else:
        assert found == expected


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(function: Any) -> None:
    compiled = {p: sg.compile(function, parallel=p) for p in ("always", True, False)}
    for size in SIZES:
        if function is parallel_programs.with_scratch and size == 0:
            continue
        args = arguments(function, size)
        with np.errstate(all="ignore"):
            expected = outcome(compiled[False], args)
        assert_alike(outcome(compiled["always"], args), expected)
        assert_alike(outcome(compiled[True], args), expected)


IN_ORDER = {
    "recurrence", "gauss_seidel", "to_the_end_of_the_array", "one_place", "two_to_one", "until", "last_seen",
    "same_array", "transposed_in_order",
}  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_which_are_shared(function: Any) -> None:
    """Those that can be are, by other threads too; the others are not."""
    compiled = sg.compile(function, parallel="always")
    args = arguments(function, 300)
    before = STATE["REGIONS"]
    outcome(compiled, args)
    assert (STATE["REGIONS"] > before) == (function.__name__ not in IN_ORDER)
