"""Lists of arrays of a length known at run time only, made arrays again: histories, chunks, layers."""

import numpy as np


def history(x, n, h):
    """What a simulation passes through, each step a new array."""
    states = [x]
    for _ in range(n):
        x = x + h * (np.sin(x) - x)
        states.append(x)
    return np.array(states)


def history_in_place(x, n, h):
    """The same of one array that is changed."""
    y = x.copy()
    states = [y.copy()]
    for k in range(n):
        y *= 1.0 - h
        y[: k + 1] += h
        states.append(y.copy())
    return np.stack(states)


def until_small(x, tol):
    norms, steps = [], [x]
    while np.sum(x * x) > tol:
        x = 0.3 * x
        steps.append(x)
        norms.append(np.sum(x))
    return np.array(steps), len(norms)


def columns(x, n):
    found = [x]
    for k in range(n):
        found.append(np.exp(-x * k))
    return np.column_stack(found), np.vstack(found), np.stack(found, axis=-1)


def chunks(x, n):
    """Pieces of different lengths."""
    pieces = [x]
    for k in range(n):
        pieces.append(x[: (k + 1) % (len(x) + 1)] * (k + 1))
    return np.concatenate(pieces), np.hstack(pieces)


def blocks(x, n):
    """Matrices of different widths, and of different heights."""
    wide, high = [np.outer(x, x)], [np.outer(x, x)]
    for k in range(n):
        wide.append(np.outer(x, x[: (k + 1) % (len(x) + 1)]) * k)
        high.append(wide[-1].T)
    return np.concatenate(wide, axis=1), np.hstack(wide), np.concatenate(high), np.vstack(high)


def tensors(x, n):
    pieces = [np.zeros((2, len(x), 3))]
    for k in range(n):
        pieces.append(np.full((2, len(x), k % 3), 1.0 * k) * x[:, None])
    return np.concatenate(pieces, axis=-1), np.dstack(pieces)


def means(x, n):
    """NumPy takes a list of arrays for an array."""
    samples = [x, x * 0.5] + [x * k for k in range(n)]
    return np.mean(samples, axis=0), np.max(samples), np.sum(samples), np.asarray(samples).T


def total(x, n):
    return sum([x * k for k in range(n + 1)]), sum([x > k for k in range(n + 1)])


def window(x, n):
    """The last three."""
    kept = []
    for k in range(n + 2):
        kept.append(x * k)
        if len(kept) > 3:
            kept.pop(0)
    return np.mean(kept, axis=0)


def newest_first(x, n):
    found = [x]
    for k in range(n):
        found.insert(0, found[0] * 0.5 + k)
    return np.array(found), found[0]


def layers(x, n):
    """A network's forward and backward pass."""
    weights = [np.outer(x, x) + k for k in range(n)]
    outputs = [x]
    for w in weights:
        outputs.append(np.tanh(w @ outputs[-1]))
    g = np.ones(len(x))
    for k in range(n - 1, -1, -1):
        g = weights[k].T @ (g * (1.0 - outputs[k + 1] ** 2))
    return g


def by_name(x, n):
    seen = {"t": [0.0], "y": [x]}
    for _ in range(n):
        seen["t"].append(seen["t"][-1] + 0.1)
        seen["y"].append(seen["y"][-1] * 0.9)
    return np.array(seen["t"]), np.array(seen["y"])


def one_shape(x, n):
    """An array of arrays of different shapes there is not."""
    pieces = [x]
    for k in range(n):
        pieces.append(x[k:])
    return np.array(pieces)


def one_width(x, n):
    pieces = [np.outer(x, x)]
    for k in range(n):
        pieces.append(np.outer(x[k:], x))
    return np.hstack(pieces)


def chosen(x, n):
    """Where nothing is put on the list, NumPy needs at least one, too."""
    found = []
    for k in range(n):
        if x[k % len(x)] > 0.5:
            found.append(x + k)
    return np.concatenate(found)


def two_lists(x, n):
    """Both have the same arrays, until one gets others."""
    left, right = [], []
    for k in range(n):
        left.append(x * k)
        right.append(left[-1])
    for k in range(n):
        left[k] = left[k] + 1.0
    return sum(a @ b for a, b in zip(left, right, strict=True)) + 0.0


def copied(x, n):
    found = [x]
    for k in range(n):
        found.append(x * k)
    again = found.copy()
    again.append(x)
    return np.array(again), len(found)


def step_of_run_time(x, k):
    """A range whose step is not known when compiling."""
    backward = list(range(len(x) - 1, -1, -k))
    for i, j in enumerate(range(0, len(x), k)):
        x = x + i * x[j]
    return x, len(backward), [i for i in range(0, 7, k)]


def conjugated(a, b):
    z = a + 1j * b
    return z.conjugate() * z, np.nan_to_num(np.array([a, np.inf, -np.inf, np.nan]), nan=0.5, posinf=2.0, neginf=-3.0)


def parts(x, n):
    found = [x * k for k in range(n + 1)]
    total = 0.0
    for p, q in zip(found[:-1], found[1:][::-1], strict=True):
        total += p @ q
    return total, np.array(found[::2]), np.array(found[-2:]), np.array(found[::-1]), np.array([x, *found, x][1:3])


def simplex(x, n):
    """Points in order of their values."""
    points = [x * (k + 1) for k in range(n + 2)]
    points = sorted(points, key=lambda p: np.sum((p - 1.0) ** 2))
    points[-1] = 0.5 * (points[0] + points[1])
    points.sort(key=lambda p: np.sum((p - 1.0) ** 2))
    return np.array(points), points[0][0]


def unpacked_and_changed(x, n):
    """Items are taken in order: before the list is shorter, and after."""
    r = [v * 2.0 for v in x]
    r.append(n + 0.5)
    q = [1.0, 2.0, 3.0]
    return [*r, r.pop(), *r], [float(r.append(4.0) is None), *r], [*q, q.pop(), *q]


def unpacked(x, n):
    """Lists and arrays of any length in a list."""
    r = [v * 2.0 for v in x]
    return [*x, 1.0], [*r, 5.0, *r], [1, *range(n), 2], max([*r, 2.0])
