"""Indexing with arrays: of integers or booleans, alone or beside integers, slices and None.

NumPy's rules ("Advanced indexing" in its user guide): masks stand for the indices of their true
elements; the index arrays, and integers beside them, are broadcast together; their axes come first
in the result, unless they are next to each other, then they stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import arrays, indexing, operators
from srcgraph.frontend.entities import Array, Const, Entity, SliceOf, Tup
from srcgraph.frontend.memory import (
    at_each,
    checked_index,
    checked_where_it_is,
    chosen,
    content,
    fit_store,
    put,
    read,
    ref_type,
    refuse,
    select,
    write,
)
from srcgraph.ir.dims import Dim, as_dim, product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops import masks, searching, sequences
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops.shape import dims_of
from srcgraph.ir.types import BOOL, INT
from srcgraph.ir.view import View, transposed, whole

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, slots=True)
class MaskPlace:
    """``base[mask]`` with a boolean array of the base's first axes."""

    base: Array
    mask: Value
    given: Value
    """The mask before its lengths were known to be the base's: what it marks is counted once for all bases."""

    def read(self, low: Lowering) -> Value:
        return masks.marked(read(low, self.base), self.mask, masks.count_of(self.given))

    def store(self, low: Lowering, value: Value) -> None:
        current = read(low, self.base)
        rest = current.type.shape[self.mask.type.ndim :]
        if value.type.ndim > len(rest):
            value = self._one_for_each(low, value, rest)
            write(low, self.base, masks.stored(current, value, self.mask))
            return
        value = fit_store(low, value, rest)
        write(low, self.base, OPS["where"](masks.over(self.mask, current), value, current))

    def _one_for_each(self, low: Lowering, value: Value, rest: Sequence[Dim]) -> Value:
        """``value`` with as many parts as there are marks."""
        b = low.builder
        count = masks.count_of(self.given)
        size = b.dim_value(value.type.shape[0])
        if value.type.ndim == len(rest) + 1 and value.type.shape[0] not in (1, count.type.value):
            fine = OPS["logical_or"](OPS["equal"](size, count), OPS["equal"](size, 1))
            b.call_named("check_that", fine, size, count, error="ValueError", message=_OTHERS)
        return _filled(fit_store(low, value, (count.type.value, *rest)), [count, *map(b.dim_value, rest)])

    def update(self, low: Lowering, op: str, held: Value, operand: Entity, changed: bool) -> None:
        value = low.value(operand)
        dtype = ref_type(low, self.base).dtype
        if not value.type.ndim and not changed:
            current = read(low, self.base)
            new = low.builder.call_named(op, current, value)
            check_same_kind(low, new.type.dtype, dtype)
            there = masks.over(self.mask, current)
            write(low, self.base, OPS["where"](there, low.builder.cast(new, dtype), current))
            return
        new = low.value(operators.binary(low, op, low.entity(held), operand))
        check_same_kind(low, new.type.dtype, dtype)
        self.store(low, low.builder.cast(new, dtype))


