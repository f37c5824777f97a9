"""Before a graph is emitted: what programs say to derivatives is left out, see `srcgraph.ir.ops.marks`."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from srcgraph.ir.closure import with_graphs
from srcgraph.ir.graph import Apply, Graph, Node, node_graphs
from srcgraph.ir.ops.marks import replayed, saved
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce


def is_mark(node: Node) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op in (saved, replayed)


def unmarked(graph: Graph) -> Graph:
    """Return the graph without marks, and without what only they needed."""
    return dce(_unmarked(graph)) if any(map(is_mark, all_nodes(graph))) else graph


def _unmarked(graph: Graph) -> Graph:
    kept = (n for n in graph.nodes if not is_mark(n))
    return replace(graph, nodes=tuple(with_graphs(n, [_unmarked(g) for g in node_graphs(n)]) for n in kept))
