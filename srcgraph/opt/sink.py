"""Work that only one side of a branch needs is done there.

``y = np.exp(x)`` before ``if c: return y.sum()`` is computed where ``c`` holds. So conditionals are lazy, whoever runs
the graph, and nested ones cost what is on the way. What is cheap stays: text reads better with it in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from srcgraph.ir.closure import close, free_values, open_, with_graphs
from srcgraph.ir.graph import Apply, Call, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.types import ArrayType, type_symbols
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.licm import is_costly, is_pure


def sink(graph: Graph) -> Graph:
    """Move nodes into the branches that alone read them, as deep as they can go."""
    if not any(isinstance(n, If) for n in all_nodes(graph)):
        return graph
    work = _Sink()
    out = work.graph(open_(graph))
    return close(out) if work.count else graph


class _Sink:
    def __init__(self) -> None:
        self.count = 0

    def graph(self, graph: Graph) -> Graph:
        nodes: list[Node | None] = list(graph.nodes)
        readers: dict[Value, set[int]] = {v: {len(nodes)} for v in graph.results}
        sides: dict[int, list[set[Value]]] = {}
        for k, node in enumerate(nodes):
            assert node is not None
            sides[k] = [set(free_values(g)) for g in node_graphs(node)]
            for v in {*node_inputs(node), *(v for s in sides[k] for v in s)}:
                readers.setdefault(v, set()).add(k)
        moved: dict[int, list[list[Node]]] = {}
        for k in reversed(range(len(nodes))):
            node = nodes[k]
            at = self.target(node, k, nodes, readers, sides)
            if at is None or not isinstance(node, Apply):
                continue
            into, side = at
            moved.setdefault(into, [[], []])[side].insert(0, node)
            for v in node.inputs:
                readers[v] = (readers[v] - {k}) | {into}
                sides[into][side].add(v)
            nodes[k] = None
            self.count += 1
        return replace(graph, nodes=tuple(self.node(n, moved.get(k)) for k, n in enumerate(nodes) if n is not None))

    def target(
        self,
        node: Node | None,
        k: int,
        nodes: Sequence[Node | None],
        readers: dict[Value, set[int]],
        sides: dict[int, list[set[Value]]],
    ) -> tuple[int, int] | None:
        """The branch, by the place of the `If`, and the side, that alone read what a node gives."""
        if not isinstance(node, Apply) or not _worth_sinking(node):
            return None
        places = set[int]().union(*(readers.get(v, set()) for v in node.outputs))
        if len(places) != 1:
            return None
        (at,) = places
        branch = nodes[at] if at < len(nodes) else None
        if not isinstance(branch, If) or branch.cond in node.outputs:
            return None
        using = [s for s in (0, 1) if not sides[at][s].isdisjoint(node.outputs)]
        if len(using) != 1 or any(_takes_over(n, node.inputs, sides[j]) for j, n in _between(nodes, k, at)):
            return None
        return at, using[0]

    def node(self, node: Node, moved: list[list[Node]] | None) -> Node:
        graphs = list(node_graphs(node))
        if moved is not None:
            graphs = [replace(g, nodes=(*m, *g.nodes)) for g, m in zip(graphs, moved, strict=True)]
        return with_graphs(node, [self.graph(g) for g in graphs]) if graphs else node


def _between(nodes: Sequence[Node | None], first: int, last: int) -> list[tuple[int, Node]]:
    return [(j, n) for j, n in enumerate(nodes[first + 1 : last], first + 1) if n is not None]


def _worth_sinking(node: Apply) -> bool:
    if not is_pure(node):
        return False
    known = set[str]().union(*(type_symbols(v.type) for v in node.inputs))
    if any(not type_symbols(v.type) <= known for v in node.outputs):
        return False  # what is known of other values is told by a number born here
    return is_costly(node) or (node.op.kind == "elementwise" and isinstance(node.outputs[0].type, ArrayType))


def _takes_over(node: Node, values: Sequence[Value], sides: Sequence[set[Value]]) -> bool:
    """Whether a node may change an array, among some values, in its memory."""
    arrays = {v for v in values if isinstance(v.type, ArrayType)}
    if isinstance(node, Apply):
        return node.op.kind == "update" and node.inputs[0] in arrays
    if isinstance(node, For | While):
        return not arrays.isdisjoint(node.carry) or any(not arrays.isdisjoint(s) for s in sides)
    if isinstance(node, Call):
        return not arrays.isdisjoint(node.inputs)
    return any(not arrays.isdisjoint(s) for s in sides)
