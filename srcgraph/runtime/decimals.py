"""Python's ``round(x, digits)`` for compiled code: as if the exact decimal digits of a float were rounded.

References
----------
Dekker, Numerische Mathematik 18 (1971): the product of two floats as a sum of two. The C standard library's
``snprintf`` and ``strtod``, which round correctly.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from srcgraph.runtime.helpers import helper
from srcgraph.runtime.ufuncs import BYTES

_LIBRARY = ctypes.CDLL(None)
for _name in ("snprintf", "strtod"):
    llvm.add_symbol(f"srcgraph_{_name}", ctypes.cast(getattr(_LIBRARY, _name), ctypes.c_void_p).value)


def _writer(template: str) -> Any:
    """``write(text, digits, x)``: C's text of a number, in a buffer."""

    @intrinsic
    def write(typingctx: Any, text: Any, digits: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            data = context.make_array(text)(context, builder, values[0]).data
            kind = ir.FunctionType(ir.IntType(32), [BYTES, ir.IntType(64), BYTES], var_arg=True)
            called = _function(builder, kind, "snprintf")
            digits = builder.trunc(values[1], ir.IntType(32))
            length, form = ir.Constant(ir.IntType(64), ROOM), context.insert_const_string(builder.module, template)
            builder.call(called, [builder.bitcast(data, BYTES), length, form, digits, values[2]])
            return context.get_dummy_value()

        return types.void(text, types.int64, types.float64), codegen

    return write


@intrinsic
def _read(typingctx: Any, text: Any) -> Any:
    """The float nearest to a number that was written."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(text)(context, builder, values[0]).data
        kind = ir.FunctionType(ir.DoubleType(), [BYTES, BYTES])
        return builder.call(_function(builder, kind, "strtod"), [builder.bitcast(data, BYTES), BYTES(None)])

    return types.float64(text), codegen


def _function(builder: Any, kind: ir.FunctionType, name: str) -> ir.Function:
    symbol = f"srcgraph_{name}"
    return builder.module.globals.get(symbol) or ir.Function(builder.module, kind, symbol)


ROOM = 800
"""More characters than the longest number has."""
_write_fixed, _write_exponent = _writer("%.*f"), _writer("%.*e")


@helper
def round_float(x, digits):
    """A float with so many decimals; infinite where Python says that it is too large."""
    if x == 0.0 or not math.isfinite(x) or digits > 323:
        return x
    if digits < -308:
        return math.copysign(0.0, x)
    if abs(digits) > 22 or (digits < 0 and abs(x) >= 9007199254740992.0):
        return math.copysign(_by_text(abs(x), digits), x)
    return _by_two_floats(x, digits)


@helper
def _by_text(size, digits):
    text = np.zeros(ROOM, np.uint8)
    if digits >= 0:
        _write_fixed(text, digits, size)
        return _read(text)  # pyright: ignore[reportCallIssue]
    _write_exponent(text, 340, size)  # all the digits of a number that is not below 1
    exponent = 0
    for k in range(344, 347):
        if text[k] != 0:
            exponent = 10 * exponent + (int(text[k]) - 48)
    if text[343] == 45:
        return 0.0  # below 1
    kept = exponent + digits
    if kept < -1:
        return 0.0
    if kept >= 0:
        _write_exponent(text, kept, size)
        return _read(text)  # pyright: ignore[reportCallIssue]
    more = text[0] > 53 or (text[0] == 53 and bool(np.any(text[2:342] != 48)))
    if not more:
        return 0.0
    _write_exponent(text, 0, 9.7 * 10.0**exponent)
    return _read(text)  # pyright: ignore[reportCallIssue]


@helper
def _by_two_floats(x, digits):
    """``x * 10**digits`` exactly, as a sum of two floats: the quotient of the nearest whole number is the result."""
    scale = 1.0
    for _ in range(abs(digits)):
        scale *= 10.0
    size = abs(x)
    if digits < 0:
        rest = np.fmod(size, scale)
        whole = (size - rest) / scale
        half, error = scale * 0.5, 0.0
    else:
        scaled = size * scale
        if scaled >= 9007199254740992.0:
            return x
        a = 134217729.0 * size
        a = a - (a - size)
        b = 134217729.0 * scale
        b = b - (b - scale)
        error = ((a * b - scaled) + a * (scale - b) + (size - a) * b) + (size - a) * (scale - b)
        whole = float(np.floor(scaled))
        rest = scaled - whole
        half = 0.5
    odd = np.fmod(whole, 2.0) == 1.0
    if rest > half or (rest == half and (error > 0.0 or (error == 0.0 and odd))):
        whole += 1.0
    elif rest == 0.0 and odd and abs(error) == half:  # 53 bits before the point: a tie all the same
        whole += 1.0 if error > 0.0 else -1.0
    out = whole * scale if digits < 0 else whole / scale
    return math.copysign(out, x)
