"""A program for each part of the saving policy."""

import numpy as np


def linear(x, a, steps):
    for _ in range(steps):
        x = 0.5 * x + a
    return x


def invariant(x, w, steps):
    for _ in range(steps):
        x = x * np.sum(np.exp(w)) * 0.1
    return x


def cheap(x, steps):
    total = 0.0
    for _ in range(steps):
        y = x * x
        z = y + 1.0
        total += z * y
        x = x * 0.9 * z
    return total


def reads(x, w, order, steps):
    for k in range(steps):
        x = x + np.sin(w[order[k]]) * w[k]
    return x


def counted(x, tol):
    i = 0
    s = 0.0
    while s < tol and i < len(x):
        s += x[i] * x[i]
        i += 2
    return s


def stopped(x, tol):
    k = 3
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[k]
        k -= 1
        if s > tol or k < 0:
            break
    return s


def compacted(x, y, t):
    c = 0
    for i in range(len(x)):
        if x[i] > t:
            y[c] = x[i] * x[i]
            c += 1
    return np.sum(y[:c] * y[:c])


def wandering(x, steps, order):
    k = 7
    s = 1.0
    for i in range(steps):
        k = order[i] - k
        s = s + x[k % 6] * x[i]
    return s


def swapped(x, steps):
    s = 0.0
    n = len(x)
    for i in range(steps):
        a = i % n
        b = (i * 3 + 1) % n
        x[a], x[b] = x[b], x[a]
        s += x[0] * x[0] * x[a]
    return s


def rows_swapped(m, w, steps):
    s = 0.0
    for i in range(steps):
        k = i % (m.shape[0] - 1)
        row = m[k].copy()
        m[k] = m[k + 1]
        m[k + 1] = row
        s += np.sum(m[0] * m[0] * w)
    return s


def exchanged(a, b, c, steps):
    s = 0.0
    for _ in range(steps):
        a, b, c = b, -c, a
        s += a * a * b
    return s


def signs(x, w, steps):
    s = 0.0
    plus = True
    for _ in range(steps):
        x[:] = -x
        plus = not plus
        s += np.sum(x * x * x * w)
        if plus:
            s += x[1] * x[2]
    return s


def backwards(x, w, steps):
    s = 0.0
    for _ in range(steps):
        x = x[::-1].copy()
        s += np.sum(x * x * w)
    return s


def turned_in_turn(x, w, steps):
    """What is undone in the inner loop is saved once a trip of the outer one."""
    s = 0.0
    for i in range(steps):
        y = x * (i + 1.0)
        for k in range(4):
            y[:] = -y
            s += np.sum(y**3 * w) * k
        x = x + 0.1 * y
    return s


def sorted_by_insertion(x, w):
    """How often elements change places is known when it runs: the inner loop's integer is undone."""
    n = len(x)
    s = 0.0
    for i in range(1, n):
        j = i
        while j > 0 and x[j - 1] > x[j]:
            x[j - 1], x[j] = x[j], x[j - 1]
            s += w[j] * w[j]
            j -= 1
    return s + np.sum(x * x * w)


def floats_stay(x, steps):
    """A sum of floats is not undone: (x + c) - c is not x."""
    s = 0.0
    for _ in range(steps):
        x = x + 0.1
        s += x * x * x
    return s


def invariant_backwards(x, w, steps):
    for _ in range(steps):
        x = np.sin(x) * np.sqrt(w)
    return x


def solved(mean, eccentricity):
    """Sines are slower than memory where trips wait for each other, and are what derivatives of cosines are."""
    x = mean
    change = 1.0
    while abs(change) > 1e-12:
        change = (x - eccentricity * np.sin(x) - mean) / (1.0 - eccentricity * np.cos(x))
        x -= change
    return np.cos(x)


def rooted(x):
    """A square root is not."""
    y = 1.0
    while y < 10.0:
        y = np.sqrt(y * y + x) + y
    return y


def in_a_branch(x, y):
    """What a branch computes outside every loop is in variables; where it is not taken, in none."""
    if x < 1.0:
        s = np.sin(x)
        while s < 1.5:
            s = s * y + 0.1
        out = s * np.exp(x * y)
    else:
        out = x / y
    return out * y


def a_row_in_a_branch(x, t):
    """So is an array of which the size is given."""
    if t > 0.0:
        y = np.sort(x * t)
        out = y * y[::-1]
    else:
        out = 3.0 * x
    return np.sum(out * x) * t


def filled(x, steps):
    """What each trip fills anew follows from the state: only that is saved."""
    y = np.zeros(len(x))
    for _ in range(steps):
        k1 = np.empty_like(y)
        k1[0] = x[0]
        k1[1:] = x[1:] * y[:-1]
        k2 = np.empty(len(y))
        k2[0] = x[0]
        k2[1:] = np.sin(x[1:] * (y[:-1] + 0.5 * k1[:-1]))
        y = y + 0.1 * (k1 + k2) * y
        y[0] += 0.1
    return np.sum(y * y)


def filled_in_a_branch(x, steps):
    y = x * 0.5
    for k in range(steps):
        z = np.zeros(len(y))
        if k % 2:
            z[1:] = y[:-1] * y[1:]
        else:
            z[:-1] = y[1:] ** 2
        z[2] = y[0] * y[1]
        y = y + z * y * 0.1
    return np.sum(y)


def read_in_between(x, steps):
    y = x * 1.0
    for _ in range(steps):
        z = np.empty(len(y))
        z[:] = y * y
        before = z[1]
        z[1] = y[0] * before
        y = np.sin(y) + 0.1 * z * before
    return np.sum(y)
