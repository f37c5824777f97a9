"""The few helpers that generated CPU code calls."""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from srcgraph.ir.ops.linalg import CACHED, FEWEST
from srcgraph.runtime.arrays import empty, zeros
from srcgraph.runtime.compiler import FewSteps
from srcgraph.runtime.helpers import helper
from srcgraph.runtime.integers import Integers
from srcgraph.runtime.kernels.blas import copy, dot, gemm, gemv


@helper(any_layout=True)
def matmul(x, y):
    """Matrix product of arrays of one or two axes, by BLAS; copies what lies so that BLAS cannot take it."""
    if x.ndim == 1 and y.ndim == 1:
        total = np.empty(1, x.dtype)
        if dot((total,), (x, y), (len(x),), x.strides + y.strides, ()) != 0:
            a, b = takeable(x), takeable(y)
            dot((total,), (a, b), (len(x),), a.strides + b.strides, ())
        return total[0]
    if x.ndim == 1 or y.ndim == 1:
        a, v = (y.T, x) if x.ndim == 1 else (x, y)
        out = empty(len(a), a.dtype)
        if is_small(a.size):
            return _small_times_vector(a, v, out)
        if gemv((out,), (a, v, 1.0, 0.0), a.shape, out.strides + a.strides + v.strides, ()) != 0:
            a, v = takeable(a), takeable(v)
            gemv((out,), (a, v, 1.0, 0.0), a.shape, out.strides + a.strides + v.strides, ())
        return out
    (m, k), n = x.shape, y.shape[1]
    out = empty((m, n), x.dtype)
    if is_small(m * k * n):
        return _small_product(x, y, out)
    if gemm((out,), (x, y, 1.0, 0.0), (m, n, k), out.strides + x.strides + y.strides, ()) != 0:
        a, b = takeable(x), takeable(y)
        gemm((out,), (a, b, 1.0, 0.0), (m, n, k), out.strides + a.strides + b.strides, ())
    return out


@helper(any_layout=True)
def add_product(out, x, y, alpha, beta):
    """``out = beta * out + alpha * (x @ y)``, of one or two axes, by BLAS; ``out`` is not read if ``beta`` is 0."""
    a, b = out.dtype.type(alpha), out.dtype.type(beta)
    if out.ndim == 1:
        m, v = (y.T, x) if x.ndim == 1 else (x, y)
        refused = gemv((out,), (m, v, a, b), m.shape, out.strides + m.strides + v.strides, ())
    else:
        (m, k), n = x.shape, y.shape[1]
        refused = gemm((out,), (x, y, a, b), (m, n, k), out.strides + x.strides + y.strides, ())
    if refused != 0:
        _add(out, matmul(x, y), a, b)


@helper(any_layout=True)
def _add(out, product, alpha, beta):
    if out.ndim == 1:
        for i in range(len(out)):
            out[i] = alpha * product[i] + (beta * out[i] if beta != 0 else beta)
    else:
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = alpha * product[i, j] + (beta * out[i, j] if beta != 0 else beta)


@helper
def rows_at_once(x):
    """How many rows of a matrix are worked on while they are in a core's cache."""
    return max(FEWEST, CACHED // max(1, x.shape[1] * x.itemsize))


SMALL = 64
"""A product of so few multiplications is done before BLAS would have begun."""


def is_small(multiplications):
    """Whether loops are quicker than BLAS: of compiled code, not of Python."""
    return False


@overload(is_small)
def _is_small(multiplications):
    return lambda multiplications: multiplications <= SMALL


@helper(any_layout=True, pipeline_class=FewSteps)
def _small_times_vector(a, v, out):
    for i in range(len(a)):
        total = a.dtype.type(0)
        for j in range(len(v)):
            total += a[i, j] * v[j]
        out[i] = total
    return out


@helper(any_layout=True, pipeline_class=FewSteps)
def _small_product(x, y, out):
    for i in range(len(x)):
        for j in range(y.shape[1]):
            total = x.dtype.type(0)
            for k in range(len(y)):
                total += x[i, k] * y[k, j]
            out[i, j] = total
    return out


@helper
def _times_vector(a, x):
    out = empty(len(a), a.dtype)
    if gemv((out,), (a, x, 1.0, 0.0), a.shape, out.strides + a.strides + x.strides, ()) != 0:
        b, y = takeable(a), takeable(x)
        gemv((out,), (b, y, 1.0, 0.0), a.shape, out.strides + b.strides + y.strides, ())
    return out


def takeable(x):
    """``x`` as BLAS can take it: copied, unless that is known when this is compiled."""
    return x if x.flags.c_contiguous or x.flags.f_contiguous else np.ascontiguousarray(x)


@overload(takeable)
def _takeable(x):
    return (lambda x: x) if x.layout in "CF" else _copied if x.ndim == 2 else _copied_vector


def _copied(x):
    out = empty(x.shape, x.dtype)
    copy((out,), (x,), x.shape, out.strides + x.strides, ())
    return out


def _copied_vector(x):
    out = empty(len(x), x.dtype)
    copy((out,), (x,), (len(x), 1), (out.strides[0], 0, x.strides[0], 0), ())
    return out


@helper(pipeline_class=Integers)
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


@helper(pipeline_class=Integers)
def _product(x, y):
    out = zeros((x.shape[0], y.shape[1]), x.dtype)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(y.shape[1]):
                out[i, j] += x[i, k] * y[k, j]
    return out
