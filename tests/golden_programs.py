"""Programs whose graph and generated code are kept as golden files, to be read."""

import numpy as np


def gauss_seidel(u, f, tol):
    for _ in range(1000):
        change = 0.0
        for i in range(1, len(u) - 1):
            new = 0.5 * (u[i - 1] + u[i + 1] - f[i] * u[i] * u[i])
            change += abs(new - u[i])
            u[i] = new
        if change < tol:
            break
    return np.sum(u * u)


def relax_until(u, f, tol):
    change = 2.0 * tol
    while change > tol:
        change = 0.0
        for i in range(1, len(u) - 1):
            new = 0.5 * (u[i - 1] + u[i + 1]) - f[i] * np.exp(u[i])
            if abs(new) > 1e6:
                break
            change += abs(new - u[i])
            u[i] = new
    return np.sum(u)


def heat(u, rate, steps):
    for _ in range(steps):
        u[1:-1] += rate * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(u * u)


def newton(a, tol):
    x = a
    while True:
        step = (x * x * x - a) / (3.0 * x * x)
        if abs(step) < tol:
            break
        x -= step
    return x


def two_buffers(u, rate, steps):
    old, new = u.copy(), np.zeros(len(u))
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            new[i] = old[i] + rate * old[i] * (old[i - 1] - old[i + 1])
        old, new = new, old
    return np.sum(old)


def ring_advection(u, rate, steps):
    n = len(u)
    for _ in range(steps):
        new = np.empty(n)
        for i in range(n):
            new[i] = u[i] - rate * u[i] * (u[(i + 1) % n] - u[i - 1])
        u = new
    return np.sum(u * u)


def rk4(y, rate, h, steps):
    for _ in range(steps):
        k1 = rate * y * (1.0 - y)
        y2 = y + 0.5 * h * k1
        k2 = rate * y2 * (1.0 - y2)
        y3 = y + 0.5 * h * k2
        k3 = rate * y3 * (1.0 - y3)
        y4 = y + h * k3
        k4 = rate * y4 * (1.0 - y4)
        y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y


def threshold_autoregression(x, low, high, level):
    total = 0.0
    for t in range(1, len(x)):
        if x[t - 1] > level:
            error = x[t] - high * x[t - 1]
        else:
            error = x[t] - low * x[t - 1]
        total += error * error
    return total / len(x)


def first_above(m, level):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            if m[i, j] > level:
                return m[i, j] * level
    return level


def scale_row(row, factor):
    row *= factor


def normalise(m):
    for i in range(m.shape[0]):
        scale_row(m[i], 1.0 / np.sum(m[i]))
    return np.sum(m * m)


def logistic_regression(weights, features, labels):
    margin = labels * (features @ weights)
    return np.mean(np.log1p(np.exp(-margin))) + 0.01 * (weights @ weights)
