"""Which objects can be taken apart: their fields, by what their class is."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
from functools import cache
from typing import Any

_OWN_KINDS = ("srcgraph", "numpy", "scipy", "numba", "functools", "builtins")
"""Packages whose objects have a meaning of their own."""
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: the class was made by a class statement


def is_named_tuple(cls: type) -> bool:
    """Whether a class is one of `collections.namedtuple` or `typing.NamedTuple`, or derived from one."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_frozen(cls: type) -> bool:
    """Whether instances refuse assignment: a frozen dataclass."""
    params = getattr(cls, "__dataclass_params__", None)
    return params is not None and params.frozen


@cache
def why_opaque(cls: type) -> str:
    """Why instances of a class cannot be taken apart into fields; '' if they can."""
    if cls.__module__.split(".")[0] in _OWN_KINDS or issubclass(cls, enum.Enum | type):
        return "it has a meaning of its own"
    for base in cls.__mro__[:-1]:
        own = "__slots__" in base.__dict__ or any("__dict__" in c.__dict__ for c in base.__mro__[:-1])
        if not base.__flags__ & _HEAP or not own or _in_c(base):
            return f"it is derived from {base.__name__}"
    for hook in ("__getattr__", "__getattribute__", "__setattr__", "__delattr__"):
        found = inspect.getattr_static(cls, hook, None)
        if found is not getattr(object, hook, None) and not _of_dataclass(cls, hook):
            return f"its class defines {hook}"
    return ""


def _in_c(cls: type) -> bool:
    """Whether a class has methods of its own that are written in C: there is more to its instances than fields."""
    kinds = types.MethodDescriptorType | types.WrapperDescriptorType | types.ClassMethodDescriptorType
    return any(isinstance(v, kinds) and v.__objclass__ is cls for v in vars(cls).values())


def _of_dataclass(cls: type, hook: str) -> bool:
    """Whether a frozen dataclass has ``hook`` from the decorator: it refuses assignment."""
    return is_frozen(cls) and hook in ("__setattr__", "__delattr__")


def slots_of(cls: type) -> list[str]:
    """The attributes kept in slots, base classes' first."""
    found: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        names = base.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if isinstance(inspect.getattr_static(cls, name, None), types.MemberDescriptorType):
                found[name] = None
    return list(found)


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes an instance has of its own, in order."""
    out = {name: getattr(value, name) for name in slots_of(type(value)) if hasattr(value, name)}
    return {**out, **getattr(value, "__dict__", {})}


def generated_init(cls: type) -> bool:
    """Whether ``__init__`` is the one that the dataclass decorator wrote."""
    owner = next((c for c in cls.__mro__ if "__init__" in c.__dict__), object)
    params = owner.__dict__.get("__dataclass_params__")
    return params is not None and params.init and owner.__dict__["__init__"].__code__.co_filename == "<string>"


def compared_fields(cls: type) -> tuple[str, ...] | None:
    """The fields a dataclass's own ``==`` and ``<`` compare; None if it has none of its own."""
    owner = next((c for c in cls.__mro__ if "__eq__" in c.__dict__), object)
    params = owner.__dict__.get("__dataclass_params__")
    if params is None or not params.eq:
        return None
    return tuple(f.name for f in dataclasses.fields(owner) if f.compare)  # type: ignore[arg-type]


def is_ordered(cls: type) -> bool:
    """Whether a dataclass compares its instances by ``<``."""
    params = getattr(cls, "__dataclass_params__", None)
    return params is not None and params.order


def build(cls: type, names: tuple[Any, ...], values: list[Any]) -> Any:
    """An object of a class with these fields; ``__init__`` does not run again."""
    if cls is dict:
        return dict(zip(names, values, strict=True))
    made = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def build_tuple(cls: type, values: list[Any]) -> Any:
    """A tuple, a list, or a named tuple of a class."""
    return tuple.__new__(cls, values) if issubclass(cls, tuple) else cls(values)


def update(target: Any, names: tuple[Any, ...], changes: dict[Any, Any]) -> None:
    """Give an object the fields ``names``: those in ``changes`` are new, the others as they are."""
    if isinstance(target, dict):
        if list(target) + [n for n in names if n not in target] == list(names):
            target.update(changes)
            return
        after = {n: changes[n] if n in changes else target[n] for n in names}
        target.clear()
        target.update(after)
        return
    for name, value in changes.items():
        object.__setattr__(target, name, value)
