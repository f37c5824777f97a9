"""Attributes and methods: of arrays, numbers and modules."""

from __future__ import annotations

import enum
import operator
import sys
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import (
    arrays,
    branching,
    calls,
    choices,
    dicts,
    effects,
    flat,
    generators,
    library,
    lists,
    nested,
    numbers,
    numpy_calls,
    objects,
    raised,
    shared,
    tables,
    text,
    views,
)
from srcgraph.frontend.entities import (
    Array,
    Choice,
    Const,
    Entity,
    Instance,
    Iteration,
    Listing,
    Maybe,
    Method,
    Partial,
    Rng,
    Scalar,
    Text,
    Tup,
)
from srcgraph.frontend.memory import ref_type, refuse
from srcgraph.frontend.resolve import methods
from srcgraph.ir.dims import Dim, product
from srcgraph.ir.types import ArrayType, Type

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

_COMPILED_IN = ("numpy", "math", "scipy", "operator", "functools", "builtins", "itertools", "cmath")


def is_compiled_in(function: Any) -> bool:
    """Whether a function is one of Python's or NumPy's, not a user's."""
    home = getattr(function, "__module__", None) or type(function).__module__
    return home.split(".")[0] in _COMPILED_IN


def attribute(low: Lowering, base: Entity, name: str, hint: str = "") -> Entity:
    """``base.name``."""
    if name == "__getitem__" and (isinstance(base, Array | Listing) or dicts.is_dict(base)):
        return Partial(Const(operator.getitem), (base,), ())
    if isinstance(base, Array):
        return _of_array(low, base, name)
    if isinstance(base, Const) and isinstance(base.value, enum.Enum) and name in ("name", "value"):
        return Const(getattr(base.value, name))
    if isinstance(base, Scalar) or (isinstance(base, Const) and base.is_number):
        return _of_number(low, base, name)
    if isinstance(base, Tup) and base.cls is objects.Super:
        cls, instance = base.items
        return objects.after(low, low.static(cls, "a class"), instance, name)
    if isinstance(base, Iteration) and base.kind == "range" and name in ("start", "stop", "step"):
        return base.parts[("start", "stop", "step").index(name)]
    if isinstance(base, Rng) and hasattr(np.random.Generator, name):
        return Method(base, name)
    if isinstance(base, Const) and isinstance(base.value, types.ModuleType):
        return _of_module(low, base.value, name)
    if isinstance(base, Const) and objects.is_constructor(base.value):
        return objects.class_attribute(low, base.value, name)
    if isinstance(base, Const) and isinstance(base.value, np.dtype | type | np.finfo | np.iinfo | np.ufunc):
        return _python_attribute(low, base.value, name)
    if isinstance(base, Listing) and name in lists.METHODS:
        return Method(base, name)
    if (
        isinstance(base, Text)
        or text.is_one_of(base)
        or (isinstance(base, Const) and isinstance(base.value, str) and hasattr(str, name))
    ):
        return Method(base, name)
    if dicts.is_dict(base) and name in dicts.METHODS:
        return Method(base, name)
    if objects.is_object(base):
        return objects.attribute(low, base, name)
    if shared.is_shared(base):
        return shared.attribute(low, base, name)
    if isinstance(base, Choice) and name == "__name__":
        return choices.combined_options(low, [base], lambda known: attribute(low, known[0], name))
    if raised.is_raised(base) and name == "args":
        return branching.apart(low, [base], lambda known: raised.arguments(low, known[0]))  # type: ignore[arg-type]
    raise refuse(f"attribute {name!r} of {low.shown(base)} is not supported", low.loc, kind=InferenceError)


def _of_module(low: Lowering, module: types.ModuleType, name: str) -> Entity:
    if module is sys and (stream := effects.stream_named(name)) is not None:
        return stream
    if not hasattr(module, name):
        raise refuse(f"module {module.__name__!r} has no attribute {name!r}", low.loc, kind=InferenceError)
    if module.__name__.split(".")[0] in _COMPILED_IN:
        return _python_attribute(low, module, name)
    return low.session.outside_at(low, name, module.__dict__)


def _python_attribute(low: Lowering, value: Any, name: str) -> Entity:
    try:
        found = getattr(value, name)
        return Scalar(low.builder.const(found)) if isinstance(found, np.number) else Const(found)
    except AttributeError as error:
        raise refuse(str(error), low.loc, kind=InferenceError) from None


def _of_array(low: Lowering, base: Array, name: str) -> Entity:
    kind: Type = ref_type(low, base)
    if not isinstance(kind, ArrayType):
        return _of_number(low, Scalar(low.value(base)), name)
    if name in ATTRIBUTES:
        return ATTRIBUTES[name](low, base, kind)
    if name in views.METHODS or name in methods() or name == "tolist":
        return Method(base, name)
    raise refuse(f"array attribute {name!r} is not supported", low.loc)


