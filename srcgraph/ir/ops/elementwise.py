"""Elementwise functions: exponentials, logarithms, special functions, trigonometry, roots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from srcgraph.ir.graph import Value
from srcgraph.ir.op import sample
from srcgraph.ir.ops._rules import binary, unary
from srcgraph.ir.ops.compare import equal, isinf, logical_or, where
from srcgraph.ir.ops.vector import div
from srcgraph.ir.promote import is_weak, resolve

_ANY = (sample("f64[3]"), sample("f32"))
_POSITIVE = (sample("f64[3]", domain=(0.2, 3.0)), sample("f32", domain=(0.2, 3.0)))
_UNIT = (sample("f64[3]", domain=(-0.9, 0.9)), sample("f32", domain=(-0.9, 0.9)))

# -- exponentials and logarithms ----------------------------------------------------------------

exp = unary(np.exp, lambda out, x: out, "np.exp(x)", doc="``e**x``.", through_complex=True, samples=_ANY)
exp2 = unary(np.exp2, lambda out, x: out * math.log(2.0), "np.exp2(x)", doc="``2**x``.", samples=_ANY)
expm1 = unary(np.expm1, lambda out, x: out + 1.0, "np.expm1(x)", doc="``e**x - 1``, accurate near 0.", samples=_ANY)
log = unary(
    np.log,
    lambda out, x: 1.0 / x,
    "np.log(x)",
    doc="Natural logarithm.",
    through_complex=True,
    samples=_POSITIVE,
    singular=True,
)
log2 = unary(
    np.log2,
    lambda out, x: (1.0 / math.log(2.0)) / x,
    "np.log2(x)",
    doc="Base-2 logarithm.",
    samples=_POSITIVE,
    singular=True,
)
log10 = unary(
    np.log10,
    lambda out, x: (1.0 / math.log(10.0)) / x,
    "np.log10(x)",
    doc="Base-10 logarithm.",
    samples=_POSITIVE,
    singular=True,
)
log1p = unary(
    np.log1p,
    lambda out, x: 1.0 / (1.0 + x),
    "np.log1p(x)",
    doc="``log(1 + x)``, accurate near 0.",
    samples=_POSITIVE,
    singular=True,
)


def shares(out: Value, x: Value, y: Value, exponential: Any) -> tuple[Value, Value]:
    """What ``exp(x)`` and ``exp(y)`` are of their sum, whose logarithm is ``out``; two infinities share it."""
    infinite = isinf(out)

    def share(v: Value) -> Value:
        at_end = where(equal(x, y), 0.5, where(equal(v, out), 1.0, 0.0))
        return where(infinite, at_end, exponential(where(infinite, 0.0, v - out)))

    return share(x), share(y)


logaddexp = binary(
    np.logaddexp,
    lambda out, x, y: shares(out, x, y, exp),
    "np.logaddexp(x, y)",
    doc="``log(exp(x) + exp(y))`` without overflow; two infinities share the derivative.",
    commutative=True,
    samples=(sample("f64[3]", "f64[3]"), sample("f64[3]", "float"), sample("f32[3]", "f32[3]")),
)

# -- special functions --------------------------------------------------------------------------

erf = unary(
    special.erf,
    lambda out, x: (2.0 / math.sqrt(math.pi)) * exp(-(x * x)),
    "math.erf(x)",
    doc="Error function.",
    samples=_ANY,
)
erfc = unary(
    special.erfc,
    lambda out, x: (-2.0 / math.sqrt(math.pi)) * exp(-(x * x)),
    "math.erfc(x)",
    doc="Complementary error function, ``1 - erf(x)``.",
    samples=_ANY,
)

# -- trigonometry -------------------------------------------------------------------------------

sin = unary(np.sin, lambda out, x: cos(x), "np.sin(x)", doc="Sine, in radians.", through_complex=True, samples=_ANY)
cos = unary(np.cos, lambda out, x: -sin(x), "np.cos(x)", doc="Cosine, in radians.", through_complex=True, samples=_ANY)
tan = unary(
    np.tan, lambda out, x: 1.0 + out * out, "np.tan(x)", doc="Tangent, in radians.", through_complex=True, samples=_UNIT
)
arcsin = unary(
    np.arcsin,
    lambda out, x: 1.0 / sqrt(1.0 - x * x),
    "np.arcsin(x)",
    doc="Inverse sine, in radians.",
    samples=_UNIT,
    singular=True,
)
arccos = unary(
    np.arccos,
    lambda out, x: -1.0 / sqrt(1.0 - x * x),
    "np.arccos(x)",
    doc="Inverse cosine, in radians.",
    samples=_UNIT,
    singular=True,
)
arctan = unary(
    np.arctan, lambda out, x: 1.0 / (1.0 + x * x), "np.arctan(x)", doc="Inverse tangent, in radians.", samples=_ANY
)
sinh = unary(np.sinh, lambda out, x: cosh(x), "np.sinh(x)", doc="Hyperbolic sine.", through_complex=True, samples=_ANY)
cosh = unary(
    np.cosh, lambda out, x: sinh(x), "np.cosh(x)", doc="Hyperbolic cosine.", through_complex=True, samples=_ANY
)
tanh = unary(
    np.tanh, lambda out, x: 1.0 - out * out, "np.tanh(x)", doc="Hyperbolic tangent.", through_complex=True, samples=_ANY
)
arcsinh = unary(
    np.arcsinh,
    lambda out, x: 1.0 / sqrt(x * x + 1.0),
    "np.arcsinh(x)",
    doc="Inverse hyperbolic sine.",
    samples=_ANY,
)
arccosh = unary(
    np.arccosh,
    lambda out, x: 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0)),
    "np.arccosh(x)",
    doc="Inverse hyperbolic cosine.",
    samples=(sample("f64[3]", domain=(1.2, 3.0)),),
    singular=True,
)
arctanh = unary(
    np.arctanh,
    lambda out, x: 1.0 / ((1.0 - x) * (1.0 + x)),
    "np.arctanh(x)",
    doc="Inverse hyperbolic tangent.",
    samples=_UNIT,
    singular=True,
)
deg2rad = unary(
    np.deg2rad,
    lambda out, x: math.pi / 180.0,
    "np.deg2rad(x)",
    doc="Degrees to radians.",
    python=(np.deg2rad, np.radians),
    linear=True,
    samples=_ANY,
)
rad2deg = unary(
    np.rad2deg,
    lambda out, x: 180.0 / math.pi,
    "np.rad2deg(x)",
    doc="Radians to degrees.",
    python=(np.rad2deg, np.degrees),
    linear=True,
    samples=_ANY,
)

# -- roots ---------------------------------------------------------------------------

sqrt = unary(
    np.sqrt,
    lambda out, x: 0.5 / out,
    "np.sqrt(x)",
    doc="Square root.",
    through_complex=True,
    samples=_POSITIVE,
    singular=True,
)


def or_zero(x: Any, y: Value) -> Value:
    """``x / y``, 0 where ``y`` is 0."""
    zero = equal(y, 0.0)
    return where(zero, 0.0, div(x, where(zero, 1.0, y)))


root = unary(
    np.sqrt,
    lambda out, x: or_zero(x.type.dtype.type(0.5), out),
    "np.sqrt(x)",
    doc="Square root whose derivative at 0 is 0: that of a norm or a standard deviation there.",
    name="root",
    python=(),
    samples=_POSITIVE,
    singular=True,
)
cbrt = unary(
    np.cbrt, lambda out, x: 1.0 / (3.0 * out * out), "np.cbrt(x)", doc="Cube root.", samples=_POSITIVE, singular=True
)
square = unary(
    np.square, lambda out, x: 2.0 * x, "x * x", doc="``x * x``.", grows=True, through_complex=True, samples=_ANY
)


def _whole_reciprocal(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    """Of integers: 1, -1 or 0, and of 0 what NumPy makes of infinity."""
    (x,) = inputs
    if x.type.dtype.kind not in "biu":
        return None
    dtype = resolve(np.reciprocal, [x.type])[1]
    x = builder.cast(x, dtype, is_weak(x.type))
    with np.errstate(all="ignore"):
        of_zero = np.reciprocal(np.zeros(1, dtype))[0]
    unit = logical_or(equal(x, 1), equal(x, -1)) if dtype.kind == "i" else equal(x, 1)
    return where(equal(x, 0), of_zero, where(unit, x, dtype.type(0)))


reciprocal = unary(
    np.reciprocal,
    lambda out, x: -(out * out),
    lambda dtype: (
        "complex_reciprocal(x)" if dtype.kind == "c" else "np.float32(1) / x" if dtype == np.float32 else "1 / x"
    ),
    doc="``1 / x``.",
    through_complex=True,
    helpers="ufuncs",
    simplify=_whole_reciprocal,
    samples=(*_POSITIVE, sample("i64[3]", domain=(-2, 3))),
    singular=True,
)
