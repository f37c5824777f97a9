"""Shared variables: their containers are boxes that the function is given, besides its arguments, and may change.

A variable itself is a constant. Whatever it is called, and however a function comes by it, its container is one box of
the function's, so that two variables on one container see one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import arrays, branching, objects, tables
from srcgraph.frontend.boxes import held
from srcgraph.frontend.entities import NONE, Array, Choice, Const, Entity, Instance, Method, Record, Scalar, Unusable
from srcgraph.frontend.memory import ref_type, refuse
from srcgraph.frontend.resolve import to_integer
from srcgraph.frontend.session import Shapes
from srcgraph.ir.graph import Value
from srcgraph.ir.shared import Container, Kind, SharedVariable
from srcgraph.ir.shared import describe as named
from srcgraph.ir.text import is_name
from srcgraph.ir.types import INT, ArrayType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

METHODS = ("get_value", "set_value")


def is_shared(entity: Entity) -> bool:
    """Whether an entity is a shared variable, or one of several chosen at run time."""
    if isinstance(entity, Choice):
        return all(map(is_shared, entity.options))
    return isinstance(entity, Const) and isinstance(entity.value, SharedVariable)


def hint(entity: Entity) -> str:
    """What to write where a shared variable stands in place of its value."""
    if not is_shared(entity):
        return ""
    name = getattr(getattr(entity, "value", None), "name", None)
    return f"read and assign its value: {name or 'variable'}.value"


def attribute(low: Lowering, base: Entity, name: str) -> Entity:
    """``variable.name``: what it holds, or a method."""
    if name in METHODS:
        return Method(base, name)
    if name == "value":
        return branching.apart(low, [base], lambda known: content(low, _variable(known[0])))
    if isinstance(base, Const) and name in ("name", "strict", "frozen"):
        return Const(getattr(base.value, name))
    hint = "read its value: variable.value"
    raise refuse(f"{low.shown(base)} has no attribute {name!r} here", low.loc, hint, kind=InferenceError)


def _variable(entity: Entity) -> SharedVariable:
    assert isinstance(entity, Const) and isinstance(entity.value, SharedVariable)
    return entity.value


def content(low: Lowering, variable: SharedVariable) -> Entity:
    """What a variable holds now: what the function was given, or has put into it."""
    if not isinstance(variable.kind, Kind):
        why = f"{named(variable.name)} holds {variable.kind}, which compiled functions cannot read"
        raise refuse(why, low.loc, "read it outside, and pass what is needed of it as arguments")
    if variable.frozen:
        return low.session.outside_at(low, "value", low.session.frozen(variable))
    entity = objects.field(objects.fields(low, _box(low, variable)), "value")
    assert entity is not None
    return entity


def _box(low: Lowering, variable: SharedVariable) -> Instance:
    """The object that stands for its container."""
    name = variable.name or ""
    found = low.session.outside_at(low, name if is_name(name) else "shared", variable.container)
    if not isinstance(found, Instance):
        assert isinstance(found, Unusable)
        raise low.unusable(found)
    return found


def set_attribute(low: Lowering, base: Entity, name: str, entity: Entity) -> None:
    """``variable.name = entity``."""
    if name != "value":
        why = f"assigning to {name!r} of a shared variable is not supported inside a compiled function"
        raise refuse(why, low.loc, "assign to its value: variable.value = ...", kind=InferenceError)

    def put(option: Entity) -> Entity:
        assign(low, _variable(option), entity)
        return NONE

    branching.apart(low, [base], lambda known: put(known[0]))


def assign(low: Lowering, variable: SharedVariable, entity: Entity) -> None:
    """Put a value into a variable: a copy of an array, of the variable's type."""
    if variable.frozen:
        why = f"{named(variable.name)} is frozen: compiled functions take its value in as a constant"
        raise refuse(why, low.loc, "make it with frozen=False to assign to it here", kind=InferenceError)
    before = content(low, variable)
    if entity == before:  # as after `variable.value += 1`, which has changed the array itself
        return
    assert isinstance(variable.kind, Kind)
    objects.set_field(low, _box(low, variable), "value", _cast(low, variable, variable.kind, entity))


