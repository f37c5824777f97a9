"""Extremes and their places are found in one pass, whichever is asked for first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import srcgraph as sg


def place_first(s):
    k = np.argmax(s, axis=0)
    return k, np.max(s, axis=0)


def extreme_first(s):
    m = np.min(s, axis=0)
    twice = m * 2.0
    return twice, np.argmin(s, axis=0), m


def of_rows(s):
    return np.max(s, axis=1) + 1.0, np.argmax(s, axis=1)


def of_all(s):
    return np.max(s), np.argmax(s), s.argmin(), s.min()


def of_made(s):
    t = s[:, :, None] * s[:, None, :]
    return np.argmax(t, axis=1), np.max(t, axis=1), np.argmin(t, axis=2), np.min(t, axis=2)


def stored_between(s):
    x = s.copy()
    m = np.max(x, axis=0)
    x[0] = m + 1.0
    return m, np.argmax(x, axis=0), np.max(x, axis=0), x


def stored_into(s):
    k = s.argmax(axis=-1, keepdims=True)
    m = s.max(axis=-1, keepdims=True)
    m[0] = 3.0
    return k, m, s.max(axis=-1)


def nearest(s):
    out = np.zeros(len(s))
    for i in range(len(s)):
        d = np.sum((s - s[i]) ** 2, axis=1)
        d[i] = np.inf
        out[i] = np.min(d) + np.argmin(d)
    return out


def best_path(s):
    v = np.zeros(s.shape[1])
    back = np.zeros(s.shape, np.int64)
    for t in range(len(s)):
        m = v[:, None] + s[t][None, :] * np.sin(np.arange(len(v)))[:, None]
        back[t] = np.argmax(m, axis=0)
        v = np.max(m, axis=0)
    return v, back


PROGRAMS = [
    place_first, extreme_first, of_rows, of_all, of_made, stored_between, stored_into, nearest, best_path,
]  # fmt: skip
RNG = np.random.default_rng(0)
ARRAYS = {
    "one": RNG.standard_normal((1, 1)),
    "square": RNG.standard_normal((10, 10)),
    "wide": RNG.standard_normal((3, 20)),
    "ties": np.round(RNG.standard_normal((5, 7))),
    "nan": np.where(RNG.random((6, 5)) < 0.2, np.nan, RNG.standard_normal((6, 5))),
    "all of the worst": np.full((3, 4), -np.inf),
    "all of the best": np.full((3, 4), np.inf),
    "fortran": np.asfortranarray(RNG.standard_normal((4, 6))),
    "integers": RNG.integers(-3, 3, (6, 4)).astype(float),
}


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_extremes_and_places(program: Callable, array: str) -> None:
    with np.errstate(all="ignore"):
        wanted = program(ARRAYS[array].copy())
    found = sg.compile(program)(ARRAYS[array].copy())
    if not isinstance(wanted, tuple):
        wanted, found = (wanted,), (found,)
    for x, y in zip(wanted, found, strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-12)
        assert np.asarray(x).dtype == np.asarray(y).dtype


@pytest.mark.parametrize("dtype", ["f4", "i8", "i4", "u1"])
def test_dtypes(dtype: str) -> None:
    x = RNG.integers(0, 5, (6, 9)).astype(dtype)
    for program in (place_first, of_all, stored_into):
        for found, wanted in zip(sg.compile(program)(x.copy()), program(x.copy()), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert np.asarray(found).dtype == np.asarray(wanted).dtype


@pytest.mark.parametrize("program", [place_first, extreme_first, of_rows, of_all, nearest, best_path])
def test_one_pass_finds_both(program: Callable) -> None:
    text = sg.compile(program).python(ARRAYS["square"])
    assert "np.maximum" not in text and "np.minimum" not in text


def with_places(s):
    total = 0.0
    for t in range(len(s)):
        m = s[t][:, None] * s[t]
        k = np.argmax(m, axis=0)
        total += np.sum(np.max(m, axis=0) * (1.0 + k))
    return total


def without_places(s, k):
    total = 0.0
    for t in range(len(s)):
        m = s[t][:, None] * s[t]
        total += np.sum(np.max(m, axis=0) * (1.0 + k[t]))
    return total


@pytest.mark.parametrize("array", ["square", "ties", "wide"])
def test_ties_share_the_derivative_as_without_places(array: str) -> None:
    s = ARRAYS[array]
    k = np.array([np.argmax(row[:, None] * row, axis=0) for row in s])
    np.testing.assert_allclose(sg.grad(with_places)(s), sg.grad(without_places)(s, k), rtol=1e-12)
