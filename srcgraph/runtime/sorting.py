"""Sorting, searching and counting for generated code. Compiled once per dtype and layout, and kept on disk.

NaN is larger than every number, as for NumPy, whose sorts these are.
"""

from __future__ import annotations

import numpy as np

from srcgraph.runtime.arrays import empty, zeros
from srcgraph.runtime.helpers import helper
from srcgraph.runtime.kernels import lines
from srcgraph.runtime.kernels.blas import copy


@helper
def sort(x):
    """``x`` in order along its last axis."""
    out = _rows(x)
    if lines.sort((out,), (), out.shape, out.strides, ()) != 0:
        raise MemoryError("no room to sort in")
    return out.reshape(x.shape)


@helper
def argsort(x):
    """The indices that put ``x`` in order along its last axis; equal elements keep theirs."""
    rows = _rows(x)
    order = empty(rows.shape, np.int64)
    if lines.argsort((order,), (rows,), rows.shape, order.strides + rows.strides, ()) != 0:
        raise MemoryError("no room to sort in")
    return order.reshape(x.shape)


@helper
def _rows(x):
    """A copy of ``x``, row by row; of a vector, as one row."""
    if x.ndim == 1:
        out = empty((1, len(x)), x.dtype)
        copy((out,), (x,), out.shape, (*out.strides, 0, x.strides[0]), ())
    else:
        out = empty(x.shape, x.dtype)
        copy((out,), (x,), out.shape, out.strides + x.strides, ())
    return out


@helper
def gather(x, index):
    """``x[..., index]``, row by row where there are two axes."""
    out = empty(index.shape, x.dtype)
    if x.ndim == 1:
        for k in range(len(index)):
            out[k] = x[index[k]]
    else:
        for i in range(index.shape[0]):
            for k in range(index.shape[1]):
                out[i, k] = x[i, index[i, k]]
    return out


@helper
def scatter(v, index, n):
    """Zeros of length ``n`` to which ``v[k]`` is added at ``index[k]``, row by row where there are two axes."""
    if v.ndim == 1:
        out = zeros(n, v.dtype)
        for k in range(len(index)):
            out[index[k]] += v[k]
    else:
        out = zeros((v.shape[0], n), v.dtype)
        for i in range(index.shape[0]):
            for k in range(index.shape[1]):
                out[i, index[i, k]] += v[i, k]
    return out


@helper
def tally(index, n):
    """How often each of the integers from 0 to ``n - 1`` comes."""
    out = zeros(n, np.int64)
    for k in range(len(index)):
        out[index[k]] += 1
    return out


@helper
def _position(a, v, right):
    """The number of elements of the sorted ``a`` that come before ``v``; those equal to it too if ``right``."""
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        key = a[middle]
        if right:
            before = key <= v or v != v
        else:
            before = key < v or (v != v and key == key)
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def searchsorted(a, v, right):
    """Where each of ``v`` would go in the sorted ``a``."""
    out = empty(len(v), np.int64)
    for k in range(len(v)):
        out[k] = _position(a, v[k], right)
    return out


@helper
def search(a, v, right):
    """Where one number would go in the sorted ``a``."""
    return _position(a, v, right)


@helper
def direction(a):
    """1 if ``a`` never falls, else -1 if it never rises, else 0."""
    up = down = True
    for k in range(len(a) - 1):
        up = up and a[k] <= a[k + 1]
        down = down and a[k] >= a[k + 1]
    return 1 if up else -1 if down else 0


@helper
def count_in_bins(x, edges):
    """How many of ``x`` are between neighbouring edges; the last edge is in the last bin."""
    out = zeros(max(len(edges) - 1, 0), np.int64)
    bins = bins_of(x, edges)
    for k in range(len(x)):
        if bins[k] >= 0:
            out[bins[k]] += 1
    return out


