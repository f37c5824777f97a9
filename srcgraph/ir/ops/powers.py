"""Elementwise powers, and what two numbers make together: length and angle."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from srcgraph.ir import dims
from srcgraph.ir.graph import Value
from srcgraph.ir.op import current_builder, define, sample
from srcgraph.ir.ops._rules import arithmetic, binary, from_partials, unary
from srcgraph.ir.ops.compare import equal, greater, isfinite, logical_and, logical_not, where
from srcgraph.ir.ops.elementwise import log, or_zero, reciprocal, sqrt
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.promote import is_weak
from srcgraph.ir.types import (
    PY_BOOL,
    ArrayType,
    ScalarType,
    TensorType,
)


def _power_partials(out: Value, x: Value, y: Value) -> tuple[Any, Any]:
    """``y x**(y - 1)``, 0 where y is 0 and the power infinite; ``x**y log x``, 0 where x is not positive."""
    below = power(x, y - 1.0)
    by_x = where(logical_and(equal(y, 0.0), logical_not(isfinite(below))), 0.0, y * below)
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
    if n == 0.5 and x.type.dtype.kind == "f" and (is_weak(y.type) or not is_weak(x.type)):
        return builder.apply(half_power, (x,), {})
    if x.type.dtype.kind == "c":
        return _complex_power(x, int(n.real)) if 0 < abs(n) <= 16 and n == int(n.real) else None
    if not abs(n) <= 16 or n != int(n) or (x.type.dtype.kind != "f" and n < 0):
        return None
    if is_weak(x.type) and not is_weak(y.type):  # with one of NumPy's numbers the power is NumPy's
        x = builder.cast(x, x.type.dtype, False)
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
    """Of a negative power, one over the positive one: numba's own raises at zero.

    Of integers, its powers are signed ones of 64 bits, of which LLVM is told that they do not wrap.
    """
    if dtype.kind in "iu" and dtype != np.int64 and n > 1:
        power = "x * x" if n == 2 else f"integer_power(x, {n})"
        return f"np.uint64({power})" if dtype == np.uint64 and n > 2 else power
    one = "1.0" if dtype == np.float64 else f"np.{dtype}(1.0)"
    return f"x ** {n}" if n >= 0 else f"{one} / x ** {-n}" if n < -1 else f"{one} / x"


def _ipow_type(x: TensorType, *, n: int) -> TensorType:
    if isinstance(x, ScalarType) and x.value is not None:
        value = dims.product([x.value] * n)
        return ScalarType(x.dtype, x.weak, value if x.weak and value.fits() else None)
    return x


ipow = define(
    name="ipow",
    doc="``x**n`` for a whole number ``n`` known when compiling.",
    grows=True,
    infer=_ipow_type,
    numpy=lambda x, *, n: np.power(x, np.asarray(n).astype(np.asarray(x).dtype)),
    emit={"cpu": _ipow_text},
    simplify=lambda builder, inputs, attrs: inputs[0] if attrs["n"] == 1 else None,
    samples=(sample("f64[3]", n=3), sample("f64", n=-2, domain=(0.5, 2.0)), sample("f32", n=-1, domain=(0.5, 2.0))),
    **from_partials(_ipow_partials),
    singular=True,
)


half_power = unary(
    np.sqrt,
    lambda out, x: 0.5 / out,
    lambda dtype: "x ** np.float32(0.5)" if dtype == np.float32 else "x ** 0.5",
    name="half_power",
    doc="``x**0.5`` of a number: C's ``pow``, a square root but for ``-0.0`` and ``-inf``.",
    numpy=lambda x: np.asarray(x)[()] ** np.asarray(x).dtype.type(0.5),
    infer=lambda x: x,
    python=(),
    samples=(sample("f64", domain=(0.3, 2.0)), sample("float", domain=(0.3, 2.0)), sample("f32", domain=(0.3, 2.0))),
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


whole_power = binary(
    np.power,
    None,
    "whole_power(x, y)",
    name="whole_power",
    doc="``x**y`` of Python's integers, for ``y >= 0``.",
    infer=arithmetic(np.power),
    python=(),
    simplify=_small_power,
    grows=True,
    helpers="ufuncs",
    samples=(sample("int", "int", domain=(0, 5)),),
)
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
    lambda out, x, y: (or_zero(x, out), or_zero(y, out)),
    "np.hypot(x, y)",
    doc="``sqrt(x**2 + y**2)`` without overflow; derivative 0 at the origin.",
    commutative=True,
    samples=(sample("f64[3, 4]", "f64[4]"),),
    singular=True,
)


arctan2 = binary(
    np.arctan2,
    lambda out, y, x: (or_zero(x, x * x + y * y), -or_zero(y, x * x + y * y)),
    "np.arctan2(x, y)",
    doc="Angle of the point (second, first operand); derivative 0 at the origin.",
    samples=(sample("f64[3]", "f64[3]"),),
    singular=True,
)
