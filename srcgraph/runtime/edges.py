"""Arrays that are copied at their edges only: the rest is going to be stored."""

from __future__ import annotations

from srcgraph.runtime.arrays import empty
from srcgraph.runtime.helpers import helper


@helper(any_layout=True)
def edges(x, width):
    """An array with the elements of ``x`` less than ``width`` from an end of an axis; others are unset."""
    out = empty(x.shape, x.dtype)
    copy_edges(out, x, width)
    return out


@helper(any_layout=True)
def copy_edges(out, x, width):
    """Store what `edges` copies into an array of the same shape."""
    if x.ndim == 1:
        n = x.shape[0]
        first, last = min(width, n), max(min(width, n), n - width)
        for i in range(first):
            out[i] = x[i]
        for i in range(last, n):
            out[i] = x[i]
    elif x.ndim == 2:
        n, m = x.shape
        for i in range(n):
            if width <= i < n - width:
                for j in range(min(width, m)):
                    out[i, j] = x[i, j]
                for j in range(max(width, m - width), m):
                    out[i, j] = x[i, j]
            else:
                for j in range(m):
                    out[i, j] = x[i, j]
    else:
        n, m, k = x.shape
        for i in range(n):
            inside = width <= i < n - width
            for j in range(m):
                if inside and width <= j < m - width:
                    for h in range(min(width, k)):
                        out[i, j, h] = x[i, j, h]
                    for h in range(max(width, k - width), k):
                        out[i, j, h] = x[i, j, h]
                else:
                    for h in range(k):
                        out[i, j, h] = x[i, j, h]
