"""``x.flat``: the elements of an array in C order, indexed and looped over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from srcgraph.frontend.entities import Array, Entity, Iteration, Reshaped, Scalar
from srcgraph.frontend.memory import as_index, checked_index, new_array, read, ref_type, select
from srcgraph.ir.dims import Dim, product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.view import View

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def flat(low: Lowering, base: Array) -> Iteration:
    """``base.flat``."""
    return Iteration("flat", (base,))


def is_flat(entity: Entity) -> TypeGuard[Iteration]:
    return isinstance(entity, Iteration) and entity.kind == "flat"


def array_of(over: Iteration) -> Array:
    """The array whose elements these are."""
    (base,) = over.parts
    assert isinstance(base, Array)
    return base


def size(low: Lowering, over: Iteration) -> Dim:
    return product(ref_type(low, array_of(over)).shape)


def row(low: Lowering, over: Iteration) -> Array:
    """The elements as an array of one axis, the same memory."""
    base = array_of(over)
    length = low.builder.dim_value(size(low, over))
    made = new_array(low, OPS["reshape"](read(low, base), length), base.cell.name)
    made.cell.choose(Reshaped(base, (length,)))
    return made


def element(low: Lowering, over: Iteration, position: Value) -> Array:
    """The element at a position that is in range."""
    base = array_of(over)
    at: list[Value] = []
    for dim in reversed(ref_type(low, base).shape[1:]):
        n = low.builder.dim_value(dim)
        at.insert(0, OPS["mod"](position, n))
        position = OPS["floordiv"](position, n)
    at = [position, *at][: ref_type(low, base).ndim]
    return select(low, base, View(("i",) * len(at), ()), at)


def single(low: Lowering, over: Iteration, parts: Sequence[Entity]) -> Array | None:
    """The element one integer selects; None for other indices."""
    if len(parts) != 1 or not (isinstance(parts[0], Scalar) or getattr(parts[0], "is_number", False)):
        return None
    index: Any = low.value(parts[0])
    if index.type.dtype.kind not in "iu":
        return None
    return element(low, over, checked_index(low, as_index(low, index), size(low, over), 0))


__all__ = ["array_of", "element", "flat", "is_flat", "row", "single", "size"]
