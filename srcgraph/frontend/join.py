"""Joining what two paths made of the names and the memory.

`Joiner` collects pairs of values, one per branch, that become outputs of an `If`; the joined state
is built from those outputs once the node exists. The same rules widen a loop's header.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import ismodule
from typing import TYPE_CHECKING

from srcgraph.frontend import choices, contents
from srcgraph.frontend.entities import (
    ALREADY,
    Array,
    Cell,
    Choice,
    Closure,
    Const,
    Content,
    Entity,
    Iteration,
    Listing,
    Maybe,
    Method,
    Partial,
    Rows,
    Scalar,
    State,
    Tup,
    Unbound,
    Unusable,
    cells_of,
    may_share,
)
from srcgraph.frontend.memory import read, ref_type
from srcgraph.ir.graph import Value
from srcgraph.ir.promote import common_dtype
from srcgraph.ir.straight import Region
from srcgraph.ir.types import BOOL, INT, ScalarType, Type, same_kind, without_value

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

Make = Callable[[tuple[Value, ...]], Entity]


def join_type(x: Type, y: Type) -> Type | None:
    """The type both scalars are converted to, or None if they have nothing in common.

    Python's own number joined with NumPy's gives NumPy's; integers joined with floats give floats.
    """
    x, y = without_value(x), without_value(y)
    if x == y:
        return x
    if isinstance(x, ScalarType) and isinstance(y, ScalarType):
        weak = x.weak and y.weak
        if weak and BOOL in (x.dtype, y.dtype) and INT in (x.dtype, y.dtype):
            return ScalarType(INT, weak=True)
        return ScalarType(common_dtype([x, y]), weak)
    return None


class Joiner:
    """Pairs up two branches' entities."""

    def __init__(self, low: Lowering, then: tuple[Region, State], orelse: tuple[Region, State], before: State):
        self.low = low
        self.sides = (then, orelse)
        self.before = before
        self.pairs: list[tuple[Value, Value, str]] = []

    def output(self, x: Value, y: Value, name: str) -> int:
        """The number of the output that is ``x`` in one branch and ``y`` in the other."""
        for k, (a, b, _) in enumerate(self.pairs):
            if a is x and b is y:
                return k
        self.pairs.append((x, y, {"<stop>": "_done", "<return>": "_result"}.get(name, name)))
        return len(self.pairs) - 1

    def join(self, x: Entity, y: Entity, name: str) -> Make:
        """How the joined entity is made from the node's outputs."""
        if x == y:
            return lambda outs: x
        if isinstance(x, Unbound | Maybe) or isinstance(y, Unbound | Maybe):
            return self._maybe(x, y, name)
        if isinstance(x, Tup) and isinstance(y, Tup) and len(x.items) == len(y.items) and x.cls is y.cls:
            items = [self.join(a, b, name) for a, b in zip(x.items, y.items, strict=True)]
            return lambda outs: Tup(tuple(m(outs) for m in items), x.cls)
        if isinstance(x, Array) and isinstance(y, Array):
            return self._arrays(x, y, name)
        if isinstance(x, Listing) and isinstance(y, Listing):
            return self._lists(x, y, name)
        if _numeric(x) and _numeric(y):
            return self._scalars(x, y, name)
        if choices.choosable(x) and choices.choosable(y):
            return choices.join_choices(self, x, y, name)
        if Unusable(ALREADY) in (x, y):
            return lambda outs: Unusable(ALREADY)
        why = f"{shown(name)} is {describe(x)} on one path and {describe(y)} on the other"
        return lambda outs: Unusable(why, "give it one kind of value on every path", self.low.loc)

    def _scalars(self, x: Entity, y: Entity, name: str) -> Make:
        a, b = self.side_value(0, x), self.side_value(1, y)
        type = join_type(a.type, b.type)
        assert isinstance(type, ScalarType)
        k = self.output(self.converted(0, a, type), self.converted(1, b, type), name)
        return lambda outs: Scalar(outs[k])

    def side_value(self, side: int, entity: Entity) -> Value:
        region, state = self.sides[side]
        return self.low.inside(region, state, lambda: self.low.value(entity))

    def converted(self, side: int, value: Value, type: ScalarType) -> Value:
        region, state = self.sides[side]
        return self.low.inside(region, state, lambda: self.low.builder.cast(value, type.dtype, type.weak))

    def _arrays(self, x: Array, y: Array, name: str) -> Make:
        low = self.low
        if x.cell is y.cell and x.view == y.view and len(x.operands) == len(y.operands):
            ks = [self.output(a, b, name) for a, b in zip(x.operands, y.operands, strict=True)]
            return lambda outs: Array(x.cell, x.view, tuple(outs[k] for k in ks))
        types = [low.inside(*s, lambda ref=ref: ref_type(low, ref)) for s, ref in zip(self.sides, (x, y), strict=True)]
        if not same_kind(*types):
            why = f"{shown(name)} is {types[0]} on one path and {types[1]} on the other"
            return lambda outs: Unusable(why, "give it one dtype and number of axes on every path", low.loc)
        values = [low.inside(*s, lambda ref=ref: read(low, ref)) for s, ref in zip(self.sides, (x, y), strict=True)]
        k = self.output(values[0], values[1], name)

        def make(outs: tuple[Value, ...]) -> Entity:
            return self._joined_cell(x, y, outs[k], name)

        return make

    def _lists(self, x: Listing, y: Listing, name: str) -> Make:
        """A new cell for whichever list it is; while both are seen, a change of one spoils the others."""
        held = [contents.content_in(s, e.cell) for (_, s), e in zip(self.sides, (x, y), strict=True)]
        make = self.content(held[0], held[1], name)
        return lambda outs: Listing(self._joined_cell(x, y, make(outs), name).cell)

    def content(self, x: Content, y: Content, name: str) -> Callable[[tuple[Value, ...]], Content]:
        """How what a list holds is made from the node's outputs."""
        if x == y:
            return lambda outs: x
        if isinstance(x, Tup) and isinstance(y, Tup) and len(x.items) == len(y.items):
            items = [self.join(a, b, f"{name}_{k}") for k, (a, b) in enumerate(zip(x.items, y.items, strict=True))]
            return lambda outs: Tup(tuple(m(outs) for m in items), list)
        kind = contents.joint_kind(self.low, *((c, s) for c, (_, s) in zip((x, y), self.sides, strict=True)))
        growing = any(not isinstance(c, Rows) or contents.is_growing(c) for c in (x, y))
        sides = zip((x, y), self.sides, strict=True)
        rows = [self.low.inside(*s, lambda c=c: contents.as_rows(self.low, c, kind, growing, name)) for c, s in sides]
        ks = [self.output(a, b, name) for a, b in zip(rows[0].parts, rows[1].parts, strict=True)]
        return lambda outs: Rows(kind, tuple(outs[k] for k in ks))

    def _joined_cell(self, x: Array | Listing, y: Array | Listing, value: Value | Content, name: str) -> Array:
        """A cell for the joined array; it may be memory that other names, or the caller, still see."""
        cell = Cell(name)
        for (_, state), ref in zip(self.sides, (x, y), strict=True):
            if ref.cell in self.before.store or _shared_in(state, ref, name):
                may_share(cell, ref.cell)
            for other in ref.cell.shares:
                may_share(cell, other)
        self.low.state.store[cell] = value
        return Array(cell)

    def _maybe(self, x: Entity, y: Entity, name: str) -> Make:
        """A name bound on some paths: a flag says whether it is, the value is arbitrary where it is not."""
        internal = name in self.low.internal
        flags = [_flag(e) for e in (x, y)]
        inner = [e.entity if isinstance(e, Maybe) else e for e in (x, y)]
        if isinstance(inner[0], Unbound) and isinstance(inner[1], Unbound):
            return lambda outs: x
        for side in (0, 1):
            if isinstance(inner[side], Unbound):
                inner[side] = self.low.inside(
                    *self.sides[side], lambda s=side: self.low.undefined(inner[1 - s], self.sides[1 - s])
                )
        make = self.join(inner[0], inner[1], name)
        if internal:
            return make
        bound = self.join(flags[0], flags[1], f"{name}_bound")
        return lambda outs: Maybe(bound(outs), make(outs))


