"""Elementwise mathematics: one record per function, named as in NumPy."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from scipy import special

from srcgraph.ir import dims
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, current_builder, define, sample
from srcgraph.ir.ops._rules import arithmetic, binary, conjugated, from_partials, of_complex, unary
from srcgraph.ir.ops.compare import equal, greater, less, logical_and, logical_or, not_equal, where
from srcgraph.ir.ops.vector import div, literal, neg
from srcgraph.ir.promote import is_weak, resolve, ufunc
from srcgraph.ir.types import (
    BOOL,
    INT,
    PY_BOOL,
    PY_FLOAT,
    ArrayType,
    ScalarType,
    TensorType,
    is_complex,
    is_float,
    is_inexact,
)

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

logaddexp = binary(
    np.logaddexp,
    lambda out, x, y: tuple(where(equal(x, y), 0.5, exp(v - out)) for v in (x, y)),
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

# -- powers and roots ---------------------------------------------------------------------------

sqrt = unary(
    np.sqrt,
    lambda out, x: 0.5 / out,
    "np.sqrt(x)",
    doc="Square root.",
    through_complex=True,
    samples=_POSITIVE,
    singular=True,
)
root = unary(
    np.sqrt,
    lambda out, x: _or_zero(x.type.dtype.type(0.5), out),
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
square = unary(np.square, lambda out, x: 2.0 * x, "x * x", doc="``x * x``.", through_complex=True, samples=_ANY)


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
    of_complex("1 / x", "complex_reciprocal(x)"),
    doc="``1 / x``.",
    through_complex=True,
    helpers="ufuncs",
    simplify=_whole_reciprocal,
    samples=(*_POSITIVE, sample("i64[3]", domain=(-2, 3))),
    singular=True,
)


def _power_partials(out: Value, x: Value, y: Value) -> tuple[Any, Any]:
    """``y x**(y - 1)``, 0 where y is 0; ``x**y log x``, 0 where x is not positive."""
    by_x = where(equal(y, 0.0), 0.0, y * power(x, y - 1.0))
    positive = greater(x, 0.0)
    return by_x, where(positive, out * log(where(positive, x, 1.0)), 0.0)


def _ipow_partials(out: Value, x: Value, *, n: int) -> tuple[Any]:
    if n == 0:
        return (None,)
    return (float(n) * ipow(x, n=n - 1),)


def _small_power(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    """A literal whole exponent is part of the op: no logarithm, and text as the user wrote it."""
    x, y = inputs
    n = literal(builder, y)
    if n is None or x.type.dtype != y.type.dtype or x.type.dtype.kind == "b":
        return None
    if n == 0.5 and isinstance(x.type, ArrayType):  # NumPy does so, for arrays only: -0.0 and -inf show it
        return builder.apply(sqrt, (x,), {})
    if x.type.dtype.kind == "c":
        return _complex_power(x, int(n.real)) if 0 < abs(n) <= 16 and n == int(n.real) else None
    if not abs(n) <= 16 or n != int(n) or (x.type.dtype.kind != "f" and n < 0):
        return None
    return builder.apply(ipow, (x,), {"n": int(n)})


def _complex_power(x: Value, n: int) -> Value:
    """A whole power by squaring and multiplying, as NumPy and Python do."""
    if n == -1 and x.type.ndim:
        return reciprocal(x)
    out: Any = None
    base, left = x, abs(n)
    while left:
        if left & 1:
            out = base if out is None else out * base
        left >>= 1
        base = base * base if left else base
    return out if n > 0 else 1.0 / out


def _ipow_text(dtype: np.dtype, *, n: int) -> str:
    """Of a negative power, one over the positive one: numba's own raises at zero."""
    one = "1.0" if dtype == np.float64 else f"np.{dtype}(1.0)"
    return f"x ** {n}" if n >= 0 else f"{one} / x ** {-n}" if n < -1 else f"{one} / x"


def _ipow_type(x: TensorType, *, n: int) -> TensorType:
    if isinstance(x, ScalarType) and x.value is not None:
        return ScalarType(x.dtype, x.weak, dims.product([x.value] * n))
    return x


ipow = define(
    name="ipow",
    doc="``x**n`` for a whole number ``n`` known when compiling.",
    infer=_ipow_type,
    numpy=lambda x, *, n: np.power(x, np.asarray(n).astype(np.asarray(x).dtype)),
    emit={"cpu": _ipow_text},
    simplify=lambda builder, inputs, attrs: inputs[0] if attrs["n"] == 1 else None,
    samples=(sample("f64[3]", n=3), sample("f64", n=-2, domain=(0.5, 2.0)), sample("f32", n=-1, domain=(0.5, 2.0))),
    **from_partials(_ipow_partials),
    singular=True,
)


