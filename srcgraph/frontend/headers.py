"""What a loop carries: found by walking the body until the state at its header stops changing.

A `Shape` says what a name is at every iteration's start: one scalar type, an array, a reference
whose indices change, a tuple of these, or something bound only later. Shapes only grow, so the
search ends.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from srcgraph.frontend import contents
from srcgraph.frontend.boxes import held, held_in
from srcgraph.frontend.choices import choosable, fixed, options_of, same_function, single
from srcgraph.frontend.either import Option
from srcgraph.frontend.entities import (
    ALREADY,
    INSIDE,
    NONE,
    UNBOUND,
    Array,
    Cell,
    Choice,
    Closure,
    Const,
    Either,
    Entity,
    Instance,
    Key,
    Listing,
    Maybe,
    Method,
    Partial,
    Record,
    Rows,
    Scalar,
    State,
    Tup,
    Unbound,
    Unusable,
    arrays_of,
    boxes_of,
    cells_of,
    parts_of,
    with_parts,
    within,
)
from srcgraph.frontend.exchange import Exchanged
from srcgraph.frontend.join import describe
from srcgraph.frontend.kinds import SAME_WIDTH, join_type, loses
from srcgraph.frontend.memory import chosen, ref_type, refuse
from srcgraph.frontend.presence import layer, parted
from srcgraph.ir.dims import UNKNOWN, as_dim
from srcgraph.ir.facts import Region
from srcgraph.ir.promote import in_words
from srcgraph.ir.types import ArrayType, ScalarType, TensorType, same_kind
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
class Chosen:
    """One of several arrays that something else sees too, or one made by an earlier iteration.

    Attributes
    ----------
    type : ArrayType
        Of the content.
    options : tuple of (Cell, View or None, number of operands)
        What it may refer to of what there was before the loop.
    own : bool
        Whether it may be an array of its own.
    stored : bool
        Whether the loop stores into one of them. The content is carried only if not; an array of
        its own only if so.
    """

    type: ArrayType
    options: tuple[Option, ...]
    own: bool
    stored: bool = False

    @property
    def tests(self) -> int:
        """How many tests tell the alternatives apart."""
        return len(self.options) + self.own - 1


@dataclass(frozen=True, slots=True)
class Several:
    items: tuple[Shape, ...]
    cls: type


@dataclass(frozen=True, slots=True)
class Row:
    """A list inside a list, as an item of that: all have one length, and items of one kind."""

    item: Shape


@dataclass(frozen=True, slots=True)
class RowAt:
    """A list inside a list that stays; where it is in that changes."""

    cell: Cell
    count: int


@dataclass(frozen=True, slots=True)
class OneOf:
    """A choice of these; its tag is carried."""

    options: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Holding:
    """One function, without what it holds: of that, as of defaults, the shapes."""

    function: Entity
    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Fresh:
    """A list of its own at each iteration."""

    content: contents.ContentShape


@dataclass(frozen=True, slots=True)
class Fields:
    """What an object's box holds."""

    cls: type
    names: tuple[Any, ...]
    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class NewObject:
    """An object of its own at each iteration."""

    cls: type
    content: Shape


@dataclass(frozen=True, slots=True)
class Later:
    """Not bound before the loop, or None; ``flagged`` unless the name is one the compiler introduced."""

    shape: Shape
    flagged: bool
    absent: Unbound | Const = UNBOUND


@dataclass(frozen=True, slots=True)
class Broken:
    """Cannot be carried, and why."""

    why: str
    hint: str = ""
    unroll: bool = False
    """Whether it can be done if every iteration is written out."""


Shape: TypeAlias = (
    Same
    | Number
    | Buffer
    | Row
    | RowAt
    | Part
    | Chosen
    | Exchanged
    | Several
    | OneOf
    | Holding
    | Fresh
    | Fields
    | NewObject
    | Later
    | Broken
)


