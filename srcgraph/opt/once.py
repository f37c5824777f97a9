"""A matrix that several products with vectors read is read from memory once.

``A.T @ f(A @ w)``, as in the gradient of every linear model, reads a matrix twice, which takes as long as reading it
from memory does. Some rows at a time, as many as fit into a core's cache, are used for both: each product is a call of
BLAS for these rows, and what lies between, row by row, is done for them too. This comes when all derivatives are taken.
Numbers may be rounded differently.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, chapters 6 and 9 (loop
fusion, blocking); Howell et al., Cache efficient bidiagonalization using BLAS 2.5 operators, ACM Transactions on
Mathematical Software 34, 2008.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, Graph, Node, Value
from srcgraph.ir.op import OPS, building
from srcgraph.ir.ops._loops import ranged
from srcgraph.ir.ops.linalg import SMALL, matmul
from srcgraph.ir.rebuild import Rebuild, substitute_type
from srcgraph.ir.types import ArrayType, is_float
from srcgraph.ir.view import View, transposed, whole
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import reads

ROWS = View((1,), (0,))
ROWS_OF_MATRIX = View((1, ":"), (0, 1))
TURNED = transposed(2, (1, 0))
SAME = ("with_shape", "assumed", "cast")
"""Ops that pass on what they are given, or each element of it."""


def once(graph: Graph) -> Graph:
    """Put such products together, at every depth."""
    if sum(isinstance(n, Apply) and n.op.name == "matmul" for n in all_nodes(graph)) < 2:
        return graph
    work = _Once(graph.name)
    made = work.whole(open_(graph))
    return dce(made) if work.changed else graph


@dataclass(frozen=True, slots=True)
class _Product:
    """A matrix times a vector: a number for each row, or the sum of all rows, each times a number."""

    node: Apply
    matrix: Value
    vector: Value
    sums_rows: bool

    @property
    def out(self) -> Value:
        return self.node.outputs[0]


def _products(nodes: Sequence[Node]) -> dict[Value, list[_Product]]:
    """The products of a block with vectors, by their matrices."""
    made = {v: n for n in nodes if isinstance(n, Apply) for v in n.outputs}
    found: dict[Value, list[_Product]] = defaultdict(list)
    for node in nodes:
        if not isinstance(node, Apply) or node.op.name != "matmul" or not is_float(node.outputs[0].type):
            continue
        x, y = node.inputs
        if x.type.ndim + y.type.ndim != 3:
            continue
        matrix, vector = (x, y) if x.type.ndim == 2 else (y, x)
        base, sums_rows = _plain(matrix, made), matrix is y
        turned = made.get(base)
        if turned is not None and turned.op.name == "getitem" and turned.attrs.get("view") == TURNED:
            base, sums_rows = _plain(turned.inputs[0], made), not sums_rows
        found[base].append(_Product(node, base, vector, sums_rows))
    return {m: products for m, products in found.items() if len(products) > 1 and _is_large(m)}


def _plain(value: Value, made: Mapping[Value, Apply]) -> Value:
    """A value of which another is known to be the same."""
    while (node := made.get(value)) is not None and node.op.name in ("with_shape", "assumed"):
        value = node.inputs[0]
    return value


def _is_large(matrix: Value) -> bool:
    """Whether a matrix is not known to have few rows, or short ones: loops multiply these."""
    return all(d.const is None or d.const > SMALL for d in matrix.type.shape)


@dataclass(slots=True)
class _Group:
    """Products with one matrix that can be made together.

    Attributes
    ----------
    between : list of Apply
        What is computed row by row of the first ones, for the others, in order.
    kept : list of Value
        Of the numbers for each row, those that something else reads.
    after : list of Node
        What needs any of it, of the nodes up to the last product.
    """

    products: list[_Product]
    between: list[Apply]
    kept: list[Value] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)

    @property
    def inside(self) -> set[Node]:
        return {*(p.node for p in self.products), *self.between}


class _Block:
    """The nodes of a block, and what it hands on."""

    def __init__(self, nodes: Sequence[Node], results: Sequence[Value]):
        self.nodes, self.results = nodes, results
        self.made = {v: n for n in nodes for v in n.outputs}
        self.place = {n: k for k, n in enumerate(nodes)}

    def group(self) -> _Group | None:
        """The first products that can be made together."""
        return next((g for p in _products(self.nodes).values() if (g := self.joined(p)) is not None), None)

    def joined(self, products: Sequence[_Product]) -> _Group | None:
        """A group of as many of some products as can be."""
        chosen: list[_Product] = []
        for product in products:
            if self.between([*chosen, product]) is not None:
                chosen.append(product)
        between = self.between(chosen)
        if len(chosen) < 2 or between is None:
            return None
        group = _Group(chosen, between)
        inside = group.inside
        read = {v for n in self.nodes if n not in inside for v in reads(n)} | set(self.results)
        numbers = [*(p.out for p in chosen if not p.sums_rows), *(n.outputs[0] for n in between)]
        group.kept = [v for v in numbers if v in read]
        return group if self.can_move(group) else None

    def between(self, products: Sequence[_Product]) -> list[Apply] | None:
        """What lies between products, if that is so row by row; None if they cannot be made together."""
        results = {p.out: p for p in products}
        waiting = self.dependent(results)
        found: dict[Apply, None] = {}
        for product in products:
            if not product.sums_rows:
                if product.vector in waiting:
                    return None
            elif not self.by_rows(product.vector, product.vector.type, results, waiting, found):
                return None
        return sorted(found, key=self.place.__getitem__)

    def by_rows(
        self,
        value: Value,
        like: ArrayType,
        results: Mapping[Value, _Product],
        waiting: set[Value],
        found: dict[Apply, None],
    ) -> bool:
        """Whether an element of a value is computed of that row's elements alone; ``found`` takes the steps."""
        if value not in waiting:
            return not value.type.ndim or value.type.ndim == 1
        if value in results:
            return not results[value].sums_rows
        node = self.made[value]
        if not isinstance(node, Apply) or (node.op.kind != "elementwise" and node.op.name not in SAME):
            return False
        if node in found:
            return True
        operands = node.inputs[:1] if node.op.name in SAME else node.inputs
        if any(v.type.ndim and not self.fits(v, node) for v in operands):
            return False
        found[node] = None
        return all(self.by_rows(v, like, results, waiting, found) for v in operands)

    def fits(self, operand: Value, node: Apply) -> bool:
        """Whether an operand has an element for each of the result."""
        return node.op.name in SAME or operand.type.shape == node.outputs[0].type.shape

    def dependent(self, values: Mapping[Value, _Product]) -> set[Value]:
        """What depends on some values, these included."""
        found = set(values)
        for node in self.nodes:
            if not found.isdisjoint(reads(node)):
                found.update(node.outputs)
        return found

    def can_move(self, group: _Group) -> bool:
        """Whether all can stand where the last product is, and what needs it, behind."""
        inside = group.inside
        places = [self.place[n] for n in inside]
        span = self.nodes[min(places) : max(places) + 1]
        waiting = {v for n in inside for v in n.outputs}
        for node in span:
            if node not in inside and not waiting.isdisjoint(reads(node)):
                group.after.append(node)
                waiting.update(node.outputs)
        moved = {v for n in (*inside, *group.after) for v in reads(n)}
        return not any(
            has_order(n) if n in group.after else not moved.isdisjoint(_changed(n)) for n in span if n not in inside
        )


