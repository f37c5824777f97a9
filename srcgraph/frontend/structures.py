"""Tuples, lists, dicts and objects as structures of what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from srcgraph.frontend import contents, objects
from srcgraph.frontend.boxes import new_box
from srcgraph.frontend.entities import Entity, Instance, Listing, Record, Tup
from srcgraph.infer.signature import part_name

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def parts(low: Lowering, entity: Entity, name: str) -> list[tuple[str, Entity]] | None:
    """What is in a structure, and what users call each part of ``name``; None if ``entity`` is none."""
    match entity:
        case Tup(items=items, cls=cls):
            return [(part_name(name, cls, k), e) for k, e in enumerate(items)]
        case Listing() if isinstance(held := contents.content(low, entity), Tup):
            return [(part_name(name, list, k), e) for k, e in enumerate(held.items)]
        case Instance(cls=cls):
            content = objects.fields(low, entity)
            return [(part_name(name, cls, k), e) for k, e in zip(content.names, content.items, strict=True)]
    return None


def rebuilt(low: Lowering, entity: Entity, items: Sequence[Entity]) -> Entity:
    """A new structure like ``entity`` with other things in it."""
    match entity:
        case Tup(cls=cls):
            return Tup(tuple(items), cls)
        case Listing():
            return contents.new_list(low, Tup(tuple(items), list))
        case Instance(box=box, cls=cls):
            content = objects.fields(low, entity)
            return Instance(new_box(low, Record(content.cls, content.names, tuple(items)), box.name), cls)
    raise TypeError(entity)
