"""Linear algebra for generated code, by LAPACK. Compiled once per dtype and layout, and kept on disk.

Nothing here raises: ``info`` is LAPACK's, 0 where all went well, and generated code looks at it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from srcgraph.runtime.lapack import (
    ALL,
    LOWER,
    NONE,
    PLAIN,
    SOME,
    TRANSPOSED,
    UNIT,
    UPPER,
    VECTORS,
    columns,
    geev,
    gelsd,
    geqrf,
    gesdd,
    getrf,
    getrs,
    orgqr,
    potrf,
    syevd,
    trtrs,
)


@njit(error_model="numpy", cache=True)
def lu_factor(a):
    """``L`` and ``U`` in one matrix, the row that each row was exchanged with, and ``info``."""
    n = len(a)
    f, pivots, info = columns(a), np.empty(n, np.int32), np.zeros(1, np.int32)
    getrf((n, n, f, max(n, 1), pivots, info))
    return columns(f), pivots, np.int64(info[0])


@njit(error_model="numpy", cache=True)
def lu_solve(lu, pivots, b, transposed):
    """``x`` with ``a @ x == b``, or ``a.T @ x == b``, given the factors of ``a``."""
    n, info = len(lu), np.zeros(1, np.int32)
    f, trans = columns(lu), TRANSPOSED if transposed else PLAIN
    if b.ndim == 1:
        x = b.copy()
        getrs((trans, n, 1, f, max(n, 1), pivots, x, max(n, 1), info))
        return x
    y = columns(b)
    getrs((trans, n, b.shape[1], f, max(n, 1), pivots, y, max(n, 1), info))
    return columns(y)


@njit(error_model="numpy", cache=True)
def lu_slogdet(lu, pivots):
    """Sign and logarithm of the determinant, given the factors."""
    sign, log = lu.dtype.type(1), lu.dtype.type(0)
    for k in range(len(lu)):
        u = lu[k, k]
        if u == 0:
            return lu.dtype.type(0), lu.dtype.type(-np.inf)
        if (pivots[k] != k + 1) != (u < 0):
            sign = -sign
        log += np.log(abs(u))
    return sign, log


@njit(error_model="numpy", cache=True)
def lu_det(lu, pivots):
    """The determinant, given the factors."""
    out = lu.dtype.type(1)
    for k in range(len(lu)):
        if lu[k, k] == 0:
            return lu.dtype.type(0)  # without a sign, as in NumPy
        out = -out * lu[k, k] if pivots[k] != k + 1 else out * lu[k, k]
    return out


@njit(error_model="numpy", cache=True)
def row_order(pivots):
    """The rows in the order that exchanging them one after another gives."""
    order = np.arange(len(pivots))
    for k in range(len(pivots)):
        j = pivots[k] - 1
        order[k], order[j] = order[j], order[k]
    return order


@njit(error_model="numpy", cache=True)
def cholesky(a):
    """The lower ``l`` with ``l @ l.T == a``, of which only the lower triangle is read, and ``info``."""
    n = len(a)
    f, info = columns(a), np.zeros(1, np.int32)
    potrf((LOWER, n, f, max(n, 1), info))
    out = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = f[j, i]
    return out, np.int64(info[0])


@njit(error_model="numpy", cache=True)
def solve_triangular(a, b, lower, transposed, unit):
    """``x`` with ``a @ x == b`` (or ``a.T @ x == b``) for a triangle of ``a``, ones on its diagonal if ``unit``."""
    n, info = len(a), np.zeros(1, np.int32)
    uplo, trans, diag = LOWER if lower else UPPER, TRANSPOSED if transposed else PLAIN, UNIT if unit else PLAIN
    f = columns(a)
    if b.ndim == 1:
        x = b.copy()
        trtrs((uplo, trans, diag, n, 1, f, max(n, 1), x, max(n, 1), info))
        return x
    y = columns(b)
    trtrs((uplo, trans, diag, n, b.shape[1], f, max(n, 1), y, max(n, 1), info))
    return columns(y)


@njit(error_model="numpy", cache=True)
def qr(a):
    """``q`` with as many columns as ``r`` has rows, the smaller side of ``a``."""
    m, n = a.shape
    k = min(m, n)
    f, tau, info = columns(a), np.empty(k, a.dtype), np.zeros(1, np.int32)
    size = 64 * max(n, 1)
    work = np.empty(size, a.dtype)
    geqrf((m, n, f, max(m, 1), tau, work, size, info))
    r = np.zeros((k, n), a.dtype)
    for i in range(k):
        for j in range(i, n):
            r[i, j] = f[j, i]
    orgqr((m, k, k, f, max(m, 1), tau, work, size, info))
    return columns(f[:k]), r


@njit(error_model="numpy", cache=True)
def eigh(a, upper):
    """Eigenvalues in order, eigenvectors as columns, and ``info``; one triangle is read."""
    n = len(a)
    f, w, info = columns(a), np.empty(n, a.dtype), np.zeros(1, np.int32)
    size, whole = 1 + 6 * n + 2 * n * n, 3 + 5 * n
    work, iwork = np.empty(size, a.dtype), np.empty(whole, np.int32)
    syevd((VECTORS, UPPER if upper else LOWER, n, f, max(n, 1), w, work, size, iwork, whole, info))
    return w, columns(f), np.int64(info[0])


@njit(error_model="numpy", cache=True)
def eigvalsh(a, upper):
    """Eigenvalues in order, and ``info``; one triangle is read."""
    n = len(a)
    f, w, info = columns(a), np.empty(n, a.dtype), np.zeros(1, np.int32)
    size = 1 + 2 * n
    work, iwork = np.empty(size, a.dtype), np.empty(1, np.int32)
    syevd((NONE, UPPER if upper else LOWER, n, f, max(n, 1), w, work, size, iwork, 1, info))
    return w, np.int64(info[0])


@njit(error_model="numpy", cache=True)
def svd(a, full):
    """``u``, singular values from the largest down, ``vh``, and ``info``."""
    m, n = a.shape
    k = min(m, n)
    wide, high = (m, n) if full else (k, k)
    f, s, info = columns(a), np.empty(k, a.dtype), np.zeros(1, np.int32)
    u, v = np.zeros((wide, m), a.dtype), np.zeros((n, high), a.dtype)
    if k == 0:
        for i in range(wide):
            u[i, i] = 1
        for i in range(high):
            v[i, i] = 1
        return columns(u), s, columns(v), 0
    size = 4 * k * k + 7 * k + 64 * max(m, n)
    work, iwork = np.empty(size, a.dtype), np.empty(8 * k, np.int32)
    gesdd((ALL if full else SOME, m, n, f, m, s, u, m, v, high, work, size, iwork, info))
    return columns(u), s, columns(v), np.int64(info[0])


@njit(error_model="numpy", cache=True)
def svdvals(a):
    """Singular values from the largest down, and ``info``."""
    m, n = a.shape
    k = min(m, n)
    f, s, info = columns(a), np.empty(k, a.dtype), np.zeros(1, np.int32)
    if k == 0:
        return s, 0
    size = 10 * k + 64 * max(m, n)
    work, iwork, none = np.empty(size, a.dtype), np.empty(8 * k, np.int32), np.empty((1, 1), a.dtype)
    gesdd((NONE, m, n, f, m, s, none, 1, none, 1, work, size, iwork, info))
    return s, np.int64(info[0])


@njit(error_model="numpy", cache=True)
def pinv(a, rcond):
    """The pseudo-inverse, singular values of at most ``rcond`` times the largest counted as 0, and ``info``."""
    u, s, vh, info = svd(a, False)
    m, n = a.shape
    out = np.zeros((n, m), a.dtype)
    for k in range(len(s)):
        if s[k] > rcond * s[0]:
            for i in range(n):
                scaled = vh[k, i] / s[k]
                for j in range(m):
                    out[i, j] += scaled * u[j, k]
    return out, info


@njit(error_model="numpy", cache=True)
def lstsq(a, b, rcond):
    """The shortest ``x`` that makes ``a @ x - b`` shortest, the squares of that, rank, singular values, ``info``."""
    m, n = a.shape
    count, k, rows = b.shape[1], min(m, n), max(m, n, 1)
    f, s, info, rank = columns(a), np.zeros(k, a.dtype), np.zeros(1, np.int32), np.zeros(1, np.int32)
    x = np.zeros((max(count, 1), rows), a.dtype)
    for i in range(m):
        for j in range(count):
            x[j, i] = b[i, j]
    if k > 0 and count > 0:
        work, iwork = np.zeros(1, a.dtype), np.zeros(1, np.int32)
        gelsd((m, n, count, f, m, x, rows, s, a.dtype.type(rcond), rank, work, -1, iwork, info))
        size = int(work[0])
        work, iwork = np.empty(size, a.dtype), np.empty(max(iwork[0], 1), np.int32)
        gelsd((m, n, count, f, m, x, rows, s, a.dtype.type(rcond), rank, work, size, iwork, info))
    residuals = np.zeros(count if rank[0] == n and m > n else 0, a.dtype)
    for j in range(len(residuals)):
        for i in range(n, m):
            residuals[j] += x[j, i] ** 2
    return columns(x[:count, :n]), residuals, np.int32(rank[0]), s, np.int64(info[0])


@njit(error_model="numpy", cache=True)
def eig(a):
    """Real and imaginary parts of the eigenvalues, of the eigenvectors as columns, and ``info``."""
    n = len(a)
    f, info = columns(a), np.zeros(1, np.int32)
    re, im = np.empty(n, a.dtype), np.empty(n, a.dtype)
    packed, none = np.empty((n, n), a.dtype), np.empty((1, 1), a.dtype)
    size = 64 * max(n, 1)
    work = np.empty(size, a.dtype)
    geev((NONE, VECTORS, n, f, max(n, 1), re, im, none, 1, packed, max(n, 1), work, size, info))
    real, imag = np.zeros((n, n), a.dtype), np.zeros((n, n), a.dtype)
    j = 0
    while j < n:
        pair = im[j] != 0 and j + 1 < n
        for i in range(n):
            real[i, j] = packed[j, i]
            if pair:
                real[i, j + 1] = packed[j, i]
                imag[i, j], imag[i, j + 1] = packed[j + 1, i], -packed[j + 1, i]
        j += 2 if pair else 1
    return re, im, real, imag, np.int64(info[0])


@njit(error_model="numpy", cache=True)
def cofactors(a):
    """The derivative of the determinant: of each singular value the product of the others, turned back."""
    n = len(a)
    u, s, vh, _ = svd(a, True)
    sign = _orientation(u) * _orientation(vh)
    out = np.zeros((n, n), a.dtype)
    for k in range(n):
        others = sign * _without(s, k, k)
        for i in range(n):
            for j in range(n):
                out[i, j] += others * u[i, k] * vh[k, j]
    return out


@njit(error_model="numpy", cache=True)
def moved_cofactors(a, e):
    """How the cofactors move with the matrix: between singular vectors, they are products of singular values."""
    n = len(a)
    u, s, vh, _ = svd(a, True)
    sign = _orientation(u) * _orientation(vh)
    between = _product(_product(u.T, e), vh.T)
    moved = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            if i != j:
                moved[i, j] = -sign * between[j, i] * _without(s, i, j)
                moved[i, i] += sign * between[j, j] * _without(s, i, j)
    return _product(_product(u, moved), vh)


@njit(error_model="numpy", cache=True)
def _orientation(a):
    lu, pivots, _ = lu_factor(a)
    return lu_det(lu, pivots)


@njit(error_model="numpy", cache=True)
def _without(s, i, j):
    """The product of all numbers but two."""
    product = s.dtype.type(1.0)
    for k in range(len(s)):
        if k != i and k != j:
            product *= s[k]
    return product


@njit(error_model="numpy", cache=True)
def _product(x, y):
    out = np.zeros((x.shape[0], y.shape[1]), y.dtype)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(y.shape[1]):
                out[i, j] += x[i, k] * y[k, j]
    return out
