"""What a list's cell holds: its items while they are known, else one array or growing list per number.

While the length of a list and the kinds of its items are known, its content is a `Tup`. Where paths
or trips of a loop make different lengths, or an index is known at run time only, it becomes `Rows`:
arrays while the length stays, growing lists once it changes. Shapes describe contents at a loop's
header, as those of `headers` describe names; they only grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from srcgraph.frontend import headers, item_kinds, nested, shape_values, watched
from srcgraph.frontend.entities import (
    ALREADY,
    Cell,
    Content,
    Entity,
    ListCell,
    Listing,
    Rows,
    State,
    Tup,
    Unusable,
)
from srcgraph.frontend.memory import put, refuse
from srcgraph.frontend.once import refuse_kept
from srcgraph.ir.dims import UNKNOWN, Dim, as_dim
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ArrayType, ListType, ScalarType, Type, without_value
from srcgraph.ir.view import element

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, slots=True)
class Items:
    """A known number of items."""

    items: tuple[headers.Shape, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Items of one kind: ``size`` of them, `UNKNOWN` where it differs; ``growing`` if it changes."""

    item: headers.Shape
    size: Dim
    growing: bool
    inner: tuple[tuple[Dim, ...], ...] = ()
    """The lengths of lists in it, for each of the arrays that hold it; nothing is known of them if it is empty."""


ContentShape: TypeAlias = "Items | Table | headers.Broken"


# -- contents -------------------------------------------------------------------------------------


def readable(state: State, entity: Entity) -> Entity:
    """An entity; for a list that cannot be read, why."""
    held = state.store.get(entity.cell) if isinstance(entity, Listing) else None
    return held if isinstance(held, Unusable) else entity


def in_a_trip(low: Lowering, state: State, entity: Entity) -> Entity:
    """As `readable`; why it cannot be read is said again, as only the last walk through a loop counts."""
    found = readable(state, entity)
    if found == Unusable(ALREADY) and isinstance(entity, Listing):
        return low.reasons.get(entity.cell, found)
    return found


def content_in(state: State, cell: Cell) -> Content:
    held = state.store[cell]
    assert isinstance(held, Tup | Rows)
    return held


def content(low: Lowering, listing: Listing) -> Content:
    """What a list holds now."""
    watched.check(low, listing)
    held = low.state.store[listing.cell]
    if isinstance(held, Unusable):
        if held != Unusable(ALREADY):
            low.reasons[listing.cell] = held
        low.state.store[listing.cell] = Unusable(ALREADY)
        raise low.unusable(held)
    assert isinstance(held, Tup | Rows)
    return held if not listing.at else nested.row_of(low, held, listing.at)


def new_list(low: Lowering, held: Content, name: str = "") -> Listing:
    """A reference to a new list."""
    _refuse_iterators(low, held)
    cell = ListCell(name)
    low.state.store[cell] = held
    return Listing(cell)


def _refuse_iterators(low: Lowering, held: Content) -> None:
    if isinstance(held, Tup):
        refuse_kept(low, held.items, "in a list")


def put_content(low: Lowering, listing: Listing, held: Content) -> None:
    """Let a list hold other items; what may be the same list can no longer be read."""
    _refuse_iterators(low, held)
    if listing.at:
        nested.put_row(low, listing, held)
        return
    put(low, listing.cell, held)


def has_short_lists(held: object) -> bool:
    """Whether a content is of lists of a known length each."""
    return isinstance(held, Rows) and item_kinds.is_short(held.item)


def stay_known(x: object, y: object) -> bool:
    """Whether a list that holds the first or the second has items that are known when compiling."""
    return isinstance(x, Tup) and isinstance(y, Tup) and len(x.items) == len(y.items)


def must_grow_if_rows(held: object) -> bool:
    """Whether a content is of arrays at run time."""
    return isinstance(held, Rows) and item_kinds.must_grow(held.item)


def axes_of_items(low: Lowering, entity: Entity) -> int:
    """The axes of the arrays in a list at run time; 0 where its items are something else."""
    held = content(low, entity) if isinstance(entity, Listing) else None
    return held.item.type.ndim if isinstance(held, Rows) and isinstance(held.item, headers.Buffer) else 0


def is_growing(rows: Rows) -> bool:
    return isinstance(rows.parts[0].type, ListType)


def size_of(rows: Rows) -> Dim:
    """The length of a table, where it is known."""
    type = rows.parts[0].type
    return type.shape[0] if isinstance(type, ArrayType) else UNKNOWN


def length(low: Lowering, held: Content) -> Value:
    """How many items there are, as a value."""
    if isinstance(held, Tup):
        return low.builder.const(len(held.items))
    first = held.parts[0]
    return OPS["list_len"](first) if isinstance(first.type, ListType) else low.builder.dim_value(first.type.shape[0])