@dataclass(eq=False, slots=True)
class Ends:
    """The end of an iteration: its region and state, the state before the loop, and the variables still needed.

    ``key`` is the variable that is looked at.
    """

    region: Region
    state: State
    before: State
    live: Sequence[Key]
    key: Key = ""

    def observed(self, cells: Collection[Cell], name: str) -> bool:
        """Whether the caller, or another name, sees one of these buffers from before the loop.

        A list that they are put into while it grows does not: it will hold them at run time, beside what they share.
        """
        return any(c.visible for c in cells) or any(
            other not in (name, self.key)
            and other in state.names
            and not set(cells).isdisjoint(cells_of(state.names[other], state, (self.key, *apart)))
            for state, apart in ((self.before, ()), (self.state, self.growing()))
            for other in self.live
        )

    def growing(self) -> list[Cell]:
        """The lists that are of another length after the iteration."""
        pairs = ((c, held, self.state.store.get(c)) for c, held in self.before.store.items() if isinstance(held, Tup))
        return [c for c, held, end in pairs if isinstance(end, Tup) and len(end.items) != len(held.items)]


def widen(low: Lowering, entry: Entity, end: Entity, ends: Ends, name: str) -> Shape:
    """What a name is at the header if it is ``entry`` before the loop and ``end`` after an iteration."""
    if entry == end or end == Unusable(ALREADY):
        return Same(entry)
    entry, end = (contents.in_a_trip(low, s, e) for s, e in ((low.state, entry), (ends.state, end)))
    for side in (end, entry):
        if isinstance(side, Unusable) and side.why != ALREADY:
            return Broken(side.why, side.hint)
    absent = layer(entry, end)
    if absent is not None:
        return _widen_later(low, entry, end, absent, ends, name)
    if _is_number(entry) and _is_number(end):
        before, after = _known_type(entry), _known_type(end)
        type = join_type(before, after)
        if type is None or any(loses(low, e, type) for e in (entry, end)):
            kinds = in_words(before), in_words(after)
            return Broken(f"{name!r} is {kinds[0]} before the loop and {kinds[1]} after an iteration", SAME_WIDTH)
        return Number(type)
    if isinstance(entry, Array) and isinstance(end, Array):
        return _widen_arrays(low, entry, end, ends, name)
    if isinstance(entry, Listing) and isinstance(end, Listing) and (entry.at or end.at):
        if entry.cell is not end.cell or len(entry.at) != len(end.at):
            return Broken(f"{name!r} is a list inside of different lists", INSIDE)
        return RowAt(entry.cell, len(entry.at))
    if isinstance(entry, Listing) and isinstance(end, Listing):
        return _widen_lists(low, entry, end, ends, name)
    if isinstance(entry, Tup) and isinstance(end, Tup) and len(entry.items) == len(end.items):
        pairs = zip(entry.items, end.items, strict=True)
        return _several([widen(low, a, b, ends, name) for a, b in pairs], entry.cls)
    if isinstance(entry, Record) and isinstance(end, Record) and (entry.cls, entry.names) == (end.cls, end.names):
        pairs = zip(entry.names, entry.items, end.items, strict=True)
        return _fields(entry, [widen(low, a, b, ends, f"{name}.{k}") for k, a, b in pairs])
    if isinstance(entry, Instance) and isinstance(end, Instance) and entry.cls is end.cls:
        return _widen_objects(low, entry, end, ends, name)
    if choosable(entry) and choosable(end):
        return _widen_options(low, entry, end, ends, name)
    return Broken(_differs(name, entry, end), "give it one kind of value before and inside the loop")


def _widen_lists(low: Lowering, entry: Listing, end: Listing, ends: Ends, name: str) -> Shape:
    before, after = contents.content_in(low.state, entry.cell), contents.content_in(ends.state, end.cell)
    shape = contents.widen_content(low, before, after, ends, name)
    if isinstance(shape, Broken) and isinstance(before, Rows) and isinstance(after, Tup):
        unknown = refuse(shape.why, low.loc, shape.hint)
        if (demand := low.needs_items(entry, unknown)) is not unknown:
            raise demand
    return _fresh(shape)


