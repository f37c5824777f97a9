"""Integers that loops carry: what is known of those that only grow, or only shrink, and of no others."""

from __future__ import annotations

import numpy as np
import pytest

import srcgraph as sg


def forwards(x):
    i, total = 0, 0.0
    while i < len(x):
        total += x[i]
        i += 1
    return total


def backwards(x):
    i, total = len(x) - 1, 0.0
    while i >= 0:
        total = 0.5 * total + x[i]
        i -= 1
    return total


def kept(x):
    out = np.zeros(len(x))
    k = 0
    for v in x:
        if v > 0.0:
            out[k] = v
            k += 1
    return out[:k], k


def packed(x):
    """The part of a matrix below its diagonal, column by column."""
    size, k, total = 4, 0, 0.0
    for i in range(size):
        for j in range(i + 1, size):
            total += x[k % len(x)] * (i + j)
            k += 1
    return total


def found(x):
    low, high = 0, len(x)
    while low < high:
        middle = (low + high) // 2
        if x[middle] < 0.5:
            low = middle + 1
        else:
            high = middle
    return low


def merged(x):
    """A step of merge sort: the lists' own counters are proved, the result's is not."""
    out, i, j = np.empty(2 * len(x)), 0, 0
    while i < len(x) and j < len(x):
        if x[i] <= -x[j]:
            out[i + j] = x[i]
            i += 1
        else:
            out[i + j] = -x[j]
            j += 1
    return i, j


def paired(x):
    i, j, total = 0, len(x) - 1, 0.0
    for _ in range(len(x)):
        total += x[i] - x[j]
        i, j = i + 1, j - 1
    return total


@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("function", [forwards, backwards, kept, packed, found, merged, paired])
def test_no_check_is_left(function, n):
    x = np.random.default_rng(n).normal(size=n)
    fast = sg.compile(function)
    assert repr(fast(x)) == repr(function(x))
    assert "IndexError" not in sg.inspect(fast, np.ones(40)).cpu


def zigzag(x):
    k, total = 0, 0.0
    for i in range(8 * len(x)):
        total += x[k]
        k += 1 if i % 2 == 0 else -2
    return total


def one_too_far(x):
    i, total = 0, 0.0
    while i <= len(x):
        total += x[i]
        i += 1
    return total


def past_the_front(x):
    i, total = len(x) - 1, 0.0
    while i >= -len(x) - 1:
        total += x[i]
        i -= 1
    return total


def twice(x):
    k, total = 0, 0.0
    for _ in range(len(x)):
        total += x[k]
        k += 1
        if total > 1.0:
            k += 1
    return total


def left_early(x):
    k = 0
    for v in x:
        k += 1
        if v > 0.0:
            k = -len(x) - 1
            break
    return x[k]


def turned(x):
    i, j, total = 0, len(x) - 1, 0.0
    for _ in range(len(x) + 9):
        total += x[i] - x[j]
        i, j = j, i - 1
    return total


@pytest.mark.parametrize("function", [zigzag, one_too_far, past_the_front, twice, left_early, turned])
def test_what_may_be_out_of_range_is_checked(function):
    x = np.array([0.75, 0.5, 2.0])
    with pytest.raises(IndexError):
        function(x)
    with pytest.raises(IndexError):
        sg.compile(function)(x)


def by_steps(x, step):
    k, total = 0, 0.0
    for i in range(4):
        if i == 0 or i == 3:
            total += x[k]
        k += step
    return total


def test_integers_that_wrap_are_checked():
    """Three steps of that length are one back."""
    step = 2**64 // 3
    assert sg.compile(by_steps)(np.ones(4), 1) == 2.0
    with pytest.raises(OverflowError):
        sg.compile(by_steps)(np.ones(1), step)
    wrapping = sg.compile(by_steps, error_model="numpy")
    assert "if not 0 <= " in sg.inspect(wrapping, np.ones(40), 1).cpu
    assert wrapping(np.ones(1), step) == 2.0


def at_a_quotient(x, a, b):
    return x[a // b]


def test_the_quotient_that_needs_a_bit_more():
    """numba's is 0, which is a place."""
    x = np.arange(1.0, 5.0)
    assert sg.compile(at_a_quotient)(x, -6, -2) == 4.0
    with pytest.raises(OverflowError):
        at_a_quotient(x, -(2**63), -1)
    with pytest.raises(OverflowError):
        sg.compile(at_a_quotient)(x, -(2**63), -1)


def halved(x, k):
    while k < len(x):
        k = k // 2 + 1
        if k < 3:
            break
    return x[k]


def test_what_starts_below_zero_is_checked():
    assert sg.compile(halved)(np.arange(5.0), 4) == halved(np.arange(5.0), 4)
    for k in (-20, 20):
        with pytest.raises(IndexError):
            halved(np.arange(5.0), k)
        with pytest.raises(IndexError):
            sg.compile(halved)(np.arange(5.0), k)


@pytest.mark.parametrize("function", [forwards, backwards, paired])
def test_derivatives(function):
    x = np.array([0.75, -0.5, 2.0, 1.0])
    wanted = [(function(x + d) - function(x - d)) / 2e-6 for d in 1e-6 * np.eye(len(x))]
    np.testing.assert_allclose(sg.grad(function)(x), wanted, rtol=1e-6, atol=1e-8)


def product(x, k, m):
    return x[k * m] if k > 0 and m > 0 else 0.0


def following(x, k):
    return x[k + 1] if k > 0 else 0.0


def flattened(x, n, m):
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += x[i * m + j]
    return total


def divided(x, k, m):
    return x[k // m * 4] if k > 0 and m > 0 else 0.0


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (product, (2**40, 2**40)),
        (product, (2**32, 2**32)),
        (following, (2**63 - 1,)),
        (flattened, (3, 2**62)),
        (divided, (2**62, 1)),
    ],
)
def test_positions_that_need_more_than_64_bits(function, args):
    """They wrap to places inside the array, unless they are watched."""
    with pytest.raises((OverflowError, IndexError)):
        sg.compile(function)(np.arange(3.0), *args)


def test_positions_made_of_parameters():
    x = np.arange(12.0)
    assert sg.compile(product)(x, 2, 3) == 6.0
    assert sg.compile(following)(x, 4) == 5.0
    assert sg.compile(flattened)(x, 3, 4) == 66.0
    np.testing.assert_array_equal(sg.grad(flattened)(x, 3, 3), [1.0] * 9 + [0.0] * 3)


def doubled(x):
    """The length of a step doubles: it is never zero, nor what is computed of it another one in a step."""
    total = 0.0
    width = 2
    while width <= len(x):
        for first in range(0, len(x), width):
            turn = np.exp(-2j * np.pi / width)
            for k in range(width // 2):
                total += (turn * x[first + k]).real
        width *= 2
    return total


@pytest.mark.parametrize("size", [0, 1, 2, 16, 64])
def test_what_is_multiplied_grows(size):
    x = np.cos(np.arange(float(size)))
    compiled = sg.compile(doubled)
    np.testing.assert_allclose(compiled(x), doubled(x), rtol=1e-13)
    text = compiled.python(x)
    assert "ZeroDivisionError" not in text and "must not be zero" not in text, text
