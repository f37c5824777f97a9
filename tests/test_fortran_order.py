"""Arrays in Fortran's order: the same numbers, read in the order of their memory, by versions of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import srcgraph as sg

pytestmark = pytest.mark.plainly


def sums(x, y):
    return np.sum(x, axis=0), np.sum(x * y, axis=1), np.sum(x), np.max(x + y, axis=0), np.mean(y, axis=1)


def standardised(x, y):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def softmax(x, y):
    shifted = np.exp(x - np.max(x, axis=1, keepdims=True))
    return shifted / np.sum(shifted, axis=1, keepdims=True)


def diagonal(x, y):
    return np.sum(np.log(np.diag(special.softmax(x, axis=1)))) + np.sum(np.diag(y))


def several(x, y):
    return x * 2.0 + y, np.tanh(x), x


def product(x, y):
    return np.tanh(x @ y.T) + 1.0


def loops(x, y):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * y[i, j] + i
    return out


def rows(x, y):
    best = np.zeros(x.shape[1])
    for row in x:
        if row[0] > 0.0:
            best = best + row * y[0]
    return best


def changes_one(x, y):
    x[0] = y[0] * 2.0
    y_sum = np.sum(y, axis=0)
    x[:, -1] += 1.0
    return y_sum + np.sum(x, axis=0)


def stencil(x, y):
    out = np.copy(x)
    out[1:-1, 1:-1] = 0.25 * (y[2:, 1:-1] + y[:-2, 1:-1] + y[1:-1, 2:] + y[1:-1, :-2])
    return out


def chosen(x, y):
    if np.sum(x[:, 0]) > 0.0:
        return x + y
    return x - y


def parts(x, y):
    return x[1:, ::2] + y[1:, ::2], x.T + 1.0, x.reshape(-1).sum() + y.ravel()[0]


def over_steps(x, y):
    total = x * 0.0
    while np.sum(np.abs(total)) < 5.0:
        total = total + 0.3 * np.abs(x) + 0.1 * np.abs(y) + 0.1
    return total


PROGRAMS = (
    sums, standardised, softmax, diagonal, several, product, loops, rows, changes_one, stencil, chosen, over_steps
)  # fmt: skip
SHAPES = ((4, 5), (1, 3), (3, 1), (2, 2), (6, 9))
ORDERS = (("C", "C"), ("F", "F"), ("C", "F"), ("F", "A"), ("A", "C"))
"""Of both arrays: C's, Fortran's, and with gaps."""


def lying(x: np.ndarray, order: str) -> np.ndarray:
    if order == "A":
        wide = np.zeros((x.shape[0], 2 * x.shape[1]))
        wide[:, ::2] = x
        return wide[:, ::2]
    return np.array(x, order=order)


def given(shape: tuple[int, int], orders: tuple[str, str]) -> list[np.ndarray]:
    draw = np.random.default_rng(shape[0] * 10 + shape[1])
    return [lying(draw.normal(size=shape), order) for order in orders]


def near(found: Any, wanted: Any) -> None:
    for f, w in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, wanted)), strict=True):
        assert (np.asarray(f).dtype, np.shape(f)) == (np.asarray(w).dtype, np.shape(w))
        np.testing.assert_allclose(f, w, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_values(program: Callable) -> None:
    """One compiled function for arrays in every order, one after the other, twice."""
    compiled = sg.compile(program)
    for _ in range(2):
        for shape, orders in itertools.product(SHAPES, ORDERS):
            mine, plain = given(shape, orders), given(shape, orders)
            near(compiled(*mine), program(*plain))
            near(tuple(mine), tuple(plain))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients(program: Callable) -> None:
    def loss(x, y):
        found = program(x, y)
        parts = found if isinstance(found, tuple) else (found,)
        total = 0.0
        for part in parts:
            total += np.sum(np.sin(part))
        return total

    made = sg.value_and_grad(loss, (0, 1))
    for shape in ((4, 5), (2, 2)):
        value, wanted = made(*given(shape, ("C", "C")))
        for orders in ORDERS:
            again, found = made(*given(shape, orders))
            np.testing.assert_allclose(again, value, rtol=1e-12)
            near(found, wanted)


def test_three_axes() -> None:
    def f(x, w):
        return np.sum(x * w, axis=1), np.max(x, axis=(0, 2)), x * w + 1.0, np.sum(np.transpose(x, (1, 2, 0)), axis=0)

    x, w = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    compiled = sg.compile(f)
    for a, b in itertools.product(("C", "F"), repeat=2):
        near(compiled(np.array(x, order=a), np.array(w, order=b)), f(x, w))
    turned = np.transpose(np.array(np.transpose(x, (2, 0, 1))), (1, 2, 0))  # neither C's nor Fortran's
    near(compiled(turned, w), f(turned, w))


def test_in_the_order_of_memory() -> None:
    x = np.asfortranarray(np.ones((3, 4)))
    text = sg.inspect(lambda x: np.sum(x, axis=0), x).cpu
    assert "x_T[i, j]" in text, text
    text = sg.inspect(lambda x: np.tanh(x) + x, x).cpu
    assert "tanh(x_T[i, j]) + x_T[i, j]" in text, text


def test_results_lie_as_numpys_do() -> None:
    compiled = sg.compile(several)
    for order in ("C", "F"):
        x, y = given((3, 4), (order, order))
        for found, wanted in zip(compiled(x, y), several(x, y), strict=True):
            assert found.flags.f_contiguous == wanted.flags.f_contiguous
            assert found.flags.owndata or found.base is not x


def test_each_order_has_a_version() -> None:
    compiled = sg.compile(standardised)
    x, y = given((3, 4), ("C", "C"))
    compiled(x, y)
    compiled(np.asfortranarray(x), y)
    compiled(x, np.asfortranarray(y))
    assert len(compiled.versions) == 3
    for _ in range(3):
        compiled(np.asfortranarray(x), y)
    assert sum(map(len, compiled.versions.values())) == 3
    assert "x_T" in compiled.python(np.asfortranarray(x), y)
    assert "x_T" not in compiled.python(x, np.asfortranarray(y))


def test_changed_arguments_are_read_as_they_are() -> None:
    compiled = sg.compile(changes_one)
    text = compiled.python(*given((3, 4), ("F", "F")))
    assert "y_T" in text
    assert "x_T" not in text


def test_kept_on_disk(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("SRCGRAPH_CACHE", "1")
    monkeypatch.setenv("SRCGRAPH_CACHE_DIR", str(tmp_path))
    x, y = given((3, 4), ("F", "C"))
    near(sg.compile(standardised)(x, y), standardised(x, y))
    near(sg.compile(standardised)(np.array(x), y), standardised(x, y))
    assert "x_T" not in sg.compile(standardised).python(np.ascontiguousarray(x), y)
