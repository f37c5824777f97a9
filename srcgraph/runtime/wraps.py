"""Arrays whose axes go round: shifted, and with more at their ends: what comes round there, or the last one again."""

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
    out, n = _in_the_middle(x, width), x.shape[0]
    if x.ndim == 1:
        _round(out, n, width)
        return out
    for i in range(n):
        _round(out[i + width], x.shape[1], width)
    for i in range(width if n else 0):
        move(out[i], out[(i - width) % n + width])
        move(out[n + width + i], out[i % n + width])
    return out


@helper(any_layout=True)
def extended(x, width):
    """``x`` with its first and last elements so many times more at each end of each axis; it has any."""
    out, n = _in_the_middle(x, width), x.shape[0]
    if x.ndim == 1:
        _repeat(out, n, width)
        return out
    for i in range(n):
        _repeat(out[i + width], x.shape[1], width)
    for i in range(width):
        move(out[i], out[width])
        move(out[n + width + i], out[n + width - 1])
    return out


@helper(any_layout=True)
def _in_the_middle(x, width):
    """``x`` in an array that is so much longer at each end of each axis."""
    if x.ndim == 1:
        out = empty(x.shape[0] + 2 * width, x.dtype)
        for i in range(x.shape[0]):
            out[i + width] = x[i]
        return out
    out = empty((x.shape[0] + 2 * width, x.shape[1] + 2 * width), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i + width, j + width] = x[i, j]
    return out


@helper(any_layout=True)
def _round(row, n, width):
    """Fill the ends of a row of ``n`` elements by what comes round."""
    for i in range(width if n else 0):
        row[i] = row[(i - width) % n + width]
        row[n + width + i] = row[i % n + width]


@helper(any_layout=True)
def _repeat(row, n, width):
    """The same by its first and last elements."""
    for i in range(width):
        row[i] = row[width]
        row[n + width + i] = row[n + width - 1]