_OTHERS = (
    "NumPy boolean array indexing assignment cannot assign {} input values to the {} output values "
    "where the mask is true"
)


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """Elements or parts of ``base`` at indices.

    Attributes
    ----------
    base : Array
        With the axes that are indexed first.
    indices : tuple of Value
        One for each of these axes: a number, or an array of one axis.
    safe : tuple of bool
        Whether each is known to be in range.
    shape : tuple of Value
        The lengths of the axes that replace them.
    at : int
        How many other axes come before those.
    axes : tuple of int
        Which axes they are, for messages.
    """

    base: Array
    indices: tuple[Value, ...]
    safe: tuple[bool, ...]
    shape: tuple[Value, ...]
    at: int
    axes: tuple[int, ...]

    def read(self, low: Lowering) -> Value:
        x = read(low, self.base)
        rest = dims_of(x)[len(self.indices) :]
        count = self._count(low)

        def step(i: Value, out: Value) -> Sequence[Value]:
            part = OPS["getitem"](x, *self._at(low, x, i), view=self._view(x.type.ndim))
            return (with_item(out, 0, i, part),)

        (out,) = counted(count, [OPS["empty"](count, *rest, dtype=x.type.dtype)], step)
        if len(self.shape) != 1:
            out = OPS["reshape"](out, *self.shape, *rest)
        return out if not self.at else _moved(out, self._order(len(rest), back=False))

    def _checked(self, low: Lowering, x: Value) -> list[Value]:
        """The indices from the front, after all of them have been checked."""
        unsure = [k for k, index in enumerate(self.indices) if not self.safe[k]]
        if not unsure:
            return list(self.indices)
        found = all_checked(low, self._count(low), lambda i: [self._at(low, x, i)[k] for k in unsure], len(unsure))
        known = dict(zip(unsure, found, strict=True))
        return [known.get(k, index) for k, index in enumerate(self.indices)]

    def _view(self, ndim: int) -> View:
        k = len(self.indices)
        return View(("i",) * k + (":",) * (ndim - k), tuple(range(ndim - k)))

    def _at(self, low: Lowering, x: Value, i: Value) -> list[Value]:
        """The checked indices of the ``i``-th part."""
        found = []
        for axis, index in enumerate(self.indices):
            here = item(index, 0, i) if index.type.ndim else index
            if self.safe[axis]:
                found.append(low.builder.cast(here, INT, weak=True))
            else:
                found.append(checked_where_it_is(low, here, x.type.shape[axis], self.axes[axis]))
        return found

    def _count(self, low: Lowering) -> Value:
        return low.builder.dim_value(product(v.type.value for v in self.shape))

    def _order(self, rest: int, back: bool) -> list[int]:
        """Where the axes of the index go: between the others, or back to the front."""
        own = len(self.shape)
        moved = [*range(own, own + self.at), *range(own), *range(own + self.at, own + rest)]
        return list(np.argsort(moved)) if back else moved

    def store(self, low: Lowering, value: Value) -> None:
        type = ref_type(low, self.base)
        rest = type.shape[len(self.indices) :]
        own = tuple(v.type.value for v in self.shape)
        value = fit_store(low, value, (*rest[: self.at], *own, *rest[self.at :]))
        value = _filled(value, [low.builder.dim_value(d) for d in (*rest[: self.at], *own, *rest[self.at :])])
        if self.at:
            value = _moved(value, self._order(len(rest), back=True))
        if len(own) != 1:
            value = OPS["reshape"](value, self._count(low), *map(low.builder.dim_value, rest))
        at_each(low, chosen(low, self.base), lambda option: self._store_into(low, option, value))

    def _store_into(self, low: Lowering, base: Array, value: Value) -> None:
        """Store part after part, the last of those at equal indices stays; none if an index is out of range."""
        seen = read(low, base)
        held = content(low, base.cell)
        view = base.view or whole(held.type.ndim)
        checked = self._checked(low, seen)

        def step(i: Value, out: Value) -> Sequence[Value]:
            at = [item(index, 0, i) if index.type.ndim else index for index in checked]
            at = [low.builder.cast(index, INT, weak=True) for index in at]
            part = select(low, Array(base.cell, view, base.operands), self._view(seen.type.ndim), at)
            assert part.view is not None
            return (OPS["setitem"](out, item(value, 0, i), *part.operands, view=part.view),)

        (out,) = counted(self._count(low), [held], step)
        put(low, base.cell, out)

    def update(self, low: Lowering, op: str, held: Value, operand: Entity, changed: bool) -> None:
        """``x[index] op= operand``, where ``held`` was read before the operand, which may have ``changed`` x."""
        new = low.value(operators.binary(low, op, low.entity(held), operand))
        dtype = ref_type(low, self.base).dtype
        check_same_kind(low, new.type.dtype, dtype)
        self.store(low, low.builder.cast(new, dtype))


