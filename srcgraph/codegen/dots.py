"""Products of two vectors as sums over loops: what they are of need not be in memory, and nothing is called.

A loop that LLVM vectorises adds up as quickly as BLAS does, and BLAS takes as long as a hundred steps of it to begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from srcgraph.ir.closure import with_graphs
from srcgraph.ir.graph import Apply, Graph, Node, Value, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.types import COMPLEX, FLOAT, ArrayType


def dots_as_sums(graph: Graph) -> Graph:
    """An open graph in which products of vectors are sums of products of their elements."""
    nodes: list[Node] = []
    for node in graph.nodes:
        inner = node_graphs(node)
        if inner:
            node = with_graphs(node, [dots_as_sums(g) for g in inner])
        nodes += _written(node) if _is_dot(node) else [node]
    return replace(graph, nodes=tuple(nodes))


def _is_dot(node: Node) -> bool:
    """Whether it multiplies vectors of float64 or complex128; of float32 BLAS adds up twice as many at once."""
    if not isinstance(node, Apply) or node.op.name != "matmul" or node.outputs[0].type.dtype not in (FLOAT, COMPLEX):
        return False
    return all(isinstance(v.type, ArrayType) and v.type.ndim == 1 for v in node.inputs)


def _written(node: Node) -> Iterator[Node]:
    assert isinstance(node, Apply)
    product = Value("", node.inputs[0].type)
    yield Apply(OPS["mul"], node.inputs, (product,), {}, node.origin)
    yield Apply(OPS["sum"], (product,), node.outputs, {"axes": (0,)}, node.origin)
