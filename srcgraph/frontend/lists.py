"""Lists as users see them: items, methods, operators. Longer methods are written in Python, in `library`."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from srcgraph.errors import InferenceError
from srcgraph.frontend import (
    calls,
    choices,
    contents,
    expressions,
    headers,
    indexing,
    item_kinds,
    iteration,
    library,
    linking,
    nested,
    operators,
    shape_values,
    watched,
)
from srcgraph.frontend.contents import content, is_growing, length, new_list, part_array, put_content
from srcgraph.frontend.entities import (
    NONE,
    Array,
    Const,
    Content,
    Entity,
    Iteration,
    Listing,
    Once,
    Rows,
    Scalar,
    SliceOf,
    Tup,
    Views,
)
from srcgraph.frontend.memory import Dead, as_index, computed, known_int, new_array, read, refuse
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import PY_INT, ListType, ScalarType, Type
from srcgraph.ir.view import element

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

METHODS: dict[str, Callable[..., Entity]] = {}
OUTSIDE = "list index out of range"


def method(lower: Callable[..., Entity]) -> Callable[..., Entity]:
    """Enter the lowering of the list method of that name."""
    METHODS[lower.__name__.rstrip("_")] = lower
    return lower


def call_method(
    low: Lowering, receiver: Listing, name: str, args: Sequence[Entity], kwargs: dict[str, Entity]
) -> Entity:
    """``receiver.name(*args)``."""
    lower = METHODS[name]
    try:
        given = inspect.signature(lower).bind(low, receiver, *args, **kwargs)
    except TypeError as error:
        raise refuse(f"list.{name}: {error}", low.loc, kind=InferenceError) from None
    return lower(*given.args, **given.kwargs)


# -- other views of a list ------------------------------------------------------------------------


def known_items(low: Lowering, entity: Entity) -> tuple[Entity, ...] | None:
    """The items of a tuple, or of a list whose items are known when compiling."""
    if isinstance(entity, Listing):
        entity = content(low, entity)  # type: ignore[assignment]
    return expressions.countable(low, entity).items if isinstance(entity, Tup) else None


def listed(low: Lowering, entity: Entity) -> Entity:
    """A tuple as a list, whose items can be asked for by an index of run time; they are read now."""
    if not isinstance(entity, Tup):
        return entity
    made = new_list(low, Tup(expressions.countable(low, entity).items, list))
    watched.watch(low, made, [entity] if entity.cls in (Once, Views) else [])
    return made


# -- items ----------------------------------------------------------------------------------------


def in_range(low: Lowering, index: Entity, held: Content, message: str = OUTSIDE) -> Value:
    """An index counted from the front, checked."""
    at = as_index(low, low.value(index), "the index of a list")
    known = known_int(low, at)
    if known is not None and known < 0:
        return _from_end(low, length(low, held), known, message)
    return low.builder.call_named("check_item", at, length(low, held), message=message)


def _from_end(low: Lowering, size: Value, known: int, message: str) -> Value:
    """``size + known``, checked, for a negative ``known``."""
    b = low.builder
    if not b.proves(size.type.value + known):
        enough = OPS["greater_equal"](size, -known)
        b.call_named("check_that", enough, error="IndexError", message=message)
        b.learn_condition(enough, True)
    return b.dim_value(size.type.value + known)


def known_place(low: Lowering, items: Sequence[Entity], index: Entity, message: str = OUTSIDE) -> int | None:
    """The position of an item where all is known when compiling; raises what Python does."""
    value = low.value(index)
    at = known_int(low, as_index(low, value, "the index of a list"))
    if at is None:
        return None
    if not -len(items) <= at < len(items):
        low.builder.call_named("check_that", False, error="IndexError", message=message)
        raise Dead
    return at % len(items)


def subscript(low: Lowering, base: Listing, index: Entity, hint: str = "") -> Entity:
    """``base[index]``: an item, or a new list for a slice."""
    held = content(low, base)
    if isinstance(index, SliceOf):
        if contents.must_grow_if_rows(held):
            step = Const(1) if index.step == NONE else index.step
            return own(low, library.part, base, index.start, index.stop, step)
        made = sliced(low, held, index, hint)
        linking.link_lists(base.cell, made.cell)
        return made
    if isinstance(held, Tup):
        at = known_place(low, held.items, index)
        if at is not None:
            return held.items[at]
        if not held.items:
            in_range(low, index, held)
            raise Dead
        if all(map(choices.choosable, held.items)):  # functions, strings: there are not numbers for them
            return choices.picked(low, held.items, as_index(low, low.value(index), "the index of a list"), "list")
        held = turn_to_rows(low, base, held, item_kinds.joint_kind(low, held))
    at_value = in_range(low, index, held)
    if isinstance(held.item, headers.Row):
        return Listing(base.cell, (*base.at, at_value))
    found = item_of(low, base, held, at_value, hint)
    linking.link_item(low, base.cell, found)
    return found


def turn_to_rows(low: Lowering, base: Listing, held: Content, kind: headers.Shape, growing: bool = False) -> Rows:
    """Let a list hold its items at run time, each of a kind that theirs fits into."""
    if base.at:
        if growing:
            raise refuse("a list inside a list that changes its length is not supported", low.loc, nested.LISTS)
        nested.with_inner_kind(low, base, kind)
        inner = content(low, base)
        assert isinstance(inner, Rows)
        return inner
    rows = contents.as_rows(low, held, kind, growing, base.cell.name)
    low.state.store[base.cell] = rows
    if isinstance(held, Tup):
        linking.link(low, base.cell, held)
    return rows


def item_of(low: Lowering, base: Listing, held: Rows, at: Value, hint: str = "") -> Entity:
    """The item at an index in range; a list inside is that very list."""
    if isinstance(held.item, headers.Row):
        return Listing(base.cell, (*base.at, at))
    whole = content(low, Listing(base.cell)) if base.at else held
    assert isinstance(whole, Rows)
    types = [t for _, t in shape_values.leaf_types(held.item)]
    leaves = [part_item(low, p, t, (*base.at, at), hint) for p, t in zip(whole.parts, types, strict=True)]
    return shape_values.instantiate(low, held.item, iter(leaves), hint)


def part_item(low: Lowering, part: Value, type: Type, at: Sequence[Value], hint: str) -> Value:
    """A number at the place of an item, which in a list inside a list has several indices."""
    b = low.builder
    if isinstance(part.type, ListType):
        return b.apply(OPS["list_get"], (part, *at), {}, name=hint)
    assert isinstance(type, ScalarType)
    number = b.apply(OPS["getitem"], (part, *at), {"view": element(len(at))}, name=hint)
    return b.cast(number, type.dtype, type.weak, name=hint)


def store(low: Lowering, base: Listing, index: Entity, entity: Entity) -> None:
    """``base[index] = entity``."""
    held = content(low, base)
    if isinstance(index, SliceOf):
        store_slice(low, base, index, entity)
        return
    message = "list assignment index out of range"
    if isinstance(held, Tup):
        at = known_place(low, held.items, index, message)
        if at is not None:
            put_content(low, base, Tup((*held.items[:at], entity, *held.items[at + 1 :]), list))
            return
        if not held.items:
            in_range(low, index, held, message)
            raise Dead
    rows = with_room_for(low, base, entity)
    at_value = in_range(low, index, rows, message)
    leaves = shape_values.leaf_values(low, rows.item, entity)
    if base.at or isinstance(rows.item, headers.Row):
        nested.store_inside(low, base, at_value, leaves, entity)
        return
    parts = [stored(low, p, at_value, v) for p, v in zip(rows.parts, leaves, strict=True)]
    put_content(low, base, Rows(rows.item, tuple(parts)))
    linking.link(low, base.cell, entity)


def stored(low: Lowering, part: Value, at: Value, value: Value) -> Value:
    b = low.builder
    if isinstance(part.type, ListType):
        return b.apply(OPS["list_set"], (part, at, value), {}, name=part.name)
    number = b.cast(value, part.type.dtype, False)
    return b.apply(OPS["setitem"], (part, number, at), {"view": element(1)}, name=part.name)


def with_room_for(low: Lowering, base: Listing, entity: Entity, growing: bool = False) -> Rows:
    """The content of a list at run time, its kind of item one that ``entity`` fits into."""
    held = content(low, base)
    growing = growing or (isinstance(held, Rows) and is_growing(held))
    kind = item_kinds.joint_kind(low, held, Tup((entity,)), growing=growing)
    if isinstance(held, Rows) and held.item == kind and (is_growing(held) or not growing):
        return held
    return turn_to_rows(low, base, held, kind, growing)


# -- methods --------------------------------------------------------------------------------------


@method
def append(low: Lowering, xs: Listing, value: Entity) -> Entity:
    held = content(low, xs)
    if isinstance(held, Tup):
        put_content(low, xs, Tup((*held.items, value), list))
        return NONE
    rows = with_room_for(low, xs, value, growing=True)
    leaves = shape_values.leaf_values(low, rows.item, value)
    b = low.builder
    pairs = zip(rows.parts, leaves, strict=True)
    parts = [b.apply(OPS["list_push"], (p, v), {}, name=p.name) for p, v in pairs]
    put_content(low, xs, Rows(rows.item, tuple(parts)))
    linking.link(low, xs.cell, value)
    return NONE


@method
def pop(low: Lowering, xs: Listing, index: Entity = Const(-1)) -> Entity:
    held = content(low, xs)
    if isinstance(held, Tup):
        message = "pop index out of range" if held.items else "pop from empty list"
        at = known_place(low, held.items, index, message)
        if at is not None:
            put_content(low, xs, Tup(held.items[:at] + held.items[at + 1 :], list))
            return held.items[at]
        kind = item_kinds.joint_kind(low, held, growing=True)
        held = turn_to_rows(low, xs, held, kind, growing=True)
    if not is_growing(held):
        held = turn_to_rows(low, xs, held, held.item, growing=True)
    b = low.builder
    made = b.definition(held.parts[0])
    if made is None or made.op.name != "list_push":
        some = OPS["greater"](length(low, held), 0)
        b.call_named("check_that", some, error="IndexError", message="pop from empty list")
    at = None if index == Const(-1) else in_range(low, index, held, "pop index out of range")
    return without_item(low, xs, held, at)


def without_item(low: Lowering, xs: Listing, held: Rows, at: Value | None) -> Entity:
    """Take an item from a growing list, at an index in range or at the end."""
    b = low.builder
    op, where = (OPS["list_pop"], ()) if at is None else (OPS["list_take"], (at,))
    pairs = [b.apply(op, (p, *where), {}, name="") for p in held.parts]
    put_content(low, xs, Rows(held.item, tuple(rest for rest, _ in pairs)))
    for part, (rest, _) in zip(held.parts, pairs, strict=True):
        object.__setattr__(rest, "name", part.name)
    popped = shape_values.instantiate(low, held.item, iter([item for _, item in pairs]), "")
    linking.link_known(low, xs.cell, popped)
    return popped


@method
def clear(low: Lowering, xs: Listing) -> Entity:
    put_content(low, xs, Tup((), list))
    return NONE


@method
def copy(low: Lowering, xs: Listing) -> Entity:
    return copied(low, xs)


def copied(low: Lowering, xs: Listing) -> Listing:
    """A new list of the same items: numbers of one that grows are in arrays there."""
    held = content(low, xs)
    if isinstance(held, Tup):
        return new_list(low, held)
    if nested.has_lists(held.item):
        raise refuse("a copy of a list of lists has the same lists in it", low.loc, "copy each: [row[:] for row in xs]")
    if item_kinds.must_grow(held.item):
        made = own(low, library.again, xs)
        assert isinstance(made, Listing)
        return made
    rows = contents.as_rows(low, held, held.item, growing=False)
    made = new_list(low, Rows(rows.item, tuple(low.builder.apply(OPS["copy"], (p,), {}) for p in rows.parts)))
    linking.link_lists(xs.cell, made.cell)
    return made


@method
def extend(low: Lowering, xs: Listing, more: Entity) -> Entity:
    items = known_items(low, more)
    if isinstance(more, Iteration) and more.kind == "map" and isinstance(more.parts[1], Tup):
        items = expressions.items_of(low, more)
    if items is not None:
        for item in items:
            append(low, xs, item)
        return NONE
    if isinstance(more, Listing):
        held = content(low, xs)
        if isinstance(held, Tup) and held.items:
            kind = item_kinds.joint_kind(low, held, content(low, more), growing=True)
            turn_to_rows(low, xs, held, kind, growing=True)
        return own(low, library.extend, xs, more)
    return own(low, library.extend_from, xs, more)


@method
def insert(low: Lowering, xs: Listing, index: Entity, value: Entity) -> Entity:
    held = content(low, xs)
    at = known_int(low, as_index(low, low.value(index), "the index of a list"))
    if isinstance(held, Tup) and at is not None:
        items = list(held.items)
        items.insert(at, value)
        put_content(low, xs, Tup(tuple(items), list))
        return NONE
    rows = with_room_for(low, xs, value, growing=True)
    b, size = low.builder, length(low, rows)
    place = _before(low, as_index(low, low.value(index), "the index of a list"), size)
    pairs = zip(rows.parts, shape_values.leaf_values(low, rows.item, value), strict=True)
    parts = [b.apply(OPS["list_insert"], (p, place, v), {}, name=p.name) for p, v in pairs]
    put_content(low, xs, Rows(rows.item, tuple(parts)))
    linking.link(low, xs.cell, value)
    return NONE


def _before(low: Lowering, index: Value, size: Value) -> Value:
    """Before which item an index inserts: counted from the front, and inside."""
    b = low.builder
    known = index.type.value
    front = index if b.proves(size.type.value - known) else OPS["minimum"](index, size)
    if b.proves(known):
        return front
    return OPS["where"](OPS["less"](index, 0), OPS["maximum"](OPS["add"](index, size), 0), front)


@method
def reverse(low: Lowering, xs: Listing) -> Entity:
    held = content(low, xs)
    if isinstance(held, Tup):
        put_content(low, xs, Tup(held.items[::-1], list))
        return NONE
    return own(low, library.reverse, xs)


@method
def remove(low: Lowering, xs: Listing, value: Entity) -> Entity:
    return own(low, library.remove, xs, value, item=value)


@method
def index(low: Lowering, xs: Listing, value: Entity, start: Entity = Const(0), stop: Entity = NONE) -> Entity:
    return own(low, library.index, xs, value, start, stop, item=value)


@method
def count(low: Lowering, xs: Listing, value: Entity) -> Entity:
    return own(low, library.count, xs, value, item=value)


@method
def sort(low: Lowering, xs: Listing, *, key: Entity = NONE, reverse: Entity = Const(False)) -> Entity:
    keys = xs if key == NONE else own(low, library.keys_of, xs, key)
    assert isinstance(keys, Listing)
    own(low, library.check_ordered, keys)
    kind = item_kinds.item_kind(low, content(low, keys), low.state)
    if isinstance(kind, headers.Number) and kind.type.dtype.kind in "biuf":
        return own(low, library.sort_numbers, xs, keys, reverse)
    return own(low, library.sort, xs, reverse) if key == NONE else own(low, library.sort_by, xs, keys, reverse)


def own(low: Lowering, function: Any, *args: Entity, item: Entity | None = None) -> Entity:
    """Call a function of `library`; lists whose items it indexes, not ``item``, hold them at run time."""
    for entity in args:
        if isinstance(entity, Listing) and entity is not item:
            held = content(low, entity)
            if isinstance(held, Tup) and held.items:
                turn_to_rows(low, entity, held, item_kinds.joint_kind(low, held))
    code = low.session.code_of(function)
    return calls.call_function(low, code, calls.bound(low, code, function, args, {}))


# -- slices and operators -------------------------------------------------------------------------


def _cut(low: Lowering, index: SliceOf) -> slice | None:
    """A slice whose parts are known when compiling."""
    parts = []
    for e in (index.start, index.stop, index.step):
        if isinstance(e, Scalar):
            known = known_int(low, e.value)
            if known is None:
                return None
            parts.append(known)
        else:
            parts.append(low.static(e, "a slice of a list"))
    return slice(*parts)


def sliced(low: Lowering, held: Content, index: SliceOf, hint: str = "") -> Listing:
    """``held[start:stop:step]`` as a new list."""
    cut = _cut(low, index)
    if isinstance(held, Tup):
        if cut is not None:
            return new_list(low, Tup(computed(low, operator.getitem, held.items, cut), list), hint)
        held = contents.as_rows(low, held, item_kinds.joint_kind(low, held), growing=False)
    if nested.has_lists(held.item):
        raise refuse("a slice of a list of lists has the same lists in it", low.loc, "loop over the positions")
    parts = []
    for part in held.parts:
        place = indexing.basic_place(low, new_array(low, part_array(low, part)), [index])
        parts.append(low.builder.apply(OPS["copy"], (read(low, place),), {}))
    return new_list(low, Rows(held.item, tuple(parts)), hint)


def store_slice(low: Lowering, base: Listing, index: SliceOf, entity: Entity) -> None:
    """``base[start:stop] = entity``."""
    items, new = known_items(low, base), known_items(low, entity)
    cut = _cut(low, index)
    if items is not None and new is not None and cut is not None:
        changed = list(items)
        try:
            changed[cut] = new
        except ValueError as error:
            raise refuse(str(error), low.loc, kind=InferenceError) from None
        put_content(low, base, Tup(tuple(changed), list))
        return
    if index.step not in (NONE, Const(1)):
        own(low, library.store_stepped, base, index.start, index.stop, index.step, as_list(low, entity))
        return
    own(low, library.store_slice, base, index.start, index.stop, as_list(low, entity))


def as_list(low: Lowering, entity: Entity) -> Listing:
    """A new list of the items of something that is looped over."""
    if isinstance(entity, Iteration) and entity.kind == "chain":
        parts = known_items(low, entity.parts[0])
        entity = parts[0] if parts is not None and len(parts) == 1 else entity
    if isinstance(entity, Listing):
        return copied(low, entity)
    made = new_list(low, Tup((), list))
    if isinstance(entity, Array) and indexing.ref_type(low, entity).ndim == 1:
        value = low.builder.apply(OPS["copy"], (read(low, entity),), {})
        low.state.store[made.cell] = Rows(headers.Number(ScalarType(value.type.dtype)), (value,))
    elif isinstance(entity, Iteration) and entity.kind == "range":
        value = pythonic_range(low, entity)
        low.state.store[made.cell] = Rows(headers.Number(PY_INT), (value,))
    else:
        extend(low, made, entity)
    return made


def pythonic_range(low: Lowering, over: Iteration) -> Value:
    """``range(start, stop, step)`` as an array."""
    start, stop, step = (low.value(e) for e in over.parts)
    return OPS["arange"](start, step, iteration.trip_count(low, start, stop, step))


def delete(low: Lowering, base: Listing, index: Entity) -> None:
    """``del base[index]``."""
    items = known_items(low, base)
    if isinstance(index, SliceOf):
        cut = _cut(low, index)
        if items is not None and cut is not None:
            left = list(items)
            del left[cut]
            put_content(low, base, Tup(tuple(left), list))
        elif index.step in (NONE, Const(1)):
            own(low, library.store_slice, base, index.start, index.stop, new_list(low, Tup((), list)))
        else:
            raise refuse("del of a slice with a step is not supported", low.loc)
        return
    if items is not None:
        at = known_place(low, items, index, "list assignment index out of range")
        if at is not None:
            put_content(low, base, Tup(items[:at] + items[at + 1 :], list))
            return
    held = content(low, base)
    if isinstance(held, Tup):
        held = turn_to_rows(low, base, held, item_kinds.joint_kind(low, held, growing=True), growing=True)
    elif not is_growing(held):
        held = turn_to_rows(low, base, held, held.item, growing=True)
    without_item(low, base, held, in_range(low, index, held, "list assignment index out of range"))


def joined(low: Lowering, x: Listing, y: Listing) -> Entity:
    """``x + y``."""
    a, b = content(low, x), content(low, y)
    if isinstance(a, Tup) and isinstance(b, Tup):
        return new_list(low, Tup(a.items + b.items, list))
    made = copied(low, x)
    extend(low, made, y)
    return made


def repeated(low: Lowering, x: Listing, times: Entity, hint: str = "") -> Entity:
    """``x * times``."""
    held = content(low, x)
    count = as_index(low, low.value(times), "the number of repetitions")
    known = known_int(low, count)
    if isinstance(held, Tup) and known is not None and len(held.items) * max(known, 0) <= FEW:
        return new_list(low, Tup(held.items * known, list), hint)
    kind = item_kinds.joint_kind(low, held)
    if nested.has_lists(kind):
        why = "a list that has one list in it many times is not supported: a change of one would be one of all"
        raise refuse(why, low.loc, "make them apart: [[0] * m for _ in range(n)]")
    if isinstance(held, Tup) and len(held.items) == 1 and not item_kinds.must_grow(kind):
        b = low.builder
        n = count if b.proves(count.type.value) else b.call_named("maximum", count, 0)
        leaves = zip(shape_values.leaf_values(low, kind, held.items[0]), shape_values.leaf_types(kind), strict=True)
        parts = [b.apply(OPS["full"], (b.cast(v, t.dtype), n), {}, name=hint) for v, (_, t) in leaves]  # type: ignore[union-attr]
        return new_list(low, Rows(kind, tuple(parts)), hint)
    return own(low, library.repeat, x, times)


FEW = 16
"""Up to so many items, a repeated list stays a known number of them."""


def augmented(low: Lowering, op: str, x: Listing, operand: Entity) -> Entity:
    """``x += operand`` changes the list itself."""
    if op == "add":
        extend(low, x, operand)
        return x
    made = operators.binary(low, op, x, operand)
    assert isinstance(made, Listing)
    put_content(low, x, content(low, made))
    return x


def equal(low: Lowering, x: Listing, y: Listing) -> Entity:
    """``x == y``."""
    return own(low, library.equal, x, y)


def contains(low: Lowering, xs: Listing, value: Entity) -> Entity:
    """``value in xs``."""
    return own(low, library.contains, xs, value, item=value)


def truth(low: Lowering, xs: Listing) -> Value | bool:
    held = content(low, xs)
    if isinstance(held, Tup):
        return bool(held.items)
    return OPS["greater"](length(low, held), 0)


def len_(low: Lowering, xs: Listing) -> Entity:
    held = content(low, xs)
    return Const(len(held.items)) if isinstance(held, Tup) else Scalar(length(low, held))
