"""Lists inside lists: those of one length are the rows of one array, at any depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from srcgraph.frontend import contents, headers, item_kinds
from srcgraph.frontend.entities import (
    Cell,
    Content,
    Entity,
    Listing,
    Rows,
    State,
    Tup,
    Unusable,
    within,
)
from srcgraph.frontend.memory import put, refuse
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ScalarType
from srcgraph.ir.view import View, element

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


LISTS = "make all lists at their full length, as [[0] * m for _ in range(n)], or use an array of two axes"
"""What to do with lists of lists that are not rectangles of numbers."""


COPY = "put a copy there, row[:], or exchange two by xs[i], xs[j] = xs[j], xs[i]"


GROWS = "a list of lists whose length changes while the program runs is not supported"


def inside(held: Content, depth: int) -> Content:
    """A content of the kind of the lists so deep inside; its parts mean nothing."""
    for _ in range(depth):
        assert isinstance(held, Rows) and isinstance(held.item, headers.Row)
        held = Rows(held.item.item, held.parts)
    return held


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
    outer = contents.content(low, Listing(listing.cell))
    if isinstance(held, Rows) and contents.is_growing(held):
        raise refuse("a list inside a list that changes its length is not supported", low.loc, LISTS)
    kind = item_kinds.joint_kind(low, inside(outer, len(listing.at)), held)
    outer = with_inner_kind(low, listing, kind)
    new = contents.as_rows(low, held, kind, growing=False)
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
        outer = contents.as_rows(low, outer, kind, growing=False)
        low.state.store[listing.cell] = outer
    return outer


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


def store_inside(low: Lowering, base: Listing, at: Value, leaves: Sequence[Value], entity: Entity) -> None:
    """``base[at] = entity`` where either is a list inside a list."""
    outer = low.state.store[base.cell]
    assert isinstance(outer, Rows)
    places = (*base.at, at)
    if isinstance(entity, Listing | Tup):
        if base.cell.visible:
            raise refuse("replacing a list inside an argument is not supported", low.loc, "store its items one by one")
        if isinstance(entity, Listing):
            detach(low, Tup((entity,)), low.state.store)
        put(low, base.cell, Rows(outer.item, stored_rows(low, outer.parts, places, leaves)))
        lose_rows(low, base.cell)
        return
    view = element(len(places))
    b, parts = low.builder, []
    for part, value in zip(outer.parts, leaves, strict=True):
        number = b.cast(value, part.type.dtype, False)
        parts.append(b.apply(OPS["setitem"], (part, number, *places), {"view": view}, name=part.name))
    put(low, base.cell, Rows(outer.item, tuple(parts)))


def apart(low: Lowering, entity: Entity) -> Entity:
    """Lists that are inside others as lists of their own, before they change places."""
    if isinstance(entity, Tup):
        return Tup(tuple(apart(low, e) for e in entity.items), entity.cls)
    return (
        contents.new_list(low, contents.content(low, entity)) if isinstance(entity, Listing) and entity.at else entity
    )


def lose_rows(low: Lowering, cell: Cell) -> None:
    """What means a list inside another, of which one was replaced, cannot be read any more."""

    def inside(entity: Entity) -> bool:
        return any(isinstance(e, Listing) and e.cell is cell and e.at for e in within(entity, State()))

    why, hint = "this is a list inside a list, and one inside that was replaced since", "index the outer list again"
    for key in [k for k, entity in low.state.names.items() if inside(entity)]:
        low.state.names[key] = Unusable(why, hint)
    for other in [c for c, held in low.state.store.items() if isinstance(held, Tup) and inside(held)]:
        low.state.store[other] = Unusable(why, hint)


def of_array(low: Lowering, value: Value) -> Listing:
    """The numbers of an array of several axes, as Python's in lists of lists."""
    kind: headers.Shape = headers.Number(ScalarType(value.type.dtype, weak=True))
    for _ in value.type.shape[1:]:
        kind = headers.Row(kind)
    return contents.new_list(low, Rows(kind, (low.builder.apply(OPS["copy"], (value,), {}),)))