def _power_meaning(x: Any, y: Any) -> Any:
    """`numpy.power`; of two numbers C's ``pow``, which is not a square root for ``-0.0`` and ``-inf``."""
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return np.power(x, y)
    return np.asarray(x)[()] ** np.asarray(y)[()]


def _power_text(dtype: np.dtype) -> str:
    if dtype.kind not in "iu":
        return "complex_power(x, y)" if dtype.kind == "c" else "x ** y"
    return "np.uint64(integer_power(x, y))" if dtype == np.uint64 else "integer_power(x, y)"


power = binary(
    np.power,
    _power_partials,
    _power_text,
    doc="``x**y``.",
    numpy=_power_meaning,
    infer=arithmetic(np.power),
    python=(operator.pow,),
    simplify=_small_power,
    helpers="ufuncs",
    samples=(
        sample("f64[3]", "f64[3]", domain=(0.3, 2.0)),
        sample("f64[3]", "float", domain=(0.3, 2.0)),
        sample("f64[3]", -2.0, domain=(0.5, 2.0)),
    ),
    singular=True,
)


def _python_power(x: complex, y: complex, failure: complex = complex(math.inf, math.nan)) -> complex:
    """Python's own power; ``failure`` where it raises ZeroDivisionError, infinite where it raises OverflowError."""
    try:
        return complex(x) ** complex(y)
    except ZeroDivisionError:
        return failure
    except OverflowError:
        return complex(math.inf, math.nan)


def _python_power_partials(out: Value, x: Value, y: Value) -> tuple[Any, Any]:
    fixed = literal(current_builder(), y) is not None
    return y * python_power(x, y - 1.0), None if fixed else out * log(x)


python_power = binary(
    np.power,
    _python_power_partials,
    "python_power(x, y)",
    name="python_power",
    doc="``x**y`` of Python's complex numbers.",
    numpy=_python_power,
    python=(),
    through_complex=True,
    helpers="ufuncs",
    samples=(sample("complex", "complex"), sample("complex", -2.5)),
    singular=True,
)
no_power = binary(
    np.power,
    None,
    "no_power(x, y)",
    name="no_power",
    doc="Whether Python raises ZeroDivisionError for a power of complex numbers.",
    infer=lambda x, y: PY_BOOL,
    numpy=lambda x, y: _python_power(x, y, failure=True) is True,
    python=(),
    helpers="ufuncs",
)
hypot = binary(
    np.hypot,
    lambda out, x, y: (_or_zero(x, out), _or_zero(y, out)),
    "np.hypot(x, y)",
    doc="``sqrt(x**2 + y**2)`` without overflow; derivative 0 at the origin.",
    commutative=True,
    samples=(sample("f64[3, 4]", "f64[4]"),),
    singular=True,
)


def _or_zero(x: Any, y: Value) -> Value:
    """``x / y``, 0 where ``y`` is 0."""
    zero = equal(y, 0.0)
    return where(zero, 0.0, div(x, where(zero, 1.0, y)))


arctan2 = binary(
    np.arctan2,
    lambda out, y, x: (_or_zero(x, x * x + y * y), -_or_zero(y, x * x + y * y)),
    "np.arctan2(x, y)",
    doc="Angle of the point (second, first operand); derivative 0 at the origin.",
    samples=(sample("f64[3]", "f64[3]"),),
    singular=True,
)

# -- sign, rounding, remainders -----------------------------------------------------------------

sign = unary(np.sign, None, "np.sign(x)", doc="-1, 0 or 1 with the sign of ``x``.", python=(), samples=_ANY)


def _direction(out: Value, x: Value) -> Value:
    """The complex number of length 1 that points where ``x`` does; 0 of 0."""
    zero = equal(out, 0.0)
    return where(zero, 0.0, x / where(zero, 1.0, out))


def _absolute_jvp(tangents: Any, out: Value, x: Value) -> Value | None:
    (tx,) = tangents
    if tx is None or not is_complex(x.type):
        return None if tx is None else tx * sign(x)
    return OPS["real"](conjugated(_direction(out, x)) * tx)


def _absolute_vjp(ct: Value, out: Value, x: Value) -> tuple[Value | None]:
    if not is_inexact(x.type):
        return (None,)
    return (ct * (_direction(out, x) if is_complex(x.type) else sign(x)),)


