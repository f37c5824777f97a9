"""Matrix products."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import current_builder, define, sample
from srcgraph.ir.ops._rules import total
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.vector import mul
from srcgraph.ir.types import ArrayType, Type, is_float, tensor
from srcgraph.ir.view import View, transposed


def _matmul_type(x: ArrayType, y: ArrayType) -> Type:
    if x.shape[-1] != y.shape[0]:
        raise ShapeError(f"matmul: {x} and {y} do not fit: {x.shape[-1]} columns, {y.shape[0]} rows")
    shape = x.shape[:-1] + y.shape[1:]
    return tensor(x.dtype, shape, array=bool(shape))


def _matmul_jvp(tangents: Any, out: Value, x: Value, y: Value) -> Value | None:
    tx, ty = tangents
    return total([matmul(a, b) for a, b in ((tx, y), (x, ty)) if a is not None and b is not None])


def _matmul_vjp(ct: Value, out: Value, x: Value, y: Value) -> tuple[Value | None, Value | None]:
    """``ct y^T`` and ``x^T ct``, where a vector stands for a row on the left, a column on the right."""
    if x.type.ndim == 1 and y.type.ndim == 1:
        return mul(ct, y), mul(ct, x)
    by_x = by_y = None
    if is_float(x.type):
        by_x = outer(ct, y) if y.type.ndim == 1 else matmul(ct, transpose(y))
        if x.type.ndim == 1:
            by_x = matmul(y, ct)
    if is_float(y.type):
        by_y = outer(x, ct) if x.type.ndim == 1 else matmul(transpose(x), ct)
    return by_x, by_y


def outer(x: Value, y: Value) -> Value:
    """All products of an element of ``x`` and one of ``y``."""
    return mul(getitem(x, view=View((":",), (0, None))), getitem(y, view=View((":",), (None, 0))))


def transpose(x: Value) -> Value:
    """``x.T``."""
    ndim = x.type.ndim
    return getitem(x, view=transposed(ndim, range(ndim)[::-1]))


matmul = define(
    name="matmul",
    doc="Matrix product of operands of one or two axes.",
    infer=_matmul_type,
    numpy=np.matmul,
    python=(operator.matmul,),
    kind="library",
    jvp=_matmul_jvp,
    vjp=_matmul_vjp,
    emit={"cpu": "matmul", "cpu_exact": "matmul_exact"},
    heavy=True,
    samples=(
        sample("i64[3, 4]", "i64[4, 2]"),
        sample("i32[4]", "i32[4]"),
        sample("b1[3, 4]", "b1[4]"),
        sample("f64[3, 4]", "f64[4, 2]"),
        sample("f64[3, 4]", "f64[4]"),
        sample("f64[4]", "f64[4, 2]"),
        sample("f64[4]", "f64[4]"),
    ),
)


def product(x: Value, y: Value) -> Value:
    """``x @ y``, its inner lengths checked at run time where they are not known to be equal.

    Raises
    ------
    InferenceError
        An operand has no axis, or more than two.
    """
    b = current_builder()
    for v in (x, y):
        if v.type.ndim not in (1, 2):
            raise InferenceError(f"a matrix product takes arrays of one or two axes, not {v.type}")
    inner, rows = x.type.shape[-1], y.type.shape[0]
    if inner != rows:
        message = "matmul: the operands do not fit: {x} columns, {y} rows"
        b.call_named("equal_size", b.dim_value(inner), b.dim_value(rows), error="ValueError", message=message)
        y = b.retype(y, [inner, *y.type.shape[1:]])
    dtype = np.result_type(x.type.dtype, y.type.dtype)
    return matmul(b.cast(x, dtype), b.cast(y, dtype))
