"""Sorting, searching, counting and sets, as data are worked with."""

import numpy as np


def trimmed_mean(x, k):
    cut = min(k, len(x) // 4)
    y = np.sort(x)
    return np.mean(y[cut : len(y) - cut])


def pinball_loss(x, y, t):
    """Quantile regression through the origin, and the slope that sorting suggests."""
    slope = np.sort(y / x)[len(x) // 2]
    residual = y - slope * x
    return np.sum(np.where(residual > 0.0, t * residual, (t - 1.0) * residual))


def sorted_columns(m):
    return np.sort(m, axis=0), np.sort(m, axis=1), np.sort(m, axis=None)


def sorted_planes(r):
    return np.sort(r, axis=0), np.sort(r, axis=1)[0] * 2.0, np.sort(r)


def sort_in_place(x, m):
    x.sort()
    m[0].sort()
    m.sort(axis=0)
    return x[-1] - x[0]


def reorder_by(x, y):
    order = np.argsort(y)
    x = x[order]
    return np.cumsum(x) * np.arange(len(x))


def descending(x):
    return 2.0 * np.sort(x)[::-1], np.argsort(-x)


def ranks(xb):
    order = np.argsort(xb, kind="stable")
    out = np.empty(len(xb), np.int64)
    out[order] = np.arange(len(xb))
    return out


def stable_order(xb, xu, mask):
    return xb.argsort(kind="stable"), np.argsort(xu, stable=True), np.argsort(mask, kind="stable")


def sort_with_nan(x):
    y = x.copy()
    y[::2] = np.nan
    return np.sort(y), np.argsort(y), np.sort(-y)


def sort_kinds(xb, xu, mask, xf, xr, xs):
    return np.sort(xb), np.sort(xu), np.sort(mask), np.sort(xf), np.sort(xr), np.sort(xs)


def k_smallest(x, k):
    return np.partition(x, k)[k], np.sum(np.partition(x, k)[:k]), x[np.argpartition(x, k)[k]]


def partition_in_place(x):
    x.partition(1)
    return x[-1]


def order_by_two_keys(xb, xu):
    return np.lexsort((xu, xb))


def l_moments(x):
    """The first two L-moments: sums of the ordered sample."""
    y = np.sort(x)
    n = len(y)
    b0 = np.mean(y)
    b1 = np.sum(np.arange(n) * y) / (n * max(n - 1, 1))
    return b0, 2.0 * b1 - b0


def gini(x):
    y = np.sort(x)
    n = len(y)
    i = np.arange(1, n + 1)
    return np.sum((2 * i - n - 1) * y) / (n * np.sum(y))


def wasserstein(x, y):
    return np.mean(np.abs(np.sort(x) - np.sort(y)))


def empirical_cdf(x, y):
    return np.searchsorted(np.sort(x), y, side="right") / len(x)


def interpolate_by_search(x, a):
    at = np.linspace(0.0, 2.0, 6)
    values = at * at * a
    k = np.clip(np.searchsorted(at, x) - 1, 0, len(at) - 2)
    t = (x - at[k]) / (at[k + 1] - at[k])
    return (1.0 - t) * values[k] + t * values[k + 1]


def search_forms(x, a, m):
    y = np.sort(x)
    return np.searchsorted(y, a), y.searchsorted(a, "right"), np.searchsorted(y, m), np.searchsorted([0.3, 0.9], x)


def search_with_sorter(x, y):
    return np.searchsorted(x, y, sorter=np.argsort(x))


def bins_of(x, m):
    edges = np.array([0.3, 0.6, 0.9, 1.2])
    return np.digitize(x, edges), np.digitize(m, edges[::-1], right=True), np.digitize(0.7, edges)


def bins_without_order(x):
    return np.digitize(x, np.array([0.3, 0.9, 0.6]))


def group_means(x, xi):
    counts = np.bincount(xi, minlength=3)
    sums = np.bincount(xi, weights=x, minlength=3)
    return sums / np.maximum(counts, 1)


def count_small_integers(xu, mask, k):
    return np.bincount(xu), np.bincount(mask, minlength=k)


def count_negative(xb):
    return np.bincount(xb)


def histogram_entropy(x):
    counts, edges = np.histogram(x, bins=4, range=(0.0, 2.0))
    p = counts / np.sum(counts)
    return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)), edges


