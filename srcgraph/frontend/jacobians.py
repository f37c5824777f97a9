"""Jacobians by columns and by rows, in Python: compiled with the functions that use them, as if written there.

``jvp`` and ``grad`` are those of `srcgraph`. Errors raised here are shown at the user's call.
"""

from __future__ import annotations

import numpy as np


def by_columns(function, x, jvp):
    value = function(x)
    if isinstance(value, tuple):
        raise TypeError("the Jacobian of a function that returns a tuple: return one array")
    if np.ndim(x) == 0:
        return jvp(function, (x,), (x * 0.0 + 1.0,))[1]
    direction = np.zeros_like(x)
    flat = direction.reshape(-1)
    columns = np.zeros((np.size(value), x.size), dtype=x.dtype)
    for k in range(x.size):
        flat[k] = 1.0
        columns[:, k] = np.ravel(jvp(function, (x,), (direction,))[1])
        flat[k] = 0.0
    return columns.reshape(np.shape(value) + x.shape)


def by_rows(function, x, grad):
    value = function(x)
    if isinstance(value, tuple):
        raise TypeError("the Jacobian of a function that returns a tuple: return one array")
    if np.ndim(value) == 0:
        return grad(function)(x)
    weights = np.zeros_like(value)
    flat = weights.reshape(-1)
    rows = np.zeros((value.size, np.size(x)), dtype=value.dtype)
    for k in range(value.size):
        flat[k] = 1.0
        rows[k] = np.ravel(grad(lambda v: np.sum(weights * function(v)))(x))
        flat[k] = 0.0
    return rows.reshape(value.shape + np.shape(x))


def by_the_shorter(function, x, jvp, grad):
    value = function(x)
    if np.ndim(value) == 0:
        return grad(function)(x)
    if np.ndim(x) == 0:
        return by_columns(function, x, jvp)
    if np.size(value) < np.size(x):
        return by_rows(function, x, grad)
    return by_columns(function, x, jvp)


def weighed(value, weights):
    """The sum of all floats of ``value``, each times its weight; None weighs nothing."""
    if weights is None:
        return 0.0
    if isinstance(value, tuple):
        total = 0.0
        for v, w in zip(value, weights, strict=True):
            total += weighed(v, w)
        return total
    return np.sum(value * weights)
