"""Lists that stand for iterators: made of all items of others at once, as by `filter`, which must not change before
they are used up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from srcgraph.frontend.entities import Array, Box, Cell, Entity, Iteration, ListCell, Listing, Tup, boxes_of, within
from srcgraph.frontend.memory import refuse

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

Slot: TypeAlias = "tuple[Cell | Box, Any]"
COPY = "go over a copy: list(...)"


def once(low: Lowering, name: str, parts: Sequence[Entity], make: Callable[[], Entity]) -> Iteration:
    """A list made of others' items, as the iterator that Python makes: others must not change before it is used up, nor
    anything by a function, the first of its parts, in each turn."""
    before = [] if isinstance(parts[0], Listing) else slots(low, parts[:1])
    made = make()
    assert isinstance(made, Listing)
    for slot, held in before:
        if _held(low, slot) != held:
            why = f"what {name}() calls changes {getattr(slot, 'name', '') or 'something'!r} in each turn"
            raise refuse(f"{why}, which is not supported", low.loc, "write a loop")
    watch(low, made, parts)
    return Iteration("chain", (Tup((made,)),))


def watch(low: Lowering, made: Listing, sources: Sequence[Entity]) -> None:
    """Note what a list is made of that stands for an iterator."""
    assert isinstance(made.cell, ListCell)
    made.cell.watched = tuple(slots(low, sources))


def _slots(entity: Entity) -> Sequence[Cell | Box]:
    """What changes where something is stored into an entity."""
    return [entity.cell] if isinstance(entity, Array | Listing) else boxes_of(entity)


def _held(low: Lowering, slot: Cell | Box) -> Any:
    return low.state.store.get(slot) if isinstance(slot, Cell) else low.state.names.get(slot)


def check(low: Lowering, listing: Listing) -> None:
    """Refuse a list of which something has changed that it was made of."""
    check_slots(low, listing.cell.watched if isinstance(listing.cell, ListCell) else ())


def slots(low: Lowering, sources: Sequence[Entity]) -> list[Slot]:
    """All that is read of some entities, and what it holds now."""
    found = [slot for e in sources for part in within(e, low.state) for slot in _slots(part)]
    return [(slot, _held(low, slot)) for slot in found]


def check_slots(low: Lowering, watched: Sequence[Slot]) -> None:
    """Refuse what holds something else by now."""
    for slot, before in watched:
        if _held(low, slot) != before:
            name = getattr(slot, "name", "") or "what"
            why = f"{name!r} is changed before an iterator that goes over it is used up, which is not supported"
            raise refuse(why, low.loc, COPY)
