"""Functions that a loop waits for nothing to compute, a strip of its steps at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("strips")


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


def summed(z: Any, vol: Any) -> Any:
    total = 0.0
    for t in range(len(z)):
        total += z[t] * np.exp(vol * z[t])
    return total


def checked(z: Any, vol: Any) -> Any:
    """An exponential of Python's may be too large, a power may be none."""
    out, total = np.zeros(len(z)), 0.0
    for t in range(len(z)):
        out[t] = math.exp(vol * z[t]) - (t + 1) ** vol
        total += out[t] * t
    return total


def chosen(z: Any, vol: Any) -> Any:
    total = 0.0
    for t in range(len(z)):
        x = np.sin(z[t])
        if x > vol:
            total += x
        else:
            total -= vol * x
    return total


def of_the_number_alone(z: Any, vol: Any) -> Any:
    s = 0.3
    for t in range(len(z)):
        s = s * np.sin(vol * t) + z[0]
    return s


def of_a_known_number(z: Any, vol: Any) -> Any:
    total = z[0]
    for k in range(1, 60):
        total += np.cos(vol * k) / k
    return total


def two_sums(z: Any, vol: Any) -> Any:
    a, b = 0.0, 0.0
    for t in range(len(z)):
        e = np.exp(-z[t] * z[t])
        a += e
        b += e * np.log1p(vol * e)
    return a / b


DIVIDED = [
    path, paths, downwards, in_single_precision, summed, checked, chosen, of_the_number_alone, of_a_known_number,
    two_sums,
]  # fmt: skip


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


def ended(z: Any, vol: Any) -> Any:
    """It may end long before its last number."""
    s = 0.0
    for t in range(len(z)):
        term = np.exp(-vol * t)
        s += term
        if term < 0.1:
            break
    return s


def short(z: Any, vol: Any) -> Any:
    s = z[0]
    for t in range(5):
        s += np.exp(vol * t)
    return s


def elements(z: Any, vol: Any) -> Any:
    """The steps are taken several at a time as they are."""
    out = np.empty(len(z))
    for t in range(len(z)):
        out[t] = np.exp(vol * z[t])
    return out[0]


LEFT = [of_itself, not_there_yet, ended, short, elements]


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def row(size: int) -> Any:
    return np.random.default_rng(size).uniform(-1.0, 1.0, size)


@pytest.mark.parametrize("program", DIVIDED, ids=name)
def test_computed_in_a_loop_of_its_own(program: Callable[..., Any]) -> None:
    made, plain = (sg.compile(program, mode=m).python(row(30), 0.2) for m in (sg.opt.FAST_RUN, PLAIN))
    assert made.count("for ") > plain.count("for "), made


@pytest.mark.parametrize("program", DIVIDED, ids=name)
def test_values_and_gradients(program: Callable[..., Any]) -> None:
    gradient, plain = (sg.grad(program, argnums=(0, 1), mode=m) for m in (sg.opt.FAST_RUN, PLAIN))
    rough = 1e-5 if program is in_single_precision else 1e-11
    for size in (1, 2, 5, 40, 127, 128, 129, 300):
        args = row(size), 0.2
        np.testing.assert_allclose(sg.compile(program)(*args), program(*args), rtol=rough, atol=1e-14)
        for got, want in zip(gradient(*args), plain(*args), strict=True):
            np.testing.assert_allclose(got, want, rtol=rough, atol=rough)


@pytest.mark.parametrize("program", LEFT, ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    args = row(30), 0.2
    assert sg.compile(program).python(*args) == sg.compile(program, mode=PLAIN).python(*args)


def test_sums_that_may_be_in_any_order_are_left() -> None:
    text = sg.compile(summed, fastmath=True).python(row(30), 0.2)
    assert text.count("for ") == 1


def test_an_index_that_is_not_there_raises() -> None:
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        sg.compile(not_there_yet)(row(3), 0.3)


def stored(x: Any, out: Any) -> Any:
    for t in range(len(x)):
        out[t] = math.exp(x[t])


def test_what_is_too_large_raises_in_its_step() -> None:
    x, out, want = np.linspace(0.0, 1.0, 300), np.zeros(300), np.zeros(300)
    x[200] = 1000.0
    with pytest.raises(OverflowError):
        stored(x, want)
    with pytest.raises(OverflowError, match="math range error"):
        sg.compile(stored)(x, out)
    np.testing.assert_allclose(out, want, rtol=1e-14)
