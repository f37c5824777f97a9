"""NumPy functions built from elementwise ops and products: where, clip, dot, norm and the like."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, composite, current_builder, sample
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops.compare import equal, less, less_equal, logical_and, where
from srcgraph.ir.ops.elementwise import sin, sqrt
from srcgraph.ir.ops.powers import power
from srcgraph.ir.ops.reductions import cast_to, count_of, reduced
from srcgraph.ir.ops.remainders import absolute, maximum, minimum, rint, sign
from srcgraph.ir.ops.searching import nonzero
from srcgraph.ir.ops.vector import add, cast, div, literal, mul, sub
from srcgraph.ir.promote import common_dtype, is_weak, resolve
from srcgraph.ir.types import BOOL, FLOAT, INT, ArrayType, ScalarType


def numpy_operands(*xs: Any) -> list[Value]:
    """Operands as NumPy sees them: alone, Python's numbers become NumPy's."""
    b = current_builder()
    values = [b.value(x) for x in xs]
    if all(isinstance(v.type, ScalarType) and v.type.weak for v in values):
        return [b.cast(v, v.type.dtype, False) for v in values]
    return values


def without_axes(x: Value) -> Value:
    """What NumPy's functions return for an array without axes: its number. Others as they are."""
    return current_builder().scalar(x) if x.type == ArrayType(x.type.dtype, ()) else x


@composite(
    "where_array",
    python=np.where,
    samples=(sample("b1[3]", "f64[3]", "f64"), sample("b1[3, 1]", "f64[4]", "f32[3, 4]")),
)
def where_array(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``x`` where the condition holds, else ``y``; of a condition alone, where it holds, as `nonzero`."""
    b = current_builder()
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise InferenceError("where takes both x and y, or neither")
    test, *branches = (b.value(v) for v in (condition, x, y))
    if test.type.dtype != np.bool_:
        test = b.call_named("not_equal", test, 0)
    dtype = common_dtype([v.type for v in branches])
    return where(test, *(b.cast(v, dtype, False) for v in branches))  # an integer that does not fit wraps


@composite(
    "clip",
    python=np.clip,
    method="clip",
    samples=(sample("f64[5]", -0.5, 0.5), sample("f64[5]", "f64[5]", None), sample("f64[3]", None, 0.2)),
)
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Value:
    """``a`` limited to an interval; at an edge the derivative is shared."""
    (out,) = numpy_operands(a)
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is not None:
        out = maximum(out, _limited(low, out, "maximum"))
    return out if high is None else minimum(out, _limited(high, out, "minimum"))


def _limited(bound: Any, x: Value, op: str) -> Value:
    """A bound of `clip`: a Python integer beyond what the dtype holds on its own side limits nothing."""
    value = current_builder().value(bound)
    if x.type.dtype.kind not in "iu" or x.type.dtype == INT or not (is_weak(value.type) and value.type.dtype == INT):
        return value
    info = np.iinfo(x.type.dtype)
    end = int(info.min) if op == "maximum" else min(int(info.max), 2**63 - 1)
    return current_builder().call_named(op, value, end)


@composite("power_array", python=np.power, samples=(sample("f64[3]", "f64[3]", domain=(0.3, 2.0)), sample("i64[3]", 2)))
def power_array(x1: Any, x2: Any) -> Value:
    """``x1**x2``; of integers, a negative exponent raises."""
    x, y = numpy_operands(x1, x2)
    if is_root(x, y):
        return sqrt(x)
    out = power(x, y)
    check_integer_power(x, y)
    return out


def is_root(x: Value, y: Value) -> bool:
    """Whether NumPy's ``power`` takes a square root, which is another number for ``-0.0`` and ``-inf``."""
    root = x.type.dtype.kind == "f" and literal(current_builder(), y) == 0.5
    return root and resolve(np.power, [x.type, y.type])[1] == x.type.dtype


def check_integer_power(x: Value, y: Value) -> None:
    """NumPy raises where an integer would be raised to a negative power."""
    b = current_builder()
    known = literal(b, y)
    if x.type.dtype.kind not in "iub" or y.type.dtype.kind != "i" or (known is not None and known >= 0):
        return
    if resolve(np.power, [x.type, y.type])[1].kind == "f":
        return  # of an unsigned integer of 64 bits and a signed one
    if x.type.dtype.kind == "u" and is_weak(y.type):
        return  # it becomes unsigned, or raises because it does not fit
    fine = b.call_named("greater_equal", y, 0)
    if x.type.ndim and not fine.type.ndim:
        fine = b.call_named("logical_or", fine, b.call_named("equal", count_of(x, None), 0))
    if fine.type.ndim:
        fine = b.cast(b.call_named("all", fine, axes=tuple(range(fine.type.ndim))), BOOL, weak=True)
    message = "Integers to negative integer powers are not allowed."
    b.call_named("check_that", fine, error="ValueError", message=message)


@composite("float_power", python=np.float_power, samples=(sample("f32[3]", "f32[3]", domain=(0.3, 2.0)), sample(3, 2)))
def float_power(x1: Any, x2: Any) -> Value:
    """``x1**x2`` in float64."""
    values = numpy_operands(x1, x2)
    dtypes, _ = resolve(np.float_power, [v.type for v in values])
    x, y = (cast_to(v, t) for v, t in zip(values, dtypes, strict=True))
    if is_root(x, y):  # no square root here
        return where(equal(x, -np.inf), np.inf, add(sqrt(x), 0.0))
    return power(x, y)


@composite("sign_of", python=np.sign, samples=(sample("f64[3]"), sample("f32"), sample("i32[3]"), sample("u8[3]")))
def sign_of(x: Any) -> Value:
    """-1, 0 or 1 with the sign of ``x``; 0.0 for both zeros."""
    (value,) = numpy_operands(x)
    dtype = value.type.dtype
    if dtype.kind == "u":
        return cast_to(current_builder().call_named("greater", value, 0), dtype)
    return add(sign(value), dtype.type(0)) if dtype.kind == "f" else sign(value)


_SINC = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(9)]
"""The series of ``sin(a) / a`` in ``a**2``, near 0, where derivatives of the quotient would cancel."""


