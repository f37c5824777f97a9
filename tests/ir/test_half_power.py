"""Square roots that are written as powers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import srcgraph as sg


def powers(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] ** 0.5
    return out


def potential(p):
    energy = 0.0
    for i in range(len(p)):
        for j in range(i):
            d = p[i] - p[j]
            energy += 1.0 / (d * d + 0.01) ** 0.5
    return energy


def of_python(x: float) -> float:
    return x**0.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_are_those_of_powers(dtype):
    x = np.array([0.0, -0.0, 2.0, 1e-300, 5e-324, 1e300, math.inf, -math.inf, math.nan, -1.0]).astype(dtype)
    with np.errstate(all="ignore"):
        expected, got = powers(x), sg.compile(powers)(x)
    np.testing.assert_allclose(got, expected, rtol=3e-16 if dtype == np.float64 else 2e-7)
    np.testing.assert_array_equal(np.signbit(got[:-2]), np.signbit(expected[:-2]))
    assert "power(" not in sg.compile(powers).python(x)


def test_gradients():
    p = np.random.default_rng(1).normal(size=20)
    found = sg.grad(potential, verify=True)
    np.testing.assert_allclose(found(p), sg.grad(potential, mode=sg.opt.FAST_COMPILE)(p), rtol=1e-10)
    assert "power(" not in found.python(p)


def test_pythons_floats():
    compiled = sg.compile(of_python)
    for x in (0.0, -0.0, 2.25, math.inf, -math.inf):
        assert repr(compiled(x)) == repr(of_python(x))
    with pytest.raises(ValueError, match="complex"):
        compiled(-1.0)
    assert sg.grad(of_python)(4.0) == 0.25
    assert sg.grad(sg.grad(of_python))(4.0) == pytest.approx(-1 / 32)