def histogram_forms(x, y, xi):
    found = np.histogram(x, np.array([0.2, 0.5, 1.1]))[0]
    weighted = np.histogram(x, bins=3, range=(0.0, 1.0), weights=y)[0]
    return found, weighted, np.histogram(xi), np.histogram(x, bins=4, density=True)


def histogram_of_equal(n):
    return np.histogram(np.full(n, 0.5), bins=3)


def histogram_falling(x):
    return np.histogram(x, bins=[1.0, 0.5, 2.0])


def values_and_counts(xi):
    values, counts = np.unique(xi, return_counts=True)
    return values[np.argmax(counts)], counts


def unique_forms(xi, m):
    values, first, inverse, counts = np.unique(xi, return_index=True, return_inverse=True, return_counts=True)
    return values[inverse] - xi, first, counts, np.unique(np.round(m)), len(np.unique(xi))


def unique_with_nan(x):
    y = x.copy()
    y[1:] = np.nan
    return np.unique(y)


def sum_of_different(x):
    y = np.concatenate((x, x))
    return np.sum(np.unique(y) ** 2)


def where_nonzero(mask, m):
    rows, columns = np.nonzero(m > 0.8)
    return np.flatnonzero(mask), rows, columns, np.argwhere(m > 0.8), mask.nonzero()[0]


def where_alone(x):
    (found,) = np.where(x > 0.7)
    return np.sum(x[found] ** 2), found


def sets_of_integers(xi, xu):
    return np.union1d(xi, xu), np.intersect1d(xi, xu), np.setdiff1d(xu, xi), np.setxor1d(xi, xu)


def members(xi, a):
    inside = np.isin(xi, [0, 2, 4])
    return inside, np.isin(xi, np.array([1, 3]), invert=True), np.isin(a, [0.7])


def nearest_neighbour_distances(x):
    y = np.sort(x)
    gaps = y[1:] - y[:-1]
    return np.sum(np.sqrt(gaps + 0.1))


def dbscan_like_labels(x, h):
    order = np.argsort(x)
    labels = np.zeros(len(x), np.int64)
    label = 0
    for k in range(1, len(x)):
        if x[order[k]] - x[order[k - 1]] > h:
            label += 1
        labels[order[k]] = label
    return labels, np.bincount(labels)


def bins_that_fall(xi):
    """Numbers on the edges of bins, either way."""
    falling = np.array([4, 3, 1, 0])
    return np.digitize(xi, falling), np.digitize(xi, falling, right=True), np.digitize(xi, falling[::-1], right=True)


def rank_correlation(x, y):
    rx = np.argsort(np.argsort(x))
    ry = np.argsort(np.argsort(y))
    n = len(x)
    d = rx - ry
    return 1.0 - 6.0 * np.sum(d * d) / (n * (n * n - 1.0))


def steps_of_a_chain(m, x):
    """The row of the state is searched where it is; columns, and what is stored into meanwhile."""
    sums = np.cumsum(np.abs(m), axis=1)
    width = sums.shape[1]
    state, states = 0, np.zeros(len(x), np.int64)
    for t in range(len(x)):
        state = np.searchsorted(sums[state % len(sums)], np.abs(x[t]) * width * 0.5)
        states[t] = state
    column = np.searchsorted(sums[:, 0], 0.1)
    row = sums[0]
    before = np.searchsorted(row, 0.5)
    sums[0, 0] = 10.0
    return states, column, before, np.searchsorted(sums[0, ::2], 0.5)
