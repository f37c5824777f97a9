"""Loops one after the other over one range, of which some become one."""

import numpy as np


def sum_of_what_was_stored(x):
    n = len(x)
    t = np.empty(n)
    for i in range(n):
        t[i] = np.sin(x[i])
    s = 0.0
    for i in range(n):
        s += t[i] * x[i]
    return s


def three(x):
    n = len(x)
    t, u = np.empty(n), np.empty(n)
    for i in range(n):
        t[i] = x[i] * 2.0
    for i in range(n):
        u[i] = t[i] + 1.0
    for i in range(n):
        t[i] = t[i] * u[i]
    return t, u


def recurrence(x):
    n = len(x)
    t = np.zeros(n)
    for i in range(1, n):
        t[i] = t[i - 1] * 0.5 + x[i]
    s = 0.0
    for i in range(1, n):
        s += t[i] ** 2
    return s


def two_steps(x):
    n = len(x)
    t = np.empty(n + 1)
    t[0] = 1.0
    for i in range(n):
        t[i + 1] = t[i] * np.cos(x[i])
    s = 0.0
    for i in range(n):
        s += t[i + 1] * x[i]
    return s


def rows(x):
    m = np.outer(x, x)
    r = np.empty(m.shape)
    for i in range(len(x)):
        r[i] = m[i] * 2.0
    t = np.empty(len(x))
    for i in range(len(x)):
        t[i] = r[i].sum()
    s = 0.0
    for i in range(len(x)):
        s += t[i] * x[i]
    return s


def of_the_argument(x):
    for i in range(len(x)):
        x[i] = x[i] * 2.0
    for i in range(len(x)):
        x[i] = x[i] + 1.0
    return x


def work_between(x):
    n = len(x)
    t = np.empty(n)
    for i in range(n):
        t[i] = x[i] + 1.0
    weight = x.sum()
    most = t.max() if n > 0 else 0.0
    s = 0.0
    for i in range(n):
        s += t[i] * weight
    return s + most


def branches_and_inner_loops(x):
    n = len(x)
    t = np.empty(n)
    for i in range(n):
        if x[i] > 0.0:
            t[i] = x[i]
        else:
            t[i] = -2.0 * x[i]
    s = 0.0
    for i in range(n):
        for j in range(i):
            if t[i] > x[j]:
                s += t[i] * x[j]
    return s


FUSED = [sum_of_what_was_stored, three, recurrence, rows, of_the_argument, work_between]


# -- what has to stay apart -----------------------------------------------------------------------------


def backwards(x):
    n = len(x)
    t = np.zeros(n)
    for i in range(n):
        t[i] = x[i]
    s = 0.0
    for i in range(n):
        s += t[n - 1 - i] * x[i]
    return s


def neighbour(x):
    n = len(x)
    t = np.empty(n + 1)
    t[n] = 0.0
    for i in range(n):
        t[i] = x[i] * 2.0
    s = 0.0
    for i in range(n):
        s += t[i + 1]
    return s


def all_of_it(x):
    n = len(x)
    t = np.empty(n)
    for i in range(n):
        t[i] = x[i]
    z = t.sum()
    s = 0.0
    for i in range(n):
        s += t[i] * z
    return s


def total_is_read(x):
    n = len(x)
    t = np.empty(n)
    s = 0.0
    for i in range(n):
        t[i] = x[i]
        s += x[i]
    for i in range(n):
        t[i] = t[i] / s
    return t


def stored_elsewhere(x):
    n = len(x)
    t = np.zeros(n)
    for i in range(n):
        t[i] = x[i]
        t[0] = t[0] + 1.0
    s = 0.0
    for i in range(n):
        s += t[i] * (i + 1)
    return s


def read_before_it_changes(x):
    """The first loop reads what the second one overwrites."""
    n = len(x)
    t = np.empty(n)
    for i in range(n):
        t[i] = x[n - 1 - i]
    for i in range(n):
        x[i] = t[i] * 2.0
    return x


def changed_at_another_index(x):
    n = len(x)
    t = np.empty(n)
    for i in range(n):
        t[i] = x[i]
    for i in range(n):
        t[i] = t[i] + t[n - 1 - i]
    return t


def other_ranges(x):
    n = len(x)
    t = np.zeros(n)
    for i in range(n):
        t[i] = x[i]
    s = 0.0
    for i in range(1, n):
        s += t[i]
    for i in range(n - 1, -1, -1):
        s = s * 0.5 + t[i]
    return s


def left_early(x):
    n = len(x)
    t = np.zeros(n)
    for i in range(n):
        if x[i] > 1.5:
            break
        t[i] = x[i]
    s = 0.0
    for i in range(n):
        s += t[i]
    return s


APART = [
    backwards, neighbour, all_of_it, total_is_read, stored_elsewhere, read_before_it_changes, changed_at_another_index,
    other_ranges, left_early, branches_and_inner_loops,
]  # fmt: skip


def both_may_raise(x, y):
    """Python raises for the first loop, whose fault comes later in the range."""
    n = len(x)
    t = np.zeros(n)
    for i in range(n):
        if x[i] < 0.0:
            raise ValueError("first")
        t[i] = x[i]
    s = 0.0
    for i in range(n):
        if y[i] < 0.0:
            raise KeyError("second")
        s += t[i]
    return s


def stored_before_it_raises(x):
    """The caller sees all that the first loop stored."""
    for i in range(len(x)):
        x[i] = x[i] * 2.0
    for i in range(len(x)):
        if x[i] > 4.0:
            raise ValueError("too large")
        x[i] = x[i] + 1.0


def stored_twice(x, u, w):
    x[0:2] = u
    x[0:2] = w
