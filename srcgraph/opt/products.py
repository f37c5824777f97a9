"""Products of a row of one matrix with another matrix, one in each trip of a loop, as one product of the matrices.

``x[:, i] @ x[:, i:]`` for each ``i`` is part of row ``i`` of ``x.T @ x``: one call of a library that is fast for
matrices; so are the derivatives. What is not needed of that product is at most half of it where slices begin at the
loop's number, and it is no larger than an array that the loop goes over. Numbers may be rounded differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srcgraph.ir.closure import open_
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.linalg import matmul, transpose
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType, is_float
from srcgraph.ir.view import View, element
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.columns import Column, columns

SPARE = 2
"""So many rows of a matrix may not be needed."""


def products(graph: Graph) -> Graph:
    """Take such products out of loops, at every depth."""
    if not any(isinstance(n, Apply) and n.op.name == "matmul" for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    loops = list(_loops(opened))
    found: dict[Node, _Product | Column] = {p.node: p for loop in loops for p in (*_products(loop), *columns(loop))}
    return _Products(graph.name, found).run(opened) if found else graph


def _loops(graph: Graph) -> Iterator[For]:
    for node in graph.nodes:
        if isinstance(node, For) and not node.stops and not node.lanes:
            yield node
        for inner in node_graphs(node):
            yield from _loops(inner)


@dataclass(frozen=True, slots=True)
class _Product:
    """A product in a loop: a row of a matrix by an other one, or a part of it, both made before the loop."""

    node: Apply
    index: Value
    rows: Value
    axis: int
    """On which axis of the first matrix the rows are."""
    other: Value
    added: int
    """The axis of the other matrix that is added up."""
    part: tuple[Value, ...]
    """Where the slice of the other one begins, and its length; () for all of it."""


def _products(loop: For) -> Iterator[_Product]:
    made = {v: n for n in loop.body.nodes for v in n.outputs}
    inside = {*made, *loop.body.params}
    for node in loop.body.nodes:
        if isinstance(node, Apply) and node.op.name == "matmul" and is_float(node.outputs[0].type):
            found = _product(node, loop.body.params[0], made, inside)
            if found is not None and _is_worth_it(found, loop):
                yield found


def _product(node: Apply, index: Value, made: dict[Value, Node], inside: set[Value]) -> _Product | None:
    left = node.inputs[0].type.ndim == 1
    vector, matrix = node.inputs if left else node.inputs[::-1]
    if vector.type.ndim != 1 or matrix.type.ndim != 2:
        return None
    row, part = made.get(vector), made.get(matrix)
    if not isinstance(row, Apply) or row.op.name != "getitem" or row.inputs[0] in inside or row.inputs[1:] != (index,):
        return None
    axes = row.attrs["view"].axes
    if sorted(axes) != [":", "i"] or row.attrs["view"].order != (0,):
        return None
    if matrix not in inside:
        return _Product(node, index, row.inputs[0], axes.index("i"), matrix, 0 if left else 1, ())
    if not isinstance(part, Apply) or part.op.name != "getitem" or part.inputs[0] in inside:
        return None
    view = part.attrs["view"]
    added = view.order[0 if left else 1]
    if sorted(view.order, key=str) != [0, 1] or view.axes[added] != ":" or view.axes[1 - added] not in (":", 1):
        return None
    return _Product(node, index, row.inputs[0], axes.index("i"), part.inputs[0], added, part.inputs[1:])


def _is_worth_it(found: _Product, loop: For) -> bool:
    """Whether most rows are needed, what is added up is surely as long, and there is an array as large anyway."""
    (rows, other), added = (found.rows.type.shape, found.other.type.shape), found.added
    start, stop, step = (getattr(v.type, "value", None) for v in (loop.start, loop.stop, loop.step))
    if start is None or stop is None or step is None or step.const != 1 or rows[1 - found.axis] != other[added]:
        return False
    spare = (rows[found.axis] - (stop - start)).const
    shape = (rows[found.axis], other[1 - added])
    return spare is not None and 0 <= spare <= SPARE and any(_holds(v, shape) for v in loop.carry)


def _holds(value: Value, shape: Sequence[Dim]) -> bool:
    return isinstance(value.type, ArrayType) and sorted(map(str, value.type.shape)) == sorted(map(str, shape))


class _Products(Rebuild):
    def __init__(self, name: str, found: dict[Node, _Product | Column]):
        super().__init__(name)
        self.found = found
        self.whole: dict[_Product | Column, Value] = {}

    def for_(self, node: For) -> Sequence[Value]:
        for inner in node.body.nodes:
            if inner in self.found:
                product = self.found[inner]
                with self.builder.at(origin=inner.origin):
                    if isinstance(product, Column):
                        self.whole[product] = product.product(self)
                        continue
                    rows, other = self.value(product.rows), self.value(product.other)
                    rows = rows if product.axis == 0 else transpose(rows)
                    self.whole[product] = matmul(rows, other if product.added == 0 else transpose(other))
        return super().for_(node)

    def node(self, node: Node) -> Sequence[Value]:
        if node not in self.found:
            return super().node(node)
        product = self.found[node]
        if isinstance(product, Column):
            return (OPS["getitem"](self.whole[product], self.value(product.index), view=element(1)),)
        view = View(("i", 1 if product.part else ":"), (0,))
        at = self.values((product.index, *product.part))
        return (OPS["getitem"](self.whole[product], *at, view=view),)