def all_checked(low: Lowering, count: Value, at: Callable[[Value], Sequence[Value]], axes: int) -> Sequence[Value]:
    """The integers that ``at`` gives for each part, by axes, after all of them have been checked."""

    def step(i: Value, *found: Value) -> Sequence[Value]:
        return [with_item(out, 0, i, low.builder.cast(k, INT)) for k, out in zip(at(i), found, strict=True)]

    return counted(count, [OPS["empty"](count, dtype=INT) for _ in range(axes)], step)


def check_same_kind(low: Lowering, have: Any, want: Any) -> None:
    """Refuse what NumPy's casting rule of in-place operations does not allow."""
    if not np.can_cast(have, want, "same_kind"):
        raise refuse(
            f"cannot change an array of {want} in place to {have}",
            low.loc,
            "write x = x + y instead of x += y, or make the array a float one",
            kind=InferenceError,
        )


def _moved(x: Value, order: Sequence[int]) -> Value:
    return OPS["getitem"](x, view=transposed(x.type.ndim, [int(k) for k in order]))


def _filled(value: Value, dims: Sequence[Value]) -> Value:
    """``value`` stretched to a shape that it fits."""
    shape = tuple(d.type.value for d in dims)
    return value if value.type.shape == shape else OPS["broadcast_to"](value, *dims)


# -- from an index to a place ---------------------------------------------------------------------


def place(low: Lowering, base: Array, parts: Sequence[Entity]) -> MaskPlace | IndexPlace:
    """The place an index with arrays stands for."""
    parts = [_as_index(low, p) for p in parts]
    kind = ref_type(low, base)
    given = [p for p in parts if isinstance(p, Value) and p.type.dtype == BOOL]
    if len(given) == 1 and given[0] is parts[0] and all(_is_all(p) for p in parts[1:]):
        mask = given[0]
        _check_mask(low, mask, kind.shape, 0)
        return MaskPlace(base, low.builder.retype(mask, kind.shape[: mask.type.ndim]), mask)
    return by_indices(low, base, parts)


def _is_all(part: Any) -> bool:
    """Whether a part of an index is ``:``."""
    return isinstance(part, SliceOf) and all(e == Const(None) for e in (part.start, part.stop, part.step))


def axes_taken(low: Lowering, part: Entity) -> int:
    """How many axes of the array one part of an index is for."""
    if isinstance(part, Const) and part.value in (None, Ellipsis):
        return 0
    if isinstance(part, Array) and ref_type(low, part).dtype == BOOL:
        return ref_type(low, part).ndim
    return 1


def _as_index(low: Lowering, part: Entity) -> Any:
    """An index array as its value; other parts as they are."""
    if not isinstance(part, Array | Tup):
        return part
    index = low.value(arrays.as_array(low, part))
    if index.type.dtype.kind not in "iub":
        raise refuse(f"an index array must hold integers or booleans, not {index.type}", low.loc, kind=InferenceError)
    return index


def _check_mask(low: Lowering, mask: Value, shape: Sequence[Any], axis: int) -> None:
    for k, (own, given) in enumerate(zip(shape[axis:], mask.type.shape, strict=False), axis):
        if own != given:
            sizes = low.builder.dim_value(own), low.builder.dim_value(given)
            message = (
                f"boolean index did not match indexed array along axis {k}; "
                "size of axis is {x} but size of corresponding boolean axis is {y}"
            )
            low.builder.call_named("equal_size", *sizes, error="IndexError", message=message)


def places_of(low: Lowering, mask: Value, shape: Sequence[Any], axis: int) -> Sequence[Value]:
    """Where a mask of some axes is true, which must be as long as they are."""
    _check_mask(low, mask, shape, axis)
    return searching.nonzero(mask)


@dataclass(slots=True)
class _Split:
    """An index taken apart: what arrays index, and the basic view of the rest."""

    axes: list[Any]
    order: list[int | None]
    operands: list[Value]
    indexed: list[int]
    indices: list[Value]
    safe: list[bool]
    places: list[int]


