"""Products of matrices put into a part of an array, or added to it, by the library that multiplies: ``C += A @ B``.

BLAS computes ``beta * C + alpha * A @ B`` in the memory of ``C``: no array is needed for the product, nor for
``alpha * A``. So ``C[i:j] = A @ x`` is computed straight into these elements. This comes when all derivatives are
taken. Numbers may be rounded differently.

References
----------
Dongarra et al., A set of level 3 basic linear algebra subprograms, ACM Transactions on Mathematical Software 16, 1990.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, Graph, Value, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.index import selected_type
from srcgraph.ir.ops.linalg import is_small_product
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ScalarType, is_float, without_value
from srcgraph.ir.view import whole
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce

_SHAPED = ("with_shape", "assumed")
"""What says more of an array, and is that array."""


def added(graph: Graph) -> Graph:
    """Add products where they belong, at every depth."""
    if not any(isinstance(n, Apply) and n.op.name == "matmul" for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    found = _Found(opened)
    chosen = {n: sum_ for n in all_nodes(opened) if isinstance(n, Apply) and (sum_ := found.sum_of(n)) is not None}
    return dce(_Added(graph.name, chosen).run(opened)) if chosen else graph


@dataclass(frozen=True, slots=True)
class _Product:
    """``sign * scales * (x @ y)``."""

    x: Value | _Product
    y: Value | _Product
    scales: tuple[Value, ...] = ()
    negative: bool = False


@dataclass(frozen=True, slots=True)
class _Sum:
    """``beta * part + product``: the scales are the part's factors, None for 0."""

    product: _Product
    scales: tuple[Value, ...] | None = ()
    negative: bool = False


class _Found:
    """What a graph computes, and how often each value is read."""

    def __init__(self, graph: Graph):
        nodes = list(all_nodes(graph))
        self.made = {v: n for n in nodes if isinstance(n, Apply) for v in n.outputs}
        self.reads: dict[Value, int] = {}
        graphs = [graph, *(g for n in nodes for g in node_graphs(n))]
        for value in (*(v for n in nodes for v in node_inputs(n)), *(v for g in graphs for v in g.results)):
            self.reads[value] = self.reads.get(value, 0) + 1

    def sum_of(self, node: Apply) -> _Sum | None:
        """What a store puts into a part of an array, if that is a product, or one added to the part."""
        if node.op.name not in ("add_at", "setitem") or not _is_plain(node) or not _fits(node):
            return None
        found = self.total(node)
        return None if found is None or self.is_read(node.inputs[0], found.product) else found

    def total(self, store: Apply) -> _Sum | None:
        """``beta * part + alpha * x @ y``, in whatever order."""
        value = store.inputs[1]
        product = self.product(value)
        if product is not None:
            return _Sum(product, None if store.op.name == "setitem" else ())
        node = self.once(value)
        while node is not None and node.op.name in _SHAPED:
            node = self.once(node.inputs[0])
        if node is None or node.op.name not in ("add", "sub") or store.op.name == "add_at":
            return None
        less = node.op.name == "sub"
        for k, (first, second) in enumerate((node.inputs, node.inputs[::-1])):
            part, scales, negative = self.scaled(first)
            product = self.product(second)
            if product is not None and self.is_part(part, store):
                turned = _Product(product.x, product.y, product.scales, product.negative != (less and k == 0))
                return _Sum(turned, scales, negative != (less and k == 1))
        return None

    def is_part(self, value: Value, store: Apply) -> bool:
        """Whether a value is what a part of an array was before a store into it."""
        if value is store.inputs[0]:
            return is_whole(store)
        node = self.made.get(value)
        same = node is not None and node.op.name == "getitem" and node.attrs["view"] == store.attrs["view"]
        return same and node is not None and node.inputs == (store.inputs[0], *store.inputs[2:])

    def product(self, value: Value) -> _Product | None:
        """A multiple of a product that nothing else reads, its factors' multiples in one."""
        made, scales, negative = self.scaled(value)
        node = self.once(made)
        if node is None or node.op.name != "matmul" or not made.type.ndim or is_small_product(node):
            return None
        factors: list[Value | _Product] = []
        for factor in node.inputs:
            inner = self.product(factor)
            if inner is not None:
                factors.append(_Product(inner.x, inner.y))
                scales, negative = (*scales, *inner.scales), negative != inner.negative
                continue
            array, more, turned = self.scaled(factor)
            if array.type == factor.type and self.is_in_memory(array):
                factor, scales, negative = array, (*scales, *more), negative != turned
            factors.append(factor)
        return _Product(factors[0], factors[1], scales, negative)

    def is_read(self, base: Value, product: _Product) -> bool:
        """Whether a product is of the array itself, or of parts of it."""
        for factor in (product.x, product.y):
            if isinstance(factor, _Product):
                if self.is_read(base, factor):
                    return True
                continue
            while (node := self.made.get(factor)) is not None and node.op.kind == "structural" and node.inputs:
                factor = node.inputs[0]
            if factor is base:
                return True
        return False

    def scaled(self, value: Value) -> tuple[Value, tuple[Value, ...], bool]:
        """An array of which a value is a multiple, by which numbers, and whether of its negative."""
        scales, negative = list[Value](), False
        while (node := self.once(value)) is not None:
            if node.op.name in _SHAPED:
                value = node.inputs[0]
                continue
            numbers = [v for v in node.inputs if isinstance(v.type, ScalarType)]
            arrays = [v for v in node.inputs if v not in numbers]
            if node.op.name == "neg":
                negative = not negative
            elif node.op.name != "mul" or len(numbers) != 1 or arrays[0].type != value.type:
                break
            scales += numbers
            value = arrays[0]
        return value, tuple(scales), negative

    def is_in_memory(self, value: Value) -> bool:
        """Whether an array, or a part of one, is where a library can read it."""
        node = self.made.get(value)
        return node is None or node.op.kind not in ("elementwise", "structural") or node.op.name == "getitem"

    def once(self, value: Value) -> Apply | None:
        """What makes a value that is read once."""
        return self.made.get(value) if self.reads.get(value) == 1 else None


