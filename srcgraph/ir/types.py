"""Types of graph values: conjunctions of facts about dtype, shape, layout and integer value.

A type with more facts is smaller. Scalars say whether they are Python's (``weak`` in NumPy's
promotion rules, NEP 50) or NumPy's; integer scalars carry the expression they are known to equal,
so that ``u[1:n - 1]`` has a shape; arrays carry one `Dim` per axis.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from srcgraph.errors import InternalError
from srcgraph.ir.dims import Dim, parse_dim

BOOL, INT, FLOAT, COMPLEX = (np.dtype(t) for t in (np.bool_, np.int64, np.float64, np.complex128))

NAME_OF = {
    np.dtype(t): name
    for name, t in {
        "b1": np.bool_,
        "i8": np.int8,
        "i16": np.int16,
        "i32": np.int32,
        "i64": np.int64,
        "u8": np.uint8,
        "u16": np.uint16,
        "u32": np.uint32,
        "u64": np.uint64,
        "f32": np.float32,
        "f64": np.float64,
        "c64": np.complex64,
        "c128": np.complex128,
    }.items()
}
DTYPE_OF = {name: dtype for dtype, name in NAME_OF.items()}
WEAK_NAME = {BOOL: "bool", INT: "int", FLOAT: "float", COMPLEX: "complex"}
WEAK_DTYPE = {name: dtype for dtype, name in WEAK_NAME.items()}
PYTHON_TYPE = {BOOL: bool, INT: int, FLOAT: float, COMPLEX: complex}


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number. ``weak`` marks Python's own; ``value`` is what an integer is known to equal."""

    dtype: np.dtype
    weak: bool = False
    value: Dim | None = None

    def __str__(self) -> str:
        name = WEAK_NAME[self.dtype] if self.weak else NAME_OF[self.dtype]
        return name if self.value is None else f"{name}({self.value})"

    @property
    def shape(self) -> tuple[Dim, ...]:
        return ()

    @property
    def ndim(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array of numbers with one size per axis; ``shape == ()`` is NumPy's 0-d array."""

    dtype: np.dtype
    shape: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"{NAME_OF[self.dtype]}[{', '.join(map(str, self.shape)) or '()'}]"

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class ListType:
    """A list of values of one type that grows and shrinks at its end."""

    item: ScalarType | ArrayType

    def __str__(self) -> str:
        return f"list[{self.item}]"


Type: TypeAlias = ScalarType | ArrayType | ListType
TensorType: TypeAlias = ScalarType | ArrayType

PY_BOOL, PY_INT, PY_FLOAT, PY_COMPLEX = (ScalarType(t, weak=True) for t in (BOOL, INT, FLOAT, COMPLEX))


def scalar_of(dtype: np.dtype) -> ScalarType:
    return ScalarType(dtype)


def tensor(dtype: np.dtype, shape: tuple[Dim, ...], array: bool) -> TensorType:
    """An array type, or a NumPy scalar's where ``array`` is false."""
    return ArrayType(dtype, shape) if array else ScalarType(dtype)


def is_integer(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.dtype.kind in "iu"


def is_float(type: Type) -> bool:
    """Whether a function has derivatives with respect to values of this type."""
    return isinstance(type, ScalarType | ArrayType) and type.dtype.kind == "f"


def is_complex(type: Type) -> bool:
    return isinstance(type, ScalarType | ArrayType) and type.dtype.kind == "c"


def is_inexact(type: Type) -> bool:
    """Whether derivatives pass through values of this type, in NumPy's word for floats and complex numbers."""
    return is_float(type) or is_complex(type)


def without_value(type: Type) -> Type:
    """Forget which integer a scalar equals."""
    if isinstance(type, ScalarType) and type.value is not None:
        return replace(type, value=None)
    return type


def same_kind(x: Type, y: Type) -> bool:
    """Whether two types differ at most in symbolic facts: one memory layout, one meaning of ops."""
    if isinstance(x, ScalarType) and isinstance(y, ScalarType):
        return (x.dtype, x.weak) == (y.dtype, y.weak)
    if isinstance(x, ArrayType) and isinstance(y, ArrayType):
        return (x.dtype, x.ndim) == (y.dtype, y.ndim)
    if isinstance(x, ListType) and isinstance(y, ListType):
        return same_kind(x.item, y.item)
    return False


def type_symbols(type: Type) -> frozenset[str]:
    """The symbols a type's facts mention."""
    match type:
        case ScalarType():
            return type.value.symbols() if type.value is not None else frozenset()
        case ArrayType():
            return frozenset().union(*(d.symbols() for d in type.shape))
        case ListType():
            return type_symbols(type.item)


def parse_type(node: ast.expr) -> Type:
    """Read a type back from the annotation that ``str`` wrote."""
    match node:
        case ast.Name(id=name):
            return _scalar(name)
        case ast.Call(func=ast.Name(id=name), args=[value]):
            return replace(_scalar(name), value=parse_dim(value))
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            inner = parse_type(item)
            if not isinstance(inner, ListType):
                return ListType(inner)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=elts)) if name in DTYPE_OF:
            return ArrayType(DTYPE_OF[name], tuple(map(parse_dim, elts)))
        case ast.Subscript(value=ast.Name(id=name), slice=size) if name in DTYPE_OF:
            return ArrayType(DTYPE_OF[name], (parse_dim(size),))
    raise InternalError(f"not a type: {ast.unparse(node)}")


def _scalar(name: str) -> ScalarType:
    if name in WEAK_DTYPE:
        return ScalarType(WEAK_DTYPE[name], weak=True)
    if name in DTYPE_OF:
        return ScalarType(DTYPE_OF[name])
    raise InternalError(f"not a type: {name}")
