"""The few helpers that generated CPU code calls. Compiled once per process and dtype."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(error_model="numpy", cache=True)
def reshape(x, shape):
    """The elements of ``x`` in C order; shares memory where ``x`` is contiguous."""
    return np.ascontiguousarray(x).reshape(shape)


@njit(error_model="numpy")
def matmul(x, y):
    """Matrix product of arrays of one or two axes, by BLAS."""
    return np.dot(x, y)
