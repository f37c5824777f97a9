"""Linear algebra for generated code, by LAPACK. Memory is taken here, kernels compute.

Next to nothing here raises: ``info`` is LAPACK's, 0 where all went well, and generated code looks at it.
"""

from __future__ import annotations

import numpy as np

from srcgraph.runtime.arrays import empty, zeros
from srcgraph.runtime.helpers import helper
from srcgraph.runtime.kernels import lapack
from srcgraph.runtime.kernels.blas import copy
from srcgraph.runtime.products import matmul


@helper
def columns(a):
    """A new array of the columns of ``a``: what LAPACK takes for ``a``."""
    m, n = a.shape
    out = empty((n, m), a.dtype)
    copy((out,), (a,), (m, n), (out.strides[1], out.strides[0], *a.strides), ())
    return out


@helper
def rows_of(b):
    """As `columns`, of a matrix, or of a vector as one column."""
    if b.ndim == 2:
        return columns(b)
    out = empty((1, len(b)), b.dtype)
    copy((out,), (b,), out.shape, (*out.strides, 0, b.strides[0]), ())
    return out


@helper
def lu_factor(a):
    """``L`` and ``U`` in one matrix, the row that each row was exchanged with, and ``info``."""
    n = len(a)
    f, pivots, info = columns(a), empty(n, np.int32), np.ones(1, np.int32)
    lapack.getrf((f, pivots, info), (), (n, n), f.strides[:1], ())
    return columns(f), pivots, np.int64(info[0])


@helper
def lu_solve(lu, pivots, b, transposed):
    """``x`` with ``a @ x == b``, or ``a.T @ x == b``, given the factors of ``a``."""
    f, x, info = columns(lu), rows_of(b), np.ones(1, np.int32)
    lapack.getrs((x, info), (f, pivots), (len(lu), len(x)), (x.strides[0], f.strides[0]), (transposed,))
    return x[0] if b.ndim == 1 else columns(x)


@helper
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


@helper
def lu_det(lu, pivots):
    """The determinant, given the factors."""
    out = lu.dtype.type(1)
    for k in range(len(lu)):
        if lu[k, k] == 0:
            return lu.dtype.type(0)  # without a sign, as in NumPy
        out = -out * lu[k, k] if pivots[k] != k + 1 else out * lu[k, k]
    return out


@helper
def row_order(pivots):
    """The rows in the order that exchanging them one after another gives."""
    order = np.arange(len(pivots))
    for k in range(len(pivots)):
        j = pivots[k] - 1
        order[k], order[j] = order[j], order[k]
    return order


@helper
def cholesky(a):
    """The lower ``l`` with ``l @ l.T == a``, of which only the lower triangle is read, and ``info``."""
    n = len(a)
    f, info = columns(a), np.ones(1, np.int32)
    lapack.potrf((f, info), (), (n,), f.strides[:1], (True,))
    out = zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = f[j, i]
    return out, np.int64(info[0])


@helper
def solve_triangular(a, b, lower, transposed, unit):
    """``x`` with ``a @ x == b`` (or ``a.T @ x == b``) for a triangle of ``a``, ones on its diagonal if ``unit``."""
    f, x, info = columns(a), rows_of(b), np.ones(1, np.int32)
    strides = (x.strides[0], f.strides[0])
    lapack.trtrs((x, info), (f,), (len(a), len(x)), strides, (lower, transposed, unit))
    return x[0] if b.ndim == 1 else columns(x)


@helper
def qr(a):
    """``q`` with as many columns as ``r`` has rows, the smaller side of ``a``."""
    m, n = a.shape
    k = min(m, n)
    f, tau, info = columns(a), empty(k, a.dtype), np.ones(1, np.int32)
    size = 64 * max(n, 1)
    work = empty(size, a.dtype)
    if lapack.geqrf((f, tau, work, info), (), (m, n, size), f.strides[:1], ()) != 0:
        raise ValueError("qr: the matrix is too large for LAPACK")
    r = zeros((k, n), a.dtype)
    for i in range(k):
        for j in range(i, n):
            r[i, j] = f[j, i]
    lapack.orgqr((f, work, info), (tau,), (m, k, k, size), f.strides[:1], ())
    return columns(f[:k]), r


@helper
def eigh(a, upper):
    """Eigenvalues in order, eigenvectors as columns, and ``info``; one triangle is read."""
    n = len(a)
    f, w, info = columns(a), empty(n, a.dtype), np.ones(1, np.int32)
    size, whole = 1 + 6 * n + 2 * n * n, 3 + 5 * n
    work, iwork = empty(size, a.dtype), np.empty(whole, np.int32)
    lapack.syevd((f, w, work, iwork, info), (), (n, size, whole), f.strides[:1], (True, upper))
    return w, columns(f), np.int64(info[0])


@helper
def eigvalsh(a, upper):
    """Eigenvalues in order, and ``info``; one triangle is read."""
    n = len(a)
    f, w, info = columns(a), empty(n, a.dtype), np.ones(1, np.int32)
    size = 1 + 2 * n
    work, iwork = empty(size, a.dtype), np.empty(1, np.int32)
    lapack.syevd((f, w, work, iwork, info), (), (n, size, 1), f.strides[:1], (False, upper))
    return w, np.int64(info[0])


