"""Products of two vectors, and of small matrices, as sums over loops: what they are of need not be in memory.

A loop that LLVM vectorises adds up as quickly as BLAS does, and BLAS takes as long as a hundred steps of it to begin.
A matrix that is computed element by element, for a product with a vector only, as in ``alpha * A @ x``, is not made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace

from srcgraph.ir.closure import with_graphs
from srcgraph.ir.dims import as_dim
from srcgraph.ir.graph import Apply, Graph, Node, Value, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.linalg import is_small_product
from srcgraph.ir.types import COMPLEX, FLOAT, ArrayType
from srcgraph.ir.view import View
from srcgraph.ir.walk import all_graphs


def dots_as_sums(graph: Graph) -> Graph:
    """An open graph in which products of vectors are sums of products of their elements."""
    return _Dots(graph).graph(graph)


class _Dots:
    def __init__(self, graph: Graph):
        self.reads = Counter(v for g in all_graphs(graph) for v in (*_read(g), *g.results))

    def graph(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        made = {v: n for n in graph.nodes for v in n.outputs}
        for node in graph.nodes:
            inner = node_graphs(node)
            if inner:
                node = with_graphs(node, [self.graph(g) for g in inner])
            nodes += _written(node) if _is_dot(node) or self.is_of_elements(node, made) else [node]
        return replace(graph, nodes=tuple(nodes))

    def is_of_elements(self, node: Node, made: Mapping[Value, Node]) -> bool:
        """Whether it multiplies a vector by a matrix that is read only here, and costs little an element."""
        if not isinstance(node, Apply) or node.op.name != "matmul" or node.outputs[0].type.dtype != FLOAT:
            return False
        x, y = node.inputs
        by = made.get(x)
        if x.type.ndim != 2 or y.type.ndim != 1 or x.name or self.reads[x] != 1 or not isinstance(by, Apply):
            return False
        return by.op.name in _CHEAP and all(_is_simple(v, made) for v in by.inputs)


_CHEAP = ("add", "mul", "neg", "sub")


def _is_simple(value: Value, made: Mapping[Value, Node]) -> bool:
    """Whether it is a number, or an array in memory."""
    node = made.get(value)
    return not value.type.ndim or not isinstance(node, Apply) or node.op.kind not in ("elementwise", "structural")


def _read(graph: Graph) -> Iterator[Value]:
    return (v for n in graph.nodes for v in node_inputs(n))


def _is_dot(node: Node) -> bool:
    """Whether it multiplies vectors, or is small; of float32, BLAS adds up twice as many at once."""
    if not isinstance(node, Apply) or node.op.name != "matmul" or not all(v.type.ndim for v in node.inputs):
        return False
    if node.outputs[0].type.dtype not in (FLOAT, COMPLEX):
        return False
    return all(v.type.ndim == 1 for v in node.inputs) or is_small_product(node)


def _written(node: Node) -> Iterator[Node]:
    """``sum_k x[i, k] * y[k, j]``, by views over ``[i, j, k]``."""
    assert isinstance(node, Apply)
    x, y = node.inputs
    if y.type.ndim == 2:
        y = yield from _viewed(y, (1, 0), node)
        if x.type.ndim == 2:
            x = yield from _viewed(x, (0, None, 1), node)
    (out,) = node.outputs
    shape = (*(out.type.shape if out.type.ndim else ()), y.type.shape[-1])
    product = Value("", ArrayType(out.type.dtype, shape))
    yield Apply(OPS["mul"], (x, y), (product,), {}, node.origin)
    yield Apply(OPS["sum"], (product,), node.outputs, {"axes": (len(shape) - 1,), "of": "products"}, node.origin)


def _viewed(value: Value, order: tuple[int | None, ...], node: Apply) -> Generator[Node, None, Value]:
    """A matrix with its axes in another order."""
    shape = tuple(as_dim(1) if k is None else value.type.shape[k] for k in order)
    out = Value("", ArrayType(value.type.dtype, shape))
    yield Apply(OPS["getitem"], (value,), (out,), {"view": View((":", ":"), order)}, node.origin)
    return out
