"""NumPy functions that lay out the elements of arrays anew: pad, tile, repeat, roll, insert, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, Op, composite, current_builder, sample
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops._loops import chosen, counted, item, with_item
from srcgraph.ir.ops.checks import check_index
from srcgraph.ir.ops.compare import equal, greater, greater_equal, less, less_equal, logical_and, where
from srcgraph.ir.ops.index import add_at, getitem, setitem
from srcgraph.ir.ops.masks import marked
from srcgraph.ir.ops.reductions import as_operand, cast_to, demand, max_array, min_array, one_axis, reduced
from srcgraph.ir.ops.remainders import maximum, minimum, mod, rint
from srcgraph.ir.ops.sequences import concatenate, flat
from srcgraph.ir.ops.shape import broadcast_to, copy, dims_of, empty, full, reshape, with_new_axes
from srcgraph.ir.ops.statistics import mean
from srcgraph.ir.ops.vector import add, mul, sub
from srcgraph.ir.ops.wraps import MOST_AXES, PADDED, SOURCES, rolled
from srcgraph.ir.types import BOOL, INT, ArrayType, is_complex
from srcgraph.ir.view import View, transposed


def whole_number(x: Any, what: str, truths: bool = True) -> Value:
    """An integer operand, or a truth where those will do, as Python's integer.

    Raises
    ------
    InferenceError
        It is not an integer.
    """
    b = current_builder()
    value = as_operand(x)
    if value.type.ndim or value.type.dtype.kind not in ("iub" if truths else "iu"):
        raise InferenceError(f"{what} must be an integer, not {value.type}")
    return b.cast(value, INT, weak=True)


def slice_of(ndim: int, axis: int) -> View:
    """The view of a range along one axis: start and length are its operands."""
    return View(tuple(1 if k == axis else ":" for k in range(ndim)), tuple(range(ndim)))


def nonnegative(size: Value) -> Value:
    """A size known not to be negative, because it was checked."""
    current_builder().learn(size.type.value)
    return size


def resized(x: Value, axis: int, count: Value) -> Value:
    """An array like ``x`` without values, of another length along ``axis``."""
    sizes = [count if k == axis else d for k, d in enumerate(dims_of(x))]
    return empty(*sizes, dtype=x.type.dtype)


# -- padding ------------------------------------------------------------------------------------------


def _pairs(x: Any, ndim: int, what: str) -> list[tuple[Any, Any]]:
    """What is given before and after each axis: one number, a pair, or a pair per axis."""
    if not isinstance(x, tuple):
        return [(x, x)] * ndim
    if len(x) == 1 and not isinstance(x[0], tuple):
        return [(x[0], x[0])] * ndim
    if len(x) == 2 and not any(isinstance(v, tuple) for v in x):
        return [(x[0], x[1])] * ndim
    pairs = [v if isinstance(v, tuple) else (v,) for v in x]
    pairs = [(v[0], v[0]) if len(v) == 1 else v for v in pairs]
    pairs = pairs * ndim if len(pairs) == 1 else pairs
    if len(pairs) != ndim or any(len(v) != 2 for v in pairs):
        raise InferenceError(f"pad: {what} does not fit an array of {ndim} axes")
    return [(v[0], v[1]) for v in pairs]


def _reflected(k: Value, n: Value) -> Value:
    """The index that ``k`` counts as where the array is mirrored at its first and last element."""
    period = maximum(mul(2, sub(n, 1)), 1)
    at = mod(k, period)
    return where(greater_equal(at, n), sub(period, at), at)


def _mirrored(k: Value, n: Value) -> Value:
    """The index that ``k`` counts as where the array is mirrored at its edges."""
    at = mod(k, mul(2, n))
    return where(greater_equal(at, n), sub(sub(mul(2, n), 1), at), at)


_SOURCES = {**SOURCES, "reflect": _reflected, "symmetric": _mirrored}


def _extreme(of_any: Callable[..., Value], of_ordered: Op, x: Value, **options: Any) -> Value:
    return of_any(x, **options) if is_complex(x.type) else reduced(of_ordered, x, **options)


_FILLS: dict[str, Callable[..., Value]] = {
    "maximum": partial(_extreme, max_array, reduce.max_),
    "minimum": partial(_extreme, min_array, reduce.min_),
    "mean": mean,
}
"""What is around an array; of empty axes, where nothing is added, any number."""


@composite(
    "pad",
    python=np.pad,
    static="mode reflect_type",
    samples=(
        sample("f64[4]", 2),
        sample("f64[4]", (1, 2), constant_values=0.5),
        sample("f64[2, 3]", ((1, 0), (2, 1)), mode="edge"),
        sample("f64[4]", 6, mode="reflect"),
        sample("f64[4]", 6, mode="symmetric"),
        sample("f64[2, 3]", 2, mode="wrap"),
        sample("f64[3]", 1, mode="maximum"),
        sample("f64[2, 3]", 1, mode="mean"),
    ),
)
def pad(
    array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None, reflect_type: str = "even"
) -> Value:
    """Elements added before and after along each axis."""
    x = as_operand(array)
    if mode != "constant" and constant_values is not None:
        raise InferenceError(f"unsupported keyword arguments for mode {mode!r}: constant_values")
    if mode not in ("constant", *_SOURCES, *_FILLS) or reflect_type != "even":
        raise InferenceError(f"pad: mode {mode!r} is not supported")
    widths = _pairs(pad_width, x.type.ndim, "pad_width")
    fills = _pairs(0 if constant_values is None else constant_values, x.type.ndim, "constant_values")
    sizes = [[whole_number(w, "pad_width") for w in pair] for pair in widths]
    for w in (w for pair in sizes for w in pair):
        if not current_builder().proves(w.type.value):
            demand(greater_equal(w, 0), "ValueError", "index can't contain negative values")
            nonnegative(w)
    for axis, pair in enumerate(sizes):
        _check_extended(x, axis, pair, mode)
    if mode == "constant" and len({id(v) for pair in fills for v in pair}) == 1:
        return _in_a_frame(x, sizes, fills[0][0])
    width = _one_width(sizes)
    if mode in PADDED and 0 < width <= WIDEST and x.type.ndim <= 2:
        return PADDED[mode](x, width=width)
    for axis, (before, after) in enumerate(sizes):
        x = padded(x, axis, before, after, mode, fills[axis])
    return x


WIDEST = 8
"""With so many elements at most at each end, an array is padded by one operation."""


def _one_width(sizes: list[list[Value]]) -> int:
    """How many elements are added at each end, if that is one known number, else 0."""
    found = {w.type.value for pair in sizes for w in pair}
    only = found.pop() if len(found) == 1 else None
    return only.const if only is not None and only.const is not None else 0


def _check_extended(x: Value, axis: int, pair: list[Value], mode: str) -> None:
    b, n = current_builder(), dims_of(x)[axis]
    if mode != "constant" and not b.proves(n.type.value - 1):
        added = greater(add(*pair), 0)
        fine = b.call_named("logical_or", greater(n, 0), b.call_named("logical_not", added))
        message = f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
        demand(fine, "ValueError", message)


def _assigned(fill: Any, dtype: np.dtype) -> Value:
    """A number stored in the padding as one of NumPy's, which wraps in unsigned integers."""
    b = current_builder()
    value = b.value(fill)
    if value.type.ndim:
        raise InferenceError("pad: constant_values takes numbers, or tuples of them")
    return b.assigned(b.cast(value, value.type.dtype, False), dtype)


