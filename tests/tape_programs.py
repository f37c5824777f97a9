"""Numerical programs everyone knows, whose gradients' tapes are golden numbers."""

import numpy as np


def logistic_map(x, rate, steps):
    for _ in range(steps):
        x = rate * x * (1.0 - x)
    return x


def newton_root(a, tol):
    x = a
    while abs(x * x - a) > tol:
        x = 0.5 * (x + a / x)
    return x


def bisection(level, low, high):
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle**3 + middle > level:
            high = middle
        else:
            low = middle
        if high - low < 1e-12:
            break
    return low - (low**3 + low - level) / (3.0 * low * low + 1.0)


def leapfrog(x, v, mass, h, steps):
    """Bodies that attract each other, by kick, drift, kick."""
    n = len(x)
    for _ in range(steps):
        force = np.zeros(n)
        for i in range(n):
            for j in range(n):
                gap = x[j] - x[i]
                force[i] += mass[j] * gap / (gap * gap + 0.01) ** 1.5
        v = v + h * force
        x = x + h * v
    return np.sum(mass * v * v)


def heat(u, rate, steps):
    for _ in range(steps):
        u[1:-1] += rate * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(u * u)


def burgers(u, rate, steps):
    """A shock moves to the right, in place."""
    for _ in range(steps):
        for i in range(len(u) - 1, 0, -1):
            u[i] -= rate * u[i] * (u[i] - u[i - 1])
    return np.sum(u * u)


def lstm(xs, wx, wh, b):
    h, c = np.zeros(len(wh)), np.zeros(len(wh))
    k = len(h)
    for t in range(len(xs)):
        gates = wx @ xs[t] + wh.T @ h + b
        keep = 1.0 / (1.0 + np.exp(-gates[:k]))
        write = 1.0 / (1.0 + np.exp(-gates[k : 2 * k]))
        show = 1.0 / (1.0 + np.exp(-gates[2 * k : 3 * k]))
        c = keep * c + write * np.tanh(gates[3 * k :])
        h = show * np.tanh(c)
    return np.sum(h * h)


def option_price(price, strike, vol, z):
    """An average over paths of a price, by steps of Euler and Maruyama."""
    paths, steps = z.shape
    dt = 1.0 / steps
    total = 0.0
    for p in range(paths):
        s = price
        for t in range(steps):
            s += s * vol * np.sqrt(dt) * z[p, t]
        total += max(s - strike, 0.0)
    return total / paths


def tridiagonal(a, b, c, d):
    """Solve by Thomas: no pivots."""
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    d[n - 1] /= b[n - 1]
    for i in range(n - 2, -1, -1):
        d[i] = (d[i] - c[i] * d[i + 1]) / b[i]
    return np.sum(d * d)


def cholesky(m):
    """The sum of the logarithms of the factor's diagonal, the factor in place."""
    n = m.shape[0]
    for j in range(n):
        for k in range(j):
            m[j, j] -= m[j, k] * m[j, k]
        m[j, j] = np.sqrt(m[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                m[i, j] -= m[i, k] * m[j, k]
            m[i, j] /= m[j, j]
    total = 0.0
    for j in range(n):
        total += np.log(m[j, j])
    return total


def forward_algorithm(start, move, emit, seen):
    """How likely a hidden Markov model makes what was seen, on a logarithmic scale."""
    alpha = start * emit[:, seen[0]]
    total = 0.0
    for t in range(1, len(seen)):
        scale = np.sum(alpha)
        total += np.log(scale)
        alpha = (alpha / scale) @ move * emit[:, seen[t]]
    return total + np.log(np.sum(alpha))


def bubble_sort(x, w):
    n = len(x)
    for i in range(n - 1):
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    total = 0.0
    for i in range(n):
        total += w[i] * x[i] * x[i]
    return total


def matrix_power(m, v, k):
    for _ in range(k):
        v = m @ v
        v = v / np.sqrt(v @ v)
    return v[0]
