"""Arrays that a graph carries through stores and loops, as arrays of another shape."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from srcgraph.ir.graph import Apply, For, Graph, Node, Value
from srcgraph.ir.types import ArrayType
from srcgraph.opt.fuse import reads


class Restated:
    """The states of an array, in an open graph, as those of another one.

    Parameters
    ----------
    states : set of Value
        In stores, and in `for` loops that carry it; nothing else but reads of elements has them.
    """

    def __init__(self, states: Set[Value]):
        self.states = states
        self.now = {v: Value(v.name, self.type(v.type)) for v in states}

    def type(self, old: ArrayType) -> ArrayType:
        """The type of the other array."""
        raise NotImplementedError

    def access(self, node: Apply) -> Node:
        """The node for one that reads elements, or stores or adds some."""
        raise NotImplementedError

    def graph(self, graph: Graph) -> Graph:
        nodes = tuple(map(self.node, graph.nodes))
        return replace(graph, params=self.values(graph.params), nodes=nodes, results=self.values(graph.results))

    def values(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(self.now.get(v, v) for v in values)

    def node(self, node: Node) -> Node:
        if self.states.isdisjoint((*reads(node), *node.outputs)):
            return node
        if isinstance(node, For):
            carry, outputs = self.values(node.carry), self.values(node.outputs)
            return replace(node, carry=carry, body=self.graph(node.body), outputs=outputs)
        assert isinstance(node, Apply)
        return self.access(node)


def without(items: Any, k: int) -> tuple[Any, ...]:
    """Items but one."""
    return (*items[:k], *items[k + 1 :])
