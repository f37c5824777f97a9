"""Arrays of which each trip of a loop has a part of its own lose the axis that tells the trips apart.

``a = np.empty((n, m))`` before ``for i in range(n):``, of which trips store and read ``a[i, j]`` only, and which nobody
reads afterwards, is ``a = np.empty(m)`` in the loop: tapes are such arrays once the loop that goes back is one with the
loop that it goes back over, see `srcgraph.opt.together`.

References
----------
V. Sarkar, G. R. Gao, "Optimization of array accesses by collective loop transformations", ICS 1991, 194-205 (array
contraction).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from srcgraph.ir.closure import close, open_
from srcgraph.ir.graph import Apply, For, Graph, Node, Value
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import View, split_operands
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import inner_blocks, reads
from srcgraph.opt.restated import Restated, without
from srcgraph.opt.simplify import simplify
from srcgraph.opt.unread import own_axes, versions


def contract(graph: Graph) -> Graph:
    """Make such arrays smaller, at every depth."""
    if not any(isinstance(n, Apply) and n.op.name == "empty" for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    contracted = _block(opened)
    return graph if contracted is opened else dce(simplify(close(contracted)))


def _block(graph: Graph) -> Graph:
    nodes = list(graph.nodes)
    makers = {v: n for n in nodes for v in n.outputs}
    for at, node in enumerate(nodes):
        if isinstance(node, For):
            for k in reversed(range(len(node.carry))):
                nodes[at] = _contracted(nodes[at], k, makers, nodes, graph)  # type: ignore[arg-type]
    changed = any(new is not old for new, old in zip(nodes, graph.nodes, strict=True))
    return inner_blocks(replace(graph, nodes=tuple(nodes)) if changed else graph, _block)


def _contracted(loop: For, k: int, makers: Mapping[Value, Node], nodes: list[Node], graph: Graph) -> For:
    """A loop, one of whose arrays each trip makes anew, without an axis; the same if it cannot."""
    before, out = loop.carry[k], loop.outputs[k]
    maker = makers.get(before)
    if not isinstance(maker, Apply) or maker.op.name != "empty" or before.type.ndim < 2:
        return loop
    others = (n for n in nodes if n is not nodes[nodes.index(loop)])
    if out in graph.results or any(out in reads(n) or before in reads(n) for n in others):
        return loop
    axes = own_axes(loop, k)
    chain = versions(loop.body, loop.body.params[k + 1], loop.body.results[k])
    if not axes or chain is None:
        return loop
    return _Smaller(min(axes), chain, maker).loop(loop, k)


class _Smaller(Restated):
    """The states of an array without one of its axes."""

    def __init__(self, axis: int, states: Set[Value], maker: Apply):
        self.axis, self.maker = axis, maker
        super().__init__(states)

    def type(self, old: ArrayType) -> ArrayType:
        return replace(old, shape=without(old.shape, self.axis))

    def access(self, node: Apply) -> Node:
        view, first = node.attrs["view"], 1 if node.op.name == "getitem" else 2
        own = without(split_operands(view, node.inputs[first:]), self.axis)
        inputs = (*self.values(node.inputs[:first]), *(v for operands in own for v in operands))
        attrs = {**node.attrs, "view": View(without(view.axes, self.axis), view.order)}
        return replace(node, inputs=inputs, attrs=attrs, outputs=self.values(node.outputs))

    def loop(self, loop: For, k: int) -> For:
        """A loop that makes carry ``k`` anew in each trip."""
        param, body = loop.body.params[k + 1], self.graph(loop.body)
        own = replace(self.maker, inputs=without(self.maker.inputs, self.axis), outputs=(self.now[param],))
        params, results = without(body.params, k + 1), without(body.results, k)
        inside = replace(body, params=params, nodes=(own, *body.nodes), results=results)
        return replace(loop, carry=without(loop.carry, k), outputs=without(loop.outputs, k), body=inside)
