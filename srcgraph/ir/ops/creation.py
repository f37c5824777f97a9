"""NumPy functions that make arrays from sizes and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import COMPOSITES, composite, current_builder, sample
from srcgraph.ir.ops.compare import equal, where
from srcgraph.ir.ops.reductions import as_operand
from srcgraph.ir.ops.remainders import ceil, maximum
from srcgraph.ir.ops.shape import arange, dims_of, empty, full
from srcgraph.ir.ops.vector import add, div, literal, mul, sub
from srcgraph.ir.promote import common_dtype
from srcgraph.ir.types import FLOAT, INT, NAME_OF, PY_FLOAT

F8 = np.dtype(np.float64)


def known_dtype(dtype: Any, default: np.dtype) -> np.dtype:
    """The dtype asked for.

    Raises
    ------
    InferenceError
        It is not one the package supports.
    """
    found = default if dtype is None else np.dtype(dtype)
    if found not in NAME_OF:
        raise InferenceError(f"dtype {found} is not supported")
    return found


def lengths(shape: Any) -> tuple[Value, ...]:
    """A shape as Python integers; a negative length raises ValueError at run time."""
    b = current_builder()
    out = []
    for x in shape if isinstance(shape, tuple) else (shape,):
        size = as_operand(x)
        if size.type.ndim or size.type.dtype.kind not in "iu":
            raise InferenceError(f"a length must be an integer, not {size.type}")
        size = b.cast(size, INT, weak=True)
        if not b.proves(size.type.value):
            fine = b.call_named("greater_equal", size, 0)
            b.call_named("check_that", fine, error="ValueError", message="negative dimensions are not allowed")
            b.learn(size.type.value)
        out.append(size)
    return tuple(out)


def filled(number: Any, shape: Any, dtype: Any) -> Value:
    return full(np.dtype(dtype).type(number), *lengths(shape))


@composite("zeros", python=np.zeros, static="dtype", samples=(sample((2, 3)), sample(4, dtype=np.float32)))
def zeros(shape: Any, dtype: Any = None) -> Value:
    """An array of zeros."""
    return filled(0, shape, known_dtype(dtype, F8))


@composite("ones", python=np.ones, static="dtype", samples=(sample((2, 3)), sample(4, dtype=np.int64)))
def ones(shape: Any, dtype: Any = None) -> Value:
    """An array of ones."""
    return filled(1, shape, known_dtype(dtype, F8))


@composite("empty_array", python=(np.empty, np.ndarray), static="dtype")
def empty_array(shape: Any, dtype: Any = None) -> Value:
    """An array whose elements have no meaning yet."""
    return empty(*lengths(shape), dtype=known_dtype(dtype, F8))


@composite("full_array", python=np.full, static="dtype", samples=(sample((2, 3), "f64"), sample(4, 7)))
def full_array(shape: Any, fill_value: Any, dtype: Any = None) -> Value:
    """An array filled with one number."""
    b = current_builder()
    value = b.value(fill_value)
    wanted = known_dtype(dtype, value.type.dtype)
    return _filled_with(_filling(value, wanted), lengths(shape))


def _filling(value: Value, dtype: np.dtype) -> Value:
    """What an array is filled with: an integer has to fit its dtype, a float is cast, as in NumPy."""
    b, value = current_builder(), as_operand(value)
    return b.stored(value, dtype) if value.type.dtype.kind == "i" else b.cast(value, dtype, False)


def _filled_with(value: Value, dims: Sequence[Value]) -> Value:
    """An array of one number, or of an array repeated."""
    return COMPOSITES["broadcast"](value, tuple(dims)) if value.type.ndim else full(value, *dims)


def _like(a: Any, number: int, dtype: Any) -> Value:
    a = current_builder().value(a)
    return full(known_dtype(dtype, a.type.dtype).type(number), *dims_of(a))


@composite("zeros_like_array", python=np.zeros_like, static="dtype", samples=(sample("f64[2, 3]"), sample("i32[2]")))
def zeros_like_array(a: Any, dtype: Any = None) -> Value:
    """Zeros of the shape and dtype of ``a``."""
    return _like(a, 0, dtype)


@composite("ones_like", python=np.ones_like, static="dtype", samples=(sample("f64[2, 3]"),))
def ones_like(a: Any, dtype: Any = None) -> Value:
    """Ones of the shape and dtype of ``a``."""
    return _like(a, 1, dtype)


@composite("empty_like", python=np.empty_like, static="dtype")
def empty_like(prototype: Any, dtype: Any = None) -> Value:
    """An array of the shape and dtype of ``prototype`` whose elements have no meaning yet."""
    prototype = current_builder().value(prototype)
    return empty(*dims_of(prototype), dtype=known_dtype(dtype, prototype.type.dtype))


@composite("full_like", python=np.full_like, static="dtype", samples=(sample("f64[2, 3]", "f64"),))
def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Value:
    """An array of the shape and dtype of ``a`` filled with one number."""
    b = current_builder()
    a = b.value(a)
    return _filled_with(_filling(b.value(fill_value), known_dtype(dtype, a.type.dtype)), dims_of(a))


@composite(
    "arange_array",
    python=np.arange,
    static="dtype",
    samples=(sample(5), sample(1, 7, 2), sample("float", 3.0, 0.25), sample(5, 0, -1)),
)
def arange_array(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Value:
    """Evenly spaced numbers with a given step; see numpy.arange."""
    b = current_builder()
    if stop is None:
        start, stop = 0, start
    first, last = b.value(start), b.value(stop)
    by = b.value(1 if step is None else step)
    if any(v.type.ndim for v in (first, last, by)):
        raise InferenceError("arange takes numbers")
    if any(v.type.dtype.kind == "c" for v in (first, last, by)):
        raise InferenceError("arange of complex numbers is not supported")
    found = known_dtype(dtype, _arange_dtype((first, last) if step is None else (first, last, by)))
    if found.kind in "iu" and all(v.type.dtype.kind in "iu" for v in (first, last, by)):
        count = _whole_count(b, *(b.cast(v, INT, weak=True) for v in (first, last, by)))
    else:
        span = ceil(div(b.cast(sub(last, first), FLOAT, weak=True), b.cast(by, FLOAT, weak=True)))
        fits = b.call_named("less", b.call_named("absolute", span), 2.0**63)
        b.call_named("check_that", fits, error="ValueError", message="Maximum allowed size exceeded")
        count = maximum(b.cast(span, INT, weak=True), 0)
    second = add(first, by)
    for k, item in enumerate((first, second)):  # NumPy takes these two as Python's numbers; the others wrap
        if found.kind in "iu" and item.type.dtype.kind == "i":
            b.stored(where(b.call_named("greater", count, k), item, 0), found)
    if second.type.dtype.kind == "f" and second.type.dtype != found:  # where the second number was rounded
        by = sub(b.cast(second, found, False), b.cast(first, found, False))
    return arange(b.cast(first, found, False), b.cast(by, found, False), count)


def _arange_dtype(parts: tuple[Value, ...]) -> np.dtype:
    """Python's numbers count as int64 and float64 here, also beside narrower ones."""
    found = np.result_type(*(v.type.dtype for v in parts))
    return np.result_type(found, INT) if len(parts) == 2 else found


