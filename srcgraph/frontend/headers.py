"""What a loop carries: found by walking the body until the state at its header stops changing.

A `Shape` says what a name is at every iteration's start: one scalar type, an array, a reference
whose indices change, a tuple of these, or something bound only later. Shapes only grow, so the
search ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from srcgraph.frontend import contents
from srcgraph.frontend.choices import choosable, fixed, options_of, same_function, tag_among
from srcgraph.frontend.entities import (
    ALREADY,
    Array,
    Cell,
    Choice,
    Const,
    Entity,
    Listing,
    Maybe,
    Scalar,
    State,
    Tup,
    Unbound,
    Unusable,
    cells_of,
    may_share,
)
from srcgraph.frontend.join import describe, join_type
from srcgraph.frontend.memory import new_array, read, ref_type
from srcgraph.ir.dims import UNKNOWN, as_dim
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import BOOL, PY_BOOL, PY_INT, ArrayType, ListType, ScalarType, TensorType, Type, same_kind
from srcgraph.ir.view import View

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, slots=True)
class Same:
    """Not changed by the loop."""

    entity: Entity


@dataclass(frozen=True, slots=True)
class Number:
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array of its own at each iteration; unknown sizes are `UNKNOWN`."""

    type: ArrayType


@dataclass(frozen=True, slots=True)
class Part:
    """A reference into a cell that stays; the integers of its view change."""

    cell: Cell
    view: View
    count: int


@dataclass(frozen=True, slots=True)
class Several:
    items: tuple[Shape, ...]
    cls: type


@dataclass(frozen=True, slots=True)
class OneOf:
    """A choice of these; its tag is carried."""

    options: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Fresh:
    """A list of its own at each iteration."""

    content: contents.ContentShape


@dataclass(frozen=True, slots=True)
class Later:
    """Not bound before the loop; ``flagged`` unless the name is one the compiler introduced."""

    shape: Shape
    flagged: bool


@dataclass(frozen=True, slots=True)
class Broken:
    """Cannot be carried, and why."""

    why: str
    hint: str = ""


Shape: TypeAlias = Same | Number | Buffer | Part | Several | OneOf | Fresh | Later | Broken


def widen(low: Lowering, entry: Entity, end: Entity, end_state: State, name: str) -> Shape:
    """What a name is at the header if it is ``entry`` before the loop and ``end`` after an iteration."""
    if entry == end or end == Unusable(ALREADY):
        return Same(entry)
    if isinstance(entry, Unbound | Maybe) or isinstance(end, Maybe):
        inner = end.entity if isinstance(end, Maybe) else end
        if isinstance(inner, Unbound):
            return Same(entry)
        first = entry.entity if isinstance(entry, Maybe) else inner if isinstance(entry, Unbound) else entry
        shape = widen(low, first, inner, end_state, name)
        if isinstance(shape, Same):
            shape = shape_of(low, inner, end_state)
        return Later(shape, name not in low.internal)
    if _is_number(entry) and _is_number(end):
        type = join_type(_number_type(entry), _number_type(end))
        return Number(type) if isinstance(type, ScalarType) else Broken(_differs(name, entry, end))
    if isinstance(entry, Array) and isinstance(end, Array):
        return _widen_arrays(low, entry, end, end_state, name)
    if isinstance(entry, Listing) and isinstance(end, Listing):
        before, after = contents.content_in(low.state, entry.cell), contents.content_in(end_state, end.cell)
        return _fresh(contents.widen_content(low, before, after, end_state, name))
    if isinstance(entry, Tup) and isinstance(end, Tup) and len(entry.items) == len(end.items):
        pairs = zip(entry.items, end.items, strict=True)
        return _several([widen(low, a, b, end_state, name) for a, b in pairs], entry.cls)
    if choosable(entry) and choosable(end):
        return _widen_options(low, entry, end, name)
    return Broken(_differs(name, entry, end), "give it one kind of value before and inside the loop")


def _widen_options(low: Lowering, entry: Entity, end: Entity, name: str) -> Shape:
    merged = low.session.in_order([*options_of(entry), *options_of(end)], same_function)
    if not fixed(merged, options_of(entry)):
        return Broken(
            f"{name!r} is a function made anew in each iteration", "make it before the loop, and pass it what changes"
        )
    return OneOf(tuple(merged))


def _fresh(content: contents.ContentShape) -> Shape:
    """A list's shape; broken if its content is."""
    return content if isinstance(content, Broken) else Fresh(content)


def _differs(name: str, entry: Entity, end: Entity) -> str:
    return f"{name!r} is {describe(entry)} before the loop and {describe(end)} after an iteration"


