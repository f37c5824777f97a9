"""Joining what two paths made of the names and the memory.

`Joiner` collects pairs of values, one per branch, that become outputs of an `If`; the joined state
is built from those outputs once the node exists. The same rules widen a loop's header.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import ismodule
from typing import TYPE_CHECKING, Any

from srcgraph.frontend import choices, contents, item_kinds, linking
from srcgraph.frontend.boxes import held_in
from srcgraph.frontend.entities import (
    ALREADY,
    INSIDE,
    NONE,
    UNBOUND,
    Array,
    Box,
    Cell,
    Choice,
    Closure,
    Const,
    Content,
    Either,
    Entity,
    Instance,
    Iteration,
    Key,
    ListCell,
    Listing,
    Maybe,
    Method,
    Partial,
    Raised,
    Record,
    Rng,
    Rows,
    Scalar,
    SliceOf,
    State,
    Text,
    Tup,
    Unbound,
    Unusable,
    arrays_of,
    boxes_of,
    cells_of,
    may_share,
    sources_of,
    within,
)
from srcgraph.frontend.kinds import SAME_WIDTH, as_joined, join_type, loses
from srcgraph.frontend.memory import chosen, content, read, ref_type
from srcgraph.frontend.presence import FLAG, layer, parted, told
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Value
from srcgraph.ir.promote import in_words
from srcgraph.ir.types import ScalarType, same_kind

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

Make = Callable[[tuple[Value, ...]], Entity]


class Joiner:
    """Pairs up two branches' entities; ``live`` are the names needed afterwards."""

    def __init__(
        self,
        low: Lowering,
        test: Value,
        sides: tuple[tuple[Region, State], tuple[Region, State]],
        before: State,
        live: Iterable[Key],
    ):
        self.low = low
        self.test = test
        self.sides = sides
        self.dead = [state.dead for _, state in sides]
        self.before = before
        self.live = live
        self.pairs: list[tuple[Value, Value, str]] = []
        self.made: dict[tuple[Array, Array], Array] = {}
        self.joining: list[Key] = []
        """What is being joined: the variable, and the boxes it leads through."""
        self.boxes: dict[tuple[Box, Box], Box] = {}
        self.lists: dict[tuple[Cell, Cell], Cell] = {}
        self.contents: dict[Box, Make] = {}
        """What the boxes that are new after the branches hold."""

    def output(self, x: Value, y: Value, name: str) -> int:
        """The number of the output that is ``x`` in one branch and ``y`` in the other."""
        for k, (a, b, _) in enumerate(self.pairs):
            if a is x and b is y:
                return k
        self.pairs.append((x, y, {"<stop>": "_done", "<return>": "_result"}.get(name, name)))
        return len(self.pairs) - 1

    def join(self, x: Entity, y: Entity, name: str) -> Make:
        """How the joined entity is made from the node's outputs."""
        x, y = (self.low.inside(*s, lambda e=e: told(self.low, e)) for s, e in zip(self.sides, (x, y), strict=True))
        if x == y:
            self.adopt(x)
            return lambda outs: x
        x, y = (contents.readable(s, e) for (_, s), e in self._sided(x, y))
        if isinstance(x, Instance) and isinstance(y, Instance) and x.cls is y.cls:
            box = self.joined_box(x.box, y.box, name)
            return lambda outs: Instance(box, x.cls)
        if isinstance(x, Record) and isinstance(y, Record) and (x.cls, x.names) == (y.cls, y.names):
            pairs = zip(x.names, x.items, y.items, strict=True)
            fields = [self.join(a, b, f"{name}_{k}") for k, a, b in pairs]
            return lambda outs: Record(x.cls, x.names, tuple(m(outs) for m in fields))
        absent = layer(x, y)
        if absent is not None:
            return self._maybe(x, y, absent, name)
        if isinstance(x, Tup) and isinstance(y, Tup) and len(x.items) == len(y.items) and x.cls is y.cls:
            items = [self.join(a, b, name) for a, b in zip(x.items, y.items, strict=True)]
            return lambda outs: Tup(tuple(m(outs) for m in items), x.cls)
        if isinstance(x, Array) and isinstance(y, Array):
            return self._arrays(x, y, name)
        if isinstance(x, Listing) and isinstance(y, Listing) and (x.at or y.at):
            if x.cell is not y.cell or len(x.at) != len(y.at):
                return lambda outs: Unusable(
                    "which list this is a part of is known at run time only", INSIDE, self.low.loc
                )
            ks = [self.output(a, b, name) for a, b in zip(x.at, y.at, strict=True)]
            return lambda outs: Listing(x.cell, tuple(outs[k] for k in ks))
        if isinstance(x, Listing) and isinstance(y, Listing):
            return self._lists(x, y, name)
        if _numeric(x) and _numeric(y):
            return self._scalars(x, y, name)
        if isinstance(x, Rng) and isinstance(y, Rng):
            k = self.output(x.value, y.value, name)
            return lambda outs: Rng(outs[k])
        if choices.choosable(x) and choices.choosable(y):
            for option in (*choices.options_of(x), *choices.options_of(y)):
                self.adopt(option)
            return choices.join_choices(self, x, y, name)
        if Unusable(ALREADY) in (x, y):
            return lambda outs: Unusable(ALREADY)
        unusable = next((e for e in (x, y) if isinstance(e, Unusable)), None)
        if unusable is not None:
            return lambda outs: unusable
        why = f"{shown(name)} is {describe(x)} on one path and {describe(y)} on the other"
        return lambda outs: Unusable(why, "give it one kind of value on every path", self.low.loc)

    # -- boxes ----------------------------------------------------------------------------------

    def joined_box(self, x: Box, y: Box, name: str) -> Box:
        """The box that is ``x`` in one branch and ``y`` in the other."""
        if (x, y) not in self.boxes:
            box = Box(name)
            seen = [own in self.before.names or _seen_elsewhere(s, own, name) for (_, s), own in self._sided(x, y)]
            _relate(box, (x, y), seen, self.boxes)
            self.boxes[x, y] = box
            self.joining += [x, y]
            self.contents[box] = self.join(held_in(self.sides[0][1], x), held_in(self.sides[1][1], y), name)
            del self.joining[-2:]
        return self.boxes[x, y]

    def adopt(self, entity: Entity) -> None:
        """Keep the boxes made in a branch that an entity refers to, with what they hold."""
        for box in boxes_of(entity):
            if box in self.before.names or box in self.contents:
                continue
            self.contents[box] = lambda outs: UNBOUND  # one that contains itself is met again
            found = [state.names.get(box) for _, state in self.sides]
            for side in (0, 1):
                other = found[1 - side]
                if found[side] is None and other is not None:
                    found[side] = self.low.inside(
                        *self.sides[side], lambda s=side, e=other: self.low.undefined(e, self.sides[1 - s])
                    )
            if found[0] is not None and found[1] is not None:
                self.contents[box] = self.join(found[0], found[1], box.name)

    # -- numbers and arrays ---------------------------------------------------------------------

    def _scalars(self, x: Entity, y: Entity, name: str) -> Make:
        a, b = self.side_value(0, x), self.side_value(1, y)
        type = join_type(a.type, b.type)
        if type is None or any(loses(self.low, v, type) for k, v in enumerate((a, b)) if not self.dead[k]):
            why = f"{shown(name)} is {in_words(a.type)} on one path and {in_words(b.type)} on the other"
            return lambda outs: Unusable(why, SAME_WIDTH, self.low.loc)
        k = self.output(self.converted(0, a, type), self.converted(1, b, type), name)
        return lambda outs: Scalar(outs[k])

    def side_value(self, side: int, entity: Entity) -> Value:
        region, state = self.sides[side]
        return self.low.inside(region, state, lambda: self.low.value(entity))

    def converted(self, side: int, value: Value, type: ScalarType) -> Value:
        region, state = self.sides[side]
        if self.dead[side]:  # it is not read
            return self.low.inside(region, state, lambda: self.low.builder.cast(value, type.dtype, type.weak))
        return self.low.inside(region, state, lambda: as_joined(self.low, value, type))

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
        reached = [(side, ref) for side, ref in enumerate((x, y)) if not self.dead[side]]
        observed = any(self._observed(side, ref, (x, y)) for side, ref in reached)
        lifted = [self._lift(side, ref) for side, ref in reached] if observed else []
        joined = self._sources(x, y) if not observed and len(reached) == 2 else []

        def make(outs: tuple[Value, ...]) -> Entity:
            if (x, y) not in self.made:
                choices = [option(outs) for option in lifted]
                choice = choices[0] if len(choices) == 1 else Either(self.test, *choices) if choices else None
                self.made[x, y] = choice if isinstance(choice, Array) else self._joined_cell(x, y, outs[k], name)
                if isinstance(choice, Either):
                    self.made[x, y].cell.choose(choice)
                elif joined:
                    self.made[x, y].cell.joined = Either(self.test, *(option(outs) for option in joined))
            return self.made[x, y]

        return make

    def _lists(self, x: Listing, y: Listing, name: str) -> Make:
        """A new cell for whichever list it is; while both are seen, a change of one spoils the others."""
        pair = x.cell, y.cell
        held = [contents.content_in(s, e.cell) for (_, s), e in self._sided(x, y)]
        make = self.content(held[0], held[1], name)
        if pair not in self.lists:
            cell = ListCell(name)
            seen = [e.cell in self.before.store or _shared_in(s, e, name) for (_, s), e in self._sided(x, y)]
            _relate(cell, pair, seen, self.lists)
            self.lists[pair] = cell
            for own, content, (_, state) in zip(pair, held, self.sides, strict=True):
                linking.link_lists(own, cell)
                linking.hold_like(own, cell)
                if not contents.stay_known(*held):
                    linking.link_all(cell, content, state)

        def joined(outs: tuple[Value, ...]) -> Listing:
            self.low.state.store[self.lists[pair]] = make(outs)
            return Listing(self.lists[pair])

        return joined

    def _sided(self, x: Any, y: Any) -> Iterable[tuple[tuple[Region, State], Any]]:
        """What is of one branch each, with its branch."""
        return zip(self.sides, (x, y), strict=True)

    def content(self, x: Content, y: Content, name: str) -> Callable[[tuple[Value, ...]], Content]:
        """How what a list holds is made from the node's outputs."""
        if x == y:
            return lambda outs: x
        if contents.stay_known(x, y):
            assert isinstance(x, Tup) and isinstance(y, Tup)
            items = [self.join(a, b, f"{name}_{k}") for k, (a, b) in enumerate(zip(x.items, y.items, strict=True))]
            return lambda outs: Tup(tuple(m(outs) for m in items), list)
        growing = any(not isinstance(c, Rows) or contents.is_growing(c) for c in (x, y))
        short = growing or contents.has_short_lists(x) or contents.has_short_lists(y)
        pairs = zip((x, y), self.sides, strict=True)
        kinds = [self.low.inside(*s, lambda c=c, s=s: item_kinds.item_kind(self.low, c, s[1], short)) for c, s in pairs]
        kind = item_kinds.joined(self.low, kinds)
        sides = zip((x, y), self.sides, strict=True)
        rows = [self.low.inside(*s, lambda c=c: contents.as_rows(self.low, c, kind, growing, name)) for c, s in sides]
        ks = [self.output(a, b, name) for a, b in zip(rows[0].parts, rows[1].parts, strict=True)]
        return lambda outs: Rows(kind, tuple(outs[k] for k in ks))

    def _joined_cell(self, x: Array, y: Array, value: Value, name: str) -> Array:
        """A cell for the joined array; nothing else sees its memory, unless it is a view in some cases only."""
        cell = Cell(name)
        for ref in (x, y):
            for other in ref.cell.shares:
                may_share(cell, other)
        self.low.state.store[cell] = value
        return Array(cell)

    def _sources(self, x: Array, y: Array) -> list[Callable[[tuple[Value, ...]], Array | Either]]:
        """What two arrays that nothing else refers to are joined from, if all of it was known before."""
        found = [c for c in (sources_of(x), sources_of(y)) if c is not None]
        if len(found) < 2 or any(a.cell not in self.before.store for c in found for a in arrays_of(c)):
            return []
        return [self._lift_choice(side, c) for side, c in enumerate(found)]

    def _observed(self, side: int, ref: Array, pair: tuple[Array, Array]) -> bool:
        """Whether the caller, or a name that is not joined to the same array, sees this memory later."""
        cells = set(cells_of(ref))
        if any(c.visible for c in cells):
            return True
        names = [s.names for _, s in self.sides]
        state = self.sides[side][1]
        for name in self.live:
            if name in self.joining and name not in ("<value>",):
                continue
            if name in names[side] and not cells.isdisjoint(cells_of(names[side][name], state, self.joining)):
                if (names[0].get(name), names[1].get(name)) != pair:
                    return True
        return self._beside(side, cells, pair)

    def _beside(self, side: int, cells: set[Cell], pair: tuple[Array, Array]) -> bool:
        """Whether another part of what is being joined is this memory: ``return m[1:], m``."""
        for name in self.joining:
            held = [s.names.get(name, UNBOUND) for _, s in self.sides]
            parts = [
                [e for e in within(h, s) if isinstance(e, Array)] for h, (_, s) in zip(held, self.sides, strict=True)
            ]
            own = [e for e in parts[side] if not cells.isdisjoint(cells_of(e))]
            pairs = zip(*parts, strict=True) if len(parts[0]) == len(parts[1]) else ()
            same = [both[side] for both in pairs if both == pair]
            if len(own) > len(same):
                return True
        return False

    # -- memory chosen at run time ----------------------------------------------------------------

    def _lift(self, side: int, ref: Array) -> Callable[[tuple[Value, ...]], Array | Either]:
        """What a reference of one branch stands for, in terms of values known after the `If`."""
        return self._lift_choice(side, self.low.inside(*self.sides[side], lambda: chosen(self.low, ref)))

    def _lift_choice(self, side: int, choice: Array | Either) -> Callable[[tuple[Value, ...]], Array | Either]:
        if isinstance(choice, Either):
            test = self._after(side, choice.test, "chosen")
            then, orelse = self._lift_choice(side, choice.then), self._lift_choice(side, choice.orelse)
            return lambda outs: Either(test(outs), then(outs), orelse(outs))
        operands = [self._after(side, v, v.name) for v in choice.operands]
        cell = choice.cell
        if cell in self.before.store:
            return lambda outs: Array(cell, choice.view, tuple(v(outs) for v in operands))
        held = self._after(side, self.low.inside(*self.sides[side], lambda: content(self.low, cell)), cell.name)

        def make(outs: tuple[Value, ...]) -> Array:
            self.low.state.store[cell] = held(outs)
            return Array(cell, choice.view, tuple(v(outs) for v in operands))

        return make

    def _after(self, side: int, value: Value, name: str) -> Callable[[tuple[Value, ...]], Value]:
        """A value of one branch after the `If`; on the other path it is arbitrary, and never read."""
        region = self.sides[side][0]
        if not any(value in node.outputs for node in region.nodes):
            return lambda outs: value
        other = self.low.inside(*self.sides[1 - side], lambda: self.low.arbitrary(value.type, region.born))
        k = self.output(*((value, other) if side == 0 else (other, value)), name)
        return lambda outs: outs[k]

    def _maybe(self, x: Entity, y: Entity, absent: Unbound | Const, name: str) -> Make:
        """What is there on some paths: a flag says whether it is, the value is arbitrary where it is not."""
        flags, inner = (list(p) for p in zip(parted(x, absent), parted(y, absent), strict=True))
        if inner[0] == inner[1] == absent:
            return lambda outs: x
        for side in (0, 1):
            if inner[side] == absent and self._known_before(1 - side, inner[1 - side]):
                inner[side] = inner[1 - side]
            elif inner[side] == absent:
                inner[side] = self.low.inside(
                    *self.sides[side], lambda s=side: self.low.undefined(inner[1 - s], self.sides[1 - s])
                )
        make = self.join(inner[0], inner[1], name)
        if absent == UNBOUND and name in self.low.internal:
            return make
        bound = self.join(flags[0], flags[1], f"{name}_{FLAG[absent]}")
        return lambda outs: Maybe(bound(outs), make(outs), absent)

    def _known_before(self, side: int, entity: Entity) -> bool:
        """Whether a number, an array, or a tuple of them, was there before the branch."""
        if isinstance(entity, Tup):
            return all(self._known_before(side, e) for e in entity.items)
        if isinstance(entity, Array):
            cells = (entity.cell,) if entity.view is None else ()
            return any(c in s.store for c in cells for s in (self.before,))
        made = {v for node in self.sides[side][0].nodes for v in node.outputs}
        return isinstance(entity, Const) or (isinstance(entity, Scalar) and entity.value not in made)


