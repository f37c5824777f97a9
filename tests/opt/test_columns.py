"""Products of a vector with every column of a matrix, as one product before the loop; and what must stay in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(11, 11)), RNG.normal(size=(11, 12))
PLAIN = sg.opt.FAST_RUN.excluding("products")


def rows_behind(a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return b


def rows_before(a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] -= a[i, :i] @ b[:i, j]
    return b


def by_rows(a, b):
    for i in range(b.shape[1] - 1):
        for j in range(b.shape[0]):
            b[j, i] = b[j, i] * 0.5 + b[j, i + 1 :] @ a[0, : b.shape[1] - i - 1]
    return b


def another_matrix(a, b):
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        v = np.exp(a[i])
        for j in range(b.shape[1]):
            out[i, j] = v @ b[:, j]
    return out


def row_itself(a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += a[i:, i] @ b[i:, j]
    return b


def rows_next_to_it(a, b):
    """The row that is stored into is among those that are read."""
    for i in range(1, b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += a[i - 1 :, i] @ b[i - 1 :, j]
    return b


def columns_before(a, b):
    for j in range(1, b.shape[1]):
        b[0, j] += a[1:, 0] @ b[1:, j - 1]
    return b


def some_columns(a, b):
    for i in range(b.shape[0]):
        for j in range(i + 1):
            b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]
    return b


def stored_elsewhere(a, b):
    for j in range(b.shape[1]):
        b[0, j] += a[1:, 0] @ b[1:, j]
        b[j % 3, j] = 1.0
    return b


def another_vector(a, b):
    for j in range(b.shape[1]):
        b[0, j] += a[1:, j % 11] @ b[1:, j]
    return b


TAKEN = [rows_behind, rows_before, by_rows, another_matrix]
LEFT = [row_itself, rows_next_to_it, columns_before, some_columns, stored_elsewhere, another_vector]


def given() -> tuple[np.ndarray, np.ndarray]:
    return A.copy(), B.copy()


@pytest.mark.parametrize("program", TAKEN + LEFT, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_numbers(program: Callable[..., Any], dtype: Any) -> None:
    args, plain = ([x.astype(dtype) for x in given()] for _ in range(2))
    near = 1e-3 if dtype is np.float32 else 1e-11
    expected = program(*plain)
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(sg.compile(program)(*args) / scale, expected / scale, rtol=near, atol=near)


@pytest.mark.parametrize("program", TAKEN + LEFT, ids=lambda f: f.__name__)
def test_the_same_derivatives(program: Callable[..., Any]) -> None:
    def loss(a, b):
        return np.sum(np.sin(1e-2 * program(a, b.copy())))

    mine = sg.grad(loss, (0, 1))(*given())
    plain = sg.grad(loss, (0, 1), mode=PLAIN)(*given())
    for x, y in zip(mine, plain, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("program", TAKEN, ids=lambda f: f.__name__)
def test_one_product(program: Callable[..., Any]) -> None:
    text = sg.inspect(program, *given()).cpu
    product = next(s for s in text.splitlines() if "= matmul(" in s)
    assert len(product) - len(product.lstrip()) == 8, text  # in the outer loop, not in the inner one


@pytest.mark.parametrize("program", LEFT, ids=lambda f: f.__name__)
def test_products_stay_in_their_loops(program: Callable[..., Any]) -> None:
    assert "= matmul(" not in sg.inspect(program, *given()).cpu


@pytest.mark.parametrize("shape", [(0, 12), (1, 12), (11, 0), (2, 9)])
def test_of_any_size(shape: tuple[int, int]) -> None:
    a, b = RNG.normal(size=(shape[0], shape[0])), RNG.normal(size=shape)
    for program in TAKEN[:2]:
        np.testing.assert_allclose(sg.compile(program)(a, b.copy()), program(a, b.copy()), rtol=1e-12, atol=1e-12)
