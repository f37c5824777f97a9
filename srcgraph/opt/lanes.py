"""Matrix products in a loop over lanes, as one product of all lanes.

``x[k] @ w`` for each lane ``k``, where ``w`` is the same for all, is row ``k`` of ``x @ w``: one call of a library that
is fast for matrices, in place of one for each row. Where a lane computes the row first, a loop of its own makes all
rows (the loop over lanes is split: Kennedy and Allen, Optimizing Compilers for Modern Architectures, Morgan Kaufmann
2002, section 2.2, loop distribution). Numbers may be rounded differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from srcgraph.ir.closure import open_
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops.linalg import matmul, transpose
from srcgraph.ir.rebuild import Rebuild, substitute_type
from srcgraph.ir.types import ArrayType, ScalarType, type_symbols

SIZES = frozenset({"equal_size", "same_size"})
"""The checks of lengths: they are put before the loop together with what needs them."""


def batch(graph: Graph) -> Graph:
    """Take products out of loops over lanes, innermost loops first."""
    while True:
        opened = open_(graph)
        if not any(_Lanes(loop).products() for loop in _loops(opened)):
            return graph
        graph = _Batch(graph.name).run(opened)


def _loops(graph: Graph) -> list[For]:
    """All loops over lanes."""
    found = [n for n in graph.nodes if isinstance(n, For) and n.lanes and not n.stops]
    return found + [loop for n in graph.nodes for g in node_graphs(n) for loop in _loops(g)]


class _Lanes:
    """What the body of a loop over lanes computes, of which the inner graphs read outer values directly."""

    def __init__(self, loop: For):
        self.index, *self.carry = loop.body.params
        self.count = loop.stop
        self.nodes = loop.body.nodes
        self.made_by = {v: n for n in self.nodes for v in n.outputs}
        read = [v for n in self.nodes for v in node_inputs(n) if v not in self.made_by and v is not self.index]
        self.sizes = frozenset().union(*(type_symbols(v.type) for v in read))
        """The symbols of sizes that are known before the loop."""
        self.same = self._same()

    def _same(self) -> set[Node]:
        """The nodes that compute the same in all lanes, and can do so before the loop."""
        varies = {self.index, *self.carry}
        same: set[Node] = set()
        for node in self.nodes:
            if self.is_size(node) or (self.moves(node) and varies.isdisjoint(node.inputs)):
                same.add(node)
            else:
                varies.update(node.outputs)
        return same

    def is_size(self, node: Node) -> bool:
        """Whether a node gives a length that is known before the loop."""
        return isinstance(node, Apply) and node.op.name == "dim" and type_symbols(node.outputs[0].type) <= self.sizes

    def moves(self, node: Node) -> TypeGuard[Apply]:
        """Whether a node can be put somewhere else: it takes nothing for granted that a check before it ensures."""
        if not isinstance(node, Apply):
            return False
        if node.op.name == "getitem" and all(v is self.index for v in node.inputs[1:]):
            return True
        pure = not (node.op.ordered or node.op.fresh or node.op.kind in ("list", "update", "check"))
        return node.op.name in SIZES or (pure and (node.op.proved is None or node.op.name == "with_shape"))

    def is_same(self, value: Value) -> bool:
        node = self.made_by.get(value)
        return value not in (self.index, *self.carry) if node is None else node in self.same

    def products(self) -> list[Apply]:
        """The products to take out, in order."""
        return [n for n in self.nodes if isinstance(n, Apply) and self.row_of(n) is not None]

    def row_of(self, node: Apply) -> Value | None:
        """The operand of a product that is a row of a lane's own, beside one that all lanes share."""
        if node.op.name != "matmul" or self.is_same(node.inputs[0]) == self.is_same(node.inputs[1]):
            return None
        row, other = reversed(node.inputs) if self.is_same(node.inputs[0]) else node.inputs
        if row.type.ndim != 1:
            return None
        if self.rows_of(row):
            return row
        nodes = self.needed(row) if type_symbols(row.type) <= self.sizes else None
        if nodes is None or not (other.type.ndim == 2 or any(n.op.name == "matmul" for n in nodes)):
            return None  # rows times a vector are not worth an array of all rows, unless there is one of its kind
        return row

    def rows_of(self, row: Value) -> tuple[Value, int] | None:
        """The array, made before the loop, and its axis, of which a value is the part at the lane's index."""
        node = self.made_by.get(row)
        if isinstance(node, Apply) and node.op.name == "with_shape" and type_symbols(row.type) <= self.sizes:
            return self.rows_of(node.inputs[0])
        if not isinstance(node, Apply) or node.op.name != "getitem":
            return None
        base, *at = node.inputs
        axes, order = node.attrs["view"].axes, node.attrs["view"].order
        plain = sorted(axes) == [":", "i"] and order == (0,) and at == [self.index]
        return (base, axes.index("i")) if plain and base not in (*self.made_by, *self.carry) else None

    def needed(self, value: Value) -> list[Apply] | None:
        """The nodes that compute a value in a lane; None if one must stay, or costs too much to be there twice."""
        wanted, found = {value}, []
        for node in reversed(self.nodes):
            if wanted.isdisjoint(node.outputs) or node in self.same:
                continue
            if not self.moves(node) or (node.op.kind in ("library", "reduction") and self.row_of(node) is None):
                return None
            found.append(node)
            wanted.update(node.inputs)
        return found[::-1] if wanted.isdisjoint(self.carry) else None

    def shared(self, values: Sequence[Value], end: Node) -> list[Apply]:
        """What computes these values for all lanes, and the checks of lengths, before node ``end``."""
        wanted, found = set(values), []
        for node in reversed(self.nodes[: self.nodes.index(end)]):
            if isinstance(node, Apply) and node in self.same:
                if node.op.name in SIZES or not wanted.isdisjoint(node.outputs):
                    found.append(node)
                    wanted.update(() if self.is_size(node) else node.inputs)
        return found[::-1]


