"""Averages and spreads: mean, variance, covariance, and their kin that leave NaN out."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, composite, current_builder, sample
from srcgraph.ir.ops import linalg, reduce
from srcgraph.ir.ops.compare import greater
from srcgraph.ir.ops.complex import conjugate, imag, real
from srcgraph.ir.ops.diagonals import diagonal
from srcgraph.ir.ops.elementwise import root
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.reductions import (
    AXES,
    as_operand,
    cast_to,
    count_of,
    demand,
    max_array,
    min_array,
    one_axis,
    reduced,
    sum_array,
)
from srcgraph.ir.ops.remainders import maximum, minimum
from srcgraph.ir.ops.sequences import joined
from srcgraph.ir.ops.shape import broadcast_to, dims_of, full, with_new_axes
from srcgraph.ir.ops.vector import add, div, mul, sub
from srcgraph.ir.promote import common_dtype
from srcgraph.ir.types import FLOAT, INT
from srcgraph.ir.view import View, transposed


def _averaged(a: Any, dtype: Any) -> Value:
    """The operand of an average: integers and booleans as floats."""
    x = as_operand(a)
    if dtype is not None:
        return cast_to(x, np.dtype(dtype))
    return cast_to(x, FLOAT) if x.type.dtype.kind in "biu" else x


def _counted(x: Value, axis: Any, where: Any, keepdims: bool, dtype: np.dtype) -> Value:
    """How many elements count, as a number or an array to divide by."""
    if where is None:
        return cast_to(count_of(x, axis), dtype)
    b = current_builder()
    mask = broadcast_to(b.broadcast([b.value(where), x])[0], *dims_of(x))
    return cast_to(reduced(reduce.sum_, cast_to(mask, INT), axis, keepdims), dtype)


@composite(
    "mean",
    python=np.mean,
    method="mean",
    static="axis dtype keepdims",
    samples=(*AXES, sample("i32[3]"), sample("f64[2, 3]", axis=1, where="b1[2, 3]"), sample("f32[3]", dtype=float)),
)
def mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Any = None) -> Value:
    """Arithmetic mean along axes; NaN of nothing."""
    x = _averaged(a, dtype)
    if x.type.ndim == 0:
        if axis is not None:
            raise InferenceError(f"axis {axis} is out of bounds for a number")
        return sum_array(x, None, x.type.dtype)
    total = sum_array(x, axis, x.type.dtype, keepdims, where=where)
    out = div(total, _counted(x, axis, where, keepdims, x.type.dtype))
    return cast_to(out, x.type.dtype)  # integers stay so where they are asked for


@composite(
    "var",
    python=np.var,
    method="var",
    static="axis dtype ddof keepdims correction",
    samples=(
        *AXES,
        sample("f64[5]", ddof=1),
        sample("f64[2, 3]", axis=1, where="b1[2, 3]"),
        sample("f64[5]", mean=0.5),
        sample("f64[5]", correction=1),
    ),
)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Value:
    """Variance along axes, over ``n - ddof``."""
    x = _averaged(a, dtype)
    if x.type.dtype.kind in "biu" or (x.type.dtype.kind != "c" and as_operand(a).type.dtype.kind == "c"):
        raise InferenceError(f"a variance in {x.type.dtype} is not supported")
    ddof = ddof if correction is None else correction
    if x.type.ndim == 0:
        if axis not in (None, ()):
            raise InferenceError(f"axis {axis} is out of bounds for a number")
        value = cast_to(x, x.type.dtype)
        power = squared_size(sub(value, value if mean is None else mean))
        return div(power, _degrees(current_builder().const(1), ddof, power.type.dtype))
    off = sub(x, _mean(x, axis, keepdims=True, where=where) if mean is None else mean)
    power = squared_size(off)
    count = _counted(x, axis, where, keepdims, power.type.dtype)
    if where is None:
        count = _degrees(count_of(x, axis), ddof, power.type.dtype)
    else:
        count = maximum(sub(count, ddof), 0)
    return div(sum_array(power, axis, keepdims=keepdims, where=where), count)


_mean = mean


def squared_size(x: Value) -> Value:
    """``abs(x)**2``, real."""
    if x.type.dtype.kind != "c":
        return mul(x, x)
    return add(mul(real(x), real(x)), mul(imag(x), imag(x)))


def _degrees(count: Value, ddof: Any, dtype: np.dtype) -> Value:
    """Degrees of freedom, never negative."""
    if isinstance(ddof, float):
        return maximum(sub(cast_to(count, dtype), ddof), dtype.type(0))
    count = sub(count, ddof)
    if ddof > 0 and not current_builder().proves(count.type.value):
        count = maximum(count, 0)
    return cast_to(count, dtype)


@composite(
    "std",
    python=np.std,
    method="std",
    static="axis dtype ddof keepdims correction",
    samples=(*AXES, sample("f64[2, 3]", axis=1, where="b1[2, 3]")),
)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Value:
    """Standard deviation along axes; derivative 0 where it is 0."""
    return root(var(a, axis, dtype, ddof, keepdims, where, mean, correction))


@composite(
    "ptp",
    python=np.ptp,
    static="axis keepdims",
    samples=(sample("f64[4]"), sample("f64[3, 4]", axis=0), sample("f64[2, 3]", axis=(0, 1), keepdims=True)),
)
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Largest minus smallest element along axes."""
    return sub(max_array(a, axis, keepdims), min_array(a, axis, keepdims))


