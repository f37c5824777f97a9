"""np.block, indices into flattened arrays, half turns for Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, composite, current_builder, sample
from srcgraph.ir.ops.creation import lengths
from srcgraph.ir.ops.reductions import as_operand, normalized
from srcgraph.ir.ops.searching import every
from srcgraph.ir.ops.sequences import joined
from srcgraph.ir.ops.shape import dims_of, with_new_axes
from srcgraph.ir.ops.shaping import roll
from srcgraph.ir.ops.vector import add, mul
from srcgraph.ir.promote import common_dtype
from srcgraph.ir.types import INT

# -- block --------------------------------------------------------------------------------------------


def _depth(parts: Any) -> int:
    """How deep the lists are nested.

    Raises
    ------
    InferenceError
        They are not nested equally deep everywhere.
    """
    if not isinstance(parts, tuple):
        return 0
    depths = {_depth(p) for p in parts}
    if len(depths) != 1:
        raise InferenceError("block: lists must be nested equally deep, and not be empty")
    return 1 + depths.pop()


def _items(parts: Any) -> list[Value]:
    return [v for p in parts for v in _items(p)] if isinstance(parts, tuple) else [current_builder().value(parts)]


@composite(
    "block",
    python=np.block,
    numpy=lambda arrays: np.block(list(arrays)),
    samples=(sample(("f64[2, 2]", "f64[2, 1]")), sample(("f64[2]", "f64"))),
)
def block(arrays: Any) -> Value:
    """An array put together from blocks: the innermost lists go along the last axis."""
    depth, values = _depth(arrays), _items(arrays)
    ndim = max(depth, *(v.type.ndim for v in values))
    dtype = common_dtype([v.type for v in values])

    def whole(parts: Any, level: int) -> Value:
        if isinstance(parts, tuple):
            return joined([whole(p, level + 1) for p in parts], ndim - depth + level)
        value = current_builder().cast(current_builder().value(parts), dtype, False)
        return with_new_axes(value, list(range(ndim - value.type.ndim)))

    return whole(arrays, 0)


# -- indices ------------------------------------------------------------------------------------------


def _index(x: Any, what: str) -> Value:
    b = current_builder()
    value = as_operand(x)
    if value.type.dtype.kind not in "iu":
        raise InferenceError(f"{what}: indices must be integers, not {value.type}")
    return b.cast(value, INT, False)


def _inside(index: Value, size: Value, message: str) -> None:
    b = current_builder()
    inside = OPS["logical_and"](OPS["greater_equal"](index, 0), OPS["less"](index, size))
    b.call_named("check_that", every(inside), error="ValueError", message=message)


@composite(
    "unravel_index", python=np.unravel_index, samples=(sample(7, (3, 4)), sample(np.array([0, 7, 23]), (2, 3, 4)))
)
def unravel_index(indices: Any, shape: Any) -> tuple[Value, ...]:
    """Where elements of the flattened array are along each axis."""
    index, sizes = _index(indices, "unravel_index"), lengths(shape)
    total = sizes[0]
    for size in sizes[1:]:
        total = mul(total, size)
    _inside(index, total, "index is out of bounds for an array of this size")
    found: list[Value] = []
    for size in reversed(sizes):
        found.append(OPS["mod"](index, size))
        index = OPS["floordiv"](index, size)
    return tuple(reversed(found))


@composite(
    "ravel_multi_index",
    python=np.ravel_multi_index,
    samples=(sample((1, 2), (3, 4)), sample(("i64[2]", "i64[2]"), (3, 4), domain=(0, 3))),
)
def ravel_multi_index(multi_index: Any, dims: Any) -> Value:
    """Where elements are in the flattened array."""
    if not isinstance(multi_index, tuple):
        raise InferenceError("ravel_multi_index: give a tuple of an index for each axis")
    parts, sizes = [_index(x, "ravel_multi_index") for x in multi_index], lengths(dims)
    if len(parts) != len(sizes):
        raise InferenceError("ravel_multi_index: there must be one index for each length")
    out: Value | None = None
    for part, size in zip(parts, sizes, strict=True):
        _inside(part, size, "invalid entry in coordinates array")
        out = part if out is None else add(mul(out, size), part)
    assert out is not None
    return out


# -- Fourier transforms: what only moves elements ---------------------------------------------------------


def _half_turn(x: Any, axes: Any, forward: bool) -> Value:
    value = as_operand(x)
    at = range(value.type.ndim) if axes is None else normalized(axes, value.type.ndim)
    for axis in at:
        half = OPS["floordiv"](dims_of(value)[axis], 2)
        value = roll(value, half if forward else OPS["neg"](half), axis)
    return value


@composite(
    "fftshift",
    python=(np.fft.fftshift, scipy.fft.fftshift),
    static="axes",
    samples=(sample("f64[5]"), sample("f64[2, 3]", axes=1)),
)
def fftshift(x: Any, axes: Any = None) -> Value:
    """Half a turn along axes: the frequency 0 goes to the middle."""
    return _half_turn(x, axes, True)


@composite(
    "ifftshift",
    python=(np.fft.ifftshift, scipy.fft.ifftshift),
    static="axes",
    samples=(sample("f64[5]"), sample("f64[2, 3]")),
)
def ifftshift(x: Any, axes: Any = None) -> Value:
    """What undoes `numpy.fft.fftshift`."""
    return _half_turn(x, axes, False)
