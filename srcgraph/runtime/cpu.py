"""The few helpers that generated CPU code calls. Compiled once per process and dtype."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from srcgraph.runtime.integers import Integers


@njit(error_model="numpy", cache=True)
def reshape(x, shape):
    """The elements of ``x`` in C order; shares memory where ``x`` is contiguous."""
    return np.ascontiguousarray(x).reshape(shape)


@njit(error_model="numpy")
def matmul(x, y):
    """Matrix product of arrays of one or two axes, by BLAS."""
    return np.dot(contiguous(x), contiguous(y))


def contiguous(x):
    """``x``, copied if BLAS cannot read it as it lies in memory; for compiled code."""
    return x if x.flags.c_contiguous or x.flags.f_contiguous else x.copy()


@overload(contiguous)
def _contiguous(x):
    return (lambda x: x) if x.layout in "CF" else (lambda x: x.copy())


@njit(error_model="numpy", pipeline_class=Integers)
def matmul_exact(x, y):
    """Matrix product of integers or booleans, which BLAS does not know."""
    if x.ndim == 1 and y.ndim == 1:
        total = x.dtype.type(0)
        for i in range(len(x)):
            total = x.dtype.type(total + x[i] * y[i])
        return total
    if x.ndim == 1:
        return _product(x.reshape((1, x.size)), y)[0]
    if y.ndim == 1:
        return _product(x, y.reshape((y.size, 1)))[:, 0].copy()
    return _product(x, y)


@njit(error_model="numpy", pipeline_class=Integers)
def _product(x, y):
    out = np.zeros((x.shape[0], y.shape[1]), x.dtype)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(y.shape[1]):
                out[i, j] += x[i, k] * y[k, j]
    return out
