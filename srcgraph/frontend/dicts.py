"""Dicts whose keys are known when compiling: an object whose fields are its items, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from srcgraph.errors import InferenceError
from srcgraph.frontend import effects, expressions, later
from srcgraph.frontend.boxes import new_box, rebind
from srcgraph.frontend.entities import NONE, Const, Entity, Instance, Listing, Record, Tup, Views
from srcgraph.frontend.memory import Refusal, computed, refuse
from srcgraph.frontend.objects import field, fields, set_field, with_field

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def is_dict(entity: Entity) -> bool:
    return isinstance(entity, Instance) and entity.cls is dict


def new_dict(low: Lowering, content: Record, hint: str = "") -> Instance:
    return Instance(new_box(low, content, hint or "items"), dict)


EMPTY = Record(dict, (), ())


def literal(low: Lowering, node: Any, hint: str = "") -> Entity:
    """``{"a": 1.0, **other}``."""
    content = EMPTY
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            content = merged(content, content_of(low, expressions.lower(low, value)))
        else:
            known = key_of(low, expressions.lower(low, key))
            content = with_field(content, known, expressions.optional(low, value))
    return new_dict(low, content, hint)


def _has_list(entity: Entity) -> bool:
    return isinstance(entity, Listing) or (isinstance(entity, Tup) and any(map(_has_list, entity.items)))


def key_of(low: Lowering, entity: Entity) -> Any:
    """A key, which has to be known when compiling."""
    if _has_list(entity):
        computed(low, hash, [])
    try:
        key = low.static(entity, "the key of a dict")
    except Refusal as refusal:
        hint = "use an array indexed by integers, or if and elif"
        raise refuse(refusal.problem.message, low.loc, hint, kind=InferenceError) from None
    try:
        hash(key)
    except TypeError:
        raise refuse(f"{low.shown(entity)} cannot be the key of a dict", low.loc, kind=InferenceError) from None
    return key


def content_of(low: Lowering, entity: Entity) -> Record:
    """The items of something a dict can be made of: a dict, or pairs."""
    if isinstance(entity, Instance) and is_dict(entity):
        return fields(low, entity)
    content = EMPTY
    for pair in expressions.items_of(low, entity):
        parts = expressions.items_of(low, pair, 2)
        if len(parts) != 2:
            raise refuse("a dict is made of pairs", low.loc, kind=InferenceError)
        key, value = parts
        content = with_field(content, key_of(low, key), value)
    return content


def merged(x: Record, y: Record) -> Record:
    for name, entity in zip(y.names, y.items, strict=True):
        x = with_field(x, name, entity)
    return x


def construct(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str = "") -> Entity:
    """``dict(a=1.0)``, ``dict(other)``, ``dict(pairs)``."""
    content = content_of(low, args[0]) if args else EMPTY
    return new_dict(low, merged(content, Record(dict, tuple(kwargs), tuple(kwargs.values()))), hint)


def subscript(low: Lowering, base: Instance, key: Entity) -> Entity:
    """``d[key]``."""
    known = key_of(low, key)
    found = field(fields(low, base), known)
    return _missing(low, known) if found is None else found


def _missing(low: Lowering, key: Any) -> Any:
    """Raise the KeyError of a key that is not there."""
    return effects.fail(low, KeyError, [_as_entity(key)])


def _as_entity(key: Any) -> Entity:
    return Tup(tuple(map(_as_entity, key))) if type(key) is tuple else Const(key)


def store(low: Lowering, base: Instance, key: Entity, entity: Entity) -> None:
    """``d[key] = entity``."""
    set_field(low, base, key_of(low, key), entity)


def without(content: Record, key: Any) -> Record:
    pairs = [(n, e) for n, e in zip(content.names, content.items, strict=True) if n != key]
    return Record(dict, tuple(n for n, _ in pairs), tuple(e for _, e in pairs))


def delete(low: Lowering, base: Instance, key: Entity) -> None:
    """``del d[key]``."""
    pop(low, base, key)


def contains(low: Lowering, base: Instance, key: Entity) -> Entity:
    """``key in d``."""
    return Const(key_of(low, key) in fields(low, base).names)


# -- methods --------------------------------------------------------------------------------------


def get(low: Lowering, base: Instance, key: Entity, default: Entity = NONE) -> Entity:
    found = field(fields(low, base), key_of(low, key))
    return default if found is None else found


def pop(low: Lowering, base: Instance, key: Entity, default: Entity | None = None) -> Entity:
    content, known = fields(low, base), key_of(low, key)
    found = field(content, known)
    if found is None:
        return _missing(low, known) if default is None else default
    rebind(low, base.box, without(content, known))
    return found


def setdefault(low: Lowering, base: Instance, key: Entity, default: Entity = NONE) -> Entity:
    known = key_of(low, key)
    found = field(fields(low, base), known)
    if found is None:
        set_field(low, base, known, default)
    return default if found is None else found


def update(low: Lowering, base: Instance, other: Entity = Tup(()), /, **kwargs: Entity) -> Entity:
    content = merged(fields(low, base), content_of(low, other))
    rebind(low, base.box, merged(content, Record(dict, tuple(kwargs), tuple(kwargs.values()))))
    return NONE


def keys(low: Lowering, base: Instance) -> Entity:
    return later.iterator(low, later.views(low, base, ("key",)), [base], Views)


def values(low: Lowering, base: Instance) -> Entity:
    return later.iterator(low, later.views(low, base, ("value",)), [base], Views)


def items(low: Lowering, base: Instance) -> Entity:
    return later.iterator(low, later.views(low, base, ("key", "value")), [base], Views)


def copy(low: Lowering, base: Instance) -> Entity:
    return new_dict(low, fields(low, base), base.box.name)


def clear(low: Lowering, base: Instance) -> Entity:
    rebind(low, base.box, EMPTY)
    return NONE


METHODS: dict[str, Callable[..., Entity]] = {
    "get": get, "pop": pop, "setdefault": setdefault, "update": update, "keys": keys, "values": values,
    "items": items, "copy": copy, "clear": clear,
}  # fmt: skip


def call_method(low: Lowering, base: Instance, name: str, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """``d.name(*args)``."""
    try:
        return METHODS[name](low, base, *args, **kwargs)
    except TypeError as error:
        raise refuse(f"dict.{name}(): {error}", low.loc, kind=InferenceError) from None
