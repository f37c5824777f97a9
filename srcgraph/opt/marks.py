"""Before a graph is emitted: what programs say to derivatives is left out, see `srcgraph.ir.ops.marks`.

So is what derivatives took for a constant: it is read itself. And an extreme is not looked for where its place has
been found: the loop of `numpy.argmax` has it, see `srcgraph.ir.ops.extremes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from srcgraph.ir.closure import rename_node, with_graphs
from srcgraph.ir.graph import Apply, Graph, Node, Value, node_graphs, node_inputs
from srcgraph.ir.ops.constants import stopped
from srcgraph.ir.ops.extremes import located
from srcgraph.ir.ops.marks import replayed, saved
from srcgraph.ir.ops.reduce import max_, min_
from srcgraph.ir.ops.remainders import held
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.dce import dce


def is_mark(node: Node) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op in (saved, replayed)


def is_constant(node: Node) -> TypeGuard[Apply]:
    """Whether a node only says that its operand, which has a name if it has, is a constant."""
    if not isinstance(node, Apply) or node.op not in (stopped, held):
        return False
    return bool(node.inputs[0].name or not node.outputs[0].name)


def is_place(node: Node) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op is located


def unmarked(graph: Graph) -> Graph:
    """Return the graph without marks, and without what only they needed."""
    found = any(is_mark(n) or is_constant(n) or is_place(n) for n in all_nodes(graph))
    return dce(_unmarked(graph)) if found else graph


def _unmarked(graph: Graph) -> Graph:
    same: dict[Value, Value] = {}
    kept: list[Node] = []
    best: dict[tuple[object, ...], Value] = {}
    for node in _places_first(graph.nodes):
        if is_place(node):
            index, value, x = node.inputs
            best[_sought(node)] = same.get(value, value)
            same[node.outputs[0]] = same.get(index, index)
        elif is_constant(node):
            x = node.inputs[0]
            same[node.outputs[0]] = same.get(x, x)
        elif (known := best.get(_sought(node))) is not None and known.type == node.outputs[0].type:
            named = _named(kept, known, node.outputs[0].name)
            best[_sought(node)] = same[node.outputs[0]] = same[known] = named
        elif not is_mark(node):
            inner = with_graphs(node, [_unmarked(g) for g in node_graphs(node)])
            kept.append(rename_node(inner, same) if same else inner)
    return replace(graph, nodes=tuple(kept), results=tuple(same.get(r, r) for r in graph.results))


def _named(nodes: list[Node], value: Value, name: str) -> Value:
    """A value that one of these nodes gives, by the name that it has where it is read, if none of them reads it."""
    at = next((k for k, n in enumerate(nodes) if value in n.outputs), None)
    if value.name or not name or at is None or any(value in node_inputs(n) for n in nodes[at:]):
        return value
    named = Value(name, value.type)
    outputs = tuple(named if v is value else v for v in nodes[at].outputs)
    nodes[at] = replace(nodes[at], outputs=outputs)
    return named


def _sought(node: Node) -> tuple[object, ...]:
    """The extreme that a node finds, or whose place it is: of what, and along which axes. () for other nodes."""
    if is_place(node):
        return node.attrs["of"], node.inputs[2], node.attrs["axes"]
    if isinstance(node, Apply) and node.op in (max_, min_):
        return node.op.name, node.inputs[0], node.attrs["axes"]
    return ()


def _places_first(nodes: Sequence[Node]) -> Sequence[Node]:
    """The nodes of a block, extremes after their places, with what is computed of them."""
    places = {_sought(n): k for k, n in enumerate(nodes) if is_place(n)}
    for at in range(max(places.values(), default=0) - 1, -1, -1):
        place = places.get(_sought(nodes[at]), 0)
        if place > at and not is_place(nodes[at]) and (later := _needing(nodes, at, place)):
            moved = [nodes[k] for k in later]
            rest = [n for k, n in enumerate(nodes[at : place + 1], at) if k not in later]
            return _places_first([*nodes[:at], *rest, *moved, *nodes[place + 1 :]])
    return nodes


def _needing(nodes: Sequence[Node], at: int, place: int) -> list[int]:
    """A node and those before a place that need it, if they may come after it."""
    found, needed = [at], {*nodes[at].outputs}
    for k in range(at + 1, place + 1):
        if not needed.isdisjoint(node_inputs(nodes[k])):
            if k == place or has_order(nodes[k]):
                return []
            found.append(k)
            needed.update(nodes[k].outputs)
    return found