ATTRIBUTES: dict[str, Callable[[Lowering, Array, ArrayType], Entity]] = {
    "shape": lambda low, base, kind: Tup(tuple(size_entity(low, d) for d in kind.shape)),
    "size": lambda low, base, kind: size_entity(low, product(kind.shape)),
    "ndim": lambda low, base, kind: Const(kind.ndim),
    "dtype": lambda low, base, kind: Const(kind.dtype),
    "itemsize": lambda low, base, kind: Const(kind.dtype.itemsize),
    "nbytes": lambda low, base, kind: size_entity(low, product(kind.shape) * kind.dtype.itemsize),
    "T": lambda low, base, kind: arrays.transpose(low, base),
    "mT": lambda low, base, kind: views.matrix_transpose(low, base),
    "real": lambda low, base, kind: views.real(low, base),
    "imag": lambda low, base, kind: views.imag(low, base),
    "flat": lambda low, base, kind: flat.flat(low, base),
}
"""Array attributes that are not called."""


def size_entity(low: Lowering, dim: Dim) -> Entity:
    return Scalar(low.builder.dim_value(dim))


def _of_number(low: Lowering, base: Entity, name: str) -> Entity:
    value = low.value(base)
    weak = getattr(value.type, "weak", False)
    if name in ("real", "imag"):
        return getattr(views, name)(low, base)
    if not weak:
        match name:
            case "dtype":
                return Const(value.type.dtype)
            case "shape":
                return Tup(())
            case "ndim":
                return Const(0)
            case "size":
                return Const(1)
            case "itemsize" | "nbytes":
                return Const(value.type.dtype.itemsize)
            case "T":
                return base
        if name in views.METHODS or name in methods():
            return Method(base, name)
    if numbers.method_of(value, name):
        return Method(base, name)
    if isinstance(base, Choice) and name == "__name__":
        return choices.combined_options(low, [base], lambda known: attribute(low, known[0], name))
    if raised.is_raised(base) and name == "args":
        return branching.apart(low, [base], lambda known: raised.arguments(low, known[0]))  # type: ignore[arg-type]
    raise refuse(f"attribute {name!r} of {low.shown(base)} is not supported", low.loc, kind=InferenceError)


def _to_list(low: Lowering, receiver: Entity) -> Entity:
    """``x.tolist()``: Python's numbers."""
    value = low.value(receiver)
    python = {"b": bool, "f": float, "c": complex}.get(value.type.dtype.kind, int)
    if not isinstance(value.type, ArrayType):
        return Scalar(low.builder.cast(value, np.dtype(python), weak=True))
    if value.type.ndim > 1:
        return nested.of_array(low, low.builder.cast(value, np.dtype(python)))
    return lists.own(low, library.numbers_of, receiver, Const(python))


def call_method(
    low: Lowering, receiver: Entity, name: str, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str
) -> Entity:
    """``receiver.name(*args)``."""
    if shared.is_shared(receiver):
        return shared.call_method(low, receiver, name, args, kwargs)
    if objects.is_object(receiver):
        return objects.call_method(low, receiver, name, args, kwargs, hint)
    if any(isinstance(e, Maybe) for e in (*args, *kwargs.values())):
        return calls.settled(
            low, name, args, kwargs, lambda own, named: call_method(low, receiver, name, own, named, hint), hint
        )
    if isinstance(receiver, Rng):
        return generators.call(low, receiver, name, args, kwargs, hint)
    if isinstance(receiver, Instance):
        return dicts.call_method(low, receiver, name, args, kwargs)
    if name in numbers.METHODS and not args and (name not in views.METHODS or numbers.is_pythons(low, receiver)):
        return lists.own(low, numbers.METHODS[name][0], receiver)
    if name == "tolist":
        if args or kwargs:
            raise refuse("tolist takes no arguments", low.loc, kind=InferenceError)
        return _to_list(low, receiver)
    if text.is_one_of(receiver):
        return choices.combined_options(
            low, [receiver, *args], lambda known: call_method(low, known[0], name, known[1:], kwargs, hint)
        )
    if text.is_text(receiver):
        return text.method(low, receiver, name, args, kwargs)
    if isinstance(receiver, Listing):
        return lists.call_method(low, receiver, name, args, kwargs)
    args, kwargs = [tables.plain(low, e) for e in args], {k: tables.plain(low, e) for k, e in kwargs.items()}
    if name in views.METHODS:
        return arrays.call(low, views.METHODS[name], [receiver, *args], kwargs)
    return numpy_calls.call(low, getattr(np.ndarray, name), methods()[name], [receiver, *args], kwargs, hint)
