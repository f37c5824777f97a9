"""Products of one matrix with several vectors read it once; what lies between is done for the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(3)
TWICE = sg.opt.FAST_RUN.excluding("once")


def there_and_back(a, x):
    return (a @ x) @ a


def side_by_side(a, x, y):
    return y @ a, a @ x


def transposed(a, x, y):
    return a.T @ np.tanh(a @ x - y), x @ a.T


def of_the_transpose(a, x, y):
    return a @ np.tanh(y @ a - x)


def three(a, x, y):
    r = a @ x - y
    return r @ a, np.abs(r) @ a, np.sum(r * r)


def logistic(a, x, y):
    return np.mean(np.log1p(np.exp(-np.sign(y) * (a @ x))))


def squares(a, x, y):
    r = a @ x - y
    return 0.5 * np.sum(r * r)


def weighted(a, x, y):
    return (np.exp(0.1 * (a @ x)) * y[0] + np.sqrt(np.abs(y))) @ a


def iterated(a, x, steps):
    for _ in range(steps):
        x = (a @ x) @ a
        x = x / np.linalg.norm(x)
    return x


def in_a_branch(a, x, y):
    if x[0] > 0.0:
        return (a @ x) @ a + y @ a
    return y @ a


TOGETHER: list[tuple[Callable, str]] = [
    (there_and_back, "ax"), (side_by_side, "axy"), (transposed, "axy"), (three, "axy"), (weighted, "axy"),
    (sg.grad(logistic, argnums=1), "axy"), (sg.value_and_grad(logistic, argnums=(1, 2)), "axy"),
    (sg.grad(squares, argnums=(0, 1, 2)), "axy"), (iterated, "axn"), (in_a_branch, "axy"),
]  # fmt: skip


def softmax(a, x):
    """All rows are needed before any can be used."""
    y = a @ x
    p = np.exp(y - y.max())
    return (p / np.sum(p)) @ a


def one_after_the_other(a, x):
    return a @ ((a @ x) @ a)


def of_shifted_rows(a, x):
    y = a @ x
    return np.append(y[1:], 0.0) @ a


def changed_between(a, x, y):
    first = a @ x
    a[0] = y[0]
    return first @ a


def seen_between(a, x, y):
    first = a @ x
    if first[0] > 1e3:
        raise ValueError("large")
    return y @ a, first


APART: list[tuple[Callable, str]] = [(softmax, "ax"), (of_shifted_rows, "ax"), (changed_between, "axy")]


def arguments(kinds: str, rows: int, columns: int, order: str = "C", dtype: Any = float) -> list[Any]:
    made = {
        "a": np.asarray(RNG.normal(size=(rows, columns)), dtype, order=order),  # type: ignore[call-overload]
        "x": RNG.normal(size=columns).astype(dtype),
        "y": RNG.normal(size=rows).astype(dtype),
        "n": 3,
    }
    return [made[k] for k in kinds]


def copied(args: list[Any]) -> list[Any]:
    return [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]


def flat(x: Any) -> list[Any]:
    return [p for item in x for p in flat(item)] if isinstance(x, tuple) else [x]


def name(case: tuple[Callable, str]) -> str:
    return getattr(case[0], "__name__", "f")


@pytest.mark.parametrize("case", TOGETHER, ids=name)
@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (3, 5), (40, 3), (70, 90), (4000, 50), (9, 9000)], ids=str)
def test_results(case: tuple[Callable, str], shape: tuple[int, int]) -> None:
    """Less than a block of rows, one and several, and matrices of one row or column."""
    f, kinds = case
    if shape[0] > 100 and "steps" in getattr(f, "__code__", test_results.__code__).co_varnames:
        shape = (400, 50)
    args = arguments(kinds, *shape)
    fast = f if isinstance(f, sg.runtime.api.Compiled) else sg.compile(f)
    plain = type(fast)(fast.py_func, fast.transforms, options=replace(fast.options, mode=TWICE)) if fast is f else f
    for got, want in zip(flat(fast(*copied(args))), flat(plain(*copied(args))), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12 * np.max(np.abs(want), initial=1.0))
    assert "rows_at_once" in fast.python(*arguments(kinds, 70, 90))


@pytest.mark.parametrize("case", [*APART, (one_after_the_other, "ax"), (seen_between, "axy")], ids=name)
def test_what_needs_all_rows_at_once(case: tuple[Callable, str]) -> None:
    f, kinds = case
    args = arguments(kinds, 300, 80)
    fast = sg.compile(f)
    for got, want in zip(flat(fast(*copied(args))), flat(f(*copied(args))), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11)
    if case in APART:
        assert "rows_at_once" not in fast.python(*args)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_layouts(order: str, dtype: type) -> None:
    loose = 1e-4 if dtype is np.float32 else 1e-11
    for rows, columns in ((3000, 60), (20, 30)):
        a, x, y = arguments("axy", rows, columns, order, dtype)
        wide = np.zeros((rows, 2 * columns), dtype)
        wide[:, ::2] = a
        for matrix in (a, wide[:, ::2], wide[::-1, ::2]):
            for got, want in zip(sg.compile(transposed)(matrix, x, y), transposed(matrix, x, y), strict=True):
                np.testing.assert_allclose(got, want, rtol=loose, atol=loose * np.max(np.abs(want)))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)], ids=str)
def test_nothing(shape: tuple[int, int]) -> None:
    a, x, y = arguments("axy", *shape)
    for got, want in zip(sg.compile(three)(a, x, y), three(a, x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_what_raises_raises_what_it_did() -> None:
    a, x, y = arguments("axy", 30, 20)
    with pytest.raises(ValueError):
        sg.compile(side_by_side)(a, x[1:], y)
    with pytest.raises(ValueError):
        sg.compile(side_by_side)(a, x, y[1:])
    a[0], x[:] = 1e4, 1.0
    with pytest.raises(ValueError, match="large"):
        sg.compile(seen_between)(a, x, y)