def is_whole(node: Apply) -> bool:
    """Whether a store is into all of an array, in order."""
    return node.attrs["view"] == whole(node.inputs[0].type.ndim)


def _is_plain(node: Apply) -> bool:
    """Whether a store is into rows, columns or a block of an array, as a library takes it."""
    view = node.attrs["view"]
    kept = sum(a != "i" for a in view.axes)
    return set(view.axes) <= {":", "i", 1} and view.order == tuple(range(kept)) and 0 < kept <= 2


def _fits(node: Apply) -> bool:
    """Whether what is stored has the type of the part."""
    base, value, *operands = node.inputs
    part = selected_type(base.type, node.attrs["view"], tuple(v.type for v in operands))
    return is_float(base.type) and without_value(value.type) == without_value(part)


class _Added(Rebuild):
    """Builds a graph with such sums."""

    def __init__(self, name: str, chosen: dict[Apply, _Sum]):
        super().__init__(name)
        self.chosen = chosen

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        found = self.chosen.get(node)
        if found is None:
            return super().apply(node, inputs)
        alpha = self.factor(found.product.scales, found.product.negative)
        beta = self.builder.const(0.0) if found.scales is None else self.factor(found.scales, found.negative)
        x, y = self.operand(found.product.x), self.operand(found.product.y)
        given = (inputs[0], x, y, alpha, beta, *inputs[2:])
        return (self.builder.apply(OPS["add_product"], given, {"view": node.attrs["view"]}, name=node.outputs[0].name),)

    def operand(self, factor: Value | _Product) -> Value:
        if isinstance(factor, Value):
            return self.value(factor)
        return OPS["matmul"](self.operand(factor.x), self.operand(factor.y))

    def factor(self, scales: Sequence[Value], negative: bool) -> Value:
        total = self.builder.const(-1.0 if negative else 1.0)
        for k, scale in enumerate(scales):
            number = self.value(scale)
            total = number if k == 0 and not negative else OPS["mul"](total, number)
        return total
