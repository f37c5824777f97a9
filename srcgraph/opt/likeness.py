"""What equal branches and loops have in common: a number that those have which do the same with the same values."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.straight import op_key
from srcgraph.ir.types import ListType


class Likeness:
    """Numbers for closed graphs that differ in names only. A graph that has effects, draws, or calls has none."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.known: dict[Graph, int | None] = {}

    def of(self, node: If | While | For, number: Callable[[Value], Hashable]) -> Hashable | None:
        """What a node does, with ``number`` for the values that it reads; None if it cannot be told."""
        graphs = [self.graph(g) for g in node_graphs(node)]
        if None in graphs or any(isinstance(v.type, ListType) for v in (*node.outputs, *node_inputs(node))):
            return None
        flags = (node.stops, len(node.carry)) if isinstance(node, For | While) else ()
        lanes = node.lanes if isinstance(node, For) else False
        return type(node).__name__, flags, lanes, (*graphs,), (*map(number, node_inputs(node)),)

    def graph(self, graph: Graph) -> int | None:
        if graph not in self.known:
            form = self.form(graph)
            self.known[graph] = None if form is None else self.numbers.setdefault(form, len(self.numbers))
        return self.known[graph]

    def form(self, graph: Graph) -> Hashable | None:
        at = {v: k for k, v in enumerate(graph.params)}
        nodes: list[Hashable] = []
        for node in graph.nodes:
            key = self.node(node, at)
            if key is None:
                return None
            nodes.append(key)
            at |= {v: len(at) + k for k, v in enumerate(node.outputs)}
        return len(graph.params), (*nodes,), (*(at[v] for v in graph.results),)

    def node(self, node: Node, at: dict[Value, int]) -> Hashable | None:
        if isinstance(node, If | While | For):
            return self.of(node, at.__getitem__)
        if not isinstance(node, Apply) or node.op.kind in ("effect", "draw"):
            return None
        if node.op.fresh and node.op.kind != "structural":  # a list, or a generator of random numbers
            return None
        return op_key(node.op, [at[v] for v in node.inputs], node.attrs)
