"""Reductions of arrays of short rows, as those of all their elements side by side.

``np.sum(m * m)`` over rows of 12 elements is 12 steps, and then the next row: no CPU takes many such steps at a time.
The elements of an array in C order lie one after the other, and `reshape` makes one axis of them, without a copy.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from srcgraph.codegen.expr import call, subscript
from srcgraph.codegen.items import INDICES, Item, Kernel, Let, LoopLet, LoopReduce, Ref, ref, refs, renamed
from srcgraph.ir.dims import Dim, product, symbol
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ArrayType

if TYPE_CHECKING:
    from srcgraph.codegen.schedule import Scheduler

SHORTEST, LONGEST = 8, 16
"""Rows of fewer elements are taken several at a time, and the length of longer ones is not known."""
HERE = Value("i", None)  # type: ignore[arg-type]


def flattened(items: Iterable[Item], s: Scheduler) -> Iterator[Item]:
    """Let nests that do nothing but such reductions go along one axis."""
    for item in items:
        if s.write.target == "cpu" and isinstance(item, Kernel):
            yield from _along_one_axis(item, s)
        else:
            yield item


def _along_one_axis(kernel: Kernel, s: Scheduler) -> Iterator[Item]:
    parts = [p for p in kernel.parts if isinstance(p, LoopLet | LoopReduce) and not p.inner]
    arrays = dict.fromkeys(v for p in parts for v, _ in p.reads)
    whole = (
        len(parts) == len(kernel.parts) and has_short_rows(kernel.dims) and all(_is_whole(v, kernel) for v in arrays)
    )
    flat = {v: _flat(v) for v in arrays} if whole else {}
    exprs = [_Along(flat).visit(renamed(p.expr, {})) for p in parts] if flat else []
    if not flat or not {*INDICES, *arrays}.isdisjoint(v for e in exprs for v in refs(e)):
        yield kernel
        return
    for v, made in flat.items():
        s.variables.add(made)
        yield Let(made, call("reshape", ref(v), s.write.dim(made.type.shape[0])), kernel.origin, alias=v)
    for part, expr in zip(parts, exprs, strict=True):
        part.expr = renamed(expr, {HERE: INDICES[0]})
        part.reads = [(flat[v], (symbol("@0"),)) for v, _ in part.reads]
    size = product(kernel.dims)
    yield replace(kernel, dims=(size,), extents=(s.write.dim(size),))


def _flat(array: Value) -> Value:
    return Value(f"{array.name}_flat" * bool(array.name), ArrayType(array.type.dtype, (product(array.type.shape),)))


def has_short_rows(dims: Sequence[Dim]) -> bool:
    """Whether nests, or arrays, of such lengths have rows that are short, but not the shortest."""
    rows = dims[-1].const if len(dims) > 1 else None
    return rows is not None and SHORTEST <= rows <= LONGEST


def _is_whole(array: Value, kernel: Kernel) -> bool:
    """Whether a nest reads an array of rows of its own length, each point one element."""
    here = tuple(symbol(f"@{k}") for k in range(len(kernel.dims)))
    reads = (r for p in kernel.parts for r in p.reads if r[0] is array)
    return array.type.shape[1:] == kernel.dims[1:] and all(index == here for _, index in reads)


class _Along(ast.NodeTransformer):
    """Elements of arrays become those of arrays of one axis."""

    def __init__(self, flat: Mapping[Value, Value]):
        self.flat = flat

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, Ref) and node.value.value in self.flat:
            return subscript(ref(self.flat[node.value.value]), [ref(HERE)])
        return self.generic_visit(node)
