"""Fourier transforms for generated code, by NumPy's own C loops (`srcgraph.runtime.kernels.lines`).

References
----------
Reinecke, PocketFFT: the algorithm.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import overload

from srcgraph.runtime.arrays import empty
from srcgraph.runtime.helpers import helper
from srcgraph.runtime.kernels import lines as kernels


def with_length(shape, axis, n):
    """A shape with the length of one axis replaced."""
    return (*shape[:axis], n, *shape[axis + 1 :])


@overload(with_length)
def _with_length(shape, axis, n):
    return lambda shape, axis, n: tuple_setitem(shape, axis, n)  # pyright: ignore[reportCallIssue]


def complex_array(x, shape):
    """An array of complex numbers whose parts have the dtype of ``x``; for compiled code."""
    return empty(shape, np.result_type(x.dtype, 1j))


@overload(complex_array)
def _complex_array(x, shape):
    dtype = np.complex64 if x.dtype == types.float32 else np.complex128
    return lambda x, shape: empty(shape, dtype)


@helper
def lines_along(x, out, axis):
    """How lines along an axis lie in two arrays in C order: stacks, lines, the lengths of these; and strides.

    Lines along the last axis lie one after the other, in one stack; along another, one beside the other.
    """
    before, after = 1, 1
    for k in range(x.ndim):
        if k < axis:
            before *= x.shape[k]
        elif k > axis:
            after *= x.shape[k]
    n, m, a, b = x.shape[axis], out.shape[axis], x.itemsize, out.itemsize
    if after == 1:
        return (1, before, n, m), (0, m * b, b, 0, n * a, a)
    return (before, after, n, m), (m * after * b, b, after * b, n * after * a, a, after * a)


@helper
def fft(x, n, factor, axis):
    """The transform of length ``n`` along an axis, times a factor."""
    x, out = np.ascontiguousarray(x), empty(with_length(x.shape, axis, n), x.dtype)
    dims, strides = lines_along(x, out, axis)
    kernels.fft((out,), (x, factor), dims, strides, ())
    return out


@helper
def ifft(x, n, factor, axis):
    """The transform the other way, times a factor."""
    x, out = np.ascontiguousarray(x), empty(with_length(x.shape, axis, n), x.dtype)
    dims, strides = lines_along(x, out, axis)
    kernels.ifft((out,), (x, factor), dims, strides, ())
    return out


@helper
def rfft(x, n, factor, axis):
    """The first half of the transform of real numbers, times a factor."""
    x, out = np.ascontiguousarray(x), complex_array(x, with_length(x.shape, axis, n // 2 + 1))
    dims, strides = lines_along(x, out, axis)
    kernels.rfft((out,), (x, factor), (*dims, n), strides, ())
    return out


@helper
def irfft(x, n, factor, axis):
    """The real numbers whose transform begins with ``x``, times a factor."""
    x, out = np.ascontiguousarray(x), empty(with_length(x.shape, axis, n), x.real.dtype)
    dims, strides = lines_along(x, out, axis)
    kernels.irfft((out,), (x, factor), dims, strides, ())
    return out
