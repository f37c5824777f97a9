"""numba's form of a function to LLVM's instructions: elements, ranges and variables mean what they do in Python."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from numba import njit

import srcgraph as sg
from srcgraph.runtime.compiler import Compiler
from srcgraph.runtime.integers import Integers


def ends(x, n):
    """Literals that count from the end, next to what counts from the start."""
    total = 0.0
    for k in range(n):
        total += x[k, -1] * x[-2, n - k - 1] + x[n - k - 1, 0]
    return total


def stepped(n, first, step):
    """Steps whose sign is known when it runs; the counter afterwards."""
    seen, k = 0, -7
    for k in range(first, n, step):
        seen = 10 * seen + k
    return seen, k


def down(x):
    for i in range(len(x) - 1, -1, -1):
        for j in range(i, len(x) + 5, 2):
            if j >= len(x):
                break
            x[j] += x[i - 1] if i else 1.0
    return x


def twice(x, n):
    """One counter of two loops, one of which counts below 0."""
    total = 0.0
    for k in range(n):
        total += x[k, 0]
    for k in range(2, -n, -1):
        total += 2.0 * x[abs(k), abs(k)]
    return total


def skipped(x, n):
    for i in range(n):
        if i == 1:
            continue
        for j in range(i):
            x[i, j] = i * j + x[j, i]
        else:
            x[i, i] -= 1.0
    return x


def places(x, where):
    """Positions that are read from an array, tuples that are more than positions."""
    total = 0.0
    for k in range(len(where)):
        place = (where[k], where[len(where) - k - 1])
        total += x[place] + place[0]
    return total


def kinds(flags, wide, n):
    for k in range(n):
        flags[k] = wide[k].real > 0.0
        wide[k] = wide[k] * 1j if flags[k] else wide[k] + k
    return flags, wide


GRID = np.arange(20.0).reshape(4, 5)[:, :4]
CALLS = [
    (ends, (GRID, 4)),
    (stepped, (9, 2, 3)),
    (stepped, (-9, 2, -2)),
    (stepped, (9, 9, 1)),
    (down, (np.arange(5.0),)),
    (twice, (GRID, 3)),
    (skipped, (GRID.copy(), 4)),
    (places, (GRID, np.array([0, 3, 1, 2]))),
    (kinds, (np.zeros(3, bool), np.array([1.0, -2.0, 3j]), 3)),
]


@pytest.mark.parametrize("compiler", [Compiler, Integers])
@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize(("function", "given"), CALLS, ids=[f"{f.__name__}{k}" for k, (f, _) in enumerate(CALLS)])
def test_means_the_same(function, given, order, compiler):
    wanted = function(*(laid(a, "C") for a in given))
    found = njit(pipeline_class=compiler)(function)(*(laid(a, order) for a in given))
    for one, other in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
        np.testing.assert_array_equal(one, other)


def laid(a, order):
    """A copy of an array: rows first, columns first, or with gaps."""
    if not isinstance(a, np.ndarray):
        return a
    if order != "A":
        return np.array(a, order=order)
    wide = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    part = wide[tuple(slice(None, None, 2) for _ in a.shape)]
    part[...] = a
    return part


@pytest.mark.parametrize("compiler", [Compiler, Integers])
def test_a_step_of_zero_is_refused(compiler):
    with pytest.raises(ValueError, match="zero"):
        njit(pipeline_class=compiler)(stepped)(9, 2, 0)


def test_positions_of_all_widths():
    def read(x, places):
        total = 0.0
        for k in range(len(places)):
            total += x[places[k]] * x[places[k],]
        return total

    x = np.arange(6.0)
    for kind in (np.int8, np.uint8, np.int32, np.uint64):
        places = np.array([5, 0, 3], kind)
        assert njit(pipeline_class=Compiler)(read)(x, places) == 34.0


# -- what a caller passes ----------------------------------------------------------------------------------


def passed_on(x, n):
    return x if n == 0 else passed_on(x, n - 1)


def exchanged(x, y, n):
    for _ in range(n):
        x, y = y, x
    return x[0], y


def copied_then(x, n):
    if n > 2:
        x = x.copy()
    x[0] = n
    return x


def put_on_a_list(x, n):
    rows = []
    for k in range(n):
        rows.append(k * x)
        rows.append(x + 1.0)
    return rows[-1][0] + len(rows), x[1:]


def raises(x, n):
    y = x[1:]
    return y[n]


def named_again(x, n):
    """Another name for what is passed, given in each step."""
    total = 0.0
    for k in range(n):
        y = x
        y[0] += k
        total += y[0]
    return total, y if n else x


CALLS = [
    (named_again, (3,)), (passed_on, (3,)),
    (exchanged, (np.ones(3), 3)), (copied_then, (1,)), (copied_then, (3,)), (put_on_a_list, (2,)),
    (raises, (1,)), (raises, (99,)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "more"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_references_are_given_back(function, more):
    """Nobody counts references to what is passed; those to what is handed on are counted."""
    fast, x = sg.compile(function), np.arange(5.0)
    counts = []
    for _ in range(6):
        for _ in range(50):
            try:
                result = fast(x, *more)
            except IndexError:
                result = None
            if isinstance(result, np.ndarray) and result.base is not None:
                assert np.array_equal(result, result.copy())
            del result
        counts.append(sys.getrefcount(x))
    assert len({*counts[1:]}) == 1 or function is raises


# -- lists ---------------------------------------------------------------------------------------------------


def pushed_and_popped(n):
    """More and less by turns: what is popped is what was pushed last."""
    numbers, whether, total = [0.0][:0], [False][:0], 0.0
    for k in range(n):
        numbers.append(k)
        numbers.append(0.5 * k)
        whether.append(k % 3 == 0)
        if k % 5 == 4:
            for _ in range(6):
                total = 0.9 * total + numbers.pop()
            total += len(whether) if whether.pop() else 0.0
    return total, len(numbers), len(whether), numbers[0]


def deeper(left, numbers):
    if left == 0:
        numbers.append(1.0)
    else:
        for k in range(left):
            numbers.append(float(k))
            deeper(left - 1, numbers)
            numbers[-1] += numbers.pop() * k


def handed_down(left):
    numbers = [0.0][:0]
    deeper(left, numbers)
    return sum(numbers), len(numbers)


def one_by_one(n):
    """As many as a long list has, and all of them back."""
    numbers = [0][:0]
    for k in range(n):
        numbers.append(k)
    last = -1
    for _ in range(n):
        last = numbers.pop() + 2 * last % 1000
    return last, len(numbers)


@pytest.mark.parametrize("compiler", [Compiler, Integers])
@pytest.mark.parametrize(("function", "n"), [(pushed_and_popped, 400), (handed_down, 5), (one_by_one, 400_000)])
def test_lists_of_numbers(function, n, compiler):
    for given in (3, n):
        one, other = (taken(function, given, c) for c in (compiler, None))
        assert one == other


def taken(function, given, compiler):
    """What a function gives that numba compiles in one way, or Python."""
    if compiler is None:
        return function(given)
    if function is handed_down:
        inner = njit(pipeline_class=compiler)(deeper)
        function = types.FunctionType(function.__code__, {"deeper": inner})
        inner.py_func.__globals__["deeper"] = inner
        try:
            return njit(pipeline_class=compiler)(function)(given)
        finally:
            inner.py_func.__globals__["deeper"] = inner.py_func
    return njit(pipeline_class=compiler)(function)(given)


def test_nothing_is_popped_from_an_empty_list():
    def popped(n):
        numbers = [0.0][:0]
        for _ in range(n):
            numbers.append(1.0)
        return numbers.pop() + numbers.pop()

    with pytest.raises(IndexError, match="pop from empty list"):
        njit(pipeline_class=Compiler)(popped)(1)