def _in_a_frame(x: Value, sizes: list[list[Value]], fill: Any) -> Value:
    """``x`` with one number all around it."""
    ndim, lengths = x.type.ndim, dims_of(x)
    around = [add(add(n, before), after) for n, (before, after) in zip(lengths, sizes, strict=True)]
    out = full(_assigned(fill, x.type.dtype), *around)
    operands = [v for n, (before, _) in zip(lengths, sizes, strict=True) for v in (before, n)]
    return setitem(out, x, *operands, view=View((1,) * ndim, tuple(range(ndim))))


def padded(x: Value, axis: int, before: Value, after: Value, mode: str, fills: tuple[Any, Any] = (0, 0)) -> Value:
    """``x`` padded along one axis."""
    n = dims_of(x)[axis]
    out = resized(x, axis, add(add(n, before), after))
    view = slice_of(x.type.ndim, axis)
    out = setitem(out, x, before, n, view=view)
    if mode in _SOURCES:
        source = _SOURCES[mode]

        def first(i: Value, out: Value) -> Sequence[Value]:
            return (with_item(out, axis, i, item(x, axis, source(sub(i, before), n))),)

        def last(i: Value, out: Value) -> Sequence[Value]:
            at = add(n, i)
            return (with_item(out, axis, add(before, at), item(x, axis, source(at, n))),)

        (out,) = counted(before, [out], first)
        return counted(after, [out], last)[0]
    if mode == "constant":
        low, high = (_assigned(v, x.type.dtype) for v in fills)
    else:
        fill = _FILLS[mode](x, axis=axis, keepdims=True)
        fill = rint(fill) if x.type.dtype.kind in "iu" and mode == "mean" else fill
        low = high = cast_to(fill, x.type.dtype)
    out = setitem(out, low, 0, before, view=view)
    return setitem(out, high, add(before, n), after, view=view)


