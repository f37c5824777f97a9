"""Fourier transforms for compiled code, by NumPy's own: the C loops of its ufuncs, called by pointer.

NumPy's transforms are generalized ufuncs, each a loop in C that reads and writes lines of arrays of any strides,
cut or filled up with zeros to the length wanted. Nothing of them is compiled here.

References
----------
Reinecke, PocketFFT: the algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic, overload
from numpy.fft import _pocketfft_umath  # type: ignore[attr-defined]

from srcgraph.runtime.ufuncs import call_loop, register


def loop(name: str) -> Any:
    """The C loop of a ufunc of NumPy's, called as ``loop(x, factor, out, sizes, steps)``; for compiled code.

    ``sizes`` are the number of lines, and the length of one in ``x`` and in ``out``; ``steps`` the bytes from line to
    line in ``x``, for the factor and in ``out``, then from element to element in ``x`` and in ``out``.
    """
    ufunc = getattr(_pocketfft_umath, name)
    register(ufunc, {signature: f"srcgraph_{name}_{signature[-1].lower()}" for signature in ufunc.types})

    @intrinsic
    def call(typingctx: Any, x: Any, factor: Any, out: Any, sizes: Any, steps: Any) -> Any:
        symbol = f"srcgraph_{name}_{_LETTER[factor]}"

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arrays = {k: context.make_array(signature.args[k])(context, builder, values[k]).data for k in (0, 2)}
            kept = {k: cgutils.alloca_once_value(builder, values[k]) for k in (1, 3, 4)}
            call_loop(builder, symbol, (arrays[0], kept[1], arrays[2]), kept[3], kept[4])
            return context.get_dummy_value()

        return types.void(x, factor, out, sizes, steps), codegen

    return call


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
