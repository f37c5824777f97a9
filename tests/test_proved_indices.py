"""Indices chosen by conditions: those that cannot be out of range are not checked, all others are."""

from __future__ import annotations

import numpy as np
import pytest

import srcgraph as sg


def neighbours(x):
    n = len(x)
    total = 0.0
    for i in range(n):
        left = i - 1 if i > 0 else n - 1
        if i < n - 1:
            right = i + 1
        else:
            right = 0
        total += x[left] * x[right] + i * x[i]
    return total


def clamped(x, k):
    total = 0.0
    for i in range(len(x)):
        j = i + k
        if j < 0:
            j = 0
        elif j >= len(x):
            j = len(x) - 1
        total += x[j] * (i + 1)
    return total


def extremes(x):
    n = len(x)
    total = 0.0
    for i in range(n):
        total += x[min(i + 1, n - 1)] - 0.5 * x[max(i - 1, 0)] * x[min(max(i - 2, 0), n - 1)]
    return total


def hashed(x):
    table = np.array([1.0, 2.0, 3.0, 4.0])
    state, total = 12345, 0.0
    for i in range(len(x)):
        state = (1103515245 * state + 12345) & 0x7FFFFFFF
        total += x[i] * table[state & 3] * table[int(x[i] > 0.0)]
    return total


def from_either_end(x, k):
    total = 0.0
    for i in range(len(x)):
        total += x[-1 - i if i > k else i]
    return total


def largest(x):
    best = 0
    for j in range(1, len(x)):
        if x[j] > x[best]:
            best = j
    return best


def pivots(x):
    total = 0.0
    for k in range(len(x)):
        p = k
        for i in range(k + 1, len(x)):
            if abs(x[i]) > abs(x[p]):
                p = i
        total += x[p] * x[k]
    return total


def sieved(x):
    crossed = np.zeros(len(x))
    i = 2
    while i * i < len(x):
        for j in range(i * i, len(x), i):
            crossed[j] += 1.0
        i += 1
    return np.sum(crossed)


def in_order(x):
    return x[np.argsort(x)] * 2.0


def around(x):
    i = np.arange(len(x))
    return x[(i + 1) % len(x)] + x[(i - 1) % len(x)] - 2.0 * x[i]


PROVED = [
    (neighbours, ()), (clamped, (-2,)), (clamped, (3,)), (extremes, ()), (hashed, ()), (largest, ()), (pivots, ()),
    (sieved, ()), (in_order, ()), (around, ()),
]  # fmt: skip


@pytest.mark.parametrize(("function", "more"), PROVED)
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_no_check_is_left(function, more, n):
    x = np.random.default_rng(n).normal(size=n)
    fast = sg.compile(function)
    np.testing.assert_allclose(fast(x, *more), function(x, *more), rtol=1e-13)
    assert "IndexError" not in sg.inspect(fast, np.ones(40), *more).cpu


