"""The programs timed by `run.py`: as a user writes them, and by hand for numba with their adjoints.

Each program stands three times: the plain function that srcgraph gets, ``hand_*`` as a numba user
writes it, and ``hand_*_gradient``, its reverse derivative written by hand, value included.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# -- a scalar recurrence: the leaky integrator ------------------------------------------------------


def recurrence(decay, drive, steps):
    level = 0.5
    total = 0.0
    for _ in range(steps):
        level = decay * level + drive * (1.0 - level * level)
        total += level
    return total / steps


hand_recurrence = njit(recurrence)


@njit
def hand_recurrence_gradient(decay, drive, steps):
    levels = np.empty(steps)
    level = 0.5
    total = 0.0
    for i in range(steps):
        levels[i] = level
        level = decay * level + drive * (1.0 - level * level)
        total += level
    d_total = 1.0 / steps
    d_level = d_decay = d_drive = 0.0
    for i in range(steps - 1, -1, -1):
        level = levels[i]
        d_level += d_total
        d_decay += d_level * level
        d_drive += d_level * (1.0 - level * level)
        d_level *= decay - 2.0 * drive * level
    return total / steps, (d_decay, d_drive)


# -- Newton's method, once per element, until it converges ------------------------------------------


def newton(targets):
    total = 0.0
    for i in range(len(targets)):
        target = targets[i]
        root = 1.0 + target
        while abs(root * root * root - target) > 1e-10:
            root -= (root * root * root - target) / (3.0 * root * root)
        total += root
    return total


hand_newton = njit(newton, error_model="numpy")


@njit(error_model="numpy")
def hand_newton_gradient(targets):
    n = len(targets)
    d_targets = np.zeros(n)
    trail = np.empty(64)
    total = 0.0
    for i in range(n):
        target = targets[i]
        root = 1.0 + target
        count = 0
        while abs(root * root * root - target) > 1e-10:
            if count == len(trail):
                trail = np.concatenate((trail, trail))
            trail[count] = root
            count += 1
            root -= (root * root * root - target) / (3.0 * root * root)
        total += root
        d_root = 1.0
        d_target = 0.0
        for k in range(count - 1, -1, -1):
            root = trail[k]
            above = root * root * root - target
            below = 3.0 * root * root
            d_above = -d_root / below
            d_below = d_root * above / (below * below)
            d_target -= d_above
            d_root += 3.0 * root * root * d_above + 6.0 * root * d_below
        d_targets[i] = d_target + d_root
    return total, d_targets


# -- a stencil that updates its array in place ------------------------------------------------------


def stencil(u, rate, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            u[i] += rate * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
    total = 0.0
    for i in range(len(u)):
        total += u[i] * u[i]
    return total


hand_stencil = njit(stencil)


@njit
def hand_stencil_gradient(u, rate, steps):
    n = len(u)
    u = u.copy()
    states = np.empty((steps, n))
    for t in range(steps):
        states[t] = u
        for i in range(1, n - 1):
            u[i] += rate * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
    total = 0.0
    for i in range(n):
        total += u[i] * u[i]
    d_u = np.empty(n)
    for i in range(n):
        d_u[i] = 2.0 * u[i]
    d_rate = 0.0
    for t in range(steps - 1, -1, -1):
        before = states[t]
        for i in range(n - 2, 0, -1):
            left, here, right = u[i - 1], before[i], before[i + 1]
            u[i] = here
            bend = left - 2.0 * here + right
            d_rate += d_u[i] * bend * here
            d_bend = d_u[i] * rate * here
            d_u[i] += d_u[i] * rate * bend - 2.0 * d_bend
            d_u[i - 1] += d_bend
            d_u[i + 1] += d_bend
        u[0], u[n - 1] = before[0], before[n - 1]
    return total, (d_u, d_rate)


# -- logistic regression ----------------------------------------------------------------------------


def logistic(weights, features, labels):
    margin = labels * (features @ weights)
    return np.mean(np.log1p(np.exp(-margin)))


@njit
def hand_logistic(weights, features, labels):
    z = np.dot(features, weights)
    total = 0.0
    for i in range(len(labels)):
        total += math.log1p(math.exp(-labels[i] * z[i]))
    return total / len(labels)


@njit
def hand_logistic_gradient(weights, features, labels):
    n = len(labels)
    z = np.dot(features, weights)
    total = 0.0
    for i in range(n):
        weight = math.exp(-labels[i] * z[i])
        total += math.log1p(weight)
        z[i] = -labels[i] * weight / (1.0 + weight) / n
    return total / n, np.dot(z, features)