@helper
def weigh_in_bins(x, weights, edges):
    """The sum of the weights of those of ``x`` that are between neighbouring edges."""
    out = zeros(max(len(edges) - 1, 0), weights.dtype)
    bins = bins_of(x, edges)
    for k in range(len(x)):
        if bins[k] >= 0:
            out[bins[k]] += weights[k]
    return out


@helper
def gather_from_bins(x, ct, edges):
    """What each of ``x`` finds in its bin: the transpose of `weigh_in_bins`."""
    out = zeros(len(x), ct.dtype)
    bins = bins_of(x, edges)
    for k in range(len(x)):
        if bins[k] >= 0:
            out[k] = ct[bins[k]]
    return out


@helper
def bins_of(x, edges):
    """The bin each of ``x`` is in, -1 where it is in none: looked at first where it is if all are equally wide."""
    out = empty(len(x), np.int64)
    bins, per_unit = len(edges) - 1, bins_per_unit(edges)
    first, last = (float(edges[0]), float(edges[bins])) if bins > 0 else (0.0, 0.0)
    for k in range(len(x)):
        found = -1
        if per_unit > 0.0 and first <= x[k] <= last:
            found = min(int((float(x[k]) - first) * per_unit), bins - 1)
            if not edges[found] <= x[k] < edges[found + 1]:
                found = -1
        out[k] = found if found >= 0 else bin_of(x[k], edges, per_unit)
    return out


@helper
def bins_per_unit(edges):
    """How many bins there would be on a length of 1 if all were equally wide."""
    bins = len(edges) - 1
    length = float(edges[bins]) - float(edges[0]) if bins > 0 else 0.0
    return bins / length if length > 0.0 else 0.0


@helper
def bin_of(v, edges, per_unit):
    """The bin a number is in, -1 if it is in none: where it is if all are equally wide, or beside that, or searched."""
    bins = len(edges) - 1
    if bins < 1 or not edges[0] <= v <= edges[bins]:
        return -1
    place = (float(v) - float(edges[0])) * per_unit
    if 0.0 <= place <= bins:  # not NaN, as between infinite edges
        k = min(int(place), bins - 1)
        if v < edges[k] and k > 0:
            k -= 1
        elif k < bins - 1 and v >= edges[k + 1]:
            k += 1
        if edges[k] <= v and (k == bins - 1 or v < edges[k + 1]):
            return k
    return min(_position(edges, v, True) - 1, bins - 1)


@helper
def unique(x):
    """The different elements in order; all NaN count as one."""
    found = sort(x)
    count = 0
    for k in range(len(found)):
        if count == 0 or _differ(found[k], found[count - 1]):
            found[count] = found[k]
            count += 1
    return found[:count].copy()


@helper
def _differ(x, y):
    return x != y and (x == x or y == y)


@helper
def unique_all(x):
    """Of each different element where it comes first, and how often; of each element which of these it is."""
    order = argsort(x)
    first = empty(len(x), np.int64)
    inverse = empty(len(x), np.int64)
    counts = zeros(len(x), np.int64)
    count = 0
    for k in range(len(x)):
        if k == 0 or _differ(x[order[k]], x[order[k - 1]]):
            first[count] = order[k]
            count += 1
        inverse[order[k]] = count - 1
        counts[count - 1] += 1
    return first[:count].copy(), inverse, counts[:count].copy()


@helper
def flatnonzero(x):
    """The indices of the elements that are not zero."""
    count = 0
    for k in range(len(x)):
        if x[k] != 0:
            count += 1
    out = empty(count, np.int64)
    count = 0
    for k in range(len(x)):
        if x[k] != 0:
            out[count] = k
            count += 1
    return out


@helper
def isin(x, among):
    """Which elements of ``x`` are among others."""
    known = sort(among)
    out = empty(len(x), np.bool_)
    for k in range(len(x)):
        at = _position(known, x[k], False)
        out[k] = at < len(known) and known[at] == x[k]
    return out
