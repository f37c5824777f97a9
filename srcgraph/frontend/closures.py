"""Functions defined inside the one being lowered: they see the variables around them, as they are when called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srcgraph.frontend.boxes import new_box
from srcgraph.frontend.entities import UNBOUND, Box, Closure, Entity, parts_of, with_parts
from srcgraph.frontend.scope import free_names

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def captured(low: Lowering, node: Any) -> tuple[tuple[str, Box], ...]:
    """The variables around a nested function that it sees; names bound nowhere here it finds outside."""
    boxes = {**low.outer, **low.slots}
    return tuple((n, boxes[n]) for n in sorted(free_names(node)) if n in boxes)


def captured_now(low: Lowering, node: Any) -> tuple[tuple[str, Box], ...]:
    """As `captured`, for a function that is called at once: other variables are handed on as they are."""
    boxes = dict(captured(low, node))
    for name in sorted(free_names(node) & low.scope.local - frozenset(boxes)):
        boxes[name] = new_box(low, low.state.names.get(name, UNBOUND), name)
    return tuple(sorted(boxes.items()))


def function_key(entity: Entity) -> tuple[Any, tuple[Entity | Box, ...]]:
    """A function made inside, as what stays the same, and the entities and variables that may differ."""
    if isinstance(entity, Closure):
        return ClosureKey(entity), (*parts_of(entity), *(box for _, box in entity.captured))
    parts = parts_of(entity)
    return PartsKey(with_parts(entity, [UNBOUND] * len(parts))), parts


@dataclass(frozen=True, slots=True)
class PartsKey:
    """A partial or a method as part of a signature: without what it holds."""

    blank: Entity

    def rebuilt(self, parts: Sequence[Any]) -> Entity:
        return with_parts(self.blank, parts)


class ClosureKey:
    """A nested function as part of a signature: compared by its syntax tree."""

    __slots__ = ("closure",)

    def __init__(self, closure: Closure):
        self.closure = closure

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClosureKey) and self.closure.node is other.closure.node

    def __hash__(self) -> int:
        return id(self.closure.node)

    def rebuilt(self, parts: Sequence[Any]) -> Closure:
        """The same function in a callee's terms: ``parts`` are its defaults and the boxes it captures."""
        c = self.closure
        n, m = len(c.defaults), len(c.kw_defaults)
        kw = tuple((k, e) for (k, _), e in zip(c.kw_defaults, parts[n : n + m], strict=True))
        own = tuple((name, box) for (name, _), box in zip(c.captured, parts[n + m :], strict=True))
        return Closure(c.node, c.name, tuple(parts[:n]), kw, c.code, own)