def _widen_later(low: Lowering, entry: Entity, end: Entity, absent: Unbound | Const, ends: Ends, name: str) -> Shape:
    first, inner = parted(entry, absent)[1], parted(end, absent)[1]
    if isinstance(inner, Unusable) and inner.why != ALREADY:
        return Broken(inner.why, inner.hint)
    if inner == absent:
        if first == absent or absent == UNBOUND:
            return Same(entry)
        inner = first
    shape = widen(low, inner if first == absent else first, inner, ends, name)
    if isinstance(shape, Same):
        shape = shape_of(low, inner, ends, name)
    return shape if isinstance(shape, Broken) else Later(shape, absent == NONE or name not in low.internal, absent)


def _widen_options(low: Lowering, entry: Entity, end: Entity, ends: Ends, name: str) -> Shape:
    one, other = single(entry), single(end)
    if one is not None and other is not None and _may_hold(one) and _may_hold(other) and same_function(one, other):
        pairs = enumerate(zip(parts_of(one), parts_of(other), strict=True))
        return _holding(one, [widen(low, a, b, ends, f"{name}_{k}") for k, (a, b) in pairs])
    merged = low.session.in_order([*options_of(entry), *options_of(end)], operator.eq)
    made = any(b not in low.state.names for option in merged for b in boxes_of(option))
    if made or not fixed(options_of(end), options_of(entry), ends.before):
        return _made_anew(name)
    return OneOf(tuple(merged))


def _may_hold(function: Entity) -> bool:
    """Whether a function holds numbers and arrays, no objects of which others may know."""
    return isinstance(function, Closure | Partial | Method) and not any(map(boxes_of, parts_of(function)))


def _holding(function: Entity, items: Sequence[Shape]) -> Shape:
    broken = next((item for item in items if isinstance(item, Broken)), None)
    return broken or Holding(with_parts(function, [UNBOUND] * len(items)), tuple(items))


def _made_anew(name: str) -> Broken:
    why = f"{name!r} is a function made anew in each iteration"
    return Broken(why, "make it before the loop, and pass it what changes", unroll=True)


def _fresh(content: contents.ContentShape) -> Shape:
    """A list's shape; broken if its content is."""
    return content if isinstance(content, Broken) else Fresh(content)


def _differs(name: str, entry: Entity, end: Entity) -> str:
    before, after = describe(entry), describe(end)
    after = "another one" if before == after else after
    return f"{name!r} is {before} before the loop and {after} after an iteration"


def _widen_objects(low: Lowering, entry: Instance, end: Instance, ends: Ends, name: str) -> Shape:
    if not boxes_apart(entry, low.state) or not boxes_apart(end, ends.state):
        return Broken(f"{name!r} contains itself", "objects that contain themselves cannot change in a loop")
    shape = widen(low, held(low, entry.box), held_in(ends.state, end.box), ends, name)
    if isinstance(shape, Same):
        shape = shape_of(low, held_in(ends.state, end.box), ends, name)
    return shape if isinstance(shape, Broken) else NewObject(entry.cls, shape)


def boxes_apart(instance: Instance, state: State) -> bool:
    """Whether an object does not contain itself."""
    inside = within(held_in(state, instance.box), state)
    return not any(isinstance(e, Instance) and e.box is instance.box for e in inside)


def _fields(record: Record, items: list[Shape]) -> Shape:
    """A record's shape. A field that cannot be carried is one that cannot be read."""
    return Fields(record.cls, record.names, tuple(items))


def _widen_arrays(low: Lowering, entry: Array, end: Array, ends: Ends, name: str) -> Shape:
    if entry.cell is end.cell and entry.view == end.view and entry.view is not None:
        return Part(entry.cell, entry.view, len(entry.operands))
    before = ref_type(low, entry)
    after = low.inside(ends.region, ends.state, lambda: ref_type(low, end))
    if not same_kind(before, after):
        return Broken(
            f"{name!r} is {before} before the loop and {after} after an iteration", "keep one dtype and number of axes"
        )
    assert isinstance(before, ArrayType)
    type = _common_sizes(before, after)
    return _array_shape(low, type, [chosen(low, entry), _at_end(low, end, ends)], ends, name)


