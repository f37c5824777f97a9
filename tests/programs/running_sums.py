"""Sums so far that other sums need: their derivatives are sums from the other end."""

import numpy as np


def products(x):
    u = r = 0.0
    for i in range(len(x) - 1):
        u += x[i]
        r += x[i + 1] * u
    return r


def of_one_number(x):
    u = r = 0.0
    for i in range(len(x)):
        u += x[0]
        r += x[i] * u
    return r


def stored(x):
    u = 0.0
    p = np.zeros(len(x))
    for i in range(len(x) - 1):
        u += x[0]
        p[i] = u * x[i]
    return np.sum(p)


def from_both_ends(x):
    s = t = r = 0.0
    n = len(x)
    for i in range(n):
        s += x[i]
        t += x[n - 1 - i]
        r += s * t
    return r


def one_after_the_other(x):
    s = t = r = 0.0
    for v in x:
        s += v
        r += s * s
    for v in x[::-1]:
        t += v
        r += t * s
    return r


def cumulated(x):
    return np.sum(np.cumsum(x) * np.cumsum(x[::-1])), np.sum(np.cumprod(x) * np.cumsum(x[::-1]))


def rolled(x):
    return np.sum(np.cumsum(x) * np.cumsum(np.roll(x, 1)) + np.cumsum(x[::-1]) * np.cumsum(x[::-1] ** 2))


def area(x, y):
    c = total = 0.0
    for i in range(len(x) - 1):
        c += x[i + 1] - x[i]
        total += c * (y[i] + y[i + 1])
    return total


def of_two_numbers(x):
    """An array that is added to, and read, in each trip."""
    u = np.zeros(2)
    r = 0.0
    for i in range(len(x) - 1):
        u = u + x[i]
        r += x[i + 1] * np.sum(u)
    return r


def pairs_in_loops(x, n):
    u = r = 0.0
    for i in range(n):
        for j in range(len(x)):
            u += x[j] * 0.5
            r += u * x[j - i]
    return r


def ahead(x):
    """A loop that needs of an array what another one has made further on."""
    n = len(x)
    y, s = np.zeros(n), 0.0
    for i in range(n):
        y[i] = 2.0 * x[i]
    for i in range(n):
        y[i] = y[i] + 1.0
        if i + 1 < n:
            s += y[i + 1] * x[i]
    return s, y


def behind(x):
    """A loop whose array another one changes, which needs what was stored before."""
    n = len(x)
    y, z = np.zeros(n), np.zeros(n)
    for i in range(n):
        y[i] = 2.0 * x[i]
        if i > 0:
            z[i] = y[i - 1]
    for i in range(n):
        y[i] = y[i] * y[i]
    return y, z
