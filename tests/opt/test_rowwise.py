"""Loops over columns go along rows, and what a trip stores for the next is handed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("rowwise", "forwarded", "abreast", "strips")


def prices(z: Any, a: float) -> Any:
    n, m = z.shape
    s = np.empty((n, m + 1))
    s[:, 0] = 100.0
    for t in range(m):
        s[:, t + 1] = s[:, t] * np.exp(0.01 * a + 0.1 * z[:, t])
    return s


def variance(z: Any, a: float) -> Any:
    """Roots wait for each other: many rows at once, of which tiles are fetched."""
    v = np.full(z.shape[0], 0.04)
    total = np.zeros(z.shape[0])
    for t in range(z.shape[1]):
        v = v + a * (0.04 - v) + 0.1 * np.sqrt(np.maximum(v, 0.0)) * z[:, t]
        total += v
    return total


def both(z: Any, a: float) -> Any:
    """What steps store goes back by tiles, too."""
    n, m = z.shape
    out, v = np.zeros((n, m + 2)), np.full(n, 0.2)
    for t in range(m):
        v = np.abs(v + a * (0.04 - v) + 0.1 * np.sqrt(v) * z[:, t])
        out[:, t + 1] = np.log1p(v)
    return out


def backwards(z: Any, a: float) -> Any:
    """A payoff that is discounted from the last column on."""
    value = np.maximum(z[:, -1], 0.0)
    for t in range(z.shape[1] - 2, -1, -1):
        value = np.maximum(value * np.exp(-a), z[:, t])
    return value


def running(z: Any, a: float) -> Any:
    return np.cumsum(z * a, axis=1) - np.cumprod(z, axis=-1)


def three_axes(z: Any, a: float) -> Any:
    cube = z[:, :, None] * np.array([1.0, a, 2.0])
    return np.cumsum(np.transpose(cube, (2, 0, 1)), axis=2)


def inner_part(z: Any, a: float) -> Any:
    """The rows are a part of those of one array."""
    n, m = z.shape
    out = np.ones((n + 2, m))
    for t in range(1, m):
        out[1 : n + 1, t] = a * out[1 : n + 1, t - 1] + z[:, t]
    return out


def in_argument(z: Any, a: float) -> Any:
    for t in range(1, z.shape[1]):
        z[:, t] += a * z[:, t - 1]
    return np.sum(z)


def exchanged(z: Any, a: float) -> Any:
    """Two vectors change places."""
    u, v = np.zeros(z.shape[0]), np.ones(z.shape[0])
    for t in range(z.shape[1]):
        u, v = v, a * u + z[:, t]
    return u - v


def integers(z: Any, a: float) -> Any:
    counts = np.zeros(z.shape[0], dtype=np.int32)
    best = np.full(z.shape[0], -np.inf)
    for t in range(z.shape[1]):
        counts += z[:, t] > best
        best = np.where(z[:, t] > best, z[:, t], best)
    return counts


CHANGED = [prices, variance, both, backwards, running, three_axes, inner_part, in_argument, exchanged, integers]


def coupled(z: Any, a: float) -> Any:
    """All rows wait for the sum."""
    v = np.ones(z.shape[0])
    for t in range(z.shape[1]):
        v = v * np.exp(a * z[:, t]) / np.sum(v)
    return v


def by_rows(z: Any, a: float) -> Any:
    """Each step reads what lies side by side."""
    v = np.zeros(z.shape[1])
    for t in range(z.shape[0]):
        v = a * v + z[t]
    return v


def neighbours(z: Any, a: float) -> Any:
    out = z.copy()
    for t in range(1, z.shape[1]):
        out[1:, t] = a * out[:-1, t - 1]
    return out


def counter(z: Any, a: float) -> Any:
    """A number is handed on, and needed."""
    v, time = np.zeros(z.shape[0]), 0.0
    for t in range(z.shape[1]):
        v = v + z[:, t] * time
        time += a
    return v + time


def broken_off(z: Any, a: float) -> Any:
    v = np.zeros(z.shape[0])
    for t in range(z.shape[1]):
        if t > 3:
            break
        v = v + z[:, t]
    return v


def hashed(z: Any, a: float) -> Any:
    """Integers of arrays wrap, and no others."""
    h = np.ones(z.shape[0], dtype=np.int64)
    for t in range(z.shape[1]):
        h = h * 1103515245 + (z[:, t] > 0.0)
    return h


KEPT = [coupled, by_rows, neighbours, counter, broken_off, hashed]
SHAPES = [(0, 3), (3, 0), (1, 1), (5, 4), (20, 20), (9, 33), (70, 65), (130, 7)]


def numbers(shape: tuple[int, int]) -> Any:
    return np.random.default_rng(shape[0]).normal(size=shape)


@pytest.mark.parametrize("f", CHANGED + KEPT)
@pytest.mark.parametrize("options", [{}, {"parallel": True}])
def test_values(f: Callable[..., Any], options: dict[str, Any]) -> None:
    made, plain = sg.compile(f, **options), sg.compile(f, mode=PLAIN)
    for shape in SHAPES:
        if shape[1] == 0 and f in (backwards, inner_part):
            continue
        z = numbers(shape)
        given, again = z.copy(), z.copy()
        np.testing.assert_allclose(made(given, 0.3), plain(again, 0.3), rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(given, again)
        np.testing.assert_allclose(made(z.copy(), 0.3), f(z.copy(), 0.3), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("f", [f for f in CHANGED + KEPT if f not in (integers, hashed)])
def test_gradients(f: Callable[..., Any]) -> None:
    def loss(z: Any, a: float) -> Any:
        return np.sum(np.cos(f(z * 1.0, a)))

    made, plain = sg.grad(loss, argnums=(0, 1)), sg.compile(sg.grad(loss, argnums=(0, 1)), mode=PLAIN)
    for shape in SHAPES[2:]:
        z = numbers(shape)
        for got, wanted in zip(made(z, 0.3), plain(z, 0.3), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("f", CHANGED)
def test_which_go_along_rows(f: Callable[..., Any]) -> None:
    made = sg.compile(f)
    z = numbers((70, 65))
    assert made.python(z, 0.3) != sg.compile(f, mode=sg.opt.FAST_RUN.excluding("rowwise")).python(z, 0.3)


@pytest.mark.parametrize("f", KEPT)
def test_which_do_not(f: Callable[..., Any]) -> None:
    made = sg.compile(f)
    z = numbers((70, 65))
    assert made.python(z, 0.3) == sg.compile(f, mode=sg.opt.FAST_RUN.excluding("rowwise")).python(z, 0.3)


def test_rows_of_fortrans_order_are_columns() -> None:
    z = np.asfortranarray(numbers((70, 65)))
    text = sg.compile(variance).python(z, 0.3)
    assert text == sg.compile(variance, mode=sg.opt.FAST_RUN.excluding("rowwise")).python(z, 0.3)
    np.testing.assert_allclose(sg.compile(variance)(z, 0.3), variance(z, 0.3), rtol=1e-12)


def test_numbers_of_an_array_with_as_many_elements_as_there_are_rows() -> None:
    def f(z: Any, a: float) -> Any:
        w = np.cos(z[:, 0])
        s = np.zeros(z.shape[0])
        for t in range(z.shape[0]):
            s = s * a * w + z[:, t] * w[t] + w[0]
        return s

    made = sg.compile(f)
    for n in (1, 5, 20, 40):
        z = numbers((n, n))
        np.testing.assert_allclose(made(z, 0.3), f(z, 0.3), rtol=1e-12)


# -- numbers that are handed on --------------------------------------------------------------------


def price(z: Any, a: float) -> Any:
    s = np.empty(len(z) + 1)
    s[0] = 100.0
    for t in range(len(z)):
        s[t + 1] = s[t] * np.exp(a * z[t])
    return s


def from_second(z: Any, a: float) -> Any:
    """Nothing is read where there is no trip."""
    out = np.zeros(len(z))
    for t in range(1, len(z)):
        out[t] = a * out[t - 1] + np.exp(-z[t])
    return out


def downwards(z: Any, a: float) -> Any:
    out = np.ones(len(z))
    for t in range(len(z) - 2, -1, -1):
        out[t] = out[t + 1] * np.tanh(z[t]) + a
    return out


def stored_twice(z: Any, a: float) -> Any:
    """Another store may change what was stored."""
    out = np.ones(len(z) + 1)
    for t in range(len(z)):
        out[t + 1] = out[t] * np.exp(a * z[t])
        out[len(z) - t] = a
    return out


def two_back(z: Any, a: float) -> Any:
    out = np.ones(len(z) + 2)
    for t in range(len(z)):
        out[t + 2] = 0.5 * out[t + 1] * np.exp(a * z[t]) + 0.25 * out[t]
    return out


def narrow(z: Any, a: float) -> Any:
    """What is stored is rounded, and read so."""
    out = np.ones(len(z) + 1, dtype=np.float32)
    for t in range(len(z)):
        out[t + 1] = out[t] * np.exp(0.1 * z[t])
    return out


@pytest.mark.parametrize("f", [price, from_second, downwards, stored_twice, two_back, narrow])
def test_handed_on(f: Callable[..., Any]) -> None:
    made, plain = sg.compile(f), sg.compile(f, mode=PLAIN)
    for n in (0, 1, 2, 5, 127, 128, 300):
        z = np.random.default_rng(n).normal(size=n)
        np.testing.assert_allclose(made(z, 0.3), plain(z, 0.3), rtol=1e-12, atol=1e-14)
        if n:
            np.testing.assert_allclose(made(z, 0.3), f(z, 0.3), rtol=1e-6 if f is narrow else 1e-12)
    text = made.python(z, 0.3)
    assert ("_now" in text) == (f is not stored_twice)


# -- tiles -----------------------------------------------------------------------------------------


def per_path(z: Any, a: float) -> Any:
    """The same, as a user writes it path by path."""
    n, m = z.shape
    out = np.empty((n, m + 1))
    for i in range(n):
        v, s = 0.04, 1.0
        out[i, 0] = s
        for t in range(m):
            s = s * np.exp(np.sqrt(v) * z[i, t] - 0.5 * v)
            v = abs(v + a * (0.04 - v) + 0.1 * np.sqrt(v) * z[i, t])
            out[i, t + 1] = s
    return out


def sometimes(z: Any, a: float) -> Any:
    """What is stored in some steps only has no tile."""
    n, m = z.shape
    out = np.zeros((n, m))
    for i in range(n):
        v = 1.0
        for t in range(m):
            v = np.sqrt(v + z[i, t] ** 2)
            if v > 1.5:
                out[i, t] = v
    return out


def upside_down(z: Any, a: float) -> Any:
    n, m = z.shape
    out = np.zeros((n, m))
    for i in range(n - 1, -1, -1):
        v = a
        for t in range(m - 1, -1, -1):
            v = np.exp(-v) + z[i, t] * z[n - 1 - i, m - 1 - t]
            out[i, t] = v
    return out


def one_place(z: Any, a: float) -> Any:
    """Each step adds to the element of the step before."""
    n, m = z.shape
    out = np.zeros((n, 3))
    for i in range(n):
        v = a
        for t in range(m):
            v = np.sqrt(np.exp(-v) + z[i, t] ** 2)
            out[i, 1] += v
    return out


def pairs_of_steps(z: Any, a: float) -> Any:
    n, m = z.shape
    out = np.zeros((n, m))
    for i in range(n):
        v = a
        for t in range(m):
            v = np.sqrt(np.exp(-v) + z[i, t] ** 2)
            out[i, t // 2] += v
    return out


def every_other(z: Any, a: float) -> Any:
    """An element is read, and stored anew."""
    n, m = z.shape
    out = np.ones((n, 2 * m))
    for i in range(n):
        v = a
        for t in range(m):
            v = np.sqrt(np.exp(-v) + z[i, t] ** 2)
            out[i, 2 * t] = v + out[i, 2 * t]
    return out


TILED = [per_path, upside_down, every_other]


@pytest.mark.parametrize("f", [*TILED, sometimes, one_place, pairs_of_steps])
def test_tiles(f: Callable[..., Any]) -> None:
    made, plain = sg.compile(f), sg.compile(f, mode=PLAIN)
    for shape in SHAPES:
        z = numbers(shape)
        np.testing.assert_allclose(made(z, 0.3), plain(z, 0.3), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(made(z, 0.3), f(z, 0.3), rtol=1e-9, atol=1e-12)
    assert ("_tile" in made.python(numbers((130, 65)), 0.3)) == (f in TILED)