def as_rows(low: Lowering, held: Content, kind: headers.Shape, growing: bool, name: str = "") -> Rows:
    """A content at run time, its items of a kind that theirs fits into."""
    growing = growing or item_kinds.must_grow(kind)
    if growing and nested.has_lists(kind):
        raise refuse(nested.GROWS, low.loc, nested.LISTS)
    leaves = shape_values.leaf_types(kind)
    if isinstance(held, Tup):
        rows = [shape_values.leaf_values(low, kind, e) for e in held.items]
        if nested.has_lists(kind):
            nested.detach(low, held, low.state.store)
        columns = [[row[k] for row in rows] for k in range(len(leaves))]
        pairs = zip(columns, leaves, strict=True)
        return Rows(kind, tuple(_column(low, c, t, growing, name + suffix) for c, (suffix, t) in pairs))
    pairs = zip(held.parts, leaves, strict=True)
    return Rows(kind, tuple(_converted(low, v, t, growing) for v, (_, t) in pairs))


def _column(low: Lowering, values: Sequence[Value], type: Type, growing: bool, name: str) -> Value:
    """The given numbers as an array or as a list."""
    b = low.builder
    if growing:
        return b.apply(OPS["list_new"], tuple(values), {"item": without_value(type)}, name=name)
    if isinstance(type, ArrayType):
        return _stacked(low, [b.cast(v, type.dtype) for v in values], name)
    assert isinstance(type, ScalarType)
    alike = bool(values) and all(v is values[0] for v in values)
    if alike:
        return b.apply(OPS["full"], (b.cast(values[0], type.dtype), b.const(len(values))), {}, name=name)
    out = b.apply(OPS["empty"], (b.const(len(values)),), {"dtype": type.dtype}, name=name)
    for k, value in enumerate(values):
        number = b.cast(value, type.dtype, False)
        out = b.apply(OPS["setitem"], (out, number, b.const(k)), {"view": element(1)}, name=name)
    return out


def _stacked(low: Lowering, rows: Sequence[Value], name: str) -> Value:
    """Arrays of one length as the rows of one."""
    b, shape = low.builder, rows[0].type.shape
    sizes = [b.const(len(rows)), *map(b.dim_value, shape)]
    out = b.apply(OPS["empty"], tuple(sizes), {"dtype": rows[0].type.dtype}, name=name)
    for k, row in enumerate(rows):
        fitted = nested.same_lengths(low, row, shape)
        out = b.apply(OPS["setitem"], (out, fitted, b.const(k)), {"view": nested.lead(out, 1)}, name=name)
    return out


def _converted(low: Lowering, part: Value, type: Type, growing: bool) -> Value:
    """A column with items of another type, or in the other form."""
    b = low.builder
    if isinstance(part.type, ListType):
        if growing and part.type.item == without_value(type):
            return part
        if isinstance(type, ArrayType):
            return part
        part = part_array(low, part)
    assert isinstance(type, ScalarType | ArrayType)
    part = b.cast(part, type.dtype, False, name=part.name)
    if not growing:
        return part
    assert isinstance(type, ScalarType)
    return b.apply(OPS["list_of"], (part,), {"weak": type.weak}, name=part.name)


def returned_part(low: Lowering, part: Value) -> Value:
    """A column as it is returned: arrays as a list, numbers as an array."""
    is_list = isinstance(part.type, ListType) and isinstance(part.type.item, ArrayType)
    return part if is_list else part_array(low, part)


def part_array(low: Lowering, part: Value) -> Value:
    """A column of numbers as an array."""
    if isinstance(part.type, ArrayType):
        return part
    if isinstance(part.type.item, ArrayType):
        why = "a list of arrays whose length changes while the program runs cannot be returned or made an array"
        raise refuse(why, low.loc, "store the arrays as rows of one array")
    b = low.builder
    return b.apply(OPS["list_array"], (part, OPS["list_len"](part)), {"dtype": part.type.item.dtype}, name=part.name)


# -- shapes of contents ---------------------------------------------------------------------------


def content_shape(low: Lowering, held: Content, state: State) -> ContentShape:
    """The shape of a content that is new in each iteration."""
    if isinstance(held, Tup):
        return Items(tuple(headers.shape_of(low, e, state) for e in held.items))
    return Table(held.item, UNKNOWN, is_growing(held))


def widen_content(low: Lowering, entry: Content, end: Content, ends: headers.Ends, name: str) -> ContentShape:
    """What a list holds at the header if it holds ``entry`` before the loop and ``end`` after an iteration."""
    if isinstance(entry, Tup) and isinstance(end, Tup) and len(entry.items) == len(end.items):
        pairs = zip(entry.items, end.items, strict=True)
        shapes = tuple(headers.widen(low, a, b, ends, f"{name}_{k}") for k, (a, b) in enumerate(pairs))
        return next((s for s in shapes if isinstance(s, headers.Broken)), None) or Items(shapes)
    tables = [c for c in (entry, end) if isinstance(c, Rows)]
    growing = not tables or any(map(is_growing, tables))
    kinds = (
        item_kinds.item_kind(low, entry, low.state, growing),
        low.inside(ends.region, ends.state, lambda: item_kinds.item_kind(low, end, ends.state, growing)),
    )
    found = [k for k in kinds if k is not None]
    kind = found[0]
    for other in found[1:]:
        kind = item_kinds.join_kinds(kind, other)
    if isinstance(kind, headers.Broken):
        return kind
    if not shape_values.leaf_types(kind):
        return item_kinds.without_numbers(kind)
    growing = growing or item_kinds.must_grow(kind)
    if growing and nested.has_lists(kind):
        return headers.Broken(nested.GROWS, nested.LISTS)
    size = _size(entry) if _size(entry) == _size(end) else UNKNOWN
    uneven = size == UNKNOWN and len(tables) < 2
    if uneven and nested.has_lists(kind):
        return headers.Broken(nested.GROWS, nested.LISTS)
    if growing or uneven:
        return Table(kind, UNKNOWN if growing else size, True)
    return Table(kind, size, False, _joined(_inner(entry), _inner(end)))


