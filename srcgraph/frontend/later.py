"""Items that are read when their turn comes: those of lists and dicts that something goes over.

``enumerate(xs)`` reads ``xs[k]`` in its k-th turn, and sees what the turns before have stored there, as a loop over
``xs`` does; so do `zip`, `map`, `reversed` and the views of a dict. What is made of all items at once, as by `filter`,
is refused if one of them changes before the last turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from srcgraph.frontend import contents, expressions, lists, objects
from srcgraph.frontend.entities import (
    Const,
    Entity,
    Instance,
    Iteration,
    Later,
    Listing,
    Once,
    Record,
    Rows,
    Tup,
    Views,
)
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.watched import COPY

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def waiting(low: Lowering, entity: Entity) -> tuple[Entity, ...] | None:
    """The items of something to be gone over, if they are known when compiling; those of lists and dicts for later."""
    match entity:
        case Listing():
            now = contents.content(low, entity)
            size = len(now.items) if isinstance(now, Tup) else None
            return None if size is None else tuple(Later(entity, k, size) for k in range(size))
        case Instance(cls=cls) if cls is dict:
            return views(low, entity, ("key",))
        case Const(value=str() | tuple() as items):
            return tuple(map(Const, items))
        case Tup():
            return expressions.known_to_differ(low, entity).items
    return None


def iterator(low: Lowering, items: Sequence[Entity], over: Sequence[Entity], cls: type = Once) -> Tup:
    """Items that are made of those of others."""
    return Tup(tuple(items), cls, tuple(source for e in over for source in _sources(low, e)))


def _sources(low: Lowering, entity: Entity) -> Sequence[tuple[Entity, Any]]:
    match entity:
        case Listing():
            now = contents.content(low, entity)
            return [(entity, len(now.items))] if isinstance(now, Tup) else []
        case Instance(cls=cls) if cls is dict:
            return [(entity, objects.fields(low, entity).names)]
        case Tup(sources=sources):
            return sources
    return []


def check_sizes(low: Lowering, over: Entity) -> None:
    """Refuse lists and dicts that have other sizes now than when an iterator was made."""
    over = over.parts[1] if isinstance(over, Iteration) and over.kind == "map" else over
    for source, size in over.sources if isinstance(over, Tup) else ():
        if isinstance(source, Listing):
            _check_length(low, source, size)
        else:
            assert isinstance(source, Instance)
            _names(low, source, size)


def views(low: Lowering, entity: Instance, parts: Sequence[str]) -> tuple[Entity, ...]:
    """The items of a dict, or parts of them: ``"key"``, ``"value"``."""
    names = objects.fields(low, entity).names

    def item(k: int) -> Entity:
        found = tuple(Later(entity, k, names, part) for part in parts)
        return found[0] if len(found) == 1 else Tup(found)

    return tuple(map(item, range(len(names))))


def arrived(low: Lowering, entity: Entity) -> Entity:
    """Something to be gone over, or an item of it, as it is now."""
    match entity:
        case Later(source=Listing() as xs, number=k, size=size):
            return _item_of_list(low, xs, k, size)
        case Later(source=Instance() as made, number=k, size=names, part=part):
            record = _names(low, made, names)
            return Const(names[k]) if part == "key" else record.items[k]
        case Tup(items=items, cls=cls) if any(map(_waits, items)):
            return Tup(tuple(arrived(low, e) if _waits(e) else e for e in items), cls)
    return entity


def _waits(entity: Entity) -> bool:
    """Whether something has such an item, but for what can be gone over itself."""
    if isinstance(entity, Tup) and entity.cls not in (Once, Views):
        return any(map(_waits, entity.items))
    return isinstance(entity, Later)


def _item_of_list(low: Lowering, xs: Listing, k: int, size: int) -> Entity:
    now = _check_length(low, xs, size)
    return lists.item_of(low, xs, now, low.builder.const(k)) if isinstance(now, Rows) else now.items[k]


def _check_length(low: Lowering, xs: Listing, size: int) -> Tup | Rows:
    now = contents.content(low, xs)
    if contents.length(low, now).type.value != size:
        why = f"{xs.cell.name or 'a list'!r} changes its length while it is gone over, which is not supported here"
        raise refuse(why, low.loc, COPY)
    return now


def _names(low: Lowering, made: Instance, names: Any) -> Record:
    now = objects.fields(low, made)
    if now.names != names:
        raise refuse("a dict changes its size while it is gone over, which is not supported", low.loc, COPY)
    return now