def _at_end(low: Lowering, ref: Array, ends: Ends) -> Array | Either:
    return low.inside(ends.region, ends.state, lambda: chosen(low, ref))


def _array_shape(
    low: Lowering, type: ArrayType, choices: Sequence[Array | Either], ends: Ends, name: str
) -> Buffer | Chosen:
    """A buffer of its own, unless something else sees the memory too."""
    arrays = [a for choice in choices for a in arrays_of(choice)]
    old = [a for a in arrays if a.cell in ends.before.store]
    if not ends.observed([a.cell for a in old], name):
        return Buffer(type)
    keys = dict.fromkeys((a.cell, a.view, len(a.operands)) for a in old)
    return Chosen(type, tuple(keys), own=len(old) < len(arrays))


def unsized(type: TensorType) -> ArrayType:
    assert isinstance(type, ArrayType)
    return replace(type, shape=tuple(UNKNOWN for _ in type.shape))


def _common_sizes(x: ArrayType, y: TensorType) -> ArrayType:
    return replace(x, shape=tuple(a if a == b else UNKNOWN for a, b in zip(x.shape, y.shape, strict=True)))


def shape_of(low: Lowering, entity: Entity, ends: Ends | State, name: str = "") -> Shape:
    """The shape of something that is new in each iteration, or at least not seen by anything else."""
    if _is_number(entity):
        return Number(number_type(entity))
    if isinstance(entity, Array):
        if isinstance(ends, State):
            return Buffer(unsized(low.within(ends, lambda: ref_type(low, entity))))
        type = low.inside(ends.region, ends.state, lambda: ref_type(low, entity))
        return _array_shape(low, unsized(type), [_at_end(low, entity, ends)], ends, name)
    state = ends if isinstance(ends, State) else ends.state
    entity = contents.in_a_trip(low, state, entity)
    if isinstance(entity, Unusable) and entity.why != ALREADY:
        return Broken(entity.why, entity.hint)
    if isinstance(entity, Tup):
        return Several(tuple(shape_of(low, e, ends, name) for e in entity.items), entity.cls)
    if choosable(entity) and not fixed(options_of(entity), (), ends if isinstance(ends, State) else ends.before):
        one = single(entity)
        if one is None or not _may_hold(one):
            return _made_anew(name)
        return _holding(one, [shape_of(low, e, ends, f"{name}_{k}") for k, e in enumerate(parts_of(one))])
    if isinstance(entity, Choice):
        return OneOf(entity.options)
    if isinstance(entity, Listing) and entity.at:
        known = entity.cell in (ends.store if isinstance(ends, State) else ends.before.store)
        return RowAt(entity.cell, len(entity.at)) if known else Broken(f"{name!r} is a list inside of another", INSIDE)
    if isinstance(entity, Listing):
        return _fresh(contents.content_shape(low, contents.content_in(state, entity.cell), state))
    if isinstance(entity, Record):
        return _fields(
            entity, [shape_of(low, e, ends, f"{name}_{k}") for k, e in zip(entity.names, entity.items, strict=True)]
        )
    if isinstance(entity, Instance) and boxes_apart(entity, state):
        return NewObject(entity.cls, shape_of(low, held_in(state, entity.box), ends, name))
    if isinstance(entity, Maybe):
        return Later(shape_of(low, entity.entity, ends, name), True, entity.absent)
    return Same(entity)


