"""Types, sizes, attributes and places as plain data, as JSON has it, and back.

What JSON lacks is a dict with one telling key: ``{"float": "inf"}``, ``{"view": "i, :"}``. Whole floats are such
dicts too, since not every language keeps ``1.0`` and ``1`` apart.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from srcgraph.errors import InternalError, Loc, TextError
from srcgraph.ir.dims import Dim, as_dim, parse_dim
from srcgraph.ir.types import DTYPE_OF, INT, PYTHON_TYPE, ArrayType, ListType, ScalarType, Type
from srcgraph.ir.view import View, parse_view

DTYPES = {dtype.name: dtype for dtype in DTYPE_OF.values()}
"""NumPy's names of the dtypes: what other languages know them by."""
MOST_AXES = 64
"""What NumPy has."""
MOST_TERMS = 10_000


def type_document(type: Type) -> dict[str, Any]:
    """A type with all of its facts."""
    match type:
        case ScalarType():
            weak = {"weak": True} if type.weak else {}
            value = {} if type.value is None else {"value": dim_document(type.value)}
            return {"ndim": 0, "dtype": type.dtype.name, **weak, **value}
        case ArrayType():
            return {"ndim": type.ndim, "dtype": type.dtype.name, "shape": [dim_document(d) for d in type.shape]}
        case ListType():
            return {"list": type_document(type.item)}


def type_of(record: Mapping[str, Any]) -> Type:
    """The type that a complete record says."""
    if "list" in record:
        item = type_of(record["list"])
        if isinstance(item, ListType):
            raise TextError("a list of lists is no type")
        return ListType(item)
    if "dtype" not in record or not ("shape" in record or record.get("ndim") == 0):
        raise TextError("a type is missing here: dtype, and ndim=0 or shape")
    if "shape" in record:
        return array_type(dtype_named(record["dtype"]), shape_of(record["shape"]))
    value = dim_of(record["value"]) if "value" in record else None
    return scalar_type(dtype_named(record["dtype"]), record.get("weak", False), value)


def array_type(dtype: np.dtype, shape: tuple[Dim, ...]) -> ArrayType:
    """The type of an array, which has no more axes than NumPy's."""
    if len(shape) > MOST_AXES:
        raise TextError(f"an array has no more than {MOST_AXES} axes, and this one has {len(shape)}")
    return ArrayType(dtype, shape)


def scalar_type(dtype: np.dtype, weak: bool, value: Dim | None) -> ScalarType:
    """The type of a number; only Python's own are weak, and only integers are known to equal something."""
    if weak and dtype not in PYTHON_TYPE:
        own = ", ".join(d.name for d in PYTHON_TYPE)
        raise TextError(f"{dtype.name} is no dtype of Python's own numbers, so it is not weak; these are: {own}")
    if value is not None and dtype.kind not in "iu":
        raise TextError(f"value={value}: only integers have a value, not {dtype.name}")
    if value is not None and value.const is not None and not _fits(value.const, dtype):
        raise TextError(f"value={value} does not fit into {dtype.name}")
    return ScalarType(dtype, weak, value)


def _fits(number: int, dtype: np.dtype) -> bool:
    return dtype == INT or np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def shape_of(record: Sequence[int | str]) -> tuple[Dim, ...]:
    """The sizes of the axes of an array."""
    found = tuple(map(dim_of, record))
    for size in found:
        if size.const is not None and not 0 <= size.const < 2**63:
            raise TextError(f"{size} is no size of an axis")
    return found


def dtype_named(name: str) -> np.dtype:
    if name not in DTYPES:
        raise TextError(f"{name!r} is no dtype")
    return DTYPES[name]


def dim_document(dim: Dim) -> int | str:
    return str(dim) if dim.const is None else dim.const


def dim_of(text: int | str) -> Dim:
    """The size that a number or an expression says."""
    return as_dim(text) if isinstance(text, int) else _dim_of(text)


@lru_cache(10_000)
def _dim_of(text: str) -> Dim:
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if _term_count(node) > MOST_TERMS:
            raise TextError(f"{_shown(text)} is too long for a size")
        return parse_dim(node)
    except (SyntaxError, InternalError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, TextError):
            raise
        raise TextError(f"{_shown(text)} is no size") from None