def _whole_count(b: Any, first: Value, last: Value, by: Value) -> Value:
    step = literal(b, by)
    if step == 0:
        raise InferenceError("the step of arange must not be 0")
    if step is None:
        return _unknown_count(b, first, last, by)
    span = sub(last, first) if step > 0 else sub(first, last)
    if abs(step) > 1:
        span = b.call_named("floordiv", b.call_named("add", span, abs(step) - 1), abs(step))
    return span if b.proves(span.type.value) else maximum(span, 0)


def _unknown_count(b: Any, first: Value, last: Value, by: Value) -> Value:
    """``ceil((last - first) / by)`` for a step of unknown sign, by floor division towards the end."""
    nonzero = b.call_named("not_equal", by, 0)
    b.call_named("check_that", nonzero, error="ZeroDivisionError", message="division by zero")
    span = b.call_named("floordiv", sub(first, last), by)
    return maximum(b.call_named("neg", span), 0)


@composite(
    "linspace",
    python=np.linspace,
    static="endpoint dtype",
    samples=(sample("float", "float", 5), sample(0, 1, 4, endpoint=False), sample(0.0, 2.0, 1)),
)
def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None) -> Value:
    """``num`` evenly spaced numbers from ``start`` to ``stop``; see numpy.linspace."""
    b = current_builder()
    first, last = ends("linspace", start, stop)
    single = common_dtype([b.value(start).type, b.value(stop).type, PY_FLOAT]) == np.float32
    (count,) = lengths(num)
    parts = maximum(sub(count, 1), 1) if endpoint else maximum(count, 1)
    step = div(sub(last, first), b.cast(parts, FLOAT, False))
    k = arange(np.float64(0), np.float64(1), count)
    out = first + mul(k, step)
    if endpoint:  # NumPy sets the last number to `stop` exactly
        last_index = b.cast(sub(count, 1), FLOAT, False)
        out = where(b.call_named("logical_and", equal(k, last_index), b.call_named("greater", k, 0.0)), last, out)
    found = known_dtype(dtype, np.dtype(np.float32) if single else F8)
    return b.cast(b.call_named("floor", out) if found.kind in "iu" else out, found)


def ends(what: str, *values: Any) -> list[Value]:
    """Where a row of numbers begins and ends, as floats."""
    b = current_builder()
    found = [b.value(v) for v in values]
    if any(v.type.ndim or v.type.dtype.kind == "c" for v in found):
        raise InferenceError(f"{what} of arrays or complex numbers is not supported")
    return [b.cast(v, FLOAT, False) for v in found]