def join_shapes(x: Shape, y: Shape) -> Shape:
    """The smaller shape that allows both."""
    match x, y:
        case (Broken(), _) | (_, Same()):
            return x
        case (_, Broken()) | (Same(), _):
            return y
        case (Number(type=a), Number(type=b)):
            joined = join_type(a, b)
            return (
                Number(joined) if joined is not None else Broken(f"it is {in_words(a)} and {in_words(b)}", SAME_WIDTH)
            )
        case (Exchanged(), _):
            return x
        case (Buffer(type=a), Buffer(type=b)):
            return Buffer(_common_sizes(a, b))
        case (Chosen() | Buffer() | Part(), Chosen() | Buffer() | Part()) if Chosen in (type(x), type(y)):
            return _joined_choice(x, y)
        case (Part(), Buffer()):
            return y
        case (Buffer(), Part()):
            return x
        case (OneOf(options=a), OneOf(options=b)):
            return OneOf((*a, *(o for o in b if o not in a)))
        case (Several(items=a, cls=cls), Several(items=b)):
            return _several(list(map(join_shapes, a, b)), cls)
        case (Holding(function=f, items=a), Holding(function=g, items=b)) if f == g:
            return _holding(f, list(map(join_shapes, a, b)))
        case (Fresh(content=a), Fresh(content=b)):
            return _fresh(contents.join_content_shapes(a, b))
        case (Fields(items=a), Fields(items=b)) if x.names == y.names:
            return replace(x, items=tuple(map(join_shapes, a, b)))
        case (NewObject(cls=cls, content=a), NewObject(content=b)):
            return NewObject(cls, join_shapes(a, b))
        case (Later(shape=a), Later(shape=b)) if x.absent == y.absent:
            return replace(x, shape=join_shapes(a, b))
        case (Later(shape=a), _) if not (isinstance(y, Later) and y.absent == UNBOUND):
            return replace(x, shape=join_shapes(a, y))
        case (_, Later(shape=b)):
            return replace(y, shape=join_shapes(x, b))
    return x


def _joined_choice(x: Chosen | Buffer | Part, y: Chosen | Buffer | Part) -> Chosen:
    types = [s.type for s in (x, y) if not isinstance(s, Part)]
    options: dict[Option, None] = {}
    for shape in (x, y):
        match shape:
            case Chosen():
                options.update(dict.fromkeys(shape.options))
            case Part(cell=cell, view=view, count=count):
                options[cell, view, count] = None
    own = any(isinstance(s, Buffer) or (isinstance(s, Chosen) and s.own) for s in (x, y))
    stored = any(isinstance(s, Chosen) and s.stored for s in (x, y))
    return Chosen(_common_sizes(types[0], types[-1]), tuple(options), own, stored)


def stored_into(shape: Shape, entity: Entity, begun: State, end: State) -> Shape:
    """``shape``; for an iteration that began with ``entity`` and stored into one of its alternatives."""
    match shape, entity:
        case Chosen(), Array(cell=Cell(choice=Either() as choice)):
            changed = any(end.store.get(a.cell) is not begun.store[a.cell] for a in arrays_of(choice))
            return replace(shape, stored=True) if changed else shape
        case Several(items=shapes, cls=cls), Tup(items=items):
            return Several(tuple(stored_into(s, e, begun, end) for s, e in zip(shapes, items, strict=True)), cls)
        case Fields(items=shapes), Record(items=items):
            return replace(
                shape, items=tuple(stored_into(s, e, begun, end) for s, e in zip(shapes, items, strict=True))
            )
        case NewObject(cls=cls, content=content), Instance(box=box):
            return NewObject(cls, stored_into(content, held_in(begun, box), begun, end))
        case Later(shape=inner, absent=absent), _:
            return replace(shape, shape=stored_into(inner, parted(entity, absent)[1], begun, end))
    return shape


def _several(items: list[Shape], cls: type) -> Shape:
    """A tuple's shape; broken if an item is."""
    broken = next((s for s in items if isinstance(s, Broken)), None)
    return broken or Several(tuple(items), cls)


def _is_number(entity: Entity) -> bool:
    return isinstance(entity, Scalar) or (isinstance(entity, Const) and entity.is_number)


def number_type(entity: Entity) -> ScalarType:
    return replace(_known_type(entity), value=None)


def _known_type(entity: Entity) -> ScalarType:
    """The type of a number, with its value where it is known."""
    if isinstance(entity, Const):
        known = as_dim(entity.value) if type(entity.value) is int else None
        return ScalarType(np.dtype(type(entity.value)), weak=True, value=known)
    assert isinstance(entity, Scalar) and isinstance(entity.value.type, ScalarType)
    return entity.value.type
