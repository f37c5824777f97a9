"""Lists that change while something still needs what they were: copied first.

A list is a value; the code generator lets a changed list be the same object. That is right where nothing reads the old
one afterwards, which is so for a user's lists, as these are objects, but for what rewriting made of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from srcgraph.codegen.uses import Place, Use, Uses, analyse, carry_params, changes_first
from srcgraph.ir.closure import with_graphs, with_inputs
from srcgraph.ir.graph import Apply, Call, For, Graph, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ListType
from srcgraph.ir.walk import all_nodes


def with_copies(graph: Graph) -> Graph:
    """An open graph in which a list changes where nothing needs what it was."""
    if any(isinstance(n, Apply) and n.op.kind == "list" for n in all_nodes(graph)):
        while (copied := _one_copied(graph)) is not None:
            graph = copied
    return graph


def _one_copied(graph: Graph) -> Graph | None:
    """The graph with one more copy; None if it needs none."""
    uses = analyse(graph)
    for value in [v for v in uses.reads if v in uses.consumed and isinstance(v.type, ListType)]:
        home = uses.defined_at[value].graph
        for use in uses.reads[value]:
            taken = _taken(uses, use.node, value)
            if use.node is None or not taken:
                continue
            copy = _Copy(value, Value(value.name, value.type))
            if _is_repeated(use.place, home):
                copy.before = use.node
                copy.inputs[use.node] = taken
            else:
                _read_after(copy, uses, use, taken[0])
                at = next(p for p in _outward(use.place) if p.graph is home)
                copy.before = home.nodes[at.position]
            if copy.inputs or copy.results:
                return copy.into(graph)
    return None


def _read_after(copy: _Copy, uses: Uses, use: Use, taken: int) -> None:
    """Let what is read once a list has been changed be read of a copy."""
    for other in uses.reads[copy.old]:
        if other.node is None:
            if _is_after(other.place, use.place):
                copy.results.add(other.place.graph)
        elif other.node is use.node or _is_after(other.place, use.place):
            places = [k for k, v in enumerate(node_inputs(other.node)) if v is copy.old]
            left = [k for k in places if other.node is not use.node or k != taken]
            if left:
                copy.inputs[other.node] = left


def _taken(uses: Uses, node: Node | None, value: Value) -> list[int]:
    """Which of a node's inputs are the list, to be changed."""
    match node:
        case Apply():
            return [0] if changes_first(node) and node.inputs[0] is value else []
        case Call():
            return [i for i, _ in node.changes if node.inputs[i] is value]
        case For() | While():
            first = 3 if isinstance(node, For) else 0
            pairs = zip(node.carry, carry_params(node), strict=True)
            return [first + k for k, (c, p) in enumerate(pairs) if c is value and p in uses.consumed]
    return []


def _is_repeated(place: Place, home: Graph) -> bool:
    """Whether a loop stands between a place and the graph in which something is defined."""
    while place.graph is not home and place.parent is not None:
        place, inner = place.parent, place.graph
        node = place.graph.nodes[place.position]
        if isinstance(node, For | While) and inner in node_graphs(node):
            return True
    return False


def _is_after(later: Place, place: Place) -> bool:
    around = {p.graph: p.position for p in _outward(place)}
    return next(p.position > around[p.graph] for p in _outward(later) if p.graph in around)


def _outward(place: Place | None) -> Iterator[Place]:
    while place is not None:
        yield place
        place = place.parent


@dataclass(slots=True)
class _Copy:
    """A copy of a list: before which node it is made, and by what it is read, at which places."""

    old: Value
    new: Value
    before: Node | None = None
    inputs: dict[Node, list[int]] = field(default_factory=dict)
    results: set[Graph] = field(default_factory=set)

    def into(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        for node in graph.nodes:
            if node is self.before:
                nodes.append(Apply(OPS["list_copy"], (self.old,), (self.new,), {}, node.origin))
            inner = node_graphs(node)
            new = with_graphs(node, [self.into(g) for g in inner]) if inner else node
            if node in self.inputs:
                given: Sequence[Value] = node_inputs(new)
                new = with_inputs(new, [self.new if k in self.inputs[node] else v for k, v in enumerate(given)])
            nodes.append(new)
        results = graph.results
        if graph in self.results:
            results = tuple(self.new if v is self.old else v for v in results)
        return replace(graph, nodes=tuple(nodes), results=results)
