"""What is there on some paths only: variables that may be unbound, and what may be None.

A `Maybe` carries a flag. Conditions tell it: after ``if x is None`` it is known what ``x`` is on either
path, and only where it is not does reading it check the flag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from srcgraph.frontend.entities import (
    NONE,
    UNBOUND,
    Array,
    Const,
    Entity,
    Instance,
    Listing,
    Maybe,
    Scalar,
    Tup,
    Unbound,
)

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


FLAG: dict[Entity, str] = {UNBOUND: "bound", NONE: "set"}
"""What the flag of something that may be missing is called."""


def layer(x: Entity, y: Entity) -> Unbound | Const | None:
    """What one of two is where it is not there and the other may be: unbound before None; None if neither."""
    for absent in (UNBOUND, NONE):
        for one, other in ((x, y), (y, x)):
            if isinstance(one, Maybe) and one.absent == absent:
                return absent
            if one == absent and (absent == UNBOUND or can_be_none(other)):
                return absent
    return None


def can_be_none(entity: Entity) -> bool:
    """Whether a flag can say that an entity is None instead: it is made of numbers and arrays."""
    if isinstance(entity, Tup):
        return all(can_be_none(e) or isinstance(e, Const) for e in entity.items)
    made = Scalar | Array | Listing | Instance | Maybe
    return isinstance(entity, made) or (isinstance(entity, Const) and entity.is_number)


def parted(entity: Entity, absent: Unbound | Const) -> tuple[Entity, Entity]:
    """Whether an entity is not ``absent``, and what it is then."""
    if isinstance(entity, Maybe) and entity.absent == absent:
        return entity.bound, entity.entity
    return Const(entity != absent), entity


def told(low: Lowering, entity: Entity) -> Entity:
    """What may or may not be there, where conditions have told which."""
    while isinstance(entity, Maybe) and isinstance(entity.bound, Const | Scalar):
        flag = entity.bound
        known = flag.value if isinstance(flag, Const) else low.builder.known_truth(flag.value)
        if known is None:
            break
        entity = entity.entity if known else entity.absent
    return entity


def is_optional(entity: Entity) -> bool:
    """Whether it may be None."""
    return isinstance(entity, Maybe) and entity.absent == NONE


def present(low: Lowering, entity: Entity, doing: str = "used", error: str = "TypeError") -> Entity:
    """What may be None, checked not to be."""
    while isinstance(entity, Maybe) and entity.absent == NONE:
        flag, name = low.value(entity.bound), low.name_of(entity)
        message = f"{name or 'this'} is None where it is {doing}"
        low.builder.call_named("check_that", flag, error=error, message=message)
        low.builder.learn_condition(flag, True)
        entity = told(low, entity.entity)
    return entity
