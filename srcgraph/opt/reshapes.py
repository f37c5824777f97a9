"""Loops that change an array through a reshape of it carry the reshaped array.

``y = x.reshape(-1)`` and ``y[i] = ...`` in a loop change ``x``: as values, an iteration reshapes
``x``, changes that, and reshapes back. Both leave the loop, which then changes one array in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from srcgraph.ir.closure import close, open_, renamed
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_inputs
from srcgraph.ir.walk import all_graphs, all_nodes
from srcgraph.opt.simplify import simplify


def carry_reshaped(graph: Graph) -> Graph:
    """Innermost loops first, so that a reshape leaves a whole nest."""
    if not any(map(_is_view, all_nodes(graph))):
        return graph
    return simplify(close(_graph(open_(graph))))


def _is_view(node: Node | None) -> bool:
    return isinstance(node, Apply) and node.op.name == "reshape_view"


def _graph(graph: Graph) -> Graph:
    return replace(graph, nodes=tuple(n for node in graph.nodes for n in _node(node)))


def _node(node: Node) -> list[Node]:
    match node:
        case If():
            return [replace(node, then=_graph(node.then), orelse=_graph(node.orelse))]
        case For() | While():
            return _loop(replace(node, body=_graph(node.body)))
    return [node]


def _loop(loop: For | While) -> list[Node]:
    before: list[Node] = []
    after: list[Node] = []
    for k in range(len(loop.carry)):
        found = _reshaped(loop, k)
        if found is not None:
            loop = found.moved(loop, before, after)
    return [*before, loop, *after]


@dataclass(frozen=True, slots=True)
class _Carry:
    """A carry whose every use is one reshape, and whose next value is a reshape of such an array."""

    position: int
    param: int
    reads: tuple[Apply, ...]
    last: Apply

    def moved(self, loop: For | While, before: list[Node], after: list[Node]) -> For | While:
        """The loop that carries the reshaped array; what goes before and after it is appended."""
        k, read, last = self.position, self.reads[0], self.last
        shape = read.outputs[0]
        first = Value(shape.name, shape.type)
        before.append(replace(read, inputs=(loop.carry[k], *read.inputs[1:]), outputs=(first,)))
        output = Value(shape.name, shape.type)
        after.append(replace(last, inputs=(output, *last.inputs[1:]), outputs=(loop.outputs[k],)))
        param = Value(shape.name, shape.type)
        nodes = tuple(n for n in loop.body.nodes if n not in self.reads and n is not last)
        body = replace(
            loop.body,
            params=_with(loop.body.params, self.param, param),
            nodes=nodes,
            results=_with(loop.body.results, k, last.inputs[0]),
        )
        body = renamed(body, {r.outputs[0]: param for r in self.reads})
        new = replace(loop, carry=_with(loop.carry, k, first), outputs=_with(loop.outputs, k, output), body=body)
        if isinstance(new, While):
            tested = Value(shape.name, shape.type)
            return replace(new, cond=replace(new.cond, params=_with(new.cond.params, k, tested)))
        return new


def _with(values: tuple[Value, ...], k: int, value: Value) -> tuple[Value, ...]:
    return (*values[:k], value, *values[k + 1 :])


def _reshaped(loop: For | While, k: int) -> _Carry | None:
    at = k + 1 if isinstance(loop, For) else k
    body = loop.body
    last = next((n for n in body.nodes if body.results[k] in n.outputs), None)
    if not isinstance(last, Apply) or body.results.count(body.results[k]) > 1:
        return None
    reads = tuple(n for n in body.nodes if isinstance(n, Apply) and body.params[at] in n.inputs)
    if not reads or not all(map(_is_view, (*reads, last))):
        return None
    uses = list(_mentions(body, body.params[at]))
    if isinstance(loop, While):
        uses += _mentions(loop.cond, loop.cond.params[k])
    inside = {*body.params, *(v for n in body.nodes for v in n.outputs)}
    if len(uses) != len(reads) or len(list(_mentions(body, last.outputs[0]))) != 1:
        return None
    if not all(inside.isdisjoint(n.inputs[1:]) for n in (*reads, last)):
        return None
    if any(n.outputs[0].type != last.inputs[0].type for n in reads):
        return None
    return _Carry(k, at, reads, last)


def _mentions(graph: Graph, value: Value) -> Iterator[Value]:
    """Each reading of a value in a graph and those inside it."""
    for inner in all_graphs(graph):
        yield from (v for v in inner.results if v is value)
        for node in inner.nodes:
            yield from (v for v in node_inputs(node) if v is value)


__all__ = ["carry_reshaped"]
