"""The largest and the smallest so far, where each step needs it, and running sums beside calls."""

from __future__ import annotations

import numpy as np
import pytest

import srcgraph as sg


def peaks(x):
    return np.maximum.accumulate(x)


def by_steps(x):
    out = np.empty_like(x)
    low = x[0]
    for i in range(len(x)):
        low = np.minimum(low, x[i])
        out[i] = low
    return out


def either_way(x):
    out = np.empty_like(x)
    high = x[0]
    for i in range(len(x)):
        high = np.maximum(x[i], high)
        out[i] = high
    return out


def drawdown(p):
    peak = np.maximum.accumulate(p)
    return np.max((peak - p) / peak)


def discounted(rates):
    return np.sum(np.exp(np.cumsum(rates)))


GIVEN = {
    "numbers": np.array([1.0, 3.0, 2.0, 5.0, 4.0, 5.0, -1.0]),
    "nan": np.array([1.0, np.nan, 2.0, -np.inf, 5.0]),
    "nan first": np.array([np.nan, 1.0, np.inf]),
    "one": np.array([2.0]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("fn", [peaks, by_steps, either_way])
def test_values_are_numpys(fn, given, dtype):
    x = GIVEN[given].astype(dtype)
    np.testing.assert_array_equal(sg.compile(fn)(x), fn(x))


def test_steps_wait_for_one_comparison():
    for fn in (peaks, either_way, drawdown):
        assert "running_maximum(" in sg.compile(fn).python(GIVEN["numbers"])
    assert "running_minimum(" in sg.compile(by_steps).python(GIVEN["numbers"])


def test_integers_are_compared_as_they_are():
    x = np.array([3, 1, 2, 5])
    np.testing.assert_array_equal(sg.compile(peaks)(x), [3, 3, 3, 5])


def test_gradients_go_to_the_largest():
    x = GIVEN["numbers"]
    np.testing.assert_array_equal(sg.grad(lambda x: np.sum(peaks(x)))(x), [1.0, 2.0, 0.0, 4.0 - 0.5 * 2, 0.0, 1.0, 0.0])


def test_functions_of_a_running_sum_are_called_several_at_a_time():
    x = np.linspace(-0.1, 0.1, 50)
    compiled = sg.compile(discounted)
    np.testing.assert_allclose(compiled(x), discounted(x), rtol=1e-14)
    text = compiled.python(x)
    assert "import exp\n" in text
    assert text.count("in range(n)") == 1
    assert text.count("in blocks(n)") == 1


def row_peaks(x):
    return x.max(axis=1) - x.min(axis=1)


def log_sums(x):
    top = x.max(axis=1)
    return top + np.log(np.sum(np.exp(x - top[:, None]), axis=1))


@pytest.mark.parametrize("columns", [3, 8, 9, 13, 16, 17, 40])
@pytest.mark.parametrize("fn", [row_peaks, log_sums])
def test_short_rows(fn, columns):
    x = np.random.default_rng(columns).normal(size=(70, columns))
    compiled = sg.compile(fn)
    np.testing.assert_allclose(compiled(x), fn(x), rtol=1e-14)
    assert ("running_maximum(" in compiled.python(x)) == (8 < columns <= 16)
    if fn is log_sums:
        assert ("plus(" in compiled.python(x)) == (columns > 8)
    x[5, 2] = np.nan
    np.testing.assert_array_equal(np.isnan(compiled(x)), np.isnan(fn(x)))


def scores(x, steps):
    alpha = np.zeros(5)
    for _ in range(steps):
        new = np.empty(5)
        for j in range(5):
            new[j] = np.max(alpha + x[j])
        alpha = new
    return alpha


def windows(x, steps):
    out = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        out[i] = np.max(x[i - 1 : i + 2, 0]) * steps
    return out


def test_short_rows_in_short_loops():
    """Where no loop around is taken several steps at a time, each step asks for one comparison."""
    x = np.random.default_rng(7).normal(size=(5, 5))
    for fn, once in ((scores, True), (windows, False)):
        compiled = sg.compile(fn)
        np.testing.assert_allclose(compiled(x, 3), fn(x, 3), rtol=1e-14)
        assert ("running_maximum(" in compiled.python(x, 3)) == once, compiled.python(x, 3)
