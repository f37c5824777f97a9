"""Grids, ranges on a scale, and choices among arrays: meshgrid, indices, logspace, select, percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import composite, current_builder, sample
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops.calculus import real_operand
from srcgraph.ir.ops.checks import check_index
from srcgraph.ir.ops.compare import equal, greater_equal, less_equal, not_equal, where
from srcgraph.ir.ops.creation import ends, known_dtype, lengths, linspace
from srcgraph.ir.ops.diagonals import tri
from srcgraph.ir.ops.elementwise import cos, log10
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.numerics import numpy_operands
from srcgraph.ir.ops.powers import power
from srcgraph.ir.ops.reductions import as_operand, as_truth, cast_to, demand, normalized, one_axis, reduced
from srcgraph.ir.ops.remainders import floor, minimum, sign
from srcgraph.ir.ops.searching import nonzero, sort_array
from srcgraph.ir.ops.sequences import flat, joined, take_array
from srcgraph.ir.ops.shape import arange, broadcast_to, dims_of, empty, reshape, with_new_axes
from srcgraph.ir.ops.shaping import kept
from srcgraph.ir.ops.vector import add, cast, div, mul, sub
from srcgraph.ir.promote import common_dtype, is_weak
from srcgraph.ir.types import BOOL, FLOAT, INT, ArrayType, is_inexact
from srcgraph.ir.view import View, element, transposed

# -- grids --------------------------------------------------------------------------------------------


def _on_axis(x: Value, ndim: int, axis: int) -> Value:
    return with_new_axes(x, [k for k in range(ndim) if k != axis])


@composite(
    "meshgrid",
    python=np.meshgrid,
    static="indexing sparse copy",
    samples=(
        sample("f64[2]", "f64[3]"),
        sample("f64[2]", "f64[3]", indexing="ij"),
        sample("f64[2]", "f64[3]", sparse=True),
    ),
)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Value, ...]:
    """Coordinate arrays of a grid from the coordinates along its axes."""
    if indexing not in ("xy", "ij") or not copy:
        raise InferenceError("meshgrid: indexing is 'xy' or 'ij', and copy=False is not supported")
    vectors = [flat(as_operand(x)) for x in numpy_operands(*xi)] if xi else []
    place = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        place[0], place[1] = 1, 0
    sizes = [dims_of(vectors[place.index(k)])[0] for k in range(len(vectors))]
    out = [_on_axis(v, len(vectors), k) for v, k in zip(vectors, place, strict=True)]
    return tuple(out) if sparse else tuple(broadcast_to(v, *sizes) for v in out)


@composite(
    "indices",
    python=np.indices,
    static="dtype sparse",
    samples=(sample((2, 3)), sample((2, 3), dtype=np.float64), sample((2, 3), sparse=True)),
)
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The index along each axis, at every place of a grid."""
    sizes = lengths(dimensions)
    found = known_dtype(dtype, INT)
    ranges = [cast_to(arange(np.int64(0), np.int64(1), n), found) for n in sizes]
    axes = [_on_axis(v, len(sizes), k) for k, v in enumerate(ranges)]
    if sparse:
        return tuple(axes)
    return joined([with_new_axes(broadcast_to(v, *sizes), [0]) for v in axes], 0)


@composite("ix_", python=np.ix_, samples=(sample(np.array([0, 2]), np.array([1, 1, 3])),))
def ix_(*args: Any) -> tuple[Value, ...]:
    """Index arrays that stand for the grid of their combinations."""
    out = []
    for k, x in enumerate(args):
        v = as_operand(x)
        if v.type.ndim != 1:
            raise InferenceError("Cross index must be 1 dimensional")
        v = nonzero(v)[0] if v.type.dtype == BOOL else v
        out.append(_on_axis(v, len(args), k))
    return tuple(out)


@composite(
    "broadcast_arrays",
    python=np.broadcast_arrays,
    samples=(sample("f64[3]", "f64[2, 1]"),),
    views=lambda *args, **kwargs: True,
)
def broadcast_arrays(*args: Any) -> tuple[Value, ...]:
    """Arrays repeated to their common shape (new arrays here, read-only views in NumPy)."""
    b = current_builder()
    values = b.broadcast([as_operand(x) for x in args])
    ndim = max((v.type.ndim for v in values), default=0)
    largest = []
    for k in range(-ndim, 0):
        sizes = [v.type.shape[k] for v in values if v.type.ndim >= -k]
        largest.append(next((d for d in sizes if d != 1), sizes[0]))
    values = [v if v.type.ndim else b.scalar(v) for v in values]
    return tuple(broadcast_to(b.cast(v, v.type.dtype, False), *map(b.dim_value, largest)) for v in values)


