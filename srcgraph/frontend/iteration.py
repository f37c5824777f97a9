"""What a `for` runs over: how many items there are, and the one at a position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from srcgraph.errors import InferenceError
from srcgraph.frontend import (
    calls,
    contents,
    expressions,
    flat,
    indexing,
    item_kinds,
    library,
    linking,
    lists,
    nests,
    positions,
)
from srcgraph.frontend.entities import (
    Array,
    Cell,
    Const,
    Entity,
    Iteration,
    Listing,
    Rows,
    Scalar,
    Tup,
)
from srcgraph.frontend.memory import as_index, read, ref_type, refuse
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

Bounds = tuple[Value, Value, Value]


@dataclass(slots=True)
class Plan:
    """How a `for` runs: the bounds of its index, and the item at an index."""

    bounds: Bounds
    item: Callable[[Value], Entity]
    name: str = "i"
    lists: list[Cell] = field(default_factory=list)
    """The lists that are looped over."""
    held: list[Cell] = field(default_factory=list)
    """What is read an iteration before it is used, so that nothing may be stored into it."""
    lanes: bool = False
    """Whether it is a loop over lanes, see `srcgraph.ir.graph.For`."""
    few: range | None = None
    """The items, if they are few integers known when compiling."""


def plan_of(low: Lowering, over: Entity, name: str) -> Plan:
    """How to run over an iterable."""
    b = low.builder
    if isinstance(over, Iteration) and over.kind == "range":
        start, stop, step = (as_index(low, low.value(e), "a bound of range") for e in over.parts)
        return Plan((start, stop, step), Scalar, name)
    if isinstance(over, Iteration) and over.kind == "lanes":
        (count,) = (low.value(e) for e in over.parts)
        return Plan((b.const(0), count, b.const(1)), Scalar, name, lanes=True)
    count, item = counted(low, over)
    return Plan((b.const(0), count, b.const(1)), item)


Items = tuple[Value | None, Callable[[Value], Entity]]
"""How many items there are, None if there is no end, and the item at a position."""


def counted(low: Lowering, over: Entity) -> tuple[Value, Callable[[Value], Entity]]:
    """As `items_by_position`, of something that has an end."""
    count, item = items_by_position(low, over)
    if count is None:
        raise refuse(f"{low.shown(over)} has no end", low.loc, "go over it beside something that has: zip(xs, ...)")
    return count, item


def items_by_position(low: Lowering, over: Entity) -> Items:
    """How many items an iterable has, and the item at a position."""
    b = low.builder
    match over:
        case Array():
            kind = ref_type(low, over)
            if not kind.ndim:
                raise refuse("iteration over a 0-d array", low.loc, kind=InferenceError)
            return b.dim_value(kind.shape[0]), lambda k: indexing.element_at(low, over, [k])
        case Listing():
            return _list_by_position(low, over)
        case Iteration(kind="flat"):
            return b.dim_value(flat.size(low, over)), lambda k: Scalar(read(low, flat.element(low, over, k)))
        case Iteration(kind="range", parts=parts):
            start, stop, step = (as_index(low, low.value(e), "a bound of range") for e in parts)
            return trip_count(low, start, stop, step), lambda k: Scalar(OPS["add"](start, OPS["mul"](k, step)))
        case Iteration(kind="enumerate", parts=(inner, first)):
            count, item = items_by_position(low, inner)
            begin = as_index(low, low.value(first), "the start of enumerate")
            return count, lambda k: Tup((Scalar(OPS["add"](k, begin)), item(k)))
        case Iteration(kind="zip", parts=parts):
            return _zipped(low, parts)
        case Iteration(kind="map", parts=(function, inner)):
            count, item = items_by_position(low, inner)
            return count, lambda k: calls.apply(low, function, expressions.items_of(low, item(k)), {})
        case Iteration(kind="reversed", parts=(inner, *before)):
            length, item = counted(low, inner)
            first = low.value(before[0]) if before else length  # where the end was when it was made
            enough = OPS["less_equal"](first, length)
            count = first if first.type == length.type else OPS["where"](enough, first, low.builder.const(0))
            return count, lambda k: item(OPS["sub"](OPS["sub"](first, 1), k))
        case Iteration(kind=kind) if kind in positions.POSITIONS:
            return positions.POSITIONS[kind](low, *over.parts)
        case Iteration(kind="chain", parts=(Tup(items=(inner,)),)):
            return items_by_position(low, inner)
        case Iteration(kind=kind) if kind in nests.SELECTIONS:
            return items_by_position(low, lists.as_list(low, over))
        case Iteration():
            hint = "make a list of it first: list(...)"
            raise refuse(f"{low.shown(over)} beside others, or by position, is not supported", low.loc, hint)
        case Tup(items=items):
            raise refuse("a tuple cannot be mixed with arrays in one loop", low.loc, f"it has {len(items)} items")
    raise refuse(f"cannot loop over {low.shown(over)}", low.loc, kind=InferenceError)


def _list_by_position(low: Lowering, over: Listing) -> tuple[Value, Callable[[Value], Entity]]:
    held = contents.content(low, over)
    if isinstance(held, Tup):
        held = lists.turn_to_rows(low, over, held, item_kinds.joint_kind(low, held))

    def item(k: Value) -> Entity:
        now = contents.content(low, over)
        assert isinstance(now, Rows)
        found = lists.item_of(low, over, now, k)
        linking.link_item(low, over.cell, found)
        return found

    return contents.length(low, held), item


def _zipped(low: Lowering, parts: Sequence[Entity]) -> Items:
    pairs = [items_by_position(low, p) for p in parts]
    count: Value | None = None
    for other, _ in pairs:
        if count is None or other is None:
            count = other if count is None else count
        elif other.type != count.type:
            count = OPS["minimum"](count, other)
    return count, lambda k: Tup(tuple(item(k) for _, item in pairs))


def trip_count(low: Lowering, start: Value, stop: Value, step: Value) -> Value:
    """``len(range(start, stop, step))``."""
    known = step.type.value.const
    if known is None or known == 0:
        return low.value(lists.own(low, library.trips, Scalar(start), Scalar(stop), Scalar(step)))
    span = OPS["sub"](stop, start) if known > 0 else OPS["sub"](start, stop)
    if abs(known) > 1:
        span = OPS["floordiv"](OPS["add"](span, abs(known) - 1), abs(known))
    return span if low.builder.proves(span.type.value) else OPS["maximum"](span, 0)


def few(over: Entity) -> range | None:
    """A short range that is known when compiling: a comprehension over it makes a known number of items."""
    if not (isinstance(over, Iteration) and over.kind == "range"):
        return None
    ends = [e.value if isinstance(e, Const) else _known(e) for e in over.parts]
    known = [k for k in ends if k is not None]
    found = range(*known) if len(known) == 3 else None
    return found if found is not None and len(found) <= FEW else None


def _known(bound: Entity) -> int | None:
    return getattr(bound.value.type.value, "const", None) if isinstance(bound, Scalar) else None


FEW = 8
