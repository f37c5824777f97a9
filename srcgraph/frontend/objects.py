"""Objects: fields, methods, properties and operators of instances; named tuples; making new ones."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from srcgraph.errors import InferenceError
from srcgraph.frontend import calls, library
from srcgraph.frontend.boxes import held, new_box, rebind
from srcgraph.frontend.entities import (
    UNBOUND,
    Array,
    Const,
    Entity,
    Instance,
    Method,
    Partial,
    Record,
    Scalar,
    Tup,
    Unusable,
)
from srcgraph.frontend.memory import Dead, refuse
from srcgraph.frontend.session import Guard
from srcgraph.infer.objects import generated_init, is_frozen, is_named_tuple, slots_of, why_opaque
from srcgraph.ir.op import OPS

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

MISSING = object()


class Super:
    """What ``super()`` gives, as the class of a pair: the class whose method it stands in, and the object."""


def is_object(entity: Entity) -> bool:
    """Whether an entity has attributes of a class the user wrote."""
    return (isinstance(entity, Instance) and entity.cls is not dict) or (
        isinstance(entity, Tup) and is_named_tuple(entity.cls)
    )


def fields(low: Lowering, instance: Instance) -> Record:
    """What an object's box holds now."""
    content = held(low, instance.box)
    if isinstance(content, Unusable):
        raise low.unusable(content)
    assert isinstance(content, Record)
    return content


def field(content: Record, name: Any) -> Entity | None:
    """A field, or None where there is none."""
    return content.items[content.names.index(name)] if name in content.names else None


def with_field(content: Record, name: Any, entity: Entity) -> Record:
    """A record with one field changed or added."""
    if name not in content.names:
        return Record(content.cls, (*content.names, name), (*content.items, entity))
    at = content.names.index(name)
    return Record(content.cls, content.names, (*content.items[:at], entity, *content.items[at + 1 :]))


def raise_python(low: Lowering, error: str, message: str) -> Any:
    """What certainly raises, as Python does."""
    low.builder.call_named("check_that", False, error=error, message=message)
    raise Dead


# -- attributes -----------------------------------------------------------------------------------


def attribute(low: Lowering, base: Any, name: str) -> Entity:
    """``base.name`` of an object or a named tuple."""
    cls = base.cls
    if name == "__class__":
        return Const(cls)
    found = of_class(low, cls, name)
    if isinstance(found, property):
        return calls.apply(low, Const(found.fget), [base], {})
    own = named_item(base, name) if isinstance(base, Tup) else field(fields(low, base), name)
    if isinstance(own, Unusable):
        raise low.unusable(own)
    if own is not None:
        return low.bound(name, own, ("AttributeError", f"{cls.__name__!r} object has no attribute {{!r}}"))
    if isinstance(base, Tup) and name in ("_replace", "_asdict"):
        return Method(base, name)
    if found is MISSING:
        return raise_python(low, "AttributeError", f"{cls.__name__!r} object has no attribute {name!r}")
    return bound_attribute(low, base, cls, name, found)


def after(low: Lowering, cls: type, base: Entity, name: str) -> Entity:
    """``super().name``: what the classes after ``cls`` have, bound to ``base``."""
    assert isinstance(base, Instance | Tup)
    line = base.cls.__mro__
    for parent in line[line.index(cls) + 1 :]:
        if name in vars(parent):
            found = of_class(low, parent, name)
            if isinstance(found, types.FunctionType):
                return Partial(Const(found), (base,), ())
            if isinstance(found, property):
                return calls.apply(low, Const(found.fget), [base], {})
            if found is object.__init__:
                return Partial(Const(library.nothing), (), ())
            if isinstance(found, staticmethod | classmethod) and isinstance(base, Instance):
                return bound_attribute(low, base, base.cls, name, found)
            return low.session.outside_at(low, name, parent)
    return raise_python(low, "AttributeError", f"'super' object has no attribute {name!r}")


