"""NumPy functions that sort and search.

Sorts are stable, so `argsort` gives what NumPy gives for ``kind="stable"``; for other kinds NumPy leaves
the order of equal elements open. `partition` and `argpartition` sort completely, which is one of the
orders NumPy may give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.dims import product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, composite, current_builder, sample
from srcgraph.ir.ops import reduce, sorting
from srcgraph.ir.ops._loops import chosen
from srcgraph.ir.ops.checks import same_size
from srcgraph.ir.ops.compare import where
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.reductions import as_operand, normalized, one_axis, reduced
from srcgraph.ir.ops.remainders import maximum
from srcgraph.ir.ops.sequences import flat, stack
from srcgraph.ir.ops.shape import dims_of, reshape
from srcgraph.ir.ops.vector import sub
from srcgraph.ir.types import BOOL, INT
from srcgraph.ir.view import View, transposed


def as_array(x: Any) -> Value:
    """An array of at least one axis; a tuple or list of numbers is one."""
    if not isinstance(x, tuple):
        value = as_operand(x)
        return value if value.type.ndim else flat(value)
    return current_builder().value(x)


def largest(x: Value, axis: Any, keepdims: bool = False) -> Value:
    """The largest along axes, 0 where there is none."""
    b = current_builder()
    axes = normalized(axis, x.type.ndim)
    sizes = [x.type.shape[k] for k in axes]
    if all(b.proves(size - 1) for size in sizes):
        return reduced(reduce.max_, x, axes, keepdims)

    def found() -> Sequence[Value]:
        b.learn(*(size - 1 for size in sizes))
        return (reduced(reduce.max_, x, axes, keepdims),)

    def none() -> Sequence[Value]:
        return (reduced(reduce.sum_, x, axes, keepdims),)

    return chosen(OPS["greater"](b.dim_value(product(sizes)), 0), found, none)[0]


def ordered(x: Value, what: str) -> Value:
    """``x``, whose elements have an order.

    Raises
    ------
    InferenceError
        They are complex.
    """
    if x.type.dtype.kind == "c":
        raise InferenceError(f"{what} of complex numbers is not supported")
    return x


# -- sorting ----------------------------------------------------------------------------------------


def by_rows(x: Value, axis: int | None, function: Callable[[Value], Value]) -> Value:
    """What a function of rows gives along an axis; of the flattened array for None."""
    if axis is None:
        return function(flat(x))
    ndim = x.type.ndim
    at = one_axis(axis, ndim)
    order = [*(k for k in range(ndim) if k != at), at]
    if at != ndim - 1:
        x = getitem(x, view=transposed(ndim, order))
    out = in_rows(x, function)
    return out if at == ndim - 1 else getitem(out, view=transposed(ndim, [order.index(k) for k in range(ndim)]))


def in_rows(x: Value, function: Callable[[Value], Value]) -> Value:
    """What a function of at most two axes gives for the last axis of an array of any number."""
    b = current_builder()
    if x.type.ndim <= 2:
        return function(x)
    rows = b.dim_value(product(x.type.shape[:-1]))
    return reshape(function(reshape(x, rows, dims_of(x)[-1])), *dims_of(x))


_SORTS = (sample("f64[5]"), sample("f64[3, 4]", axis=0), sample("f64[3, 4]", axis=None), sample("f64[2, 3, 4]", axis=1))


@composite("sort_array", python=np.sort, static="axis kind stable", samples=_SORTS)
def sort_array(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Value:
    """A sorted copy; NaN comes last."""
    if axis is not None and not current_builder().value(a).type.ndim:
        raise InferenceError(f"axis {axis} is out of bounds for a number")
    return by_rows(ordered(as_array(a), "sort"), axis, sorting.sort)


@composite(
    "argsort_array",
    python=np.argsort,
    method="argsort",
    static="axis kind stable",
    samples=(*_SORTS, sample("i8[6]", kind="stable")),
)
def argsort_array(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Value:
    """The indices that sort; equal elements keep their order."""
    return by_rows(ordered(as_array(a), "argsort"), axis, sorting.argsort)


def _check_kth(x: Value, kth: Any, axis: Any) -> None:
    """NumPy raises where there is no such element."""
    b = current_builder()
    n = b.dim_value(product(x.type.shape) if axis is None else x.type.shape[one_axis(axis, x.type.ndim)])
    for k in kth if isinstance(kth, tuple) else (kth,):
        index = b.cast(b.value(k), INT, weak=True)
        index = OPS["where"](OPS["less"](index, 0), OPS["add"](index, n), index)
        inside = OPS["logical_and"](OPS["less"](index, n), OPS["greater_equal"](index, 0))
        fine = OPS["logical_or"](inside, OPS["equal"](n, 0))
        b.call_named("check_that", fine, index, n, error="ValueError", message="kth(={}) out of bounds ({})")


@composite("partition", python=np.partition, static="axis kind", samples=(sample("f64[1]", 0), sample("f64[3, 1]", 0)))
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect") -> Value:
    """A copy with the ``kth`` element where sorting puts it, smaller ones before: here, all of it sorted."""
    x = ordered(as_array(a), "partition")
    _check_kth(x, kth, axis)
    return by_rows(x, axis, sorting.sort)


@composite(
    "argpartition",
    python=np.argpartition,
    method="argpartition",
    static="axis kind",
    samples=(sample("f64[1]", 0), sample("f64[3, 1]", 0)),
)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect") -> Value:
    """The indices that partition: here, that sort."""
    x = ordered(as_array(a), "argpartition")
    _check_kth(x, kth, axis)
    return by_rows(x, axis, sorting.argsort)


@composite("lexsort", python=np.lexsort, samples=(sample(("f64[4]", "i8[4]")), sample("i64[3, 5]", domain=(0, 2))))
def lexsort(keys: Any) -> Value:
    """The indices that sort by the last key, then by the one before, and so on."""
    b = current_builder()
    if isinstance(keys, tuple):
        rows = [ordered(b.value(k), "lexsort") for k in keys]
    else:
        x = b.value(keys)
        count = x.type.shape[0].const if x.type.ndim == 2 else None
        if count is None:
            raise InferenceError("lexsort takes a tuple of arrays of one axis")
        rows = [getitem(x, k, view=View(("i", ":"), (0,))) for k in range(count)]
    if not rows or any(r.type.ndim != 1 for r in rows):
        raise InferenceError("lexsort takes a tuple of arrays of one axis")
    (n,) = dims_of(rows[0])
    order = sorting.argsort(rows[0])
    for row in rows[1:]:
        same_size(dims_of(row)[0], n)
        order = sorting.gather(order, sorting.argsort(sorting.gather(b.retype(row, rows[0].type.shape), order)))
    return order


# -- searching --------------------------------------------------------------------------------------


@composite(
    "searchsorted_array",
    python=np.searchsorted,
    method="searchsorted",
    static="side",
    samples=(
        sample(np.array([0.1, 0.5, 0.9]), "f64[4]"),
        sample(np.array([0.1, 0.5]), 0.3),
        sample(np.array([1, 2, 2, 3]), np.array([[1.5, 2.0]]), "right"),
        sample(np.array([0.9, 0.1, 0.5]), "f64[4]", sorter=np.array([1, 2, 0])),
    ),
)
def searchsorted_array(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Value:
    """Where numbers would go in a sorted array of one axis."""
    b = current_builder()
    x = ordered(b.value(a), "searchsorted")
    sought = ordered(as_array(v) if isinstance(v, tuple) else as_operand(v), "searchsorted")
    if side not in ("left", "right"):
        raise InferenceError("searchsorted: side must be 'left' or 'right'")
    if x.type.ndim != 1:
        raise InferenceError("searchsorted: the array that is searched must have one axis")
    if sorter is not None:
        order = as_array(sorter)
        if order.type.ndim != 1 or order.type.dtype.kind not in "iu":
            raise InferenceError("searchsorted: sorter takes integers along one axis")
        sizes = dims_of(order)[0], dims_of(x)[0]
        b.call_named("equal_size", *sizes, error="ValueError", message="sorter.size must equal a.size")
        x = sorting.gather(x, _checked_indices(order, x))
    dtype = np.result_type(x.type.dtype, sought.type.dtype)
    x, sought = b.cast(x, dtype), b.cast(sought, dtype, False)
    right = side == "right"
    if not sought.type.ndim:
        return sorting.search(x, sought, right=right)
    found = sorting.searchsorted(x, flat(sought), right=right)
    return found if sought.type.ndim == 1 else reshape(found, *dims_of(sought))


def _checked_indices(index: Value, x: Value) -> Value:
    """Indices of which NumPy checks only that they are in range."""
    b = current_builder()
    fine = OPS["logical_and"](OPS["greater_equal"](index, 0), OPS["less"](index, dims_of(x)[0]))
    b.call_named("check_that", every(fine), error="ValueError", message="Sorter index out of range.")
    return b.cast(index, INT, False)


def every(test: Value) -> Value:
    b = current_builder()
    axes = tuple(range(test.type.ndim))
    return b.cast(reduce.all_(test, axes=axes) if axes else test, BOOL, weak=True)


@composite(
    "digitize",
    python=np.digitize,
    static="right",
    samples=(
        sample("f64[5]", np.array([-1.0, 0.0, 1.0])),
        sample("f64[2, 3]", np.array([-1.0, 0.0, 1.0]), True),
        sample("f64[5]", np.array([1.0, 0.0, -1.0])),
        sample("f64", np.array([0.0, 1.0])),
    ),
)
def digitize(x: Any, bins: Any, right: bool = False) -> Value:
    """The bin each number is in, of bins whose edges rise or fall."""
    b = current_builder()
    edges, sought = as_array(bins), b.value(x) if not isinstance(x, tuple) else as_array(x)
    if edges.type.ndim != 1:
        raise InferenceError("digitize: the bins must have one axis")
    way = sorting.direction(edges)
    message = "bins must be monotonically increasing or decreasing"
    b.call_named("check_that", OPS["not_equal"](way, 0), error="ValueError", message=message)
    (n,) = dims_of(edges)
    turned = getitem(edges, sub(n, 1), n, view=View((-1,), (0,)))
    up = searchsorted_array(edges, sought, "left" if right else "right")
    down = sub(n, searchsorted_array(turned, sought, "left" if right else "right"))
    return where(OPS["equal"](way, 1), up, down)


@composite("flatnonzero_array", python=np.flatnonzero, samples=(sample("b1[5]"), sample("i64[2, 3]"), sample("f64[3]")))
def flatnonzero_array(a: Any) -> Value:
    """The indices of the elements that are not zero, of the flattened array."""
    return sorting.flatnonzero(flat(as_array(a)))


@composite("nonzero", python=np.nonzero, method="nonzero", samples=(sample("b1[5]"), sample("i64[2, 3]")))
def nonzero(a: Any) -> tuple[Value, ...]:
    """The indices of the elements that are not zero, an array per axis."""
    x = as_operand(a)
    if not x.type.ndim:
        raise InferenceError("nonzero takes an array of at least one axis")
    found = sorting.flatnonzero(flat(x))
    out = []
    for size in dims_of(x)[:0:-1]:
        size = maximum(size, 1)
        out.append(OPS["mod"](found, size))
        found = OPS["floordiv"](found, size)
    return (found, *out[::-1])


@composite("argwhere", python=np.argwhere, samples=(sample("b1[5]"), sample("i64[2, 3]")))
def argwhere(a: Any) -> Value:
    """The indices of the elements that are not zero, a row per element."""
    return stack(nonzero(a), axis=1)
