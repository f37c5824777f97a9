"""Nests that differ in their inner loops run row by row together, and rows that one step uses are all that is kept."""

from __future__ import annotations

import re

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly


def softmax(x, y):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.sum(e / np.sum(e, axis=-1, keepdims=True) * y)


def layer_norm(x, y):
    d = x - np.mean(x, axis=1)[:, np.newaxis]
    scale = np.sqrt(np.mean(d * d, axis=1) + 1e-3)
    return np.sum(np.tanh(d / scale[:, np.newaxis]) * y)


def in_place(x, y):
    """Each statement changes the array that the last one left."""
    x -= np.max(x, axis=1)[:, np.newaxis]
    np.exp(x, out=x)
    x /= np.sum(x, axis=1)[:, np.newaxis]
    return np.sum(x * y)


def same_along_both(x, y):
    """One vector, whose elements are computed again, along rows and along columns."""
    v = x[0] * 2.0 + 1.0
    a = v * v
    b = np.sum((y.T @ y) * v, axis=1)
    w = v * a + b
    return np.sum(w * a)


def kept_between_steps(x, y):
    """What the last step left in a row is read in the next."""
    t = np.zeros((x.shape[0], x.shape[1]))
    u = np.empty((x.shape[0], x.shape[1]))
    total = 0.0
    for k in range(3):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                if k > 0:
                    total += u[i, j] * y[i, j]
                u[i, j] = x[i, j] * (k + 1) + t[i, j]
                t[i, j] = u[i, j]
    return total


def reversed_rows(x, y):
    """Rows are read backwards, and beside each other."""
    a = x * y
    b = a[:, ::-1] + a
    c = np.zeros(x.shape)
    c[:, 1:] = b[:, :-1]
    return np.sum(c * b) + np.sum(a[::-1] * b)


def sums_beside_each_other(x, y):
    """Two sums over all, in inner loops of one nest."""
    m = np.max(x, axis=1)
    a = x - m[:, np.newaxis]
    b = y[:, ::-1] * m[:, np.newaxis]
    return np.sum(a * a), np.sum(b * b), np.sum(a, axis=1)


def deeper(x, y):
    """Numbers for each row, rows, and more axes within."""
    p = x[:, :, np.newaxis] * y[:, np.newaxis, :]
    q = np.sum(p, axis=2)
    s = np.sum(q, axis=1)
    return np.sum(p * s[:, np.newaxis, np.newaxis] + q[:, :, np.newaxis])


PROGRAMS = [
    softmax, layer_norm, in_place, same_along_both, kept_between_steps, reversed_rows, deeper,
]  # fmt: skip


def values(n, m):
    rng = np.random.default_rng(10 * n + m)
    return rng.normal(size=(n, m)), rng.normal(size=(n, m))


def slopes(f, arguments):
    found = []
    for k, a in enumerate(arguments):
        d = np.empty(a.shape)
        for at in np.ndindex(a.shape):
            sides = []
            for h in (1e-6, -1e-6):
                given = [b.copy() for b in arguments]
                given[k][at] += h
                sides.append(f(*given))
            d[at] = (sides[0] - sides[1]) / 2e-6
        found.append(d)
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("parallel", [False, True])
def test_values_and_gradients(program, parallel):
    compiled, gradient = sg.compile(program, parallel=parallel), sg.grad(program, argnums=(0, 1), parallel=parallel)
    for shape in ((4, 3), (1, 1), (3, 40), (5, 5)):
        x, y = values(*shape)
        assert np.isclose(compiled(x.copy(), y), program(x.copy(), y), rtol=1e-12)
        if shape[1] < 40:
            for d, expected in zip(gradient(x.copy(), y), slopes(program, [x, y]), strict=True):
                assert np.allclose(d, expected, rtol=1e-4, atol=1e-4)


def test_sums_in_inner_loops_are_each_in_blocks():
    x, y = values(3, 1000)
    f = sg.compile(sums_beside_each_other)
    for got, expected in zip(f(x, y), sums_beside_each_other(x, y), strict=True):
        assert np.allclose(got, expected, rtol=1e-14, atol=1e-12)
    text = f.python(x, y)
    assert text.count("for i in range(") == 1
    assert not re.search(r"total\w* \+= \w+\[", text)  # as they stand, they would be rounded at each element


def test_one_nest_and_one_row():
    x, y = values(6, 5)
    for program, nests in ((softmax, 1), (layer_norm, 1), (in_place, 2)):  # checks of y stand before the last sum
        text = sg.compile(program).python(x, y)
        assert text.count("for i in range(") == nests, text
        assert not re.search(r"empty\(\(", text), text
    text = sg.grad(softmax).python(x, y)
    assert text.count("for i in range(") == 1 and len(re.findall(r"empty\(\(", text)) == 1, text


def test_rows_are_kept_where_a_later_step_reads_them():
    x, y = values(3, 4)
    assert "empty((" in sg.compile(kept_between_steps).python(x, y)


def test_calls_stay_in_loops_of_their_own():
    """An exponential for each row is one of several at once in a loop over rows, and alone in one with columns."""

    def scaled(x, v):
        e = np.exp(v)
        return x * e[:, np.newaxis]

    text = sg.compile(scaled).python(*values(5, 5)[:1], np.ones(5))
    assert text.count("for i in range(") == 2
