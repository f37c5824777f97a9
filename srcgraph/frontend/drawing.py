"""Methods of np.random.Generator written in Python: the same draws in the same order as NumPy's.

Compiled with what calls them, as if written there; see `srcgraph.frontend.written`.
"""

from __future__ import annotations

import numpy as np

from srcgraph.frontend.written import stands_for

Generator = np.random.Generator


@stands_for(Generator.multinomial)
def multinomial(rng, n, pvals, size=None):
    """Of what is left, a binomial number for each outcome but the last."""
    p = np.asarray(pvals) + 0.0
    if p.ndim == 0 or p.shape[-1] == 0:
        message = "pvals must have at least 1 dimension and the last dimension of pvals must be greater than 0."
        raise ValueError(message)
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
    if np.any(np.sum(p[..., :-1], axis=-1) > 1.0 + 1e-12):
        raise ValueError("sum(pvals[:-1]) > 1.0")
    n = np.asarray(n)
    if np.any(np.less(n, 0)):
        raise ValueError("n < 0")
    d = p.shape[-1]
    if size is None:
        counts = np.zeros(p.shape[:-1], np.int64) + n
    else:
        counts = np.zeros(size, np.int64) + np.broadcast_to(n, np.empty(size).shape)
    shape = (*np.shape(counts), d)
    ns = np.atleast_1d(counts).ravel()
    chances = np.broadcast_to(p, shape).reshape(len(ns), d)
    out = np.zeros((len(ns), d), np.int64)
    for i in range(len(ns)):
        _outcomes(rng, ns[i], chances[i], out[i])
    return out.reshape(shape)


def _outcomes(rng, left, p, out):
    rest = 1.0
    for j in range(len(p) - 1):
        out[j] = rng.binomial(left, min(p[j] / rest, 1.0))
        left -= out[j]
        if left <= 0:
            break
        rest -= p[j]
    if left > 0:
        out[len(p) - 1] = left


@stands_for(Generator.dirichlet)
def dirichlet(rng, alpha, size=None):
    """Gamma numbers over their sum; where all of ``alpha`` are small, pieces broken off a stick."""
    a = np.asarray(alpha) + 0.0
    if np.any(a < 0.0):
        raise ValueError("alpha < 0")
    k = len(a)
    if size is None:
        out = np.zeros((1, k))
        _dirichlet_rows(rng, a, out)
        return out[0]
    shape = (*np.empty(size).shape, k)
    out = np.zeros((np.empty(size).size, k))
    _dirichlet_rows(rng, a, out)
    return out.reshape(shape)


def _dirichlet_rows(rng, a, out):
    k = len(a)
    if k > 0 and np.max(a) < 0.1:
        rest = np.cumsum(a[::-1])[::-1]
        for i in range(len(out) if rest[0] > 0.0 else 0):
            left = 1.0
            for j in range(k - 1):
                piece = rng.beta(max(a[j], 5e-324), max(rest[j + 1], 5e-324))  # whose reciprocal is that of zero
                out[i, j] = left * piece
                left *= 1.0 - piece
                if rest[j + 1] == 0.0:
                    break
            out[i, k - 1] = left
    else:
        for i in range(len(out)):
            total = 0.0
            for j in range(k):
                out[i, j] = rng.standard_gamma(a[j])
                total += out[i, j]
            out[i] *= np.divide(1.0, total)


@stands_for(Generator.multivariate_normal)
def multivariate_normal(rng, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd"):
    """Standard normal numbers times a root of the covariance."""
    m = np.asarray(mean)
    c = np.asarray(cov) + 0.0
    if m.ndim != 1:
        raise ValueError("mean must be 1 dimensional")
    if c.ndim != 2 or c.shape[0] != c.shape[1]:
        raise ValueError("cov must be 2 dimensional and square")
    if len(m) != len(c):
        raise ValueError("mean and cov must have same length")
    if len(m) == 0:
        raise ValueError("cannot reshape array of size 0 into shape (0,)")
    if size is None:
        z = rng.standard_normal(len(m))
    else:
        z = rng.standard_normal((*np.empty(size).shape, len(m)))
    return m + z @ _root(c, check_valid, tol, method).T


def _root(c, check_valid, tol, method):
    if method == "cholesky":
        return np.linalg.cholesky(c)
    if method == "eigh":
        s, u = np.linalg.eigh(c)
        if check_valid == "raise" and np.any(s < -tol):
            raise ValueError("covariance is not symmetric positive-semidefinite.")
        return u * np.sqrt(np.abs(s))
    u, s, vh = np.linalg.svd(c)
    if check_valid == "raise" and not np.allclose((vh.T * s) @ vh, c, tol, tol):
        raise ValueError("covariance is not symmetric positive-semidefinite.")
    return u * np.sqrt(s)


@stands_for(Generator.permuted)
def permuted(rng, x, *, axis=None):
    """A copy, shuffled as a whole, or each line along an axis by itself."""
    out = np.array(x)
    if axis is None:
        if out.ndim > 1:
            flat = out.reshape(-1)
            rng.shuffle(flat)
        else:
            rng.shuffle(out)
        return out
    lines = np.moveaxis(out, axis, -1)
    n = lines.shape[-1]
    if out.size > 0:
        rows = lines.reshape(out.size // n, n)
        new = np.empty_like(rows)
        for k in range(len(rows)):
            new[k] = rows[k][rng.permutation(n)]
        out[...] = np.moveaxis(new.reshape(lines.shape), -1, axis)
    return out


def _room(p):
    """How far from 1 the sum of chances may be: rounding in their own precision."""
    return 2.0**-11.5 if p.dtype == np.float32 else 2.0**-26


def choice_of_chances(rng, a, size=None, p=None, axis=0, shuffle=True):
    """What `numpy.random.Generator.choice` does without replacement: draws until all are different."""
    chances = np.array(p, np.float64)
    n = a if np.ndim(a) == 0 else np.shape(a)[axis]
    if len(chances) != n:
        raise ValueError("a and p must have same size")
    if np.any(np.isnan(chances)):
        raise ValueError("Probabilities contain NaN")
    if np.any(chances < 0.0):
        raise ValueError("Probabilities are not non-negative")
    if abs(np.sum(chances) - 1.0) > _room(np.asarray(p)):
        raise ValueError("Probabilities do not sum to 1.")
    count = 1 if size is None else np.empty(size).size
    if count > n:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    if np.count_nonzero(chances > 0.0) < count:
        raise ValueError("Fewer non-zero entries in p than size")
    found = np.zeros(count, np.int64)
    known = 0
    while known < count:
        x = rng.random(count - known)
        for k in range(known):
            chances[found[k]] = 0.0
        steps = np.cumsum(chances)
        steps /= steps[-1]
        before = known
        for k in range(len(x)):
            j = np.searchsorted(steps, x[k], side="right")
            if not np.any(found[before:known] == j):
                found[known] = j
                known += 1
    if size is None:
        return int(found[0]) if np.ndim(a) == 0 else np.take(a, found[0], axis)
    index = found.reshape(np.empty(size).shape)
    return index if np.ndim(a) == 0 else np.take(a, index, axis)
