"""Functions that promise facts about their arrays."""

from typing import Annotated

import numpy as np
import scipy.linalg

import srcgraph as sg

Positive = Annotated[np.ndarray, sg.Facts(positive=True, finite=True)]


def least_squares(m, f, a):
    normal = sg.assume(m.T @ m + (a * a + 0.5) * np.eye(m.shape[1]), positive_definite=True)
    weights = np.linalg.solve(normal, m.T @ f)
    return weights, np.linalg.slogdet(normal)[1], np.trace(np.linalg.inv(normal))


def triangles(q, y, n):
    low = np.tril(q) + 3.0 * np.eye(len(q))
    for _ in range(n % 3):
        y = np.linalg.solve(low, y) + np.linalg.solve(low.T, y)
    return y, np.linalg.slogdet(low)[1]


def rotated(q, y):
    turn, _ = np.linalg.qr(q + 2.0 * np.eye(len(q)))
    sg.assume(turn, orthogonal=True)
    return np.linalg.solve(turn, y), np.linalg.inv(turn) @ y


def _entropy(p: Positive):
    return -np.sum(p * np.log(np.abs(p))) + np.log(np.prod(p))


def entropy(x):
    p = np.exp(x - np.max(x))
    return _entropy(p / np.sum(p) + 0.1)


def until_something_is_stored(q, y):
    low = np.tril(q) + 3.0 * np.eye(len(q))
    sg.assume(low, lower_triangular=True, invertible=True)
    first = np.linalg.solve(low, y)
    low[0, 1] = 0.25
    return first, np.linalg.solve(low, y)


def in_one_branch(q, y, a):
    m = np.tril(q) + 3.0 * np.eye(len(q))
    if a > 0.0:
        m = sg.assume(m, lower_triangular=True)
    else:
        m[0, 1] = a
    return np.linalg.solve(m, y)


def by_scipy(q, y):
    s = q @ q.T + np.eye(len(q))
    return (
        scipy.linalg.solve(s, y, assume_a="pos"),
        scipy.linalg.solve(q + 3.0 * np.eye(len(q)), y, assume_a="lower triangular"),
    )
