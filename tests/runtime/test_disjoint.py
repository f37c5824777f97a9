"""Which arrays share no memory: what LLVM is told is right."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numba import njit
from numba.core import types

from srcgraph.runtime import lowering
from srcgraph.runtime.arrays import copy, longer, zeros
from srcgraph.runtime.compiler import Compiler
from srcgraph.runtime.disjoint import MOST, Groups, is_plain
from srcgraph.runtime.integers import Integers
from srcgraph.runtime.load import load

pytestmark = pytest.mark.plainly


def handed_on(x, n):
    """Views, other names and exchanged names are the memory that they are of."""
    made = np.zeros((n, n))
    row = made[1]
    turned = made.T
    first, second = zeros(n), copy(x)
    for k in range(n):
        first[k] = 0.5 * k
        made[1, k] = first[k]
        row[k] += second[k]
        turned[k, 1] *= 3.0
        first[k] += made[1, k] + row[k]
        first, second = second, first
    other = first if n > 3 else x
    other[0] = 7.0
    return first[0] + second[0] + made.sum() + x[0]


def listed(x, n):
    """What is put into a list may be what is taken from it."""
    made, apart = np.zeros(n), np.zeros(n)
    held = [x]
    held.append(made)
    for k in range(n):
        taken = held[k % 2]
        taken[k] = 1.0 + made[k] + x[k]
        made[k] += 2.0
        apart[k] = taken[k] + made[k]
    return apart


@njit
def same(x):
    return x


@njit
def add_to(x, y):
    for k in range(len(x)):
        x[k] += y[k]


def called(x, n):
    """Another function may return what it is given, and what is in a tuple may be taken out."""
    given, kept = np.ones(n), np.ones(n)
    back = same(given)
    for k in range(n):
        back[k] = 3.0
        given[k] += back[k]
        add_to(kept, given)
    both = given, kept[1:]
    return kept, back, both[0]


def anew(x, n):
    """Memory that is given back and taken again."""
    total = 0.0
    for k in range(n):
        one = np.empty(n)
        for j in range(n):
            one[j] = x[j] + k
        last = one[n - 1]
        two = np.zeros(n)
        for j in range(n):
            two[j] += one[j] * last
        one = two
        total += one[k] + two[0]
    return total


def grown(x, n):
    tape = np.empty(1)
    held = 0
    for k in range(3 * n):
        if held == len(tape):
            tape = longer(tape)
        tape[held] = x[k % n]
        held += 1
    return tape[:held].sum() + tape[0]


def returned(x, n):
    """Being returned together makes no group of arrays; `either` is given one array twice."""
    one, two = np.ones(n), np.ones(n)
    for k in range(n):
        two[k] = one[k] + x[k]
    return one, two, x


def either(x, y):
    """The arguments may be one array."""
    for k in range(1, len(x)):
        x[k] = y[k - 1] + 1.0
    return x


FUNCTIONS = [handed_on, listed, called, anew, grown, returned]


@pytest.mark.parametrize("compiler", [Compiler, Integers])
@pytest.mark.parametrize("n", [2, 4, 33])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_means_the_same(function, n, compiler):
    x, y = np.linspace(0.0, 1.0, n), np.linspace(0.0, 1.0, n)
    found, wanted = njit(pipeline_class=compiler)(function)(x, n), function(y, n)
    for one, other in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, wanted)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
    np.testing.assert_array_equal(x, y)


def test_arguments_may_be_one_array():
    x = np.zeros(40)
    np.testing.assert_array_equal(njit(pipeline_class=Compiler)(either)(x, x), np.arange(40.0))


@njit(pipeline_class=Compiler, error_model="numpy", forceinline=True)
def made_from(x, i, n):
    s = x[i]
    made = np.empty(n)
    for k in range(n):
        made[k] = s + k
    t = made[i]
    for k in range(n):
        made[k] += t
    return made


def becomes_part(x, i, n):
    """What one call makes the next one is given."""
    first = made_from(x, i, n)
    second = made_from(first, i, n)
    return first, second, made_from(second, i, n)


def becomes_part_of_a_loop(x, i, n):
    y = x
    for _ in range(3):
        y = made_from(y, i, n)
    return y


@pytest.mark.parametrize("function", [becomes_part, becomes_part_of_a_loop])
def test_a_call_has_arrays_of_its_own(function):
    """LLVM takes nodes that are only named for those of another call, and `second` is made from `first` too early."""
    x, i, n = np.ones(7), 3, 7
    found = njit(pipeline_class=Compiler, error_model="numpy")(function)(x, i, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "made_from", made_from.py_func)
        wanted = function(x, i, n)
    np.testing.assert_array_equal(found, wanted)


def groups_of(function, given, monkeypatch):
    """The groups that the lowering of a function is told."""
    found = []

    def made(*args):
        found.append(Groups(*args))
        return found[-1]

    monkeypatch.setattr(lowering, "Groups", made)
    njit(pipeline_class=Compiler)(function).compile(given)
    return found[-1]


GIVEN = (types.float64[::1], types.int64)


def test_what_is_memory_of_its_own(monkeypatch):
    of = groups_of(handed_on, GIVEN, monkeypatch)
    assert of.is_own("made") and of.of("made") == of.of("row") == of.of("turned")
    assert of.of("first") == of.of("second") == of.of("other")
    assert not of.is_own("x") and not of.is_own("first")  # ``other`` is one or the other
    of = groups_of(anew, GIVEN, monkeypatch)
    assert of.is_own("one") and of.of("one") == of.of("two")
    assert groups_of(grown, GIVEN, monkeypatch).is_own("tape")


def test_what_may_be_had_elsewhere(monkeypatch):
    of = groups_of(listed, GIVEN, monkeypatch)
    assert not of.is_own("made") and not of.is_own("taken") and of.is_own("apart")
    of = groups_of(called, GIVEN, monkeypatch)
    assert not any(map(of.is_own, ("given", "back", "kept")))
    of = groups_of(returned, GIVEN, monkeypatch)
    assert of.is_own("one") and of.is_own("two") and of.of("one") != of.of("two")


@pytest.mark.parametrize(
    ("type", "plain"),
    [
        (types.float64[:], True),
        (types.Tuple((types.float64[:], types.int64)), True),
        (types.Tuple((types.List(types.float64[:]), types.int64)), False),
        (types.List(types.float64[:]), False),
        (types.Array(types.pyobject, 1, "C"), False),
    ],
)
def test_nothing_is_put_into_plain_arrays(type, plain):
    assert is_plain(type) is plain


def test_many_arrays():
    """More than are told apart."""
    names = [f"a{k}" for k in range(MOST + 8)]
    lines = ["from numba import njit", "import numpy as np", "", "@njit", "def many(n):"]
    lines += [f"    {a} = np.zeros(n)" for a in names]
    lines += ["    for k in range(1, n):", f"        {names[0]}[k] = k"]
    lines += [f"        {b}[k] = {a}[k] + {b}[k - 1]" for a, b in itertools.pairwise(names)]
    text = "\n".join([*lines, f"    return {names[-1]}", ""])
    function, _ = load(text, "many")
    np.testing.assert_array_equal(function(9), function.py_func(9))  # type: ignore[attr-defined]