@composite(
    "average",
    python=np.average,
    static="axis returned keepdims",
    samples=(
        sample("f64[4]"),
        sample("f64[4]", weights="f64[4]", domain=(0.2, 1.0)),
        sample("f64[2, 3]", axis=0, weights="f64[2]", domain=(0.2, 1.0)),
        sample("f64[2, 3]", axis=1, weights="f64[2, 3]", domain=(0.2, 1.0), keepdims=True),
    ),
)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """Mean, weighted if weights are given; with ``returned``, also the sum of the weights."""
    b = current_builder()
    x = as_operand(a)
    if weights is None:
        out = mean(x, axis, keepdims=keepdims)
        if out.type.ndim:
            some = b.call_named("not_equal", count_of(out, None), 0)
            b.call_named("check_that", some, error="ZeroDivisionError", message="division by zero")
        count = cast_to(count_of(x, axis), out.type.dtype)
        return (out, broadcast_to(count, *dims_of(out)) if out.type.ndim else count) if returned else out
    w = _weights(x, as_operand(weights), axis)
    dtype = common_dtype([x.type, w.type])
    dtype = np.result_type(dtype, FLOAT) if x.type.dtype.kind in "biu" else dtype
    scale = reduced(reduce.sum_, cast_to(w, dtype), axis, keepdims)
    _check_scale(scale)
    out = div(reduced(reduce.sum_, mul(cast_to(x, dtype), cast_to(w, dtype)), axis, keepdims), scale)
    return (out, scale) if returned else out


def _check_scale(scale: Value) -> None:
    demand(OPS["not_equal"](scale, 0), "ZeroDivisionError", "Weights sum to zero, can't be normalized")


def _weights(x: Value, w: Value, axis: Any) -> Value:
    """Weights of the shape of ``x``; along one axis, a vector of them will do."""
    b = current_builder()
    if w.type.ndim == x.type.ndim:
        error, message = ("ValueError", "Shape of weights must be consistent with shape of a along specified axis.")
        if axis is None:
            error, message = ("TypeError", "Axis must be specified when shapes of a and weights differ.")
        for size, own in zip(dims_of(x), dims_of(w), strict=True):
            b.call_named("equal_size", size, own, error=error, message=message)
        return b.retype(w, x.type.shape)
    if not isinstance(axis, int | np.integer) or w.type.ndim != 1:
        raise InferenceError("average: weights of another shape than the array need one axis, and be of one axis")
    at = one_axis(axis, x.type.ndim)
    size, own = dims_of(x)[at], dims_of(w)[0]
    if size.type != own.type:
        b.call_named("equal_size", size, own, error="ValueError", message="weights of length {y} for an axis of {x}")
    w = with_new_axes(b.retype(w, [x.type.shape[at]]), [k for k in range(x.type.ndim) if k != at])
    return broadcast_to(w, *dims_of(x))


# -- covariance ---------------------------------------------------------------------------------------


