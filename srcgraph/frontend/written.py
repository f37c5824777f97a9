"""NumPy functions written in Python, by NumPy's own signatures: compiled with what calls them, as if written there.

Derivatives follow from the text. Errors raised here are shown at the user's call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft

WRITTEN: dict[Any, Callable] = {}
"""By NumPy's function: the one written here."""


def stands_for(*functions: Any) -> Callable[[Callable], Callable]:
    """Enter a function as what these of NumPy mean."""

    def enter(function: Callable) -> Callable:
        WRITTEN.update(dict.fromkeys(functions, function))
        return function

    return enter


@stands_for(np.fromiter)
def fromiter(iter, dtype):
    return np.array(list(iter), dtype=dtype)


# -- storing ------------------------------------------------------------------------------------------


def copyto(dst, src, where):
    """`numpy.copyto` of what has the dtype already."""
    if where is True:
        dst[...] = src
    else:
        dst[...] = np.where(where, src, dst)


@stands_for(np.put)
def put(a, ind, v):
    at = np.atleast_1d(np.asarray(ind)).ravel()
    new = np.atleast_1d(np.asarray(v, dtype=a.dtype)).ravel()
    if len(at) > 0 and a.size == 0:
        raise IndexError("cannot replace elements of an empty array")
    if len(new) == 0:
        return
    for k in range(len(at)):
        i = at[k]
        if i < -a.size or i >= a.size:
            raise IndexError(f"index {i} is out of bounds for axis 0 with size {a.size}")
        if i < 0:
            i += a.size
        a[np.unravel_index(i, a.shape)] = new[k % len(new)]


@stands_for(np.place)
def place(arr, mask, vals):
    if np.size(mask) != arr.size:
        raise ValueError("place: mask and data must be the same size")
    where = np.nonzero(mask)
    if isinstance(vals, np.ndarray) and np.promote_types(vals.dtype, arr.dtype) != arr.dtype:
        raise TypeError("Cannot cast array data according to the rule 'safe'")
    new = np.atleast_1d(np.asarray(vals, dtype=arr.dtype)).ravel()
    if len(where[0]) > 0:
        if len(new) == 0:
            raise ValueError("Cannot insert from an empty array!")
        arr[where] = np.resize(new, len(where[0]))


@stands_for(np.putmask)
def putmask(a, mask, values):
    if isinstance(values, np.ndarray) and np.promote_types(values.dtype, a.dtype) != a.dtype:
        raise TypeError("Cannot cast array data according to the rule 'safe'")
    new = np.atleast_1d(np.asarray(values, dtype=a.dtype)).ravel()
    if np.size(mask) != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if len(new) > 0:
        a[...] = np.where(mask, np.resize(new, a.shape), a)


@stands_for(np.fill_diagonal)
def fill_diagonal(a, val):
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    for k in range(2, a.ndim):
        if a.shape[k] != a.shape[0] or a.shape[1] != a.shape[0]:
            raise ValueError("All dimensions of input must be of equal length")
    at = np.arange(min(a.shape))
    new = np.atleast_1d(np.asarray(val, dtype=a.dtype)).ravel()
    if len(new) > 0:
        a[(at,) * a.ndim] = np.resize(new, len(at))


# -- choosing -----------------------------------------------------------------------------------------


@stands_for(np.choose)
def choose(a, choices, *, mode="raise"):
    n = len(choices)
    if mode == "clip":
        a = np.clip(a, 0, n - 1)
    elif mode == "wrap":
        a = np.mod(a, n)
    elif np.any(a < 0) or np.any(a >= n):
        raise ValueError("invalid entry in choice array")
    return np.select([np.equal(a, k) for k in range(len(choices))], choices, choices[0])


@stands_for(np.fromfunction)
def fromfunction(function, shape, *, dtype=float):
    if len(shape) == 1:
        return function(np.arange(shape[0], dtype=dtype))
    grid = np.indices(shape, dtype=dtype)
    if len(shape) == 2:
        return function(grid[0], grid[1])
    return function(grid[0], grid[1], grid[2])


# -- indices ------------------------------------------------------------------------------------------


@stands_for(np.triu_indices_from)
def triu_indices_from(arr, k=0):
    return np.triu_indices(arr.shape[0], k, arr.shape[1])


@stands_for(np.tril_indices_from)
def tril_indices_from(arr, k=0):
    return np.tril_indices(arr.shape[0], k, arr.shape[1])


@stands_for(np.diag_indices_from)
def diag_indices_from(arr):
    if arr.ndim != 2 or arr.shape[0] != arr.shape[1]:
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(arr.shape[0], 2)


def windows(x, size, axis):
    """The windows of so many elements along an axis, as a last axis."""
    if size < 0:
        raise ValueError("`window_shape` cannot contain negative values")
    if size > x.shape[axis]:
        raise ValueError("window shape cannot be larger than input array shape")
    places = np.arange(x.shape[axis] - size + 1)[:, None] + np.arange(size)
    return np.moveaxis(np.take(x, places, axis), axis + 1, -1)


# -- frequencies --------------------------------------------------------------------------------------


