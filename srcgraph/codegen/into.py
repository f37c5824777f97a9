"""Sums that a derivative adds to a part of an array: each element is added there, and no array is made of the sums.

``d_w[1:] += sum(x, axis=0)`` would fill an array with zeros, add all elements of ``x`` to it, and then it to ``d_w``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from srcgraph.codegen.expr import Index, base_index, loop_index
from srcgraph.codegen.items import Kernel, LoopStore
from srcgraph.codegen.kernels import Elements, extents, is_outer, written
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.view import split_operands, view_shape

if TYPE_CHECKING:
    from srcgraph.codegen.schedule import Scheduler


@dataclass(frozen=True, slots=True)
class Into:
    """A sum, what adds it to a part of an array, and where.

    Attributes
    ----------
    sum, update : Apply
    at : tuple of Dim
        The index into the array, in a nest over what is summed up.
    """

    sum: Apply
    update: Apply
    at: Index

    def items(self, s: Scheduler) -> Iterator[Kernel]:
        """Add what would be summed up to the array."""
        x, base, out = self.sum.inputs[0], self.update.inputs[0], self.update.outputs[0]
        origin, body = self.update.origin, Elements(s)
        expr, reads = body.expr(x, loop_index(x.type.shape))
        lets = body.close()
        s.name(out)
        store = LoopStore(out, base, self.at, written(s, self.at), expr, "add", reads, origin, free=True)
        yield Kernel(x.type.shape, [*lets, store], extents(s, x.type.shape), [], origin)


def into(s: Scheduler, node: Apply) -> Into | None:
    """Where the elements of a sum along other axes than the last are added.

    A derivative has to add it, or a view of it, to a part of an array, and nothing else may read it.
    """
    if node.op.name != "sum" or s.write.target != "cpu" or not is_outer(node):
        return None
    update = _update(s, node.outputs[0])
    if update is None or not update.origin.by or not _is_free(s, update, node):
        return None
    base, value = update.inputs[:2]
    view, operands = update.attrs["view"], [s.write.index_of(v) for v in update.inputs[2:]]
    own = split_operands(view, operands)
    shape = view_shape(view, base.type.shape, [o[1] for o in own if len(o) > 1])
    if len(shape) != value.type.ndim or any((d == 1) != (f == 1) for d, f in zip(value.type.shape, shape, strict=True)):
        return None
    index = loop_index(shape)
    kept = _index_of_sum(s, value, node, index)
    loops = loop_index(node.inputs[0].type.shape)
    places = [d for k, d in enumerate(loops) if k not in node.attrs["axes"]]
    moved = {k: to for k, to in zip(kept, places, strict=True) if k.symbol}
    if {d for d in index if d.symbol} != moved.keys() or len(moved) != sum(bool(k.symbol) for k in kept):
        return None
    return Into(node, update, base_index(view, operands, tuple(moved.get(d, d) for d in index)))


def _index_of_sum(s: Scheduler, value: Value, node: Apply, index: Index) -> Index:
    """The index into a sum, of that into a view of it."""
    body = Elements(s)
    while value is not node.outputs[0]:
        ((value, index),) = body.operands(value, index)
    return index


def _update(s: Scheduler, value: Value) -> Apply | None:
    """The addition to a part of an array of which a value, or a view of it that nothing else reads, is added."""
    home = s.uses.defined_at[value].graph
    while len(s.uses.reads[value]) == 1:
        use = s.uses.reads[value][0]
        node = use.node
        if not isinstance(node, Apply) or use.place.graph is not home:
            return None
        if node.op.name == "add_at":
            return node if node.inputs[1] is value and node.inputs[0] is not value else None
        if not _is_plain_view(node) or node.inputs[0] is not value or node.outputs[0] in s.made:
            return None
        value = node.outputs[0]
    return None


def _is_plain_view(node: Apply) -> bool:
    """Whether elements are as they were, in axes of another order or with others of length 1."""
    if node.op.name == "getitem":
        return all(selector == ":" for selector in node.attrs["view"].axes)
    return node.op.name == "with_shape"


def _is_free(s: Scheduler, update: Apply, node: Apply) -> bool:
    """Whether what is summed up can be added later, where the sum would be, and reads nothing of that array."""
    base, x, total = update.inputs[0], node.inputs[0], node.outputs[0]
    if base.type.dtype != total.type.dtype or base.type.dtype.kind != "f":
        return False
    start, end = (s.uses.defined_at[v] for v in (total, update.outputs[0]))
    if start.graph is not end.graph:
        return False
    if any(start.position < k < end.position for k, _ in s.uses.overwrites[start.graph]):
        return False
    body = Elements(s)
    _, reads = body.expr(x, loop_index(x.type.shape))
    reads = reads + [r for let in body.close() for r in let.reads]
    return x is not base and all(v is not base for v, _ in reads)