# -- repeating ----------------------------------------------------------------------------------------


@composite(
    "tile",
    python=np.tile,
    samples=(sample("f64[3]", 2), sample("f64[2, 3]", (2, 1)), sample("f64[3]", (2, 2)), sample("f64[2, 3]", 3)),
)
def tile(A: Any, reps: Any) -> Value:  # noqa: N803 (NumPy's names)
    """The array repeated along each axis."""
    b = current_builder()
    x = b.value(A)
    if x.type.ndim == 0:
        x = flat(x)
        reps = reps if isinstance(reps, tuple) else (reps,)
    counts = [whole_number(r, "reps") for r in (reps if isinstance(reps, tuple) else (reps,))]
    for count in counts:
        if not b.proves(count.type.value):
            demand(greater_equal(count, 0), "ValueError", "repeats may not contain negative values.")
            nonnegative(count)
    counts = [b.const(1)] * (x.type.ndim - len(counts)) + counts
    if len(counts) > x.type.ndim:
        x = with_new_axes(x, list(range(len(counts) - x.type.ndim)))
    for axis, count in enumerate(counts):
        x = _repeated_whole(x, axis, count)
    return x if x is not A else OPS["copy"](x)


def _repeated_whole(x: Value, axis: int, count: Value) -> Value:
    """``x`` one after another along ``axis``."""
    if count.type.value == 1:
        return x
    n = dims_of(x)[axis]
    view = slice_of(x.type.ndim, axis)
    out = resized(x, axis, mul(n, count))
    return counted(count, [out], lambda k, out: (setitem(out, x, mul(k, n), n, view=view),))[0]