@composite("sinc", python=np.sinc, samples=(sample("f64[3]"),))
def sinc(x: Any) -> Value:
    """``sin(pi x) / (pi x)``, 1 at 0."""
    (value,) = numpy_operands(x)
    angle = mul(np.pi, value)
    small = less(absolute(angle), 0.5)
    squared = mul(held := where(small, angle, 0.0), held)
    series: Any = _SINC[-1]
    for coefficient in _SINC[-2::-1]:
        series = add(mul(series, squared), coefficient)
    away = where(small, 1.0, angle)
    return where(small, series, div(sin(away), away))


@composite("heaviside", python=np.heaviside, samples=(sample("f64[3]", 0.5),))
def heaviside(x1: Any, x2: Any) -> Value:
    """0 below zero, 1 above, ``x2`` at it."""
    x, y = numpy_operands(x1, x2)
    dtypes, _ = resolve(np.heaviside, [x.type, y.type])
    x, y = (cast_to(v, t) for v, t in zip((x, y), dtypes, strict=True))
    step = where(less(x, 0), 0.0, where(equal(x, 0), y, 1.0))
    return where(current_builder().call_named("isnan", x), x, step)


@composite(
    "round",
    python=(np.round, np.around),
    method="round",
    static="decimals",
    samples=(sample("f64[3]"), sample("f64[3]", decimals=2)),
)
def round_array(a: Any, decimals: int = 0) -> Value:
    """Nearest number with ``decimals`` decimals, halves to even; derivative 0."""
    (x,) = numpy_operands(a)
    kind = x.type.dtype.kind
    if not -308 <= decimals <= 308 or (kind == "b" and decimals):
        raise InferenceError(f"round() of {x.type} to {decimals} decimals is not supported")
    if kind in "iu":
        return without_axes(x) if decimals >= 0 else _to_tens(x, 10.0**-decimals)
    if kind == "c":
        return OPS["of_parts"](*(round_array(OPS[part](x), decimals) for part in ("real", "imag")))
    if decimals == 0 or kind == "b":
        return rint(x)
    scale = x.type.dtype.type(10.0 ** abs(decimals))
    return div(rint(mul(x, scale)), scale) if decimals > 0 else mul(rint(div(x, scale)), scale)


def _to_tens(x: Value, scale: float) -> Value:
    """Integers to multiples of a power of ten, by way of floats as NumPy does; what is too large wraps."""
    b = current_builder()
    whole = mul(rint(div(b.cast(x, FLOAT, False), scale)), scale)
    if x.type.dtype == np.uint64:
        fits = less(whole, 2.0**64)
        return where(fits, b.cast(where(fits, whole, 0.0), x.type.dtype, False), np.uint64(0))
    return b.cast(b.cast(whole, INT, False), x.type.dtype, False)


@composite(
    "nan_to_num",
    python=np.nan_to_num,
    static="nan posinf neginf",
    samples=(sample("f64[3]"), sample("f64[3]", nan=1.0, posinf=2.0, neginf=-3.0)),
)
def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Value:
    """NaN replaced by a number, and infinities by numbers, which are the largest finite ones if not given."""
    b = current_builder()
    (value,) = numpy_operands(x)
    if value.type.dtype.kind == "c":
        raise InferenceError("nan_to_num of complex numbers is not supported: take their parts, x.real and x.imag")
    if value.type.dtype.kind != "f":
        return without_axes(value)
    info = np.finfo(value.type.dtype)
    dtype = value.type.dtype.type
    out = where(b.call_named("isnan", value), dtype(nan), value)
    out = where(equal(value, dtype(np.inf)), info.max if posinf is None else dtype(posinf), out)
    return where(equal(value, dtype(-np.inf)), info.min if neginf is None else dtype(neginf), out)


@composite(
    "isclose", python=np.isclose, static="rtol atol", samples=(sample("f64[3]", "f64[3]"), sample("f64[3]", "float"))
)
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Value:
    """Whether numbers agree within ``atol + rtol * abs(b)``."""
    builder = current_builder()
    x, y = numpy_operands(a, b)
    x, y = (v if v.type.dtype.kind in "fc" else builder.cast(v, FLOAT, False) for v in (x, y))
    near = less_equal(absolute(sub(x, y)), add(atol, mul(rtol, absolute(y))))
    finite = logical_and(builder.call_named("isfinite", x), builder.call_named("isfinite", y))
    return where(finite, near, equal(x, y))


@composite("allclose", python=np.allclose, static="rtol atol", samples=(sample("f64[3]", "f64[3]"),))
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Value:
    """Whether all numbers agree within ``atol + rtol * abs(b)``, a Python bool."""
    near = isclose(a, b, rtol, atol)
    out = near if near.type.ndim == 0 else reduced(reduce.all_, near, None, False)
    return cast(out, dtype=np.dtype(bool), weak=True)


@composite("positive", python=np.positive, samples=(sample("f64[3]"),))
def positive(x: Any) -> Value:
    """``x`` itself, as a new array."""
    (value,) = numpy_operands(x)
    resolve(np.positive, [value.type])  # raises for bools
    return without_axes(value) if value.type.ndim == 0 else current_builder().call_named("copy", value)