def shapes(low: Lowering) -> Shapes:
    """What functions called from here find in variables, where that is not of the shapes that they have outside."""
    found = dict(low.shapes)
    for entity in low.hidden.values():
        if isinstance(entity, Instance) and entity.cls is Container:
            container = next(h.container for h, e in low.hidden_order if e is entity)
            ones, outside = _ones(low, entity), np.shape(container.value)
            if ones is not None and ones != tuple(n == 1 for n in outside):
                found[container] = ones
            else:
                found.pop(container, None)
    return found


def _ones(low: Lowering, instance: Instance) -> tuple[bool | None, ...] | None:
    """Whether the lengths of what a container holds now are 1; None if it holds a number."""
    content = held(low, instance.box)
    array = objects.field(content, "value") if isinstance(content, Record) else None
    type = ref_type(low, array) if isinstance(array, Array) else None
    if not isinstance(type, ArrayType):
        return None
    return tuple(True if d == 1 else False if low.builder.not_one(d) else None for d in type.shape)


def _cast(low: Lowering, variable: SharedVariable, kind: Kind, entity: Entity) -> Entity:
    """An entity as a number or a new array of the variable's type."""
    b, own = low.builder, tables.operand(low, entity) if kind.ndim else entity
    value = low.value(own, f"what is assigned to {named(variable.name)}")
    exact = _kind(value, isinstance(own, Array)) == kind
    fits = exact if variable.strict else np.can_cast(value.type.dtype, kind.dtype, "same_kind")
    if not fits or value.type.ndim != (kind.ndim or 0):
        raise _wrong(low, variable, value, own)
    if kind.ndim is not None:
        return arrays.array(low, own, Const(kind.dtype))
    number = b.scalar(value) if isinstance(value.type, ArrayType) else value
    if kind.weak:
        return Scalar(to_integer(b, number) if kind.dtype == INT else b.cast(number, kind.dtype, weak=True))
    return Scalar(b.stored(number, kind.dtype))


def _kind(value: Value, is_array: bool) -> Kind:
    return Kind(value.type.dtype, value.type.ndim if is_array else None, getattr(value.type, "weak", False))


def _wrong(low: Lowering, variable: SharedVariable, value: Value, entity: Entity) -> Exception:
    given = _kind(value, isinstance(entity, Array))
    why = f"{named(variable.name)} holds {variable.kind}, not {given}"
    return refuse(why, low.loc, "its type is that of its first value: convert what is assigned", kind=InferenceError)


def call_method(
    low: Lowering, receiver: Entity, name: str, args: Sequence[Entity], kwargs: dict[str, Entity]
) -> Entity:
    """``variable.get_value()`` and ``variable.set_value(v)``: what is borrowed here is what need not be copied."""
    named_args = ("borrow",) if name == "get_value" else ("value", "borrow")
    given = dict(zip(named_args, args, strict=False)) | kwargs
    if len(args) > len(named_args) or not given.keys() <= set(named_args):
        raise refuse(f"{name}() takes {' and '.join(named_args)}", low.loc, kind=InferenceError)
    borrow = bool(low.static(given.pop("borrow", Const(False)), "borrow="))
    if name == "get_value":
        found = attribute(low, receiver, "value")
        return arrays.copy(low, found) if isinstance(found, Array) and not borrow else found
    if borrow:
        why = "a compiled function cannot lend an array to a shared variable"
        raise refuse(why, low.loc, "leave borrow=True away, or set the value outside")
    if "value" not in given:
        raise refuse("set_value() takes a value", low.loc, kind=InferenceError)
    set_attribute(low, receiver, "value", given["value"])
    return NONE
