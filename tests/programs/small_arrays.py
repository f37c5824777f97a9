"""Programs with arrays of a few elements, read and stored at places that are known: they become numbers."""

from __future__ import annotations

import numpy as np


def point(a, b):
    p = np.array([a, b])
    p[0] = p[1] * p[0]
    return p[0] - 2.0 * p[1]


def rates(u, a, b):
    return np.array([a * u[0] - b * u[0] * u[1], b * u[0] * u[1] - u[1]])


def runge_kutta(a, b, n):
    """A vector of two states that a loop carries."""
    u, h = np.array([1.0, 0.5]), 0.1
    for _ in range(n):
        k1 = rates(u, a, b)
        k2 = rates(u + 0.5 * h * k1, a, b)
        k3 = rates(u + 0.5 * h * k2, a, b)
        k4 = rates(u + h * k3, a, b)
        u = u + h / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
    return u[0] * u[1]


def means_until(a, b):
    """A loop whose condition reads what it carries, and that is left in the middle of a store."""
    u = np.array([abs(a), abs(b) + 1.0])
    while abs(u[0] - u[1]) > 1e-6:
        m = np.mean(u)
        u = np.array([m, np.sqrt(u[0] * u[1])])
        if u[0] > 100.0:
            u[1] = 3.0
            break
    return u[0]


def turned_about(a, b):
    """Products of small arrays; a unit vector, which is computed from another and read at known places only."""
    x = np.array([a, b, 2.0])
    axis = x / np.sqrt(np.dot(x, x))
    c, s = np.cos(a), np.sin(a)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    y = turn @ np.cross(axis, np.array([1.0, axis[2], b]))
    z = turn.T @ turn @ y - y @ turn
    return z[0] * axis[1] + z @ axis + z[2]


def stored_in_a_branch(a, b, n):
    p = np.zeros(3)
    for k in range(n):
        if k % 3 == 1:
            p[0] += a
        elif a > b:
            p = p[::-1] * 0.5
            p[1] = b
        else:
            p[-1] = p[0] + 1.0
    return p.sum() + p.max() * p[1]


def two_names(a, b):
    """What is stored through one name is seen by the other, and by a part, but not by a copy."""
    p = np.array([a, b, a * b])
    q, part, other = p, p[1:], p.copy()
    q[0] = 5.0
    part[0] *= 3.0
    other[2] = -1.0
    return p[0] + p[1] * other[1] + other[2] * p[2]


def shifted(x):
    """The delay line of a filter."""
    line, out = np.zeros(4), np.empty_like(x)
    for k in range(len(x)):
        line[1:] = line[:-1].copy()
        line[0] = x[k]
        out[k] = line[0] - 0.5 * line[2] + line[3] ** 2
    return out


def overlapping(a, b):
    p = np.array([a, b, 1.0, 2.0])
    p[1:] = p[:-1]
    p[:2] = p[1::-1]
    return p[0] + 2.0 * p[1] + 3.0 * p[2] + 4.0 * p[3]


def rotated(a, x, y):
    """A matrix of four numbers, its transpose, rows and columns."""
    r = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    total = 0.0
    for k in range(min(len(x), len(y))):
        p = np.array([x[k], y[k]])
        q = np.array([np.sum(r[0] * p), np.sum(r[1] * p)])
        total += q[0] * q[1] + np.sum(r.T[0] * q) + np.sum(r, axis=0)[1]
    return total


def into_rows(x):
    """What is computed is stored into rows of a larger array, in order, backwards and added."""
    out = np.zeros((len(x), 3))
    for k in range(len(x)):
        p = np.array([x[k], 1.0, x[k] ** 2])
        out[k] = p * np.max(p)
        out[k, ::-1] += p
        out[: k + 1, 2] *= 0.5
    return out


def returned_after_all(a, b):
    """The array itself is asked for, after arithmetic of one that is not."""
    p = np.array([a, b, 1.0])
    q = p * 2.0 + p[0]
    return q, p[1]


def returned_in_one_branch(a, b):
    p = np.array([a, b])
    if a > b:
        p[0] = b
        return p
    return p + 1.0


def at_a_place_known_late(a, b, k):
    p = np.array([a, b, 3.0])
    p[0] = p[1] + 1.0
    return p[k % 3] * p[0]


def kinds(k, n, a):
    """Integers, truth values, complex numbers, short floats."""
    i = np.array([k, n, 7])
    i[1] //= 2
    t = np.array([a > 0.5, k > n])
    t[0] ^= t[1]
    c = np.array([a + 1j, 2.0 - 1j * a])
    c[1] *= c[0]
    f = np.zeros(2, dtype=np.float32)
    f[0] = a
    f[1] += f[0] * np.float32(3.0)
    w = np.zeros(2, dtype=np.int8)
    w[0] = 100
    w[0] += w[0]
    return i.sum(), i.max() * i[1], t.any(), t.all(), abs(c[1]), np.sum(c).real, f[1], f.sum(), w[0], np.prod(i)


def not_a_number(a, b):
    p = np.array([a, np.nan, b])
    q = np.array([a, b, -b])
    q[2] = p[0]
    return np.max(p), np.min(q), np.argmax(q), np.sort(q)[1]


def never_stored(n, a):
    """No trip may happen, so that what is read afterwards is what was there before."""
    p = np.full(2, a)
    for k in range(n - n):
        p[0] = k
    for _ in range(n):
        p[1] = p[0] * p[1]
    return p[0] + p[1]


def grown(a):
    """One that each trip makes longer is an array."""
    p = np.array([a])
    for _ in range(3):
        p = np.append(p, p[0] + p[-1])
    return p


def two_lanes(x, a):
    """Carried and swapped by a nested loop."""
    p, q = np.array([a, 1.0]), np.array([0.5, a])
    for k in range(len(x)):
        for _ in range(2):
            p, q = q.copy(), p + x[k]
        q[0] = p[1]
    return np.sum(p * q)


def stored_by_a_helper(a, b):
    def put(p, k):
        p[k] = a * b
        return p[0]

    p = np.array([a, b])
    first = put(p, 1)
    return first + p[1] * put(p, 0)


def compared(a, b):
    p, q = np.array([a, b]), np.array([b, a])
    p[0] += 1.0
    if np.all(p > q) or np.any(p == q):
        p[1] = np.where(p[0] > q[0], p[1], q[1])
    return np.sum(np.where(p > q, p, -q)) + len(p) + p.size


def stretched(a, b, x):
    """One element is stored into many, and stretched where arrays meet; a row and a column make a table."""
    one = np.array([a])
    one[0] += b
    x[1:] += one
    row, column = np.array([a, b, 1.0]), np.array([[b], [2.0]])
    column[1, 0] = a
    table = row * column + one
    x[:1] = one[:, None][0]
    return table.sum() + table[1, 2] * np.max(column), x


def none_is_stored(a, x):
    p = np.array([a, 2.0, 3.0])
    p[3:] = x[:0]
    p[1:1] = np.array([a])
    return p[0] * p[1] + p[2]


def outside(a, n):
    """What would read outside is never reached."""
    p = np.array([a])
    p[0] *= 2.0
    if len(p) > 1 and n > 0:
        p[0] += p[1] if len(p) > 1 else 0.0
    try:
        p[0] += p[n + 1]
    except IndexError:
        p[0] += 1.0
    return p[0]
