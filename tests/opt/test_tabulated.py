"""Functions that loops inside loops compute again and again, computed once before them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("tabulated", "strips")
WITHOUT_STRIPS = sg.opt.FAST_RUN.excluding("strips")


def tree(x: Any, vol: Any) -> Any:
    """An option on a binomial tree that may be exercised early."""
    n = len(x) - 1
    u, v = np.exp(vol), x.copy()
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            v[j] = max(0.5 * (v[j + 1] + v[j]), 1.0 - u**j * u ** (j - i))
    return v[0]


def sphere(x: Any, vol: Any) -> Any:
    out = np.zeros((len(x), len(x) + 2))
    angles = np.linspace(0.1, 1.5, len(x) + 2)
    for i in range(len(x)):
        for j in range(len(x) + 2):
            out[i, j] = x[i] ** 2 * np.sin(vol * angles[j])
    return np.sum(out * out)


def explicit_steps(x: Any, vol: Any) -> Any:
    u = x.copy()
    for _ in range(7):
        for i in range(1, len(x) - 1):
            u[i] = u[i] + vol * (np.sin(x[i]) - np.exp(-x[i]) * u[i])
    return np.sum(u * u)


def until_it_settles(x: Any, vol: Any) -> Any:
    u, change = x.copy(), 1.0
    while change > 0.1:
        change = 0.0
        for i in range(len(x)):
            step = vol * (np.cos(x[i]) - u[i])
            u[i] += step
            change = max(change, abs(step))
    return np.sum(u)


def by_a_difference(x: Any, vol: Any) -> Any:
    s = np.zeros(len(x))
    for i in range(len(x)):
        for k in range(i, len(x)):
            s[k] += x[k] * np.exp(-vol * (k - i))
    return np.sum(s * s)


def three_deep(x: Any, vol: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        for _ in range(3):
            for k in range(len(x)):
                out[k] += np.sin(x[i]) * np.exp(-vol * x[k])
    return np.sum(out * out)


def textbook_tree(x: Any, vol: Any) -> Any:
    """As in textbooks: by twos, and with Python's own numbers, whose powers may be too large."""
    n, v, u = len(x) - 1, x.copy(), math.exp(vol)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            v[j] = max(0.5 * (v[j + 1] + v[j]), 1.0 - 0.9 * u ** (2 * j - i))
    return v[0]


TABULATED = [tree, textbook_tree, explicit_steps, by_a_difference]
DISTRIBUTED = [sphere, until_it_settles, three_deep]
"""These loops are divided, and the parts that compute what they ask for again have left them, before."""


def of_both(x: Any, vol: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            out[j] += np.exp(-vol * x[i] * x[j])
    return np.sum(out)


def by_what_is_looked_up(x: Any, vol: Any) -> Any:
    """The number goes along, but from anywhere."""
    at = np.argsort(x)
    out = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            out[j] += np.exp(-vol * (at[i] + j))
    return np.sum(out)


def of_what_changes(x: Any, vol: Any) -> Any:
    u = x.copy()
    for _ in range(5):
        for j in range(len(u)):
            u[j] = np.sin(u[j]) + vol
    return np.sum(u)


def a_window(x: Any, vol: Any) -> Any:
    """All numbers of all windows may be more than any array here has elements."""
    out = np.zeros(20)
    for i in range(len(x)):
        for j in range(20):
            out[j] += x[i] * np.cos(vol * (i + j))
    return np.sum(out * out)


def nothing_goes_along(x: Any, vol: Any) -> Any:
    """There would be memory where there is none."""
    s = x[0]
    for _ in range(4):
        for j in range(len(x)):
            s = max(s, np.sin(vol * j))
    return s


LEFT = [of_both, by_what_is_looked_up, of_what_changes, a_window, nothing_goes_along]


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def row(size: int) -> Any:
    return np.random.default_rng(size).uniform(0.1, 1.0, size)


def test_values_and_gradients_of_loops_that_do_not_run() -> None:
    for program in (*TABULATED, *DISTRIBUTED):
        args = row(1)[:0], 0.2
        try:
            want = program(*args)
        except IndexError:
            with pytest.raises(IndexError):
                sg.compile(program)(*args)
        else:
            assert sg.compile(program)(*args) == want


@pytest.mark.parametrize("program", TABULATED, ids=name)
def test_computed_once(program: Callable[..., Any]) -> None:
    made, plain = (sg.compile(program, mode=m).python(row(30), 0.2) for m in (WITHOUT_STRIPS, PLAIN))
    assert made.count("empty(") > plain.count("empty("), made


@pytest.mark.parametrize("program", [*TABULATED, *DISTRIBUTED, *LEFT], ids=name)
def test_values_and_gradients(program: Callable[..., Any]) -> None:
    gradient, plain = (sg.grad(program, argnums=(0, 1), mode=m) for m in (sg.opt.FAST_RUN, PLAIN))
    for size in (1, 2, 5, 40):
        args = row(size), 0.2
        np.testing.assert_allclose(sg.compile(program)(*args), program(*args), rtol=1e-12)
        for got, want in zip(gradient(*args), plain(*args), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("program", LEFT, ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    args = row(30), 0.2
    texts = [sg.compile(program, mode=m).python(*args) for m in (WITHOUT_STRIPS, PLAIN)]
    assert texts[0] == texts[1]
