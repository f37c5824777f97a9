"""Boolean masks: what they mark is read, summed, changed and stored."""

import numpy as np


def mean_where(x, y, a):
    near = np.abs(x - a) < 0.5
    return y[near].sum() / max(near.sum(), 1)


def product_of_what_is_finite(x, y):
    z = np.where(x > 0.9, np.inf, x)
    good = np.isfinite(z)
    return np.sum(z[good] * y[good])


def roots_of_positive(s):
    return np.sum(np.sqrt(s[s > 0.0]))


def without_a_mask_that_holds(x):
    return x[x > 100.0].sum(), np.all(x[x > 100.0] < 0.0), np.any(x[x > 100.0] < 0.0)


def all_and_any(s):
    inside = (s > -0.9) & (s < 0.9)
    return np.all(s[inside] ** 2 < 0.5), np.any(s[inside] > 0.8)


def escaping(q, n):
    z = np.zeros_like(q)
    steps = np.zeros(q.shape, dtype=np.int64)
    for k in range(n):
        small = np.abs(z) < 2.0
        steps[small] = k
        z[small] = z[small] ** 2 + q[small]
    return steps, z


def changed_in_place(x, y):
    much = x > 0.6
    x[much] += y[much] * x[much]
    x[~much] -= 0.1
    return np.sum(x * x)


def scaled_rows(m, x):
    some = x > 0.7
    m[some] = m[some] * 2.0 + x[some][:, None]
    return m


def rows_of_one_number(m, x, a):
    m[x > 0.7] = a
    m[x < 0.4] *= a
    return m


def rows_by_one_row(m, x):
    m[x > 0.7] = m.sum(axis=0)
    m[x < 0.4] += np.arange(3.0)
    return m


def centres(m, xi):
    out = np.zeros((2, 3))
    for k in range(2):
        mine = xi == k
        if mine.any():
            out[k] = m[mine].mean(axis=0)
    return out


def both_kinds(q):
    out = q.copy()
    large = q > 0.8
    out[large] = np.log(q[large])
    out[~large] = q[~large] ** 2
    return out.sum() + q[large].std() if large.any() else 0.0


def marked_and_sorted(s):
    v = np.sort(s[s > 0.0])
    return np.sum(v * np.arange(len(v))), s[s > 0.0].sum()


def stored_from_an_array(x, y):
    marks = x > 0.6
    x[marks] = y[: marks.sum()]
    return x


def one_for_all(x):
    x[x > 0.6] = x[:1]
    return x


def too_many(x, y):
    x[x > 0.6] = y
    return x


def read_again(x, a):
    marks = x > 0.5
    x[marks] = a * x[marks]
    return np.sum(x[marks] ** 3), x


def a_mask_of_another_time(x):
    v = x[x > 0.6]
    x[:] = 0.0
    return np.sum(v), x


def in_a_branch(x, flag):
    v = x[x > 0.6]
    return np.sum(v) if flag else np.sum(v * v)


def along_other_axes(m, x):
    rows = m[x > 0.6]
    return rows.sum(axis=1), rows.sum(axis=0), rows.sum()


def of_two_axes(r):
    marks = r.sum(axis=2) > 2.0
    r[marks] = r[marks] / 2.0
    return r, r[marks].sum(axis=0)


def complex_numbers(xc, n):
    z = np.zeros_like(xc)
    for _ in range(n):
        small = np.abs(z) < 2.0
        z[small] = z[small] * z[small] + xc[small]
    return z


def integers(xi, xb):
    odd = xi % 2 == 1
    xi[odd] = xi[odd] // 2
    return xi, xb[odd].sum(), (xb[odd] > 0).sum()


def through_a_view(m):
    column = m[:, 1]
    column[column > 0.7] = 0.0
    return m, column[column > 0.3].sum()


def mixed_precision(xf, x):
    marks = xf > 0.5
    xf[marks] = x[marks] * 2.0
    return xf, np.sum(xf[marks] * 0.5)


def nothing_is_stored_at_a_place_that_is_not_there(x, xi):
    x[xi + 1] = 3.0
    return x


def nor_in_two_axes(q, xi, k):
    q[xi, xi + k - 3] = q[0, 0]
    q[:, xi + k] = 2.0
    return q
