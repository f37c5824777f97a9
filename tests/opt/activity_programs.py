"""Programs parts of which do not matter to the derivative."""

import numpy as np


def unused_work(x):
    y = np.exp(x) * 3.0
    z = np.sum(np.sin(y))
    w = x * x
    if z > 100.0:
        w = 1.0 * w
    return np.sum(w)


def not_dependent(x, b):
    c = np.zeros(len(b))
    for i in range(len(b)):
        c[i] = np.exp(b[i]) * b[i]
    return np.sum(c * x)


def with_aux(x):
    h = np.zeros((4, len(x)))
    for k in range(4):
        h[k] = np.sin(x) * k
    return np.sum(x * x), h


def parts_of_a_tuple(x):
    def inner(x):
        return np.sum(x * x), np.exp(x), np.cumsum(x)

    a, *_ = inner(x)
    return a


def branch(x, flag):
    s = np.sum(x * x)
    if flag > 0:
        t = 3.0
    else:
        t = 4.0
    return s * t


def inactive_carry(x, w, steps):
    u = w.copy()
    s = 0.0
    for _ in range(steps):
        u = np.sin(u) * u
        s += np.sum(x * u)
    return s


def overwritten(x):
    y = x * 2.0
    y[:] = x * x
    return np.sum(y)


def loop_fill(x, steps):
    for _ in range(steps):
        new = np.zeros(len(x))
        for i in range(1, len(x) - 1):
            new[i] = x[i] * x[i - 1]
        x = new
    return np.sum(x)


def carried(x, steps):
    v = np.zeros(len(x))
    for _ in range(steps):
        v = 0.9 * v + x * x
        x = x - 0.1 * v
    return np.sum(x)


def elements(x):
    return x[0] * x[3]


def one_branch(x, c):
    if c > 0:
        y = x * x
    else:
        y = np.ones(len(x))
    return np.sum(y)


def stacked(x):
    m = np.zeros((3, len(x)))
    m[0] = x
    m[1] = x * x
    m[2] = 1.0
    return np.sum(m * m)
