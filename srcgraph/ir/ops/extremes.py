"""`numpy.argmax` and `numpy.argmin`: loops that find an extreme of an array and its place, one pass for both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.ir.dims import product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import Op, composite, current_builder, define, sample
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops.compare import greater, greater_equal, less_equal, logical_or, where
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.reductions import as_operand, one_axis
from srcgraph.ir.ops.sequences import flat
from srcgraph.ir.ops.shape import dims_of, empty, full, reshape, with_new_axes
from srcgraph.ir.types import INT, Type
from srcgraph.ir.view import transposed


def _located_type(index: Type, best: Type, x: Type, *, axes: tuple[int, ...], of: str) -> Type:
    return index


located = define(
    name="located",
    doc="``index``, where ``best`` is: the extreme of ``x`` along ``axes`` that the op ``of`` finds.",
    infer=_located_type,
    numpy=lambda index, best, x, *, axes, of: index,
    kind="library",
)


def _arg_extreme(of: Op, a: Any, axis: Any, keepdims: bool) -> Value:
    """The place of an extreme that the reduction ``of`` finds."""
    b = current_builder()
    x = as_operand(a)
    ndim = x.type.ndim
    if ndim == 0:
        one_axis(0 if axis is None else axis, 1)
        return b.const(np.int64(0))
    axes = tuple(range(ndim)) if axis is None else (one_axis(axis, ndim),)
    message = f"attempt to get arg{of.name} of an empty sequence"
    count = b.dim_value(product(x.type.shape[k] for k in axes))
    b.call_named("check_that", greater(count, 0), error="ValueError", message=message)
    found = _first_extreme(flat(x), of) if len(axes) == ndim else _along(x, axes[0], of)
    index = located(found[1], found[0], x, axes=axes, of=of.name)
    return with_new_axes(index, list(axes)) if keepdims else index


def _along(x: Value, axis: int, of: Op) -> Sequence[Value]:
    """The first extremes along one of several axes, and their places."""
    b, ndim, dims = current_builder(), x.type.ndim, dims_of(x)
    kept = [d for k, d in enumerate(dims) if k != axis]
    others = b.dim_value(product(d for k, d in enumerate(x.type.shape) if k != axis))
    if axis == ndim - 1:
        found = _in_rows(x if ndim == 2 else reshape(x, others, dims[axis]), of)
    else:
        x = x if axis == 0 else getitem(x, view=transposed(ndim, [axis, *(k for k in range(ndim) if k != axis)]))
        found = _in_columns(x if ndim == 2 else reshape(x, dims[axis], others), of)
    return found if ndim == 2 else [reshape(v, *kept) for v in found]


def _stays(best: Value, value: Value, of: Op) -> Value:
    """Whether a number is no better than the extreme one so far; the first NaN is the best, as in NumPy."""
    stays = less_equal(value, best) if of is reduce.max_ else greater_equal(value, best)
    return logical_or(stays, current_builder().call_named("isnan", best)) if value.type.dtype.kind == "f" else stays


def _first_extreme(x: Value, of: Op) -> Sequence[Value]:
    """The first extreme element of an array of one axis, and where it is."""
    b = current_builder()

    def step(i: Value, best: Value, index: Value) -> Sequence[Value]:
        value = item(x, 0, i)
        stays = _stays(best, value, of)
        return where(stays, best, value), where(stays, index, b.cast(i, INT, False))

    return counted(dims_of(x)[0], [item(x, 0, b.const(0)), b.const(np.int64(0))], step)


def _in_rows(x: Value, of: Op) -> Sequence[Value]:
    """The same of each row."""

    def row(i: Value, best: Value, index: Value) -> Sequence[Value]:
        found = _first_extreme(item(x, 0, i), of)
        return with_item(best, 0, i, found[0]), with_item(index, 0, i, found[1])

    rows = dims_of(x)[0]
    return counted(rows, [empty(rows, dtype=x.type.dtype), empty(rows, dtype=INT)], row)


def _in_columns(x: Value, of: Op) -> Sequence[Value]:
    """The same of each column, row after row."""
    b = current_builder()
    rows, columns = dims_of(x)
    assert of.reduction is not None

    def row(i: Value, *state: Value) -> Sequence[Value]:
        def element(j: Value, best: Value, index: Value) -> Sequence[Value]:
            value, before = item(item(x, 0, i), 0, j), item(best, 0, j)
            stays = _stays(before, value, of)
            index = with_item(index, 0, j, where(stays, item(index, 0, j), b.cast(i, INT, False)))
            return with_item(best, 0, j, where(stays, before, value)), index

        return counted(columns, state, element)

    worst = of.reduction.identity(x.type.dtype)
    return counted(rows, [full(worst, columns), full(np.int64(0), columns)], row)


_ARG = (sample("f64[5]"), sample("f64[3, 4]"), sample("f64[3, 4]", axis=0), sample("f64[3, 4]", axis=1, keepdims=True))


@composite("argmax", python=np.argmax, method="argmax", static="axis keepdims", samples=_ARG)
def argmax(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Index of the first largest element, along an axis or in the flattened array."""
    return _arg_extreme(reduce.max_, a, axis, keepdims)


@composite("argmin", python=np.argmin, method="argmin", static="axis keepdims", samples=_ARG)
def argmin(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Index of the first smallest element, along an axis or in the flattened array."""
    return _arg_extreme(reduce.min_, a, axis, keepdims)