def _triangle_indices(name: str, function: Any, lower: bool, doc: str) -> None:
    def of(n: Any, k: Any = 0, m: Any = None) -> Any:
        inside = tri(n, m, k if lower else sub(current_builder().value(k), 1), bool)
        return nonzero(inside if lower else current_builder().call_named("logical_not", inside))

    of.__doc__ = doc
    composite(name, python=function, samples=(sample(3), sample(4, 1), sample(3, k=-1, m=4)))(of)


_triangle_indices("tril_indices", np.tril_indices, True, "Row and column of each element of a lower triangle.")
_triangle_indices("triu_indices", np.triu_indices, False, "Row and column of each element of an upper triangle.")


@composite("diag_indices", python=np.diag_indices, static="ndim", samples=(sample(3), sample(2, 3)))
def diag_indices(n: Any, ndim: int = 2) -> tuple[Value, ...]:
    """The indices of the main diagonal."""
    return (arange(np.int64(0), np.int64(1), lengths(n)[0]),) * ndim


# -- ranges on a scale --------------------------------------------------------------------------------


@composite(
    "logspace",
    python=np.logspace,
    static="endpoint dtype",
    samples=(sample("float", "float", 5), sample(0.0, 2.0, 4, endpoint=False), sample(0.0, 3.0, 3, base=2.0)),
)
def logspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None) -> Value:
    """Powers of ``base`` with evenly spaced exponents."""
    exponents = linspace(start, stop, num, endpoint)
    ends("logspace", base)
    out = power(current_builder().value(base), exponents)
    return cast_to(out, known_dtype(dtype, out.type.dtype))


@composite(
    "geomspace",
    python=np.geomspace,
    static="endpoint dtype",
    samples=(
        sample(1.0, 1000.0, 4),
        sample("float", "float", 5, domain=(0.5, 2.0)),
        sample(-1.0, -8.0, 4, endpoint=False),
    ),
)
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None) -> Value:
    """Numbers with a constant ratio, from ``start`` to ``stop``."""
    b = current_builder()
    first, last = ends("geomspace", start, stop)
    for v in (first, last):
        demand(b.call_named("not_equal", v, 0.0), "ValueError", "Geometric sequence cannot include zero")
    turned = sign(first)
    out = logspace(log10(div(first, turned)), log10(div(last, turned)), num, endpoint)
    k = arange(np.int64(0), np.int64(1), dims_of(out)[0])
    if endpoint:
        end = b.cast(sub(dims_of(out)[0], 1), INT, False)
        out = where(equal(k, end), div(last, turned), out)
    out = where(equal(k, 0), div(first, turned), out)
    return cast_to(mul(out, turned), known_dtype(dtype, FLOAT))


def _window(name: str, function: Any, terms: Sequence[float], doc: str) -> None:
    """A window that is a sum of cosines, 1 for a length of one."""

    def of(M: Any) -> Value:  # noqa: N803 (NumPy's names)
        b = current_builder()
        n = b.value(M)
        if n.type.dtype.kind not in "iu" or n.type.ndim:
            raise InferenceError(f"{name}: the length must be an integer")
        n = b.cast(n, INT, weak=True)
        count = b.call_named("maximum", n, 0)
        k = cast_to(
            sub(mul(np.int64(2), arange(np.int64(0), np.int64(1), count)), b.cast(sub(n, 1), INT, False)), FLOAT
        )
        width = cast_to(b.call_named("maximum", sub(n, 1), 1), FLOAT)
        out: Any = terms[0]
        for j, c in enumerate(terms[1:], 1):
            out = add(out, mul(c, cos(div(mul(j * np.pi, k), width))))
        return where(equal(b.cast(n, INT, False), 1), 1.0, out)

    of.__doc__ = doc
    composite(name, python=function, samples=(sample(5), sample(1), sample(6)))(of)


_window("hanning", np.hanning, (0.5, 0.5), "The Hann window.")
_window("hamming", np.hamming, (0.54, 0.46), "The Hamming window.")
_window("blackman", np.blackman, (0.42, 0.5, 0.08), "The Blackman window.")

# -- choices ------------------------------------------------------------------------------------------


