"""NumPy's promotion rules for elementwise ops, asked of NumPy itself (NEP 50)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.ir.dims import Dim
from srcgraph.ir.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NAME_OF,
    ArrayType,
    ScalarType,
    TensorType,
    Type,
)

Loop = tuple[tuple[np.dtype, ...], np.dtype]
_WEAK = {INT: int, FLOAT: float, COMPLEX: complex}


@dataclass(frozen=True, slots=True)
class Elementwise:
    """The type rule of an elementwise op.

    Parameters
    ----------
    loop : callable
        Operand types to (dtype each operand is cast to, dtype of the result).
    exact : callable or None
        What an integer scalar result equals, from what the operands equal.
    """

    loop: Callable[[Sequence[TensorType]], Loop]
    exact: Callable[..., Dim] | None = None

    def __call__(self, *types: TensorType, **attrs: object) -> TensorType:
        _, out = self.loop(types)
        shape = broadcast_shapes([t.shape for t in types])
        if any(isinstance(t, ArrayType) for t in types):
            return ArrayType(out, shape)
        weak = all(t.weak for t in types if isinstance(t, ScalarType))
        values = [t.value for t in types if isinstance(t, ScalarType)]
        known = self.exact is not None and out == INT and all(v is not None for v in values)
        value = self.exact(*values) if known and self.exact else None
        known = value is not None and (weak or value.const is not None) and value.fits()  # NumPy's wrap
        return ScalarType(out, weak, value if known else None)


def ufunc(function: np.ufunc) -> Elementwise:
    """The rule of a NumPy ufunc: its own dtype resolution, Python scalars being weak."""
    return Elementwise(lambda types: resolve(function, types))


_SYMBOL = {
    np.bitwise_and: "&", np.bitwise_or: "|", np.bitwise_xor: "^", np.invert: "~", np.left_shift: "<<",
    np.right_shift: ">>", np.floor_divide: "//", np.remainder: "%", np.add: "+", np.subtract: "-",
    np.multiply: "*", np.true_divide: "/", np.power: "**", np.less: "<", np.greater: ">",
}  # fmt: skip


def in_words(type: Type) -> str:
    """``a float``, ``an int``, ``an np.float32``; what is no number by its type."""
    if not isinstance(type, ScalarType):
        return str(type)
    if not type.weak:
        return f"an np.{type.dtype}"
    name = {"b": "bool", "i": "int", "f": "float", "c": "complex number"}[type.dtype.kind]
    return f"an {name}" if name == "int" else f"a {name}"


def resolve(function: np.ufunc, types: Sequence[TensorType]) -> Loop:
    """Return the dtypes NumPy would compute with.

    Raises
    ------
    InferenceError
        NumPy has no loop for these types, or would use half precision.
    """
    weak = tuple([isinstance(t, ScalarType) and t.weak for t in types])
    found = _resolved(function, tuple([t.dtype for t in types]), weak)
    if found is None:
        shown = " and ".join(map(in_words, types))
        raise InferenceError(f"{_SYMBOL.get(function, function.__name__)} is not defined for {shown}")
    if any(t not in NAME_OF for t in found):
        raise InferenceError(
            f"{function.__name__} of {', '.join(map(str, types))} would use {found[-1]}, which is not supported"
        )
    return found[: function.nin], found[function.nin]


@functools.cache
def _resolved(function: np.ufunc, dtypes: tuple[np.dtype, ...], weak: tuple[bool, ...]) -> tuple[np.dtype, ...] | None:
    """The dtypes of a ufunc's operands and results, if it has a loop for these."""
    asked: Sequence[Any] = dtypes
    if not all(weak):
        asked = [_WEAK.get(t, t) if w else t for t, w in zip(dtypes, weak, strict=True)]
    try:
        return function.resolve_dtypes((*asked, *[None] * function.nout))
    except TypeError:
        return None


def common_dtype(types: Sequence[TensorType]) -> np.dtype:
    """The dtype NumPy gives to a mix of these operands (`numpy.result_type`)."""
    if not types:
        raise InferenceError("at least one array or dtype is required")
    weak = [isinstance(t, ScalarType) and t.weak for t in types]
    if all(weak):
        return np.result_type(*(t.dtype for t in types))
    zero = {BOOL: False, INT: 0, FLOAT: 0.0, COMPLEX: 0j}
    return np.result_type(*(zero[t.dtype] if w else t.dtype for t, w in zip(types, weak, strict=True)))


def broadcast_shapes(shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """Return the shape of an elementwise result; axes must be provably equal or of length 1.

    Raises
    ------
    ShapeError
        Two lengths are not known to agree.

    References
    ----------
    NumPy user guide, "Broadcasting".
    """
    if shapes and all(s == shapes[0] for s in shapes):
        return shapes[0]
    ndim = max(map(len, shapes), default=0)
    out = []
    for axis in range(-ndim, 0):
        sizes = dict.fromkeys(s[axis] for s in shapes if len(s) >= -axis)
        sizes = [d for d in sizes if d != 1] or list(sizes)
        if len(sizes) > 1:
            shown = " and ".join(f"({', '.join(map(str, s))})" for s in shapes if s)
            raise ShapeError(f"shapes {shown} do not broadcast")
        out.append(sizes[0])
    return tuple(out)


def is_weak(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.weak
