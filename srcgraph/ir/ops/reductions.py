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
from srcgraph.ir.ops.compare import where as selected
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.remainders import maximum, minimum
from srcgraph.ir.ops.shape import with_new_axes
from srcgraph.ir.ops.vector import add, cast, mul
from srcgraph.ir.types import BOOL, INT, ArrayType
from srcgraph.ir.view import View

AXES = (
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
        if not isinstance(a, int | np.integer) or isinstance(a, bool) or not -ndim <= a < ndim:
            raise InferenceError(f"axis {a} is out of bounds for an array of {ndim} axes")
    axes = sorted(int(a) % ndim for a in asked)
    if len(set(axes)) != len(axes):
        raise InferenceError("duplicate value in 'axis'")
    return tuple(axes)


def one_axis(axis: Any, ndim: int) -> int:
    """An axis counted from the front.

    Raises
    ------
    InferenceError
        It is out of bounds, or not one.
    """
    if isinstance(axis, tuple | list) or axis is None:
        raise InferenceError(f"one axis is needed, not {axis}")
    return normalized(axis, ndim)[0]


def reduced(op: Op, x: Value, axis: Any, keepdims: bool) -> Value:
    """Reduce, keeping the reduced axes with length 1 if asked."""
    if x.type.ndim == 0:
        check_axis_of_number(axis)
        alone = cast(x, dtype=x.type.dtype, weak=False)
        return add(alone, x.type.dtype.type(0)) if op is reduce.sum_ else alone  # NumPy's: 0.0 of -0.0
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


def demand(fine: Value, error: str, message: str) -> None:
    """Raise unless a condition holds for every element."""
    b = current_builder()
    if fine.type.ndim:
        fine = b.call_named("all", fine, axes=tuple(range(fine.type.ndim)))
    b.call_named("check_that", b.cast(fine, BOOL, weak=True), error=error, message=message)


def check_not_empty(x: Value, axis: Any, what: str) -> None:
    if x.type.ndim == 0:
        return
    b = current_builder()
    fine = b.call_named("greater", count_of(x, axis), 0)
    message = f"zero-size array to reduction operation {what} which has no identity"
    b.call_named("check_that", fine, error="ValueError", message=message)


def masked(x: Value, where: Any, identity: Any) -> Value:
    """``x`` with ``identity`` where a mask does not hold, so that it does not count."""
    if where is None or where is True:
        return x
    mask = current_builder().value(where)
    if mask.type.dtype != BOOL:
        raise InferenceError(f"where must be booleans, not {mask.type}")
    return selected(mask, x, x.type.dtype.type(identity))


def started(op: Op, out: Value, initial: Any) -> Value:
    """``out`` combined with what the reduction begins with."""
    if initial is None:
        return out
    b = current_builder()
    first = b.value(initial)
    if first.type.dtype.kind == "c" and out.type.dtype.kind != "c":
        raise InferenceError(f"initial is a complex number, but the result is {out.type.dtype}")
    return op(b.assigned(first, out.type.dtype), out)


_FLAGS = "axis dtype keepdims"


@composite(
    "sum_array",
    python=np.sum,
    method="sum",
    static=_FLAGS,
    samples=(
        *AXES,
        sample("i32[3]"),
        sample("f64[3]", initial=2.0),
        sample("f64[2, 3]", axis=1, where="b1[2, 3]"),
        sample("b1[4]", dtype=np.float64),
    ),
)
def sum_array(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Value:
    """Sum of elements along axes."""
    x = as_operand(a)
    x = masked(cast_to(x, sum_dtype(x, dtype)), where, 0)
    return started(add, reduced(reduce.sum_, x, axis, keepdims), initial)


@composite(
    "prod_array",
    python=np.prod,
    method="prod",
    static=_FLAGS,
    samples=(*AXES, sample("f64[3]", initial=2.0), sample("f64[2, 3]", axis=1, where="b1[2, 3]")),
)
def prod_array(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Value:
    """Product of elements along axes."""
    x = as_operand(a)
    x = masked(cast_to(x, sum_dtype(x, dtype)), where, 1)
    axes = normalized(axis, x.type.ndim)
    if 1 < len(axes) < x.type.ndim:  # the op takes one axis, or all
        for k in reversed(axes):
            x = reduced(reduce.prod, x, k, True)
        out = x if keepdims else without_axes(x, axes)
    else:
        out = reduced(reduce.prod, x, axis, keepdims)
    return started(mul, out, initial)


def without_axes(x: Value, axes: tuple[int, ...]) -> Value:
    """``x`` without axes of length 1."""
    view = View(tuple("i" if k in axes else ":" for k in range(x.type.ndim)), tuple(range(x.type.ndim - len(axes))))
    return getitem(x, *(0 for _ in axes), view=view)


def cast_to(x: Value, dtype: np.dtype) -> Value:
    return current_builder().cast(x, dtype, False)


def _extreme(op: Op, larger: Op, name: str, functions: tuple[Any, ...], doc: str) -> Any:
    def of_array(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Value:
        x = as_operand(a)
        if initial is None:
            if where is not None:
                raise InferenceError(f"{op.name}: where= needs initial=, as in NumPy")
            check_not_empty(x, axis, larger.name)
        assert op.reduction is not None
        x = masked(x, where, op.reduction.identity(x.type.dtype))
        return started(larger, reduced(op, x, axis, keepdims), initial)

    of_array.__doc__ = doc
    samples = (*AXES, sample("f64[3]", initial=0.5), sample("f64[2, 3]", axis=1, initial=0.1, where="b1[2, 3]"))
    return composite(name, python=functions, method=op.name, static="axis keepdims", samples=samples)(of_array)


max_array = _extreme(
    reduce.max_, maximum, "max_array", (np.max, np.amax), "Largest element along axes; NaN if one is NaN."
)
min_array = _extreme(
    reduce.min_, minimum, "min_array", (np.min, np.amin), "Smallest element along axes; NaN if one is NaN."
)


def _logical(name: str, op: Op, function: Callable, empty: bool) -> None:
    @composite(
        f"{name}_array",
        python=function,
        method=name,
        static="axis keepdims",
        samples=(
            sample("b1[3, 4]"),
            sample("b1[3, 4]", axis=0),
            sample("f64[3]", axis=0, keepdims=True),
            sample("b1[2, 3]", axis=1, where="b1[2, 3]"),
        ),
    )
    def of_array(a: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Value:
        """Whether elements along axes hold."""
        return reduced(op, masked(as_truth(as_operand(a)), where, empty), axis, keepdims)


def as_truth(x: Value) -> Value:
    """Which elements Python takes as true."""
    return x if x.type.dtype == BOOL else current_builder().call_named("not_equal", x, 0)


_logical("all", reduce.all_, np.all, True)
_logical("any", reduce.any_, np.any, False)


@composite(
    "count_nonzero",
    python=np.count_nonzero,
    static="axis keepdims",
    samples=(sample("b1[5]"), sample("f64[3, 4]", axis=0), sample("f64[2, 3]", axis=(0, 1), keepdims=True)),
)
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """How many elements are not zero."""
    hits = cast_to(as_truth(as_operand(a)), INT)
    return reduced(reduce.sum_, hits, axis, keepdims)
