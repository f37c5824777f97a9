"""What ufunc methods are made of: folds, scans and updates by any function of two numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import COMPOSITES, Composite, current_builder
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops._loops import counted, item
from srcgraph.ir.ops.compare import equal, greater, logical_or, where
from srcgraph.ir.ops.index import add_at, getitem, setitem
from srcgraph.ir.ops.reductions import as_operand, cast_to, normalized, one_axis, sum_dtype
from srcgraph.ir.ops.sequences import flat, neutral, running
from srcgraph.ir.ops.shape import broadcast_to, dims_of, full, reshape, with_new_axes
from srcgraph.ir.ops.vector import add, mul, neg
from srcgraph.ir.types import BOOL, ArrayType, ScalarType
from srcgraph.ir.view import View

Combine = Callable[[Any, Any], Value]

REDUCTIONS: dict[np.ufunc, Composite] = {
    np.add: COMPOSITES["sum_array"],
    np.multiply: COMPOSITES["prod_array"],
    np.maximum: COMPOSITES["max_array"],
    np.minimum: COMPOSITES["min_array"],
    np.logical_and: COMPOSITES["all_array"],
    np.logical_or: COMPOSITES["any_array"],
}
"""The ufuncs whose `reduce` is a function of its own."""
_STARTS = {np.maximum: reduce.max_, np.minimum: reduce.min_}


def _widened(ufunc: np.ufunc, x: Value, dtype: Any) -> Value:
    """The operand in the dtype of the result; sums and products of small integers widen."""
    if ufunc in (np.add, np.multiply):
        return cast_to(x, sum_dtype(x, dtype))
    if dtype is not None:
        return cast_to(x, np.dtype(dtype))
    return cast_to(x, x.type.dtype)


def scan(combine: Combine, ufunc: np.ufunc, a: Any, axis: Any, dtype: Any) -> Value:
    """Running combinations along an axis."""
    x = _widened(ufunc, as_operand(a), dtype)
    if x.type.ndim == 0:
        raise InferenceError("cannot accumulate a number")
    at = one_axis(axis, x.type.ndim)
    return running(x, at, lambda before, own: _same(combine(before, own), x), _neutral(ufunc, x.type.dtype))


def _neutral(ufunc: np.ufunc, dtype: np.dtype) -> Any:
    if ufunc in (np.add, np.multiply):
        return neutral(add if ufunc is np.add else mul, dtype)
    rule = _STARTS[ufunc].reduction if ufunc in _STARTS else None
    return None if rule is None else rule.identity(dtype)


def _same(new: Value, x: Value) -> Value:
    if new.type.dtype != x.type.dtype:
        raise InferenceError(f"combining {x.type.dtype} gives {new.type.dtype}: convert the array first")
    return new


def _identity(ufunc: np.ufunc, dtype: np.dtype) -> Any:
    """The number NumPy begins with; None where it is the first element."""
    return None if ufunc.identity is None else np.array(ufunc.identity).astype(dtype)[()]


def fold(combine: Combine, ufunc: np.ufunc, a: Any, axis: Any, keepdims: bool) -> Value:
    """All elements along an axis combined, from the ufunc's identity on, or from the first."""
    b = current_builder()
    x = as_operand(a)
    x = cast_to(x, x.type.dtype)
    if x.type.ndim == 0:
        return x
    axes = normalized(axis, x.type.ndim)
    if len(axes) != 1:
        raise InferenceError(f"{ufunc.__name__}.reduce takes one axis here")
    at = axes[0]
    count = dims_of(x)[at]
    _same(combine(x, x), x)
    begin = _identity(ufunc, x.type.dtype)
    if begin is None:
        message = f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
        b.call_named("check_that", greater(count, 0), error="ValueError", message=message)
    kept = [d for k, d in enumerate(dims_of(x)) if k != at]
    first = x.type.dtype.type(0) if begin is None else begin
    start = full(first, *kept) if kept else b.const(first)

    def step(i: Value, running: Value) -> Sequence[Value]:
        own = item(x, at, i)
        new = _same(combine(running, own), x)
        return (where(equal(i, 0), own, new) if begin is None else new,)

    (out,) = counted(count, [start], step)
    return with_new_axes(out, [at]) if keepdims else out


def with_axes_behind(x: Value, count: int) -> Value:
    """``x`` with axes of length 1 after its own."""
    if not count or not isinstance(x.type, ArrayType) or not x.type.ndim:
        return x
    return getitem(x, view=View((":",) * x.type.ndim, (*range(x.type.ndim), *(None for _ in range(count)))))


def flattened(x: Value) -> Value:
    return flat(x)


def rows_of(v: Value, index: Value, kind: ArrayType, indexed: int, single: bool) -> Value:
    """What is combined at each index, or at a single one: a number, or an array with a row per index."""
    if isinstance(v.type, ScalarType):
        return v
    b = current_builder()
    shape = (*(() if single else dims_of(index)), *(b.dim_value(d) for d in kind.shape[indexed:]))
    message = "array is not broadcastable to correct shape"
    if v.type.ndim > len(shape):
        raise InferenceError(message)
    wanted = shape[len(shape) - v.type.ndim :]
    for have, want in zip(v.type.shape, wanted, strict=True):
        if have not in (want.type.value, 1):
            size = b.dim_value(have)
            if b.not_one(have):
                b.call_named("equal_size", size, want, error="ValueError", message=message)
            else:
                fine = logical_or(equal(size, want), equal(size, 1))
                b.call_named("check_that", fine, error="ValueError", message=message)
    fitted = b.fit(v, [d.type.value for d in wanted])
    if single:
        return with_new_axes(broadcast_to(fitted, *shape), [0])
    spread = broadcast_to(fitted, *shape)
    if index.type.ndim == 1:
        return spread
    (count,) = dims_of(flat(index))
    return reshape(spread, count, *shape[index.type.ndim :])


def combined_at(
    record: Any, ufunc: np.ufunc, out: Value, own: Value | None, at: Sequence[Value], view: View, dtype: np.dtype
) -> Value:
    """``out`` with one place of it combined with ``own``."""
    if own is not None and ufunc in (np.add, np.subtract) and dtype != BOOL:
        fitted = current_builder().stored(own, dtype) if np.can_cast(own.type.dtype, dtype, "same_kind") else own
        if fitted.type.dtype == dtype:
            return add_at(out, fitted if ufunc is np.add else neg(fitted), *at, view=view)
    old = getitem(out, *at, view=view)
    new = record(old) if own is None else record(old, own)
    if not np.can_cast(new.type.dtype, dtype, "same_kind"):
        raise InferenceError(f"cannot change an array of {dtype} in place to {new.type.dtype}")
    return setitem(out, cast_to(new, dtype), *at, view=view)
