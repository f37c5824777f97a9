"""Gradients by arguments that are one array, list or object: each has its own, as if they were two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import SrcgraphError


@dataclass
class Model:
    rates: list
    scale: float


def of_lists(x: Any, y: Any) -> Any:
    return x[0] * y[1] + x[1]


def of_objects(x: Model, y: Model) -> Any:
    return x.rates[0] * y.rates[1] * y.scale + x.scale


def of_parts(pair: Any) -> Any:
    return pair[0][0] * pair[1][1] + pair[0][1]


def inner(x: Any) -> Any:
    a, b = sg.grad(of_lists, (0, 1))(x, x)
    return a[0], a[1], b[0], b[1]


def inner_of_objects(x: Model) -> Any:
    a, b = sg.grad(of_objects, (0, 1))(x, x)
    return a.rates[0], a.rates[1], a.scale, b.rates[0], b.rates[1], b.scale


@pytest.mark.parametrize("make", [np.array, list])
def test_arrays_and_lists(make: Callable[[Any], Any]) -> None:
    x = make([1.0, 2.0])
    wanted = ([2.0, 1.0], [0.0, 1.0])
    np.testing.assert_array_equal(sg.grad(of_lists, (0, 1))(x, x), wanted)
    np.testing.assert_array_equal(sg.grad(of_lists, 1)(x, x), wanted[1])
    np.testing.assert_array_equal(sg.grad(of_lists, (0, 1))(x, make([1.0, 2.0])), wanted)
    np.testing.assert_array_equal(sg.grad(of_parts)((x, x)), wanted)
    np.testing.assert_array_equal(sg.compile(inner)(x), np.ravel(wanted))


def test_objects() -> None:
    model = Model([1.0, 2.0], 3.0)
    one, two = sg.grad(of_objects, (0, 1))(model, model)
    assert (one, two) == (Model([6.0, 0.0], 1.0), Model([0.0, 3.0], 2.0))
    assert sg.compile(inner_of_objects)(model) == (6.0, 0.0, 1.0, 0.0, 3.0, 2.0)


def stores_into_one(x: Any, y: Any) -> Any:
    x[0] = 2.0 * y[0]
    return x[0] * y[1]


def appends_to_one(x: Any, y: Any) -> Any:
    x.append(x[0])
    return x[2] * y[0] * len(y)


def changes_one(x: Model, y: Model) -> Any:
    x.scale = 3.0 * y.scale
    return x.scale + y.scale


@pytest.mark.parametrize(
    ("f", "make"),
    [
        (stores_into_one, lambda: [1.0, 2.0]),
        (stores_into_one, lambda: np.array([1.0, 2.0])),
        (appends_to_one, lambda: [1.0, 2.0]),
        (changes_one, lambda: Model([1.0], 2.0)),
    ],
)
def test_one_that_changes_is_refused(f: Callable[..., Any], make: Callable[[], Any]) -> None:
    """A change of one would be one of the other, which no gradient by one of them describes."""
    x = make()
    with pytest.raises(SrcgraphError, match=r"shares? memory with|may be the same object as"):
        sg.grad(f, (0, 1))(x, x)
    with pytest.raises(SrcgraphError, match="changes"):
        sg.compile(lambda v: sg.grad(f)(v, v))(x)
    assert sg.grad(f)(x, make()) is not None


def test_what_contains_itself_is_refused() -> None:
    @dataclass
    class Node:
        value: float
        next: Any = None

    def product(x: Node, y: Node) -> float:
        return x.value * y.value

    def f(value: float) -> Any:
        node = Node(value)
        node.next = node
        return sg.grad(product)(node, node).value

    with pytest.raises(SrcgraphError, match="contains itself"):
        sg.compile(f)(2.0)


# -- whether two arguments are one array ----------------------------------------------------------------------


def same(x: Any, y: Any) -> Any:
    return np.sum(x) if x is y else 2.0 * np.sum(x)


def in_a_callee(x: Any, y: Any) -> Any:
    return same(x, y) + (0.0 if x is not y else 1.0)


def which(x: Any, y: Any, z: Any) -> float:
    return (1.0 if x is y else 0.0) + (10.0 if x is z else 0.0) + (100.0 if y is z else 0.0)


def test_the_answer_is_that_of_the_call() -> None:
    z, w = np.ones(3), np.ones(3)
    pairs = [(z, w), (z, z), (z, z.copy()), (z, z), (w, z), (w, w)]
    for f in (same, in_a_callee):
        made = sg.compile(f)
        assert [made(*p) for p in pairs * 3] == [f(*p) for p in pairs * 3]
    made = sg.compile(which)
    threes = [(z, w, z.copy()), (z, z, w), (z, z, z), (w, z, z), (z, w, z), (z, z, w), (z, z, z)]
    assert [made(*t) for t in threes * 3] == [which(*t) for t in threes * 3]
    np.testing.assert_array_equal(sg.grad(same)(z, w), [2.0, 2.0, 2.0])
    with pytest.raises(SrcgraphError, match="shares memory with"):
        sg.grad(same)(z, z)
