"""Arrays that a sweep back reads again, kept as they are where nothing stores into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

X = np.random.default_rng(3).uniform(0.2, 0.9, size=9)


def shorter(x, n):
    v = x * 2.0
    for _ in range(n):
        v = v[:-1] * v[1:] + 0.1
    return np.sum(v)


def tree_of_lists(x, n):
    row = [v * 1.5 for v in x]
    for step in range(n, 0, -1):
        new = []
        for j in range(step):
            new.append(row[j] * row[j + 1] + 0.1)
        row = new
    return row[0]


def until(x, n):
    v, k = x * 0.5, 0
    while k < n and np.sum(v) > 0.01:
        v = v[1:] * v[:-1] + 0.3 * v[1:]
        k += 1
    return np.sum(v * v)


def changed_before(x, n):
    v = x * 2.0
    v[0] = v[1] * v[2]
    for _ in range(n):
        v = v[:-1] * v[1:] + 0.1
    return np.sum(v)


KEPT = [shorter, tree_of_lists, until, changed_before]


def changed_in_each_trip(x, n):
    v = x * 2.0
    for k in range(n):
        v = v[:-1] * v[1:] + 0.1
        v[0] = np.sin(v[1]) * x[k]
    return np.sum(v)


def changed_in_the_loop(x, n):
    v = x * 2.0
    for _ in range(n):
        total = np.sum(v * v)
        v[0] = total * 0.1
        v = v[:-1] * v[1:] + 0.1
    return np.sum(v)


def changed_by_another_name(x, n):
    v = x * 2.0
    first = v
    for _ in range(n):
        first[1] = 0.5
        v = v[:-1] * v[1:] + 0.1
    return np.sum(v) + first[0]


def changed_afterwards(x, n):
    v = x * 2.0
    for _ in range(n):
        v = v[:-1] * v[1:] + 0.1
    v[0] = v[1] * v[1]
    return np.sum(v * v)


def argument(x, n):
    for _ in range(n):
        x = x[:-1] * x[1:] + 0.1
    return np.sum(x)


PROGRAMS = [*KEPT, changed_in_each_trip, changed_in_the_loop, changed_by_another_name, changed_afterwards, argument]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    both, step = sg.value_and_grad(program), 1e-6
    for n in (0, 1, 2, 5):
        x = X.copy()
        value, gradient = both(x, n)
        near = [(program(X + step * e, n) - program(X - step * e, n)) / (2 * step) for e in np.eye(len(X))]
        assert value == pytest.approx(program(X.copy(), n))
        np.testing.assert_allclose(gradient, near, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("program", KEPT, ids=lambda p: p.__name__)
def test_texts(program: Callable[..., Any]) -> None:
    text = sg.grad(program).python(X, 3)
    assert "_saved.append(" in text
    assert "copy(" not in text, text
