"""Elements at places that integer arrays name: read in loops, summed, and changed from trip to trip."""

import numpy as np


def row_by_row(q, xi, x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = q[i][xi] @ x
    return np.sum(y * y)


def sums_of_rows(xi, x):
    total = 0.0
    for i in range(len(xi)):
        total += np.sum(x[xi[: i + 1]] ** 2)
    return np.sqrt(total + 1.0)


def mixed_again_and_again(x, xi, n):
    for _ in range(n):
        x = np.tanh(x[xi] + 0.5 * x[::-1])
    return x


def one_value_for_all(x, xi, n):
    total = 0.0
    for k in range(n):
        part = x[xi] * (k + 1.0)
        total += part @ part
        x = x * 0.9
    return total


def until_small(x, xi):
    steps = 0
    while np.sum(x[xi] ** 2) > 0.1 and steps < 40:
        x = 0.8 * x
        steps += 1
    return x, steps


def stored_in_between(x, xi):
    total = 0.0
    for i in range(len(x)):
        part = x[xi]
        x[i] = np.sum(part) * 0.1
        total += part[-1] * part[0]
    return total, x


def seen_halfway(x, y, xi):
    for i in range(len(x)):
        y[i] = np.sum(x[xi + i // 3])
    return y


def by_hand(x, xi, a):
    total = 0.0
    for i in range(len(x)):
        part = np.empty(len(xi))
        for j in range(len(xi)):
            part[j] = x[xi[j]] * a
        for j in range(len(xi)):
            total += part[j] * part[j] * x[i]
    return total


def both_sides(x, xi, a):
    total = 0.0
    for i in range(len(x)):
        part = x[xi] if x[i] > a else x[xi[::-1]] * 2.0
        total += np.sum(part * x)
    return total


def of_single_precision(xf, xi):
    total = np.float32(0.0)
    for i in range(len(xf)):
        total += np.sum(xf[xi] * xf[i])
    return total


def counts(x, xi):
    found = np.zeros(len(x))
    for i in range(len(xi)):
        found[xi[i]] += x[i]
        x[i] = found[xi[i]] * 0.5
    return found, x


def last_of_all(x, xi):
    left = np.ones(len(x))
    for i in range(len(x)):
        left[i] = left[i] * x[xi[i]]
    for i in range(len(x)):
        left[i] = left[i] ** 2
    return left.sum()
