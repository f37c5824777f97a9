"""Quotients by a number that stays the same in a loop: one reciprocal, and the result is that of ``/``.

A division takes a processor as long as eight multiplications and more. With ``r``, the reciprocal of ``d`` rounded,
``q = x * r`` is next to the quotient; what is left of ``x``, ``x - q * d``, is exact where multiplying and adding round
once, and ``q + (x - q * d) * r`` is ``x / d`` rounded to nearest. A divisor below 1 is scaled by a power of two, with
``x``, so that it has a reciprocal and what is left is not too small; a ``q`` that is too large begins with the largest
float. What is left need not be exact for a quotient below 2^-969: there the last bit may differ, of subnormal ones too.

References
----------
P. W. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", IBM J. Res. Dev. 34, 1990.
N. Brisebarre, J.-M. Muller, S. K. Raina, "Accelerating correctly rounded floating-point division when the divisor is
known in advance", IEEE Trans. Comput. 53 (2004).
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

HAS_FMA = "x86_64" not in llvm.get_default_triple() or bool(llvm.get_host_cpu_features().get("fma"))
"""Whether the processor multiplies and adds with one rounding; all but old ones of x86 do."""
_BIAS, _MANTISSA = 1023, 52
"""Of a float64's exponent, and its bits below it."""
_LARGEST = sys.float_info.max


def quotient(x: Any, d: Any) -> Any:
    """``x / d``, for a ``d`` that is the same in all steps of a loop."""
    return x / d


@type_callable(quotient)
def _type_of_quotient(context: Any) -> Callable[..., Any]:
    return lambda x, d: context.resolve_function_type(operator.truediv, (x, d), {})


@lower_builtin(quotient, types.Any, types.Any)
def _divided(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return context.get_function(operator.truediv, signature)(builder, args)


@lower_builtin(quotient, types.float64, types.float64)
def _multiplied(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    if not HAS_FMA:
        return _divided(context, builder, signature, args)
    b, (x, d) = builder, args
    number: Any = d.type
    scale = _of(b, "copysign", _scale(b, d), d)
    x, d = b.fmul(x, scale), b.fmul(d, scale)  # `d` is positive now, and the quotient's sign that of `x`
    r = b.fdiv(number(1.0), d)
    d = b.select(b.fcmp_ordered("==", d, number(math.inf)), number(0.0), d)  # x / inf is x * 0
    size = _of(b, "fabs", x)
    q = b.fmul(size, r)
    q = b.select(b.fcmp_ordered("<", q, number(_LARGEST)), q, number(_LARGEST))
    return _of(b, "copysign", b.fma(b.fma(b.fneg(q), d, size), r, q), x)


def _scale(b: Any, d: Any) -> Any:
    """The power of two that makes a number one from 1/2 to 1, or 1 for larger ones; 2^1022 for subnormal ones."""
    word: Any = ir.IntType(64)
    exponent = b.and_(b.lshr(b.bitcast(d, word), word(_MANTISSA)), word(2 * _BIAS + 1))
    power = b.bitcast(b.shl(b.sub(word(2 * _BIAS - 1), exponent), word(_MANTISSA)), d.type)
    return b.select(b.icmp_unsigned("<", exponent, word(_BIAS)), power, d.type(1.0))


def _of(builder: Any, name: str, *args: Any) -> Any:
    """LLVM's own function of numbers of one type."""
    kind = args[0].type
    function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind] * len(args)))
    return builder.call(function, args)
