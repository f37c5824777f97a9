"""Graphs written as instructions and JSON, and read back: equality, written apart from what is tested."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from srcgraph import ir
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Program, Value, While, node_graphs
from srcgraph.ir.schema import find_breach

SEED = """\
1 new x1(ndim=2, dtype=float64)
2 tanh x2(ndim=2, dtype=float64) x1
3 sum x3(ndim=0, dtype=float64) x2
4 return x3
"""


def assert_equal(x: Graph | Program, y: Graph | Program, hints: bool = True) -> None:
    """Two graphs are the same but for the identity of their parts; without ``hints`` but for names and places."""
    if isinstance(x, Program) or isinstance(y, Program):
        assert isinstance(x, Program) and isinstance(y, Program)
        assert (x.entry, list(x.graphs)) == (y.entry, list(y.graphs))
        for name in x.graphs:
            assert_equal(x.graphs[name], y.graphs[name], hints)
        return
    same: dict[Value, Value] = {}

    def define(a: Any, b: Any) -> None:
        for v, w in zip(a, b, strict=True):
            assert v.type == w.type and (v.name == w.name or not hints)
            same[v] = w

    def read(a: Any, b: Any) -> None:
        assert [same[v] for v in a] == list(b)

    assert x.name == y.name or not hints
    define(x.params, y.params)
    for m, n in zip(x.nodes, y.nodes, strict=True):
        assert type(m) is type(n)
        for (_, a), (_, b) in zip(parts(m), parts(n), strict=True):
            read(a, b) if isinstance(a, tuple) and a and isinstance(a[0], Value) else assert_same_literal(a, b)
        if hints:
            assert (m.origin.loc, m.origin.by) == (n.origin.loc, n.origin.by)
        for g, h in zip(node_graphs(m), node_graphs(n), strict=True):
            assert_equal(g, h, hints)
        define(m.outputs, n.outputs)
    read(x.results, y.results)


def parts(node: Node) -> Iterator[tuple[str, Any]]:
    """What a node reads and says, but for its graphs and outputs."""
    names = {
        Apply: ("op", "inputs", "attrs"),
        If: ("captures",),
        While: ("carry", "captures", "stops"),
        For: ("carry", "captures", "stops", "lanes"),
        Call: ("callee", "inputs", "changes", "rule"),
        Define: ("changes",),
    }
    for name in names[type(node)]:
        yield name, getattr(node, name)
    if isinstance(node, If):
        yield "cond", (node.cond,)
    if isinstance(node, For):
        yield "bounds", (node.start, node.stop, node.step)


def assert_same_literal(x: Any, y: Any) -> None:
    assert type(x) is type(y) and repr(x) == repr(y)


def check_round_trip(graph: Graph | Program) -> None:
    """Both forms, with all types and those of inputs, with hints and without, read back as the graph."""
    for types in ("all", "inputs"):
        assert_equal(ir.from_instructions(ir.instructions(graph, types=types)), graph)
        assert_equal(ir.from_json(ir.to_json(graph, types=types)), graph)
    bare = ir.from_instructions(ir.instructions(graph, hints=False))
    assert_equal(bare, graph, hints=False)
    assert ir.instructions(bare, hints=False) == ir.instructions(graph, hints=False)
    assert ir.structural_hash(bare) == ir.structural_hash(graph)
    assert find_breach(json.loads(ir.to_json(graph))) == ""


def stripped(text: str) -> str:
    """A text without its hints, by the rule of the page: they begin at the first mark ``@`` outside of texts."""
    return "\n".join(re.match(r'(?:"(?:[^"\\]|\\.)*"|[^"@])*', line)[0] for line in text.splitlines())  # type: ignore[index]
