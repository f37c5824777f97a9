"""Reductions that leave NaN out: nansum, nanmean, nanmax and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.ir.graph import Value
from srcgraph.ir.op import Op, composite, current_builder, sample
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops.compare import equal, less_equal, where
from srcgraph.ir.ops.elementwise import root
from srcgraph.ir.ops.extremes import argmax, argmin
from srcgraph.ir.ops.reductions import (
    AXES,
    as_operand,
    cast_to,
    check_not_empty,
    prod_array,
    reduced,
    sum_array,
)
from srcgraph.ir.ops.sequences import cumprod, cumsum
from srcgraph.ir.ops.statistics import mean, squared_size, var
from srcgraph.ir.ops.vector import div, sub
from srcgraph.ir.types import BOOL

_HOLES = (
    *AXES,
    sample(np.array([1.0, np.nan, 3.0])),
    sample(np.array([[np.nan, 2.0], [0.5, np.nan], [1.0, -1.0]]), axis=0),
    sample(np.array([[1.0, 2.0], [np.nan, 4.0]]), axis=1),
)
_SCANS = (sample("f64[3]"), _HOLES[-3], _HOLES[-1])


def missing(x: Value) -> Value | None:
    """Which elements are NaN; None for dtypes that have none."""
    return current_builder().call_named("isnan", x) if x.type.dtype.kind in "fc" else None


def _filled(x: Value, number: Any) -> Value:
    gone = missing(x)
    return x if gone is None else where(gone, x.type.dtype.type(number), x)


def _present(x: Value, axis: Any, keepdims: bool) -> Value | None:
    """How many elements are not NaN."""
    gone = missing(x)
    if gone is None:
        return None
    return reduced(reduce.sum_, where(gone, np.int64(0), np.int64(1)), axis, keepdims)


@composite("nansum", python=np.nansum, static="axis dtype keepdims", samples=_HOLES)
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Value:
    """Sum along axes, NaN counted as 0."""
    return sum_array(_filled(as_operand(a), 0), axis, dtype, keepdims, initial, where)


@composite("nanprod", python=np.nanprod, static="axis dtype keepdims", samples=_HOLES)
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Value:
    """Product along axes, NaN counted as 1."""
    return prod_array(_filled(as_operand(a), 1), axis, dtype, keepdims, initial, where)


@composite("nanmean", python=np.nanmean, static="axis dtype keepdims", samples=_HOLES)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Value:
    """Mean along axes of what is not NaN."""
    x = as_operand(a)
    count = _present(x, axis, keepdims)
    if count is None:
        return mean(x, axis, dtype, keepdims)
    found = x.type.dtype if dtype is None else np.dtype(dtype)
    return div(sum_array(cast_to(_filled(x, 0), found), axis, found, keepdims), cast_to(count, found))


@composite("nanvar", python=np.nanvar, static="axis dtype ddof keepdims", samples=(*_HOLES, sample("f64[5]", ddof=1)))
def nanvar(a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False) -> Value:
    """Variance along axes of what is not NaN; NaN where too little is left."""
    x = as_operand(a)
    gone = missing(x)
    if gone is None:
        return var(x, axis, dtype, ddof, keepdims)
    x = x if dtype is None else cast_to(x, np.dtype(dtype))
    off = where(gone, x.type.dtype.type(0), sub(x, nanmean(x, axis, keepdims=True)))
    power = squared_size(off)
    count = _present(x, axis, keepdims)
    assert count is not None
    left = sub(cast_to(count, power.type.dtype), ddof)
    spread = div(sum_array(power, axis, keepdims=keepdims), left)
    return where(less_equal(left, 0), power.type.dtype.type(np.nan), spread)


@composite("nanstd", python=np.nanstd, static="axis dtype ddof keepdims", samples=_HOLES)
def nanstd(a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False) -> Value:
    """Standard deviation along axes of what is not NaN; derivative 0 where it is 0."""
    return root(nanvar(a, axis, dtype, ddof, keepdims))


def _extreme(op: Op, function: Any, ufunc: np.ufunc, doc: str) -> None:
    def of(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
        x = as_operand(a)
        check_not_empty(x, axis, ufunc.__name__)
        assert op.reduction is not None
        count = _present(x, axis, keepdims)
        if count is None:
            return reduced(op, x, axis, keepdims)
        best = reduced(op, _filled(x, op.reduction.identity(x.type.dtype)), axis, keepdims)
        return where(equal(count, 0), x.type.dtype.type(np.nan), best)

    of.__doc__ = doc
    composite(f"nan{op.name}", python=function, static="axis keepdims", samples=_HOLES)(of)


_extreme(reduce.max_, np.nanmax, np.fmax, "Largest element along axes that is not NaN; NaN if none is.")
_extreme(reduce.min_, np.nanmin, np.fmin, "Smallest element along axes that is not NaN; NaN if none is.")


def _arg_extreme(name: str, function: Any, plain: Any, worst: float, doc: str) -> None:
    def of(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
        x = as_operand(a)
        count = _present(x, axis, keepdims)
        if count is None:
            return plain(x, axis, keepdims)
        out = plain(_filled(x, worst), axis, keepdims)
        b = current_builder()
        fine = b.call_named("greater", count, 0)
        if fine.type.ndim:
            fine = b.call_named("all", fine, axes=tuple(range(fine.type.ndim)))
        b.call_named(
            "check_that", b.cast(fine, BOOL, weak=True), error="ValueError", message="All-NaN slice encountered"
        )
        return out

    of.__doc__ = doc
    composite(name, python=function, static="axis keepdims", samples=(*_SCANS, AXES[2]))(of)


_arg_extreme("nanargmax", np.nanargmax, argmax, -np.inf, "Index of the first largest element that is not NaN.")
_arg_extreme("nanargmin", np.nanargmin, argmin, np.inf, "Index of the first smallest element that is not NaN.")


@composite("nancumsum", python=np.nancumsum, static="axis dtype", samples=_SCANS)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Value:
    """Running sums, NaN counted as 0."""
    return cumsum(_filled(as_operand(a), 0), axis, dtype)


@composite("nancumprod", python=np.nancumprod, static="axis dtype", samples=_SCANS)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Value:
    """Running products, NaN counted as 1."""
    return cumprod(_filled(as_operand(a), 1), axis, dtype)
