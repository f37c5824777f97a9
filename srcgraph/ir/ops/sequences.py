"""NumPy functions that join, scan and select; most are plain loops in graph code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError, Problem
from srcgraph.ir.dims import as_dim
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, composite, current_builder, sample
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops.checks import check_index, same_size
from srcgraph.ir.ops.compare import (
    equal,
    greater,
    not_equal,
    where,
)  # fmt: skip
from srcgraph.ir.ops.index import getitem, setitem
from srcgraph.ir.ops.reductions import as_operand, one_axis, sum_dtype
from srcgraph.ir.ops.remainders import maximum
from srcgraph.ir.ops.shape import broadcast_to, dims_of, empty, full, reshape, total_size, with_new_axes
from srcgraph.ir.ops.vector import add, cast, mul, sub
from srcgraph.ir.promote import common_dtype
from srcgraph.ir.types import BOOL, INT, ArrayType
from srcgraph.ir.view import View

# -- joining ----------------------------------------------------------------------------------------


@composite(
    "concatenate",
    python=np.concatenate,
    static="axis",
    samples=(sample(("f64[3]", "f64[2]")), sample(("f64[2, 3]", "f64[2, 1]"), axis=1)),
)
def concatenate(arrays: Any, axis: int = 0) -> Value:
    """Arrays joined along an existing axis."""
    if axis is None:
        flattened = [flat(p) for p in (_arrays(arrays, numbers=False) if isinstance(arrays, tuple) else [arrays])]
        return joined(flattened, 0)
    return _joined(arrays, axis, numbers=False)


def _joined(arrays: Any, axis: int, new: dict[int, list[int]] | None = None, numbers: bool = True) -> Value:
    """Arrays joined along an axis; ``new`` says which axes those of so many get first."""
    new = new or {}
    if not isinstance(arrays, tuple):
        return _parts_joined(arrays, axis, new, numbers)
    parts = [with_new_axes(p, new.get(p.type.ndim, [])) for p in _arrays(arrays, numbers)]
    if any(p.type.ndim != parts[0].type.ndim for p in parts):
        raise InferenceError("concatenate: all the input arrays must have the same number of axes")
    at = one_axis(axis, parts[0].type.ndim)
    return joined(parts, at)


def _parts_joined(array: Value, axis: int, new: dict[int, list[int]], numbers: bool) -> Value:
    """The parts of an array along its first axis, joined: that axis moved before the other, and both made one."""
    b = current_builder()
    x = b.value(array)
    if not isinstance(x.type, ArrayType) or not x.type.ndim:
        raise InferenceError("a tuple or list of arrays is needed, not a number")
    if x.type.ndim == 1:
        if not numbers:
            raise InferenceError("zero-dimensional arrays cannot be concatenated")
        x = with_new_axes(x, [1])
    x = with_new_axes(x, [k + 1 for k in new.get(x.type.ndim - 1, [])])
    at = one_axis(axis, x.type.ndim - 1)
    some = greater(b.dim_value(x.type.shape[0]), 0)
    b.call_named("check_that", some, error="ValueError", message="need at least one array to concatenate")
    shape = x.type.shape
    sizes = [*shape[1 : at + 1], shape[0] * shape[at + 1], *shape[at + 2 :]]
    order = (*range(1, at + 1), 0, *range(at + 1, len(shape)))
    moved = getitem(x, view=View((":",) * len(shape), order))
    return OPS["copy"](reshape(moved, *map(b.dim_value, sizes)))


def _arrays(arrays: Any, numbers: bool = True) -> list[Value]:
    """Arrays of one dtype; ``numbers``: those of no axes are arrays of one element."""
    if not isinstance(arrays, tuple):  # NumPy takes the rows of one array for the parts, however many they are
        raise InferenceError("a tuple or list of arrays is needed, not one array; reshape or transpose that instead")
    b = current_builder()
    parts = [b.value(a) for a in arrays]
    if numbers:
        parts = [p if p.type.ndim else flat(p) for p in parts]
    if not parts:
        raise InferenceError("a tuple or list of arrays of at least one axis is needed")
    if (number := next((k for k, p in enumerate(parts) if not p.type.ndim), None)) is not None:
        why = f"a tuple or list of arrays of at least one axis is needed, and its item {number} is a number"
        raise InferenceError(Problem(why, hint="make an array of it: np.atleast_1d(...)"))
    dtype = common_dtype([p.type for p in parts])
    return [b.cast(p, dtype) for p in parts]


def joined(parts: Sequence[Value], axis: int) -> Value:
    b = current_builder()
    shape = list(parts[0].type.shape)
    starts = [as_dim(0)]
    for part in parts:
        starts.append(starts[-1] + part.type.shape[axis])
        for k, (mine, own) in enumerate(zip(shape, part.type.shape, strict=True)):
            if k != axis and mine != own:
                same_size(b.dim_value(own), b.dim_value(mine))
    shape[axis] = starts[-1]
    out = empty(*map(b.dim_value, shape), dtype=parts[0].type.dtype)
    axes = tuple(1 if k == axis else ":" for k in range(len(shape)))
    view = View(axes, tuple(range(len(shape))))
    for part, start in zip(parts, starts, strict=False):
        fitted = b.retype(part, [part.type.shape[axis] if k == axis else d for k, d in enumerate(shape)])
        out = setitem(out, fitted, b.dim_value(start), b.dim_value(part.type.shape[axis]), view=view)
    return out


@composite(
    "stack",
    python=np.stack,
    static="axis",
    samples=(sample(("f64[3]", "f64[3]")), sample(("f64[3]", "f64[3]"), axis=1), sample(("f64", "float"))),
)
def stack(arrays: Any, axis: int = 0) -> Value:
    """Arrays joined along a new axis."""
    if not isinstance(arrays, tuple):
        x = current_builder().value(arrays)
        at = one_axis(axis, x.type.ndim)
        return _parts_joined(x, at, {x.type.ndim - 1: [at]}, numbers=x.type.ndim == 1)
    numbers = not any(current_builder().value(a).type.ndim for a in arrays)
    parts = _arrays(arrays, numbers)
    if any(p.type.ndim != parts[0].type.ndim for p in parts):
        raise InferenceError("stack: all the input arrays must have the same number of axes")
    at = one_axis(axis, 1 if numbers else parts[0].type.ndim + 1)
    if numbers:
        return joined(parts, at)
    return joined([with_new_axes(p, [at]) for p in parts], at)


@composite("hstack", python=np.hstack, samples=(sample(("f64[3]", "f64")), sample(("f64[2, 1]", "f64[2, 3]"))))
def hstack(tup: Any) -> Value:
    """Arrays joined column-wise."""
    ndim = _arrays(tup)[0].type.ndim if isinstance(tup, tuple) else current_builder().value(tup).type.ndim - 1
    return _joined(tup, 0 if ndim <= 1 else 1)


@composite("dstack", python=np.dstack, samples=(sample(("f64[3]", "f64[3]")), sample(("f64[2, 3]", "f64[2, 3]"))))
def dstack(tup: Any) -> Value:
    """Arrays joined along the third axis."""
    return _joined(tup, 2, {1: [0, 2], 2: [2]})


@composite("vstack", python=np.vstack, samples=(sample(("f64[3]", "f64[3]")), sample(("f64[2, 3]", "f64[1, 3]"))))
def vstack(tup: Any) -> Value:
    """Arrays joined row-wise."""
    return _joined(tup, 0, {1: [0]})


@composite(
    "column_stack", python=np.column_stack, samples=(sample(("f64[3]", "f64[3]")), sample(("f64[3]", "f64[3, 2]")))
)
def column_stack(tup: Any) -> Value:
    """Arrays of one axis as columns of a matrix."""
    return _joined(tup, 1, {1: [1]})


def flat(x: Value) -> Value:
    """The elements in C order, as an array of one axis."""
    b = current_builder()
    if not isinstance(x.type, ArrayType):
        return full(b.cast(x, x.type.dtype, False), 1)
    if x.type.ndim == 0:
        return full(b.scalar(x), 1)
    return x if x.type.ndim == 1 else reshape(x, b.dim_value(total_size(x)))


# -- scans ------------------------------------------------------------------------------------------


def running(x: Value, at: int, combine: Any, begin: Any) -> Value:
    """Running combinations along an axis, from the first element on.

    ``begin`` is what combined with a number is that number, to the sign of a zero; None where there is none.
    """
    count = dims_of(x)[at]
    kept = [d for k, d in enumerate(dims_of(x)) if k != at]
    first = x.type.dtype.type(0 if begin is None else begin)
    start = full(first, *kept) if kept else current_builder().const(first)

    def step(i: Value, before: Value, out: Value) -> Sequence[Value]:
        own = item(x, at, i)
        new = combine(before, own)
        new = where(equal(i, 0), own, new) if begin is None else new
        return new, with_item(out, at, i, new)

    return counted(count, [start, empty(*dims_of(x), dtype=x.type.dtype)], step)[1]


def neutral(op: Any, dtype: np.dtype) -> Any:
    """What `running` begins with for sums and products; 1 times inf + 0j is inf + nan j."""
    if op is mul:
        return None if dtype.kind == "c" else 1
    return -dtype.type(0) if dtype.kind in "fc" else 0


def _scan(a: Any, axis: Any, dtype: Any, combine: Any) -> Value:
    x = as_operand(a)
    x = cast(x, dtype=sum_dtype(x, dtype), weak=False)
    x = flat(x) if axis is None else x
    at = one_axis(0 if axis is None else axis, x.type.ndim)
    return running(x, at, combine, neutral(combine, x.type.dtype))


_SCANS = (sample("f64[4]"), sample("f64[3, 4]", axis=0), sample("f64[3, 4]", axis=1), sample("f64[2, 3]"))


@composite("cumsum", python=np.cumsum, method="cumsum", static="axis dtype", samples=(*_SCANS, sample("i32[3]")))
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Value:
    """Running sums along an axis, or of the flattened array."""
    return _scan(a, axis, dtype, add)


@composite("cumprod", python=np.cumprod, method="cumprod", static="axis dtype", samples=_SCANS)
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Value:
    """Running products along an axis, or of the flattened array."""
    return _scan(a, axis, dtype, mul)


@composite(
    "diff",
    python=np.diff,
    static="n axis",
    views=lambda a, n=1, axis=-1, prepend=None, append=None: n == 0,
    samples=(
        sample("f64[5]"), sample("f64[5]", n=2), sample("f64[3, 4]", axis=0), sample("f64[5]", prepend=0.5),
        sample("f64[2, 4]", 2, 0, "f64[1, 4]", "f64[2, 4]"),
    ),
)  # fmt: skip
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Value:
    """Differences of neighbours along an axis, ``n`` times, after other elements are put before and after."""
    b = current_builder()
    x = as_operand(a)
    if n < 0:
        raise InferenceError(f"order must be non-negative but got {n}")
    at = one_axis(axis, x.type.ndim)
    view = View(tuple(1 if k == at else ":" for k in range(x.type.ndim)), tuple(range(x.type.ndim)))
    if n and not (prepend is None and append is None):
        first, last = (None if e is None else _end(b.value(e), x, at) for e in (prepend, append))
        x = concatenate(tuple(e for e in (first, x, last) if e is not None), axis=at)
    for _ in range(n):
        size = sub(dims_of(x)[at], 1)
        if not b.proves(size.type.value):
            size = maximum(size, 0)
        later, earlier = (getitem(x, k, size, view=view) for k in (1, 0))
        x = not_equal(later, earlier) if x.type.dtype == BOOL else sub(later, earlier)
    return x


def _end(value: Value, x: Value, axis: int) -> Value:
    """What is put before or after an array; a number stands in one place of the axis."""
    if isinstance(value.type, ArrayType) and value.type.ndim:
        return value
    sizes = [current_builder().const(1) if k == axis else d for k, d in enumerate(dims_of(x))]
    return broadcast_to(value, *sizes) if isinstance(value.type, ArrayType) else full(value, *sizes)


# -- selecting --------------------------------------------------------------------------------------


def take(x: Value, index: Value) -> Value:
    """``x[index]`` with an array of integers for the first axis; each is checked."""
    shape = dims_of(index)
    if index.type.ndim != 1:
        index = flat(index)
    (count,) = dims_of(index)
    rest = dims_of(x)[1:]
    out = empty(count, *rest, dtype=x.type.dtype)

    def step(i: Value, out: Value) -> Sequence[Value]:
        return (with_item(out, 0, i, item(x, 0, place(x, index, i))),)

    (out,) = counted(count, [out], step)
    return out if len(shape) == 1 else reshape(out, *shape, *rest)


def place(x: Value, index: Value, i: Value) -> Value:
    """The checked index that ``index[i]`` is into the first axis of ``x``."""
    b = current_builder()
    at = b.cast(item(index, 0, i), INT, weak=True)
    return check_index(at, dims_of(x)[0], axis=0)


def put(x: Value, v: Value, index: Value) -> Value:
    """``x`` after ``x[index] = v`` with an array of integers for the first axis; the last of equal ones wins."""
    (count,) = dims_of(index)
    v = broadcast_to(v, count, *dims_of(x)[1:]) if v.type.shape != (index.type.shape + x.type.shape[1:]) else v

    def step(i: Value, out: Value) -> Sequence[Value]:
        return (with_item(out, 0, place(x, index, i), item(v, 0, i)),)

    (out,) = counted(count, [x], step)
    return out


@composite(
    "take",
    python=np.take,
    method="take",
    static="axis mode",
    samples=(
        sample("f64[4]", np.array([0, 9, -9]), mode="clip"),
        sample("f64[4]", np.array([0, 9, -9]), mode="wrap"),
        sample("f64[4]", np.array([0, 3, 1, 1])),
        sample("f64[4, 2]", np.array([2, 0]), axis=0),
        sample("f64[2, 3]", np.array([[2, 0], [1, -1]]), axis=1),
        sample("f64[2, 3]", 2, axis=-1),
    ),
)
def take_array(a: Any, indices: Any, axis: Any = None, *, mode: str = "raise") -> Value:
    """Elements at indices, of the flattened array or along an axis."""
    b = current_builder()
    x, index = b.value(a), b.value(indices)
    x = flat(x) if axis is None else x
    if index.type.dtype.kind not in "iu":
        raise InferenceError(f"take: indices must be integers, not {index.type}")
    at = one_axis(0 if axis is None else axis, x.type.ndim)
    n = dims_of(x)[at]
    if mode not in ("raise", "clip", "wrap"):
        raise InferenceError(f"take: mode={mode!r} is not one of raise, clip and wrap")
    if mode != "raise":
        message = "cannot do a non-empty take from an empty axes."
        b.call_named("check_that", b.call_named("greater", n, 0), error="IndexError", message=message)
        index = b.cast(index, INT, not index.type.ndim)
        index = OPS["maximum"](OPS["minimum"](index, sub(n, 1)), 0) if mode == "clip" else OPS["mod"](index, n)
    if not index.type.ndim:
        return item(x, at, check_index(b.cast(index, INT, weak=True), n, axis=at))
    if at == 0:
        return take(x, index)
    before, after, shape = dims_of(x)[:at], dims_of(x)[at + 1 :], dims_of(index)
    places = flat(index)
    (count,) = dims_of(places)

    def step(i: Value, out: Value) -> Sequence[Value]:
        k = check_index(b.cast(item(places, 0, i), INT, weak=True), n, axis=at)
        return (with_item(out, at, i, item(x, at, k)),)

    (out,) = counted(count, [empty(*before, count, *after, dtype=x.type.dtype)], step)
    return out if len(shape) == 1 else reshape(out, *before, *shape, *after)


@composite(
    "broadcast",
    python=np.broadcast_to,
    samples=(sample("f64[3]", (2, 3)), sample("f64", (2,))),
    views=lambda *args, **kwargs: True,
)
def broadcast(array: Any, shape: Any) -> Value:
    """``array`` repeated to a shape (a new array here, a read-only view in NumPy)."""
    b = current_builder()
    x = b.value(array)
    asked = [as_operand(d) for d in (shape if isinstance(shape, tuple) else (shape,))]
    if any(d.type.ndim or d.type.dtype.kind not in "biu" for d in asked):
        raise InferenceError("broadcast_to: lengths are integers")
    dims = [b.cast(d, INT, weak=True) for d in asked]
    if x.type.ndim > len(dims):
        raise InferenceError(f"cannot broadcast {x.type} to {len(dims)} axes")
    own = x.type.shape
    for size, wanted in zip(own, dims[len(dims) - len(own) :], strict=True):
        if size not in (1, wanted.type.value):
            b.call_named("check_fits", b.dim_value(size), wanted)
    target = [d.type.value for d in dims[len(dims) - len(own) :]]
    fitted = b.fit(x, target) if own else b.cast(b.scalar(x), x.type.dtype, False)
    return broadcast_to(fitted, *dims)
