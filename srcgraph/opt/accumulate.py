"""What is added to a derivative's array, or a part of it, is added there, not in an array of its own first.

The derivative of ``row = l[j]``, of which loops read ``row[k]``, adds up in an array of zeros, as long as the row, and
adds that to ``d_l[j]``. Added to ``d_l[j, k]`` at once, neither zeros nor sums of whole rows are needed. The same holds
for ``old = u.copy()``: what reads of ``old`` add up is added to ``d_u``. Only sums of derivatives, whose rounding is
nobody's, are added up in another order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import TypeGuard

from srcgraph.ir.closure import close, open_
from srcgraph.ir.graph import Apply, Graph, Node, Value
from srcgraph.ir.types import ArrayType, Type, is_float
from srcgraph.ir.view import View
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import inner_blocks, reads
from srcgraph.opt.restated import Restated
from srcgraph.opt.scalars import LIMIT
from srcgraph.opt.simplify import simplify
from srcgraph.opt.together import added_states


def accumulate(graph: Graph) -> Graph:
    """Add to arrays where it belongs, at every depth."""
    if not any(_adds(n) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    literals = (n for n in all_nodes(opened) if isinstance(n, Apply) and n.op.name == "const")
    nothing = {n.outputs[0] for n in literals if n.attrs["value"] == 0}
    changed = _block(opened, nothing)
    return graph if changed is opened else dce(simplify(close(changed)))


def _block(graph: Graph, nothing: Set[Value]) -> Graph:
    """A block changed, where some values are known to be 0."""
    tried = set[Node]()
    while (node := next((n for n in graph.nodes if _adds(n) and n not in tried), None)) is not None:
        tried.add(node)
        graph = _added_there(graph, node, nothing)
    return inner_blocks(graph, lambda inner: _block(inner, nothing))


def _adds(node: Node) -> TypeGuard[Apply]:
    """Whether a node may add to an array, in arithmetic of derivatives, what has been added up elsewhere."""
    return isinstance(node, Apply) and bool(node.origin.by) and (_adds_part(node) or _adds_whole(node))


def _adds_whole(node: Apply) -> bool:
    """Whether a node adds two arrays of the same sizes."""
    kind = node.outputs[0].type
    return node.op.name == "add" and all(_is_large(v.type) and v.type == kind for v in node.inputs)


def _adds_part(node: Apply) -> bool:
    """Whether a node adds something of many elements, or of unknown many, to a part of an array."""
    if node.op.name != "add_at":
        return False
    part, view = node.inputs[1].type, node.attrs["view"]
    if not _is_large(part) or view.axes != ("i",) * view.axes.count("i") + (":",) * part.ndim:
        return False
    return "i" in view.axes and view.order == tuple(range(part.ndim))


def _is_large(kind: Type) -> bool:
    """Whether something is an array of floats that are many, or of unknown many."""
    if not isinstance(kind, ArrayType) or not is_float(kind) or not kind.ndim:
        return False
    sizes = [d.const for d in kind.shape]
    return None in sizes or math.prod(n for n in sizes if n is not None) > LIMIT


def _added_there(graph: Graph, node: Apply, nothing: Set[Value]) -> Graph:
    """A block in which something is added up where it belongs; the same if it cannot be."""
    x, y, *at = node.inputs
    ways = [(x, y), (y, x)] if node.op.name == "add" else [(x, y)]
    for whole, part in ways:
        if _readers(graph, whole) == _readers(graph, part) == [node] and len({x, y, *at}) == len(node.inputs):
            zeros = _zeros(graph, part, (whole, *at), nothing)
            if zeros is not None:
                there = _There(added_states(graph, zeros, part) or set(), zeros, whole, part, node)
                nodes = (there.node(n) for n in graph.nodes if n is not node and zeros not in n.outputs)
                return replace(graph, nodes=tuple(nodes))
    return graph


def _zeros(graph: Graph, part: Value, needed: Sequence[Value], nothing: Set[Value]) -> Value | None:
    """The zeros that something is added to in order to make ``part``, if what is ``needed`` is there before."""
    place = {v: k for k, n in enumerate(graph.nodes) for v in n.outputs}
    for zeros in (n.outputs[0] for n in graph.nodes if _is_zeros(n, part, nothing)):
        users = [k for k, n in enumerate(graph.nodes) if zeros in reads(n)]
        if users and all(place.get(v, -1) < users[0] for v in needed) and added_states(graph, zeros, part) is not None:
            return zeros
    return None


def _readers(graph: Graph, value: Value) -> list[Node]:
    """The nodes of a block that read a value; none if it is a result of the block's, too."""
    return [] if value in graph.results else [n for n in graph.nodes if value in reads(n)]


def _is_zeros(node: Node, part: Value, nothing: Set[Value]) -> bool:
    """Whether a node makes an array of zeros like another one."""
    if not isinstance(node, Apply) or node.op.name != "full" or node.outputs[0].type != part.type:
        return False
    return node.inputs[0] in nothing


class _There(Restated):
    """The states of a part of an array as those of the array."""

    def __init__(self, states: Set[Value], zeros: Value, whole: Value, part: Value, node: Apply):
        self.whole = whole
        self.at = node.inputs[2:]
        self.view: View | None = node.attrs.get("view")
        super().__init__(states)
        self.now |= {zeros: whole, part: node.outputs[0]}

    def type(self, old: ArrayType) -> ArrayType:
        return self.whole.type

    def access(self, node: Apply) -> Node:
        state, x, *at = node.inputs
        view = inner = node.attrs["view"]
        if self.view is not None:
            view = View((*self.view.axes[: len(self.at)], *inner.axes), inner.order)
        inputs = (self.now[state], x, *self.at, *at)
        return replace(node, inputs=inputs, attrs={"view": view}, outputs=self.values(node.outputs))
