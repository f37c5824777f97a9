"""Quotients by a number that stays the same in a loop: one reciprocal, and the result is that of ``/``.

A division takes a processor as long as eight multiplications and more. With ``r``, the reciprocal of ``d`` rounded,
``q = x * r`` is next to the quotient; what is left of ``x``, ``x - q * d``, is exact where multiplying and adding round
once, and ``q + (x - q * d) * r`` is ``x / d`` rounded to nearest. A divisor below 2^-1000 is scaled by a power of two,
with ``x``, so that it has a reciprocal. Where ``q`` is 0, infinite or NaN, it is the quotient itself. What is left of
an ``x`` below 2^-969 need not be exact; then the last bit may differ.

References
----------
P. W. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", IBM J. Res. Dev. 34, 1990.
N. Brisebarre, J.-M. Muller, S. K. Raina, "Accelerating correctly rounded floating-point division when the divisor is
known in advance", IEEE Trans. Comput. 53 (2004).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

HAS_FMA = "x86_64" not in llvm.get_default_triple() or bool(llvm.get_host_cpu_features().get("fma"))
"""Whether the processor multiplies and adds with one rounding; all but old ones of x86 do."""
_SMALL, _SCALE = 2.0**-1000, 2.0**64


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
    is_small = b.fcmp_ordered("<", _of(b, "fabs", d), number(_SMALL))
    scale = b.select(is_small, number(_SCALE), number(1.0))
    x, d = b.fmul(x, scale), b.fmul(d, scale)
    r = b.fdiv(number(1.0), d)
    q = b.fmul(x, r)
    found = b.fma(b.fma(b.fneg(q), d, x), r, q)
    found = b.select(b.fcmp_ordered("ord", found, found), found, q)
    return _of(b, "copysign", found, q)


def _of(builder: Any, name: str, *args: Any) -> Any:
    """LLVM's own function of numbers of one type."""
    kind = args[0].type
    function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind] * len(args)))
    return builder.call(function, args)
