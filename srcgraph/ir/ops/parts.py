"""Elementwise functions about how numbers are made up: signs, exponents, neighbours, divisors, quotients."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import composite, current_builder, define, sample
from srcgraph.ir.ops._rules import binary, from_partials
from srcgraph.ir.ops.compare import equal, less, where
from srcgraph.ir.ops.complex import numpy_number
from srcgraph.ir.ops.elementwise import exp2, shares
from srcgraph.ir.ops.numerics import numpy_operands
from srcgraph.ir.ops.reductions import as_operand, cast_to
from srcgraph.ir.ops.remainders import absolute, copysign, floordiv, mod, trunc
from srcgraph.ir.ops.vector import cast, mul, neg, sub
from srcgraph.ir.promote import Elementwise
from srcgraph.ir.types import BOOL, FLOAT

logaddexp2 = binary(
    np.logaddexp2,
    lambda out, x, y: shares(out, x, y, exp2),
    "np.logaddexp2(x, y)",
    doc="``log2(2**x + 2**y)`` without overflow; two infinities share the derivative.",
    commutative=True,
    samples=(sample("f64[3]", "f64[3]"), sample("f32[3]", "f32[3]")),
)
nextafter = binary(
    np.nextafter,
    lambda out, x, y: (1, None),
    "np.nextafter(x, y)",
    doc="The float after ``x`` towards ``y``.",
    samples=(sample("f64[3]", "f64[3]"),),
)
gcd = binary(
    np.gcd, None, "np.gcd(x, y)", doc="Greatest common divisor.", commutative=True,
    samples=(sample("i64[5]", "i64[5]", domain=(-9, 30)), sample("i32[3]", "i32[3]", domain=(0, 30))),
)  # fmt: skip


@composite(
    "lcm",
    python=np.lcm,
    samples=(
        sample("i64[5]", "i64[5]", domain=(-9, 30)), sample("i32[3]", "i32[3]", domain=(0, 30)),
        sample(np.array([2**62, -5, 0]), np.array([3, 10, 0])),
    ),
)  # fmt: skip
def lcm(x1: Any, x2: Any) -> Value:
    """Least common multiple; where it does not fit, NumPy's wrapped product."""
    x, y = numpy_operands(x1, x2)
    divisor = gcd(x, y)
    x, y = (cast_to(v, divisor.type.dtype) for v in (x, y))
    one = divisor.type.dtype.type(1)
    return mul(floordiv(absolute(x), where(equal(divisor, 0), one, divisor)), absolute(y))


def _float_of(x: Any, ufunc: np.ufunc) -> Value:
    """An operand as the float NumPy's function takes it as."""
    value = numpy_number(x)
    if value.type.dtype.kind == "c":
        raise InferenceError(f"{ufunc.__name__} takes real numbers, not {value.type.dtype}")
    dtype = ufunc.resolve_dtypes((value.type.dtype, *[None] * ufunc.nout))[0]
    if dtype == np.float16:
        raise InferenceError(f"{ufunc.__name__} of {value.type.dtype} gives half precision, which is not supported")
    if dtype.kind != "f":
        raise InferenceError(f"{ufunc.__name__} takes floats here, not {value.type.dtype}")
    return cast(value, dtype=dtype, weak=False)


def _signed(x: Any, what: str) -> Value:
    """An operand as a float with its sign and infinities."""
    value = numpy_number(x)
    if value.type.dtype.kind == "c":
        raise InferenceError(f"{what} takes real numbers, not {value.type.dtype}")
    return value if value.type.dtype.kind == "f" else cast(value, dtype=FLOAT, weak=False)


@composite("signbit", python=np.signbit, samples=(sample("f64[3]"), sample(np.array([0.0, -0.0, np.inf]))))
def signbit(x: Any) -> Value:
    """Whether the sign is negative, also of zero."""
    return less(copysign(1.0, _signed(x, "signbit")), 0.0)


@composite("isposinf", python=np.isposinf, samples=(sample(np.array([np.inf, -np.inf, 1.0])),))
def isposinf(x: Any) -> Value:
    """Which elements are positive infinity."""
    value = _signed(x, "isposinf")
    return equal(value, value.type.dtype.type(np.inf))


