"""Powers of halves are a root and products: the errors are small, and signs, zeros and infinities are C's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import srcgraph as sg
from srcgraph.codegen.several import HALVES


def less_twice(x):
    return x**-2.5


def less_once(x):
    return x**-1.5


def root_below(x):
    return x**-0.5


def once(x):
    return x**1.5


def twice(x):
    return x**2.5


def in_a_loop(x):
    total = 0.0
    for v in x:
        total += v**1.5
    return total


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 1.0, 5e-324, 1e-310, 1e308, 1e206, 1e-206, 1e130, 1e-130]
CASES = list(zip((less_twice, less_once, root_below, once, twice), HALVES, strict=True))


def given(dtype: Any) -> np.ndarray:
    r = np.random.default_rng(3)
    return np.concatenate([r.uniform(1.0, 4.0, 1500), np.exp(r.uniform(-30.0, 30.0, 1500))]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("f", "power"), CASES)
def test_errors(f: Callable[..., Any], power: float, dtype: Any) -> None:
    """At most three units of the last place."""
    x = given(dtype)
    found = sg.compile(f)(x)
    assert found.dtype == dtype
    with mpmath.workprec(200):
        exact = [mpmath.mpf(float(v)) ** mpmath.mpf(power) for v in x]
        errors = [abs(mpmath.mpf(float(own)) - e) / float(np.spacing(own)) for own, e in zip(found, exact, strict=True)]
    assert max(errors) < 3.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("f", "power"), CASES)
def test_special_values(f: Callable[..., Any], power: float, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(dtype)
        wanted = x ** dtype(power)
    found = sg.compile(f)(x)
    np.testing.assert_allclose(found, wanted, rtol=4.0 * np.finfo(dtype).eps)
    same = np.signbit(found) == np.signbit(wanted)
    assert np.all(same | np.isnan(wanted))


def test_numbers_too() -> None:
    x = given(np.float64)
    assert sg.compile(in_a_loop)(x) == pytest.approx(sum(float(v) ** 1.5 for v in x), rel=1e-13)
    assert "v ** 1.5" in sg.inspect(in_a_loop, x).cpu
