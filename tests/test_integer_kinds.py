"""Integers of all widths: what floats become, powers that wrap, and products of matrices and vectors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import srcgraph as sg
from srcgraph.errors import OverlapError

WAYS = [{}, {"parallel": True}, {"mode": "FAST_COMPILE"}]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def same(got: Any, wanted: Any) -> None:
    pairs = zip(*(v if isinstance(v, tuple) else (v,) for v in (got, wanted)), strict=True)
    for g, w in pairs:
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-6 if np.asarray(w).dtype.kind in "fc" else 0)


# -- what floats become ----------------------------------------------------------------------------


def beside_floats(x: Any) -> Any:
    return x.astype(np.uint8) * 1.0, np.maximum(x, x.astype(np.uint8)), x.astype(np.uint8) @ x, x.astype(np.int8) + 0.5


def summed(x: Any) -> Any:
    return x.astype(np.uint16).sum(), x.astype(np.uint8).mean(), x.astype(np.int16).sum(), x.astype(np.uint32).sum()


def widened(x: Any) -> Any:
    return x.astype(np.uint16) + x.astype(np.uint8), np.int32(x.astype(np.uint8)) * 2, np.uint8(x)[:, None] * np.ones(2)


def by_element(x: Any) -> Any:
    out, kept, total = np.zeros(len(x)), np.zeros(len(x), np.uint8), 0.0
    for i in range(len(x)):
        out[i] = np.uint8(x[i]) * 0.5
        kept[i] = np.uint8(x[i])
        total += kept[i] * 0.5
    return out, kept, total


def into_arrays(x: Any) -> Any:
    out = np.empty(len(x), np.uint8)
    out[:] = x
    rows = np.zeros((2, len(x)), np.uint8)
    rows[0], rows[1] = x, x[::-1]
    return out * 1.0, rows.astype(float).sum(axis=0), rows.max(), np.array(x, dtype=np.uint8) * 1.0


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("f", [beside_floats, summed, widened, by_element, into_arrays])
def test_negative_floats_wrap(f: Callable[[Any], Any], options: dict[str, Any]) -> None:
    made = sg.compile(f, **options)
    for dtype in (np.float64, np.float32):
        x = np.array([1.5, -2.0, 3.0, 7.0, -100.0], dtype)
        same(made(x), f(x))


# -- powers ----------------------------------------------------------------------------------------


def powers(x: Any) -> Any:
    return x**2, x**3, x**5 / 2, x**2 > 5, np.maximum(x**3, x), x**3 + 1.5


def of_numbers(x: Any) -> Any:
    return x[0] ** 2, x[0] ** 3 / 2, float(x[1] ** 2), x[1] ** 4 + 0j, np.power(x[0], 3)


def into_floats(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] ** 2
    return out


def divided(x: Any) -> Any:
    """Powers may be zero though nothing else is."""
    return x // ((x**4) ** 2), x % (x**8)


def of_the_largest(x: Any) -> Any:
    return np.max(x) ** 2, np.min(x) * np.max(x) * 4, np.sum(x) ** 3


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("f", [powers, of_numbers, into_floats, divided, of_the_largest])
def test_powers_wrap(f: Callable[[Any], Any], dtype: type) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.max, info.max - 3, info.max // 2 + 1, 5, 2 ** (info.bits // 2) - 1, max(info.min, 0)], dtype)
    with np.errstate(all="ignore"):
        wanted = f(x)
    same(sg.compile(f)(x), wanted)


# -- products --------------------------------------------------------------------------------------


def products(m: Any, v: Any) -> Any:
    return m @ v, v @ m, m @ m[:, 0], m[:, 1] @ m, m @ m.T, v @ v


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_products_of_what_has_gaps(dtype: type) -> None:
    draw, made = np.random.default_rng(0), sg.compile(products)
    big = draw.integers(0, 5, (6, 6)).astype(dtype)
    matrices = [big[:3, :3].copy(), np.asfortranarray(big[:3, :3]), big[::2, ::2], big[:3, :3].T[::-1]]
    for m, v in itertools.product(matrices, [big[0, :3].copy(), big[::2, 1], big[0, :3][::-1], big[0, ::2]]):
        same(made(m, v), products(m, v))
    same(sg.compile(lambda m, v: m @ v)(np.zeros((2, 0), dtype), np.zeros(0, dtype)), np.zeros(2, dtype))


# -- arrays that overlap themselves ----------------------------------------------------------------


def stores(x: Any) -> Any:
    x += 1.0
    return x.copy()


def test_what_overlaps_itself_is_not_stored_into() -> None:
    def window() -> Any:
        return as_strided(np.arange(5.0), (3, 3), (8, 8))

    made = sg.compile(stores)
    for _ in range(3):
        with pytest.raises(OverlapError, match="elements of which share memory"):
            made(window())
        same(made(np.arange(6.0)[::2]), np.arange(1.0, 6.0, 2.0))
    with pytest.raises(OverlapError, match="elements of which share memory"):
        sg.grad(lambda x: np.sum(stores(x)))(window())
    assert sg.compile(lambda x: np.sum(x))(window()) == 18.0


def test_what_only_has_gaps_is_stored_into() -> None:
    blocks = np.arange(24.0).reshape(2, 3, 4)
    for x in (
        blocks[:, ::2],
        blocks.transpose(1, 0, 2)[::2],
        blocks[..., ::-1],
        as_strided(np.arange(10.0), (3, 2), (24, 8)),
        blocks[:0, :, ::2],
        blocks[:, :1, ::3],
    ):
        made = sg.compile(stores)
        for _ in range(3):
            wanted = x + 1.0
            same(made(x), wanted)
            np.testing.assert_array_equal(x, wanted)
