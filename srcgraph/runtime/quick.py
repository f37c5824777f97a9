"""What tells the calls of a function apart at a glance, before anything is described in full."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from srcgraph.infer.objects import is_named_tuple, slots_of, why_opaque
from srcgraph.ir.bitgen import address
from srcgraph.ir.shared import Container
from srcgraph.ir.types import NAME_OF

_PLAIN = frozenset({float, bool, complex, *(d.type for d in NAME_OF)})
_KNOWN = frozenset({type, types.FunctionType, types.BuiltinFunctionType, np.ufunc})
"""Kinds of which each value has code of its own."""
_KEYS = frozenset({str, int})
_SLOTS: WeakKeyDictionary[type, list[str] | None] = WeakKeyDictionary()


def quick_key(args: Sequence[Any], leaves: list[Any], objects: list[Any] | None = None) -> Any:
    """What tells calls with numbers, arrays, tuples, strings and None apart, in well under a microsecond an argument.

    None if there is anything else. The numbers and arrays are appended to ``leaves``; objects of the user's classes and
    dicts to ``objects``, in the order of their boxes, if they may be among the arguments.
    """
    key: list[Any] = []
    for value in args:
        kind = type(value)
        if kind is np.ndarray:
            shape = value.shape
            key.append(value.dtype)
            key.append(tuple([size == 1 for size in shape]) if 1 in shape else len(shape))
            leaves.append(value)
        elif kind in _PLAIN or (kind is int and -(2**63) <= value < 2**63):
            key.append(kind)
            leaves.append(value)
        elif kind is np.random.Generator:
            key.append(kind)
            leaves.append(address(value))
        elif value is None or kind is str:
            key.append(value)
        elif kind in _KNOWN:
            key += (kind, value)
        else:
            inner = _key_of_parts(kind, value, leaves, objects)
            if inner is None:
                return None
            key.append(inner)
    return tuple(key)


def _key_of_parts(kind: type, value: Any, leaves: list[Any], objects: list[Any] | None) -> Any:
    """That of a tuple, a shared variable or an object; None of an object that was met before."""
    if kind is tuple or is_named_tuple(kind):
        inner = quick_key(value, leaves, objects)
        return inner if kind is tuple or inner is None else (kind, inner)
    if kind is Container:
        if objects is not None:
            objects.append(value)
        return quick_key((value.value,), leaves, objects)
    fields = None if objects is None else _fields(kind, value)
    if objects is None or fields is None or any(value is x for x in objects):
        return None
    objects.append(value)
    inner = quick_key([*fields.values()], leaves, objects)
    return None if inner is None else (kind, *fields, inner)


def _fields(kind: type, value: Any) -> dict[Any, Any] | None:
    """The parts of a dict or an object, see `fields_of`; None if it has others."""
    if kind is dict:
        return value if _KEYS.issuperset(map(type, value)) else None
    if kind not in _SLOTS:
        _SLOTS[kind] = None if why_opaque(kind) else slots_of(kind)
    slots = _SLOTS[kind]
    if slots is None:
        return None
    own = getattr(value, "__dict__", {})
    return {**{name: getattr(value, name) for name in slots if hasattr(value, name)}, **own} if slots else own
