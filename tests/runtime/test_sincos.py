"""Sines and cosines of the same numbers: accurate at every angle, right where numbers end, and computed together."""

from __future__ import annotations

import re
from typing import Any

import mpmath
import numpy as np
import pytest

import srcgraph as sg
from srcgraph.runtime import sincos

FLOATS = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def both(x):
    sines, cosines = np.empty_like(x), np.empty_like(x)
    for k in range(len(x)):
        sines[k] = np.sin(x[k])
        cosines[k] = np.cos(x[k])
    return sines, cosines


def angles(dtype: Any) -> np.ndarray:
    """Small and large, on both sides of what three numbers reduce, and next to multiples of a right angle."""
    rng = np.random.default_rng(11)
    turns = np.arange(-70_000, 70_000, 97) * (np.pi / 2)
    sizes = np.exp(rng.uniform(-60.0, 12.0, 500))
    return np.concatenate([rng.uniform(-4.0, 4.0, 1000), turns, sizes, -sizes]).astype(dtype)


@FLOATS
def test_the_error_is_below_two_units(dtype):
    x = angles(dtype)
    x = x[np.abs(x) < (1e5 if dtype == np.float64 else 1e4)]
    with mpmath.workdps(60):
        for found, function in zip(sg.compile(both)(x), (mpmath.sin, mpmath.cos), strict=True):
            assert found.dtype == dtype
            away = [mpmath.mpf(float(f)) - function(mpmath.mpf(float(v))) for f, v in zip(found, x, strict=True)]
            assert max(abs(a) / float(np.spacing(np.abs(f))) for a, f in zip(away, found, strict=True)) < 2.0


@FLOATS
def test_angles_of_all_sizes_beside_each_other(dtype):
    """Of several that are taken at once one may be too large to reduce; the others are what they are without it."""
    x = np.concatenate([angles(dtype), np.exp(np.linspace(0.0, 80.0, 300)).astype(dtype)])
    np.random.default_rng(5).shuffle(x)
    compiled = sg.compile(both)
    found = compiled(x)
    for f, w in zip(found, both(x), strict=True):
        np.testing.assert_allclose(f, w, rtol=4 * np.finfo(dtype).eps)
    for start in range(17):
        for whole, part in zip(found, compiled(x[start : start + 40]), strict=True):
            np.testing.assert_array_equal(part, whole[start : start + 40])


@FLOATS
def test_where_numbers_end(dtype):
    smallest = np.finfo(dtype).smallest_subnormal
    once = np.array([0.0, -0.0, smallest, -smallest, np.inf, -np.inf, np.nan, 0.5, np.finfo(dtype).max], dtype)
    x = np.concatenate([np.roll(once, k) for k in range(17)])
    with np.errstate(all="ignore"):
        for found, wanted in zip(sg.compile(both)(x), both(x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps)
            np.testing.assert_array_equal(np.signbit(found)[found == 0], np.signbit(wanted)[found == 0])


def turned(x, y, angle):
    """Elementwise, of whole arrays."""
    return np.cos(angle) * x - np.sin(angle) * y


def energy(x):
    """Of which the derivative needs the other function."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * np.sin(x[k])
    return total


def assembly_of(function: Any) -> str:
    """Without the functions that give both, or one, themselves."""
    (text,) = function.newest.entry.inspect_asm().values()
    return re.sub(r"(?ms)^srcgraph_\w+:.*?^\.Lfunc_end", "", text)


@pytest.mark.skipif(not sincos.HAS_FMA, reason="loops call the functions of one number without a fused product and sum")
@FLOATS
@pytest.mark.parametrize("name", ["both", "turned", "energy"])
def test_loops_compute_them_together(name, dtype):
    x = np.linspace(-2.0, 7.0, 101).astype(dtype)
    function, args = {
        "both": (sg.compile(both), (x,)),
        "turned": (sg.compile(turned), (x, x[::-1].copy(), x)),
        "energy": (sg.grad(energy), (x,)),
    }[name]
    function(*args)
    text = assembly_of(function)
    letter = "" if dtype == np.float64 else "f"
    assert re.search(rf"srcgraph_sincos{letter}_\d", text)
    assert not re.search(r"_ZGV\w+v_(sin|cos)", text)


@pytest.mark.skipif(not sincos.HAS_FMA, reason="loops call the functions of one number without a fused product and sum")
def test_what_is_needed_alone_is_computed_alone():
    def apart(x):
        return np.sum(np.sin(x) * np.cos(2.0 * x))

    function = sg.compile(apart)
    x = np.linspace(-2.0, 7.0, 101)
    np.testing.assert_allclose(function(x), apart(x), rtol=1e-13)
    text = assembly_of(function)
    assert "sincos" not in text and re.search(r"_ZGV\w+v_sin", text) and re.search(r"_ZGV\w+v_cos", text)


def test_both_are_returned_as_they_are():
    """Also what is put into a tuple: the sine counts for the value, the cosine for a pullback."""

    def total(x, k):
        return np.sum(np.tanh(np.nan_to_num(x * k))) + np.sin(k)

    value, pull = sg.vjp(total, np.array([0.3, -0.2]), 0.5)
    assert value == pytest.approx(np.tanh(0.15) - np.tanh(0.1) + np.sin(0.5), rel=1e-14)
    wanted = 0.3 / np.cosh(0.15) ** 2 - 0.2 / np.cosh(0.1) ** 2 + np.cos(0.5)
    assert pull(1.0)[1] == pytest.approx(wanted, rel=1e-14)