absolute = unary(
    np.absolute,
    None,
    "abs(x)",
    jvp=_absolute_jvp,
    vjp=_absolute_vjp,
    doc="Absolute value; derivative 0 at 0.",
    python=(np.absolute, abs, operator.abs),
    infer=arithmetic(np.absolute),
    through_complex=True,
    samples=(*_ANY, sample("int")),
)
fabs = unary(
    np.fabs, lambda out, x: sign(x), "np.fabs(x)", doc="Absolute value as a float; derivative 0 at 0.", samples=_ANY
)
floor = unary(np.floor, None, "np.floor(x)", doc="Largest integer not above ``x``, as a float.", samples=_ANY)
ceil = unary(np.ceil, None, "np.ceil(x)", doc="Smallest integer not below ``x``, as a float.", samples=_ANY)
trunc = unary(np.trunc, None, "np.trunc(x)", doc="``x`` without its fraction.", python=(np.trunc, np.fix), samples=_ANY)
rint = unary(np.rint, None, "np.rint(x)", doc="Nearest integer, halves to even.", samples=_ANY)


def _rounded(x: float, digits: int) -> float:
    try:
        return round(float(x), int(digits))
    except OverflowError:
        return math.copysign(math.inf, x)


round_float = define(
    name="round_float",
    doc="Python's ``round(x, digits)``, infinite where it raises; no derivative passes.",
    infer=lambda x, digits: PY_FLOAT,
    numpy=_rounded,
    emit={"cpu": "round_float(x, y)"},
    helpers="decimals",
)
held = define(
    name="held",
    doc="``x``, for what is piecewise constant in it: no derivative passes.",
    infer=lambda x: x,
    numpy=lambda x: x,
    emit={"cpu": "x"},
)