def has_attribute(low: Lowering, base: Any, name: str) -> bool:
    """Whether an object or a named tuple has an attribute."""
    if of_class(low, base.cls, name) is not MISSING:
        return isinstance(base, Tup) or name not in slots_of(base.cls) or field(fields(low, base), name) is not None
    return isinstance(base, Instance) and field(fields(low, base), name) is not None


def bound_attribute(low: Lowering, base: Entity, cls: type, name: str, found: Any) -> Entity:
    """An attribute found in the class, as the instance or the class itself sees it."""
    if isinstance(found, staticmethod):
        return Const(found.__func__)
    if isinstance(found, classmethod):
        return Partial(Const(found.__func__), (Const(cls),), ())
    if isinstance(found, functools.cached_property):
        why = f"{cls.__name__}.{name} is a cached property, which is not supported"
        raise refuse(why, low.loc, "make it a property, or compute it in __init__")
    if isinstance(found, types.FunctionType) or hasattr(found, "py_func"):
        return Method(base, name) if not isinstance(base, Const) else Const(found)
    if isinstance(found, types.MemberDescriptorType) or name.startswith("__"):
        return raise_python(low, "AttributeError", f"{cls.__name__!r} object has no attribute {name!r}")
    return low.session.outside_at(low, name, cls)


def of_class(low: Lowering, cls: type, name: str) -> Any:
    """What a class, or a base class, has under a name; the code is valid while it has that."""
    found = inspect.getattr_static(cls, name, MISSING)
    if isinstance(found, types.FunctionType | property | staticmethod | classmethod) or hasattr(found, "py_func"):
        low.session.guards[(name, id(cls))] = Guard(name, cls, found)
    return found


def class_attribute(low: Lowering, cls: type, name: str) -> Entity:
    """``Class.name``."""
    found = of_class(low, cls, name)
    if found is MISSING or isinstance(found, property | types.GetSetDescriptorType):  # `__name__` and the like
        return Const(getattr(cls, name))
    return bound_attribute(low, Const(cls), cls, name, found)


def named_item(base: Tup, name: str) -> Entity | None:
    """An item of a named tuple by its name."""
    names = base.cls._fields  # type: ignore[attr-defined]
    return base.items[names.index(name)] if name in names else None


def set_attribute(low: Lowering, base: Entity, name: str, entity: Entity) -> None:
    """``base.name = entity``."""
    if isinstance(base, Unusable):
        raise low.unusable(base)
    if not isinstance(base, Instance) or base.cls is dict:
        why = f"assigning to the attribute {name!r} of {low.shown(base)} is not supported"
        hint = f"make a new one: _replace({name}=...)" if is_object(base) else ""
        raise refuse(why, low.loc, hint)
    cls = base.cls
    found = of_class(low, cls, name)
    if isinstance(found, property):
        if found.fset is None:
            raise refuse(f"property {name!r} of {cls.__name__!r} object has no setter", low.loc)
        calls.apply(low, Const(found.fset), [base, entity], {})
        return
    if is_frozen(cls):
        why = f"cannot assign to field {name!r}: {cls.__name__} is a frozen dataclass"
        raise refuse(why, low.loc, f"make a new one: dataclasses.replace(..., {name}=...)")
    if name not in slots_of(cls) and not any("__dict__" in c.__dict__ for c in cls.__mro__):
        raise refuse(f"{cls.__name__!r} object has no attribute {name!r}: it is not among its slots", low.loc)
    set_field(low, base, name, entity)


def set_field(low: Lowering, base: Instance, name: Any, entity: Entity) -> None:
    """Change a field, or an item of a dict, whatever the class says of assignment."""
    if isinstance(name, str) and name.isidentifier():
        low.named(entity, name)
    rebind(low, base.box, with_field(fields(low, base), name, entity))


# -- calls ----------------------------------------------------------------------------------------