@stands_for(np.fft.fftfreq, scipy.fft.fftfreq)
def fftfreq(n, d=1.0):
    k = np.arange(len(np.empty(n)))  # a negative n raises, as in NumPy
    return np.where(k < (n + 1) // 2, k, k - n) * (1.0 / (n * d))


@stands_for(np.fft.rfftfreq, scipy.fft.rfftfreq)
def rfftfreq(n, d=1.0):
    return np.arange(len(np.empty(n // 2 + 1))) * (1.0 / (n * d))


# -- polynomials --------------------------------------------------------------------------------------


def _without_leading_zeros(p):
    if len(p) == 0:
        return np.zeros(1, p.dtype)
    first = 0
    while first < len(p) - 1 and p[first] == 0:
        first += 1
    return p[first:].copy()


@stands_for(np.polymul)
def polymul(a1, a2):
    p, q = _without_leading_zeros(np.asarray(a1)), _without_leading_zeros(np.asarray(a2))
    out = np.zeros(len(p) + len(q) - 1, np.result_type(p, q))
    for k in range(len(p)):
        out[k : k + len(q)] += p[k] * q
    return out


@stands_for(np.polyfit)
def polyfit(x, y, deg, rcond=None, w=None):
    """Least squares with columns of length 1; see numpy.polyfit."""
    t = np.asarray(x) + 0.0
    right = np.asarray(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if len(t) == 0:
        raise TypeError("expected non-empty vector for x")
    if len(t) != len(right):
        raise TypeError("expected x and y to have same length")
    left = np.vander(t, deg + 1)
    if w is not None:
        by = np.asarray(w) + 0.0
        left = left * by[:, None]
        right = right * by if right.ndim == 1 else right * by[:, None]
    scale = np.sqrt(np.sum(left * left, axis=0))
    cut = len(t) * np.finfo(np.float64).eps if rcond is None else rcond
    c = np.linalg.lstsq(left / scale, right, cut)[0]
    return c / scale if right.ndim == 1 else c / scale[:, None]


# -- what leaves NaN out ------------------------------------------------------------------------------


@stands_for(np.nanmedian)
def nanmedian(a, axis=None):
    x = np.asarray(a)
    axes = _axes(x, axis)
    if len(axes) == x.ndim:
        return _median_of_numbers(x.ravel())
    rows = np.moveaxis(x, axes, tuple(range(-len(axes), 0)))
    out = np.empty(rows.shape[: -len(axes)], np.median(np.ones(1, x.dtype)).dtype)
    every, at = rows.reshape(out.size, math.prod(rows.shape[-len(axes) :])), out.reshape(-1)
    for i in range(out.size):
        at[i] = _median_of_numbers(every[i])
    return out


def _axes(x, axis):
    if axis is None:
        return tuple(range(x.ndim))
    return axis if isinstance(axis, (tuple, list)) else (axis,)


def _median_of_numbers(x):
    kept = x[~np.isnan(x)]
    return np.median(kept) if len(kept) > 0 else np.median(np.ones(1, x.dtype)) * np.nan


@stands_for(np.nanquantile)
def nanquantile(a, q, axis=None):
    x = np.asarray(a)
    if x.dtype != float and x.dtype != np.float32:
        return np.quantile(x, q, axis)
    axes = _axes(x, axis)
    if len(axes) == x.ndim:
        return _quantile_of_numbers(x.ravel(), q)
    rows = np.moveaxis(x, axes, tuple(range(-len(axes), 0)))
    out = np.empty(rows.shape[: -len(axes)], np.quantile(np.ones(1, x.dtype), q).dtype)
    every, at = rows.reshape(out.size, math.prod(rows.shape[-len(axes) :])), out.reshape(-1)
    for i in range(out.size):
        at[i] = _quantile_of_numbers(every[i], q)
    return out


def _quantile_of_numbers(x, q):
    kept = x[~np.isnan(x)]
    return np.quantile(kept, q) if len(kept) > 0 else np.quantile(np.ones(1, x.dtype), q) * np.nan


@stands_for(np.nanpercentile)
def nanpercentile(a, q, axis=None):
    return nanquantile(a, q / 100, axis)


# -- other names of the same --------------------------------------------------------------------------


@stands_for(np.linalg.outer)
def linalg_outer(x1, x2):
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={np.ndim(x1)} and x2.ndim={np.ndim(x2)}."
        )
    return np.outer(x1, x2)


@stands_for(np.linalg.matmul)
def linalg_matmul(x1, x2):
    return np.matmul(x1, x2)


@stands_for(np.linalg.trace)
def linalg_trace(x, *, offset=0):
    return np.trace(x, offset, -2, -1)


@stands_for(np.linalg.diagonal)
def linalg_diagonal(x, *, offset=0):
    return np.diagonal(x, offset, -2, -1)


@stands_for(np.linalg.matrix_transpose)
def linalg_matrix_transpose(x):
    return np.matrix_transpose(x)


@stands_for(np.linalg.tensordot)
def linalg_tensordot(x1, x2, *, axes=2):
    return np.tensordot(x1, x2, axes)


@stands_for(np.linalg.cross)
def linalg_cross(x1, x2, *, axis=-1):
    n, m = np.shape(x1)[axis], np.shape(x2)[axis]
    if n != 3 or m != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {n} and {m} dimensional instead."
        )
    return np.cross(x1, x2, axis=axis)


@stands_for(np.linalg.matrix_norm)
def linalg_matrix_norm(x, *, keepdims=False, ord: Any = "fro"):
    return np.linalg.norm(x, ord, (-2, -1), keepdims)


def check_axis_given(x, axis):
    if axis is None and np.ndim(x) > 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")


@stands_for(np.cumulative_sum)
def cumulative_sum(x, *, axis=None):
    check_axis_given(x, axis)
    return np.cumsum(x, axis)


@stands_for(np.cumulative_prod)
def cumulative_prod(x, *, axis=None):
    check_axis_given(x, axis)
    return np.cumprod(x, axis)
