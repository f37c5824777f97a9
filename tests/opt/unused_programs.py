"""Programs that compute what has an infinite derivative at 0, and do not use it there."""

import numpy as np


def replaced_in_the_same_trip(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = np.sqrt(x[i])
        if x[i] == 0:
            y[i] = 0.0
    return np.sum(y)


def replaced_at_once(x):
    y = np.zeros(3)
    y[0] = np.sqrt(x)
    y[0] = 0.0
    return np.sum(y) + x


def read_in_part(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = np.sqrt(x[i])
    return y[1] * y[2]


def replaced_in_part(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = np.log(x[i])
    y[:1] = 0.0
    return np.sum(y)


def number_replaced_in_a_branch(x):
    s = np.sqrt(x[0])
    if x[0] == 0.0:
        s = 0.0
    return s + x[1]


def number_replaced_where_infinite(x):
    t = 0.0
    for i in range(len(x)):
        s = 1.0 / np.sqrt(x[i])
        if not np.isfinite(s):
            s = 0.0
        t += s
    return t


def rows_replaced(x):
    m = np.empty((2, len(x)))
    for k in range(2):
        m[k] = np.sqrt(x) * k
        m[k, 0] = 0.0
    return np.sum(m)


def item_of_a_list_replaced(x):
    kept = []
    for i in range(len(x)):
        kept.append(np.sqrt(x[i]))
    kept[0] = 0.0
    return sum(kept)


def product_replaced(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        t = x[i]
        y[i] = 2 * np.sqrt(t) * x[1]
        if t <= 0:
            y[i] = 0.0
    return y @ y


def helper(y, i, v):
    y[i] = v


def stored_by_a_function(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        helper(y, i, np.sqrt(x[i]))
    y[0] = 1.0
    return np.sum(y)


def no_trip(x):
    s, t = np.sqrt(x[0]), x[1]
    for _ in range(len(x) - 3):
        t += s
    return t


def one_branch_reads_it(x):
    total = 0.0
    for i in range(len(x)):
        root = np.sqrt(x[i])
        if x[i] > 0.0:
            total += root * root * root
    return total
