"""Averages, spreads and what goes with them, as in the analysis of measurements."""

import numpy as np


def standardized(m):
    return (m - m.mean(axis=0)) / m.std(axis=0, ddof=1)


def masked_average(x, mask):
    return np.mean(x, where=mask), np.sum(x, where=mask, initial=0.5)


def weighted_average(m, a):
    mean, weight = np.average(m, axis=1, weights=np.array([0.2, 0.5, 0.3]) * a, returned=True)
    return mean, weight


def covariance_of_rows(m):
    return np.cov(m, rowvar=False)


def correlation(x, y):
    return np.corrcoef(x, y)[0, 1]


def with_holes(x):
    y = np.where(x > 1.2, np.nan, x)
    return np.nanmean(y), np.nanvar(y), np.nanmax(y), np.nansum(y * y)


def largest_of_each(m):
    return np.nanmax(m, axis=0), np.nanargmin(m, axis=1)


def running_extremes(x):
    return np.maximum.accumulate(x), np.minimum.accumulate(x)


def counts_of(x, xi):
    counts = np.zeros(6)
    np.add.at(counts, xi, x)
    return counts


def into_given_arrays(x, y, mask):
    np.multiply(x, y, out=y)
    np.add(x, 1.0, out=x, where=mask)
    total = np.zeros(len(x))
    np.cumsum(y, out=total)
    return total


def table_of_differences(x, y):
    return np.subtract.outer(x, y) ** 2


def on_the_diagonals(q):
    return np.trace(q), np.diagonal(q, 1) * 2.0, np.diag(np.diag(q)) + np.triu(q, 1)


def halves(x):
    first, second = np.array_split(x, 2)
    return first.sum() - second.sum()


def padded_signal(x, k):
    return np.pad(x, k, mode="reflect"), np.pad(x, (1, 2), constant_values=0.5)


def periodic_laplacian(q):
    return np.roll(q, 1, axis=0) + np.roll(q, -1, axis=0) + np.roll(q, (0, 1), axis=(0, 1)) - 3.0 * q


def tiles_and_repeats(x, m):
    return np.tile(x, 2), np.repeat(m, 2, axis=0), np.tile(m, (1, 2))


def edited(x, a):
    y = np.insert(x, 1, a)
    return np.delete(y, 0), np.append(y, [a, 2.0 * a])


def spread_of_numbers(a, n, c):
    """One number is no sample: its variance over ``n - 1`` is 0 / 0."""
    return np.var(a), np.std(n), np.var(c, mean=0.5), np.isnan(np.var(a, ddof=1)), np.var(1.0 + 2.0j)
