"""Calls with objects, dicts and named tuples: what is seen at a glance is what a full description says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import ArgumentError, OverlapError
from srcgraph.runtime.described import describe_arguments
from srcgraph.runtime.quick import Met, quick_key


@dataclass
class Line:
    slope: Any
    start: float = 0.0


@dataclass(slots=True)
class Slim:
    slope: Any
    start: float = 0.0


class Pair(NamedTuple):
    slope: Any
    start: float = 0.0


class Model:
    def __init__(self, line, scale):
        self.line, self.scale = line, scale


def at(line, x):
    return np.sum(line.slope * x) + line.start


def of_dict(line, x):
    total = 0.0
    for name in line:
        total = 2.0 * total + np.sum(line[name] * x)
    return total


def scaled(model, x):
    return model.scale * (np.sum(model.line.slope * x) + model.line.start)


def applied(function, x):
    return function(x)


def twice(x):
    return 2.0 * x


def thrice(x):
    return 3.0 * x


W, X = np.array([1.0, 2.0, -1.0]), np.array([0.5, -1.5, 2.0])
CALLS = [
    (at, Line(W, 1.0)), (at, Line(2.0, 1.0)), (at, Line(2, 1.0)), (at, Line(W, 3)), (at, Line(W[None, :], 1.0)),
    (at, Slim(W, 1.0)), (at, Slim(2.0, 1.0)), (at, Pair(W, 1.0)), (at, Pair(3.0, 1.0)), (at, Model(0.0, 0.0)),
    (of_dict, {"a": W, "b": 2.0}), (of_dict, {"b": 2.0, "a": W}), (of_dict, {"a": W}), (of_dict, {1: W, "b": 2.0}),
    (of_dict, {True: W, "b": 2.0}), (scaled, Model(Line(W, 1.0), 2.0)), (scaled, Model(Slim(W, 1.0), 2.0)),
    (scaled, Model(Line(W, 1.0), np.float32(2.0))), (applied, twice), (applied, thrice), (applied, np.sin),
]  # fmt: skip


@pytest.mark.parametrize("order", [1, -1])
def test_each_kind_has_a_version_of_its_own(order):
    """Whatever was called before; and each the second time, which is the quick one."""
    compiled = {f: sg.compile(f) for f, _ in CALLS}
    for _ in range(3):
        for function, first in CALLS[::order]:
            if type(first) is Model and function is at:
                first.slope, first.start = W, 1.0
            found, wanted = compiled[function](first, X), function(first, X)
            np.testing.assert_allclose(found, wanted, rtol=1e-14)
            assert type(found) is type(wanted)


def test_what_changes_between_calls():
    compiled, line = sg.compile(at), Line(W, 1.0)
    for change in (lambda: None, lambda: setattr(line, "start", 5.0), lambda: setattr(line, "start", 5),
                   lambda: setattr(line, "slope", 2.0), lambda: setattr(line, "extra", "text"),
                   lambda: setattr(line, "slope", np.float32(3.0))):  # fmt: skip
        change()
        for _ in range(3):
            assert compiled(line, X) == pytest.approx(at(line, X), rel=1e-14)
    del line.start  # the class has it
    assert compiled(line, X) == pytest.approx(at(line, X), rel=1e-14)


def moved(line, x):
    line.start += 1.0
    line.slope[0] += x[0]
    return line, line.slope


def test_an_object_that_is_changed_and_returned():
    compiled, line = sg.compile(moved), Line(W.copy(), 0.0)
    for k in range(1, 5):
        found, slope = compiled(line, X)
        assert found is line and slope is line.slope
        assert (line.start, line.slope[0]) == (k, 1.0 + 0.5 * k)


def both(x, y):
    x.start += 1.0
    return x.start * y.start


def test_one_object_twice():
    """Two objects, then one passed as both, then two."""
    compiled = sg.compile(both)
    for _ in range(2):
        for same in (False, True):
            x, y = Line(W, 2.0), Line(W, 3.0)
            assert compiled(x, x if same else y) == 9.0
            assert (x.start, y.start) == (3.0, 3.0)
    x = Line(W, 4.0)
    assert compiled(x, x) == 25.0 and compiled(x, Line(W, 3.0)) == 18.0


def test_memory_that_is_shared():
    compiled, slope = sg.compile(moved), W.copy()
    for _ in range(2):
        compiled(Line(slope.copy(), 0.0), X)
    with pytest.raises(OverlapError):
        compiled(Line(slope, 0.0), slope[::-1])


@pytest.mark.parametrize("line", [Line(W, 1.0), {"slope": W, "start": 1.0}, Pair(W, 1.0), (W, 1.0)])
def test_derivatives(line):
    function = of_dict if type(line) is dict else (lambda t, x: np.sum(t[0] * x) + t[1]) if type(line) is tuple else at
    for _ in range(3):
        made = sg.grad(function)(line, X)
        assert type(made) is type(line)


def test_what_contains_itself():
    model = Model(None, 2.0)
    model.line = model
    assert quick_key((model,), [], Met()) is None


@pytest.mark.parametrize("first", [first for _, first in CALLS])
def test_numbers_and_objects_come_in_the_order_of_a_description(first):
    leaves, met = list[Any](), Met()
    if quick_key((first, X), leaves, met) is None:  # the key True is 1, and described in full
        assert type(first) is dict and any(key is True for key in first)
        return
    _, described = describe_arguments(["a", "b"], (first, X))
    assert [*map(id, leaves)] == [*map(id, described.values)]
    assert [*map(id, met.objects)] == [*map(id, described.objects)]


# -- lists -----------------------------------------------------------------------------------------------------


def summed(items, x):
    total = 0
    for item in items:
        total += item
    return total, x


def grown(items, x):
    items.append(items[0] + x)
    items[0] = x
    return items, len(items)


def joined(record, x):
    record["left"].append(x)
    return record["left"] + record["right"], record["right"]


def kind_of(value):
    return [type(v) for v in value] if type(value) in (tuple, list) else type(value)


LISTS = [
    [1.0, 2.5], [1.0], [3.0, 4.0, 5.0], [1, 2], [7], [True, False], [1j, 2.0j], [np.float32(1.5), np.float32(2.5)],
    [np.float64(1.5), np.float64(2.5)], [1, 2.5], [np.int8(100), np.int8(100)], [2**62, 2**61], [],
]  # fmt: skip


@pytest.mark.parametrize("order", [1, -1])
def test_lists_of_each_kind_have_a_version_of_their_own(order):
    compiled = sg.compile(summed)
    for _ in range(3):
        for items in LISTS[::order]:
            with np.errstate(over="ignore"):
                found, wanted = compiled(items, 1.5), summed(items, 1.5)
            assert found == wanted and kind_of(found) == kind_of(wanted)


def test_integers_that_do_not_fit():
    compiled = sg.compile(summed)
    for _ in range(3):
        assert compiled([1, 2], 0.0) == (3, 0.0)
        with pytest.raises(ArgumentError, match="64 bits"):
            compiled([1, 2**63], 0.0)


def test_lists_that_are_changed():
    compiled, items, plain = sg.compile(grown), [1.0, 2.0], [1.0, 2.0]
    for k in range(4):
        found, wanted = compiled(items, float(k)), grown(plain, float(k))
        assert found[0] is items and items == plain and found[1] == wanted[1]


def test_lists_in_a_dict_and_one_list_twice():
    compiled = sg.compile(joined)
    for _ in range(3):
        left, right = [1.0, 2.0], [3.0]
        both, found = compiled({"left": left, "right": right}, 4.0)
        assert both == [1.0, 2.0, 4.0, 3.0] and left == [1.0, 2.0, 4.0] and found is right
        same = [1.0, 2.0]
        both, found = compiled({"left": same, "right": same}, 4.0)
        assert both == [1.0, 2.0, 4.0, 1.0, 2.0, 4.0] and found is same


def test_gradients_by_lists():
    slope = sg.grad(lambda items, x: sum(v * v * x for v in items))
    for size in (1, 3, 1, 2, 3):
        items = [1.0 + k for k in range(size)]
        assert slope(items, 2.0) == [4.0 * v for v in items]


def test_which_lists_are_seen_at_a_glance():
    known, other = [1.0, 2.0], [1.0, 2.0]
    assert quick_key((known, other), [], Met()) == ((list, float, False), (list, float, False))
    for args in ((known, known), ([],), ([1, 2.0],), ([2**70],), ([known],), (["text"],)):
        assert quick_key(args, [], Met()) is None
    assert quick_key((known,), []) is None
