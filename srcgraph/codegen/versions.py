"""Lists that change while something still needs what they were: copied first.

A list is a value; the code generator lets a changed list be the same object. That is right where nothing reads the old
one afterwards, which is so for a user's lists, as these are objects, but for what rewriting made of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from srcgraph.codegen.uses import Place, Use, Uses, analyse, carry_params, changes_first
from srcgraph.ir.closure import with_graphs, with_inputs
from srcgraph.ir.graph import Apply, Call, For, Graph, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ListType
from srcgraph.ir.walk import all_nodes


def with_copies(graph: Graph) -> Graph:
    """An open graph in which a list changes where nothing needs what it was."""
    if not any(isinstance(n, Apply) and n.op.kind == "list" for n in all_nodes(graph)):
        return graph
    uses = analyse(graph)
    found: dict[Node, set[int]] = {}
    for value in (v for v in uses.consumed if isinstance(v.type, ListType)):
        for use in uses.reads[value]:
            places = _taken(uses, use.node, value)
            if use.node is not None and places and _is_needed_later(uses, use, value):
                found.setdefault(use.node, set()).update(places)
    return _copied(graph, found) if found else graph


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


def _is_needed_later(uses: Uses, use: Use, value: Value) -> bool:
    """Whether a list is read after it is changed: later on, in a later trip, or by the same node once more."""
    if _is_repeated(use.place, uses.defined_at[value].graph):
        return True
    others = [u for u in uses.reads[value] if u is not use]
    return any(u.node is use.node or _is_after(u.place, use.place) for u in others)


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


def _copied(graph: Graph, found: dict[Node, set[int]]) -> Graph:
    nodes: list[Node] = []
    for node in graph.nodes:
        inner = node_graphs(node)
        new = with_graphs(node, [_copied(g, found) for g in inner]) if inner else node
        if node in found:
            given: Sequence[Value] = node_inputs(new)
            copies = {k: Value(given[k].name, given[k].type) for k in found[node]}
            nodes += [Apply(OPS["list_copy"], (given[k],), (v,), {}, node.origin) for k, v in copies.items()]
            new = with_inputs(new, [copies.get(k, v) for k, v in enumerate(given)])
        nodes.append(new)
    return replace(graph, nodes=tuple(nodes))