def shown(name: str) -> str:
    """A name in a message; the compiler's own stand for the result and for a conditional expression."""
    return {"<return>": "the result", "<value>": "this expression"}.get(name, repr(name))


def _numeric(entity: Entity) -> bool:
    return isinstance(entity, Scalar) or (isinstance(entity, Const) and entity.is_number)


def _relate(made: Any, pair: tuple[Any, Any], seen: Sequence[bool], others: dict[Any, Any]) -> None:
    """Record what a box or list that is one of ``pair`` may be, ``others`` being those joined already."""
    joined = set(others.values())
    for own, is_seen in zip(pair, seen, strict=True):
        for other in (*(own.shares - joined), *([own] if is_seen else ())):
            may_share(made, other)
    for known, other in others.items():
        if any(a is b or a in b.shares for a, b in zip(known, pair, strict=True)):
            may_share(made, other)


def _shared_in(state: State, ref: Array | Listing, name: str) -> bool:
    """Whether another name of the branch refers to the same memory."""
    return any(
        isinstance(e, Array | Listing) and e.cell is ref.cell
        for other, held in state.names.items()
        if str(other) != name
        for e in (held, *within(held, state))
    )


def _seen_elsewhere(state: State, box: Box, name: str) -> bool:
    """Whether another name of the branch leads to the same box."""
    return any(
        box in boxes_of(e) for other, held in state.names.items() if str(other) != name for e in within(held, state)
    )


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
        case Rng():
            return "a random generator"
        case Tup(cls=cls, items=items):
            return f"a {cls.__name__} of {len(items)}"
        case Listing():
            return "a list"
        case Record(cls=cls) | Instance(cls=cls):
            return f"a {cls.__name__}"
        case Closure() | Partial():
            return "a function"
        case Method(name=name):
            return f"the method {name!r}"
        case Raised(cls=cls):
            return f"a {cls.__name__} that was caught"
        case Choice(options=options):
            return " or ".join(dict.fromkeys(map(describe, options)))
        case Text():
            return "a text with numbers in it"
        case Maybe(entity=inner) if entity.absent == NONE:
            return f"{describe(inner)} or None"
        case Unbound() | Maybe():
            return "not assigned"
        case Unusable(why=why):
            return why
        case Iteration(kind=kind):
            return f"a {kind}"
        case SliceOf():
            return "a slice"
    return f"a {type(entity).__name__.lower()}"
