"""Names of NumPy: stored selections, pieces, blocks, grids, indices, polynomials, named results."""

from __future__ import annotations

import numpy as np
from scipy import special


def stored_by_masks(x, y):
    np.putmask(y, y > 0.8, x)
    np.copyto(x, y, where=x < 0.9)
    np.place(x, x > 1.0, [0.5, 0.25])
    z = np.zeros(len(x))
    np.copyto(z, x)
    return z * z


def stored_at_indices(x, m):
    np.put(x, [0, -1], [5.0, x[0] * 2.0])
    np.put(m, 1, 0.5)
    q = np.outer(x, x)
    np.fill_diagonal(q, x)
    return q


def stored_outside(x):
    np.put(x, len(x), 1.0)


def pieces(x):
    smooth = np.piecewise(x, [x < 0.5, x > 1.2], [lambda v: v * v, 2.0, lambda v: np.sin(v)])
    return smooth, np.piecewise(x, [x < 0.5], [lambda v: -v])


def chosen_by_index(x, y):
    return np.choose((x > y).astype(int), [x * y, 2.0])


def chosen_outside(xi):
    return np.choose(xi, [1.0, 2.0], mode="clip"), np.choose(xi, [1.0, 2.0], mode="wrap"), np.choose(xi - 7, [1.0, 2.0])


def by_function(a):
    return np.fromfunction(lambda i, j: i + a * j * j, (3, 2))


def blocks(m, x):
    return np.block([[m, 2.0 * m], [np.ones((1, 3)), x[:1] * np.ones((1, 3))]]), np.block([x, 1.0, x * x])


def rows_and_columns(x, y):
    return np.r_[x, 1.5, y[::-1]], np.c_[x, y, x * y], np.r_[0:4, 2], np.r_[0.0:1.0:4j]


def grid_of_points(a, b):
    i, j = np.mgrid[0:3, 0:2]
    u, v = np.mgrid[0:1:3j, -1:1:0.5]
    p, q = np.ogrid[0:4, 0:3]
    return a * i + b * j, np.sin(a * u) * v, np.exp(-b * (p - 1) ** 2) * q, np.mgrid[0:1:5j] * a


def index_arithmetic(q, xi):
    i, j = np.unravel_index(np.argmax(q), q.shape)
    places = np.ravel_multi_index((xi, xi[::-1]), q.shape)
    rows, columns = np.unravel_index(places, q.shape)
    return i, j, places, rows, columns, q[np.triu_indices_from(q, 1)], q[np.tril_indices_from(q)]


def index_outside(k):
    return np.unravel_index(k * 4, (3, 4))


def fitted_polynomial(x, y):
    if len(x) < 4:
        return np.zeros(3)
    return np.polyfit(x, y, 2) + np.polyfit(x, y, 2, w=y)


def products_of_polynomials(x, y):
    return np.polymul(x, y), np.polyadd(x, np.polyder(y))


def without_numbers_missing(x, m):
    m[0:1, 1] = np.nan
    gaps = np.where(x > 1.0, np.nan, x)
    return np.nanmedian(gaps), np.nanquantile(gaps, 0.3), np.nanpercentile(m, 40.0, axis=0), np.nanmedian(m, axis=1)


def mantissa_and_exponent(x, xi):
    f, e = np.frexp(3.0 * x)
    return f, e, np.ldexp(x, xi), np.ldexp(f, e), np.spacing(x)


def segments(x):
    if len(x) < 3:
        return np.zeros(2), np.zeros(2)
    return np.add.reduceat(x, [0, 2, 1]), np.maximum.reduceat(x * x, np.array([0, 1, 2]))


def counted_by_lists(x):
    np.add.at(x, [0, 0, -1], [1.0, 2.0, 3.0])
    return np.multiply.outer(x, x), np.maximum.accumulate(x)


def stacks_of_matrices(r, q):
    return np.einsum("...ij,...kj->...ik", r, r), np.einsum("...i->...", r), np.einsum("i...,i->...", q, q[0])


def taken_round(x, xi):
    return np.take(x, xi + 3, mode="wrap"), np.take(x, [-7, 9], mode="clip"), np.take(x, -2, mode="wrap")


def named_results(q, m):
    s = q @ q.T + 2.0 * np.eye(len(q))
    svd, qr, sign = np.linalg.svd(s), np.linalg.qr(s), np.linalg.slogdet(s)
    return np.linalg.eigh(s).eigenvalues, svd.S, np.abs(qr.R), sign.sign * sign.logabsdet, np.linalg.eigh(s)[0]


def spectral_radius(q):
    largest = np.max(np.abs(np.linalg.eigvals(q)), initial=0.0)
    return [largest > 1e-9 + k for k in range(4)], np.abs(np.linalg.eig(q)[0]).max(initial=0.0) == largest


def other_names(x, q):
    return (
        np.linalg.outer(x, x),
        np.linalg.matmul(q, q),
        np.linalg.trace(q),
        np.sum(np.linalg.diagonal(q)),
        np.linalg.vector_norm(x),
        np.linalg.vector_norm(q, axis=1),
        np.linalg.matrix_norm(q),
        np.cumulative_sum(x),
        np.linalg.matrix_transpose(q),
    )


def frequencies(x, q, h):
    return np.fft.fftshift(x), np.fft.ifftshift(q), np.fft.fftshift(q, axes=1), np.fft.fftfreq(8, h), np.fft.rfftfreq(7)


def gamma_of_integers(xi, x):
    return special.gammainc(xi + 1, x), special.gammaincc(2.5, x)


def in_one_of_two(x, xi):
    """NaN is in neither of two arrays that have it."""
    y = np.where(xi > 0, np.nan, x)
    return np.setxor1d(y, y[:2]), np.setxor1d(xi, xi[1:])


def softmax_diagonal(q):
    return np.sum(np.log(np.diag(special.softmax(q, axis=1))))