def call_method(
    low: Lowering, receiver: Any, name: str, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str = ""
) -> Entity:
    """``receiver.name(*args)`` of an object or a named tuple."""
    if isinstance(receiver, Tup) and name == "_replace":
        return replaced_tuple(low, receiver, kwargs)
    if isinstance(receiver, Tup) and name == "_asdict":
        names = receiver.cls._fields  # type: ignore[attr-defined]
        return Instance(new_box(low, Record(dict, names, receiver.items), "items"), dict)
    found = of_class(low, receiver.cls, name)
    return calls.apply(low, Const(found), [receiver, *args], kwargs, hint)


def replaced_tuple(low: Lowering, receiver: Tup, kwargs: dict[str, Entity]) -> Tup:
    names = receiver.cls._fields  # type: ignore[attr-defined]
    unknown = [k for k in kwargs if k not in names]
    if unknown:
        raise refuse(f"_replace() got an unexpected field name {unknown[0]!r}", low.loc, kind=InferenceError)
    return Tup(tuple(kwargs.get(n, e) for n, e in zip(names, receiver.items, strict=True)), receiver.cls)


def has_special(entity: Entity, name: str) -> bool:
    """Whether an object's class defines a method such as ``__add__`` in Python."""
    if not is_object(entity):
        return False
    found = inspect.getattr_static(entity.cls, name, None)  # type: ignore[union-attr]
    return isinstance(found, types.FunctionType) and found.__code__.co_filename != "<string>"


def special(low: Lowering, name: str, entity: Entity, *args: Entity) -> Entity:
    """Call a method such as ``__add__``."""
    return call_method(low, entity, name, list(args), {})


_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "floordiv": "floordiv", "mod": "mod",
    "power": "pow", "matmul": "matmul", "left_shift": "lshift", "right_shift": "rshift",
    "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
}  # fmt: skip


def operator(low: Lowering, op: str, x: Entity, y: Entity) -> Entity | None:
    """``x op y`` by the operands' own methods; None if they have none."""
    name = _OPERATORS.get(op)
    if has_special(x, f"__{name}__"):
        return special(low, f"__{name}__", x, y)
    if has_special(y, f"__r{name}__"):
        return special(low, f"__r{name}__", y, x)
    return None


def in_place_operator(low: Lowering, op: str, x: Entity, y: Entity) -> Entity | None:
    """``x op= y`` by the operand's own method; None if it has none."""
    name = f"__i{_OPERATORS.get(op)}__"
    return special(low, name, x, y) if has_special(x, name) else None


# -- making new ones ------------------------------------------------------------------------------


def is_constructor(function: Any) -> TypeGuard[type]:
    """Whether a callable is a class whose instances are taken apart."""
    return isinstance(function, type) and (is_named_tuple(function) or not why_opaque(function))