def shown(name: str) -> str:
    """A name in a message; the compiler's own stand for the result and for a conditional expression."""
    return {"<return>": "the result", "<value>": "this expression"}.get(name, repr(name))


def _flag(entity: Entity) -> Entity:
    if isinstance(entity, Maybe):
        return entity.bound
    return Const(not isinstance(entity, Unbound))


def _numeric(entity: Entity) -> bool:
    return isinstance(entity, Scalar) or (isinstance(entity, Const) and entity.is_number)


def _shared_in(state: State, ref: Array | Listing, name: str) -> bool:
    """Whether another name of the branch refers to the same memory."""
    return any(ref.cell in cells_of(e) for other, e in state.names.items() if other != name)


def describe(entity: Entity) -> str:
    """An entity in the user's words."""
    match entity:
        case Const(value=value):
            return getattr(value, "__name__", repr(value)) if callable(value) or ismodule(value) else repr(value)
        case Scalar(value=value):
            return {"b": "a bool", "i": "an integer", "u": "an integer", "f": "a float"}.get(
                value.type.dtype.kind, "a complex number"
            )
        case Array():
            return "an array"
        case Tup(cls=cls, items=items):
            return f"a {cls.__name__} of {len(items)}"
        case Listing():
            return "a list"
        case Closure() | Partial():
            return "a function"
        case Method(name=name):
            return f"the method {name!r}"
        case Choice(options=options):
            return " or ".join(dict.fromkeys(map(describe, options)))
        case Unbound() | Maybe():
            return "not assigned"
        case Unusable(why=why):
            return why
        case Iteration(kind=kind):
            return f"a {kind}"
    return f"a {type(entity).__name__.lower()}"
