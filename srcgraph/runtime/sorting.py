"""Sorting, searching and counting for generated code. Compiled once per dtype and layout, and kept on disk.

NaN is larger than every number, as for NumPy. All sorts are stable merge sorts: runs put in order by
insertion, then merged in pairs between two buffers.

References
----------
Knuth, The Art of Computer Programming, volume 3, sections 5.2.1 and 5.2.4.
"""

from __future__ import annotations

import numpy as np
from numba import njit

RUN = 16


@njit(error_model="numpy", cache=True)
def sort(x):
    """``x`` in order along its last axis."""
    out = x.copy()
    if x.ndim == 1:
        _sort_line(out)
    else:
        for i in range(x.shape[0]):
            _sort_line(out[i])
    return out


@njit(error_model="numpy", cache=True)
def argsort(x):
    """The indices that put ``x`` in order along its last axis; equal elements keep theirs."""
    order = np.empty(x.shape, np.int64)
    if x.ndim == 1:
        _argsort_line(x.copy(), order)
    else:
        for i in range(x.shape[0]):
            _argsort_line(x[i].copy(), order[i])
    return order


@njit(error_model="numpy", cache=True)
def _sort_line(keys):
    """Sort in place: NaN to the end, the rest by merging."""
    count = 0
    for i in range(len(keys)):
        if keys[i] == keys[i]:
            keys[count], keys[i] = keys[i], keys[count]
            count += 1
    for first in range(0, count, RUN):
        for i in range(first + 1, min(first + RUN, count)):
            key, j = keys[i], i
            while j > first and key < keys[j - 1]:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
    source, target = keys[:count], np.empty(count, keys.dtype)
    width, swapped = RUN, False
    while width < count:
        for first in range(0, count, 2 * width):
            i, j = first, min(first + width, count)
            middle, last = j, min(first + 2 * width, count)
            for k in range(first, last):
                if i < middle and (j >= last or not source[j] < source[i]):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
        source, target = target, source
        swapped = not swapped
        width *= 2
    if swapped:
        for k in range(count):
            keys[k] = source[k]


