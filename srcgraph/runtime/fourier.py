"""Fourier transforms for compiled code, by NumPy's own: the C loops of its ufuncs, called by pointer.

NumPy's transforms are generalized ufuncs, each a loop in C that reads and writes lines of arrays of any strides,
cut or filled up with zeros to the length wanted. Nothing of them is compiled here.

References
----------
NumPy reference, "Array API, types and structures": ``PyUFuncObject``, whose ``functions`` and ``data`` say what to
call, and ``PyUFuncGenericFunction``, how. Reinecke, PocketFFT: the algorithm.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic, overload
from numpy.fft import _pocketfft_umath  # type: ignore[attr-defined]


class _UFunc(ctypes.Structure):
    """The beginning of NumPy's ``PyUFuncObject``."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
    )


_NOTHING = ctypes.c_byte()
"""What a loop gets that has no data of its own."""


def loop(name: str) -> Any:
    """The C loop of a ufunc of NumPy's, called as ``loop(x, factor, out, sizes, steps)``; for compiled code.

    ``sizes`` are the number of lines, and the length of one in ``x`` and in ``out``; ``steps`` the bytes from line to
    line in ``x``, for the factor and in ``out``, then from element to element in ``x`` and in ``out``. The loop and
    its data are symbols that every process registers anew, so that numba can keep what it compiled on disk.
    """
    ufunc = getattr(_pocketfft_umath, name)
    found = _UFunc.from_address(id(ufunc))
    for k, signature in enumerate(ufunc.types):
        symbol = f"srcgraph_{name}_{signature[-1].lower()}"
        llvm.add_symbol(symbol, found.functions[k])
        llvm.add_symbol(f"{symbol}_data", found.data[k] if found.data else ctypes.addressof(_NOTHING))

    @intrinsic
    def call(typingctx: Any, x: Any, factor: Any, out: Any, sizes: Any, steps: Any) -> Any:
        symbol = f"srcgraph_{name}_{_LETTER[factor]}"

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arrays = {k: context.make_array(signature.args[k])(context, builder, values[k]).data for k in (0, 2)}
            kept = {k: cgutils.alloca_once_value(builder, values[k]) for k in (1, 3, 4)}
            x, factor, out, sizes, steps = (builder.bitcast(v, _BYTES) for _, v in sorted((arrays | kept).items()))
            operands = cgutils.pack_array(builder, (x, factor, out))
            operands = builder.bitcast(cgutils.alloca_once_value(builder, operands), _BYTES)
            data = _symbol(builder.module, f"{symbol}_data")
            kind = ir.FunctionType(ir.VoidType(), [_BYTES] * 4)
            builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), (operands, sizes, steps, data))
            return context.get_dummy_value()

        return types.void(x, factor, out, sizes, steps), codegen

    return call


def _symbol(module: ir.Module, name: str) -> ir.GlobalVariable:
    """The address registered under a name."""
    return module.globals.get(name) or ir.GlobalVariable(module, ir.IntType(8), name)


_BYTES = ir.IntType(8).as_pointer()
_LETTER = {types.float32: "f", types.float64: "d"}
_fft, _ifft, _even, _odd, _irfft = (loop(n) for n in ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft"))


with_length: Any = tuple_setitem
"""``with_length(shape, axis, n)`` is a shape with the length of one axis replaced; for compiled code."""


def complex_array(x, shape):
    """An array of complex numbers whose parts have the dtype of ``x``; for compiled code."""
    return np.empty(shape, np.result_type(x.dtype, 1j))


@overload(complex_array)
def _complex_array(x, shape):
    dtype = np.complex64 if x.dtype == types.float32 else np.complex128
    return lambda x, shape: np.empty(shape, dtype)


@njit(error_model="numpy", cache=True)
def passes(x, out, axis):
    """How the loops go along an axis: how many calls, the elements that each reads and writes, sizes and steps.

    Lines along the last axis lie one after the other: one call for all; along another, one beside the other.
    """
    before, after = 1, 1
    for k in range(x.ndim):
        if k < axis:
            before *= x.shape[k]
        elif k > axis:
            after *= x.shape[k]
    n, m = x.shape[axis], out.shape[axis]
    if after == 1:
        sizes, steps = (before, n, m), (n * x.itemsize, 0, m * out.itemsize, x.itemsize, out.itemsize)
        return min(before, 1), before * n, before * m, sizes, steps
    steps = (x.itemsize, 0, out.itemsize, after * x.itemsize, after * out.itemsize)
    return before, n * after, m * after, (after, n, m), steps


@njit(error_model="numpy", cache=True)
def fft(x, n, factor, axis):
    """The transform of length ``n`` along an axis, times a factor."""
    x, out = np.ascontiguousarray(x), np.empty(with_length(x.shape, axis, n), x.dtype)
    calls, read, written, sizes, steps = passes(x, out, axis)
    a, b = x.reshape(-1), out.reshape(-1)
    for k in range(calls):
        _fft(a[k * read :], factor, b[k * written :], sizes, steps)
    return out


@njit(error_model="numpy", cache=True)
def ifft(x, n, factor, axis):
    """The transform the other way, times a factor."""
    x, out = np.ascontiguousarray(x), np.empty(with_length(x.shape, axis, n), x.dtype)
    calls, read, written, sizes, steps = passes(x, out, axis)
    a, b = x.reshape(-1), out.reshape(-1)
    for k in range(calls):
        _ifft(a[k * read :], factor, b[k * written :], sizes, steps)
    return out


@njit(error_model="numpy", cache=True)
def rfft(x, n, factor, axis):
    """The first half of the transform of real numbers, times a factor."""
    x, out = np.ascontiguousarray(x), complex_array(x, with_length(x.shape, axis, n // 2 + 1))
    calls, read, written, sizes, steps = passes(x, out, axis)
    a, b = x.reshape(-1), out.reshape(-1)
    for k in range(calls):
        if n % 2 == 0:
            _even(a[k * read :], factor, b[k * written :], sizes, steps)
        else:
            _odd(a[k * read :], factor, b[k * written :], sizes, steps)
    return out


@njit(error_model="numpy", cache=True)
def irfft(x, n, factor, axis):
    """The real numbers whose transform begins with ``x``, times a factor."""
    x, out = np.ascontiguousarray(x), np.empty(with_length(x.shape, axis, n), x.real.dtype)
    calls, read, written, sizes, steps = passes(x, out, axis)
    a, b = x.reshape(-1), out.reshape(-1)
    for k in range(calls):
        _irfft(a[k * read :], factor, b[k * written :], sizes, steps)
    return out