def _changed(node: Node) -> Iterator[Value]:
    """The arrays whose memory a node may take over."""
    if isinstance(node, Apply):
        yield from node.inputs[:1] if node.op.kind in ("update", "list") or node.op.changes else ()
    else:
        yield from reads(node)


class _Once(Rebuild):
    """Builds a graph with products put together."""

    def __init__(self, name: str):
        super().__init__(name)
        self.changed = False

    def whole(self, graph: Graph) -> Graph:
        with building(self.builder):
            self.params(graph.params)
            self.body(graph)
            return self.builder.finish(self.values(graph.results))

    def body(self, graph: Graph) -> None:
        self.block(list(graph.nodes), graph.results)

    def block(self, nodes: list[Node], results: Sequence[Value]) -> None:
        group = _Block(nodes, results).group()
        if group is None:
            self.nodes(nodes)
            return
        self.changed = True
        inside, after = group.inside, set(group.after)
        last = max(k for k, n in enumerate(nodes) if n in inside)
        self.nodes([n for n in nodes[:last] if n not in inside and n not in after])
        with self.builder.at(origin=group.products[0].node.origin):
            self.together(group)
        self.block([*group.after, *nodes[last + 1 :]], results)

    def together(self, group: _Group) -> None:
        """A loop over blocks of rows in place of the products."""
        b = self.builder
        matrix = self.value(group.products[0].matrix)
        rows, step = b.dim_value(matrix.type.shape[0]), OPS["rows_at_once"](matrix)
        b.suggest(step, "_rows")
        sums = [p for p in group.products if p.sums_rows]
        inits = [b.call_named("full", self.zero(p.out), b.dim_value(matrix.type.shape[1])) for p in sums]
        inits += [OPS["empty"](rows, dtype=v.type.dtype) for v in group.kept]
        names = [p.out.name for p in sums] + [v.name for v in group.kept]
        outer = dict(self.env)

        def body(first: Value, *carry: Value) -> list[Value]:
            count = b.call_named("minimum", OPS["sub"](rows, first), step)
            at = _Rows(self, group, matrix, first, count)
            found = [at.added(p, so_far) for p, so_far in zip(sums, carry, strict=False)]
            stored = carry[len(sums) :]
            return found + [
                OPS["setitem"](x, at.value(v), first, count, view=ROWS) for v, x in zip(group.kept, stored, strict=True)
            ]

        outs = ranged((b.const(0), rows, step), inits, body, names, index="_first")
        self.env = outer
        for old, new in zip([*(p.out for p in sums), *group.kept], outs, strict=True):
            like = substitute_type(old.type, self.symbols)
            assert isinstance(like, ArrayType)
            self.bind(old, b.retype(new, like.shape))

    def zero(self, value: Value) -> Value:
        number = value.type.dtype.type(0)
        return self.builder.const(number.item() if value.type.dtype.char == "d" else number)


