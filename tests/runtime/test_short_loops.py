"""Short loops that call functions for several numbers are taken several steps at a time."""

from __future__ import annotations

import re

import numpy as np
import pytest

from srcgraph.runtime.load import load

ROWS = """
import numpy as np
from numba import njit
from srcgraph.runtime.vector import exp, tanh

@njit(error_model='numpy')
def rows(x, y, n):
    a, b, c = np.empty(14), np.empty(14), np.empty(14)
    for t in range(n):
        for j in range(14):
            a[j] = exp(x[t, j])
            b[j] = a[j] * tanh(x[t, j])
            c[j] = b[j] + a[j] * b[j]
            y[t, j] += c[j] * a[j]
    return y
"""


def test_short_rows_are_taken_several_steps_at_a_time():
    """Of 14 steps none is done alone: neither where LLVM would write the loop out, nor at its end."""
    function, _ = load(ROWS, "rows")
    x, y = np.random.default_rng(0).normal(size=(5, 14)), np.ones((5, 14))
    wanted = 1.0 + (np.exp(x) * np.tanh(x) * (1.0 + np.exp(x))) * np.exp(x)
    np.testing.assert_allclose(function(x, y, 5), wanted, rtol=1e-14)
    (assembly,) = function.inspect_asm().values()  # type: ignore[attr-defined]
    if "_ZGV" in assembly:
        body = assembly[assembly.index("rows") :]
        assert not re.search(r"call\S*\s+\S*srcgraph_(exp|tanh)\b", body)


TRIPS = """
import numpy as np
from numba import njit
from srcgraph.runtime.vector import exp

@njit(error_model='numpy', fastmath={{'contract', 'reassoc'}})
def trips(x):
    y = np.zeros({n})
    total = 0.0
    for j in range({n}):
        if x[j] > 0.0:
            y[j] += exp(x[j])
        total += y[j]
    return y, total
"""


@pytest.mark.parametrize("n", [8, 9, 14, 16, 31, 64, 65])
def test_steps_beyond_the_last_are_not_taken(n):
    """What lies behind an array is as it was, and numbers are what they are in longer loops."""
    function, _ = load(TRIPS.format(n=n), "trips")
    whole = np.random.default_rng(n).normal(size=n + 16)
    x = whole[:n]
    found, total = function(x)
    wanted = np.where(x > 0.0, np.exp(x), 0.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert abs(total - wanted.sum()) < 1e-12
