"""Derivative rules that users write: in every mode and order, in every place, and what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import srcgraph as sg

X = np.array([0.2, 0.9, 0.4, 0.7, 1.3])


@sg.custom_vjp
def square(x):
    return x * x


@sg.custom_jvp
def square_too(x):
    return x * x


square.defvjp(lambda x: (x * x, x), lambda x, ct: (2.0 * x * ct,))


@square_too.defjvp
def square_rule(primals, tangents):
    return square_too(primals[0]), 2.0 * primals[0] * tangents[0]


def plain(x):
    return x * x


def in_loops(f: Callable, a: float, n: int) -> float:
    t = a
    for k in range(n):
        t = f(t) * 0.5 if k % 2 else t + 0.1 * f(a)
    while t < 8.0:
        t = f(t) + 0.3
        if n > 6:
            break
    return t


def over_arrays(f: Callable, x: np.ndarray, n: int) -> float:
    for _ in range(n):
        x = f(x) + 0.1 * x
    return np.sum(x)


@pytest.mark.parametrize("f", [square, square_too])
@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_right_rules_change_nothing(f: Callable, n: int) -> None:
    """In loops, branches and early exits, at first and second order by every nesting."""
    own, want = (lambda a: in_loops(f, a, n)), (lambda a: in_loops(plain, a, n))
    assert sg.compile(own)(1.1) == want(1.1)
    np.testing.assert_allclose(sg.grad(own)(1.1), sg.grad(want)(1.1), rtol=1e-12)
    second = sg.grad(sg.grad(want))(1.1)
    np.testing.assert_allclose(sg.grad(sg.grad(own))(1.1), second, rtol=1e-12)
    np.testing.assert_allclose(sg.jvp(sg.grad(own), (1.1,), (1.0,))[1], second, rtol=1e-12)
    np.testing.assert_allclose(sg.hessian(own)(1.1), second, rtol=1e-12)
    for size in (0, 1, 2, 5):
        got = sg.grad(lambda x: over_arrays(f, x, n))(X[:size])
        np.testing.assert_allclose(got, sg.grad(lambda x: over_arrays(plain, x, n))(X[:size]), rtol=1e-12)


def test_all_modes() -> None:
    wanted = np.diag(2.0 * X)
    for matrix in (sg.jacrev(square), sg.jacrev(square_too), sg.jacfwd(square_too), sg.jacobian(square_too)):
        np.testing.assert_array_equal(matrix(X), wanted)
    assert sg.value_and_grad(square)(3.0) == (9.0, 6.0)
    assert sg.jvp(square_too, (3.0,), (0.5,)) == (9.0, 3.0)
    np.testing.assert_array_equal(sg.vjp(square, X)[1](np.ones(5))[0], 2.0 * X)


@sg.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))


def test_the_rule_counts_not_the_function() -> None:
    """Also where the function hands on its argument."""
    np.testing.assert_array_equal(sg.grad(lambda x: np.sum(5.0 * clipped(x) ** 2))(X), np.clip(10.0 * X, -1.0, 1.0))
    assert sg.grad(clipped)(2.0) == 1.0
    assert sg.grad(lambda a: 7.0 * clipped(a))(2.0) == 1.0


def test_inside_compiled_functions() -> None:
    @sg.compile
    def newton(a):
        for _ in range(5):
            a = a - (square(a) - 2.0) / sg.grad(square)(a)
        return a

    assert abs(newton(1.0) - 2.0**0.5) < 1e-14
    assert sg.grad(lambda y: sg.grad(lambda x: x * x * square(y))(3.0))(1.5) == 18.0
    assert sg.grad(lambda y: sg.grad(lambda x: square(x * y))(3.0))(1.5) == 18.0
    assert sg.grad(sg.grad(lambda x, y: x * square(y)), argnums=1)(3.0, 1.5) == 3.0


@partial(sg.custom_vjp, nondiff_argnums=(0,))
def applied(f, x):
    return f(x)


applied.defvjp(lambda f, x: (f(x), x), lambda f, x, ct: (7.0 * ct * sg.grad(f)(x),))


def test_functions_as_arguments() -> None:
    assert sg.grad(lambda x, y: applied(lambda t: y * t**3, x))(2.0, 3.0) == 7.0 * 36.0
    with pytest.raises(sg.errors.DerivativeError, match="depends on 'y', for which applied has no rule"):
        sg.grad(lambda x, y: applied(lambda t: y * t**3, x), argnums=1)(2.0, 3.0)
