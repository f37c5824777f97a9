"""Roots and fixed points: derivatives of all modes and orders through the equation, not the steps."""

from __future__ import annotations

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

A = np.array([[3.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 5.0]])
B = np.array([1.0, 2.0, 3.0])


def bisected(x0, a):
    low, high = 0.0, 10.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if middle**3 > a:
            high = middle
        else:
            low = middle
    return x0 * 0.0 + 0.5 * (low + high)


def balance(x, a, b):
    return a @ x + 0.1 * x**3 - b


def differences(f, x, h=1e-5):
    out = np.zeros(np.shape(f(x)) + x.shape)
    for i in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[i] = h
        out[(..., *i)] = (np.asarray(f(x + step)) - np.asarray(f(x - step))) / (2 * h)
    return out


@pytest.mark.parametrize("solve", [None, bisected])
def test_numbers(solve) -> None:
    """To the third order, in each mode, by Newton's method and by one whose steps have no derivative."""
    root = sg.implicit.root(lambda x, a: x**3 - a, solve)
    assert abs(root(1.0, 8.0) - 2.0) < 1e-12
    first = sg.grad(root, argnums=1)
    second = sg.grad(first, argnums=1)
    np.testing.assert_allclose(first(1.0, 8.0), 1 / 12, rtol=1e-12)
    np.testing.assert_allclose(sg.jvp(root, (1.0, 8.0), (5.0, 1.0))[1], 1 / 12, rtol=1e-12)
    np.testing.assert_allclose(second(1.0, 8.0), -2 / 9 * 8 ** (-5 / 3), rtol=1e-12)
    np.testing.assert_allclose(sg.hessian(root, argnums=1)(1.0, 8.0), -2 / 9 * 8 ** (-5 / 3), rtol=1e-12)
    np.testing.assert_allclose(sg.grad(second, argnums=1)(1.0, 8.0), 10 / 27 * 8 ** (-8 / 3), rtol=1e-11)
    assert sg.grad(root)(1.0, 8.0) == 0.0


def test_inside_compiled_loops() -> None:
    root = sg.implicit.root(lambda x, a: x**3 - a)

    def total(a, n):
        x, found = 1.0, 0.0
        for k in range(n):
            x = root(x, a + k)
            found += x
        return found

    for n in (0, 1, 3):
        np.testing.assert_allclose(sg.compile(total)(2.0, n), sum((2.0 + k) ** (1 / 3) for k in range(n)), rtol=1e-12)
        want = sum((2.0 + k) ** (-2 / 3) / 3 for k in range(n))
        np.testing.assert_allclose(sg.grad(total)(2.0, n), want, rtol=1e-12)


def test_vectors() -> None:
    root = sg.implicit.root(balance)

    def loss(a, b):
        return np.sum(root(np.zeros(3), a, b) ** 2)

    x = root(np.zeros(3), A, B)
    np.testing.assert_allclose(balance(x, A, B), 0.0, atol=1e-12)
    np.testing.assert_allclose(sg.grad(loss)(A, B), differences(lambda a: loss(a, B), A), rtol=1e-7)
    wanted = differences(lambda b: root(x, A, b), B)
    np.testing.assert_allclose(sg.jacfwd(root, argnums=2)(x, A, B), wanted, rtol=1e-7)
    np.testing.assert_allclose(sg.jacrev(root, argnums=2)(x, A, B), wanted, rtol=1e-7)
    slope = sg.grad(loss, argnums=1)
    np.testing.assert_allclose(
        sg.hessian(loss, argnums=1)(A, B), differences(lambda b: slope(A, b), B), rtol=1e-6, atol=1e-9
    )


def test_fixed_points() -> None:
    """Of a number, and of a matrix."""
    settled = sg.implicit.fixed_point(lambda x, a: np.cos(x * a))
    x = settled(0.5, 0.9)
    np.testing.assert_allclose(np.cos(0.9 * x), x, rtol=1e-12)
    s = np.sin(0.9 * x)
    np.testing.assert_allclose(sg.grad(settled, argnums=1)(0.5, 0.9), -s * x / (1.0 + 0.9 * s), rtol=1e-11)
    relaxed = sg.implicit.fixed_point(lambda x, a: 0.2 * np.sin(a @ x) + 0.1)
    matrix = np.array([[0.3, 0.7], [0.2, 0.4]])

    def loss(a):
        return np.sum(relaxed(np.zeros((2, 2)), a) ** 2)

    np.testing.assert_allclose(sg.grad(loss)(matrix), differences(loss, matrix), rtol=1e-7)


def test_arguments_of_all_kinds() -> None:
    root = sg.implicit.root(lambda x, p, n: p[0] * x**n - p[1])
    got = sg.grad(lambda a, b: root(1.0, (a, b), 3), argnums=(0, 1))(2.0, 16.0)
    np.testing.assert_allclose(got, (-1 / 3, 1 / 24), rtol=1e-12)
    alone = sg.implicit.root(lambda x: x**3 - 8.0)
    assert sg.grad(alone)(1.0) == 0.0


def test_what_cannot_be() -> None:
    with pytest.raises(RuntimeError, match="no fixed point was found in 50 steps"):
        sg.implicit.fixed_point(lambda x, a: np.cos(x * a), steps=50)(0.5, 1e9)
    with pytest.raises(RuntimeError, match="no root was found in 100 steps of Newton's method"):
        sg.implicit.root(lambda x: x * x + 1.0)(0.3)
    with pytest.raises(ValueError, match="the residual of a root has another shape"):
        sg.implicit.root(lambda x, a: np.sum(x) - a)(np.ones(2), 1.0)
    with pytest.raises(ZeroDivisionError):
        sg.grad(sg.implicit.root(lambda x, a: (x - a) ** 2, lambda x0, a: a), argnums=1)(1.0, 1.0)
    with pytest.raises(sg.errors.ArgumentError, match="takes other than positional arguments"):
        sg.implicit.root(lambda x, *a: x)
