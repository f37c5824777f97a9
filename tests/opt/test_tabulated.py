"""Functions of what a recurrence does not change, computed before it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("tabulated")


def path(z: Any, vol: Any) -> Any:
    s, total = 1.0, 0.0
    for t in range(len(z)):
        s = s * np.exp(-0.5 * vol * vol + vol * z[t])
        total += s
    return total


def paths(z: Any, vol: Any) -> Any:
    rows, total = np.outer(z, z), 0.0
    for p in range(rows.shape[0]):
        s = 1.0
        for t in range(1, rows.shape[1]):
            s *= math.exp(vol * rows[p, t]) / (1.0 + 0.1 * s)
        total += max(s - 1.0, 0.0)
    return total


def downwards(z: Any, vol: Any) -> Any:
    v = 0.0
    for t in range(len(z) - 1, 0, -1):
        step = z[t] - z[t - 1]
        v = v * np.exp(-vol * step * step) + np.sin(step)
    return v


def in_single_precision(z: Any, vol: Any) -> Any:
    x = z.astype(np.float32)
    s = np.float32(0.5)
    for t in range(len(x)):
        s = s * np.tanh(x[t]) + x[t]
    return s * vol


TABULATED = [path, paths, downwards, in_single_precision]


def a_sum(z: Any, vol: Any) -> Any:
    total = 0.0
    for t in range(len(z)):
        total += np.exp(vol * z[t])
    return total


def of_itself(z: Any, vol: Any) -> Any:
    s = 0.3
    for t in range(len(z)):
        s = np.exp(-vol * s) + z[t]
    return s


def not_there_yet(z: Any, vol: Any) -> Any:
    s = 0.3
    for t in range(int(4 * vol) + len(z)):
        s = s * np.exp(vol * z[t])
    return s


def of_the_number_alone(z: Any, vol: Any) -> Any:
    """A table would need memory where the loop needs none."""
    s = 0.3
    for t in range(len(z)):
        s = s * np.sin(vol * t) + z[0]
    return s


LEFT = [a_sum, of_itself, not_there_yet, of_the_number_alone]


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def row(size: int) -> Any:
    return np.random.default_rng(size).uniform(-1.0, 1.0, size)


@pytest.mark.parametrize("program", TABULATED, ids=name)
def test_computed_before_the_recurrence(program: Callable[..., Any]) -> None:
    made, plain = (sg.compile(program, mode=m).python(row(30), 0.2) for m in (sg.opt.FAST_RUN, PLAIN))
    assert made.count("for ") > plain.count("for "), made


@pytest.mark.parametrize("program", TABULATED, ids=name)
def test_values_and_gradients(program: Callable[..., Any]) -> None:
    gradient, plain = (sg.grad(program, argnums=(0, 1), mode=m) for m in (sg.opt.FAST_RUN, PLAIN))
    rough = 1e-5 if program is in_single_precision else 1e-12
    for size in (1, 2, 5, 40):
        args = row(size), 0.2
        np.testing.assert_allclose(sg.compile(program)(*args), program(*args), rtol=rough)
        for got, want in zip(gradient(*args), plain(*args), strict=True):
            np.testing.assert_allclose(got, want, rtol=rough, atol=rough)


@pytest.mark.parametrize("program", LEFT, ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    args = row(30), 0.2
    assert sg.compile(program).python(*args) == sg.compile(program, mode=PLAIN).python(*args)


def test_an_index_that_is_not_there_raises() -> None:
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        sg.compile(not_there_yet)(row(3), 0.3)
