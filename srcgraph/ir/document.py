"""Graphs as documents: dicts, lists, texts and numbers, as JSON has them. `srcgraph.ir.restore` is the inverse.

A document says all that there is to say of a graph, for both forms that other programs read: the numbered instructions
of `srcgraph.ir.listing` and the JSON of `srcgraph.ir.interchange`. `srcgraph.ir.schema` has its grammar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict
from typing import Any, Literal, TypeAlias

from srcgraph.errors import InternalError
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Origin, Program, Value, While, node_graphs
from srcgraph.ir.inferred import is_open, output_types, param_types, result_types
from srcgraph.ir.plain import literal_document, place_text, type_document
from srcgraph.ir.types import Type, type_symbols
from srcgraph.ir.walk import calls

Document: TypeAlias = dict[str, Any]
Types: TypeAlias = Literal["all", "inputs"]

VERSION = 1
USUAL_NAME = "graph"
"""The name of a graph of which nothing says another."""
REGIONS = {"if": ("then", "else"), "while": ("cond", "body"), "for": ("body",)}
"""The graphs of each kind of block, in order."""
REGION_NAMES = {"then": "then", "else": "orelse", "cond": "cond", "body": "body"}
"""What the graph of a region is called if nothing says another name."""


def document(graph: Graph | Program, *, types: Types = "all", hints: bool = True) -> Document:
    """Return the document of a closed graph.

    Parameters
    ----------
    types : {"all", "inputs"}
        ``inputs`` leaves out each type that follows from what stands before it.
    hints : bool
        Whether names and places are said.

    Raises
    ------
    InternalError
        The graph is not closed, or an attribute is of a kind that has no text.
    """
    writer = Writer(types, hints)
    if isinstance(graph, Program):
        named = [{"name": name, **writer.named(g, name)} for name, g in graph.graphs.items()]
        return {"version": VERSION, "entry": graph.entry, "graphs": named}
    if any(c.callee == graph.name for c in calls(graph)):
        return {"version": VERSION, "name": graph.name, "graph": writer.named(graph, graph.name)}
    return {"version": VERSION, "graph": writer.graph(graph, USUAL_NAME)}


class Writer:
    """Writes nodes one after the other, and numbers the values they define.

    Attributes
    ----------
    ids : dict
        What the values of the graph that is being written are called.
    count : int
        How many values have been numbered.
    known : dict
        The types of the results of graphs written before, by name.
    """

    def __init__(self, types: Types = "all", hints: bool = True):
        if types not in ("all", "inputs"):
            raise InternalError(f"types are 'all' or 'inputs', not {types!r}")
        self.all = types == "all"
        self.hints = hints
        self.ids: dict[Value, str] = {}
        self.count = 0
        self.known: dict[str, Sequence[Type]] = {}

    def named(self, graph: Graph, name: str) -> Document:
        """A graph that calls refer to."""
        out = self.graph(graph, name)
        self.known[name] = result_types(graph)
        return out

    def graph(self, graph: Graph, usual: str, given: Sequence[Type] | None = None) -> Document:
        """A graph; ``given`` are the types of its parameters as far as they follow from what it is given."""
        outer, self.ids = self.ids, {}
        follow = given if given is not None and len(given) == len(graph.params) else [None] * len(graph.params)
        params = [self.value(p, t) for p, t in zip(graph.params, follow, strict=True)]
        seen: set[str] = set().union(*(type_symbols(p.type) for p in graph.params))
        nodes = []
        for node in graph.nodes:
            nodes.append(self.node(node, seen))
            seen.update(*(type_symbols(o.type) for o in node.outputs))
        out = {"params": params, "nodes": nodes, "results": self.read(graph.results)}
        self.ids = outer
        return {**out, **self.said({"name": graph.name} if graph.name != usual else {})}

    def node(self, node: Node, seen: Set[str] = frozenset()) -> Document:
        """A node, whose inputs have been numbered; its outputs are numbered now."""
        follow: Sequence[Type | None] = () if self.all else output_types(node, seen, self.known)
        if len(follow) != len(node.outputs):
            follow = [None] * len(node.outputs)
        outputs = [self.value(v, t) for v, t in zip(node.outputs, follow, strict=True)]
        out = {"op": "", **({} if isinstance(node, Define) else {"outputs": outputs})}
        return {**out, **self.inner(node), **self.said(origin_hints(node.origin))}

    def inner(self, node: Node) -> Document:
        """What a node is and reads."""
        match node:
            case Apply():
                attrs = {"attrs": _literals(node.attrs)} if node.attrs else {}
                return {"op": node.op.name, "inputs": self.read(node.inputs), **attrs}
            case If():
                return {"op": "if", "inputs": self.read([node.cond]), **self.block("if", node)}
            case While():
                return {"op": "while", **self.block("while", node)}
            case For():
                bounds = self.read([node.start, node.stop, node.step])
                return {"op": "for", "inputs": bounds, **self.block("for", node)}
            case Call():
                out = {"op": "call", "callee": node.callee, "inputs": self.read(node.inputs), **changes_of(node)}
                return out if node.rule is None else {**out, "rule": _literals(asdict(node.rule))}
            case Define():
                inner = self.named(node.graph, node.graph.name)
                return {"op": "define", "name": node.graph.name, "graph": inner, **changes_of(node)}

    def block(self, op: str, node: If | While | For) -> Document:
        """The carry, the captures and the graphs of a node."""
        carry = () if isinstance(node, If) else node.carry
        out: Document = {} if isinstance(node, If) else {"carry": self.read(carry)}
        out["captures"] = self.read(node.captures)
        given = param_types(op, carry, node.captures)
        for region, graph in zip(REGIONS[op], node_graphs(node), strict=True):
            out[region] = self.graph(graph, REGION_NAMES[region], given)
        flags = () if isinstance(node, If) else ("stops",) if isinstance(node, While) else ("stops", "lanes")
        return {**out, **{flag: True for flag in flags if getattr(node, flag)}}

    def read(self, values: Sequence[Value]) -> list[str]:
        """What values are called here."""
        for value in values:
            if value not in self.ids:
                raise InternalError(f"{value} is read where it is not defined: only closed graphs have instructions")
        return [self.ids[v] for v in values]

    def value(self, value: Value, follows: Type | None) -> Document:
        """A value that is defined here, with its type unless that follows."""
        self.count += 1
        self.ids[value] = f"x{self.count}"
        out: Document = {"id": self.ids[value]}
        if self.all or follows is None or is_open(follows) or follows != value.type:
            out["type"] = type_document(value.type)
        return {**out, **self.said({"name": value.name} if value.name else {})}

    def said(self, hints: Document) -> Document:
        """The hints, if there are any and they are asked for."""
        return {"hints": hints} if hints and self.hints else {}


def _literals(attrs: Mapping[str, Any]) -> Document:
    return {name: literal_document(value) for name, value in attrs.items()}


def changes_of(node: Call | Define) -> Document:
    """The pairs of what a function changes, if it does."""
    return {"changes": [list(pair) for pair in node.changes]} if node.changes else {}


def origin_hints(origin: Origin) -> Document:
    """Where a node comes from, as hints."""
    at = {} if origin.loc is None else {"at": place_text(origin.loc)}
    return {**at, **({"by": origin.by} if origin.by else {})}