@composite("isneginf", python=np.isneginf, samples=(sample(np.array([np.inf, -np.inf, 1.0])),))
def isneginf(x: Any) -> Value:
    """Which elements are negative infinity."""
    value = _signed(x, "isneginf")
    return equal(value, value.type.dtype.type(-np.inf))


@composite(
    "divmod_array",
    python=np.divmod,
    samples=(sample("f64[4]", "f64[4]", domain=(0.5, 3.0)), sample("f64[4]", 0.3), sample("i64[4]", 3, domain=(-9, 9))),
)
def divmod_array(x1: Any, x2: Any) -> tuple[Value, Value]:
    """Quotient rounded down, and remainder."""
    x, y = numpy_operands(x1, x2)
    return floordiv(x, y), mod(x, y)


@composite("modf", python=np.modf, samples=(sample("f64[4]"), sample("f64")))
def modf(x: Any) -> tuple[Value, Value]:
    """Fraction and whole part, both with the sign of ``x``."""
    value = _float_of(x, np.modf)
    whole = trunc(value)
    infinite = current_builder().call_named("isinf", value)
    fraction = where(infinite, value.type.dtype.type(0), sub(value, where(infinite, value.type.dtype.type(0), whole)))
    return copysign(fraction, value), whole


@composite("array_equiv", python=np.array_equiv, samples=(sample("f64[3]", "f64[3]"), sample("i64[2]", 1)))
def array_equiv(a1: Any, a2: Any) -> Value:
    """Whether two arrays that broadcast have equal elements, a Python bool."""
    x, y = as_operand(a1), as_operand(a2)
    if x.type.ndim and y.type.ndim and x.type.shape != y.type.shape:
        raise InferenceError("array_equiv of arrays that may not broadcast is not supported: use array_equal")
    out = equal(x, y)
    if out.type.ndim:
        out = current_builder().call_named("all", out, axes=tuple(range(out.type.ndim)))
    return cast(out, dtype=BOOL, weak=True)


# -- mantissa and exponent ------------------------------------------------------------------------------

ldexp = binary(
    np.ldexp,
    lambda out, x, y: (ldexp(current_builder().const(x.type.dtype.type(1)), y), None),
    "np.ldexp(x, max(min(y, 5000), -5000))",
    doc="``x * 2**y``.",
    samples=(sample("f64[3]", "i64[3]"), sample("f64", 3), sample("f32[3]", "i32[3]")),
)
mantissa = define(
    name="mantissa",
    doc="``x`` divided by the power of 2 that makes it less than 1 and at least 0.5.",
    infer=Elementwise(lambda types: ((types[0].dtype,), types[0].dtype)),
    numpy=lambda x: np.frexp(x)[0],
    emit={"cpu": "math.frexp(x)[0]"},
    samples=(sample("f64[3]"),),
    **from_partials(lambda out, x: (ldexp(current_builder().const(x.type.dtype.type(1)), neg(exponent(x))),)),
)
exponent = define(
    name="exponent",
    doc="The exponent of that power of 2.",
    infer=Elementwise(lambda types: ((types[0].dtype,), np.dtype(np.int32))),
    numpy=lambda x: np.frexp(x)[1],
    emit={"cpu": "np.int32(math.frexp(x)[1])"},
    samples=(sample("f64[3]"),),
)


@composite("frexp", python=np.frexp, samples=(sample("f64[4]", domain=(-9.0, 9.0)), sample("f64")))
def frexp(x: Any) -> tuple[Value, Value]:
    """Mantissa and exponent: ``x == mantissa * 2**exponent``."""
    value = _float_of(x, np.frexp)
    return mantissa(value), exponent(value)


@composite("spacing", python=np.spacing, samples=(sample("f64[4]"),))
def spacing(x: Any) -> Value:
    """The distance to the next number away from 0."""
    value = _float_of(x, np.spacing)
    size = absolute(value)
    infinite = current_builder().call_named("isinf", value)
    step = sub(nextafter(size, value.type.dtype.type(np.inf)), size)
    kind = value.type.dtype.type
    signed = where(less(value, kind(0)), neg(step), step)  # that of -0.0 is positive
    return where(infinite, kind(np.nan), signed)
