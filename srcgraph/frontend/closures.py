"""Functions defined inside the one being lowered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from srcgraph.frontend.entities import UNBOUND, Closure, Entity, parts_of, with_parts
from srcgraph.frontend.scope import free_names

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def captured_names(low: Lowering, closure: Closure) -> dict[str, Entity]:
    """What a closure's free names mean now; names bound nowhere here the callee finds outside."""
    if closure.captured is not None:
        return dict(closure.captured)
    local = [n for n in sorted(free_names(closure.node)) if n in low.scope.local or n in low.outer]
    return {n: low.lookup(n) for n in local}


def function_key(low: Lowering, entity: Entity) -> tuple[Any, tuple[Entity, ...]]:
    """A function made inside, as what stays the same and the entities that may differ."""
    if isinstance(entity, Closure):
        captured = captured_names(low, entity)
        return ClosureKey(entity, tuple(captured)), (*parts_of(replace(entity, captured=None)), *captured.values())
    parts = parts_of(entity)
    return PartsKey(with_parts(entity, [UNBOUND] * len(parts))), parts


@dataclass(frozen=True, slots=True)
class PartsKey:
    """A partial or a method as part of a signature: without what it holds."""

    blank: Entity

    def rebuilt(self, parts: Sequence[Entity]) -> Entity:
        return with_parts(self.blank, parts)


class ClosureKey:
    """A nested function as part of a signature: compared by its syntax tree."""

    __slots__ = ("captured", "closure")

    def __init__(self, closure: Closure, captured: tuple[str, ...]):
        self.closure = closure
        self.captured = captured

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClosureKey) and self.closure.node is other.closure.node

    def __hash__(self) -> int:
        return id(self.closure.node)

    def rebuilt(self, parts: Sequence[Entity]) -> Closure:
        """The same function in a callee's terms: ``parts`` are its defaults and what it captures."""
        c = self.closure
        n, m = len(c.defaults), len(c.kw_defaults)
        kw = tuple((k, e) for (k, _), e in zip(c.kw_defaults, parts[n : n + m], strict=True))
        captured = tuple(zip(self.captured, parts[n + m :], strict=True))
        return Closure(c.node, c.name, tuple(parts[:n]), kw, c.code, captured)
