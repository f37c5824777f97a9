"""Quotients by what stays the same in a loop have the bits of ``/``, and are called where that pays."""

from __future__ import annotations

import random

import numpy as np
import pytest

import srcgraph as sg

SMALL = 2.0**-960
"""Below, the last bit may differ."""


def shares(x, d):
    """Each element over one number."""
    return x / d


def steps(x, d):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = x[i] / d
    return out


def told(x, d, n):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = i / n
        if x[i] > 0.5:
            out[i] /= d
    return out


def rows(m):
    e = np.exp(m)
    e /= np.sum(e, axis=1)[:, None]
    return e / 3.0 + e / 4.0


def chained(x, d):
    s = 0.0
    for i in range(len(x)):
        s = (s + x[i]) / d
    return s


def by_elements(x, d):
    return x / (x + d)


def shrinking(x, d):
    for i in range(1, len(x)):
        x[i] = x[i] / x[0] + d
    return x


def named(x, d, quotient):
    return x / d + quotient


def in_threes(x, d):
    out = np.empty(3)
    for i in range(3):
        out[i] = x[i] / d
    return out


def same(got: np.ndarray, want: np.ndarray) -> None:
    """To the last bit, signs of zeros too."""
    np.testing.assert_array_equal(got, want)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]))


def hard(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers of 53 bits whose quotients are next to the middle between two floats.

    With ``y`` odd, an odd ``m`` of 54 bits is chosen so that ``m * y`` is a multiple of 2^54 but for a small rest.
    """
    draws, found = random.Random(3), []
    while len(found) < count:
        y = draws.getrandbits(52) | 1 << 52 | 1
        for rest in (1, -1, 3, -3, 5):
            m = -rest * pow(y, -1, 1 << 54) % (1 << 54)
            x = m * y + rest >> 54
            if m >> 53 and x < 1 << 53:
                found.append((float(x), float(y)))
    x, y = np.array(found[:count]).T
    return x, y


def test_next_to_the_middle() -> None:
    fast = sg.compile(shares)
    assert "quotient(x[i], d)" in fast.python(np.ones(3), 2.0)
    x, y = hard(4000)
    for numerators, d in zip(x.reshape(-1, 5), y[::5], strict=True):
        same(fast(numerators, d), numerators / d)
    # every hard pair: its divisor with numerators around its own
    for numerator, d in zip(x[:2000], y[:2000], strict=True):
        near = numerator + np.arange(-4.0, 4.0)
        same(fast(near, d), near / d)


@pytest.mark.parametrize("exponents", [40, 960])
def test_all_sizes(exponents: int) -> None:
    fast, rng = sg.compile(shares), np.random.default_rng(7)
    for _ in range(400):
        x = rng.normal(size=200) * 2.0 ** rng.integers(-exponents, exponents, 200)
        d = float(rng.normal() * 2.0 ** rng.integers(-exponents, exponents))
        with np.errstate(all="ignore"):
            want = x / d
        known = ~(np.abs(want) < SMALL)
        same(fast(x, d)[known], want[known])


def test_the_largest_quotients() -> None:
    """What rounds to the largest float is not infinite."""
    fast, top = sg.compile(shares), np.finfo(float).max
    near = np.nextafter(1.0, 0.0)
    for d in (near, 0.5 * near, near * 2.0**-900, -near, 5e-324, 0.75, 0.3):
        x = np.array([top, np.nextafter(top, 0.0), top * abs(d), np.nextafter(top * abs(d), 0.0), -top, np.inf, 0.0])
        with np.errstate(all="ignore"):
            same(fast(x, d), x / d)


def test_where_numbers_end() -> None:
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -2e-300, 1e308, -1.7e308, 2.0, -3.0, 1.0])
    fast, slow = sg.compile(shares), sg.compile(steps)
    for d in ends:
        with np.errstate(all="ignore"):
            want = ends / d
        same(fast(ends, d), want)
        if d != 0.0:
            same(slow(ends, d), want)


def test_small_divisors_and_numbers() -> None:
    """Subnormal ones too, as long as the quotient is not small."""
    fast, rng = sg.compile(shares), np.random.default_rng(9)
    for power in (-1074, -1073, -1060, -1023, -1022, -1021, -1000, -970, -60, -1, 0):
        d = max(float(rng.uniform(1.0, 2.0)) * 2.0**power, 5e-324)
        x = rng.uniform(-2.0, 2.0, 2000) * 2.0 ** rng.integers(max(-1074, power - 900), min(1023, power + 1030), 2000)
        with np.errstate(all="ignore"):
            want = x / d
        known = ~(np.abs(want) < SMALL)
        same(fast(x, d)[known], want[known])


def test_the_smallest_quotients_are_a_bit_away_at_most() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=1000) * 2.0 ** rng.integers(-1074, -960, 1000)
    for d in (0.3, 7e10, 3e-200, -1e-308):
        with np.errstate(all="ignore"):
            want = x / d
        np.testing.assert_array_max_ulp(sg.compile(shares)(x, d), want, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128, np.bool_])
@pytest.mark.parametrize("d", [0.3, 7, np.float32(0.3), 2.0 + 1j])
def test_other_numbers(dtype, d) -> None:
    x = (np.arange(-20, 20) / 3.0).astype(dtype)
    got, want = sg.compile(shares)(x, d), x / d
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-6 if got.dtype.itemsize < 8 else 1e-15)


def test_where_it_is_called() -> None:
    x, m = np.linspace(0.0, 1.0, 7), np.linspace(0.0, 1.0, 12).reshape(3, 4)
    text = sg.compile(told).python(x, 0.3, 3)
    assert "quotient(float(i), float(n))" in text and ", d)" in text and " / " not in text
    text = sg.compile(rows).python(m)
    assert ", 3.0)" in text and "* 0.25" in text and " / " not in text
    np.testing.assert_allclose(sg.compile(rows)(m), rows(m), rtol=1e-15)
    same(sg.compile(told)(x, 0.3, 3), told(x, 0.3, 3))


@pytest.mark.parametrize("function", [chained, by_elements, shrinking, in_threes])
def test_where_it_is_not(function) -> None:
    """Where each step waits for the last, the divisor changes, or there are few steps."""
    x = np.linspace(0.5, 1.0, 7)
    fast = sg.compile(function)
    text = fast.python(x.copy(), 0.3)
    assert "quotient(" not in text and " / " in text
    same(np.asarray(fast(x.copy(), 0.3)), np.asarray(function(x.copy(), 0.3)))


def test_names_and_options() -> None:
    x = np.linspace(0.5, 1.0, 7)
    text = sg.compile(named).python(x, 0.3, 2.0)
    assert "import quotient" not in text and "x[i] / d + quotient" in text
    assert "quotient(" not in sg.compile(shares, fastmath={"arcp"}).python(x, 0.3)


@pytest.mark.parametrize("n", [0, 3])
def test_what_a_first_step_raises(n: int) -> None:
    """A loop whose first statements raise in its first step, or never, has quotients too."""
    fast, x = sg.compile(told), np.linspace(0.0, 1.0, 7)
    if n:
        return same(fast(x, 0.3, n), told(x, 0.3, n))
    with pytest.raises(ZeroDivisionError) as error:
        fast(x, 0.3, n)
    assert any("out[i] = i / n" in note for note in error.value.__notes__)
    return same(fast(x[:0], 0.3, n), x[:0])