def _term_count(node: ast.AST) -> int:
    """How many terms a sum may have once it is multiplied out, at most."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _term_count(node.left) * _term_count(node.right)
    inner = [_term_count(child) for child in ast.iter_child_nodes(node)]
    return max(1, max(inner, default=1) // MOST_TERMS) if isinstance(node, ast.Call) else max(1, sum(inner))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def dims_in(record: Any) -> Iterator[int | str]:
    """Every size that is written in a type, or in an attribute."""
    if isinstance(record, list):
        for item in record:
            yield from dims_in(item)
    elif isinstance(record, Mapping):
        yield from record["shape"] if isinstance(record.get("shape"), list) else ()
        if "ndim" in record and "value" in record:
            yield record["value"]
        for item in record.values():
            yield from dims_in(item)


def literal_document(value: Any) -> Any:
    """A number, text, None, tuple, dtype, view or type."""
    match value:
        case np.generic():
            return {"dtype": value.dtype.name, "number": literal_document(value.item())}
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= 2**53 else {"int": str(value)}
        case float():
            return value if math.isfinite(value) and not value.is_integer() else {"float": repr(value)}
        case complex():
            return {"complex": [literal_document(value.real), literal_document(value.imag)]}
        case tuple():
            return [literal_document(v) for v in value]
        case np.dtype():
            return {"dtype": value.name}
        case View():
            return {"view": str(value)}
        case ScalarType() | ArrayType() | ListType():
            return {"type": type_document(value)}
    raise InternalError(f"an attribute has no text: {value!r}")


def literal_of(record: Any) -> Any:
    """The value of a literal."""
    match record:
        case list():
            return tuple(map(literal_of, record))
        case {"dtype": str(name), "number": number}:
            return _numpy_number(dtype_named(name), literal_of(number))
        case {"dtype": str(name)}:
            return dtype_named(name)
        case {"int": text}:
            return _number(int, text)
        case {"float": text}:
            return _number(float, text)
        case {"complex": [real, imag]}:
            return complex(_part(real), _part(imag))
        case {"view": str(text)}:
            return _view_of(text)
        case {"type": type}:
            return type_of(type)
        case None | bool() | str() | int() | float():
            return record
    raise TextError(f"{record!r} is no literal")


def _number(kind: type, text: Any) -> Any:
    try:
        return kind(text)
    except (ValueError, TypeError, OverflowError):
        raise TextError(f"{_shown(str(text))} is no {'integer' if kind is int else 'float'}") from None


def _part(record: Any) -> float:
    """One of the two parts of a complex number."""
    found = literal_of(record)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise TextError(f"the parts of a complex number are numbers, not {found!r}")
    return _number(float, found)


def _numpy_number(dtype: np.dtype, number: Any) -> Any:
    """A number of NumPy's, which has to be one that fits the dtype."""
    kinds = {"b": bool, "i": int, "u": int, "f": int | float, "c": int | float | complex}[dtype.kind]
    if not isinstance(number, kinds) or (dtype.kind != "b" and isinstance(number, bool)):
        raise TextError(f"{number!r} is no number of dtype {dtype.name}")
    try:
        return dtype.type(number)
    except (OverflowError, ValueError):
        raise TextError(f"{number!r} does not fit into {dtype.name}") from None


def _view_of(text: str) -> View:
    try:
        return parse_view(text)
    except ValueError:
        raise TextError(f"{_shown(text)} is no view") from None


def place_text(loc: Loc) -> str:
    """``file:line:column:end line:end column``, the last two empty where they are not known."""
    end = ["" if n is None else str(n) for n in (loc.end_line, loc.end_col)]
    return ":".join([loc.file, str(loc.line), str(loc.col), *end])


def place_of(text: Any) -> Loc | None:
    """The place that a text says; None if it says none."""
    parts = text.rsplit(":", 4) if isinstance(text, str) else []
    if len(parts) != 5 or not all(p.isdecimal() for p in parts[1:3]):
        return None
    if not all(p.isdecimal() or not p for p in parts[3:]):
        return None
    line, col, end_line, end_col = (int(p) if p else None for p in parts[1:])
    assert line is not None and col is not None
    return Loc(parts[0], line, col, end_line, end_col)
