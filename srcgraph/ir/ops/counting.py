"""NumPy functions that count, and that treat arrays as sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, composite, current_builder, sample
from srcgraph.ir.ops import reduce, sorting
from srcgraph.ir.ops._loops import chosen
from srcgraph.ir.ops.compare import logical_not, where
from srcgraph.ir.ops.creation import linspace
from srcgraph.ir.ops.masks import marked
from srcgraph.ir.ops.reductions import as_operand
from srcgraph.ir.ops.remainders import maximum
from srcgraph.ir.ops.searching import as_array, every, ordered
from srcgraph.ir.ops.sequences import concatenate, diff, flat
from srcgraph.ir.ops.shape import dims_of, reshape
from srcgraph.ir.ops.vector import add, div, sub
from srcgraph.ir.types import BOOL, FLOAT, INT

# -- counting ---------------------------------------------------------------------------------------


@composite(
    "bincount",
    python=np.bincount,
    samples=(
        sample(np.array([0, 2, 2, 5])),
        sample(np.array([0, 2, 2]), minlength=5),
        sample(np.array([0, 2, 2]), "f64[3]"),
    ),
)
def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Value:
    """How often each nonnegative integer comes, or the sum of the weights with which it does."""
    b = current_builder()
    index = b.value(x)
    if index.type.ndim != 1 or index.type.dtype.kind not in "iub" or index.type.dtype == np.uint64:
        raise InferenceError(f"bincount takes integers along one axis, not {index.type}")
    index = b.cast(index, INT)
    least = b.value(minlength)
    if least.type.dtype.kind not in "iub":
        raise InferenceError(f"bincount: minlength must be an integer, not {least.type}")
    least = b.cast(least, INT, weak=True)
    fine = OPS["greater_equal"](least, 0)
    b.call_named("check_that", fine, error="ValueError", message="'minlength' must not be negative")
    message = "'list' argument must have no negative elements"
    b.call_named("check_that", every(OPS["greater_equal"](index, 0)), error="ValueError", message=message)
    n = _extreme(reduce.max_, index, b.const(-1))
    n = maximum(add(n, 1), least)
    b.learn(n.type.value)
    if weights is None:
        return sorting.tally(index, n)
    v = b.cast(ordered(as_array(weights), "bincount by weights"), FLOAT)
    if v.type.shape != index.type.shape:
        message = "The weights and list don't have the same length."
        b.call_named("equal_size", dims_of(v)[0], dims_of(index)[0], error="ValueError", message=message)
        v = b.retype(v, index.type.shape)
    return sorting.scatter(v, index, n)


def _extreme(op: Any, x: Value, default: Value) -> Value:
    """The largest or smallest of numbers along one axis as a Python number, a default of none."""
    b = current_builder()
    (count,) = dims_of(x)
    some = OPS["greater"](count, 0)
    dtype = default.type.dtype
    (out,) = chosen(some, lambda: (b.cast(op(x, axes=(0,)), dtype, weak=True),), lambda: (default,))
    return out


@composite(
    "histogram",
    python=np.histogram,
    static="density",
    samples=(
        sample("f64[9]", 4),
        sample("f64[9]", np.array([-1.0, 0.0, 0.5, 2.0])),
        sample("f64[9]", 3, (-1.0, 1.0)),
        sample("f64[9]", 3, density=True),
        sample("f64[9]", 3, (-1.0, 1.0), weights="f64[9]"),
    ),
)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> tuple:
    """How many numbers are in each bin, and the edges of the bins."""
    b = current_builder()
    own = ordered(as_array(a), "histogram")
    x = flat(own)
    edges = _edges(x, bins, range)
    common = np.result_type(x.type.dtype, edges.type.dtype)
    x, edges_ = b.cast(x, common), b.cast(edges, common)
    if weights is None:
        counts = sorting.count_in_bins(x, edges_)
    else:
        w = _weights_of(own, weights)
        if w.type.dtype == BOOL:
            raise InferenceError("histogram: weights must be numbers, not booleans")
        counts = sorting.weigh_in_bins(x, w, edges_)
    if density:
        total = reduce.sum_(counts, axes=(0,))
        counts = div(div(counts, b.cast(diff(edges), FLOAT)), total)
    return counts, edges


@composite(
    "histogram_bin_edges",
    python=np.histogram_bin_edges,
    samples=(sample("f64[9]", 4), sample("f64[9]", 3, (-1.0, 1.0))),
)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Value:
    """The edges of the bins of a histogram."""
    own = ordered(as_array(a), "histogram_bin_edges")
    if weights is not None:
        _weights_of(own, weights)
    return _edges(flat(own), bins, range)


def _weights_of(x: Value, weights: Any) -> Value:
    """A weight for each number, flattened."""
    b = current_builder()
    w = as_array(weights)
    if w.type.ndim != x.type.ndim:
        raise InferenceError("weights should have the same shape as a.")
    for size, own in zip(dims_of(w), dims_of(x), strict=True):
        b.call_named("equal_size", size, own, error="ValueError", message="weights should have the same shape as a.")
    return flat(b.retype(w, x.type.shape))


def _edges(x: Value, bins: Any, limits: Any) -> Value:
    b = current_builder()
    if isinstance(bins, str):
        raise InferenceError(f"histogram: bins={bins!r} is not supported: give their number or their edges")
    asked = as_array(bins) if isinstance(bins, tuple) else b.value(bins)
    if asked.type.ndim == 1:
        rising = OPS["equal"](sorting.direction(asked), 1)
        message = "`bins` must increase monotonically, when an array"
        b.call_named("check_that", rising, error="ValueError", message=message)
        return asked
    if asked.type.ndim or asked.type.dtype.kind not in "iu":
        raise InferenceError("histogram: bins must be an integer or an array of edges")
    if x.type.dtype == np.float32:  # whose edges NumPy computes in single precision
        raise InferenceError("histogram of float32 by the number of bins is not supported: use x.astype(float)")
    count = b.cast(asked, INT, weak=True)
    positive = OPS["greater_equal"](count, 1)
    b.call_named("check_that", positive, error="ValueError", message="`bins` must be positive, when an integer")
    b.learn(sub(count, 1).type.value)
    first, last = _limits(x, limits)
    flat_ = OPS["equal"](first, last)
    first, last = where(flat_, sub(first, 0.5), first), where(flat_, add(last, 0.5), last)
    return linspace(first, last, add(count, 1))


def _limits(x: Value, limits: Any) -> tuple[Value, Value]:
    """The first and last edge as Python floats."""
    b = current_builder()
    if limits is None:
        first, last = (_extreme(op, b.cast(x, FLOAT), b.const(v)) for op, v in ((reduce.min_, 0.0), (reduce.max_, 1.0)))
    else:
        first, last = (b.cast(b.value(v), FLOAT, weak=True) for v in limits)
        message = "max must be larger than min in range parameter."
        b.call_named("check_that", OPS["less_equal"](first, last), error="ValueError", message=message)
    finite = OPS["logical_and"](OPS["isfinite"](first), OPS["isfinite"](last))
    message = "the range of the histogram is not finite"
    b.call_named("check_that", finite, error="ValueError", message=message)
    return first, last


# -- sets -------------------------------------------------------------------------------------------


@composite(
    "unique_array",
    python=np.unique,
    static="return_index return_inverse return_counts axis equal_nan",
    samples=(
        sample("i64[6]"),
        sample("f64[4]"),
        sample("i64[2, 3]", return_index=True, return_inverse=True, return_counts=True),
        sample("i64[6]", return_counts=True),
    ),
)
def unique_array(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """The different elements in order, where they come first, which of them each element is, and how often."""
    b = current_builder()
    x = ordered(as_array(ar), "unique")
    if not equal_nan or (axis is not None and (axis != 0 or x.type.ndim != 1 or not b.value(ar).type.ndim)):
        raise InferenceError("unique: axis and equal_nan=False are not supported")
    line = flat(x)
    if not (return_index or return_inverse or return_counts):
        return sorting.unique(line)
    first, inverse, counts = sorting.unique_all(line)
    out = [sorting.gather(line, first)]
    if return_index:
        out.append(first)
    if return_inverse:
        out.append(inverse if x.type.ndim == 1 else reshape(inverse, *dims_of(x)))
    if return_counts:
        out.append(b.retype(counts, first.type.shape))
    return tuple(out)


def _two(x: Any, y: Any, what: str) -> tuple[Value, Value]:
    """Two operands as lines of one dtype."""
    b = current_builder()
    lines = [flat(ordered(as_array(v), what)) for v in (x, y)]
    dtype = np.result_type(*(v.type.dtype for v in lines))
    return b.cast(lines[0], dtype), b.cast(lines[1], dtype)


@composite(
    "isin_array",
    python=np.isin,
    static="assume_unique invert kind",
    samples=(sample("i64[2, 3]", "i64[4]"), sample("i64[5]", (1, -1), invert=True)),
)
def isin_array(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Value:
    """Which elements are among others."""
    x, among = _two(element, test_elements, "isin")
    own = current_builder().value(element) if isinstance(element, tuple) else as_operand(element)
    found = sorting.isin(x, among)
    if own.type.ndim != 1:
        found = reshape(found, *dims_of(own))
    return logical_not(found) if invert else found


@composite("union1d", python=np.union1d, samples=(sample("i64[4]", "i64[3]"), sample("f64[2]", "f64[2]")))
def union1d(ar1: Any, ar2: Any) -> Value:
    """The different elements of two arrays, in order."""
    return sorting.unique(concatenate(_two(ar1, ar2, "union1d")))


@composite("intersect1d", python=np.intersect1d, static="assume_unique", samples=(sample("i64[5]", "i64[6]"),))
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Value:
    """The elements that are in both arrays, in order."""
    x, y = _two(ar1, ar2, "intersect1d")
    x = sorting.sort(x) if assume_unique else sorting.unique(x)
    return marked(x, sorting.isin(x, y))


@composite("setdiff1d", python=np.setdiff1d, static="assume_unique", samples=(sample("i64[5]", "i64[4]"),))
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Value:
    """The elements that are in the first array only, in order."""
    own = flat(as_array(ar1))
    x, y = _two(ar1, ar2, "setdiff1d")
    x = x if assume_unique else sorting.unique(x)
    return current_builder().cast(marked(x, logical_not(sorting.isin(x, y))), own.type.dtype)


@composite("setxor1d", python=np.setxor1d, static="assume_unique", samples=(sample("i64[5]", "i64[4]"),))
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Value:
    """The elements that are in one of two arrays only, in order."""
    x, y = _two(ar1, ar2, "setxor1d")
    x, y = (x, y) if assume_unique else (sorting.unique(x), sorting.unique(y))
    rest = [marked(p, logical_not(sorting.isin(p, q))) for p, q in ((x, y), (y, x))]
    return sorting.sort(concatenate(tuple(rest)))
