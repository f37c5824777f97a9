"""Boxes: slots that hold an entity and are shared, such as a closure's variables and objects' fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srcgraph.frontend.entities import Box, Entity, Record, State, Unbound, Unusable
from srcgraph.frontend.memory import beside, refuse
from srcgraph.frontend.once import refuse_kept

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

_LOST = Unusable("this was made on one path only", "make it on every path")


def held(low: Lowering, box: Box) -> Entity:
    """What a box holds now."""
    return held_in(low.state, box)


def held_in(state: State, box: Box) -> Entity:
    """What a box holds in a state; one that came to be elsewhere holds nothing that can be read."""
    return state.names.get(box, _LOST)


def new_box(low: Lowering, entity: Entity, name: str) -> Box:
    """A box that holds ``entity``."""
    _refuse_iterators(low, entity)
    box = Box(name)
    low.state.names[box] = entity
    return box


def _refuse_iterators(low: Lowering, entity: Entity) -> None:
    if isinstance(entity, Record):
        refuse_kept(low, entity.items, "in a dict" if entity.cls is dict else "in an object")


def rebind(low: Lowering, box: Box, entity: Entity) -> None:
    """Let a box hold something else; what may be the same box can no longer be read."""
    if box.fixed:
        raise refuse(box.fixed, low.loc, "pass it as an argument")
    _refuse_iterators(low, entity)
    low.state.names[box] = entity
    for other in sorted(box.shares, key=str):
        if other.visible:
            raise refuse(
                f"this changes {box.name!r}, which may or may not be the argument {other.name!r}",
                low.loc,
                "make it one or the other on every path, or build a new one",
            )
        if not isinstance(held(low, other), Unbound):
            line = low.loc.line if low.loc else "?"
            low.state.names[other] = Unusable(
                f"{other.name!r} may be the same object as {beside(other, box)}, which was changed at line {line}",
                "use one name for it",
            )
