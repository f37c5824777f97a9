"""Short loops that call functions for several numbers are taken several steps at a time."""

from __future__ import annotations

import re

import numpy as np
import pytest

from srcgraph.runtime import vector
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


AROUND = """
from numba import njit

@njit(error_model='numpy', fastmath={'contract', 'reassoc'})
def around(x, y, n):
    for i in range(8):
        for j in range(n):
            y[i, j] += x[i, j] * x[i, j]
    return y
"""


def vector_loops(function) -> int:
    """How many loops LLVM made for several numbers at a time."""
    (text,) = function.inspect_llvm().values()
    return len(re.findall(r"^vector\.body\d*:", text, re.MULTILINE))


def test_a_loop_around_one_of_any_length_is_written_once():
    function, _ = load(AROUND, "around")
    x = np.random.default_rng(0).normal(size=(8, 100))
    np.testing.assert_allclose(function(x, np.ones((8, 100)), 100), 1.0 + x * x, rtol=1e-15)
    assert vector_loops(function) == 1


EDGES = """
from numba import njit

@njit(error_model='numpy', fastmath={{'contract', 'reassoc'}})
def edges(x, y, n):
    for j in range({ends}):
        y[j] += x[j] * x[j]
    return y
"""


@pytest.mark.parametrize(
    "ends", ["min(2, n - 2)", "max(n - 4, 0), n - 2", "max(n - 3, 1), n", "max(n - 2 - 2, 1), n - 2"]
)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 100])
def test_loops_over_edges_are_taken_step_by_step(ends, n):
    function, _ = load(EDGES.format(ends=ends), "edges")
    x = np.random.default_rng(0).normal(size=100)
    wanted = np.ones(100)
    for j in eval(f"range({ends})", {"n": n}):
        wanted[j] += x[j] * x[j]
    np.testing.assert_allclose(function(x, np.ones(100), n), wanted, rtol=1e-15)
    assert vector_loops(function) == 0


@pytest.mark.parametrize("ends", ["n - 2", "min(n, n - 2)", "max(n - 4, 0), n + 5", "max(n, 0), 2 * n"])
def test_other_loops_are_taken_several_steps_at_a_time(ends):
    function, _ = load(EDGES.format(ends=ends), "edges")
    function(np.zeros(100), np.ones(100), 20)
    assert vector_loops(function) >= 1


BLOCK = """
from numba import njit

@njit(error_model='numpy')
def block(x, y):
    n = x.shape[0]
    m = x.shape[1]
    p = x.shape[2]
    for i in range(n):
        for j in range(m):
            for k in range(p - 2):
                {store}
    return y
"""


def made_of_block(store: str, x: np.ndarray) -> tuple:
    """The function, what it stores into, and the memory around that."""
    function, _ = load(BLOCK.format(store=store), "block")
    whole = np.full(x.size + 40, 7.0)
    y = whole[20:-20].reshape(x.shape)
    function(x, y)
    assert (whole[:20] == 7.0).all()
    assert (whole[-20:] == 7.0).all()
    return function, y


def is_masked(function) -> bool:
    return any("llvm.masked.store" in text for text in function.inspect_llvm().values())


@pytest.mark.parametrize("n", [2, 3, 9, 10, 17, 25, 40])
def test_rows_of_blocks_are_taken_to_their_end(n):
    x = np.random.default_rng(n).normal(size=(3, 4, n))
    function, y = made_of_block("y[i, j, k + 1] = x[i, j, k] - 2.0 * x[i, j, k + 1] + x[i, j, k + 2]", x)
    wanted = np.full_like(x, 7.0)
    wanted[..., 1:-1] = x[..., :-2] - 2.0 * x[..., 1:-1] + x[..., 2:]
    np.testing.assert_array_equal(y, wanted)
    assert is_masked(function) == (vector.SET in vector.MASKED)


@pytest.mark.parametrize(
    "store", ["y[i, j, k] += x[i, j, k]", "y[i, j, 0] += x[i, j, k]", "y[i, j, k + 1] = y[i, j, k] + x[i, j, k]"]
)
def test_rows_that_are_read_again_are_not(store):
    """Numbers of which a part is stored are late where they are read; others are carried from step to step."""
    x = np.ones((3, 4, 25))
    function, y = made_of_block(store, x)
    assert not is_masked(function)
    wanted = np.full_like(x, 7.0)
    for i, j, k in np.ndindex(3, 4, 23):
        exec(store, {"x": x, "y": wanted, "i": i, "j": j, "k": k})
    np.testing.assert_array_equal(y, wanted)
