"""What a version means to its caller, as JSON: numbers, texts, and records of the classes listed here, nothing else.

A class or function in it is the name it has in a library, or its number among `Places`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.codegen.storage import Interface
from srcgraph.errors import Loc
from srcgraph.frontend import template
from srcgraph.frontend.entities import Const
from srcgraph.infer import signature
from srcgraph.ir.dims import as_dim
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.view import View
from srcgraph.runtime.cache.libraries import name_of, named
from srcgraph.runtime.cache.prints import NoPrintError

_RECORDS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        template.Out, template.NewArray, template.ArgumentView, template.EitherOf, template.ReshapeOf, template.Fixed,
        template.Unchanged, template.Never, template.TupleOf, template.RowsOf, template.ListOf, template.ArgumentList,
        template.RecordOf, template.NewBox, template.ArgumentBox, template.ObjectOf, template.MaybeOf, template.OneOf,
        template.Rebound, signature.ScalarArg, signature.TupleArg, signature.RowsArg, signature.MaybeArg, Const, View,
    )
}  # fmt: skip


class DamagedError(Exception):
    """What was read is not what was written."""


class Coder:
    """Writes records as JSON, and reads them.

    Parameters
    ----------
    objects : sequence
        What may be in records besides numbers and texts, by number.
    """

    def __init__(self, objects: Sequence[Any]):
        self.objects = objects

    def write(self, value: Any) -> Any:
        """As JSON.

        Raises
        ------
        NoPrintError
            There is something in it that cannot be written.
        """
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is tuple:
            return [self.write(v) for v in value]
        if type(value) in (float, complex):
            return {"number": [type(value).__name__, complex(value).real.hex(), complex(value).imag.hex()]}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if type(value) is signature.StaticArg:
            return {"static": self.write(value.value)}
        if _RECORDS.get(type(value).__name__) is type(value):
            fields = dataclasses.fields(value)
            return {"record": [type(value).__name__, *(self.write(getattr(value, f.name)) for f in fields)]}
        number = next((k for k, v in enumerate(self.objects) if v is value), None)
        if number is not None:
            return {"object": number}
        if (known := name_of(value)) is not None:
            return {"name": known}
        raise NoPrintError(f"a {type(value).__name__} is in what it returns")

    def read(self, text: Any) -> Any:
        """What was written."""
        if isinstance(text, list):
            return tuple([self.read(t) for t in text])
        if not isinstance(text, dict):
            return text
        ((kind, inner),) = text.items()
        match kind:
            case "number":
                real, imag = map(float.fromhex, inner[1:])
                return complex(real, imag) if inner[0] == "complex" else real
            case "dtype":
                return np.dtype(inner)
            case "static":
                return signature.StaticArg(self.read(inner))
            case "record":
                return _RECORDS[inner[0]](*(self.read(t) for t in inner[1:]))
            case "object":
                return self.objects[inner]
            case "name" if (found := named(inner)) is not None:
                return found
        raise DamagedError(f"{kind} {inner}")


# -- what has no objects in it -----------------------------------------------------------------------------


def write_types(types: Sequence[Any]) -> list[Any]:
    """What is needed of the types of results: dtype, whether numbers are Python's; null for others."""
    found = [(t.dtype.str, t.weak) if isinstance(t, ScalarType) else _dtype_of(t) for t in types]
    return [None if t is None else list(t) for t in found]


def _dtype_of(type: Any) -> tuple[str, int] | None:
    return (type.dtype.str, type.ndim + 2) if isinstance(type, ArrayType) else None


def read_types(text: Sequence[Any]) -> list[Any]:
    return [None if t is None else _type(np.dtype(t[0]), t[1]) for t in text]


def _type(dtype: np.dtype, how: bool | int) -> ScalarType | ArrayType:
    return ScalarType(dtype, how) if isinstance(how, bool) else ArrayType(dtype, (as_dim(1),) * (how - 2))


def write_interface(interface: Interface) -> list[Any]:
    return [sorted(interface.changed.items()), interface.returned, sorted(interface.borrowed), sorted(interface.owned)]


def read_interface(text: Sequence[Any]) -> Interface:
    changed, returned, borrowed, owned = text
    return Interface(dict(changed), list(returned), set(borrowed), frozenset(owned))


def write_lines(lines: dict[int, Loc], files: list[str]) -> list[list[Any]]:
    """Lines and the user's places, a file by its number in ``files``, to which new ones are added."""
    out = []
    for line, loc in lines.items():
        if loc.file not in files:
            files.append(loc.file)
        out.append([line, files.index(loc.file), loc.line, loc.col, loc.end_line, loc.end_col])
    return out


def read_lines(text: Sequence[Any], files: list[str]) -> dict[int, Loc]:
    return {line: Loc(files[int(k)], *place) for line, k, *place in text}
