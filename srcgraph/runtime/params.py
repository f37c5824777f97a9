"""Parameters of functions of variables: how arguments are given, and cast."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.ir.graph import Value
from srcgraph.ir.shared import Container, SharedVariable
from srcgraph.ir.text import is_name
from srcgraph.ir.types import PYTHON_TYPE, ScalarType


class _Nothing:
    """What is not given."""

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING = _Nothing()


@dataclass(frozen=True, eq=False, slots=True)
class Param:
    """A parameter, and how it is given.

    Parameters
    ----------
    variable : Value
    default : number, array, SharedVariable or Container, optional
        What it is if it is not given; a shared variable is read at each call.
    name : str, optional
        By which it can be given; the variable's by default.
    mutable : bool
        Whether the function may overwrite the array it is given. It never does otherwise.
    strict : bool
        Whether only a value of the very dtype is taken; else it is cast where NumPy calls that safe.
    allow_downcast : bool
        Whether a value is cast even where digits are lost; imaginary parts never are.
    implicit : bool
        Whether it is left out of the signature, and always its default.
    """

    variable: Value
    default: Any = NOTHING
    name: str = ""
    mutable: bool = False
    strict: bool = False
    allow_downcast: bool = False
    implicit: bool = False


def names_of(params: Sequence[Param]) -> list[str]:
    """A name for each parameter: its own, the variable's, or its number."""
    names: list[str] = []
    for k, p in enumerate(params):
        name = p.name or p.variable.name
        if name in names and (p.name or params[names.index(name)].name):
            why = f"two parameters are named {name!r}"
            raise ArgumentError(Problem(why, hint="give each another one: Param(variable, name=...)"))
        names.append(name if is_name(name) and name not in names else f"arg{k}")
    return names


def signature_of(params: Sequence[Param], names: Sequence[str]) -> inspect.Signature:
    kind, required = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(n, kind, default=required if p.default is NOTHING else p.default)
            for p, n in zip(params, names, strict=True)
            if not p.implicit
        ]
    )


def taken(param: Param, name: str, given: Mapping[str, Any]) -> Any:
    """What a parameter is in a call, of its type."""
    value = given.get(name, param.default)
    if isinstance(value, SharedVariable | Container):
        value = value.value
    if value is NOTHING:
        raise ArgumentError(f"{name!r} is not given")
    return cast_to(param, name, value)


def cast_to(param: Param, name: str, value: Any) -> Any:
    """A value as one of a parameter's type.

    Raises
    ------
    TypeError
        It is of another dtype, with ``strict``, or digits would be lost; or it has another number of axes.
    ValueError
        Its shape is not that of the variable.
    """
    type = param.variable.type
    if isinstance(type, ScalarType) and value.__class__ is (PYTHON_TYPE[type.dtype] if type.weak else type.dtype.type):
        return value
    array = _array_of(name, value)
    if array.ndim != type.ndim:
        raise TypeError(f"{name!r} is {_in_words(type.ndim)}, not {_in_words(array.ndim)}")
    if array.dtype != type.dtype and not _fits(param, value, array):
        hint = "" if param.strict or _loses_parts(array, type.dtype) else "; allow_downcast=True allows it"
        raise TypeError(f"{name!r} is of dtype {type.dtype}, not {array.dtype}{hint}")
    if isinstance(type, ScalarType):
        return (PYTHON_TYPE[type.dtype] if type.weak else type.dtype.type)(array[()])
    for axis, (size, wanted) in enumerate(zip(array.shape, type.shape, strict=True)):
        if wanted.const is not None and size != wanted.const:
            raise ValueError(f"axis {axis} of {name!r} has length {size}, not {wanted.const}")
    return np.asarray(array, type.dtype)


def _array_of(name: str, value: Any) -> np.ndarray:
    """A number, or an array of numbers."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name!r} is a masked array, which is not supported: fill what is masked, x.filled(...)")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:  # lists of lists of several lengths
        raise TypeError(f"{name!r} must be a number or an array of numbers: {error}") from None
    if array.dtype.kind not in "biufc":
        what = f"{value!r}" if array.ndim == 0 else f"an array of dtype {array.dtype}"
        raise TypeError(f"{name!r} must be a number or an array of numbers, not {what}")
    return array


def _in_words(ndim: int) -> str:
    return {0: "a number", 1: "an array of 1 axis"}.get(ndim, f"an array of {ndim} axes")


def _loses_parts(array: np.ndarray, wanted: np.dtype) -> bool:
    """Whether a cast would drop imaginary parts, which no precision makes up for."""
    return array.dtype.kind == "c" and wanted.kind != "c"


def _fits(param: Param, value: Any, array: np.ndarray) -> bool:
    wanted = param.variable.type.dtype
    if param.strict or _loses_parts(array, wanted):
        return False
    if param.allow_downcast or np.can_cast(array.dtype, wanted, "safe"):
        return True
    if type(value) in (bool, int) and wanted.kind in "iu":
        return np.iinfo(wanted).min <= value <= np.iinfo(wanted).max
    if type(value) is int and wanted.kind in "fc":
        return int(np.real(wanted.type(value))) == value
    with np.errstate(over="ignore"):
        lost = type(value) is float and np.isinf(wanted.type(value)) and not np.isinf(value)
    same = np.can_cast(array.dtype, wanted, "same_kind")
    return type(value) in (bool, int, float, complex) and same and not lost
