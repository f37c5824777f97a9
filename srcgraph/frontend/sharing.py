"""Objects a loop makes anew: which of them may be one, or one from before the loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from srcgraph.frontend.boxes import held_in
from srcgraph.frontend.entities import (
    UNBOUND,
    Box,
    Cell,
    Either,
    Entity,
    Instance,
    Key,
    Listing,
    Record,
    State,
    Unbound,
    boxes_of,
    cells_of,
    may_share,
    parts_of,
)

Path: TypeAlias = tuple[Any, ...]


def places(entity: Entity, state: State, path: Path = (), around: tuple[Box, ...] = ()) -> Iterator[tuple[Path, Box]]:
    """The boxes an entity leads to in ``state``, each with where in it that is."""
    if isinstance(entity, Instance):
        yield path, entity.box
        if entity.box not in around:
            yield from places(held_in(state, entity.box), state, path, (*around, entity.box))
        return
    keys = entity.names if isinstance(entity, Record) else range(len(parts_of(entity)))
    for key, part in zip(keys, parts_of(entity), strict=True):
        yield from places(part, state, (*path, key), around)
    for box in boxes_of(entity) if not parts_of(entity) else ():
        if box not in around:
            yield from places(held_in(state, box), state, (*path, box), (*around, box))


@dataclass(slots=True)
class Sharing:
    """The boxes a header makes anew, by variable and place in it."""

    before: State
    header: dict[Key, Entity]
    state: State

    def made(self) -> Iterator[tuple[Key, Path, Box]]:
        """The boxes that are the header's own."""
        for key, entity in self.header.items():
            for path, box in places(entity, self.state):
                if box not in self.before.names:
                    yield key, path, box

    def at(self, key: Key, path: Path, state: State) -> list[Box]:
        """What is at a place of a variable in ``state``."""
        return [b for p, b in places(state.names.get(key, Unbound()), state) if p == path]

    def outliving(self, boxes: Sequence[Box]) -> set[Box]:
        """What is from before the loop and may be one of these."""
        return {s for box in boxes for s in (box, *box.shares) if s in self.before.names}

    def relate(self, state: State) -> None:
        """What is one box in ``state`` may be one at the header."""
        made = [(box, self.at(key, path, state)) for key, path, box in self.made()]
        for k, (x, at_x) in enumerate(made):
            for y, at_y in made[k + 1 :]:
                if any(a is b or b in a.shares for a in at_x for b in at_y):
                    may_share(x, y)

    def with_entry(self, live: Sequence[Key]) -> None:
        """What is carried may be what it was before the loop, if anything else can see that."""
        for key, path, box in self.made():
            for other in self.outliving(self.at(key, path, self.before)):
                if other.visible or self.seen_by_others(other, key, live):
                    may_share(box, other)
        self.relate(self.before)

    def with_ends(self, ends: State) -> None:
        """What is carried may be what its variable refers to after an iteration, if that outlives it."""
        made = [(box, self.at(key, path, ends)) for key, path, box in self.made()]
        grows = True
        while grows:
            grows = False
            for box, at_end in made:
                for other in self.outliving(at_end) - box.shares:
                    grows = True
                    for same in (other, *other.shares):
                        may_share(box, same)
        self.relate(ends)

    def seen_by_others(self, box: Box, key: Key, live: Sequence[Key]) -> bool:
        """Whether a variable other than ``key`` leads to a box."""
        names = self.before.names
        return any(box is b for n in live if n != key and n in names for _, b in places(names[n], self.before))


# -- arrays ---------------------------------------------------------------------------------------------


def share(before: State, header: dict[Key, Entity], made: State, state: State) -> None:
    """Carried arrays may be the memory of views made in some cases only, or of each other, as they are in ``state``.

    ``made`` is the state that ``header`` is part of.
    """
    grows = True
    while grows:
        grows = False
        for name, entity in header.items():
            origins = set(cells_of(state.names.get(name, UNBOUND), state)) - set(cells_of(entity, made))
            found = {other for cell in origins for other in cell.shares}
            found |= {cell for cell in origins if cell in before.store} if isinstance(entity, Listing) else set()
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
    return [c for c in cells_of(entity or UNBOUND, state) if c not in before.store and not isinstance(c.choice, Either)]


def _common(x: Sequence[Cell], y: Sequence[Cell]) -> bool:
    return any(a is b or b in a.shares for a in x for b in y)