@composite(
    "select",
    python=np.select,
    samples=(sample(("b1[4]", "b1[4]"), ("f64[4]", "f64[4]")), sample(("b1[4]",), ("f64[4]",), 0.5)),
)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Value:
    """The first choice whose condition holds, else a default."""
    b = current_builder()
    if not isinstance(condlist, tuple) or not isinstance(choicelist, tuple) or len(condlist) != len(choicelist):
        raise InferenceError("select takes as many conditions as choices, each in a list")
    tests = [b.value(c) for c in condlist]
    if not tests or any(t.type.dtype != BOOL for t in tests):
        raise InferenceError("select: conditions must be arrays of booleans")
    values = [b.value(v) for v in (*choicelist, default)]
    dtype = common_dtype([v.type for v in values])
    out = cast_to(values[-1], dtype)
    for test, value in zip(tests[::-1], values[-2::-1], strict=True):
        out = where(test, cast_to(value, dtype), out)
    if isinstance(out.type, ArrayType):
        return out
    raise InferenceError("select of numbers only is not supported: use an expression with if")


@composite("extract", python=np.extract, samples=(sample("b1[4]", "f64[4]"),))
def extract(condition: Any, arr: Any) -> Value:
    """The elements where a condition holds, as an array of one axis."""
    return _compressed(flat(as_truth(as_operand(condition))), flat(as_operand(arr)), 0)


@composite(
    "compress",
    python=np.compress,
    static="axis",
    samples=(sample("b1[4]", "f64[4]"), sample("b1[2]", "f64[3, 2]", axis=1)),
)
def compress(condition: Any, a: Any, axis: Any = None) -> Value:
    """The parts along an axis where a condition holds."""
    x = as_operand(a)
    (at,) = (0,) if axis is None else normalized(axis, x.type.ndim)
    return _compressed(as_truth(as_operand(condition)), flat(x) if axis is None else x, at)


def _compressed(mask: Value, x: Value, axis: int) -> Value:
    if mask.type.ndim != 1:
        raise InferenceError("condition must be a 1-d array")
    if mask.type.shape[0] != x.type.shape[axis]:  # as many as there are count, and must be within the axis
        return take_array(x, nonzero(mask)[0], axis)
    return kept(x, mask, axis)


@composite(
    "take_along_axis",
    python=np.take_along_axis,
    static="axis",
    samples=(
        sample("f64[2, 3]", np.array([[0, 2], [1, 1]]), axis=1),
        sample("f64[4]", np.array([3, 0]), 0),
        sample("f64[1, 3]", np.array([[0, 2], [1, 1]]), axis=1),
        sample("f64[2, 3]", np.array([[0, 2]]), axis=1),
    ),
)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Value:
    """Elements at an index of their own along an axis."""
    b = current_builder()
    x, index = as_operand(arr), as_operand(indices)
    if axis is None:
        x, axis = flat(x), 0
    if index.type.dtype.kind not in "iu" or index.type.ndim != x.type.ndim:
        raise InferenceError("take_along_axis takes integers of as many axes as the array")
    at = one_axis(axis, x.type.ndim)
    if any(k != at and own == 1 for k, own in enumerate(x.type.shape)):
        stretched = zip(dims_of(x), dims_of(index), x.type.shape, strict=True)
        x = broadcast_to(x, *(m if k != at and d == 1 else n for k, (n, m, d) in enumerate(stretched)))
    for k, (own, other) in enumerate(zip(x.type.shape, index.type.shape, strict=True)):
        if k != at and own != other and other != 1:
            message = "take_along_axis: axes of lengths {x} and {y}"
            b.call_named("equal_size", b.dim_value(own), b.dim_value(other), error="IndexError", message=message)
    sizes = [n if k == at else m for k, (n, m) in enumerate(zip(dims_of(index), dims_of(x), strict=True))]
    index = broadcast_to(index, *sizes) if 1 in index.type.shape else b.retype(index, [n.type.value for n in sizes])

    def level(places: list[Value], out: Value) -> Value:
        if len(places) == len(sizes):
            chosen = b.cast(getitem(index, *places, view=element(len(places))), INT, weak=True)
            source = list(places)
            source[at] = check_index(chosen, dims_of(x)[at], axis=at)
            value = getitem(x, *source, view=element(len(places)))
            return b.call_named("setitem", out, value, *places, view=element(len(places)))
        count = sizes[len(places)]
        return counted(count, [out], lambda i, out: (level([*places, i], out),))[0]

    return level([], empty(*sizes, dtype=x.type.dtype))


