"""Functions defined inside the one being lowered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from srcgraph.frontend.entities import UNBOUND, Closure, Const, Entity, parts_of, with_parts
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.scope import free_names

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, eq=False, slots=True)
class Sibling:
    """A nested function as others of its scope, and itself, capture it: what it captures is captured with it."""

    closure: Closure


def captured_names(low: Lowering, closure: Closure) -> dict[str, Entity]:
    """What a closure's free names mean now; names bound nowhere here the callee finds outside."""
    if closure.captured is not None:
        return dict(closure.captured)
    out: dict[str, Entity] = {}
    _capture(low, closure, out)
    return out


def _capture(low: Lowering, closure: Closure, out: dict[str, Entity]) -> None:
    """Add what a function defined here captures, and what the functions that it captures do."""
    for name in sorted(free_names(closure.node)):
        entity = low.state.names.get(name) if name in low.scope.local else None
        if isinstance(entity, Closure) and entity.captured is None:
            if name not in out:
                out[name] = Const(_sibling(low, entity))
                _capture(low, entity, out)
        elif name in low.scope.local:
            out[name] = low.lookup(name)
        elif name in low.outer:
            _add(low, name, low.outer[name], out)


def _add(low: Lowering, name: str, entity: Entity, out: dict[str, Entity]) -> None:
    """Add a name of the scopes around, and where it is a sibling what that needs of them."""
    if name in out:
        if out[name] != entity:
            why = f"the nested functions called here capture two variables named {name!r}"
            raise refuse(why, low.loc, "give one of them another name")
        return
    out[name] = entity
    if isinstance(entity, Const) and isinstance(entity.value, Sibling):
        for inner in sorted(free_names(entity.value.closure.node)):
            if inner in low.outer:
                _add(low, inner, low.outer[inner], out)


def _sibling(low: Lowering, closure: Closure) -> Sibling:
    parts = parts_of(closure)
    if not all(isinstance(p, Const) for p in parts):
        why = f"{closure.name}() is captured by a nested function, and has a default computed at run time"
        raise refuse(why, low.loc, "pass it as an argument")
    return low.session.siblings.setdefault((closure.node, parts), Sibling(closure))


def met_inside(low: Lowering, entity: Entity) -> Entity:
    """A name of the scopes around as it is used: a sibling with all that it captures."""
    if not (isinstance(entity, Const) and isinstance(entity.value, Sibling)):
        return entity
    out: dict[str, Entity] = {}
    for name in sorted(free_names(entity.value.closure.node)):
        if name in low.outer:
            _add(low, name, low.outer[name], out)
    return replace(entity.value.closure, captured=tuple(out.items()))


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
