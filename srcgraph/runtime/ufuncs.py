"""NumPy's ufuncs for compiled code: their C loops, called by pointer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from srcgraph.runtime.blocks import two_sum
from srcgraph.runtime.integers import Integers
from srcgraph.runtime.loops import loop_of

BYTES = ir.IntType(8).as_pointer()


def register(ufunc: np.ufunc, symbols: Mapping[str, str]) -> None:
    """Enter the loops for some types, each under a symbol; every process does so anew.

    So numba can keep on disk what it compiled.
    """
    for signature, symbol in symbols.items():
        loop, data = loop_of(ufunc, signature)
        llvm.add_symbol(symbol, loop)
        llvm.add_symbol(f"{symbol}_data", data)


def call_loop(builder: Any, symbol: str, operands: Any, sizes: Any, steps: Any) -> None:
    """Build the call of a loop: pointers to its operands, how many elements, the bytes from one to the next."""
    pointers = cgutils.pack_array(builder, [builder.bitcast(v, BYTES) for v in operands])
    pointers = builder.bitcast(cgutils.alloca_once_value(builder, pointers), BYTES)
    name = f"{symbol}_data"
    data = builder.module.globals.get(name) or ir.GlobalVariable(builder.module, ir.IntType(8), name)
    called = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [BYTES] * 4), symbol)
    builder.call(called, (pointers, builder.bitcast(sizes, BYTES), builder.bitcast(steps, BYTES), data))


@njit(error_model="numpy", pipeline_class=Integers)
def integer_power(x, y):
    """``x**y`` of NumPy's integers for ``y >= 0``, which wraps. numba's own goes through floats above 65536."""
    out, base, left = np.int64(1), np.int64(x), np.uint64(y)
    while left > np.uint64(0):
        if left & np.uint64(1):
            out *= base
        base *= base
        left >>= np.uint64(1)
    return out


@njit(error_model="numpy", pipeline_class=Integers)
def whole_power(x, y):
    """``x**y`` of Python's integers for ``y >= 0``; too large a result raises OverflowError."""
    out = 1
    while True:
        if y & 1:
            out *= x
        y >>= 1
        if y == 0:
            return out
        x *= x


# -- complex numbers: numba's own functions of them lose infinities, zeros of a sign and large numbers ---------------

_SINGLE = (types.complex64, types.float32)


def _of_complex(name: str, count: int = 1) -> Any:
    """A ufunc's value for one complex number, or ``count`` of them."""
    letters = {types.complex64: "F", types.complex128: "D"}
    symbols = {t: f"srcgraph_{name}_{c}" for t, c in letters.items()}
    register(getattr(np, name), {f"{c * count}->{c}": symbols[t] for t, c in letters.items()})

    @intrinsic
    def value(typingctx: Any, args: Any) -> Any:
        kind = types.complex64 if all(t in _SINGLE for t in args) else types.complex128

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            operands = []
            for k, type in enumerate(signature.args[0]):
                number = context.cast(builder, builder.extract_value(values[0], k), type, kind)
                operands.append(cgutils.alloca_once_value(builder, number))
            out = cgutils.alloca_once(builder, context.get_value_type(kind))
            word = context.get_value_type(types.intp)
            one = cgutils.alloca_once_value(builder, ir.Constant(word, 1))
            steps = cgutils.alloca_once_value(builder, ir.Constant(ir.ArrayType(word, count + 1), [0] * (count + 1)))
            call_loop(builder, symbols[kind], [*operands, out], one, steps)
            return builder.load(out)

        return kind(args), codegen

    @njit(error_model="numpy")
    def call(*args):
        return value(args)  # pyright: ignore[reportCallIssue]

    return call


_loop_exp, _loop_log, _loop_sqrt = (_of_complex(n) for n in ("exp", "log", "sqrt"))
complex_exp2, complex_expm1, complex_sign = (_of_complex(n) for n in ("exp2", "expm1", "sign"))
complex_log2, complex_log10, complex_log1p = (_of_complex(n) for n in ("log2", "log10", "log1p"))
complex_sin, complex_cos, complex_tan = (_of_complex(n) for n in ("sin", "cos", "tan"))
complex_sinh, complex_cosh, complex_tanh = (_of_complex(n) for n in ("sinh", "cosh", "tanh"))
complex_arcsin, complex_arccos, complex_arctan = (_of_complex(n) for n in ("arcsin", "arccos", "arctan"))
complex_arcsinh, complex_arccosh, complex_arctanh = (_of_complex(n) for n in ("arcsinh", "arccosh", "arctanh"))
complex_rint, complex_reciprocal = _of_complex("rint"), _of_complex("reciprocal")
complex_power = _of_complex("power", 2)


@njit(error_model="numpy")
def complex_exp(x):
    """The exponential, in place where no part of it overflows or is lost, else by NumPy's loop."""
    if abs(x.real) < 80.0 and abs(x.imag) < np.inf:
        length = np.exp(x.real)
        return _like(x, length * np.cos(x.imag), length * np.sin(x.imag))  # pyright: ignore[reportCallIssue]
    return _loop_exp(x)


