"""NumPy's reductions as users call them: any axis, ``keepdims``, NumPy's dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.dims import product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import Op, composite, current_builder, sample
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops.elementwise import maximum, root
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.shape import with_new_axes
from srcgraph.ir.ops.vector import cast, div, mul, sub
from srcgraph.ir.types import BOOL, FLOAT, ArrayType
from srcgraph.ir.view import View

_AXES = (
    sample("f64[3, 4]"),
    sample("f64[3, 4]", axis=0),
    sample("f64[3, 4]", axis=-1, keepdims=True),
    sample("f64[2, 3, 2]", axis=(0, 2)),
)


def as_operand(x: Any) -> Value:
    """``x`` as an array of at least one axis."""
    b = current_builder()
    value = b.value(x)
    if isinstance(value.type, ArrayType) and value.type.ndim == 0:
        value = b.scalar(value)
    return value


def normalized(axis: Any, ndim: int) -> tuple[int, ...]:
    """A sorted tuple of distinct axes counted from the front.

    Raises
    ------
    InferenceError
        An axis is out of bounds or repeated.
    """
    if axis is None:
        return tuple(range(ndim))
    asked = axis if isinstance(axis, tuple | list) else (axis,)
    for a in asked:
        if not isinstance(a, int | np.integer) or not -ndim <= a < ndim:
            raise InferenceError(f"axis {a} is out of bounds for an array of {ndim} axes")
    axes = sorted(int(a) % ndim for a in asked)
    if len(set(axes)) != len(axes):
        raise InferenceError("duplicate value in 'axis'")
    return tuple(axes)


def reduced(op: Op, x: Value, axis: Any, keepdims: bool) -> Value:
    """Reduce, keeping the reduced axes with length 1 if asked."""
    if x.type.ndim == 0:
        check_axis_of_number(axis)
        return cast(x, dtype=x.type.dtype, weak=False)
    axes = normalized(axis, x.type.ndim)
    out = op(x, axes=axes)
    return with_new_axes(out, list(axes)) if keepdims else out


def check_axis_of_number(axis: Any) -> None:
    """NumPy lets a number be reduced along no axis, -1 or 0 only in some functions: only None is taken here.

    Raises
    ------
    InferenceError
        Another axis is asked for.
    """
    if axis not in (None, (), -1, 0):
        raise InferenceError(f"axis {axis} is out of bounds for a number")


def sum_dtype(x: Value, dtype: Any) -> np.dtype:
    """The dtype NumPy adds in: small integers and booleans widen to 64 bits."""
    if dtype is not None:
        return np.dtype(dtype)
    kind, size = x.type.dtype.kind, x.type.dtype.itemsize
    if kind in "bi" and size < 8:
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if kind == "u" and size < 8 else x.type.dtype


def count_of(x: Value, axis: Any) -> Value:
    """How many elements are combined, a Python integer."""
    b = current_builder()
    axes = normalized(axis, x.type.ndim)
    return b.dim_value(product(x.type.shape[k] for k in axes))


def check_not_empty(x: Value, axis: Any, what: str) -> None:
    if x.type.ndim == 0:
        return
    b = current_builder()
    fine = b.call_named("greater", count_of(x, axis), 0)
    message = f"zero-size array to reduction operation {what} which has no identity"
    b.call_named("check_that", fine, error="ValueError", message=message)


@composite("sum_array", python=np.sum, method="sum", static="axis dtype keepdims", samples=(*_AXES, sample("i32[3]")))
def sum_array(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Value:
    """Sum of elements along axes."""
    x = as_operand(a)
    return reduced(reduce.sum_, cast_to(x, sum_dtype(x, dtype)), axis, keepdims)


@composite("prod_array", python=np.prod, method="prod", static="axis dtype keepdims", samples=_AXES)
def prod_array(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Value:
    """Product of elements along axes."""
    x = as_operand(a)
    x = cast_to(x, sum_dtype(x, dtype))
    axes = normalized(axis, x.type.ndim)
    if 1 < len(axes) < x.type.ndim:  # the op takes one axis, or all
        for k in reversed(axes):
            x = reduced(reduce.prod, x, k, True)
        return x if keepdims else without_axes(x, axes)
    return reduced(reduce.prod, x, axis, keepdims)


def without_axes(x: Value, axes: tuple[int, ...]) -> Value:
    """``x`` without axes of length 1."""
    view = View(tuple("i" if k in axes else ":" for k in range(x.type.ndim)), tuple(range(x.type.ndim - len(axes))))
    return getitem(x, *(0 for _ in axes), view=view)


def cast_to(x: Value, dtype: np.dtype) -> Value:
    return current_builder().cast(x, dtype, False)


@composite("max_array", python=(np.max, np.amax), method="max", static="axis keepdims", samples=_AXES)
def max_array(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Largest element along axes; NaN if one is NaN."""
    x = as_operand(a)
    check_not_empty(x, axis, "maximum")
    return reduced(reduce.max_, x, axis, keepdims)


@composite("min_array", python=(np.min, np.amin), method="min", static="axis keepdims", samples=_AXES)
def min_array(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Smallest element along axes; NaN if one is NaN."""
    x = as_operand(a)
    check_not_empty(x, axis, "minimum")
    return reduced(reduce.min_, x, axis, keepdims)


def _logical(name: str, op: Op, function: Callable) -> None:
    @composite(
        f"{name}_array",
        python=function,
        method=name,
        static="axis keepdims",
        samples=(sample("b1[3, 4]"), sample("b1[3, 4]", axis=0), sample("f64[3]", axis=0, keepdims=True)),
    )
    def of_array(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
        """Whether elements along axes hold."""
        x = as_operand(a)
        truth = x if x.type.dtype == BOOL else current_builder().call_named("not_equal", x, 0)
        return reduced(op, truth, axis, keepdims)


_logical("all", reduce.all_, np.all)
_logical("any", reduce.any_, np.any)


@composite("mean", python=np.mean, method="mean", static="axis keepdims", samples=(*_AXES, sample("i32[3]")))
def mean(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Arithmetic mean along axes; NaN of nothing."""
    x = as_operand(a)
    if x.type.dtype.kind in "biu":
        x = cast_to(x, FLOAT)
    if x.type.ndim == 0:
        if axis is not None:
            raise InferenceError(f"axis {axis} is out of bounds for a number")
        return cast_to(x, x.type.dtype)
    count = cast_to(count_of(x, axis), x.type.dtype)
    return div(reduced(reduce.sum_, x, axis, keepdims), count)


@composite("var", python=np.var, method="var", static="axis ddof keepdims", samples=(*_AXES, sample("f64[5]", ddof=1)))
def var(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Value:
    """Variance along axes, over ``n - ddof``."""
    x = as_operand(a)
    if x.type.dtype.kind in "biu":
        x = cast_to(x, FLOAT)
    if x.type.ndim == 0:
        return mul(cast_to(x, x.type.dtype), 0.0)
    off = sub(x, mean(x, axis, True))
    count = sub(count_of(x, axis), ddof)
    if ddof > 0 and not current_builder().proves(count.type.value):
        count = maximum(count, 0)
    count = cast_to(count, x.type.dtype)
    return div(reduced(reduce.sum_, mul(off, off), axis, keepdims), count)


@composite("std", python=np.std, method="std", static="axis ddof keepdims", samples=_AXES)
def std(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Value:
    """Standard deviation along axes; derivative 0 where it is 0."""
    return root(var(a, axis, ddof, keepdims))