@composite(
    "repeat",
    python=np.repeat,
    method="repeat",
    static="axis",
    samples=(
        sample("f64[3]", 2),
        sample("f64[2, 3]", 2),
        sample("f64[2, 3]", 2, axis=1),
        sample("f64[2, 3]", np.array([1, 2]), axis=0),
        sample("f64[3]", np.array([0, 2, 1])),
    ),
)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Value:
    """Each element repeated, as often as is said once or for each."""
    b = current_builder()
    x = flat(b.value(a)) if axis is None else b.value(a)
    at = one_axis(0 if axis is None else axis, x.type.ndim)
    times = as_operand(repeats)
    if times.type.dtype.kind not in "iub":
        raise InferenceError(f"repeat: counts must be integers, not {times.type}")
    demand(greater_equal(times, 0), "ValueError", "repeats may not contain negative values.")
    if times.type.ndim == 0:
        times = nonnegative(b.cast(times, INT, weak=True))
        return _repeated_each(x, at, times)
    if times.type.ndim != 1:
        raise InferenceError("repeat: counts must have one axis")
    n = dims_of(x)[at]
    times = cast_to(times, INT)
    if times.type.shape[0] != n.type.value:
        (count,) = dims_of(times)
        message = "operands could not be broadcast together: {x} elements, {y} counts"
        if b.not_one(times.type.shape[0]):
            b.call_named("equal_size", n, count, error="ValueError", message=message)
            times = b.retype(times, [n.type.value])
        else:
            asked = where(equal(count, 1), n, count)
            b.call_named("equal_size", n, asked, error="ValueError", message=message)
            times = broadcast_to(times, n)
    total = nonnegative(b.cast(reduce.sum_(times, axes=(0,)), INT, weak=True))
    out = resized(x, at, total)

    def step(i: Value, out: Value, k: Value) -> Sequence[Value]:
        count = b.cast(item(times, 0, i), INT, weak=True)

        def once(j: Value, out: Value, k: Value) -> Sequence[Value]:
            return with_item(out, at, k, item(x, at, i)), add(k, 1)

        return counted(count, [out, k], once)

    return counted(n, [out, b.const(0)], step)[0]


def _repeated_each(x: Value, axis: int, times: Value) -> Value:
    """Each part of ``x`` along ``axis`` so many times."""
    n = dims_of(x)[axis]

    def step(i: Value, out: Value) -> Sequence[Value]:
        def once(j: Value, out: Value) -> Sequence[Value]:
            return (with_item(out, axis, add(mul(i, times), j), item(x, axis, i)),)

        return counted(times, [out], once)

    return counted(n, [resized(x, axis, mul(n, times))], step)[0]


@composite(
    "roll",
    python=np.roll,
    static="axis",
    samples=(
        sample("f64[5]", 2),
        sample("f64[5]", -1),
        sample("f64[3, 4]", 1, axis=1),
        sample("f64[3, 4]", (1, 2), axis=(0, 1)),
        sample("f64[3, 4]", 3),
    ),
)
def roll(a: Any, shift: Any, axis: Any = None) -> Value:
    """Elements shifted round, of the flattened array or along axes."""
    x = as_operand(a)
    if axis is None:
        moved = _rolled(flat(x), whole_number(shift, "shift"), 0)
        return moved if x.type.ndim == 1 else reshape(moved, *dims_of(x))
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    axes = axes * len(shifts) if len(axes) == 1 else axes
    if len(axes) != len(shifts):
        raise InferenceError("'shift' and 'axis' should be of the same length")
    for by, k in zip(shifts, axes, strict=True):
        at = one_axis(k, x.type.ndim)
        x = _rolled(x, whole_number(by, "shift"), at)
    return x


def _rolled(x: Value, shift: Value, axis: int) -> Value:
    by = shift.type.value.const if shift.type.value is not None else None
    if by is not None and x.type.ndim <= MOST_AXES:
        return rolled(x, shift=by, axis=axis) if by else copy(x)
    return shifted_round(x, shift, axis)


def shifted_round(x: Value, shift: Value, axis: int) -> Value:
    """An array's elements shifted round along an axis, in two parts."""
    return _both_parts(setitem, empty(*dims_of(x), dtype=x.type.dtype), x, shift, axis)


def added_round(y: Value, x: Value, shift: Value, axis: int) -> Value:
    """``y``, to which ``x`` is added, shifted round along an axis."""
    return _both_parts(add_at, y, x, shift, axis)


