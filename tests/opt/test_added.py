"""Products that are put into parts of arrays, or added to them, by the library that multiplies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(4)


def plus(a, b, c):
    c += a @ b


def minus_twice(a, b, c):
    c -= 2.0 * (a.T @ b)


def general(a, b, c, s, t):
    c[:] = s * a @ b + t * c


def general_minus(a, b, c, s, t):
    c[:] = t * c - a @ (s * b)


def turned_minus(a, b, c, s, t):
    c[:] = s * (a @ b) * t - c


def chain(a, b, c, s, t):
    c[:] = s * a @ b @ (t * a) + 3.0 * c


def vector(a, b, c):
    c[0] -= a @ b[0]
    c[:, 1] += b[0] @ a


def block(a, b, c):
    c[:, 2:] += 0.5 * (a @ b[:, 2:])


def instead(a, b, c, i):
    c[i] = a @ b[i]
    c[:, i] = a @ c[i]


PUT: list[tuple[Callable, tuple[Any, ...], int]] = [
    # program, numbers, how many products go where they belong
    (plus, (), 1), (minus_twice, (), 1), (general, (2.0, 0.5), 1), (general, (2, 3), 1), (general_minus, (2.0, 0.5), 1),
    (turned_minus, (2.0, 0.5), 1), (chain, (0.5, 0.25), 1), (vector, (), 2), (block, (), 1), (instead, (2,), 1),
]  # fmt: skip


def of_itself(a, b, c):
    c += a @ c


def of_its_rows(a, b, c):
    for i in range(1, c.shape[0]):
        c[i] = a @ c[i - 1]


def read_again(a, b, c):
    product = a @ b
    c += product
    return np.sum(product)


def elementwise(a, b, c):
    c[:] = (a @ b) * c + c


def every_other(a, b, c):
    c[::2] = (a @ b)[::2]


LEFT: list[Callable] = [of_itself, of_its_rows, read_again, elementwise, every_other]


def matrices(n: int, dtype: Any = float) -> list[np.ndarray]:
    return [RNG.normal(size=(n, n)).astype(dtype) for _ in range(3)]


def compare(f: Callable, args: list[Any], loose: float) -> None:
    ours, theirs = ([a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    got, want = sg.compile(f)(*ours), f(*theirs)
    if want is not None:
        np.testing.assert_allclose(got, want, rtol=loose)
    for x, y in zip(ours, theirs, strict=True):
        if isinstance(x, np.ndarray):
            np.testing.assert_allclose(x, y, rtol=loose, atol=loose * np.max(np.abs(y), initial=1.0))


@pytest.mark.parametrize("case", PUT, ids=lambda c: c[0].__name__)
@pytest.mark.parametrize("n", [4, 7, 40])
def test_put_where_it_belongs(case: tuple[Callable, tuple[Any, ...], int], n: int) -> None:
    f, numbers, count = case
    args = [*matrices(n), *numbers]
    compare(f, args, 1e-11)
    assert sg.compile(f).python(*matrices(40), *numbers).count(" add_product(") == count


@pytest.mark.parametrize("f", LEFT, ids=lambda f: f.__name__)
def test_left_as_they_are(f: Callable) -> None:
    compare(f, matrices(30), 1e-9)
    assert " add_product(" not in sg.compile(f).python(*matrices(30))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_blas_cannot_store(dtype: type) -> None:
    """Every other element, backwards, by columns."""
    a, b, c = matrices(20, dtype)
    wide = np.zeros((40, 40), dtype)
    loose = 1e-4 if dtype is np.float32 else 1e-11
    for target in (wide[::2, ::2], c[::-1, ::-1], np.asfortranarray(c), wide[:20, 20:]):
        before = target.copy()
        sg.compile(general)(a, b, target, 2.0, 0.5)
        np.testing.assert_allclose(target, 2.0 * (a @ b) + 0.5 * before, rtol=loose, atol=loose * 10)


def test_what_is_overwritten_does_not_matter() -> None:
    a, b, c = matrices(20)
    c[:] = np.nan
    sg.compile(instead)(a, b, c, 2)
    np.testing.assert_allclose(c[2, [0, 1, 3]], (a @ b[2])[[0, 1, 3]], rtol=1e-12)


def test_gradient() -> None:
    def loss(a, b, c, s):
        c[:] = s * a @ b + 0.5 * c
        return np.sum(c * c)

    a, b, c = matrices(9)
    cts = sg.grad(loss, argnums=(0, 1, 2, 3))(a, b, c, 2.0)
    final = 2.0 * (2.0 * a @ b + 0.5 * c)
    wanted = (2.0 * final @ b.T, 2.0 * a.T @ final, 0.5 * final, np.sum(final * (a @ b)))
    for got, want in zip(cts, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11)
