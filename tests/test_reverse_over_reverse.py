"""Pullbacks of gradients: `jacrev` of `grad`, whose reverse sweep runs once for each row, against `hessian`."""

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly


def shrinking(x, n):
    for _ in range(n):
        x = x[1:] * x[:-1]
    return np.sum(x)


def to_a_bound(x, k):
    """Its tapes hold what was pushed with another length's name."""
    y = x
    while y[0] < k:
        y = np.sign(y) * x + y
    return np.sum(y * y)


def parts(x, m, n):
    for _ in range(n):
        x = x[:m] * x[:m]
    return np.sum(x)


def sparse_products(data, columns, starts, x, n):
    for _ in range(n):
        y = np.zeros(len(starts) - 1)
        for i in range(len(starts) - 1):
            for k in range(starts[i], starts[i + 1]):
                y[i] += data[k] * x[columns[k]]
        x = y * y
    return np.sum(x)


def largest_so_far(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > y[0]:
            y[0] = x[i]
    return y[0] ** 2


def largest_of_each(x, group, n):
    y = np.full(n, -np.inf)
    for i in range(len(x)):
        y[group[i]] = max(y[group[i]], x[i])
    return np.sum(y[y > -10.0] ** 2)


def until_small(x):
    steps = 0
    while np.sum(x * x) > 0.1:
        x = 0.5 * x * np.cos(x)
        steps += 1
    return np.sum(x**3) * steps


def history(x):
    seen = []
    for _ in range(3):
        x = np.sin(x) * x
        seen.append(x[0] * x[-1])
    return sum(seen)


def recursive(x, n):
    if n == 0:
        return np.sum(x * x)
    return recursive(np.sin(x) * x, n - 1)


X = np.array([1.1, -1.2, 1.3, 1.4])
PROGRAMS = [
    (shrinking, (X, 2)),
    (parts, (X, 3, 2)),
    (sparse_products, (X.repeat(2)[:6], np.array([0, 2, 1, 0, 2, 1]), np.array([0, 2, 3, 6]), X[:3], 2)),
    (largest_so_far, (X,)),
    (largest_of_each, (X, np.array([0, 2, 0, 2]), 3)),
    (until_small, (X,)),
    (history, (X,)),
    (recursive, (X, 2)),
    (to_a_bound, (np.array([1.0, 2.0, -0.5]), 5.0)),
]


def pulled_in_a_loop(x, n, weights):
    _, pull = sg.vjp(lambda q: sg.grad(shrinking)(q, n), x)
    out = np.zeros((len(weights), len(x)))
    for k in range(len(weights)):
        out[k] = pull(weights[k])[0]
    return out


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_the_same_as_forward_over_reverse(function, args):
    wanted = sg.hessian(function)(*args)
    np.testing.assert_allclose(sg.jacrev(sg.grad(function))(*args), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("function", [shrinking, largest_of_each, history], ids=lambda f: f.__name__)
def test_reverse_over_forward(function):
    args = dict(PROGRAMS)[function]
    wanted = sg.hessian(function)(*args)
    np.testing.assert_allclose(sg.jacrev(sg.jacfwd(function))(*args), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("function", [parts, until_small, recursive, to_a_bound], ids=lambda f: f.__name__)
def test_pullback_of_a_gradient(function):
    args = dict(PROGRAMS)[function]
    wanted = sg.hessian(function)(*args)
    slope, pull = sg.vjp(sg.grad(function), *args)
    np.testing.assert_allclose(slope, sg.grad(function)(*args))
    for _ in range(2):  # as often as one likes
        np.testing.assert_allclose(pull(np.ones(len(wanted)))[0], np.sum(wanted, axis=0), rtol=1e-12, atol=1e-13)


def test_from_compiled_code():
    wanted = sg.hessian(shrinking)(X, 2)
    np.testing.assert_allclose(sg.compile(pulled_in_a_loop)(X, 2, np.eye(4)), wanted, rtol=1e-12)


@pytest.mark.parametrize("function", [shrinking, parts], ids=lambda f: f.__name__)
def test_every_rewrite_of_the_halves(function):
    """What the second half is given fits together, which numbers that are made up need not."""
    args = dict(PROGRAMS)[function]
    checked = sg.compile(function, mode="DEBUG")
    np.testing.assert_allclose(sg.jacrev(sg.grad(checked))(*args), sg.hessian(function)(*args), rtol=1e-12)
