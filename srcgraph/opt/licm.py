"""Loop-invariant code motion: what a loop's body computes the same each time leaves the loop.

Ops are total, so computing one before a loop that may not run is safe; checks and effects stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from srcgraph.ir.closure import close, open_
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While


def licm(graph: Graph) -> Graph:
    """Move invariant nodes out of loops, innermost first."""
    moved = _Motion()
    out = moved.graph(open_(graph))
    return close(out) if moved.count else graph


class _Motion:
    def __init__(self) -> None:
        self.count = 0

    def graph(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        for node in graph.nodes:
            nodes += self.node(node)
        return replace(graph, nodes=tuple(nodes))

    def node(self, node: Node) -> list[Node]:
        match node:
            case If():
                return [replace(node, then=self.graph(node.then), orelse=self.graph(node.orelse))]
            case While():
                return self.loop(node, [self.graph(node.cond), self.graph(node.body)])
            case For():
                return self.loop(node, [self.graph(node.body)])
        return [node]

    def loop(self, node: For | While, graphs: Sequence[Graph]) -> list[Node]:
        invariant = _invariant(graphs)
        moved = _worth_moving(invariant)
        self.count += sum(not _is_literal(n) for n in moved)
        bodies = [replace(g, nodes=tuple(n for n in g.nodes if n not in moved)) for g in graphs]
        changed = {"body": bodies[-1]} | ({"cond": bodies[0]} if isinstance(node, While) else {})
        return [*(n for n in invariant if n in moved), replace(node, **changed)]


def _invariant(graphs: Sequence[Graph]) -> list[Apply]:
    """Nodes of a loop that read nothing the loop changes, in order."""
    inside = {v for g in graphs for v in g.params} | {v for g in graphs for n in g.nodes for v in n.outputs}
    found = []
    for graph in graphs:
        for node in graph.nodes:
            if isinstance(node, Apply) and _pure(node) and inside.isdisjoint(node.inputs):
                found.append(node)
                inside.difference_update(node.outputs)
    return found


def _worth_moving(invariant: Sequence[Apply]) -> set[Apply]:
    """The costly ones, and the cheap ones they are computed from."""
    moved: set[Apply] = set()
    wanted: set[Value] = set()
    for node in reversed(invariant):
        if _is_costly(node) or not wanted.isdisjoint(node.outputs):
            moved.add(node)
            wanted.update(node.inputs)
    return moved | {n for n in invariant if _is_literal(n)}


def _pure(node: Apply) -> bool:
    return not node.op.ordered and not node.op.fresh and node.op.kind not in ("list", "update")


def _is_literal(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.name == "const"


def _is_costly(node: Apply) -> bool:
    """Whether a node is worth a variable before the loop.

    The machine-code compiler moves cheap scalar work itself, and text reads better with it in place.
    """
    if node.op.kind in ("reduction", "library"):
        return True
    return node.op.kind == "elementwise" and not node.op.linear and node.op.name not in CHEAP


CHEAP = frozenset(
    {
        *("add", "sub", "mul", "div", "neg", "cast", "ipow", "square", "floordiv", "mod", "absolute", "sign"),
        *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "isnan", "isinf", "isfinite"),
        *("logical_and", "logical_or", "logical_not", "where", "maximum", "minimum"),
    }
)