def _both_parts(store: Op, out: Value, x: Value, shift: Value, axis: int) -> Value:
    head, tail = _lengths(dims_of(x)[axis], shift)
    view = slice_of(x.type.ndim, axis)
    out = store(out, getitem(x, 0, head, view=view), tail, head, view=view)
    return store(out, getitem(x, head, tail, view=view), 0, tail, view=view)


def _lengths(count: Value, shift: Value) -> tuple[Value, Value]:
    """How many elements stay in order at the beginning, and how many come round to the front."""
    by = shift.type.value.const if shift.type.value is not None else None
    if by in (1, 2):
        tail = minimum(by, count)
        return sub(count, tail), tail
    if by in (-1, -2):
        head = minimum(-by, count)
        return head, sub(count, head)
    tail = minimum(mod(shift, maximum(count, 1)), count)
    return sub(count, tail), tail


@composite(
    "resize", python=np.resize, samples=(sample("f64[3]", 5), sample("f64[2, 3]", (2, 2)), sample("f64[3]", (2, 4)))
)
def resize(a: Any, new_shape: Any) -> Value:
    """An array of another shape, its elements repeated as often as needed."""
    b = current_builder()
    x = flat(b.value(a))
    sizes = [whole_number(n, "a length") for n in (new_shape if isinstance(new_shape, tuple) else (new_shape,))]
    for n in sizes:
        demand(greater_equal(n, 0), "ValueError", "all elements of `new_shape` must be non-negative")
        nonnegative(n)
    (count,) = dims_of(x)
    total = b.const(1)
    for n in sizes:
        total = mul(total, n)
    some = greater(count, 0)

    def repeated() -> Sequence[Value]:
        out = empty(total, dtype=x.type.dtype)
        return counted(total, [out], lambda i, out: (with_item(out, 0, i, item(x, 0, mod(i, count))),))

    def zeros() -> Sequence[Value]:
        return (full(x.type.dtype.type(0), total),)

    (out,) = chosen(some, repeated, zeros)
    return reshape(out, *sizes) if len(sizes) != 1 else out


# -- inserting and deleting ---------------------------------------------------------------------------


def _along(arr: Any, axis: Any) -> tuple[Value, int]:
    x = current_builder().value(arr)
    if axis is None:
        return flat(x), 0
    return x, one_axis(axis, x.type.ndim)


@composite(
    "append",
    python=np.append,
    static="axis",
    samples=(sample("f64[3]", "f64[2]"), sample("f64[3]", "f64"), sample("f64[2, 3]", "f64[1, 3]", axis=0)),
)
def append(arr: Any, values: Any, axis: Any = None) -> Value:
    """Elements of two arrays in one, of one axis unless an axis is given."""
    b = current_builder()
    parts = [b.value(v) for v in (arr, values)]
    return concatenate(tuple(flat(p) for p in parts)) if axis is None else concatenate(tuple(parts), axis)


@composite(
    "insert",
    python=np.insert,
    static="axis",
    samples=(
        sample("f64[3]", 1, "f64"),
        sample("f64[3]", -1, "f64[2]"),
        sample("f64[2, 3]", 1, "f64[2]", axis=1),
        sample("f64[2, 3]", 2, 0.5),
        sample("f64[2, 3]", 0, "f64[3]", axis=0),
    ),
)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Value:
    """Elements put in before an index."""
    b = current_builder()
    x, at = _along(arr, axis)
    n = dims_of(x)[at]
    asked = b.value(obj)
    if asked.type.ndim:
        raise InferenceError("insert takes one index here, not an array of them")
    asked = whole_number(asked, "the index", truths=False)
    k = where(less(asked, 0), add(asked, n), asked)
    message = f"index is out of bounds for axis {at}"
    demand(logical_and(greater_equal(k, 0), less_equal(k, n)), "IndexError", message)
    new = b.stored(b.value(values), x.type.dtype)
    if new.type.ndim > x.type.ndim:
        raise InferenceError("insert: values have more axes than the array")
    if new.type.ndim:
        new = with_new_axes(new, list(range(x.type.ndim - new.type.ndim)))
        order = [j for j in range(x.type.ndim) if j != 0]
        order.insert(at, 0)
        new = getitem(new, view=transposed(x.type.ndim, order))
    count = dims_of(new)[at] if new.type.ndim else b.const(1)
    out = resized(x, at, add(n, count))
    view = slice_of(x.type.ndim, at)
    out = setitem(out, getitem(x, 0, k, view=view), 0, k, view=view)
    out = setitem(out, _fitting(new, x, at), k, count, view=view)
    rest = sub(n, k)
    return setitem(out, getitem(x, k, rest, view=view), add(k, count), rest, view=view)


