"""What is computed again is the same number, so that what is equal stays equal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import srcgraph as sg


def largest(a, x):
    total = 0.0
    for j in range(len(a)):
        total += np.max(np.exp(a[j]) + x)
    return total * total


def largest_of_a_column(a, x):
    total = 0.0
    for j in range(a.shape[1]):
        total += np.max(np.abs(np.sin(a[:, j])))
    return total * total


def smallest(a, x):
    total = 0.0
    for j in range(len(a)):
        total += np.min(np.tanh(a[j]) * x + (x + 3.0) ** 1.7)
    return total * total


def norms(a, x):
    total = 0.0
    for j in range(len(a)):
        total += np.linalg.norm(np.log1p(np.exp(a[j])) - x, np.inf)
    return total * total


def where_it_is(a, x):
    total = 0.0
    for j in range(len(a)):
        m = np.max(np.exp(a[j]) + x)
        total += m + np.sum(np.where(np.exp(a[j]) + x == m, x, 0.0))
    return total * total


def stable(a, x):
    total = 0.0
    for j in range(len(a)):
        e = np.exp(a[j]) * x
        total += np.log(np.sum(np.exp(e - np.max(e))))
    return total * total


PROGRAMS = [largest, largest_of_a_column, smallest, norms, where_it_is, stable]


@pytest.mark.parametrize("size", [3, 8, 17])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients_of_extremes(program: Callable[..., float], size: int) -> None:
    rng, h = np.random.default_rng(size), 1e-6
    for _ in range(3):
        a, x, slope = rng.normal(size=(size, size)), rng.normal(size=size), rng.normal(size=(size, size))
        along = (program(a + h * slope, x) - program(a - h * slope, x)) / (2 * h)
        assert np.sum(sg.grad(program)(a, x) * slope) == pytest.approx(along, rel=1e-4, abs=1e-6)
        _, pullback = sg.vjp(program, a, x)
        assert np.sum(pullback(1.0)[0] * slope) == pytest.approx(along, rel=1e-4, abs=1e-6)


def test_elements_equal_themselves() -> None:
    def found_again(a, x):
        count = 0
        for j in range(len(a)):
            e = np.tanh(a[j]) * x
            k = np.argmin(e)
            if e[k] == np.min(e) and e[k] == np.tanh(a[j, k]) * x[k]:
                count += 1
            m = np.max(np.exp(a[j]) + x)
            for i in range(len(x)):
                if np.exp(a[j, i]) + x[i] >= m:
                    count += 1
        return count

    rng = np.random.default_rng(4)
    for size in (3, 9, 17):
        for _ in range(5):
            a, x = rng.normal(size=(size, size)), rng.normal(size=size)
            assert sg.compile(found_again)(a, x) == 2 * size == found_again(a, x)
