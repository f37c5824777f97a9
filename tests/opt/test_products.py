"""Products of rows, one in each trip, as one product of matrices; and what must stay in its loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(9, 6)), RNG.normal(size=(9, 6))
PLAIN = sg.opt.FAST_RUN.excluding("products")


def covariance(x):
    n = x.shape[1]
    x = x - np.mean(x, axis=0)
    out = np.zeros((n, n))
    for i in range(n):
        out[i:n, i] = out[i, i:n] = x[:, i] @ x[:, i:n] / (len(x) - 1.0)
    return out


def correlation(x):
    n = x.shape[1]
    out = np.eye(n)
    for i in range(n - 1):
        out[i + 1 :, i] = out[i, i + 1 :] = x[:, i] @ x[:, i + 1 :]
    return out


def of_rows(x, y):
    out = np.zeros((len(x), len(y)))
    for i in range(len(x)):
        out[i] = np.tanh(x[i] @ y.T)
    return out


def matrix_first(x, y):
    out = np.zeros((y.shape[1], x.shape[1]))
    for i in range(x.shape[1]):
        out[:, i] = y.T @ x[:, i]
    return out


def some_columns(x, y):
    out = np.zeros((x.shape[1], y.shape[1]))
    for i in range(x.shape[1]):
        out[i, : i + 1] = x[:, i] @ y[:, : i + 1]
    return out


def from_the_second(x, y):
    out = np.ones((x.shape[1], y.shape[1]))
    for i in range(1, x.shape[1]):
        out[i] += x[:, i] @ y
    return out


def changed_in_the_loop(x):
    for i in range(x.shape[1]):
        x[:, i] = x[:, i] / np.sqrt(np.max(x[:, i] @ x))
    return x


def only_a_sum(x, y):
    """There is no array as large as the product."""
    total = 0.0
    for i in range(x.shape[1]):
        total += np.max(x[:, i] @ y)
    return total


def few_rows(x, y):
    out = np.zeros((x.shape[1], y.shape[1]))
    for i in range(2):
        out[i] = x[:, i] @ y
    return out


def left_early(x, y):
    out = np.zeros((x.shape[1], y.shape[1]))
    for i in range(x.shape[1]):
        out[i] = x[:, i] @ y
        if out[i, 0] > 0.1:
            break
    return out


def every_other(x, y):
    out = np.zeros((x.shape[1], y.shape[1]))
    for i in range(0, x.shape[1], 2):
        out[i] = x[:, i] @ y
    return out


TAKEN: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (covariance, (X,)),
    (correlation, (X,)),
    (of_rows, (X, Y)),
    (matrix_first, (X, Y)),
    (some_columns, (X, Y)),
    (from_the_second, (X, Y)),
]
LEFT: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (changed_in_the_loop, (np.abs(X) + 0.5,)),
    (only_a_sum, (X, Y)),
    (few_rows, (X, Y)),
    (left_early, (X, Y)),
    (every_other, (X, Y)),
]


def name(value: Any) -> str:
    return getattr(value, "__name__", "")


@pytest.mark.parametrize(("program", "args"), TAKEN + LEFT, ids=name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_numbers(program: Any, args: tuple[np.ndarray, ...], dtype: Any) -> None:
    given = [np.array(a, dtype) for a in args]
    plain = [a.copy() for a in given]
    expected, near = program(*plain), 1e-5 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(sg.compile(program)(*given), expected, rtol=near, atol=near)
    for a, b in zip(given, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=near)


@pytest.mark.parametrize(("program", "args"), TAKEN + LEFT, ids=name)
def test_the_same_derivatives(program: Any, args: tuple[np.ndarray, ...]) -> None:
    def loss(*given):
        return np.sum(np.sin(program(*given)))

    which = tuple(range(len(args)))
    mine = sg.grad(loss, argnums=which)(*(a.copy() for a in args))
    plain = sg.grad(loss, argnums=which, mode=PLAIN)(*(a.copy() for a in args))
    for a, b in zip(mine, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("program", "args"), TAKEN, ids=name)
def test_one_product(program: Any, args: tuple[np.ndarray, ...]) -> None:
    text = sg.inspect(program, *args).cpu
    line = next(s for s in text.splitlines() if "= matmul(" in s)
    assert line.startswith("    ") and not line.startswith("     "), text


@pytest.mark.parametrize(("program", "args"), LEFT, ids=name)
def test_products_stay_in_their_loops(program: Any, args: tuple[np.ndarray, ...]) -> None:
    text = sg.inspect(program, *args).cpu
    line = next(s for s in text.splitlines() if ("matmul(" in s or "add_product(" in s) and "import" not in s)
    assert line.startswith("        "), text


def test_derivatives_are_products_too() -> None:
    def loss(x):
        return np.sum(covariance(x) ** 2)

    text = sg.inspect(sg.grad(loss), X).cpu
    assert text.count("= matmul(") == 2, text


def test_lengths_that_do_not_fit_are_seen_where_they_are() -> None:
    def rows(x, y):
        out = np.zeros((x.shape[1], y.shape[1]))
        for i in range(x.shape[1]):
            out[i] = x[:, i] @ y
        return out

    with pytest.raises(ValueError, match="matmul"):
        sg.compile(rows)(X, Y[:4])
    assert sg.compile(rows)(np.zeros((4, 0)), Y).shape == (0, 6)