@composite(
    "array_equal",
    python=np.array_equal,
    static="equal_nan",
    samples=(sample("f64[3]", "f64[3]"), sample("i64[2]", "i64[3]")),
)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Value:
    """Whether two arrays have one shape and equal elements, a Python bool."""
    b = current_builder()
    x, y = as_operand(a1), as_operand(a2)
    if x.type.ndim != y.type.ndim:
        return b.const(False)

    def alike(x: Value, y: Value) -> Value:
        if not equal_nan or not (is_inexact(x.type) and is_inexact(y.type)):
            return equal(x, y)
        return b.call_named("logical_or", equal(x, y), b.call_named("logical_and", not_equal(x, x), not_equal(y, y)))

    if not x.type.ndim:
        return cast(alike(x, y), dtype=BOOL, weak=True)
    same = b.const(True)
    shorter = []
    for own, other in zip(dims_of(x), dims_of(y), strict=True):
        same = b.call_named("logical_and", same, equal(own, other))
        shorter.append(minimum(own, other))
    for size in shorter:
        b.learn(size.type.value)
    view_operands = [v for n in shorter for v in (b.const(0), n)]
    from_start = _all_sliced(x.type.ndim)
    left, right = (getitem(v, *view_operands, view=from_start) for v in (x, y))
    found = reduced(reduce.all_, alike(left, right), None, False)
    return b.call_named("logical_and", same, cast(found, dtype=BOOL, weak=True))


def _all_sliced(ndim: int) -> Any:

    return View((1,) * ndim, tuple(range(ndim)))


# -- order statistics ---------------------------------------------------------------------------------


def _quantiles(a: Any, q: Any, axis: Any, method: str, keepdims: bool, scale: float, what: str) -> Value:
    """Numbers below which given fractions of the elements lie, by linear interpolation between neighbours.

    References
    ----------
    Hyndman and Fan, The American Statistician 50 (1996), definition 7.
    """
    b = current_builder()
    if method != "linear":
        raise InferenceError(f"{what}: only method='linear' is supported")
    x = real_operand(a, what, "iuf")
    fraction = real_operand(q, what, "iuf")
    if fraction.type.ndim > 1:
        raise InferenceError(f"{what}: q takes a number, or an array of one axis")
    weak = is_weak(fraction.type)
    fraction = b.cast(fraction, fraction.type.dtype, False)
    if scale != 1:
        fraction = div(fraction, scale)
    kind = x.type.dtype
    if fraction.type.dtype.kind == "f":  # else whole elements are taken
        kind = (FLOAT if kind.kind != "f" else kind) if weak else np.result_type(kind, fraction.type.dtype)
    inside = b.call_named("logical_and", less_equal(0.0, fraction), less_equal(fraction, 1.0))
    message = "Percentiles must be in the range [0, 100]" if scale != 1 else "Quantiles must be in the range [0, 1]"
    demand(inside, "ValueError", message)
    rows, shape = _in_rows(x, axis)
    parts = _at_fractions(sort_array(rows), fraction, kind)
    axes = normalized(axis, x.type.ndim)
    lead = list(dims_of(fraction))
    size = [b.const(1) if k in axes else d for k, d in enumerate(dims_of(x))] if keepdims else shape
    return reshape(parts, *lead, *size) if lead or size else getitem(parts, 0, view=element(1))


def _in_rows(x: Value, axis: Any) -> tuple[Value, list[Value]]:
    """``x`` as a matrix whose rows are what is combined, and the lengths of the other axes."""
    b = current_builder()
    axes = normalized(axis, x.type.ndim)
    others = [k for k in range(x.type.ndim) if k not in axes]

    moved = getitem(x, view=transposed(x.type.ndim, [*others, *axes])) if x.type.ndim else flat(x)
    sizes = [dims_of(x)[k] for k in others]
    rows, columns = b.const(1), b.const(1)
    for k in others:
        rows = mul(rows, dims_of(x)[k])
    for k in axes:
        columns = mul(columns, dims_of(x)[k])
    return reshape(moved, rows, columns), sizes