@njit(error_model="numpy", cache=True)
def _argsort_line(keys, order):
    """As `_sort_line`, carrying the indices along; ``keys`` is scratch."""
    count, nans = 0, len(keys)
    for i in range(len(keys)):
        if keys[i] == keys[i]:
            keys[count], order[count] = keys[i], i
            count += 1
        else:
            nans -= 1
            order[nans] = i
    for k in range((len(keys) - nans) // 2):  # NaN were put down last first
        order[nans + k], order[len(keys) - 1 - k] = order[len(keys) - 1 - k], order[nans + k]
    for first in range(0, count, RUN):
        for i in range(first + 1, min(first + RUN, count)):
            key, index, j = keys[i], order[i], i
            while j > first and key < keys[j - 1]:
                keys[j], order[j] = keys[j - 1], order[j - 1]
                j -= 1
            keys[j], order[j] = key, index
    source, target = keys[:count], np.empty(count, keys.dtype)
    places, moved = order[:count], np.empty(count, np.int64)
    width, swapped = RUN, False
    while width < count:
        for first in range(0, count, 2 * width):
            i, j = first, min(first + width, count)
            middle, last = j, min(first + 2 * width, count)
            for k in range(first, last):
                if i < middle and (j >= last or not source[j] < source[i]):
                    target[k], moved[k] = source[i], places[i]
                    i += 1
                else:
                    target[k], moved[k] = source[j], places[j]
                    j += 1
        source, target, places, moved = target, source, moved, places
        swapped = not swapped
        width *= 2
    if swapped:
        for k in range(count):
            order[k] = places[k]


@njit(error_model="numpy", cache=True)
def gather(x, index):
    """``x[..., index]``, row by row where there are two axes."""
    out = np.empty(index.shape, x.dtype)
    if x.ndim == 1:
        for k in range(len(index)):
            out[k] = x[index[k]]
    else:
        for i in range(index.shape[0]):
            for k in range(index.shape[1]):
                out[i, k] = x[i, index[i, k]]
    return out


@njit(error_model="numpy", cache=True)
def scatter(v, index, n):
    """Zeros of length ``n`` to which ``v[k]`` is added at ``index[k]``, row by row where there are two axes."""
    if v.ndim == 1:
        out = np.zeros(n, v.dtype)
        for k in range(len(index)):
            out[index[k]] += v[k]
    else:
        out = np.zeros((v.shape[0], n), v.dtype)
        for i in range(index.shape[0]):
            for k in range(index.shape[1]):
                out[i, index[i, k]] += v[i, k]
    return out


@njit(error_model="numpy", cache=True)
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


@njit(error_model="numpy", cache=True)
def searchsorted(a, v, right):
    """Where each of ``v`` would go in the sorted ``a``."""
    out = np.empty(len(v), np.int64)
    for k in range(len(v)):
        out[k] = _position(a, v[k], right)
    return out


@njit(error_model="numpy", cache=True)
def search(a, v, right):
    """Where one number would go in the sorted ``a``."""
    return _position(a, v, right)


@njit(error_model="numpy", cache=True)
def direction(a):
    """1 if ``a`` never falls, else -1 if it never rises, else 0."""
    up = down = True
    for k in range(len(a) - 1):
        up = up and a[k] <= a[k + 1]
        down = down and a[k] >= a[k + 1]
    return 1 if up else -1 if down else 0


@njit(error_model="numpy", cache=True)
def count_in_bins(x, edges):
    """How many of ``x`` are between neighbouring edges; the last edge is in the last bin."""
    out = np.zeros(max(len(edges) - 1, 0), np.int64)
    for k in range(len(x)):
        b = bin_of(x[k], edges)
        if b >= 0:
            out[b] += 1
    return out


@njit(error_model="numpy", cache=True)
def weigh_in_bins(x, weights, edges):
    """The sum of the weights of those of ``x`` that are between neighbouring edges."""
    out = np.zeros(max(len(edges) - 1, 0), weights.dtype)
    for k in range(len(x)):
        b = bin_of(x[k], edges)
        if b >= 0:
            out[b] += weights[k]
    return out


@njit(error_model="numpy", cache=True)
def gather_from_bins(x, ct, edges):
    """What each of ``x`` finds in its bin: the transpose of `weigh_in_bins`."""
    out = np.zeros(len(x), ct.dtype)
    for k in range(len(x)):
        b = bin_of(x[k], edges)
        if b >= 0:
            out[k] = ct[b]
    return out


@njit(error_model="numpy", cache=True)
def bin_of(v, edges):
    """The bin a number is in, -1 if it is in none."""
    bins = len(edges) - 1
    if bins < 1 or not edges[0] <= v <= edges[bins]:
        return -1
    return min(_position(edges, v, True) - 1, bins - 1)


@njit(error_model="numpy", cache=True)
def unique(x):
    """The different elements in order; all NaN count as one."""
    found = x.copy()
    _sort_line(found)
    count = 0
    for k in range(len(found)):
        if count == 0 or _differ(found[k], found[count - 1]):
            found[count] = found[k]
            count += 1
    return found[:count].copy()


@njit(error_model="numpy", cache=True)
def _differ(x, y):
    return x != y and (x == x or y == y)


@njit(error_model="numpy", cache=True)
def unique_all(x):
    """Of each different element where it comes first, and how often; of each element which of these it is."""
    order = argsort(x)
    first = np.empty(len(x), np.int64)
    inverse = np.empty(len(x), np.int64)
    counts = np.zeros(len(x), np.int64)
    count = 0
    for k in range(len(x)):
        if k == 0 or _differ(x[order[k]], x[order[k - 1]]):
            first[count] = order[k]
            count += 1
        inverse[order[k]] = count - 1
        counts[count - 1] += 1
    return first[:count].copy(), inverse, counts[:count].copy()


@njit(error_model="numpy", cache=True)
def flatnonzero(x):
    """The indices of the elements that are not zero."""
    count = 0
    for k in range(len(x)):
        if x[k] != 0:
            count += 1
    out = np.empty(count, np.int64)
    count = 0
    for k in range(len(x)):
        if x[k] != 0:
            out[count] = k
            count += 1
    return out


@njit(error_model="numpy", cache=True)
def isin(x, among):
    """Which elements of ``x`` are among others."""
    known = among.copy()
    _sort_line(known)
    out = np.empty(len(x), np.bool_)
    for k in range(len(x)):
        at = _position(known, x[k], False)
        out[k] = at < len(known) and known[at] == x[k]
    return out