class _Batch(Rebuild):
    """Builds products of all lanes before the loop, and reads a lane's row of them in it."""

    def __init__(self, name: str):
        super().__init__(name)
        self.all: dict[Value, tuple[Value, Value]] = {}
        """By a value of a lane: those of all lanes, and the index of the loop."""
        self.before: set[Node] = set()
        """What was put before the loop."""

    def for_(self, node: For) -> Sequence[Value]:
        if node.lanes and not node.stops:
            lanes = _Lanes(node)
            for product in lanes.products():
                with self.builder.at(origin=product.origin):
                    self.take_out(lanes, product)
        return super().for_(node)

    def node(self, node: Node) -> Sequence[Value]:
        if node in self.before:
            return self.values(node.outputs)
        if isinstance(node, Apply) and node.outputs[0] in self.all:
            rows, index = self.all[node.outputs[0]]
            return (item(rows, 0, self.value(index)),)
        return super().node(node)

    def take_out(self, lanes: _Lanes, product: Apply) -> None:
        """Build the product of all lanes."""
        row = lanes.row_of(product)
        assert row is not None
        left = product.inputs[0] is row
        other = product.inputs[1 if left else 0]
        self.put_before(lanes, lanes.shared([other], product))
        rows, shared = self.rows(lanes, row), self.value(other)
        made = matmul(rows, shared if left or shared.type.ndim == 1 else transpose(shared))
        self.all[product.outputs[0]] = made, lanes.index

    def put_before(self, lanes: _Lanes, nodes: Sequence[Apply]) -> None:
        for node in nodes:
            if lanes.is_size(node):
                size = substitute_type(node.outputs[0].type, self.symbols)
                assert isinstance(size, ScalarType) and size.value is not None
                self.bind(node.outputs[0], self.builder.dim_value(size.value))
            elif node not in self.before:
                self.nodes([node])
            self.before.add(node)

    def rows(self, lanes: _Lanes, row: Value) -> Value:
        """The rows of all lanes."""
        known = lanes.rows_of(row)
        if known is not None:
            base, axis = self.value(known[0]), known[1]
            rows = transpose(base) if axis else base
            return self.builder.retype(rows, [rows.type.shape[0], *self.shape_of(row)])
        if row in self.all:
            return self.all[row][0]
        nodes = lanes.needed(row)
        assert nodes is not None
        self.put_before(lanes, lanes.shared([v for n in nodes for v in n.inputs], nodes[-1]))
        (size,) = self.shape_of(row)
        count = self.value(lanes.count)

        def step(k: Value, out: Value) -> Sequence[Value]:
            self.bind(lanes.index, k)
            self.nodes(nodes)
            return (with_item(out, 0, k, self.builder.retype(self.value(row), [size])),)

        (rows,) = counted(count, [OPS["empty"](count, self.builder.dim_value(size), dtype=row.type.dtype)], step)
        self.all[row] = rows, lanes.index
        return rows

    def shape_of(self, row: Value) -> tuple[Dim, ...]:
        kind = substitute_type(row.type, self.symbols)
        assert isinstance(kind, ArrayType)
        return kind.shape
