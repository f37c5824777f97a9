"""What a loop makes anew, objects, lists and arrays: which of them may be one, or one from before the loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from srcgraph.frontend.boxes import held_in
from srcgraph.frontend.entities import (
    UNBOUND,
    Array,
    Box,
    Cell,
    Either,
    Entity,
    Instance,
    Key,
    Listing,
    Maybe,
    Record,
    State,
    Tup,
    boxes_of,
    cells_of,
    may_share,
    parts_of,
    within,
)

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

Path: TypeAlias = tuple[Any, ...]
Place: TypeAlias = tuple[Key, Path]
Pair: TypeAlias = tuple[Place, "Place | Box | Cell"]
"""What is at a place at the header, and what it may be: what is at another place, or older."""


def places(entity: Entity, state: State, path: Path = (), around: tuple[Any, ...] = ()) -> Iterator[tuple[Path, Any]]:
    """The boxes and lists an entity leads to in ``state``, each with where in it that is."""
    match entity:
        case Maybe(entity=inner):
            yield from places(inner, state, path, around)
            return
        case Instance(box=box):
            yield path, box
            if box not in around:
                yield from places(held_in(state, box), state, path, (*around, box))
            return
        case Listing(cell=cell):
            yield path, cell
            held = state.store.get(cell)
            if isinstance(held, Tup) and cell not in around:
                yield from places(held, state, path, (*around, cell))
            return
    keys = entity.names if isinstance(entity, Record) else range(len(parts_of(entity)))
    for key, part in zip(keys, parts_of(entity), strict=True):
        yield from places(part, state, (*path, key), around)
    for box in boxes_of(entity) if not parts_of(entity) else ():
        if box not in around:
            yield from places(held_in(state, box), state, (*path, box), (*around, box))


@dataclass(slots=True)
class Sharing:
    """The boxes and lists a header makes anew, by variable and place in it."""

    low: Lowering
    before: State
    header: dict[Key, Entity]
    state: State

    def made(self) -> Iterator[tuple[Place, Box | Cell]]:
        """What is the header's own."""
        for key, entity in self.header.items():
            for path, own in places(entity, self.state):
                if not self.is_old(own):
                    yield (key, path), own

    def is_old(self, thing: Box | Cell) -> bool:
        """Whether it is from before the loop."""
        return thing in (self.before.names if isinstance(thing, Box) else self.before.store)

    def at(self, place: Place, state: State) -> list[Box | Cell]:
        """What is at a place in ``state``; anything the variable leads to, if it is of another form there."""
        found = list(places(state.names.get(place[0], UNBOUND), state))
        return [own for path, own in found if path == place[1]] or [own for _, own in found]

    def outliving(self, things: Iterable[Box | Cell]) -> set[Box | Cell]:
        """What is from before the loop and may be one of these."""
        return {s for thing in things for s in (thing, *thing.shares) if self.is_old(s)}

    def related(self, state: State) -> Iterator[Pair]:
        """What is one object in ``state`` may be one at the header."""
        made = [(place, own, self.at(place, state)) for place, own in self.made()]
        for k, (place, x, at_x) in enumerate(made):
            for other, y, at_y in made[k + 1 :]:
                if x is not y and any(a is b or b in a.shares for a in at_x for b in at_y):
                    yield place, other

    def with_entry(self, live: Sequence[Key]) -> list[Pair]:
        """What is carried may be what it was before the loop, if anything else can see that."""
        seen = self.seen(live)
        olds = [(place, self.outliving(self.at(place, self.before))) for place, _ in self.made()]
        return [(place, o) for place, old in olds for o in old if o.visible or o in seen] + [*self.related(self.before)]

    def with_ends(self, ends: State) -> list[Pair]:
        """What is carried may be what its variable refers to after an iteration, if that outlives it."""
        outliving = [(place, self.outliving(self.at(place, ends))) for place, _ in self.made()]
        pairs: list[Pair] = [(place, s) for place, old in outliving for s in self.outliving(old)]
        return [*pairs, *self.related(ends)]

    def seen(self, live: Sequence[Key]) -> set[Any]:
        """What can be seen from the header on."""
        names, low = self.state.names, self.low
        keys = [*live, *low.overs, *low.outer.values(), *(k for k in names if isinstance(k, Box) and k.visible)]
        lists = [Listing(c) for c, held in self.state.store.items() if c.visible and isinstance(held, Tup)]
        roots = [*(names[k] for k in keys if k in names), *low.hidden.values(), *lists]
        return {thing for root in roots for _, thing in places(root, self.state)}

    def apply(self, pairs: Iterable[Pair]) -> None:
        """Record what may be one."""
        made: dict[Any, Box | Cell] = dict(self.made())
        for place, other in pairs:
            if place in made and (isinstance(other, Box | Cell) or other in made):
                may_share(made[place], made.get(other, other))  # type: ignore[arg-type]


# -- arrays ---------------------------------------------------------------------------------------------


def share(
    before: State,
    header: dict[Key, Entity],
    made: State,
    state: State,
    shares: Mapping[Cell, Set[Cell]] = MappingProxyType({}),
) -> None:
    """Carried arrays may be the memory of views made in some cases only, or of each other, as they are in ``state``.

    ``made`` is the state that ``header`` is part of, ``shares`` what shared memory with the cells of ``state`` there,
    where it became more since.
    """
    grows = True
    while grows:
        grows = False
        for name, entity in header.items():
            origins = set(_arrays_of(state.names.get(name, UNBOUND), state)) - set(_arrays_of(entity, made))
            found = {other for cell in origins for other in shares.get(cell, cell.shares)}
            for cell in _new_cells(before, entity, made):
                grows |= not found <= {cell, *cell.shares}
                for other in found:
                    may_share(cell, other)
    names = list(header)
    for k, a in enumerate(names):
        for b in names[k + 1 :]:
            if _common(_new_cells(before, state.names.get(a), state), _new_cells(before, state.names.get(b), state)):
                for x in _new_cells(before, header[a], made):
                    for y in _new_cells(before, header[b], made):
                        may_share(x, y)


def _new_cells(before: State, entity: Entity | None, state: State) -> list[Cell]:
    """The buffers an entity may refer to that no name referred to before the loop."""
    cells = _arrays_of(entity or UNBOUND, state)
    return [c for c in cells if c not in before.store and not isinstance(c.choice, Either)]


def _arrays_of(entity: Entity, state: State) -> list[Cell]:
    """The buffers of the arrays an entity leads to."""
    return [c for e in within(entity, state) if isinstance(e, Array) for c in cells_of(e)]


def _common(x: Sequence[Cell], y: Sequence[Cell]) -> bool:
    return any(a is b or b in a.shares for a in x for b in y)
