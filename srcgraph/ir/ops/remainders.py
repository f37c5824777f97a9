"""Elementwise signs, rounding, remainders, extremes, and the bits of integers."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from srcgraph.ir import dims
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, define, sample
from srcgraph.ir.ops._rules import arithmetic, binary, conjugated, unary
from srcgraph.ir.ops.compare import equal, greater, less, logical_and, logical_or, not_equal, where
from srcgraph.ir.ops.vector import literal, neg
from srcgraph.ir.promote import is_weak, ufunc
from srcgraph.ir.types import (
    BOOL,
    INT,
    PY_FLOAT,
    is_complex,
    is_float,
    is_inexact,
)

_ANY = (sample("f64[3]"), sample("f32"))

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
    grows=True,
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
    size = getattr(y.type, "value", None)
    safe = safe or (size is not None and builder.proves(size))
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
    grows=True,
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


def _unless_nan(wins: Any) -> Any:
    """Whether ``x`` wins, also where ``y`` is NaN."""
    return lambda x, y: logical_or(wins(x, y), logical_and(not_equal(y, y), equal(x, x)))


maximum = _extreme(np.maximum, greater, "The larger of two, NaN if either is; ties share the derivative.", dims.maximum)
minimum = _extreme(np.minimum, less, "The smaller of two, NaN if either is; ties share the derivative.", dims.minimum)
fmax = _extreme(np.fmax, _unless_nan(greater), "The larger of two, ignoring NaN; ties share the derivative.")
fmin = _extreme(np.fmin, _unless_nan(less), "The smaller of two, ignoring NaN; ties share the derivative.")

# -- integers -----------------------------------------------------------------------------------


def _shift_by_literal(plain: str) -> Any:
    def simplify(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
        by = literal(builder, inputs[1])
        return builder.apply(OPS[plain], inputs, attrs) if by is not None and 0 <= by < 64 else None

    return simplify


_INTS = (sample("i64[3]", "i64[3]", domain=(0, 5)), sample("int", "int", domain=(0, 5)))


def _bits(function: np.ufunc, sign: str, python: Any, doc: str, **fields: Any) -> Any:
    fields |= {"python": (function, python), "commutative": True, "samples": _INTS}
    return binary(function, None, f"x {sign} y", doc=doc, **fields)


def _within_mask(out: Value, x: Value, y: Value) -> list[dims.Dim]:
    """What has no bits but those of a mask is from 0 to the mask."""
    found, *masks = (getattr(v.type, "value", None) for v in (out, x, y))
    known = [m for m in masks if m is not None and m.const is not None and m.const >= 0]
    return [d for m in known if found is not None for d in (found, m - found)]


bit_and = _bits(np.bitwise_and, "&", operator.and_, "Bitwise and.", learn=_within_mask)
bit_or = _bits(np.bitwise_or, "|", operator.or_, "Bitwise or.")
bit_xor = _bits(np.bitwise_xor, "^", operator.xor, "Bitwise exclusive or.")
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
    doc="Bits shifted left by a number known to be in range, Python's integers by any that is not negative.",
    grows=True,
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
