"""Before a graph is emitted: what programs say to derivatives is left out, see `srcgraph.ir.ops.marks`.

So is what derivatives took for a constant: it is read itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from srcgraph.ir.closure import rename_node, with_graphs
from srcgraph.ir.graph import Apply, Graph, Node, Value, node_graphs
from srcgraph.ir.ops.constants import stopped
from srcgraph.ir.ops.marks import replayed, saved
from srcgraph.ir.ops.remainders import held
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce


def is_mark(node: Node) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op in (saved, replayed)


def is_constant(node: Node) -> TypeGuard[Apply]:
    """Whether a node only says that its operand, which has a name if it has, is a constant."""
    if not isinstance(node, Apply) or node.op not in (stopped, held):
        return False
    return bool(node.inputs[0].name or not node.outputs[0].name)


def unmarked(graph: Graph) -> Graph:
    """Return the graph without marks, and without what only they needed."""
    return dce(_unmarked(graph)) if any(is_mark(n) or is_constant(n) for n in all_nodes(graph)) else graph


def _unmarked(graph: Graph) -> Graph:
    same: dict[Value, Value] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        if is_constant(node):
            x = node.inputs[0]
            same[node.outputs[0]] = same.get(x, x)
        elif not is_mark(node):
            inner = with_graphs(node, [_unmarked(g) for g in node_graphs(node)])
            kept.append(rename_node(inner, same) if same else inner)
    return replace(graph, nodes=tuple(kept), results=tuple(same.get(r, r) for r in graph.results))
