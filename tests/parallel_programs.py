"""Functions whose loops threads may share, or must not; argument names choose inputs, see `test_parallel`."""

from __future__ import annotations

import math

import numpy as np

# -- independent trips -------------------------------------------------------------------------------------


def whole_arrays(x, y):
    return np.exp(-x * x) * np.sin(y) + x / (1.0 + y * y)


def rows_of_a_matrix(m, x):
    out = np.zeros(m.shape[0])
    for i in range(m.shape[0]):
        s = 0.0
        for j in range(m.shape[1]):
            s += m[i, j] * x[j]
        out[i] = math.tanh(s)
    return out


def backwards(x, y):
    for i in range(len(x) - 1, -1, -1):
        y[i] = 2.0 * x[i] + y[i]
    return y.sum()


def by_columns(m):
    for j in range(m.shape[1]):
        for i in range(1, m.shape[0]):
            m[i, j] += 0.5 * m[i - 1, j]
    return m.sum()


def every_third(x):
    for i in range(0, len(x), 3):
        x[i] = x[i] * 2.0 + 1.0
    return x


def red_and_black(x):
    for i in range(1, len(x) - 1, 2):
        x[i] = 0.5 * (x[i - 1] + x[i + 1])
    for i in range(2, len(x) - 1, 2):
        x[i] = 0.5 * (x[i - 1] + x[i + 1])
    return x


def turned_round(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[len(x) - 1 - i] = x[i]
    return out


def jacobi(m, n):
    old, new = m.copy(), m.copy()
    for _ in range(n):
        for i in range(1, m.shape[0] - 1):
            for j in range(1, m.shape[1] - 1):
                new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])
        old, new = new, old
    return old


def orbits(x, n):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        z, k = x[i], 0
        while z < 4.0 and k < n:
            z = z * z + x[i]
            k += 1
        out[i] = k
    return out


def with_scratch(m, x):
    out = np.zeros(m.shape[0])
    for i in range(m.shape[0]):
        row = m[i] * x[: m.shape[1]]
        row[0] += 1.0
        out[i] = np.max(row) - np.min(row)
    return out


def lists_of_its_own(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        seen = [x[i]]
        while seen[-1] > 0.1:
            seen.append(0.5 * seen[-1])
        out[i] = sum(seen)
    return out


def gathers(x, k):
    out = np.empty(len(k))
    for i in range(len(k)):
        out[i] = x[k[i]]
    return out


def products(m, x):
    out = np.zeros(m.shape[0])
    for i in range(m.shape[0]):
        out[i] = np.dot(m[i], x[: m.shape[1]]) + np.sum(m @ x[: m.shape[1]])
    return out


# -- sums --------------------------------------------------------------------------------------------------


def sums(x, m):
    return np.sum(x) + np.sum(m * m) + np.mean(x) + np.sum(m, axis=0).sum() + np.sum(m, axis=1).max()


def loops_that_sum(x):
    s, p, k, largest, least = 0.5, 1.0, 0, -1e300, 1e300
    for v in x:
        s += v
        p *= 1.0 + 1e-3 * v
        if v > 0.0:
            k += 1
        largest = max(largest, v)
        if v < least:
            least = v
    return s, p, k, largest, least


def pairs(m):
    e = 0.0
    for i in range(m.shape[0]):
        for j in range(i + 1, m.shape[0]):
            d = 1e-2
            for k in range(m.shape[1]):
                d += (m[i, k] - m[j, k]) ** 2
            e -= 1.0 / math.sqrt(d)
    return e


def histogram(x, n):
    out = np.zeros(n)
    for v in x:
        out[int(abs(v) * 7.0) % n] += v
    return out


def spread_over_neighbours(x):
    out = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        out[i - 1] += 0.25 * x[i]
        out[i] -= 0.5 * x[i]
        out[i + 1] += 0.25 * x[i]
    return out


def complex_sum(z):
    s = 0j
    for v in z:
        s += v * v
    return s + np.sum(z)


def of_integers(k):
    return int(np.sum(k)), k.max(), (k * 3 + 1) % 7


def some_and_all(x):
    some, every = False, True
    for v in x:
        some = some or v > 0.9
        every = every and v > -1e9
    return some, every, np.any(x > 0.9), np.all(x > -1e9)


# -- trips that need each other ----------------------------------------------------------------------------


def recurrence(x):
    for i in range(1, len(x)):
        x[i] += 0.5 * x[i - 1]
    return x


def gauss_seidel(m, n):
    for _ in range(n):
        for i in range(1, m.shape[0] - 1):
            for j in range(1, m.shape[1] - 1):
                m[i, j] = 0.25 * (m[i - 1, j] + m[i + 1, j] + m[i, j - 1] + m[i, j + 1])
    return m


def to_the_end_of_the_array(x):
    for i in range(-2, len(x)):  # x[-2] and x[-1] are stored into twice
        x[i] = x[i] * 1.5 + i
    return x


def one_place(x, y):
    for v in x:
        y[0] = v
    return y


def two_to_one(x, k):
    for i in range(len(k)):
        x[k[i]] = float(i)
    return x


def until(x):
    s = 0.0
    for v in x:
        s += v
        if s > 3.0:
            break
    return s


def last_seen(x):
    t = 0.0
    for v in x:
        if v > 0.5:
            t = v
    return t


def same_array(x):
    y = x
    for i in range(len(x) - 1):
        y[i] = x[i + 1]
    return x


def views(m):
    for i in range(m.shape[0] - 1):
        row = m[i]
        row[:] = m[i + 1] * 0.5
    return m


def transposed(m):
    for i in range(min(m.shape[0], m.shape[1])):
        m.T[i, 0] = m[0, i] + 1.0
    return m


def transposed_in_order(m):
    for i in range(1, min(m.shape[0], m.shape[1])):
        m.T[i, 0] = m[0, i - 1] + 1.0
    return m


def functions_with_constants(x, y):
    return np.abs(x) ** 1.5 + np.arctan2(y, 1.5) + np.hypot(x, 2.0)


def functions_of_constants(x):
    return np.sin(np.zeros(len(x))) + np.cos(np.full(len(x), 0.5)) + x
