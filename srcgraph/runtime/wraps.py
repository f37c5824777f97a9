"""Arrays whose axes go round: shifted, and with what comes round at their ends."""

from __future__ import annotations

from srcgraph.runtime.arrays import empty
from srcgraph.runtime.copies import move
from srcgraph.runtime.helpers import helper


@helper(any_layout=True)
def rolled(x, shift, axis):
    """The elements of ``x`` shifted round along an axis."""
    out = empty(x.shape, x.dtype)
    n = x.shape[axis]
    by = shift % max(n, 1)
    if axis == 0:
        move(out[by:], x[: n - by])
        move(out[:by], x[n - by :])
    elif x.ndim > 1 and axis == x.ndim - 1:
        move(out[..., by:], x[..., : n - by])
        move(out[..., :by], x[..., n - by :])
    elif x.ndim > 2:
        for i in range(x.shape[0]):
            move(out[i, by:], x[i, : n - by])
            move(out[i, :by], x[i, n - by :])
    return out


@helper(any_layout=True)
def wrapped(x, width):
    """``x`` with as many elements more at each end of each axis, which are those of the other end."""
    if x.ndim == 1:
        n = x.shape[0]
        out = empty(n + 2 * width, x.dtype)
        for i in range(n):
            out[i + width] = x[i]
        _round(out, n, width)
        return out
    n, m = x.shape
    out = empty((n + 2 * width, m + 2 * width), x.dtype)
    for i in range(n):
        for j in range(m):
            out[i + width, j + width] = x[i, j]
        _round(out[i + width], m, width)
    for i in range(width if n else 0):
        move(out[i], out[(i - width) % n + width])
        move(out[n + width + i], out[i % n + width])
    return out


@helper(any_layout=True)
def _round(row, n, width):
    """Fill the ends of a row of ``n`` elements."""
    for i in range(width if n else 0):
        row[i] = row[(i - width) % n + width]
        row[n + width + i] = row[i % n + width]