@helper
def svd(a, full):
    """``u``, singular values from the largest down, ``vh``, and ``info``."""
    m, n = a.shape
    k = min(m, n)
    wide, high = (m, n) if full else (k, k)
    f, s, info = columns(a), empty(k, a.dtype), np.ones(1, np.int32)
    u, v = zeros((wide, m), a.dtype), zeros((n, high), a.dtype)
    if k == 0:
        for i in range(wide):
            u[i, i] = 1
        for i in range(high):
            v[i, i] = 1
        return columns(u), s, columns(v), 0
    size = 4 * k * k + 7 * k + 64 * max(m, n)
    work, iwork = empty(size, a.dtype), np.empty(8 * k, np.int32)
    strides = (f.strides[0], u.strides[0], v.strides[0])
    lapack.gesdd((f, s, u, v, work, iwork, info), (), (m, n, wide, high, size), strides, (full,))
    return columns(u), s, columns(v), np.int64(info[0])


@helper
def svdvals(a):
    """Singular values from the largest down, and ``info``."""
    m, n = a.shape
    k = min(m, n)
    f, s, info = columns(a), empty(k, a.dtype), np.ones(1, np.int32)
    if k == 0:
        return s, 0
    size = 10 * k + 64 * max(m, n)
    work, iwork, none = empty(size, a.dtype), np.empty(8 * k, np.int32), np.empty(1, a.dtype)
    lapack.gesdd_values((f, s, work, iwork, info), (none,), (m, n, size), f.strides[:1], ())
    return s, np.int64(info[0])


@helper
def pinv(a, rcond):
    """The pseudo-inverse, singular values of at most ``rcond`` times the largest counted as 0, and ``info``."""
    u, s, vh, info = svd(a, False)
    _m, n = a.shape
    scaled = zeros((len(s), n), a.dtype)
    for k in range(len(s)):
        if s[k] > rcond * s[0]:
            for i in range(n):
                scaled[k, i] = vh[k, i] / s[k]
    return matmul(scaled.T, u[:, : len(s)].T), info


@helper
def lstsq(a, b, rcond):
    """The shortest ``x`` that makes ``a @ x - b`` shortest, the squares of that, rank, singular values, ``info``."""
    m, n = a.shape
    count, k, rows = b.shape[1], min(m, n), max(m, n, 1)
    f, s, info, rank = columns(a), zeros(k, a.dtype), np.zeros(1, np.int32), np.zeros(1, np.int32)
    x = zeros((max(count, 1), rows), a.dtype)
    for i in range(m):
        for j in range(count):
            x[j, i] = b[i, j]
    if k > 0 and count > 0:
        info[0] = 1
        work, iwork = np.zeros(1, a.dtype), np.ones(1, np.int32)
        strides = (f.strides[0], x.strides[0])
        lapack.gelsd((f, x, s, rank, work, iwork, info), (rcond,), (m, n, count, -1, rows), strides, ())
        size = int(work[0])
        work, iwork = empty(size, a.dtype), np.empty(max(iwork[0], 1), np.int32)
        lapack.gelsd((f, x, s, rank, work, iwork, info), (rcond,), (m, n, count, size, rows), strides, ())
    residuals = zeros(count if rank[0] == n and m > n else 0, a.dtype)
    for j in range(len(residuals)):
        for i in range(n, m):
            residuals[j] += x[j, i] ** 2
    return columns(x[:count, :n]), residuals, np.int32(rank[0]), s, np.int64(info[0])


@helper
def eig(a):
    """Real and imaginary parts of the eigenvalues, of the eigenvectors as columns, and ``info``."""
    n = len(a)
    f, info = columns(a), np.ones(1, np.int32)
    re, im = empty(n, a.dtype), empty(n, a.dtype)
    packed, none = empty((n, n), a.dtype), np.empty(1, a.dtype)
    size = 64 * max(n, 1)
    work = empty(size, a.dtype)
    strides = (f.strides[0], packed.strides[0])
    lapack.geev((f, re, im, packed, work, info), (none,), (n, size), strides, ())
    real, imag = zeros((n, n), a.dtype), zeros((n, n), a.dtype)
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


@helper
def cofactors(a):
    """The derivative of the determinant: of each singular value the product of the others, turned back."""
    n = len(a)
    u, s, vh, _ = svd(a, True)
    sign = _orientation(u) * _orientation(vh)
    for k in range(n):
        others = sign * _without(s, k, k)
        for j in range(n):
            vh[k, j] *= others
    return matmul(u, vh)


@helper
def moved_cofactors(a, e):
    """How the cofactors move with the matrix: between singular vectors, they are products of singular values."""
    n = len(a)
    u, s, vh, _ = svd(a, True)
    sign = _orientation(u) * _orientation(vh)
    between = matmul(matmul(u.T, e), vh.T)
    moved = zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            if i != j:
                moved[i, j] = -sign * between[j, i] * _without(s, i, j)
                moved[i, i] += sign * between[j, j] * _without(s, i, j)
    return matmul(matmul(u, moved), vh)


@helper
def _orientation(a):
    lu, pivots, _ = lu_factor(a)
    return lu_det(lu, pivots)


@helper
def _without(s, i, j):
    """The product of all numbers but two."""
    product = s.dtype.type(1.0)
    for k in range(len(s)):
        if k != i and k != j:
            product *= s[k]
    return product