def _wrapping(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    """Of NumPy's 64-bit integers: a divisor of -1 wraps the smallest, which the processor cannot divide."""
    x, y = inputs
    types = (x.type, y.type)
    if any(t.dtype.kind != "i" for t in types) or all(is_weak(t) for t in types):
        return None
    known = literal(builder, y)
    node = builder.definition(y)
    safe = node is not None and node.op is where and literal(builder, node.inputs[1]) == 1
    if np.result_type(*(t.dtype for t in types)) != INT or safe or (known is not None and known != -1):
        return None
    negative = neg(builder.cast(x, INT))
    if known == -1:
        return negative
    minus = equal(y, -1)
    return where(minus, negative, floordiv(x, where(minus, 1, y)))


floordiv = binary(
    np.floor_divide,
    None,
    "x // y",
    doc="``floor(x / y)``; Python's check for zero is a node of its own.",
    name="floordiv",
    infer=arithmetic(np.floor_divide, lambda x, y: dims.floordiv(x, y) if y != 0 else dims.as_dim(0)),
    simplify=_wrapping,
    python=(np.floor_divide, operator.floordiv),
    samples=(sample("f64[3]", "f64[3]", domain=(0.5, 3.0)), sample("int", "int", domain=(1, 9))),
)
mod = binary(
    np.remainder,
    lambda out, x, y: (1, -floordiv(x, y)),
    "x % y",
    doc="``x - floor(x / y) * y``, with the sign of ``y``.",
    name="mod",
    infer=arithmetic(np.remainder, lambda x, y: dims.modulo(x, y) if y != 0 else dims.as_dim(0)),
    python=(np.remainder, operator.mod),
    samples=(sample("f64[3]", "f64[3]", domain=(0.5, 3.0)), sample("int", "int", domain=(1, 9))),
)


def _truncated(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    """Of integers: what is left by floor division, less a divisor where the signs differ."""
    x, y = inputs
    if x.type.dtype.kind not in "iu" or y.type.dtype.kind not in "iu":
        return None
    left = mod(x, y)
    differs = not_equal(less(x, 0), less(y, 0))
    return where(logical_and(not_equal(left, 0), differs), left - y, left)


fmod = binary(
    np.fmod,
    lambda out, x, y: (1, -trunc(x / y)),
    "np.fmod(x, y)",
    doc="``x - trunc(x / y) * y``, with the sign of ``x``.",
    python=(np.fmod,),
    simplify=_truncated,
    samples=(sample("f64[3]", "f64[3]", domain=(0.5, 3.0)), sample("i64[9]", 4, domain=(-9, 9))),
)
copysign = binary(
    np.copysign,
    lambda out, x, y: (where(equal(sign(x), 0.0), 0.0, sign(x) * copysign(1.0, y)), None),
    "np.copysign(x, y)",
    doc="``abs(x)`` with the sign of ``y``.",
    samples=(sample("f64[3]", "f64[3]"),),
)

# -- extremes -----------------------------------------------------------------------------------


def _half_at_tie(wins: Value, ties: Value) -> Value:
    return where(wins, 1.0, where(ties, 0.5, 0.0))


def _extreme(function: np.ufunc, wins: Any, doc: str, exact: Any = None) -> Any:
    def vjp(ct: Value, out: Value, x: Value, y: Value) -> tuple[Value | None, ...]:
        """The cotangent chosen, not multiplied by 0 or 1: it may be infinite where it does not count."""
        ties = equal(x, y)
        half = where(ties, ct * 0.5, 0.0)
        return tuple(where(wins(a, b), ct, half) if is_float(a.type) else None for a, b in ((x, y), (y, x)))

    return binary(
        function,
        lambda out, x, y: (_half_at_tie(wins(x, y), equal(x, y)), _half_at_tie(wins(y, x), equal(x, y))),
        f"np.{function.__name__}(x, y)",
        doc=doc,
        vjp=vjp,
        infer=arithmetic(function, exact) if exact else ufunc(function),
        commutative=True,
        samples=(sample("f64[3, 4]", "f64[4]"), sample("f64[3]", "float")),
    )


maximum = _extreme(np.maximum, greater, "The larger of two, NaN if either is; ties share the derivative.", dims.maximum)
minimum = _extreme(np.minimum, less, "The smaller of two, NaN if either is; ties share the derivative.", dims.minimum)
fmax = _extreme(np.fmax, greater, "The larger of two, ignoring NaN; ties share the derivative.")
fmin = _extreme(np.fmin, less, "The smaller of two, ignoring NaN; ties share the derivative.")

# -- integers -----------------------------------------------------------------------------------


def _shift_by_literal(plain: str) -> Any:
    def simplify(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
        by = literal(builder, inputs[1])
        return builder.apply(OPS[plain], inputs, attrs) if by is not None and 0 <= by < 64 else None

    return simplify


_INTS = (sample("i64[3]", "i64[3]", domain=(0, 5)), sample("int", "int", domain=(0, 5)))
bit_and = binary(
    np.bitwise_and,
    None,
    "x & y",
    doc="Bitwise and.",
    python=(np.bitwise_and, operator.and_),
    commutative=True,
    samples=_INTS,
)
bit_or = binary(
    np.bitwise_or,
    None,
    "x | y",
    doc="Bitwise or.",
    python=(np.bitwise_or, operator.or_),
    commutative=True,
    samples=_INTS,
)
bit_xor = binary(
    np.bitwise_xor,
    None,
    "x ^ y",
    doc="Bitwise exclusive or.",
    python=(np.bitwise_xor, operator.xor),
    commutative=True,
    samples=_INTS,
)
invert = unary(
    np.invert,
    None,
    lambda dtype: "not x" if dtype == BOOL else "~x",
    doc="Bitwise not.",
    python=(np.invert, operator.invert),
    samples=(sample("i64[3]"), sample("b1[3]")),
)
left_shift = binary(
    np.left_shift,
    None,
    lambda dtype: (
        "x << y if 0 <= y < 64 else 0" if dtype.kind == "i" else "x << y if y < np.uint64(64) else np.uint64(0)"
    ),
    doc="Bits shifted left.",
    python=(np.left_shift, operator.lshift),
    simplify=_shift_by_literal("shift_left"),
    samples=(*_INTS, sample("i64[3]", 70), sample("i32[3]", "i32[3]", domain=(0, 40))),
)
right_shift = binary(
    np.right_shift,
    None,
    lambda dtype: (
        "x >> (y if 0 <= y < 64 else 63)" if dtype.kind == "i" else "x >> y if y < np.uint64(64) else np.uint64(0)"
    ),
    doc="Bits shifted right.",
    python=(np.right_shift, operator.rshift),
    simplify=_shift_by_literal("shift_right"),
    samples=(*_INTS, sample("i64[3]", 70), sample("i32[3]", "i32[3]", domain=(0, 40))),
)
binary(
    np.left_shift,
    None,
    "x << y",
    doc="Bits shifted left by a number known to be in range.",
    name="shift_left",
    python=(),
    samples=(sample("i64[3]", 3),),
)
binary(
    np.right_shift,
    None,
    "x >> y",
    doc="Bits shifted right by a number known to be in range.",
    name="shift_right",
    python=(),
    samples=(sample("i64[3]", 3),),
)