@composite(
    "cov",
    python=np.cov,
    static="rowvar bias ddof dtype",
    samples=(
        sample("f64[3, 4]"),
        sample("f64[5]"),
        sample("f64[5]", "f64[5]"),
        sample("f64[4, 2]", rowvar=False, ddof=0),
        sample("f64[2, 4]", bias=True),
        sample("f64[2, 4]", aweights="f64[4]", domain=(0.2, 1.0)),
    ),
)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Value:
    """Covariance matrix of variables in rows."""
    x = _variables(m, rowvar)
    if y is not None:
        from_y = _variables(y, rowvar)
        x = _below(x, from_y)
    found = np.result_type(x.type.dtype, FLOAT) if dtype is None else np.dtype(dtype)
    x = cast_to(x, found)
    if found != FLOAT:
        demand(greater(dims_of(x)[0], 0), "NotImplementedError", f"no variables in {found} are not supported")
    ddof = (0 if bias else 1) if ddof is None else ddof
    if ddof != int(ddof):
        raise InferenceError("ddof must be integer")
    w = _observation_weights(x, fweights, aweights)
    if w is None:
        off = sub(x, mean(x, 1, keepdims=True))
        scaled = off
        count = sub(cast_to(dims_of(x)[1], FLOAT), ddof)
    else:
        total = sum_array(w)
        _check_scale(total)
        off = sub(x, div(sum_array(mul(x, w), 1, keepdims=True), total))
        scaled = mul(off, w)
        excess = (
            ddof if aweights is None else mul(ddof, div(sum_array(mul(w, current_builder().value(aweights))), total))
        )
        count = sub(total, excess)
    across = getitem(scaled if found.kind != "c" else conjugate(scaled), view=transposed(2, (1, 0)))
    out = div(linalg.product(off, across), cast_to(maximum(count, 0.0), FLOAT))
    out = cast_to(out, found)
    return out if y is not None else _squeezed_matrix(out)


def _variables(m: Any, rowvar: bool) -> Value:
    """A matrix with a variable in each row."""
    x = as_operand(m)
    if x.type.ndim > 2:
        raise InferenceError("cov takes arrays of at most two axes")
    if x.type.ndim == 0:
        return full(x, 1, 1)
    if x.type.ndim == 1:
        return getitem(x, view=View((":",), (None, 0)))
    return x if rowvar else getitem(x, view=transposed(2, (1, 0)))


def _below(x: Value, y: Value) -> Value:
    return joined([x, y], 0)


def _observation_weights(x: Value, fweights: Any, aweights: Any) -> Value | None:
    """The weight of each column, with NumPy's checks."""
    b = current_builder()
    given = []
    for w, name in ((fweights, "fweights"), (aweights, "aweights")):
        if w is None:
            continue
        own = cast_to(b.value(w), FLOAT)
        if own.type.ndim != 1:
            raise InferenceError(f"cov: {name} must have one axis")
        if name == "fweights" and b.value(w).type.dtype.kind == "f":
            demand(OPS["equal"](own, OPS["rint"](own)), "TypeError", "fweights must be integer")
        sizes, message = (dims_of(own)[0], dims_of(x)[1]), f"incompatible numbers of samples and {name}"
        b.call_named("equal_size", *sizes, error="RuntimeError", message=message)
        own = b.retype(own, x.type.shape[1:])
        demand(OPS["logical_not"](OPS["less"](own, 0.0)), "ValueError", f"{name} cannot be negative")
        given.append(own)
    return None if not given else given[0] if len(given) == 1 else mul(*given)


def _squeezed_matrix(x: Value) -> Value:
    """A 1 by 1 matrix as an array without axes, as `numpy.cov` gives."""
    b, size = current_builder(), x.type.shape[0]
    if size != 1:
        if not b.not_one(size):
            message = "one variable, which is not known when compiling, is not supported: give an array of one axis"
            demand(OPS["not_equal"](b.dim_value(size), 1), "NotImplementedError", message)
        return x
    return full(getitem(x, 0, 0, view=View(("i", "i"), ())))


@composite(
    "corrcoef",
    python=np.corrcoef,
    static="rowvar dtype",
    samples=(sample("f64[3, 4]"), sample("f64[5]", "f64[5]"), sample("f64[4, 2]", rowvar=False)),
)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Value:
    """Correlation coefficients of variables in rows."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.type.ndim == 0:
        number = current_builder().scalar(c)
        return div(number, number)
    spread = root(real(diagonal(c)))
    c = div(c, getitem(spread, view=View((":",), (0, None))))
    c = div(c, getitem(spread, view=View((":",), (None, 0))))
    return maximum(minimum(c, 1.0), -1.0)
