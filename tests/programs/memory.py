"""Memory chosen at run time: which array a name means depends on conditions and on trips."""

import numpy as np


def in_place_or_copy(x, flag):
    out = x if flag else x.copy()
    out[:1] = 7.0
    for i in range(1, len(x)):
        out[i] = out[i - 1] * 0.5 + x[i]
    return out


def copied_unless(x, a):
    if a < 0.0:
        x = x.copy()
    x += a
    return x


def store_into_the_chosen(x, y, a):
    z = x if a > 1.0 else y
    z *= 2.0
    w = z[1:]
    w += a
    return np.sum(x) + 10.0 * np.sum(y)


def one_of_three(x, y, z, k):
    chosen = x
    if k == 1:
        chosen = y
    elif k == 3:
        chosen = z[::-1]
    chosen[:1] = 5.0
    return chosen


def swapped_argument(u, n):
    v = u.copy()
    for _ in range(n):
        v[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[:-2] + u[2:])
        u, v = v, u
    return u


def swapped_until(u, n):
    v = u.copy()
    for k in range(n):
        for i in range(1, len(u) - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        if np.sum(np.abs(v - u)) < 1e-3 * k:
            break
        u, v = v, u
    return np.sum(u * u)


def rebound_argument(x, n):
    for _ in range(n):
        x = x * 0.5
    return x


def rebound_and_stored(x, n):
    y = x
    for k in range(n):
        y[:1] += 1.0
        if k > 1:
            y = y * 2.0
    return np.sum(y) + 2.0 * np.sum(x)


def best_of_two(x, y, n):
    best = x
    for k in range(n):
        if np.sum(y) > np.sum(best):
            best = y
        best -= 0.3 * k
    return best


def largest_row(m):
    row = m[:1]
    for k in range(1, len(m)):
        if np.sum(m[k : k + 1]) > np.sum(row):
            row = m[k : k + 1]
    row[:] = 0.0
    return row


def same_array(x, y, a):
    z = x if a > 0.5 else y
    return (z is x) + 2.0 * (z is y)


def _pick(x, y, k):
    if k > 1:
        return x
    return y


def picked_by_a_call(x, y, k):
    z = _pick(x, y, k)
    z[:1] = 3.0
    return np.sum(x) + 2.0 * np.sum(y)


def rotated_buffers(x, n):
    a, b, c = x, x * 2.0, x * 3.0
    for _ in range(n):
        a[:1] += np.sum(b)
        a, b, c = b, c, a
    return np.sum(a) + 2.0 * np.sum(b) + 3.0 * np.sum(c)


def array_through_mask(x, y):
    x[y > 0.7] = y[y > 0.7] ** 2
    return x


def changed_through_mask(x, y):
    big = y > 0.7
    x[big] += y[big] * x[big]
    return np.sum(x * y)


def inverse_where_positive(s):
    s[s > 0.0] = 1.0 / s[s > 0.0]
    return s


def pairs_of_indices(m):
    i = np.arange(len(m))
    return m[i, i % 3] * m[i[::-1], 1]


def columns_by_index(m):
    return m[:, np.array([2, 0, 2])] @ np.array([1.0, 2.0, 3.0])


def grid_of_indices(q):
    i = np.arange(len(q))
    return q[i[:, None], i[::-1]]


def rows_by_mask(m):
    picked = m[m[:, 0] > 0.6]
    return np.sum(picked * picked)


def store_at_pairs(m, a):
    i = np.arange(len(m))
    m[i, 0] = a * m[i, 1]
    m[i, i % 2] += 1.0
    return m


def last_of_equal_indices(x):
    index = np.array([0, 0, 0])[: 3 * min(len(x), 1)]
    x[index] = np.array([1.0, 2.0, 3.0])[: len(index)]
    return x
