"""Rows of several lengths that the reverse sweep takes back, in one array."""

from __future__ import annotations

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly


def triangles(x, n):
    u = x.copy()
    for _ in range(n):
        for i in range(len(u)):
            for j in range(i):
                u[j] = u[j] * (1.0 - 0.1 * u[i])
    return np.sum(u * u)


def counted(x, n):
    """How many steps there are is computed; some rows have none."""
    total = 0.0
    for i in range(len(x)):
        v = x.copy()
        for j in range((i * 7 + n) % 5):
            v[j % len(x)] = np.sin(v[j % len(x)] + x[i])
        total += np.sum(v * v)
    return total


def until(x, n):
    """Rows that are left early, and loops around them."""
    u, k = x.copy(), 1
    while k < 40 + n:
        for i in range(len(u)):
            for j in range(k % 7):
                if u[i] * u[j % len(u)] > 2.0:
                    break
                u[i] = u[i] * (1.0 + 0.01 * j) + 0.1 * u[j % len(u)] ** 2
        k += 1 + int(u[0] > 0.5)
    return np.sum(np.tanh(u))


def neville(x, n):
    total = 0.0
    q = np.linspace(0.1, 0.9, n + 1)
    for k in range(len(q)):
        p = x.copy()
        for m in range(1, len(x)):
            for i in range(len(x) - m):
                p[i] = (q[k] - i - m) * p[i] * p[i + 1] / m
        total += np.tanh(p[0]) if len(p) > 0 else 0.0
    return total


@pytest.mark.parametrize("function", [triangles, counted, until, neville], ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [0, 1, 3, 12, 40])
@pytest.mark.parametrize("n", [0, 3])
def test_gradients(function, size, n):
    x = np.random.default_rng(size).uniform(0.1, 0.6, size=size)
    if function in (until, counted) and size == 0:
        x = np.array([0.3])
    gradient, shared = sg.grad(function)(x, n), sg.grad(function, parallel=True)(x, n)
    compiled = sg.compile(function)
    way = np.cos(np.arange(len(x)))
    slope = (compiled(x + 1e-6 * way, n) - compiled(x - 1e-6 * way, n)) / 2e-6
    np.testing.assert_allclose(gradient @ way, slope, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(gradient, shared, rtol=1e-10)


def test_no_array_for_each_row():
    text = sg.grad(triangles).python(np.ones(40), 3)
    assert ".append(" not in text and "_block_start + j]" in text


def test_rows_of_one_length_stay_arrays():
    def f(x, n):
        u = x.copy()
        k = 0
        while u[0] < n:
            for j in range(len(u)):
                u[j] = u[j] * (1.0 + 0.01 * u[0])
            k += 1
        return np.sum(u)

    assert ".append(" in sg.grad(f).python(np.ones(40), 3)


def squared_often(x, w):
    total = 0.0
    for i in range(len(x)):
        a = x[i]
        for _ in range(i + 2):
            a = a * a + w[0]
        total += a
    return total


def slopes(x, w):
    """The gradient of `squared_often` by ``x``."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        a, d = x[i], 1.0
        for _ in range(i + 2):
            d *= 2.0 * a
            a = a * a + w[0]
        out[i] = d
    return out


def test_lists_given_to_a_pullback_are_taken_from_in_their_order() -> None:
    """The reverse sweep of a gradient is given its lists: nothing there can turn it round."""
    x, w, v = np.array([0.1, 0.25, 0.4]), np.array([0.1]), np.array([1.0, 0.1, 0.01])
    want = sg.vjp(slopes, x, w)[1](v)
    got = sg.vjp(sg.grad(squared_often), x, w)[1](v)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-13)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-13)
    way = np.array([0.3, -0.2, 0.5])
    by_differences = (slopes(x + 1e-6 * way, w) - slopes(x - 1e-6 * way, w)) @ v / 2e-6
    np.testing.assert_allclose(got[0] @ way, by_differences, rtol=1e-7)


def test_an_array_one_shorter_than_another() -> None:
    """What the loop takes from the list has the name of an argument, which is read before."""

    def scaled(w, x, n):
        for _ in range(n):
            x = x * w[0]
        return np.sum(x * x)

    def passed_on(w, x, n):
        for _ in range(n):
            y = np.zeros_like(x)
            for e in range(len(w)):
                y[e % len(x)] += w[e] * x[(e * e) % len(x)]
            x = x + y
        return np.sum(x * x)

    for program in (scaled, passed_on):
        w, x, step = np.linspace(0.5, 1.0, 5), np.linspace(1.0, 2.0, 4), 1e-6 * np.eye(5)
        wanted = [(program(w + d, x, 2) - program(w - d, x, 2)) / 2e-6 for d in step]
        found = sg.vjp(program, w, x, 2)[1](1.0)[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)
