"""Products with matrices that are the same along an axis, sums of products, and reductions of transposes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

SIZES = (0, 1, 2, 5)
KINDS = (np.float64, np.float32, np.complex128)
PLAIN = sg.opt.FAST_RUN.excluding("even_product", "sum_of_product", "reduction_of_turned")


def filled_right(x, c, n):
    return x @ np.full((x.shape[-1], n), c)


def filled_left(x, c, n):
    return np.full((n, x.shape[0]), c) @ x


def filled_vectors(x, c, n):
    return x @ np.full(x.shape[-1], c) + n, np.full(x.shape[0], c) @ x


def same_rows(x, c, n):
    return np.broadcast_to(x[:, 0] * c, (n, x.shape[0])) @ x, x.T @ np.broadcast_to((x[:, :1] + c), (x.shape[0], n))


def same_columns(x, c, n):
    return np.broadcast_to(x[0][:, None] * c, (x.shape[1], x.shape[0])) @ x, x @ np.broadcast_to(
        x[0] + c, (x.shape[1],) * 2
    )


def one_number_stretched(x, c, n):
    return np.broadcast_to(x[0, :1] * c, (n, x.shape[0])) @ x, x @ np.broadcast_to(x[:1, :1] + c, (x.shape[1], n))


def filled_and_turned(x, c, n):
    return x @ np.full((n, x.shape[1]), c).T


PROGRAMS = (
    filled_right, filled_left, filled_vectors, same_rows, same_columns, one_number_stretched, filled_and_turned
)  # fmt: skip


def matrix(n: int, m: int, kind: Any) -> np.ndarray:
    made = np.random.default_rng(n * 10 + m).uniform(-1, 1, (n, m)).astype(kind)
    return made + 0.5j * made[::-1] if kind is np.complex128 else made


def near(found: Any, wanted: Any, kind: Any) -> None:
    scale = 1e-5 if kind is np.float32 else 1e-13
    for f, w in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, wanted)), strict=True):
        assert (np.asarray(f).dtype, np.shape(f)) == (np.asarray(w).dtype, np.shape(w))
        np.testing.assert_allclose(f, w, rtol=scale, atol=scale)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_numpy(program: Any, kind: Any) -> None:
    compiled = sg.compile(program)
    for n, m, k in itertools.product(SIZES, SIZES, (1, 3)):
        x, c = matrix(n, m, kind), kind(0.7)
        try:
            wanted = program(x, c, k)
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                compiled(x, c, k)
            continue
        near(compiled(x, c, k), wanted, kind)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_special_values(program: Any) -> None:
    """An infinity or NaN of one matrix is in the same places of the product."""
    x = matrix(4, 3, np.float64)
    x[1, 2], x[2, 0] = np.inf, np.nan
    for c in (0.7, 0.0, -np.inf):
        with np.errstate(invalid="ignore"):
            near(sg.compile(program)(x, c, 2), program(x, c, 2), np.float64)


def total(a, b):
    return np.sum(2.0 * a @ b)


def average(a, b):
    return np.mean(np.sum(a @ b, axis=1) ** 2)


def three(a, b):
    return np.sum(a @ b @ b.T)


def reshaped(a, b):
    return np.sum(np.reshape(a, (a.shape[0] * 1, a.shape[1])) @ b)


@pytest.mark.parametrize(("loss", "matrices"), [(total, 0), (average, 1), (three, 0), (reshaped, 0)])
def test_gradients_of_sums(loss: Any, matrices: int) -> None:
    """The derivative of a sum has the same numbers everywhere; what is left are products of matrices with vectors."""
    a, b = matrix(5, 4, np.float64), matrix(4, 3, np.float64)
    made, plain = sg.grad(loss, (0, 1)), sg.grad(loss, (0, 1), mode=PLAIN)
    near(made(a, b), plain(a, b), np.float64)
    graph = made.graph(a, b)
    found = [n for n in sg.ir.walk.all_nodes(graph) if getattr(getattr(n, "op", None), "name", "") == "matmul"]
    assert sum(all(v.type.ndim == 2 for v in n.inputs) for n in found) == matrices, graph


def sums(x):
    return np.sum(x.T, axis=0), np.sum(x.T, axis=1), np.sum(x.T), np.max(x.T + 0, axis=1), np.min(x.T, axis=0)


def of_three_axes(x):
    turned = np.transpose(x, (2, 0, 1))
    return np.sum(turned, axis=0), np.sum(turned, axis=2), np.prod(turned, axis=1), np.any(turned > 0.5, axis=(0, 2))


def test_reductions_of_transposes() -> None:
    x, y = matrix(4, 3, np.float64), np.random.default_rng(0).random((2, 3, 4))
    near(sg.compile(sums)(x), sums(x), np.float64)
    near(sg.compile(of_three_axes)(y), of_three_axes(y), np.float64)
    text = sg.inspect(lambda x: np.sum(x.T, axis=0), x).cpu
    assert "x[i, j]" in text, text
