"""np.linalg.norm and cond, with all orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from srcgraph.errors import InferenceError
from srcgraph.ir.dims import product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, composite, current_builder, sample
from srcgraph.ir.ops import equations, reduce, spectra
from srcgraph.ir.ops.compare import where
from srcgraph.ir.ops.elementwise import root
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.powers import power
from srcgraph.ir.ops.reductions import as_operand, cast_to, min_array, normalized, one_axis, reduced
from srcgraph.ir.ops.remainders import absolute
from srcgraph.ir.ops.searching import largest
from srcgraph.ir.ops.shape import dims_of, reshape, with_new_axes
from srcgraph.ir.ops.vector import div, mul
from srcgraph.ir.types import FLOAT
from srcgraph.ir.view import View, transposed


@composite(
    "norm",
    python=(np.linalg.norm, scipy.linalg.norm),
    static="ord axis keepdims",
    samples=(
        sample("f64[4]"),
        sample("f64[4]", ord=1),
        sample("f64[4]", ord=3),
        sample("f64[4]", ord=0),
        sample("f64[4]", ord=-np.inf),
        sample("f64[4]", ord=np.inf),
        sample("f64[3, 4]"),
        sample("f64[3, 4]", axis=1),
        sample("f64[3, 4]", ord=1),
        sample("f64[3, 4]", ord=-np.inf),
        sample("f64[3, 4]", ord=2),
        sample("f64[3, 3]", ord=-2),
        sample("f64[3, 4]", ord="nuc", keepdims=True),
        sample("f64[2, 3, 4]", ord="fro", axis=(0, 2)),
        sample("f64[2, 3, 4]", ord=2, axis=(2, 0)),
        sample("f64[2, 3, 4]"),
    ),
)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    """Norm of a vector or a matrix; the derivative of a Euclidean norm is 0 at 0."""
    value = as_operand(x)
    if value.type.dtype.kind in "biu":
        value = cast_to(value, FLOAT)
    if value.type.ndim == 0:
        raise InferenceError("norm takes an array of at least one axis")
    if axis is None and ord is None:
        return _euclidean(value, None, keepdims)
    asked = tuple(range(value.type.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(one_axis(k, value.type.ndim) for k in asked)
    if len(axes) == 1:
        return _vector_norm(value, ord, axes[0], keepdims)
    if len(axes) == 2 and axes[0] != axes[1]:
        return _matrix_norm(value, ord, axes, keepdims)
    raise InferenceError("Improper number of dimensions to norm.")


def _euclidean(x: Value, axis: Any, keepdims: bool) -> Value:
    size = absolute(x) if x.type.dtype.kind == "c" else x
    return root(reduced(reduce.sum_, mul(size, size), axis, keepdims))


def _vector_norm(x: Value, ord: Any, axis: int, keepdims: bool) -> Value:
    if ord is None or ord == 2:
        return _euclidean(x, axis, keepdims)
    if isinstance(ord, str):
        raise InferenceError(f"Invalid norm order {ord!r} for vectors")
    size = absolute(x)
    if ord in (np.inf, -np.inf):
        return largest(size, axis, keepdims) if ord > 0 else min_array(size, axis, keepdims)
    if ord == 0:
        hits = cast_to(OPS["not_equal"](size, 0), size.type.dtype)
        return reduced(reduce.sum_, hits, axis, keepdims)
    if ord == 1:
        return reduced(reduce.sum_, size, axis, keepdims)
    kind = size.type.dtype.type
    return power(reduced(reduce.sum_, power(size, kind(ord)), axis, keepdims), kind(1.0 / ord))


def _matrix_norm(x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Value:
    if ord in (None, "fro", "f"):
        return _euclidean(x, axes, keepdims)
    row, col = axes
    if ord in (1, -1, np.inf, -np.inf):
        inner, outer = (row, col) if abs(ord) == 1 else (col, row)
        sums = reduced(reduce.sum_, absolute(x), inner, False)
        outer -= outer > inner
        out = largest(sums, outer) if ord > 0 else min_array(sums, outer)
    elif ord in (2, -2, "nuc"):
        others = [k for k in range(x.type.ndim) if k not in axes]
        s = spectra.svdvals(getitem(x, view=transposed(x.type.ndim, (*others, *axes))))
        last = s.type.ndim - 1
        out = (
            largest(s, last) if ord == 2 else min_array(s, last) if ord == -2 else reduced(reduce.sum_, s, last, False)
        )
    else:
        raise InferenceError(f"Invalid norm order {ord!r} for matrices")
    return with_new_axes(out, sorted(axes)) if keepdims else out


@composite(
    "vector_norm",
    python=np.linalg.vector_norm,
    static="axis keepdims ord",
    samples=(
        sample("f64[4]"),
        sample("f64[3, 4]", keepdims=True),
        sample("f64[2, 3, 4]", axis=(2, 0), ord=1),
        sample("f64[2, 3]", axis=1, ord=3),
    ),
)
def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Value:
    """Norm of what is along axes, taken as one vector."""
    b = current_builder()
    value = as_operand(x)
    axes = normalized(axis, value.type.ndim)
    if len(axes) == 1:
        return norm(value, ord, axes[0], keepdims)
    kept = [k for k in range(value.type.ndim) if k not in axes]
    size = b.dim_value(product(value.type.shape[k] for k in axes))
    lines = getitem(value, view=transposed(value.type.ndim, (*kept, *axes)))
    out = norm(reshape(lines, *(dims_of(value)[k] for k in kept), size), ord, -1)
    return with_new_axes(out, list(axes)) if keepdims else out


@composite(
    "cond",
    python=np.linalg.cond,
    static="p",
    samples=(sample("f64[3, 3]"), sample("f64[3, 2]"), sample("f64[3, 3]", 1), sample("f64[3, 3]", p=-2)),
)
def cond(x: Any, p: Any = None) -> Value:
    """The condition number: the norm of a matrix times that of its inverse."""
    b = current_builder()
    value = equations.matrix(x, "cond")
    if value.type.ndim != 2:
        raise InferenceError("cond of stacks of matrices is not supported")
    some = OPS["greater"](b.dim_value(product(value.type.shape)), 0)
    message = "cond is not defined on empty arrays"
    b.call_named("check_that", some, error=equations.LINALG_ERROR, message=message)
    if p in (None, 2, -2):
        s = spectra.singular_values(value)
        n = b.dim_value(s.type.shape[0])
        first = getitem(s, 0, view=View(("i",), ()))
        last = getitem(s, OPS["sub"](n, 1), view=View(("i",), ()))
        out = div(last, first) if p == -2 else div(first, last)
    else:
        out = mul(norm(value, p), norm(equations.inverse_or_nan(value, "cond"), p))
    number = OPS["logical_not"](reduced(reduce.any_, OPS["isnan"](value), None, False))
    return where(OPS["logical_and"](OPS["isnan"](out), number), out.type.dtype.type(np.inf), out)
