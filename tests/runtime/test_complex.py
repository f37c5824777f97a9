"""Exponentials, logarithms and roots of complex numbers against NumPy's, and logarithms against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import srcgraph as sg

EDGES = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-308,
    5e-324,
    1e308,
    -1e308,
    1e-160,
    1e160,
    80.0,
    709.0,
    710.0,
)


def exponentials(z):
    out = np.empty_like(z)
    for i in range(len(z)):
        out[i] = np.exp(z[i])
    return out


def logarithms(z):
    out = np.empty_like(z)
    for i in range(len(z)):
        out[i] = np.log(z[i])
    return out


def roots(z):
    out = np.empty_like(z)
    for i in range(len(z)):
        out[i] = np.sqrt(z[i])
    return out


def shares(z, n):
    out = np.empty_like(z)
    for i in range(len(z)):
        out[i] = z[i] / n
    return out


def drawn():
    """Numbers of all sizes and near the circle of radius 1."""
    draw = np.random.default_rng(4)
    usual = draw.normal(size=3000) + 1j * draw.normal(size=3000)
    sizes = usual * 10.0 ** draw.integers(-30, 30, 3000)
    beside = 1.0 + draw.normal(size=3000) * 10.0 ** draw.integers(-15, 0, 3000)
    return np.concatenate([usual, sizes, np.exp(1j * draw.uniform(-4.0, 4.0, 3000)) * beside])


def apart(got, expected):
    """By how many units in the last place real numbers differ."""
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return np.where(same, 0.0, np.abs(got - expected) / np.spacing(np.abs(expected)))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    ("fn", "same"), [(exponentials, np.exp), (logarithms, np.log), (roots, np.sqrt)], ids=["exp", "log", "sqrt"]
)
def test_values_are_within_some_units_of_numpys_and_special_values_equal(fn, same, dtype):
    edges = np.array([complex(a, b) for a in EDGES for b in EDGES])
    with np.errstate(all="ignore"):
        z = np.concatenate([drawn(), edges]).astype(dtype)
        got, expected = sg.compile(fn)(z), same(z)
        for part in ("real", "imag"):
            ours, theirs = getattr(got, part), getattr(expected, part)
            assert np.max(apart(ours, theirs)) <= 4.0
            zero = theirs == 0.0
            np.testing.assert_array_equal(np.signbit(ours[zero]), np.signbit(theirs[zero]))


def test_logarithms_near_the_circle_keep_their_digits():
    z = drawn()
    for number, got in zip(z, sg.compile(logarithms)(z), strict=True):
        with mpmath.workprec(300):
            exact = mpmath.log(mpmath.mpc(number.real, number.imag)).real
            assert abs(got.real - exact) <= 2.5 * np.spacing(abs(float(exact)))


def test_quotients_by_real_numbers_are_pythons():
    for z in (complex(-0.0, 3.0), complex(1.5, -0.0), complex(np.inf, 1.0), complex(1e308, 1e308)):
        for n in (3.0, -7.0, 0.1, 5e-324, np.inf, -np.inf):
            got, expected = sg.compile(lambda a, b: a / b)(z, n), z / n
            assert repr(got) == repr(expected)
    z = drawn()
    np.testing.assert_array_equal(sg.compile(shares)(z, 3), z / 3)
