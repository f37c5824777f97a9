"""`ifelse`: only what is taken is computed, and may raise, whoever runs the graph."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph import engines
from srcgraph.errors import ArgumentError
from srcgraph.ir import graph_of, matrix, scalar, vector
from srcgraph.ir.graph import Graph, Program
from srcgraph.ir.symbolic import variable_of
from srcgraph.ir.verify import verify
from srcgraph.ir.walk import all_nodes
from srcgraph.runtime.symbolic import call, gradients

c, a, i = scalar("c", "bool"), scalar("a"), scalar("i", "int64", weak=True)
x, m = vector("x"), matrix("m")
X, M = np.array([0.5, 2.0]), np.arange(6.0).reshape(3, 2)


def pick(x, i, flag):
    return x[i] if flag else 0.0


@pytest.mark.parametrize("engine", [*engines.names(), "compiled"])
def test_what_is_not_taken_does_not_raise(engine: str) -> None:
    """Built of variables, numbers and arrays, and written as a conditional expression."""
    if engine == "compiled":
        run, number, row = sg.compile(pick), None, None
    else:
        found = engines.get(engine).compile(Program({"pick": sg.compile(pick).graph(X, 1, True)}, "pick"))
        run = lambda *args: found(args)[0]  # noqa: E731
        number = sg.function([x, i, c], sg.ifelse(c, x[i], 0.0), engine=engine)
        row = sg.function([m, x, i, c], sg.ifelse(c, m[i], x), engine=engine)
    for f in filter(None, (run, number)):
        assert (f(X, 5, False), f(X, 1, True)) == (0.0, 2.0)
        with pytest.raises(IndexError, match="index 5 is out of bounds"):
            f(X, 5, True)
    if row is not None:
        assert row(M, X, 7, False).tolist() == [0.5, 2.0] and row(M, X, 2, True).tolist() == [4.0, 5.0]
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            row(M, X, 7, True)


def count(graph: Graph, args: list[Any]) -> Counter[str]:
    """How often the VM computes each op."""
    found: Counter[str] = Counter()
    engines.Vm(watch=lambda node: found.update([node.op.name])).compile(Program({graph.name: graph}, graph.name))(args)
    return found


def uses(graph: Graph, name: str) -> int:
    return sum(getattr(n, "op", None) is not None and n.op.name == name for n in all_nodes(graph))


@pytest.mark.parametrize("depth", [2, 3, 4, 6, 8, 10, 12, 200])
def test_cost_is_linear(depth: int) -> None:
    """Both sides of each conditional read the one before it: it is in the graph once, and computed once."""
    value = a
    for _ in range(depth):
        value = sg.ifelse(value > 0.3, np.sin(value), np.cos(value))
    f = sg.function([a], value, engine="vm")
    found = count(f.graph, [np.float64(0.7)])
    assert found["sin"] + found["cos"] == depth
    assert uses(f.graph, "sin") == uses(f.graph, "cos") == depth
    if depth == 12:
        assert sg.function([a], value)(0.7) == f(0.7) == sg.function([a], value, engine="interp")(0.7)


@pytest.mark.parametrize("depth", [1, 5, 40])
def test_one_in_the_side_of_another(depth: int) -> None:
    """What only one side needs is there, conditionals too; very deep ones stand before those around them."""
    value = a
    for k in range(depth):
        value = sg.ifelse(scalar_of(k) < a, np.sin(value), 0.25)
    f = sg.function([a], value, engine="vm")
    verify(f.graph)
    first = count(f.graph, [np.float64(0.7)])
    assert first["sin"] <= (1 if depth == 1 else max(0, depth - 30))
    assert f(0.7) == (np.sin(0.7) if depth == 1 else 0.25)
    if depth == 40:
        assert sg.function([a], value)(100.0) == f(100.0)


def scalar_of(k: int) -> Any:
    return a * 0.0 + float(k)


def test_what_both_need_stands_before() -> None:
    shared = np.exp(a)
    graph = graph_of([c, a], [sg.ifelse(c, shared, -shared) + sg.ifelse(c, np.sin(a), np.sin(a) * 2.0)])
    assert count(graph, [True, np.float64(0.5)]) == count(graph, [False, np.float64(0.5)]) - Counter(
        neg=1, mul=1, const=1
    )
    assert uses(graph, "exp") == 1 and "exp" in {getattr(n, "op", c).name for n in graph.nodes}


def test_lengths_that_are_found_out_inside() -> None:
    """A size that the result has is told before the conditional."""
    f = sg.function([x, c], sg.ifelse(c, x[x > 0.6], x), engine="interp")
    verify(f.graph)
    assert f(X, True).tolist() == [2.0] and f(X, False).tolist() == [0.5, 2.0]
    total = sg.function([x, c], sg.ifelse(c, x[x > 0.6].sum(), 0.0), engine="vm")
    verify(total.graph)
    assert total(X, True) == 2.0 and count(total.graph, [X, False])["greater"] == 0


def test_gradient_of_what_is_taken() -> None:
    """Neither infinity nor NaN of the other side comes in; in source, of variables, and inside `where`."""
    value = sg.ifelse(a > 0.0, a + 1.0, np.exp(a))
    (slope,) = gradients(value, [a])
    f = sg.function([a], [value, slope])
    assert f(1000.0) == [1001.0, 1.0] and f(-1.0) == [np.exp(-1.0), np.exp(-1.0)]

    def source(x):
        return sg.ifelse(x > 0.0, x + 1.0, np.exp(x))

    assert sg.grad(source)(1000.0) == 1.0 == sg.grad(lambda x: x + 1.0 if x > 0.0 else np.exp(x))(1000.0)
    assert sg.compile(source)(-1.0) == np.exp(-1.0) and source(2.0) == 3.0


@pytest.mark.parametrize("engine", ["interp", "vm", "numba"])
def test_an_update_that_is_not_taken_costs_nothing(engine: str) -> None:
    """The variable keeps its very array."""
    b = sg.shared(np.zeros(100_000), name="b")
    flag = scalar("flag", "bool")
    f = sg.function([flag], (), updates={b: sg.ifelse(flag, variable_of(b) + 1.0, b)}, engine=engine)
    f(True)
    before = b.value
    f(False)
    tracemalloc.start()
    f(False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert b.value is before and before[0] == 1.0 and peak < 50_000
    f(True)
    assert b.value[0] == 2.0 and before[0] == 1.0


def test_substituted_and_given() -> None:
    """Inside `givens`, and cut at a value that one side is made of."""
    low = np.sqrt(a)
    value = sg.ifelse(a > 0.0, low, -a)
    assert sg.function([a], value, givens={a: a * 4.0}, engine="interp")(1.0) == 2.0
    assert sg.function([a, low], value, engine="interp")(1.0, 7.0) == 7.0


def test_conditional_expressions_of_arrays() -> None:
    """Of functions called on variables, too; what they are given is computed before, as in Python."""
    f = sg.function([c, x, m, i], call(lambda c, x, y: x if c else y, c, x, m[i]), engine="interp")
    assert f(True, X, M, 0).tolist() == [0.5, 2.0] and f(False, X, M, 1).tolist() == [2.0, 3.0]
    with pytest.raises(IndexError):
        f(True, X, M, 9)


def test_what_ifelse_takes() -> None:
    assert sg.ifelse(1, "yes", "no") == "yes" and sg.ifelse(False, x, a) is a
    assert sg.function([a], sg.ifelse(a, 1.0, 2.0))(0.0) == 2.0
    assert sg.function([c, x], sg.ifelse(c, x, np.zeros(2)))(False, X).tolist() == [0.0, 0.0]
    with pytest.raises(ArgumentError, match=r"ifelse of .*: the types differ"):
        sg.ifelse(c, x, m)
    with pytest.raises(ArgumentError, match="the types differ"):
        sg.ifelse(c, x, 1.0)
