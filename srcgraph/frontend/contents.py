"""What a list's cell holds: its items while they are known, else one array or growing list per number.

While the length of a list and the kinds of its items are known, its content is a `Tup`. Where paths
or trips of a loop make different lengths, or an index is known at run time only, it becomes `Rows`:
arrays while the length stays, growing lists once it changes. Shapes describe contents at a loop's
header, as those of `headers` describe names; they only grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from srcgraph.errors import InferenceError, InternalError
from srcgraph.frontend import headers, shape_values
from srcgraph.frontend.entities import (
    ALREADY,
    NONE,
    Array,
    Cell,
    Const,
    Content,
    Entity,
    Listing,
    Rows,
    State,
    Tup,
    Unusable,
    cells_of,
    may_share,
    within,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import put, refuse
from srcgraph.infer.signature import ArrayArg, MaybeArg, RowsArg, ScalarArg, Skeleton, StaticArg, TupleArg
from srcgraph.ir.dims import UNKNOWN, Dim, as_dim
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import BOOL, INT, ArrayType, ListType, ScalarType, Type, without_value
from srcgraph.ir.view import View, element

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


ContentShape: TypeAlias = "Items | Table | headers.Broken"


# -- kinds of items -------------------------------------------------------------------------------


def kind_of(low: Lowering, entity: Entity, state: State) -> headers.Shape:
    """What an item is, whatever its value."""
    if isinstance(entity, Tup):
        items = [kind_of(low, e, state) for e in entity.items]
        broken = next((s for s in items if isinstance(s, headers.Broken)), None)
        return broken or headers.Several(tuple(items), entity.cls)
    if isinstance(entity, Listing):
        held = state.store[entity.cell]
        if isinstance(held, Unusable):
            return headers.Broken(held.why, held.hint)
        kind = item_kind(low, inside(content_in(state, entity.cell), len(entity.at)), state)
        if kind is None or must_grow(kind) or isinstance(kind, headers.Several):
            return headers.Broken("a list of lists of this kind is not supported", LISTS)
        return kind if isinstance(kind, headers.Broken) else headers.Row(kind)
    return headers.shape_of(low, entity, state)


LISTS = "make all lists at their full length, as [[0] * m for _ in range(n)], or use an array of two axes"
"""What to do with lists of lists that are not rectangles of numbers."""


def inside(held: Content, depth: int) -> Content:
    """A content of the kind of the lists so deep inside; its parts mean nothing."""
    for _ in range(depth):
        assert isinstance(held, Rows) and isinstance(held.item, headers.Row)
        held = Rows(held.item.item, held.parts)
    return held


def or_none(kind: headers.Shape) -> headers.Shape:
    """Items of a kind, or None."""
    if isinstance(kind, headers.Broken | headers.Later):
        return kind
    return headers.Later(kind, True, NONE)


def join_kinds(x: headers.Shape, y: headers.Shape) -> headers.Shape:
    """The kind both are of."""
    match x, y:
        case (headers.Same(entity=Const(value=None)), headers.Same(entity=Const(value=None))):
            return x
        case (headers.Same(entity=Const(value=None)), other) | (other, headers.Same(entity=Const(value=None))):
            return or_none(other)
        case (headers.Later(shape=a), headers.Later(shape=b)):
            return or_none(join_kinds(a, b))
        case (headers.Later(shape=a), b) | (b, headers.Later(shape=a)):
            return or_none(join_kinds(a, b))
        case (headers.Broken(), _):
            return x
        case (_, headers.Broken()):
            return y
        case (headers.Row(item=a), headers.Row(item=b)):
            item = join_kinds(a, b)
            return item if isinstance(item, headers.Broken) else headers.Row(item)
        case (headers.Number(), headers.Number()) | (headers.Buffer(), headers.Buffer()):
            if isinstance(x, headers.Buffer) and isinstance(y, headers.Buffer):
                if (x.type.dtype, x.type.ndim) == (y.type.dtype, y.type.ndim):
                    return x
            else:
                return headers.join_shapes(x, y)
        case (headers.Several(items=a, cls=cls), headers.Several(items=b)) if len(a) == len(b):
            items = list(map(join_kinds, a, b))
            broken = next((s for s in items if isinstance(s, headers.Broken)), None)
            return broken or headers.Several(tuple(items), cls)
        case (headers.Same(), headers.Same()) if x == y:
            return x
    why = f"a list that grows while the program runs holds both {_shown(x)} and {_shown(y)}"
    return headers.Broken(why, "keep one kind of item in a list, or use two lists")


def _shown(shape: headers.Shape) -> str:
    match shape:
        case headers.Number(type=type):
            return {"b": "bools", "i": "integers", "u": "integers", "f": "floats"}.get(
                type.dtype.kind, "complex numbers"
            )
        case headers.Buffer(type=type):
            return "arrays"
        case headers.Several(items=items):
            return f"tuples of {len(items)}"
        case headers.Row():
            return "lists"
        case headers.Same(entity=entity):
            return describe(entity)
    return "something else"


def item_kind(low: Lowering, content: Content, state: State) -> headers.Shape | None:
    """What the items of a content are; None if there is none yet."""
    if isinstance(content, Rows):
        return content.item
    kind = None
    for item in content.items:
        own = kind_of(low, item, state)
        kind = own if kind is None else join_kinds(kind, own)
    return kind


def joint_kind(low: Lowering, *contents: tuple[Content, State]) -> headers.Shape:
    """What the items of several contents all are.

    Raises
    ------
    Refusal
        They have nothing in common.
    """
    found = [k for k in (item_kind(low, c, s) for c, s in contents) if k is not None]
    kind = found[0] if found else headers.Number(ScalarType(INT, weak=True))
    for other in found[1:]:
        kind = join_kinds(kind, other)
    return usable(low, kind)


def usable(low: Lowering, kind: headers.Shape) -> headers.Shape:
    """A kind of item that a list at run time can have; of None alone, what may become integers."""
    if kind == headers.Same(NONE):
        return or_none(headers.Number(ScalarType(INT, weak=True)))
    if isinstance(kind, headers.Broken):
        raise refuse(kind.why, low.loc, kind.hint, kind=InferenceError)
    if not shape_values.leaf_types(kind):
        broken = _without_numbers(kind)
        raise refuse(broken.why, low.loc, broken.hint)
    return kind


def _without_numbers(kind: headers.Shape) -> headers.Broken:
    why = f"a list of {_shown(kind)} that grows while the program runs is not supported"
    return headers.Broken(why, "lists hold numbers, arrays, or tuples of these", unroll=True)


# -- contents -------------------------------------------------------------------------------------


def readable(state: State, entity: Entity) -> Entity:
    """An entity; for a list that cannot be read, why."""
    held = state.store.get(entity.cell) if isinstance(entity, Listing) else None
    return held if isinstance(held, Unusable) else entity


def content_in(state: State, cell: Cell) -> Content:
    held = state.store[cell]
    assert isinstance(held, Tup | Rows)
    return held


def content(low: Lowering, listing: Listing) -> Content:
    """What a list holds now."""
    held = low.state.store[listing.cell]
    if isinstance(held, Unusable):
        if held != Unusable(ALREADY):
            low.reasons[listing.cell] = held
        low.state.store[listing.cell] = Unusable(ALREADY)
        raise low.unusable(held)
    assert isinstance(held, Tup | Rows)
    return held if not listing.at else row_of(low, held, listing.at)


def row_of(low: Lowering, held: Content, at: Sequence[Value]) -> Rows:
    """The content of a list inside a list, to be read."""
    kind = inside(held, len(at))
    assert isinstance(kind, Rows)
    return replace(
        kind, parts=tuple(low.builder.apply(OPS["getitem"], (p, *at), {"view": lead(p, len(at))}) for p in kind.parts)
    )


def lead(part: Value, count: int) -> View:
    """What integers for the first axes select."""
    rest = part.type.ndim - count
    return View(("i",) * count + (":",) * rest, tuple(range(rest)))


def put_row(low: Lowering, listing: Listing, held: Content) -> None:
    """Let a list inside a list hold other items, as many as before."""
    outer = content(low, Listing(listing.cell))
    if isinstance(held, Rows) and is_growing(held):
        raise refuse("a list inside a list that changes its length is not supported", low.loc, LISTS)
    kind = joint_kind(low, (inside(outer, len(listing.at)), low.state), (held, low.state))
    outer = with_inner_kind(low, listing, kind)
    new = as_rows(low, held, kind, growing=False)
    put(low, listing.cell, replace(outer, parts=stored_rows(low, outer.parts, listing.at, new.parts)))


def stored_rows(low: Lowering, parts: Sequence[Value], at: Sequence[Value], new: Sequence[Value]) -> tuple[Value, ...]:
    """Columns with other numbers at the indices of a list inside."""
    b, out = low.builder, []
    for part, row in zip(parts, new, strict=True):
        room = part.type.shape[len(at) :]
        fitted = same_lengths(low, row, room)
        out.append(b.apply(OPS["setitem"], (part, fitted, *at), {"view": lead(part, len(at))}, name=part.name))
    return tuple(out)


def same_lengths(low: Lowering, row: Value, room: Sequence[Dim]) -> Value:
    """A row, checked to be as long as the others."""
    b = low.builder
    for own, wanted in zip(row.type.shape, room, strict=True):
        if own.const is not None and wanted.const is not None and own != wanted:
            raise refuse("lists of different lengths in a list are not supported here", low.loc, LISTS)
        if own != wanted:
            alike = OPS["equal"](b.dim_value(own), b.dim_value(wanted))
            message = "lists of different lengths in a list are not supported"
            b.call_named("check_that", alike, error="NotImplementedError", message=message)
    return b.retype(row, tuple(room))


def with_inner_kind(low: Lowering, listing: Listing, kind: headers.Shape) -> Rows:
    """The content of the whole list, its innermost items of a kind that those of ``listing`` have to be of."""
    outer = low.state.store[listing.cell]
    assert isinstance(outer, Rows)
    for _ in listing.at:
        kind = headers.Row(kind)
    if outer.item != kind:
        outer = as_rows(low, outer, kind, growing=False)
        low.state.store[listing.cell] = outer
    return outer


def new_list(low: Lowering, held: Content, name: str = "") -> Listing:
    """A reference to a new list."""
    cell = Cell(name)
    low.state.store[cell] = held
    return Listing(cell)


def put_content(low: Lowering, listing: Listing, held: Content) -> None:
    """Let a list hold other items; what may be the same list can no longer be read."""
    if listing.at:
        put_row(low, listing, held)
        return
    arrays = {c: low.state.store[c] for c in listing.cell.shares if isinstance(low.state.store.get(c), Value)}
    put(low, listing.cell, held)
    low.state.store.update(arrays)


def link(low: Lowering, cell: Cell, entity: Entity) -> None:
    """Record that arrays may be items of a list at run time: a store into one is a change of the list, unseen by it."""
    if not (isinstance(entity, Array | Tup) and must_grow_if_rows(low.state.store.get(cell))):
        return
    for array in (c for e in within(entity, State()) if isinstance(e, Array) for c in cells_of(e)):
        for other in (array, *array.shares):
            if isinstance(low.state.store.get(other), Value):
                may_share(other, cell)


def link_all(cell: Cell, held: object, grows: bool) -> None:
    """Record that the known items of a list become items at run time, if they do."""
    if isinstance(held, Tup) and grows:
        for array in (c for e in held.items for c in cells_of(e)):
            may_share(array, cell)


def link_item(low: Lowering, cell: Cell, item: Entity) -> None:
    """Record that an array read from a list may be what was put there, in other lists too."""
    link_known(low, cell, item)
    link(low, cell, item)


def link_known(low: Lowering, cell: Cell, item: Entity) -> None:
    """Record that an array that was in a list may be one that was put there."""
    for own in cells_of(item):
        for array in [c for c in cell.shares if isinstance(low.state.store.get(c), Value)]:
            for other in [array, *array.shares]:
                if other is not cell:
                    may_share(own, other)


def must_grow_if_rows(held: object) -> bool:
    """Whether a content is of arrays at run time."""
    return isinstance(held, Rows) and must_grow(held.item)


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


def must_grow(kind: headers.Shape) -> bool:
    """Whether items of a kind cannot be in arrays of numbers: they are arrays themselves."""
    if isinstance(kind, headers.Several):
        return any(map(must_grow, kind.items))
    if isinstance(kind, headers.Later):
        return must_grow(kind.shape)
    return isinstance(kind, headers.Buffer)


def has_lists(kind: headers.Shape) -> bool:
    """Whether items of a kind are lists, or tuples with lists in them."""
    return isinstance(kind, headers.Row) or (isinstance(kind, headers.Several) and any(map(has_lists, kind.items)))


def detach(low: Lowering, held: Tup, store: dict[Cell, Any]) -> None:
    """Lists that become rows of another are not lists of their own any more."""
    cells = [e.cell for e in held.items if isinstance(e, Listing)]
    if len(set(cells)) < len(cells) or any(isinstance(e, Listing) and e.at for e in held.items):
        raise refuse("a list that is in another twice, or in two lists, is not supported here", low.loc, COPY)
    for cell in cells:
        if cell.visible:
            raise refuse("a list of lists of different kinds or lengths as an argument", low.loc, LISTS)
        store[cell] = Unusable("this list is inside another, whose lists are chosen by an index of run time", COPY)


COPY = "put a copy there, row[:], or exchange two by xs[i], xs[j] = xs[j], xs[i]"


def as_rows(low: Lowering, held: Content, kind: headers.Shape, growing: bool, name: str = "") -> Rows:
    """A content at run time, its items of a kind that theirs fits into."""
    growing = growing or must_grow(kind)
    if growing and has_lists(kind):
        raise refuse(GROWS, low.loc, LISTS)
    leaves = shape_values.leaf_types(kind)
    if isinstance(held, Tup):
        rows = [shape_values.leaf_values(low, kind, e) for e in held.items]
        if has_lists(kind):
            detach(low, held, low.state.store)
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


GROWS = "a list of lists that grows while the program runs is not supported"


def _stacked(low: Lowering, rows: Sequence[Value], name: str) -> Value:
    """Arrays of one length as the rows of one."""
    b, shape = low.builder, rows[0].type.shape
    sizes = [b.const(len(rows)), *map(b.dim_value, shape)]
    out = b.apply(OPS["empty"], tuple(sizes), {"dtype": rows[0].type.dtype}, name=name)
    for k, row in enumerate(rows):
        fitted = same_lengths(low, row, shape)
        out = b.apply(OPS["setitem"], (out, fitted, b.const(k)), {"view": lead(out, 1)}, name=name)
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


def part_array(low: Lowering, part: Value) -> Value:
    """A column of numbers as an array."""
    if isinstance(part.type, ArrayType):
        return part
    if isinstance(part.type.item, ArrayType):
        why = "a list of arrays that grows while the program runs cannot be returned or made an array"
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
    found = [k for k in (item_kind(low, entry, low.state), item_kind(low, end, ends.state)) if k is not None]
    kind = found[0]
    for other in found[1:]:
        kind = join_kinds(kind, other)
    if isinstance(kind, headers.Broken):
        return kind
    if not shape_values.leaf_types(kind):
        return _without_numbers(kind)
    tables = [c for c in (entry, end) if isinstance(c, Rows)]
    growing = not tables or any(map(is_growing, tables)) or must_grow(kind)
    if growing and has_lists(kind):
        return headers.Broken(GROWS, LISTS)
    size = _size(entry) if _size(entry) == _size(end) else UNKNOWN
    uneven = size == UNKNOWN and len(tables) < 2
    if uneven and has_lists(kind):
        return headers.Broken(GROWS, LISTS)
    return Table(kind, UNKNOWN if growing else size, growing or uneven)


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
            kind = join_kinds(x.item, y.item)
            if isinstance(kind, headers.Broken):
                return kind
            size = x.size if x.size == y.size else UNKNOWN
            return Table(kind, size, x.growing or y.growing)
        case (Items(), Table()):
            return y
    return x


def leaf_types(shape: ContentShape) -> list[tuple[str, Type]]:
    """Suffix and type of each value a content is carried as."""
    match shape:
        case Items(items=items):
            return [(f"_{k}{s}", t) for k, item in enumerate(items) for s, t in shape_values.leaf_types(item)]
        case Table(item=item, size=size, growing=growing):
            return [(s, _part_type(t, size, growing)) for s, t in shape_values.leaf_types(item)]
    return []


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


# -- across calls ---------------------------------------------------------------------------------


def kind_as_skeleton(kind: headers.Shape) -> Skeleton:
    """A kind of item as part of a signature."""
    match kind:
        case headers.Number(type=type):
            return ScalarArg(type.dtype, type.weak)
        case headers.Buffer(type=type):
            return ArrayArg(type.dtype, ("",) * type.ndim, 0)
        case headers.Several(items=items, cls=cls):
            return TupleArg(tuple(map(kind_as_skeleton, items)), cls)
        case headers.Same(entity=Const(value=value)):
            return StaticArg(value)
        case headers.Row(item=item):
            return RowsArg(kind_as_skeleton(item), "", -1)
        case headers.Later(shape=shape):
            return MaybeArg(ScalarArg(BOOL, weak=True), kind_as_skeleton(shape), NONE)
    raise InternalError(f"{kind} is no kind of item")


def kind_of_skeleton(skeleton: Skeleton) -> headers.Shape:
    """The kind of item a signature describes."""
    match skeleton:
        case ScalarArg():
            return headers.Number(skeleton.type)
        case ArrayArg(dtype=dtype, shape=shape):
            return headers.Buffer(ArrayType(dtype, (UNKNOWN,) * len(shape)))
        case TupleArg(items=items, cls=cls):
            return headers.Several(tuple(map(kind_of_skeleton, items)), cls)
        case StaticArg(value=value):
            return headers.Same(Const(value))
        case RowsArg(item=item):
            return headers.Row(kind_of_skeleton(item))
        case MaybeArg(inner=inner):
            return or_none(kind_of_skeleton(inner))
    raise InternalError(f"{skeleton} is no kind of item")
