"""The elements that a loop stores over, read before: if they are saved, the reverse sweep can put them back.

An array of which each trip changes an element is then there in each trip of the reverse sweep, for one number a trip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from srcgraph.ir.closure import with_graphs
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, While, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.view import element
from srcgraph.opt.ad.residuals import is_reverse


def with_overwritten(graph: Graph) -> Graph:
    """Return an open graph of both sweeps in which loops of the forward one read what they store over."""
    return _Reading().graph(graph)


class _Reading:
    def __init__(self) -> None:
        self.made: dict[Value, Node] = {}
        self.carried: set[Value] = set()
        """The arrays that loops hand on, as they are and changed, but for those that begin without a content."""

    def graph(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        for node in graph.nodes:
            self.made.update(dict.fromkeys(node.outputs, node))
            if isinstance(node, For | While):
                self.enter(node)
            if isinstance(node, Apply) and node.op.name == "setitem" and node.inputs[0] in self.carried:
                nodes += _reads(node)
                self.carried.update(node.outputs)
            nodes.append(with_graphs(node, [g if is_reverse(g) else self.graph(g) for g in node_graphs(node)]))
        return replace(graph, nodes=tuple(nodes))

    def enter(self, loop: For | While) -> None:
        for init, param in zip(loop.carry, loop.body.params[isinstance(loop, For) :], strict=False):
            first = self.made.get(init)
            if isinstance(param.type, ArrayType) and not (isinstance(first, Apply) and first.op.name == "empty"):
                self.carried.add(param)


def _reads(node: Apply) -> Iterator[Apply]:
    base, _, *at = node.inputs
    if node.attrs["view"] == element(base.type.ndim):
        old = Value("", ScalarType(base.type.dtype))
        yield Apply(OPS["getitem"], (base, *at), (old,), {"view": node.attrs["view"]}, node.origin)
