"""Iterators are gone over once: where one could be met again with nothing left, it is refused.

The name of one cannot be read after it was read, in any function that sees it; what holds an iterator is one in this
respect. In a list, a dict, an object, a default or a partial, or under two names, it could be met again unseen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from srcgraph.frontend.entities import (
    Choice,
    Closure,
    Entity,
    Maybe,
    Partial,
    Record,
    Tup,
    Unusable,
    is_once,
    parts_of,
)
from srcgraph.frontend.memory import refuse

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

HINT = "make a list of it: list(...)"


@dataclass(frozen=True, slots=True)
class GoneOver(Unusable):
    """An iterator of which nothing may be left."""


def gone_over(name: object, inside: bool = False) -> GoneOver:
    """Of that name, or ``inside`` what has it."""
    has = "holds an iterator" if inside else "is an iterator"
    return GoneOver(f"{str(name)!r} {has} that may have been gone over before, with nothing left", HINT)


def holds_once(entity: Entity) -> bool:
    """Whether something is an iterator, or has one in it."""
    if is_once(entity):
        return True
    is_made_of = isinstance(entity, Tup | Record | Maybe | Choice | Partial | Closure)
    return is_made_of and any(map(holds_once, parts_of(entity)))


def refuse_kept(low: Lowering, entities: Iterable[Entity], where: str) -> None:
    """Refuse an iterator where it could be found again after it was gone over."""
    if any(map(holds_once, entities)):
        raise refuse(f"an iterator {where} is not supported", low.loc, HINT)
