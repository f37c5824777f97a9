"""Lists that grow by short lists: rows of a table, points, edges, states to visit."""

import numpy as np


def table(x, n, h):
    """Rows recorded one by one."""
    rows = [[0.0, x[0]]]
    for _ in range(n):
        t, y = rows[-1]
        rows.append([t + h, y + h * (1.0 - y)])
    return np.array(rows)


def returned(x, n):
    rows = []
    for k in range(n):
        rows.append([k, x[k % len(x)], k > 1])
    return rows, len(rows)


def with_arrays(x, n):
    rows = []
    for k in range(n):
        rows.append([k, x * k])
    total = 0.0
    for k, row in rows:
        total += k * np.sum(row)
    return total, rows


def pairs(x):
    found = []
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            found.append([i, j])
    total = 0.0
    for i, j in found:
        total += x[i] * x[j] ** 2
    return total


def hull(x, y):
    """Andrew's monotone chain, the lower half."""
    points = []
    for k in range(len(x)):
        points.append([x[k], y[k]])
    points.sort(key=lambda p: p[0])
    found = []
    for p in points:
        while len(found) >= 2:
            a, b = found[-2], found[-1]
            if (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0:
                break
            found.pop()
        found.append(p)
    return np.array([*found, [0.0, 0.0]]), len(found)


def spanning_tree(x):
    """Kruskal."""
    n = len(x)
    edges = []
    for i in range(n):
        for j in range(i + 1, n):
            edges.append([i, j, (x[i] - x[j]) ** 2 + 0.01 * i * j])
    edges.sort(key=lambda e: e[2])
    parent = list(range(n))
    total = 0.0
    for i, j, length in edges:
        while parent[i] != i:
            i = parent[i]
        while parent[j] != j:
            j = parent[j]
        if i != j:
            parent[i] = j
            total += length
    return total


def halves(a, n):
    """A stack of what is left to do."""
    stack = [[0, a]]
    total = 0.0
    while stack:
        depth, value = stack.pop()
        total += np.sin(value)
        if depth < n:
            stack.append([depth + 1, value * 0.5])
            stack.append([depth + 1, value * 0.3 + 0.1])
    return total


def distances(n):
    """A queue of places."""
    seen = np.zeros((n + 2, n + 1), dtype=np.int64)
    seen[0, 0] = 1
    queue = [[0, 0]]
    while queue:
        i, j = queue.pop(0)
        for di, dj in [(0, 1), (1, 0)]:
            a, b = i + di, j + dj
            if a < n + 2 and b < n + 1 and seen[a, b] == 0:
                seen[a, b] = seen[i, j] + 1
                queue.append([a, b])
    return seen


def methods(a, n):
    rows = [[0, a]]
    for k in range(n):
        rows.append([k, a * k])
    rows[0] = [7, 2.0]
    rows.insert(0, [9, 9.0])
    del rows[1]
    rows.extend([[5, 5.0]])
    rows.reverse()
    last = rows.pop()
    again = [*rows, [3, a]]
    return again[1:], rows[::2], last, [9, 9.0] in rows, rows[0] == [5, 5.0], len(rows[0])


def chosen(x, n):
    rows = []
    for k in range(n):
        if x[k % len(x)] > 0.5:
            more = [[k, x[k % len(x)]]]
            rows = rows + more
    return [v for k, v in rows if k != 1], rows


def pushed_and_popped(a, n):
    """What is taken back at once, and another that is not there any more."""
    rows = []
    for k in range(n):
        rows.append(k * a)
    rows.append(5.0)
    if a > 0.0:
        rows[0] = 3.0
    return rows.pop(), rows, len(rows)


def constants(a, n):
    """Tuples with a word in them, of which there may be none."""
    rows = []
    for k in range(n):
        rows.append((k * a, "step"))
    return rows