def construct(low: Lowering, cls: type, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """``cls(*args, **kwargs)``."""
    if is_named_tuple(cls):
        given = bound_fields(low, cls, inspect.signature(cls), args, kwargs)
        return Tup(tuple(given[n] for n in cls._fields), cls)  # type: ignore[attr-defined]
    if cls.__new__ is not object.__new__ or type(cls).__call__ is not type.__call__:
        raise refuse(f"making a {cls.__name__}, whose class defines __new__, is not supported", low.loc)
    made = Instance(new_box(low, Record(cls, (), ()), cls.__name__.lower()), cls)
    if generated_init(cls):
        _init_dataclass(low, made, args, kwargs)
    elif isinstance(inspect.getattr_static(cls, "__init__"), types.FunctionType):
        call_method(low, made, "__init__", args, kwargs)
    elif args or kwargs:
        raise refuse(f"{cls.__name__}() takes no arguments", low.loc, kind=InferenceError)
    return made


def bound_fields(
    low: Lowering, cls: type, signature: inspect.Signature, args: Sequence[Entity], kwargs: dict[str, Entity]
) -> dict[str, Entity]:
    """Arguments matched to the parameters of a generated constructor; defaults are what they are."""
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise refuse(f"{cls.__name__}(): {error}", low.loc, kind=InferenceError) from None
    out = {}
    for name, parameter in signature.parameters.items():
        out[name] = given[name] if name in given else _default(low, cls, name, parameter.default)
    return out


def _default(low: Lowering, cls: type, name: str, value: Any) -> Entity:
    known = getattr(cls, "__dataclass_fields__", {}).get(name)
    if known is not None and known.default_factory is not dataclasses.MISSING:
        return calls.apply(low, Const(known.default_factory), [], {})
    if isinstance(value, type) or callable(value) or why_opaque(type(value)):
        return calls.default(low, value)
    return low.session.outside_at(low, name, cls)


def _init_dataclass(low: Lowering, made: Instance, args: Sequence[Entity], kwargs: dict[str, Entity]) -> None:
    """What the ``__init__`` of a dataclass does."""
    cls = made.cls
    whole = inspect.signature(cls.__init__)
    signature = whole.replace(parameters=list(whole.parameters.values())[1:])
    given = bound_fields(low, cls, signature, args, kwargs)
    known = cls.__dataclass_fields__  # type: ignore[attr-defined]
    for f in known.values():
        if f._field_type is dataclasses._FIELD and f.init:  # type: ignore[attr-defined]
            set_field(low, made, f.name, given[f.name])
        elif f._field_type is dataclasses._FIELD and f.default_factory is not dataclasses.MISSING:  # type: ignore[attr-defined]
            set_field(low, made, f.name, calls.apply(low, Const(f.default_factory), [], {}))
    if hasattr(cls, "__post_init__"):
        extra = [given[f.name] for f in known.values() if f._field_type is dataclasses._FIELD_INITVAR]  # type: ignore[attr-defined]
        call_method(low, made, "__post_init__", extra, {})


def replace_object(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """``dataclasses.replace(x, **changes)``."""
    base = args[0]
    if not isinstance(base, Instance) or not dataclasses.is_dataclass(base.cls):
        raise refuse("replace() takes an instance of a dataclass", low.loc, kind=InferenceError)
    content = fields(low, base)
    names = [f.name for f in dataclasses.fields(base.cls) if f.init]
    given = {n: e for n in names if (e := field(content, n)) is not None}
    return construct(low, base.cls, [], {**given, **kwargs})


def taken_apart(low: Lowering, obj: Entity, make: Callable[[Record], Entity]) -> Entity:
    """``dataclasses.asdict(obj)`` and ``astuple``: the fields, dataclasses among them taken apart, all else copied."""
    if not (isinstance(obj, Instance) and dataclasses.is_dataclass(obj.cls)):
        raise refuse("this takes an instance of a dataclass", low.loc, kind=InferenceError)
    content = fields(low, obj)
    names = tuple(f.name for f in dataclasses.fields(obj.cls))
    items = tuple(_deep(low, field(content, n) or UNBOUND, make) for n in names)
    return make(Record(dict, names, items))


def _deep(low: Lowering, entity: Entity, make: Callable[[Record], Entity]) -> Entity:
    match entity:
        case Instance() if dataclasses.is_dataclass(entity.cls):
            return taken_apart(low, entity, make)
        case Tup(items=items, cls=cls):
            return Tup(tuple(_deep(low, e, make) for e in items), cls)
        case Array():
            return low.entity(low.builder.apply(OPS["copy"], (low.value(entity),), {}))
        case Scalar() | Const():
            return entity
    raise refuse(f"{low.shown(entity)} among the fields is not supported here", low.loc)


def copied(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """``copy.copy(x)``: a new object with the same fields."""
    base = args[0]
    if isinstance(base, Instance):
        return Instance(new_box(low, fields(low, base), base.box.name), base.cls)
    if isinstance(base, Tup | Const):
        return base
    raise refuse(f"copy of {low.shown(base)} is not supported", low.loc, "use its own method copy()")