def _at_fractions(rows: Value, fraction: Value, dtype: np.dtype) -> Value:
    """The interpolated element of each sorted row, for each fraction: fractions first, in one axis."""
    b = current_builder()
    count, n = dims_of(rows)
    fractions = flat(fraction)
    times = dims_of(fractions)[0]
    out = empty(mul(times, count), dtype=dtype)
    demand(b.call_named("greater", n, 0), "IndexError", "index -1 is out of bounds for axis 0 with size 0")

    def each(j: Value, out: Value) -> Sequence[Value]:
        at = mul(item(fractions, 0, j), sub(n, 1))
        low = floor(at)
        k = b.cast(low, INT, weak=True)
        left, right = (check_index(v, n, axis=1) for v in (k, minimum(add(k, 1), sub(n, 1))))
        share = where(greater_equal(at, sub(n, 1)), add(at, 1), sub(at, low))  # past the last element, as in NumPy

        def row(i: Value, out: Value) -> Sequence[Value]:
            x, y, last = (getitem(rows, i, v, view=element(2)) for v in (left, right, sub(n, 1)))
            near = x if at.type.dtype.kind != "f" else _between(x, y, share, dtype)
            value = where(b.call_named("isnan", last), last, near) if last.type.dtype.kind == "f" else near
            return (with_item(out, 0, add(mul(j, count), i), cast_to(value, dtype)),)

        return counted(count, [out], row)

    return counted(times, [out], each)[0]


def _between(x: Value, y: Value, share: Value, dtype: np.dtype) -> Value:
    """From ``x`` to ``y`` by a share, which may be of a dtype of its own."""
    step = cast_to(sub(y, x), dtype)  # which wraps, of integers
    x, y = cast_to(x, dtype), cast_to(y, dtype)
    down, up = mul(step, cast_to(sub(1, share), dtype)), mul(step, cast_to(share, dtype))
    return where(greater_equal(share, 0.5), sub(y, down), add(x, up))


_Q = (
    sample("f64[5]", 0.3),
    sample("f64[3, 4]", 0.5, axis=0),
    sample("f64[4]", np.array([0.1, 0.9])),
    sample("f64[2, 3]", 0.25, axis=1, keepdims=True),
)


@composite("quantile", python=np.quantile, static="axis method keepdims", samples=_Q)
def quantile(a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Value:
    """Numbers below which given fractions of the elements lie."""
    return _quantiles(a, q, axis, method, keepdims, 1.0, "quantile")


@composite(
    "percentile",
    python=np.percentile,
    static="axis method keepdims",
    samples=(sample("f64[5]", 30), sample("f64[3, 4]", 50.0, axis=0), sample("f64[4]", (25, 75))),
)
def percentile(a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Value:
    """Numbers below which given percentages of the elements lie."""
    return _quantiles(a, q, axis, method, keepdims, 100.0, "percentile")


@composite(
    "median",
    python=np.median,
    static="axis keepdims",
    samples=(
        sample("f64[5]"),
        sample("f64[4]"),
        sample("f64[3, 4]", axis=0),
        sample("f64[2, 3]", axis=(0, 1), keepdims=True),
    ),
)
def median(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The middle of the sorted elements, the mean of the two middle ones; NaN of nothing."""
    b = current_builder()
    x = real_operand(a, "median", "iuf")
    x = x if x.type.dtype.kind == "f" else cast_to(x, FLOAT)
    rows, shape = _in_rows(x, axis)
    rows = sort_array(rows)
    count, n = dims_of(rows)
    dtype = x.type.dtype
    out = b.call_named("full", dtype.type(np.nan), count)
    fine = b.call_named("where", b.call_named("greater", n, 0), count, 0)
    half = b.call_named("floordiv", n, 2)
    other = b.call_named("floordiv", sub(n, 1), 2)

    def row(i: Value, out: Value) -> Sequence[Value]:
        low, high = (getitem(rows, i, k, view=element(2)) for k in (other, half))
        last = getitem(rows, i, sub(n, 1), view=element(2))
        middle = where(equal(other, half), low, div(add(low, high), dtype.type(2)))
        middle = add(middle, dtype.type(0))  # 0.0 of -0.0: NumPy takes a mean in either case
        return (with_item(out, 0, i, cast_to(where(b.call_named("isnan", last), last, middle), dtype)),)

    (out,) = counted(fine, [out], row)
    axes = normalized(axis, x.type.ndim)
    size = [b.const(1) if k in axes else d for k, d in enumerate(dims_of(x))] if keepdims else shape
    if size:
        return reshape(out, *size)
    number = getitem(out, 0, view=element(1))
    return b.call_named("full", number) if keepdims else number
