"""Graphs as text: a subset of Python that `srcgraph.ir.parser` reads back exactly.

Literals stand where they are used, inner graphs are nested functions above the node that owns them,
and a line ``z: f64[n]`` gives the type of a control-flow node's output.
"""

from __future__ import annotations

import math
from dataclasses import astuple
from typing import Any, TypeAlias

import numpy as np

from srcgraph.ir.graph import (
    NOWHERE,
    Apply,
    Call,
    For,
    Graph,
    If,
    Node,
    Origin,
    Program,
    Value,
    While,
    node_graphs,
)
from srcgraph.ir.operators import set_operator
from srcgraph.ir.text import is_name
from srcgraph.ir.types import NAME_OF
from srcgraph.ir.view import View


def format_graph(graph: Graph, *, locs: bool = False, hints: bool = True) -> str:
    """Return the text of a closed graph.

    ``locs`` appends each node's place as a comment; without ``hints`` values are just numbered.
    """
    return "\n".join(text for text, _ in _Printer(locs, hints).function(graph, 0))


set_operator("str", format_graph)


def format_lines(graph: Graph) -> list[Line]:
    """Return the lines of the text of a closed graph, each with the place it comes from."""
    return _Printer(False, True).function(graph, 0)


def format_program(program: Program, *, locs: bool = False) -> str:
    """Return the text of every graph of a program, the entry last."""
    names = [n for n in program.graphs if n != program.entry] + [program.entry]
    return "\n\n".join(format_graph(program.graphs[n], locs=locs) for n in names)


def format_literal(value: Any) -> str:
    """A number as text: Python's own bare, NumPy's wrapped in the name of its dtype."""
    if isinstance(value, np.generic):
        return f"{NAME_OF[value.dtype]}({_number(value.item())})"
    return _number(value)


def _number(value: Any) -> str:
    if isinstance(value, complex):
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return repr(value)


def format_attr(value: Any) -> str:
    if isinstance(value, np.dtype):
        return NAME_OF[value]
    if isinstance(value, View):
        return repr(str(value))
    if isinstance(value, bool | int | float | str | tuple) or value is None:
        return repr(value)
    return str(value)


Line: TypeAlias = tuple[str, Origin]
"""A line of text and the place it comes from."""


class _Printer:
    def __init__(self, locs: bool, hints: bool):
        self.locs = locs
        self.hints = hints
        self.names: dict[Value, str] = {}
        self.taken: dict[str, int] = {}

    def name(self, value: Value, hint: str = "") -> str:
        if value not in self.names:
            self.names[value] = self.unique((value.name or hint or "v") if self.hints else "v")
        return self.names[value]

    def unique(self, hint: str) -> str:
        hint = hint if is_name(hint) else "v"
        count = self.taken.get(hint, 0)
        self.taken[hint] = count + 1
        if count == 0:
            return hint
        return self.unique(f"{hint}_{count}")

    def function(self, graph: Graph, depth: int, owner: Origin = NOWHERE) -> list[Line]:
        pad = "    " * depth
        params = ", ".join(f"{self.name(p)}: {p.type}" for p in graph.params)
        lines: list[Line] = []
        for node in graph.nodes:
            if node_graphs(node):
                lines += self.block(node, depth)
            else:
                lines += [(f"{pad}    {line}", node.origin) for line in self.node(node)]
        results = ", ".join(self.operand(r) for r in graph.results)
        types = ", ".join(str(r.type) for r in graph.results)
        one = len(graph.results) == 1
        name = graph.name if depth == 0 else self.unique(graph.name)
        head = f"{pad}def {name}({params}) -> {types if one else f'({types})'}:"
        return [(head, owner), *lines, (f"{pad}    return {results if one else f'({results})'}", owner)]

    def block(self, node: Node, depth: int) -> list[Line]:
        """A node with graphs: their functions, the outputs' types, the node."""
        inner = [self.function(g, depth + 1, node.origin) for g in node_graphs(node)]
        names = [lines[0][0].split("def ", 1)[1].split("(", 1)[0] for lines in inner]
        pad = "    " * (depth + 1)
        head = self.head(node, names)
        declared = [f"{pad}{self.name(o)}: {o.type}" for o in node.outputs]
        targets = "".join(f"{self.name(o)}, " for o in node.outputs).rstrip(" ")
        line = f"{pad}({targets}) = {head}" if node.outputs else f"{pad}() = {head}"
        own = [(text, node.origin) for text in (*declared, line + self.comment(node))]
        return [line for lines in inner for line in lines] + own

    def head(self, node: Node, names: list[str]) -> str:
        captures = f"captures={self.operands(node.captures)}" if isinstance(node, If | While | For) else ""
        match node:
            case If():
                return f"if_({self.operand(node.cond)}, {names[0]}, {names[1]}, {captures})"
            case While():
                stops = ", stops=True" if node.stops else ""
                return f"while_({names[0]}, {names[1]}, carry={self.operands(node.carry)}, {captures}{stops})"
            case For():
                stops = ", stops=True" if node.stops else ""
                stops += ", lanes=True" if node.lanes else ""
                bounds = ", ".join(self.operand(v) for v in (node.start, node.stop, node.step))
                return f"for_({bounds}, {names[0]}, carry={self.operands(node.carry)}, {captures}{stops})"
        raise AssertionError(node)

    def node(self, node: Node) -> list[str]:
        if isinstance(node, Call):
            changes = [f"changes={node.changes}"] if node.changes else []
            rule = [f"rule={astuple(node.rule)}"] if node.rule is not None else []
            args = ", ".join([repr(node.callee), *map(self.operand, node.inputs), *changes, *rule])
            return self.declared(node, f"call({args})")
        assert isinstance(node, Apply)
        if node.op.name == "const":
            self.names[node.outputs[0]] = format_literal(node.attrs["value"])
            return []
        attrs = [f"{k}={format_attr(v)}" for k, v in node.attrs.items()]
        text = f"{node.op.name}({', '.join([*map(self.operand, node.inputs), *attrs])})"
        if len(node.outputs) == 1:
            (out,) = node.outputs
            return [f"{self.name(out, node.op.name)}: {out.type} = {text}{self.comment(node)}"]
        return self.declared(node, text)

    def declared(self, node: Apply | Call, text: str) -> list[str]:
        hint = node.op.name if isinstance(node, Apply) else node.callee
        lines = [f"{self.name(o, hint)}: {o.type}" for o in node.outputs]
        targets = "".join(f"{self.name(o)}, " for o in node.outputs).rstrip(" ")
        return [*lines, f"({targets}) = {text}{self.comment(node)}"]

    def operand(self, value: Value) -> str:
        return self.name(value)

    def operands(self, values: tuple[Value, ...]) -> str:
        return "(" + "".join(f"{self.operand(v)}, " for v in values).rstrip(" ") + ")"

    def comment(self, node: Node) -> str:
        if not self.locs or node.origin.loc is None:
            return ""
        by = f" ({node.origin.by})" if node.origin.by else ""
        return f"  # {node.origin.loc}{by}"
