"""Systems of two or three equations are solved by elimination that is written out.

A call of LAPACK takes a hundred times as long as the arithmetic. It is the same elimination: in each column, the row
with the largest number is exchanged with the first one that is left.

References
----------
G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th edition, Johns Hopkins University Press 2013, algorithm 3.4.1.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, Graph, Node, Value, node_graphs, node_inputs
from srcgraph.ir.op import OPS, current_builder
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce
from srcgraph.opt.scalars import lengths, scalars
from srcgraph.opt.simplify import simplify

MOST = 3
"""So many equations are few."""
COLUMNS = 6
"""So many right-hand sides are."""
USERS = ("lu_solve", "lu_det", "lu_slogdet")
Row: TypeAlias = list[Value]


def eliminated(graph: Graph) -> Graph:
    """Write such eliminations out, at every depth."""
    if not any(_is_factored(n) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    found = frozenset(_few(opened))
    return simplify(scalars(dce(_Eliminated(graph.name, found).run(opened)))) if found else graph


def is_of_few(node: Apply) -> bool:
    """Whether a node factors the matrix of a few equations, or uses its factors."""
    if node.op.name not in ("lu_factor", *USERS) or _order(node.inputs[0]) is None:
        return False
    return node.op.name == "lu_factor" or _is_user(node)


def _is_factored(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.name == "lu_factor" and _order(node.inputs[0]) is not None


def _order(a: Value) -> int | None:
    """How many equations a matrix of real numbers has the coefficients of, if they are few."""
    known = [d.const for d in a.type.shape]
    few = known[0] is not None and known[0] == known[1] and 1 <= known[0] <= MOST
    return known[0] if few and a.type.dtype.kind == "f" else None


def _few(graph: Graph) -> Iterator[Apply]:
    """The factorizations of small matrices with which only few equations are solved."""
    nodes = list(all_nodes(graph))
    asked: dict[Value, list[Node]] = {}
    for node in nodes:
        for value in dict.fromkeys(node_inputs(node)):
            asked.setdefault(value, []).append(node)
    handed = {v for n in nodes for g in node_graphs(n) for v in g.results}.union(graph.results)
    for node in nodes:
        if isinstance(node, Apply) and _is_factored(node):
            lu, pivots, _ = node.outputs
            readers = {n for v in (lu, pivots) for n in asked.get(v, ())}
            if all(map(_is_user, readers)) and handed.isdisjoint((lu, pivots)):
                yield node


def _is_user(node: Node) -> bool:
    if not isinstance(node, Apply) or node.op.name not in USERS:
        return False
    sizes = [d.const for d in node.inputs[3].type.shape[1:]] if node.op.name == "lu_solve" else []
    return all(size is not None and 1 <= size <= COLUMNS for size in sizes)


@dataclass(frozen=True, slots=True)
class _Factors:
    """What elimination leaves.

    Attributes
    ----------
    rows : list of list of Value
        ``U``, and below its diagonal the factors by which rows were subtracted.
    exchanges : list
        Which rows were exchanged, one pair after the other, and whether they were.
    """

    rows: list[Row]
    exchanges: list[tuple[int, int, Value]]

    @classmethod
    def of(cls, rows: list[Row]) -> _Factors:
        exchanges = []
        n = len(rows)
        for k in range(n):
            for i in range(k + 1, n):
                larger = OPS["greater"](OPS["absolute"](rows[i][k]), OPS["absolute"](rows[k][k]))
                exchanges.append((k, i, larger))
                rows[k], rows[i] = _exchanged(rows[k], rows[i], larger)
            for i in range(k + 1, n):
                factor = OPS["div"](rows[i][k], rows[k][k])
                rest = (OPS["sub"](x, OPS["mul"](factor, y)) for x, y in zip(rows[i], rows[k], strict=True))
                rows[i] = [*rows[i][:k], factor, *list(rest)[k + 1 :]]
        return cls(rows, exchanges)

    def is_singular(self) -> Value:
        """Whether there is a zero on the diagonal of ``U``; what is divided by it is never used."""
        return functools.reduce(OPS["logical_or"], (OPS["equal"](u, 0.0) for u in self.diagonal))

    @property
    def diagonal(self) -> list[Value]:
        return [row[k] for k, row in enumerate(self.rows)]

    def determinant(self) -> Value:
        product = self.with_sign(functools.reduce(OPS["mul"], self.diagonal), [])
        return OPS["where"](self.is_singular(), product.type.dtype.type(0), product)

    def sign_and_logarithm(self) -> tuple[Value, Value]:
        """Of the determinant."""
        kind = self.rows[0][0].type.dtype.type
        sign = self.with_sign(current_builder().const(kind(1)), [OPS["less"](u, 0.0) for u in self.diagonal])
        size = functools.reduce(OPS["add"], (OPS["log"](OPS["absolute"](u)) for u in self.diagonal))
        singular = self.is_singular()
        return OPS["where"](singular, kind(0), sign), OPS["where"](singular, kind(-np.inf), size)

    def with_sign(self, x: Value, negative: Sequence[Value]) -> Value:
        """A number with the sign that exchanges give it, and what else makes it another one."""
        for changes in (*(were for _, _, were in self.exchanges), *negative):
            x = OPS["where"](changes, OPS["neg"](x), x)
        return x

    def solved(self, b: list[Row]) -> list[Row]:
        """``x`` with ``a @ x == b``."""
        n, x = len(b), list(b)
        for k, i, were in self.exchanges:
            x[k], x[i] = _exchanged(x[k], x[i], were)
        for i in range(n):
            x[i] = _less(x[i], ((self.rows[i][k], x[k]) for k in range(i)))
        for i in range(n - 1, -1, -1):
            x[i] = _over(_less(x[i], ((self.rows[i][k], x[k]) for k in range(i + 1, n))), self.rows[i][i])
        return x

    def solved_transposed(self, b: list[Row]) -> list[Row]:
        """``x`` with ``a.T @ x == b``."""
        n, x = len(b), list(b)
        for i in range(n):
            x[i] = _over(_less(x[i], ((self.rows[k][i], x[k]) for k in range(i))), self.rows[i][i])
        for i in range(n - 1, -1, -1):
            x[i] = _less(x[i], ((self.rows[k][i], x[k]) for k in range(i + 1, n)))
        for k, i, were in reversed(self.exchanges):
            x[k], x[i] = _exchanged(x[k], x[i], were)
        return x


def _exchanged(x: Row, y: Row, were: Value) -> tuple[Row, Row]:
    pairs = list(zip(x, y, strict=True))
    return [OPS["where"](were, b, a) for a, b in pairs], [OPS["where"](were, a, b) for a, b in pairs]


def _less(x: Row, rows: Iterable[tuple[Value, Row]]) -> Row:
    """A row less multiples of others."""
    for factor, other in rows:
        x = [OPS["sub"](a, OPS["mul"](factor, b)) for a, b in zip(x, other, strict=True)]
    return x


def _over(x: Row, divisor: Value) -> Row:
    return [OPS["div"](a, divisor) for a in x]


class _Eliminated(Rebuild):
    """A graph with such eliminations written out; unread arrays stand for ``lu`` and the pivots."""

    def __init__(self, name: str, found: frozenset[Apply]):
        super().__init__(name)
        self.found = found
        self.factors: dict[Value, _Factors] = {}
        self.singular: dict[Value, Value] = {}
        """By ``info``: whether there is no solution."""

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node in self.found:
            return self.factored(node, inputs[0])
        if node.op.name == "equal" and node.inputs[0] in self.singular and literal(self.builder, inputs[1]) == 0:
            return (OPS["logical_not"](self.singular[node.inputs[0]]),)
        factors = self.factors.get(node.inputs[1]) if node.op.name in USERS else None
        if factors is None:
            return super().apply(node, inputs)
        if node.op.name == "lu_det":
            return (factors.determinant(),)
        if node.op.name == "lu_slogdet":
            return factors.sign_and_logarithm()
        b = inputs[3]
        x = (factors.solved_transposed if node.attrs["transposed"] else factors.solved)(_rows(b))
        return (self.filled(b, [v for row in x for v in row], node.outputs[0].name),)

    def factored(self, node: Apply, a: Value) -> Sequence[Value]:
        factors = _Factors.of(_rows(a))
        lu, pivots, info = node.outputs
        self.factors[lu] = factors
        self.singular[info] = factors.is_singular()
        made = [OPS["empty"](*lengths(v), dtype=v.type.dtype) for v in (lu, pivots)]
        return (*made, self.builder.cast(self.singular[info], info.type.dtype, weak=info.type.weak))

    def filled(self, like: Value, numbers: Sequence[Value], name: str) -> Value:
        """An array of the lengths of another one."""
        sizes = tuple(self.builder.const(n) for n in lengths(like))
        out = self.builder.apply(OPS["empty"], sizes, {"dtype": like.type.dtype}, name)
        for at, value in zip(np.ndindex(*lengths(like)), numbers, strict=True):
            places = [self.builder.const(k) for k in at]
            out = self.builder.apply(OPS["setitem"], (out, value, *places), {"view": element(len(at))}, name)
        return out


def _rows(a: Value) -> list[Row]:
    """The elements of a matrix, or of a vector as rows of one."""
    shape = lengths(a)
    found = [OPS["getitem"](a, *at, view=element(len(at))) for at in np.ndindex(*shape)]
    width = math.prod(shape[1:])
    return [found[k : k + width] for k in range(0, len(found), width)]