def _widen_arrays(low: Lowering, entry: Array, end: Array, end_state: State, name: str) -> Shape:
    if entry.cell is end.cell and entry.view == end.view and entry.view is not None:
        return Part(entry.cell, entry.view, len(entry.operands))
    before = ref_type(low, entry)
    after = _in_state(low, end_state, end)
    if not same_kind(before, after):
        return Broken(
            f"{name!r} is {before} before the loop and {after} after an iteration", "keep one dtype and number of axes"
        )
    assert isinstance(before, ArrayType)
    sizes = tuple(a if a == b else UNKNOWN for a, b in zip(before.shape, after.shape, strict=True))
    return Buffer(replace(before, shape=sizes))


def _in_state(low: Lowering, state: State, ref: Array) -> TensorType:
    before, low.state = low.state, state
    try:
        return ref_type(low, ref)
    finally:
        low.state = before


def shape_of(low: Lowering, entity: Entity, state: State) -> Shape:
    """The shape of something that is new in each iteration."""
    if _is_number(entity):
        return Number(_number_type(entity))
    if isinstance(entity, Array):
        type = _in_state(low, state, entity)
        assert isinstance(type, ArrayType)
        return Buffer(replace(type, shape=tuple(UNKNOWN for _ in type.shape)))
    if isinstance(entity, Tup):
        return Several(tuple(shape_of(low, e, state) for e in entity.items), entity.cls)
    if isinstance(entity, Choice):
        return OneOf(entity.options)
    if isinstance(entity, Listing):
        return _fresh(contents.content_shape(low, contents.content_in(state, entity.cell), state))
    if isinstance(entity, Maybe):
        return Later(shape_of(low, entity.entity, state), flagged=True)
    return Same(entity)


def join_shapes(x: Shape, y: Shape) -> Shape:
    """The smaller shape that allows both."""
    match x, y:
        case (Same(), _):
            return y
        case (_, Same()):
            return x
        case (Number(type=a), Number(type=b)):
            joined = join_type(a, b)
            return Number(joined) if isinstance(joined, ScalarType) else Broken("its type does not settle")
        case (Buffer(type=a), Buffer(type=b)):
            return Buffer(
                replace(a, shape=tuple(d if d == e else UNKNOWN for d, e in zip(a.shape, b.shape, strict=True)))
            )
        case (Part(), Buffer()):
            return y
        case (Buffer(), Part()):
            return x
        case (OneOf(options=a), OneOf(options=b)):
            return OneOf((*a, *(o for o in b if not any(same_function(o, known) for known in a))))
        case (Several(items=a, cls=cls), Several(items=b)):
            return _several(list(map(join_shapes, a, b)), cls)
        case (Fresh(content=a), Fresh(content=b)):
            return _fresh(contents.join_content_shapes(a, b))
        case (Later(shape=a, flagged=f), Later(shape=b)):
            return Later(join_shapes(a, b), f)
        case (Later(shape=a, flagged=f), _):
            return Later(join_shapes(a, y), f)
        case (_, Later(shape=b, flagged=f)):
            return Later(join_shapes(x, b), f)
    return y if isinstance(y, Broken) or x == y else x


def _several(items: list[Shape], cls: type) -> Shape:
    """A tuple's shape; broken if an item is."""
    broken = next((s for s in items if isinstance(s, Broken)), None)
    return broken or Several(tuple(items), cls)


def _is_number(entity: Entity) -> bool:
    return isinstance(entity, Scalar) or (isinstance(entity, Const) and entity.is_number)


def _number_type(entity: Entity) -> ScalarType:
    if isinstance(entity, Const):
        return ScalarType(np.dtype(type(entity.value)), weak=True)
    assert isinstance(entity, Scalar) and isinstance(entity.value.type, ScalarType)
    return replace(entity.value.type, value=None)


# -- leaves: the values a shape is made of --------------------------------------------------------


def leaf_types(shape: Shape) -> list[tuple[str, Type]]:
    """Suffix and type of each value a shape carries."""
    match shape:
        case Number(type=type) | Buffer(type=type):
            return [("", type)]
        case Part(count=count):
            return [("_at", PY_INT)] * count
        case OneOf():
            return [("_choice", PY_INT)]
        case Several(items=items):
            return [(f"_{k}{s}", t) for k, item in enumerate(items) for s, t in leaf_types(item)]
        case Fresh(content=content):
            return contents.leaf_types(content)
        case Later(shape=inner, flagged=flagged):
            flag: list[tuple[str, Type]] = [("_bound", PY_BOOL)] if flagged else []
            return flag + leaf_types(inner)
    return []


def leaf_values(low: Lowering, shape: Shape, entity: Entity) -> list[Value]:
    """The values an entity gives to the leaves of ``shape``, converted, in the current state and region."""
    if entity == Unusable(ALREADY):  # a problem that is known: anything of the type will do
        return [default(low, t) for _, t in leaf_types(shape)]
    match shape:
        case Number(type=type):
            return [low.builder.cast(low.value(entity), type.dtype, type.weak)]
        case Buffer():
            assert isinstance(entity, Array)
            return [read(low, entity)]
        case Part():
            assert isinstance(entity, Array)
            return list(entity.operands)
        case OneOf(options=options):
            return [tag_among(low, entity, options)]
        case Several(items=items):
            assert isinstance(entity, Tup)
            return [v for s, e in zip(items, entity.items, strict=True) for v in leaf_values(low, s, e)]
        case Fresh(content=content):
            assert isinstance(entity, Listing)
            return contents.leaf_values(low, content, contents.content_in(low.state, entity.cell), entity.cell.name)
        case Later(shape=inner, flagged=flagged):
            return _later_values(low, inner, flagged, entity)
    return []


