"""Elements that loops store over are saved and put back, not whole arrays in each trip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def triangular(x: Any, d: Any, starts: Any, columns: Any) -> Any:
    """A sparse system that is solved row by row."""
    for i in range(len(x)):
        s = x[i]
        for k in range(starts[i], starts[i + 1]):
            s -= d[k] * x[columns[k]]
        x[i] = s * s
    return np.sum(x * x)


def sweeps(x: Any, d: Any, starts: Any, columns: Any) -> Any:
    y = np.zeros(len(x))
    for _ in range(3):
        for i in range(len(x)):
            s = x[i]
            for k in range(starts[i], starts[i + 1]):
                s -= d[k] * y[columns[k]]
            y[i] = np.sin(s)
    return np.sum(y * y)


def by_rest(x: Any, d: Any, starts: Any, columns: Any) -> Any:
    for i in range(1, len(x)):
        s = 0.0
        for j in range(i % 4):
            s += x[j] * d[j]
        x[i] *= s
        if s > 0.2:
            x[i - 1] = x[i] * s
    return np.sum(x)


def until(x: Any, d: Any, starts: Any, columns: Any) -> Any:
    """A `while` stores at places that it computes, backwards, in one of two arrays of two axes."""
    m = np.outer(x, d)
    k, s = len(x) - 1, 1.0
    while k > 0 and s < 40.0:
        j = columns[k] % m.shape[1]
        n = 0
        while n < k % 3:
            s += m[n, j] ** 2
            n += 1
        m[k, j] = m[k - 1, j] * s
        k -= 1
    return np.sum(m) * s


PROGRAMS = [triangular, sweeps, by_rest, until]


def given(n: int) -> tuple[Any, ...]:
    make = np.random.default_rng(n)
    counts = np.minimum(make.integers(0, 4, n), np.arange(n))
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns = np.concatenate([make.integers(0, max(i, 1), c) for i, c in enumerate(counts)]).astype(np.intp)
    columns = np.concatenate([columns, np.arange(n)])
    return make.uniform(0.2, 0.9, n), make.uniform(0.1, 0.6, len(columns)), starts, columns


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    for n in (2, 5, 12):
        x, *others = given(n)
        value, slopes = sg.value_and_grad(program, argnums=(0, 1), verify=True)(x.copy(), *others)
        assert value == pytest.approx(program(x.copy(), *others), rel=1e-12)
        assert all(np.all(np.isfinite(s)) for s in slopes)


def test_no_array_is_saved_in_each_trip() -> None:
    tape = sg.inspect(sg.grad(triangular, argnums=(0, 1)), *given(12)).tape
    assert all(row.bytes in ("", "0", "8", "16") for row in tape)
    assert any(row.choice == "undone" for row in tape)


def test_memory_is_linear() -> None:
    n = 40_000
    slopes = sg.grad(triangular, argnums=(0, 1))(*given(n))
    assert all(np.all(np.isfinite(s)) for s in slopes)
