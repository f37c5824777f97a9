"""Subscripts: elements, slices, masks and integer arrays, read or stored into."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import InferenceError
from srcgraph.frontend import (
    arithmetic,
    choices,
    dicts,
    expressions,
    fancy,
    flat,
    grids,
    lists,
    objects,
    shared,
    tables,
)
from srcgraph.frontend.entities import (
    NONE,
    Array,
    Const,
    Entity,
    Instance,
    Iteration,
    Listing,
    Maybe,
    Scalar,
    SliceOf,
    Tup,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.kinds import joined
from srcgraph.frontend.memory import (
    as_index,
    checked_index,
    computed,
    known_int,
    read,
    ref_type,
    refuse,
    select,
    slice_operands,
)
from srcgraph.frontend.presence import told
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.types import BOOL
from srcgraph.ir.view import View

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def subscript(low: Lowering, base: Entity, index: Any, hint: str, name: str = "") -> Entity:
    """``base[index]``: an element, a view, or an item of a tuple."""
    if isinstance(base, Listing | Instance) or objects.has_special(base, "__getitem__"):
        return item(low, base, expressions.lower(low, index), hint)
    if isinstance(base, Tup) or (isinstance(base, Const) and isinstance(base.value, tuple)):
        return tuple_item(low, base, expressions.lower(low, index))
    if isinstance(base, Iteration) and base.kind == "range":
        return range_item(low, base, expressions.lower(low, index))
    if flat.is_flat(base):
        parts = _parts(low, index)
        one = flat.single(low, base, parts)
        return low.entity(_read_at(low, flat.row(low, base), parts)) if one is None else Scalar(read(low, one, hint))
    if isinstance(base, Const) and any(base.value is g for g in grids.GRIDS):
        return grids.subscript(low, base.value, _parts(low, index))
    if not isinstance(base, Array):
        subject = f"{name} is {describe(base)}: it" if name else describe(base)
        raise refuse(f"{subject} cannot be indexed", low.loc, shared.hint(base), kind=InferenceError)
    parts = _parts(low, index)
    place = _place(low, base, parts)
    if not isinstance(place, Array):
        return low.entity(place.read(low), hint)
    if place.view is not None and not ref_type(low, place).shape and not any(map(_is_ellipsis, parts)):
        return Scalar(read(low, place, hint))
    return place  # with an ellipsis even one element is a view, an array without axes


def item(low: Lowering, base: Entity, index: Entity, hint: str = "") -> Entity:
    """``base[index]`` of a list, a dict, or an object with a method for it."""
    if isinstance(base, Listing):
        return lists.subscript(low, base, index, hint)
    if isinstance(base, Instance) and dicts.is_dict(base):
        return dicts.subscript(low, base, index)
    if objects.has_special(base, "__getitem__"):
        return objects.special(low, "__getitem__", base, index)
    raise refuse(f"{low.shown(base)} cannot be indexed", low.loc, shared.hint(base), kind=InferenceError)


def range_item(low: Lowering, base: Iteration, index: Entity) -> Entity:
    """``range(start, stop, step)[index]``."""
    if isinstance(index, SliceOf):
        step = Const(1) if index.step == NONE else index.step
        found = lists.own(low, arithmetic.slice_of_range, *base.parts, index.start, index.stop, step)
        return Iteration("range", tuple(expressions.items_of(low, found)))
    return lists.own(low, arithmetic.item_of_range, Scalar(as_index(low, low.value(index))), *base.parts)


def tuple_item(low: Lowering, base: Entity, index: Entity) -> Entity:
    items = expressions.items_of(low, base)
    if isinstance(index, SliceOf):
        cut = slice(*(low.static(e, "a slice of a tuple") for e in (index.start, index.stop, index.step)))
        part = computed(low, operator.getitem, items, cut)
        return Tup(tuple(part), list if isinstance(base, Tup) and base.cls is list else tuple)
    if isinstance(index, Scalar) and index.value.type.dtype.kind in "iub" and literal(low.builder, index.value) is None:
        if (found := _item_at(low, items, index.value)) is not None:
            return found
    k = low.static(index, "the index of a tuple")
    if not isinstance(k, int):
        why = f"the index of a tuple must be an integer, not {describe(Const(k))}"
        raise refuse(why, low.loc, "use int(...)", kind=InferenceError)
    if not -len(items) <= k < len(items):
        raise refuse(f"index {k!r} is out of range for a tuple of {len(items)}", low.loc, kind=InferenceError)
    return items[k]


def _item_at(low: Lowering, items: Sequence[Entity], index: Value) -> Entity | None:
    """One of a few items, at an index known at run time only; of tuples of one length, item by item."""
    tuples = [e.items for e in items if isinstance(e, Tup) and e.cls is tuple]
    if items and len(tuples) == len(items) and len({*map(len, tuples)}) == 1:
        parts = [_item_at(low, column, index) for column in zip(*tuples, strict=True)]
        return None if None in parts else Tup(tuple(p for p in parts if p is not None))
    at = as_index(low, index, "the index of a tuple")
    if items and all(map(choices.choosable, items)):
        return choices.picked(low, items, at, "tuple")
    if items and all(isinstance(e, Scalar) or (isinstance(e, Const) and e.is_number) for e in items):
        return _number_at(low, items, at)
    return None


def _number_at(low: Lowering, items: Sequence[Entity], index: Value) -> Entity:
    """One of a few numbers; of one type, as where paths join."""
    choice = choices.picked(low, items, index, "tuple")
    parts = joined(low, [low.value(e) for e in items])
    out = parts[-1]
    for k in reversed(range(len(parts) - 1)):
        out = OPS["where"](OPS["equal"](choice.tag, k), parts[k], out)
    return Scalar(out)


def subscript_place(low: Lowering, base: Array | Iteration, index: Any) -> Any:
    """What ``base[index]`` stands for: a reference, or a place with ``read`` and ``store`` of its own."""
    parts = _parts(low, index)
    if isinstance(base, Array):
        return _place(low, base, parts)
    return flat.single(low, base, parts) or _place(low, flat.row(low, base), parts)


def _read_at(low: Lowering, base: Array, parts: list[Entity]) -> Value:
    place = _place(low, base, parts)
    return read(low, place) if isinstance(place, Array) else place.read(low)


def _parts(low: Lowering, index: Any) -> list[Entity]:
    """What stands between the brackets, part by part."""
    parts = (
        [expressions.lower(low, e) for e in index.elts]
        if isinstance(index, gast.Tuple)
        else [expressions.lower(low, index)]
    )
    parts = [tables.plain(low, p) for p in parts]
    if len(parts) == 1 and isinstance(parts[0], Tup) and parts[0].cls is tuple:
        return list(parts[0].items)
    return parts


def _place(low: Lowering, base: Array, parts: list[Entity]) -> Any:
    kind = ref_type(low, base)
    parts = [_number_of(low, p) for p in parts]
    if any(_is_truth(p) for p in parts):
        why = "an index that is one truth, not an array of them, is not supported: NumPy adds an axis by it"
        raise refuse(why, low.loc, "write x[None] if flag else x[None][:0], or int(flag) for an index of 0 or 1")
    parts = _without_ellipsis(low, parts, kind.ndim)
    if any(_is_array_index(p) for p in parts):
        return fancy.place(low, base, parts)
    return basic_place(low, base, parts)


def _number_of(low: Lowering, part: Entity) -> Entity:
    """An integer array without axes indexes as its number."""
    if isinstance(part, Array) and ref_type(low, part).ndim == 0 and ref_type(low, part).dtype.kind in "iu":
        return Scalar(low.builder.scalar(read(low, part)))
    return part


def _is_array_index(part: Entity) -> bool:
    return isinstance(part, Array | Tup)


def _is_truth(part: Entity) -> bool:
    if isinstance(part, Const):
        return isinstance(part.value, bool)
    return isinstance(part, Scalar) and part.value.type.dtype == BOOL


def _without_ellipsis(low: Lowering, parts: list[Entity], ndim: int) -> list[Entity]:
    taken = sum(fancy.axes_taken(low, p) for p in parts)
    if taken > ndim:
        raise refuse(
            f"too many indices: an array of {ndim} {'axis' if ndim == 1 else 'axes'} has {taken} of them",
            low.loc,
            kind=InferenceError,
        )
    full = [SliceOf(Const(None), Const(None), Const(None))] * (ndim - taken)
    at = [k for k, p in enumerate(parts) if _is_ellipsis(p)]
    if len(at) > 1:
        raise refuse("an index can only have a single ellipsis ('...')", low.loc, kind=InferenceError)
    if at:
        return [*parts[: at[0]], *full, *parts[at[0] + 1 :]]
    return [*parts, *full]


def _is_ellipsis(part: Entity) -> bool:
    return isinstance(part, Const) and part.value is Ellipsis


def basic_place(low: Lowering, base: Array, parts: list[Entity]) -> Array:
    """A reference by integers, slices and None."""
    shape = ref_type(low, base).shape
    axes: list[Any] = []
    operands: list[Value] = []
    order: list[int | None] = []
    kept = 0
    for part in parts:
        if isinstance(part, Const) and part.value is None:
            order.append(None)
            continue
        axis = len(axes)
        selector, own = axis_selector(low, part, shape[axis], axis)
        axes.append(selector)
        operands += own
        if selector != "i":
            order.append(kept)
            kept += 1
    return select(low, base, View(tuple(axes), tuple(order)), operands)


def slice_of(low: Lowering, start: Entity, stop: Entity, step: Entity) -> SliceOf:
    """A slice; an end that may be None is a number then that no array is as long as."""
    step = _or_else(low, step, lambda: low.builder.const(1))

    def far(forward: int, back: int) -> Value:
        return OPS["where"](OPS["less"](low.value(Const(1) if step == NONE else step), 0), back, forward)

    first = _or_else(low, start, lambda: far(0, sys.maxsize))
    return SliceOf(first, _or_else(low, stop, lambda: far(sys.maxsize, -sys.maxsize)), step)


def _or_else(low: Lowering, part: Entity, other: Callable[[], Value]) -> Entity:
    """A part of a slice, another number where it turns out to be None."""
    part = told(low, part)
    if not isinstance(part, Maybe) or part.absent != NONE:
        return part
    return Scalar(OPS["where"](low.value(part.bound), as_index(low, low.value(part.entity), "a slice's end"), other()))


def axis_selector(low: Lowering, part: Entity, size: Any, axis: int) -> tuple[Any, list[Value]]:
    if isinstance(part, Const) and isinstance(part.value, slice):
        part = SliceOf(Const(part.value.start), Const(part.value.stop), Const(part.value.step))
    if isinstance(part, SliceOf):
        if all(isinstance(e, Const) and e.value is None for e in (part.start, part.stop, part.step)):
            return ":", []
        step = 1 if part.step == Const(None) else _known_step(low, part.step)
        if step is None:
            return "s", _stepped(low, part, size)
        if step == 0:
            raise refuse("slice step cannot be zero", low.loc, kind=InferenceError)
        ends = [
            None if e == Const(None) else as_index(low, low.value(e), "a slice's end") for e in (part.start, part.stop)
        ]
        return step, list(slice_operands(low, ends[0], ends[1], step, size))
    value = low.value(part, "the index")
    if value.type.ndim or value.type.dtype.kind not in "iu":
        raise refuse(f"an index must be an integer, not {value.type}", low.loc, "use int(...)", kind=InferenceError)
    return "i", [checked_index(low, value, size, axis)]


def _known_step(low: Lowering, step: Entity) -> int | None:
    """The step of a slice; None if it is known at run time only."""
    if isinstance(step, Scalar):
        return known_int(low, as_index(low, step.value, "the step of a slice"))
    known = low.static(step, "the step of a slice")
    if not isinstance(known, int):
        raise refuse(f"the step of a slice must be an integer, not {describe(step)}", low.loc, kind=InferenceError)
    return known


def _stepped(low: Lowering, part: SliceOf, size: Any) -> list[Value]:
    """Start, length and step of a slice whose step is known at run time."""
    ends = [
        e if e == Const(None) else Scalar(as_index(low, low.value(e), "a slice's end")) for e in (part.start, part.stop)
    ]
    step = Scalar(as_index(low, low.value(part.step), "the step of a slice"))
    found = lists.own(low, arithmetic.first_and_length, *ends, step, Scalar(low.builder.dim_value(size)))
    assert isinstance(found, Tup)
    return [*(low.value(e) for e in found.items), step.value]


def element_at(low: Lowering, base: Array, indices: Sequence[Value]) -> Entity:
    """The element or sub-array at leading indices that are known to be in range."""
    ndim = ref_type(low, base).ndim
    view = View(("i",) * len(indices) + (":",) * (ndim - len(indices)), tuple(range(ndim - len(indices))))
    ref = select(low, base, view, indices)
    return ref if ndim > len(indices) else Scalar(read(low, ref))
