"""Results go where an array was that is read for them alone; where that could be seen, they are arrays of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

RNG = np.random.default_rng(11)
X = RNG.normal(size=23)
SQUARE = RNG.normal(size=(6, 6))
SINGLE = SQUARE.astype(np.float32)


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def layer(x, w, b):
    z = x @ w
    return np.tanh(z + b)


def product_added(a, b, x):
    return a * (x @ x) + b * x


def both_scaled(x):
    e = np.sin(x)
    total = np.sum(e)
    y = e / total
    z = np.cos(e)
    return y, z


def named_copy(x):
    t = np.zeros(len(x))
    for k in range(len(x)):
        t[k // 2] += x[k]
    return t + 0.0


ONCE: tuple[tuple[Callable[..., Any], tuple[Any, ...], int], ...] = (
    (softmax, (X,), 1),
    (layer, (SQUARE, SQUARE, SQUARE[0].copy()), 0),
    (product_added, (2.0, 3.0, SQUARE), 0),
    (both_scaled, (X,), 2),
)
"""Functions with arguments, and how many arrays are made besides products of matrices."""


def read_again(x):
    e = np.sin(x)
    y = e / np.sum(e)
    return y, np.sum(e * y)


def returned_too(x):
    e = np.sin(x)
    y = e / np.sum(e)
    return e, y


def a_view_leaves(x):
    e = np.sin(x)
    part = e[2:5]
    y = e / np.sum(e)
    return y, part


def kept_in_a_list(x):
    e = np.sin(x)
    kept = [e]
    y = e / np.sum(e)
    return y, kept[0][1]


def reversed_order(x):
    e = np.sin(x)
    s = np.sum(e)
    return e[::-1] / s


def neighbours(x):
    e = np.sin(x)
    s = np.sum(e)
    return e + np.append(e[1:], s)


def transposed(x):
    t = x @ x
    return t.T + t


def single(x):
    return (x @ x).astype(np.float64) * 0.1


def truth(x):
    t = x @ x
    return t > 0.5


def one_side(x, c):
    e = np.sin(x)
    s = np.sum(e)
    y = e / s if c else e * 2.0
    return y, s


def last_trip(x, n):
    e = np.sin(x)
    y = e
    for _ in range(n):
        s = np.sum(e)
        y = e / s
    return y


def twice(x):
    e = np.sin(x)
    y = e / np.sum(e)
    return y, y


def stored_after(x):
    e = np.sin(x)
    y = e / np.sum(e)
    y[0] = 7.0
    return y, y.sum()


def helper(e):
    s = np.sum(e)
    return e / s


def given_to_another(x):
    e = np.sin(x)
    y = helper(e)
    return y, e[0]


APART: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (read_again, (X,)), (returned_too, (X,)), (a_view_leaves, (X,)), (kept_in_a_list, (X,)), (reversed_order, (X,)),
    (neighbours, (X,)), (transposed, (SQUARE,)), (single, (SINGLE,)), (truth, (SQUARE,)), (one_side, (X, True)),
    (one_side, (X, False)), (last_trip, (X, 3)), (last_trip, (X, 0)), (twice, (X,)), (stored_after, (X,)),
    (given_to_another, (X,)), (named_copy, (X,)),
)  # fmt: skip


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
        return
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=1e-13 if np.asarray(found).dtype != np.float32 else 1e-6)


def memories(results: Any) -> int:
    """In how many places results are."""
    arrays = results if isinstance(results, tuple) else (results,)
    return len({r.__array_interface__["data"][0] for r in arrays if isinstance(r, np.ndarray)})


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


@pytest.mark.parametrize(("function", "args", "made"), ONCE, ids=lambda f: getattr(f, "__name__", ""))
def test_over(function, args, made):
    compiled = sg.compile(function)
    text = compiled.python(*args)
    assert text.count("empty(") == made, text
    same(compiled(*copied(args)), function(*copied(args)))


@pytest.mark.parametrize(("function", "args"), APART, ids=lambda f: getattr(f, "__name__", ""))
@pytest.mark.parametrize("parallel", [False, True])
def test_apart(function, args, parallel):
    given = copied(args)
    found = sg.compile(function, parallel=parallel)(*given)
    same(found, function(*copied(args)))
    same(given, args)
    assert memories(found) == memories(function(*copied(args)))


def test_named():
    text = sg.compile(layer).python(SQUARE, SQUARE, SQUARE[0].copy())
    assert "z[i, j] = tanh(z[i, j] + b[j])" in text


def test_copy_is_no_loop():
    """The sums that a gradient adds up are the gradient."""

    def f(a, u, v):
        b = a + np.outer(u, v)
        return np.sum(b * b)

    text = sg.grad(f, argnums=(0, 1, 2)).python(SQUARE, SQUARE[0].copy(), SQUARE[1].copy())
    assert "d_v[i] = " not in text and "d_v[j] += " in text, text


def gathered(x, rows, w):
    return np.sum(x[rows] * w)


ROWS = np.array([1, -3, 5])


def test_lengths_first():
    """A gather is no array: lengths are compared before it, indices in it."""
    compiled = sg.compile(gathered)
    assert "empty(" not in compiled.python(X, ROWS, X[:3])
    same(compiled(X, ROWS, X[:3]), gathered(X, ROWS, X[:3]))
    for rows, w, error in ((ROWS, X[:4], ValueError), (ROWS * 9, X[:3], IndexError), (ROWS * 9, X[:4], ValueError)):
        with pytest.raises(error):
            compiled(X, rows, w)


def stored_between(x, rows, out, w):
    t = x[rows]
    out[0] = 3.0
    return np.sum(t * w)


def test_stores_stay_before_lengths():
    out = np.zeros(2)
    with pytest.raises(ValueError, match="broadcast"):
        sg.compile(stored_between)(X, ROWS, out, X[:4])
    assert out[0] == 3.0