def _later_values(low: Lowering, inner: Shape, flagged: bool, entity: Entity) -> list[Value]:
    bound: Entity = Const(not isinstance(entity, Unbound))
    if isinstance(entity, Maybe):
        bound, entity = entity.bound, entity.entity
    flag = [low.builder.cast(low.value(bound), BOOL, True)] if flagged else []
    if isinstance(entity, Unbound):
        return flag + [default(low, t) for _, t in leaf_types(inner)]
    return flag + leaf_values(low, inner, entity)


def default(low: Lowering, type: Type) -> Value:
    """A value of ``type`` that is never read."""
    if isinstance(type, ArrayType):
        return OPS["empty"](*(0 for _ in type.shape), dtype=type.dtype)
    if isinstance(type, ListType):
        return OPS["list_new"](item=type.item)
    assert isinstance(type, ScalarType)
    zero = type.dtype.type(0)
    return low.builder.const(zero.item() if type.weak else zero)


def instantiate(low: Lowering, shape: Shape, leaves: Iterator[Value], name: str) -> Entity:
    """The entity a shape stands for, from its leaves' values; arrays get cells of their own."""
    match shape:
        case Same(entity=entity):
            return entity
        case Number():
            return Scalar(next(leaves))
        case Buffer():
            return new_array(low, next(leaves), name)
        case Part(cell=cell, view=view, count=count):
            return Array(cell, view, tuple(next(leaves) for _ in range(count)))
        case OneOf(options=options):
            return _option(low, next(leaves), options)
        case Several(items=items, cls=cls):
            return Tup(tuple(instantiate(low, s, leaves, name) for s in items), cls)
        case Fresh(content=content):
            held = contents.instantiate(low, content, leaves, name)
            return held if isinstance(held, Unusable) else contents.new_list(low, held, name)
        case Later(shape=inner, flagged=flagged):
            if not flagged:
                return instantiate(low, inner, leaves, name)
            bound = Scalar(next(leaves))
            return Maybe(bound, instantiate(low, inner, leaves, name))
        case Broken(why=why, hint=hint):
            return Unusable(why, hint, low.loc)


def _option(low: Lowering, tag: Value, options: tuple[Entity, ...]) -> Choice:
    low.builder.learn(tag.type.value, as_dim(len(options) - 1) - tag.type.value)
    return Choice(tag, options)


# -- sharing between the cells of a header --------------------------------------------------------


def share_with_entry(before: State, header: dict[str, Entity], live: Sequence[str]) -> None:
    """A carried array may be the memory it was before the loop, if anything else can see that."""
    for name, entity in header.items():
        for cell in cells_of(entity):
            for other in _outliving(before, cells_of(before.names.get(name, Unbound()))):
                if cell not in before.store and (other.visible or _seen_by_others(before, other, name, live)):
                    may_share(cell, other)
    _relate_names(header, before)


def share_with_ends(before: State, header: dict[str, Entity], ends: State) -> None:
    """A carried array may be the memory its name refers to after an iteration, if that outlives it.

    What another carried array may be counts too: where two are swapped, each may be what the other was.
    """
    grows = True
    while grows:
        grows = False
        for name, entity in header.items():
            for cell in cells_of(entity):
                found = _outliving(before, cells_of(ends.names.get(name, Unbound()))) - cell.shares
                if cell not in before.store and found:
                    grows = True
                    for other in found:  # and with what was made in the loop and may be that too
                        for same in (other, *other.shares):
                            may_share(cell, same)
    _relate_names(header, ends)


def _outliving(before: State, cells: Sequence[Cell]) -> set[Cell]:
    """The buffers from before the loop that some of these may be."""
    return {c for cell in cells for c in (cell, *cell.shares) if c in before.store}


def _seen_by_others(state: State, cell: Cell, name: str, live: Sequence[str]) -> bool:
    return any(cell in cells_of(state.names[n]) for n in live if n != name and n in state.names)


def _relate_names(header: dict[str, Entity], state: State) -> None:
    """Names that refer to one array in ``state`` may refer to one at the header."""
    names = list(header)
    for k, a in enumerate(names):
        for b in names[k + 1 :]:
            if _common(state.names.get(a), state.names.get(b)):
                for x in cells_of(header[a]):
                    for y in cells_of(header[b]):
                        may_share(x, y)


def _common(x: Entity | None, y: Entity | None) -> bool:
    if x is None or y is None:
        return False
    return any(a is b or b in a.shares for a in cells_of(x) for b in cells_of(y))
