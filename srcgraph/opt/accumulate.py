"""What is added to a part of a derivative's array is added there, not in an array of its own that is added to it then.

The derivative of ``row = l[j]``, of which loops read ``row[k]``, adds up in an array of zeros, as long as the row, and
adds that to ``d_l[j]``. Added to ``d_l[j, k]`` at once, neither zeros nor sums of whole rows are needed. Only sums of
derivatives, whose rounding is nobody's, are added up in another order.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import replace

from srcgraph.ir.closure import close, open_
from srcgraph.ir.graph import Apply, Graph, Node, Value
from srcgraph.ir.types import ArrayType, is_float
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
    if not any(_adds_part(n) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    literals = (n for n in all_nodes(opened) if isinstance(n, Apply) and n.op.name == "const")
    nothing = {n.outputs[0] for n in literals if n.attrs["value"] == 0}
    changed = _block(opened, nothing)
    return graph if changed is opened else dce(simplify(close(changed)))


def _block(graph: Graph, nothing: Set[Value]) -> Graph:
    """A block changed, where some values are known to be 0."""
    tried = set[Node]()
    while (node := next((n for n in graph.nodes if _adds_part(n) and n not in tried), None)) is not None:
        tried.add(node)
        graph = _added_there(graph, node, nothing)
    return inner_blocks(graph, lambda inner: _block(inner, nothing))


def _adds_part(node: Node) -> bool:
    """Whether a node adds something of many elements, or of unknown many, to a part of an array."""
    if not isinstance(node, Apply) or node.op.name != "add_at" or not node.origin.by:
        return False
    part, view = node.inputs[1].type, node.attrs["view"]
    if not is_float(part) or not part.ndim or view.axes != ("i",) * view.axes.count("i") + (":",) * part.ndim:
        return False
    sizes = [d.const for d in part.shape]
    small = None not in sizes and math.prod(sizes) <= LIMIT
    return "i" in view.axes and view.order == tuple(range(part.ndim)) and not small


def _added_there(graph: Graph, node: Node, nothing: Set[Value]) -> Graph:
    """A block in which a part is added up where it belongs; the same if it cannot be."""
    assert isinstance(node, Apply)
    whole, part, *at = node.inputs
    place = {v: k for k, n in enumerate(graph.nodes) for v in n.outputs}
    if _readers(graph, whole) != [node] or _readers(graph, part) != [node] or len({whole, part, *at}) < len(at) + 2:
        return graph
    for zeros in (n.outputs[0] for n in graph.nodes if _is_zeros(n, part, nothing)):
        states = added_states(graph, zeros, part)
        users = [k for k, n in enumerate(graph.nodes) if zeros in reads(n)]
        if states is None or not users or any(place.get(v, -1) >= users[0] for v in (whole, *at)):
            continue
        there = _There(states, zeros, node)
        nodes = (there.node(n) for n in graph.nodes if n is not node and zeros not in n.outputs)
        return replace(graph, nodes=tuple(nodes))
    return graph


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

    def __init__(self, states: Set[Value], zeros: Value, node: Apply):
        self.whole, self.part, *self.at = node.inputs
        self.view: View = node.attrs["view"]
        super().__init__(states)
        self.now |= {zeros: self.whole, self.part: node.outputs[0]}

    def type(self, old: ArrayType) -> ArrayType:
        return self.whole.type

    def access(self, node: Apply) -> Node:
        state, x, *at = node.inputs
        inner = node.attrs["view"]
        view = View((*self.view.axes[: len(self.at)], *inner.axes), inner.order)
        inputs = (self.now[state], x, *self.at, *at)
        return replace(node, inputs=inputs, attrs={"view": view}, outputs=self.values(node.outputs))
