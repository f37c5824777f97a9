"""Triangular and positive definite matrices for generated code, by LAPACK."""

from __future__ import annotations

import numpy as np

from srcgraph.runtime.decompositions import columns, lu_factor, lu_slogdet, rows_of, solve_triangular
from srcgraph.runtime.helpers import helper
from srcgraph.runtime.kernels import lapack
from srcgraph.runtime.products import matmul


@helper
def triangular_solve(a, b, lower, transposed):
    """``x`` with ``a @ x == b``, or ``a.T @ x == b``, for a triangular ``a``."""
    return solve_triangular(a, b, lower, transposed, False)


@helper
def positive_solve(low, b, transposed):
    """``x`` with ``a @ x == b``, given the Cholesky factor of ``a``, which is its own transpose."""
    f, x, info = columns(low), rows_of(b), np.ones(1, np.int32)
    lapack.potrs((x, info), (f,), (len(low), len(x)), (x.strides[0], f.strides[0]), (True,))
    return x[0] if b.ndim == 1 else columns(x)


@helper
def orthogonal_solve(a, b, transposed):
    """``x`` with ``a @ x == b``, or ``a.T @ x == b``, for an orthogonal ``a``."""
    return matmul(a if transposed else a.T, b)


@helper
def structured_slogdet(factor, positive, lower):
    """Sign and logarithm of the determinant of a triangular matrix, or of one with this Cholesky factor.

    A NaN or an infinity anywhere makes of it what it makes of any matrix, so that the method is then NumPy's.
    """
    finite = True
    for i in range(len(factor)):
        for j in range(len(factor)):
            finite &= np.isfinite(factor[i, j])
    if not positive and not finite:
        lu, pivots, _ = lu_factor(factor)
        return lu_slogdet(lu, pivots)
    sign, size = 1.0, 0.0
    for i in range(len(factor)):
        sign *= np.sign(factor[i, i])
        size += np.log(abs(factor[i, i]))
    kind = factor.dtype.type
    return kind(sign), kind(2.0 * size if positive else size)


@helper
def full_diagonal(a):
    """Whether no element of the diagonal is 0."""
    for i in range(len(a)):  # noqa: SIM110
        if a[i, i] == 0:
            return False
    return True