def _fitting(new: Value, x: Value, axis: int) -> Value:
    """Values to insert, their other axes checked to be as long as those of the array, or 1."""
    if not isinstance(new.type, ArrayType):
        return new
    b = current_builder()
    own = new.type.shape
    target = [own[k] if k == axis else d for k, d in enumerate(x.type.shape)]
    for have, want in zip(own, target, strict=True):
        if have not in (want, 1):
            b.call_named("check_fits", b.dim_value(have), b.dim_value(want))
    return b.fit(new, target)


@composite(
    "delete",
    python=np.delete,
    static="axis",
    samples=(
        sample("f64[4]", 1),
        sample("f64[4]", -1),
        sample("f64[3, 2]", 1, axis=0),
        sample("f64[3, 2]", 4),
        sample("f64[5]", np.array([0, 3, 3])),
        sample("f64[2, 4]", np.array([1, -1]), axis=1),
    ),
)
def delete(arr: Any, obj: Any, axis: Any = None) -> Value:
    """The array without the elements at an index, or at several."""
    b = current_builder()
    x, at = _along(arr, axis)
    n = dims_of(x)[at]
    gone = b.value(obj)
    if gone.type.ndim:
        return _without(x, at, gone)
    k = check_index(whole_number(gone, "the index", truths=False), n, axis=at)
    left = sub(n, 1)
    nonnegative(left)
    view = slice_of(x.type.ndim, at)
    out = resized(x, at, left)
    out = setitem(out, getitem(x, 0, k, view=view), 0, k, view=view)
    rest = sub(left, k)
    return setitem(out, getitem(x, add(k, 1), rest, view=view), k, rest, view=view)


def _without(x: Value, axis: int, gone: Value) -> Value:
    """``x`` without the indices in an array of integers, or those a mask marks."""
    b = current_builder()
    n = dims_of(x)[axis]
    if gone.type.dtype == BOOL:
        message = "boolean array argument obj to delete must be one dimensional and match the axis length"
        b.call_named("equal_size", dims_of(gone)[0], n, error="ValueError", message=message)
        keep = b.call_named("logical_not", b.retype(gone, [n.type.value]))
        return kept(x, keep, axis)
    if gone.type.dtype.kind not in "iu" or gone.type.ndim != 1:
        raise InferenceError("delete takes an index, or an array of them of one axis")
    keep = full(np.bool_(True), n)

    def step(i: Value, keep: Value) -> Sequence[Value]:
        k = check_index(b.cast(item(gone, 0, i), INT, weak=True), n, axis=axis)
        return (with_item(keep, 0, k, b.const(np.bool_(False))),)

    (keep,) = counted(dims_of(gone)[0], [keep], step)
    return kept(x, keep, axis)


def kept(x: Value, mask: Value, axis: int) -> Value:
    """The parts of ``x`` along ``axis`` where a mask of one axis holds."""
    if axis == 0:
        return marked(x, mask)
    order = [axis, *(k for k in range(x.type.ndim) if k != axis)]
    out = marked(getitem(x, view=transposed(x.type.ndim, order)), mask)
    return getitem(out, view=transposed(x.type.ndim, [order.index(k) for k in range(x.type.ndim)]))
