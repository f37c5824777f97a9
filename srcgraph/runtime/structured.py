"""Triangular and positive definite matrices for generated code, by LAPACK. Compiled once per dtype and layout."""

from __future__ import annotations

import numpy as np
from numba import njit

from srcgraph.runtime.cpu import matmul
from srcgraph.runtime.decompositions import solve_triangular


@njit(error_model="numpy", cache=True)
def triangular_solve(a, b, lower, transposed):
    """``x`` with ``a @ x == b``, or ``a.T @ x == b``, for a triangular ``a``."""
    return solve_triangular(a, b, lower, transposed, False)


@njit(error_model="numpy", cache=True)
def positive_solve(low, b, transposed):
    """``x`` with ``a @ x == b``, given the Cholesky factor of ``a``, which is its own transpose."""
    return solve_triangular(low, solve_triangular(low, b, True, False, False), True, True, False)


@njit(error_model="numpy")
def orthogonal_solve(a, b, transposed):
    """``x`` with ``a @ x == b``, or ``a.T @ x == b``, for an orthogonal ``a``."""
    return matmul(a if transposed else a.T, b)


@njit(error_model="numpy", cache=True)
def structured_slogdet(factor, positive, lower):
    """Sign and logarithm of the determinant of a triangular matrix, or of one with this Cholesky factor."""
    sign, size = 1.0, 0.0
    for i in range(len(factor)):
        sign *= np.sign(factor[i, i])
        size += np.log(abs(factor[i, i]))
    kind = factor.dtype.type
    return kind(sign), kind(2.0 * size if positive else size)


@njit(error_model="numpy", cache=True)
def full_diagonal(a):
    """Whether no element of the diagonal is 0."""
    for i in range(len(a)):  # noqa: SIM110
        if a[i, i] == 0:
            return False
    return True