def _inner(held: Content) -> tuple[tuple[Dim, ...], ...]:
    """The lengths of lists in a content, for each of the arrays that hold it."""
    parts = held.parts if isinstance(held, Rows) else ()
    return tuple(part.type.shape[1:] for part in parts if isinstance(part.type, ArrayType))


def _joined(x: tuple[tuple[Dim, ...], ...], y: tuple[tuple[Dim, ...], ...]) -> tuple[tuple[Dim, ...], ...]:
    """Lengths that both say, `UNKNOWN` where they differ; nothing if they are of contents of another kind."""
    if [*map(len, x)] != [*map(len, y)]:
        return ()
    return tuple(tuple(a if a == b else UNKNOWN for a, b in zip(*pair, strict=True)) for pair in zip(x, y, strict=True))


def _size(held: Content) -> Dim:
    return as_dim(len(held.items)) if isinstance(held, Tup) else size_of(held)


def join_content_shapes(x: ContentShape, y: ContentShape) -> ContentShape:
    """The smaller shape that allows both."""
    match x, y:
        case (headers.Broken(), _):
            return x
        case (_, headers.Broken()):
            return y
        case (Items(items=a), Items(items=b)) if len(a) == len(b):
            items = tuple(map(headers.join_shapes, a, b))
            return next((s for s in items if isinstance(s, headers.Broken)), None) or Items(items)
        case (Table(), Table()):
            kind = item_kinds.join_kinds(x.item, y.item)
            if isinstance(kind, headers.Broken):
                return kind
            size = x.size if x.size == y.size else UNKNOWN
            return Table(kind, size, x.growing or y.growing, _joined(x.inner, y.inner))
        case (Items(), Table()):
            return y
    return x


def leaf_types(shape: ContentShape) -> list[tuple[str, Type]]:
    """Suffix and type of each value a content is carried as."""
    match shape:
        case Items(items=items):
            return [(f"_{k}{s}", t) for k, item in enumerate(items) for s, t in shape_values.leaf_types(item)]
        case Table(item=item, size=size, growing=growing, inner=inner):
            types = [(s, _part_type(t, size, growing)) for s, t in shape_values.leaf_types(item)]
            return [(s, _with_inner(t, inner[k]) if inner else t) for k, (s, t) in enumerate(types)]
    return []


def _with_inner(type: Type, inner: tuple[Dim, ...]) -> Type:
    """The type of an array of items, of which it is known how long lists in them are."""
    known = isinstance(type, ArrayType) and type.ndim == 1 + len(inner)
    return replace(type, shape=(type.shape[0], *inner)) if known else type  # type: ignore[union-attr, type-var]


def _part_type(type: Type, size: Dim, growing: bool) -> Type:
    if growing:
        assert not isinstance(type, ListType)
        return ListType(without_value(type))  # type: ignore[arg-type]
    assert isinstance(type, ScalarType | ArrayType)
    return ArrayType(type.dtype, (size, *type.shape))


def leaf_values(low: Lowering, shape: ContentShape, held: Content | Unusable, name: str = "") -> list[Value]:
    """The values a content gives to the leaves of ``shape``, converted, in the current state and region."""
    match shape:
        case Items(items=items):
            assert isinstance(held, Tup)
            return [v for s, e in zip(items, held.items, strict=True) for v in shape_values.leaf_values(low, s, e)]
        case Table(item=item, growing=growing):
            assert isinstance(held, Tup | Rows)
            return list(as_rows(low, held, item, growing, name).parts)
    return []


def instantiate(low: Lowering, shape: ContentShape, leaves: Iterator[Value], name: str) -> Content | Unusable:
    """The content a shape stands for, from its leaves' values."""
    match shape:
        case Items(items=items):
            return Tup(
                tuple(shape_values.instantiate(low, s, leaves, f"{name}_{k}") for k, s in enumerate(items)), list
            )
        case Table(item=item):
            return Rows(item, tuple(next(leaves) for _ in shape_values.leaf_types(item)))
    return Unusable(shape.why, shape.hint, low.loc)


def undefined(low: Lowering, like: Content, side: tuple) -> Content:
    """Something of the kind of ``like`` that is never read, built in the current region."""
    if isinstance(like, Tup):
        return replace(like, items=tuple(low.undefined(e, side) for e in like.items))
    return as_rows(low, Tup((), list), like.item, is_growing(like))
