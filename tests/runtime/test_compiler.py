"""How numba compiles generated text: a variable is one variable, if it has one type."""

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.runtime.load import load

GROWING = """
from numba import njit
import numpy as np
from srcgraph.runtime.arrays import longer

@njit(error_model='numpy')
def growing(x, n):
    saved = np.empty(2)
    held = 0
    while x < n:
        if held == len(saved):
            saved = longer(saved)
        saved[held] = x
        held += 1
        x *= 1.5
    total = 0.0
    for _ in range(held):
        held -= 1
        total = 0.5 * total + saved[held]
    return total
"""

OF_TWO_TYPES = """
from numba import njit

@njit(error_model='numpy')
def of_two_types(n, k):
    x = 3
    y = x
    for j in range(n):
        x = 0.25 * j
        n = x + y
        k = n - x
        y = 2
    for j in range(3):
        x = j
        y += x
    return y, x, n, k
"""

UNREAD = """
from numba import njit

@njit(error_model='numpy')
def unread(x):
    _, y = x, 2
    _ = y
    for _ in range(3):
        y += 1
    return y
"""


def test_a_loop_that_fills_an_array_counts_no_references():
    run, _ = load(GROWING, "growing")
    assert run(1.0, 100.0) == run.py_func(1.0, 100.0)
    (code,) = run.inspect_llvm().values()
    own = next(part for part in code.split("\ndefine ")[1:] if "growing" in part.split("\n")[0])
    assert "NRT_decref" in own
    assert "NRT_incref" not in own


def test_a_variable_of_two_types_is_two():
    run, _ = load(OF_TWO_TYPES, "of_two_types")
    assert run(2, 7) == run.py_func(2, 7) == (5, 2, 2.25, 2.0)


def test_what_is_not_read_may_be_anything():
    run, _ = load(UNREAD, "unread")
    assert run(np.zeros(2)) == 5
    assert run(1.0) == 5


def quotient_in_a_branch(x, y, m, n):
    """The place that is read of ``y`` is the same for all ``j``; what takes the branch may be any of them."""
    total = 0.0
    seen = []
    for i in range(n):
        for j in range(i, -1, -1):
            total = np.tanh(np.tanh(y[i]) if -0.7 - m[j, i] < x[j] else y[2 * i % n] + x[j])
        seen.append(total)
    return total + len(seen)


@pytest.mark.parametrize("n", [8, 67, 200])
def test_quotients_in_branches(n):
    """LLVM would divide for the first of several steps only, and read anywhere: this process would end."""
    rng = np.random.default_rng(0)
    x, y, m = np.full(n, -0.5), rng.normal(size=n), rng.normal(size=(n, n))
    found, expected = sg.compile(quotient_in_a_branch)(x, y, m, n), quotient_in_a_branch(x, y, m, n)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