@pytest.mark.parametrize("n", [1, 2, 9])
def test_derivatives(n):
    x = np.random.default_rng(n).normal(size=n)
    step = 1e-6 * np.eye(n)
    wanted = [(neighbours(x + d) - neighbours(x - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(sg.grad(neighbours)(x), wanted, rtol=1e-6, atol=1e-7)


def test_counted_from_the_end_on_one_side():
    x = np.arange(9.0)
    np.testing.assert_allclose(sg.compile(from_either_end)(x, 3), from_either_end(x, 3))


def one_too_far(x):
    n = len(x)
    total = 0.0
    for i in range(n):
        right = i + 1 if i < n else 0
        total += x[right]
    return total


def mirrored(x):
    n = len(x)
    total = 0.0
    for i in range(n):
        j = i + 2
        if j > n - 1:
            j = 2 * (n - 1) - j
        total += x[j]
    return total


def begun_outside(x):
    best = 3
    for j in range(len(x)):
        if x[j] > x[best]:
            best = j
    return best


def below_the_last(x):
    best = 0
    for j in range(len(x)):
        if x[j] > x[best - 1]:
            best = j - 4
    return best


def by_any_step(x, step):
    total = 0.0
    for j in range(1, 3 * step, step):
        total += x[j]
    return total


def masked(x, k):
    return x[k & 7] + x[min(k, 3)]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (one_too_far, (np.ones(3),)),
        (mirrored, (np.ones(1),)),
        (begun_outside, (np.ones(2),)),
        (below_the_last, (np.array([3.0, 1.0, 2.0]),)),
        (by_any_step, (np.ones(3), -2)),
        (by_any_step, (np.ones(3), 2)),
        (masked, (np.ones(4), 5)),
        (masked, (np.ones(7), -9)),
    ],
)
def test_what_may_be_out_of_range_is_checked(function, args):
    with pytest.raises(IndexError):
        function(*args)
    with pytest.raises(IndexError):
        sg.compile(function)(*args)


def test_what_is_in_range_after_all():
    np.testing.assert_allclose(sg.compile(mirrored)(np.arange(5.0)), mirrored(np.arange(5.0)))
    np.testing.assert_allclose(sg.compile(masked)(np.arange(10.0), -9), masked(np.arange(10.0), -9))


def borders(u, b):
    """Columns at the border: slices made before, and after, the square is known to be large enough."""
    b[1:-1, 1:-1] = u[1:-1, 2:] - u[1:-1, :-2]
    b[1:-1, -1] = u[1:-1, 0] - u[1:-1, -2]
    b[1:-1, 0] = u[1:-1, 1] - u[1:-1, -1] + u[2:, 0]
    return np.sum(b)


@pytest.mark.parametrize("n", [5, 3, 2, 1, 0])
def test_borders_of_a_square(n):
    u, b = np.random.default_rng(n).normal(size=(n, n)), np.zeros((n, n))
    mine = b.copy()
    try:
        expected = borders(u, b)
    except IndexError:
        with pytest.raises(IndexError):
            sg.compile(borders)(u, mine)
    else:
        np.testing.assert_allclose(sg.compile(borders)(u, mine), expected, rtol=1e-14)
        slope, h = sg.grad(borders)(u, mine), 1e-6
        for k in np.ndindex(n, n):
            up, down = u.copy(), u.copy()
            up[k] += h
            down[k] -= h
            step = borders(up, b.copy()) - borders(down, b.copy())
            np.testing.assert_allclose(slope[k], step / (2 * h), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(mine, b, rtol=1e-14)


def test_no_array_is_stretched_that_has_the_length():
    text = sg.inspect(borders, np.ones((4, 4)), np.ones((4, 4))).cpu
    assert "ValueError" not in text and "empty" not in text


def test_one_check_says_the_others():
    def ends(u):
        return u[-3] + u[0] + u[2]

    text = sg.inspect(ends, np.ones(4)).cpu
    assert text.count("raise") == 1
    for n in range(4):
        if n < 3:
            with pytest.raises(IndexError, match="-3"):
                sg.compile(ends)(np.ones(n))
        else:
            assert sg.compile(ends)(np.ones(n)) == 3.0


def remainders(x, k):
    return x[k % len(x)] if len(x) > 0 else x[k]


def diagonal(m, k):
    return m[np.arange(len(k)), k]


@pytest.mark.parametrize("k", [[0, 1, 2], [-3, 2, 1], [0, 1, 3], [0, 1, 2, 0], []])
def test_what_a_range_and_remainders_leave_to_check(k):
    k = np.array(k, np.int64)
    m = np.arange(9.0).reshape(3, 3)
    for function, x in ((remainders, m[0]), (remainders, m[0, :0]), (diagonal, m), (diagonal, m[:2])):
        outcomes = []
        for f in (function, sg.compile(function)):
            try:
                outcomes.append(f(x, k))
            except IndexError as error:
                outcomes.append(str(error))
        np.testing.assert_array_equal(*outcomes)