def by_indices(low: Lowering, base: Array, parts: Sequence[Any]) -> IndexPlace:
    shape = ref_type(low, base).shape
    split = _Split([], [], [], [], [], [], [])
    for position, part in enumerate(parts):
        _take(low, split, shape, position, part)
    between = split.places[-1] - split.places[0] + 1 == len(split.places)
    kept = [p for p in range(len(parts)) if p not in split.places]
    at = sum(p < split.places[0] for p in kept) if between else 0
    order = (*split.indexed, *split.order)
    view = View(tuple(split.axes), order)
    plain = view == whole(len(split.axes))
    arranged = base if plain else select(low, base, view, split.operands)
    wide = [v for v in split.indices if v.type.ndim]
    if not wide:
        raise refuse("a single bool is not supported as an index", low.loc, "use an if")
    joined = together(low, wide)
    flat = iter([sequences.flat(v) if v.type.ndim != 1 else v for v in joined])
    indices = list(split.indices)
    for k, (axis, v) in enumerate(zip(split.indexed, split.indices, strict=True)):
        if v.type.ndim:
            indices[k] = next(flat)
        elif not split.safe[k]:  # it is asked even if there is no element
            indices[k], split.safe[k] = checked_index(low, v, shape[axis], axis), True
    return IndexPlace(arranged, tuple(indices), tuple(split.safe), tuple(dims_of(joined[0])), at, tuple(split.indexed))


def together(low: Lowering, values: Sequence[Value]) -> list[Value]:
    """Index arrays broadcast to one shape."""
    b = low.builder
    if not values:
        raise refuse("an index of no axes is not supported here", low.loc)
    shapes = [v.type.shape for v in values]
    ndim = max(map(len, shapes))
    target = []
    for k in range(-ndim, 0):
        distinct = list(dict.fromkeys(s[k] for s in shapes if len(s) >= -k and s[k] != 1)) or [as_dim(1)]
        size = distinct[0]
        for other in distinct[1:]:
            size = _joint_size(low, size, other, shapes)
        target.append(size)
    dims = [b.dim_value(d) for d in target]
    return [_filled(b.fit(v, target[ndim - v.type.ndim :]), dims) for v in values]


def _joint_size(low: Lowering, size: Dim, other: Dim, shapes: Sequence[Sequence[Dim]]) -> Dim:
    """The length two axes of index arrays broadcast to."""
    b = low.builder
    x, y = b.dim_value(size), b.dim_value(other)
    sure = b.not_one(size) and b.not_one(other)
    fine = OPS["equal"](x, y)
    if not sure:
        fine = OPS["logical_or"](fine, OPS["logical_or"](OPS["equal"](x, 1), OPS["equal"](y, 1)))
    texts = "".join(f"({','.join('{}' for _ in s)}{',' if len(s) == 1 else ''}) " for s in shapes)
    message = f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts}"
    sizes = [b.dim_value(d) for s in shapes for d in s]
    b.call_named("check_that", fine, *sizes, error="IndexError", message=message)
    return size if sure else b.joint_size(size, other)


def _take(low: Lowering, split: _Split, shape: Sequence[Any], position: int, part: Any) -> None:
    axis = len(split.axes)
    if isinstance(part, Const) and part.value is None:
        split.order.append(None)
        return
    if isinstance(part, SliceOf) or (isinstance(part, Const) and isinstance(part.value, slice)):
        selector, own = indexing.axis_selector(low, part, shape[axis], axis)
        split.axes.append(selector)
        split.operands += own
        split.order.append(axis)
        return
    value = part if isinstance(part, Value) else low.value(part, "the index")
    masked = value.type.dtype == BOOL
    if masked:
        _check_mask(low, value, shape, axis)
    for index in searching.nonzero(value) if masked else (value,):
        split.indexed.append(len(split.axes))
        split.axes.append(":")
        split.indices.append(index)
        split.safe.append(masked)
    split.places.append(position)