@njit(error_model="numpy")
def complex_log(x):
    """The logarithm, in place where no square of a part overflows or is lost, else by NumPy's loop."""
    a, b = np.float64(x.real), np.float64(x.imag)
    square = a * a + b * b
    if not 1e-290 < square < 1e290:
        return _loop_log(x)
    twice = np.log(square) if square < 0.25 or square > 4.0 else np.log1p(_square_beyond_one(a, b))
    return _like(x, 0.5 * twice, np.arctan2(b, a))  # pyright: ignore[reportCallIssue]


@njit(error_model="numpy")
def _square_beyond_one(a, b):
    """``a**2 + b**2 - 1`` to the last digits: of what is near 0 few are left in a sum that is rounded twice."""
    square, other = a * a, b * b
    lost = _multiplied(a, a, -square)  # pyright: ignore[reportCallIssue]
    total, lost = two_sum(square, -1.0, lost)
    lost += _multiplied(b, b, -other)  # pyright: ignore[reportCallIssue]
    total, lost = two_sum(total, other, lost)
    return total + lost


@intrinsic
def _multiplied(typingctx: Any, x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fma(*values)

    return types.float64(types.float64, types.float64, types.float64), codegen


@njit(error_model="numpy")
def complex_sqrt(x):
    """The square root with a real part that is not negative; of very small and large numbers by NumPy's loop."""
    a, b = np.float64(x.real), np.float64(x.imag)
    square = a * a + b * b
    if not 1e-290 < square < 1e290:
        return _loop_sqrt(x)
    size = np.sqrt(0.5 * (np.sqrt(square) + abs(a)))
    other = 0.5 * abs(b) / size
    real, imag = (size, other) if a >= 0.0 else (other, size)
    return _like(x, real, np.copysign(imag, b))  # pyright: ignore[reportCallIssue]


@intrinsic
def _like(typingctx: Any, x: Any, real: Any, imag: Any) -> Any:
    """A complex number of the type of ``x``."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        out = context.make_complex(builder, signature.return_type)
        part = signature.return_type.underlying_float
        out.real, out.imag = (
            context.cast(builder, v, t, part) for v, t in zip(values[1:], signature.args[1:], strict=True)
        )
        return out._getvalue()

    kind = x if isinstance(x, types.Complex) else types.complex128
    return kind(x, real, imag), codegen


@njit(error_model="numpy")
def complex_divide(x, y):
    """A quotient as NumPy computes it, which multiplies by the reciprocal; infinite for a divisor of zero."""
    real, imag, scale = _smith(x, y)
    scale = np.reciprocal(scale)
    return complex(real * scale, imag * scale)


@njit(error_model="numpy")
def python_divide(x, y):
    """A quotient as CPython computes it."""
    real, imag, scale = _smith(x, y)
    return complex(real / scale, imag / scale)


@njit(error_model="numpy")
def _smith(x, y):
    """What a quotient's parts are multiples of, and of what, by Smith's method, which does not overflow."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    if c == 0 and d == 0:
        return a, b, abs(c)
    if abs(c) >= abs(d):
        ratio = d / c if d != 0.0 else d if c > 0.0 else -d
        return a + b * ratio, b - a * ratio, c + d * ratio
    ratio = c / d
    return a * ratio + b, b * ratio - a, c * ratio + d


@njit(error_model="numpy")
def python_power(x, y):
    """``x**y`` of complex numbers as CPython computes it, infinite or NaN where it raises."""
    if _is_whole(y):
        return _whole_power(x, int(y.real))
    if x == 0.0:
        return complex(0.0, 0.0)
    length, phase = np.hypot(x.real, x.imag) ** y.real, _phase(x, y)
    if y.imag != 0.0:
        length *= np.exp(-np.arctan2(x.imag, x.real) * y.imag)
    return complex(length * np.cos(phase), length * np.sin(phase))


@njit(error_model="numpy")
def no_power(x, y):
    """Whether CPython raises ZeroDivisionError for ``x**y``: it does so for an infinite phase, too."""
    if _is_whole(y):
        return y.real < 0.0 and _whole_power(x, -int(y.real)) == 0.0
    return bool(np.isinf(_phase(x, y))) if x != 0.0 else y.imag != 0.0 or y.real < 0.0


@njit(error_model="numpy")
def _is_whole(y):
    return y.imag == 0.0 and y.real == np.floor(y.real) and abs(y.real) <= 100.0


@njit(error_model="numpy")
def _phase(x, y):
    angle = np.arctan2(x.imag, x.real) * y.real
    return angle if y.imag == 0.0 else angle + y.imag * np.log(np.hypot(x.real, x.imag))


@njit(error_model="numpy")
def _whole_power(x, n):
    out, base, left = complex(1.0, 0.0), x, abs(n)
    while left > 0:
        if left & 1:
            out = out * base
        base = base * base
        left >>= 1
    return out if n > 0 else python_divide(complex(1.0, 0.0), out)