class _Rows:
    """What is computed of some rows, in a loop over blocks of them."""

    def __init__(self, work: _Once, group: _Group, matrix: Value, first: Value, count: Value):
        self.work, self.group = work, group
        self.first, self.count = first, count
        self.matrix = OPS["getitem"](matrix, first, count, view=ROWS_OF_MATRIX)
        self.steps = {n.outputs[0]: n for n in group.between}
        self.products = {p.out: p for p in group.products}
        self.known: dict[Value, Value] = {}

    def added(self, product: _Product, so_far: Value) -> Value:
        """The sum of the rows before, and of these."""
        with self.work.builder.at(origin=product.node.origin):
            more = matmul(self.value(product.vector), self.matrix)
            return OPS["add_at"](so_far, more, view=whole(1))

    def value(self, old: Value) -> Value:
        """The elements of a value for these rows."""
        if old not in self.known:
            self.known[old] = self.made(old)
        return self.known[old]

    def made(self, old: Value) -> Value:
        work, product, step = self.work, self.products.get(old), self.steps.get(old)
        if product is not None:
            with work.builder.at(origin=product.node.origin):
                vector = work.value(product.vector)
                rows = work.builder.retype(self.matrix, (self.matrix.type.shape[0], *vector.type.shape))
                out = matmul(rows, vector)
                work.builder.suggest(out, old.name)
                return out
        if step is None:
            whole_ = work.value(old)
            return OPS["getitem"](whole_, self.first, self.count, view=ROWS) if whole_.type.ndim else whole_
        if step.op.name in ("with_shape", "assumed"):
            return self.value(step.inputs[0])
        with work.builder.at(origin=step.origin):
            return work.builder.apply(step.op, tuple(map(self.value, step.inputs)), dict(step.attrs), name=old.name)
