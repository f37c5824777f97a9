"""Memory chosen at run time: which array a name means depends on conditions and on trips."""

import numpy as np


def in_place_or_copy(x, flag):
    out = x if flag else x.copy()
    out[:1] = 7.0
    for i in range(1, len(x)):
        out[i] = out[i - 1] * 0.5 + x[i]
    return out


def copied_unless(x, a):
    if a < 0.0:
        x = x.copy()
    x += a
    return x


def store_into_the_chosen(x, y, a):
    z = x if a > 1.0 else y
    z *= 2.0
    w = z[1:]
    w += a
    return np.sum(x) + 10.0 * np.sum(y)


def one_of_three(x, y, z, k):
    chosen = x
    if k == 1:
        chosen = y
    elif k == 3:
        chosen = z[::-1]
    chosen[:1] = 5.0
    return chosen


def swapped_argument(u, n):
    v = u.copy()
    for _ in range(n):
        v[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[:-2] + u[2:])
        u, v = v, u
    return u


def swapped_until(u, n):
    v = u.copy()
    for k in range(n):
        for i in range(1, len(u) - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        if np.sum(np.abs(v - u)) < 1e-3 * k:
            break
        u, v = v, u
    return np.sum(u * u)


def rebound_argument(x, n):
    for _ in range(n):
        x = x * 0.5
    return x


def rebound_and_stored(x, n):
    y = x
    for k in range(n):
        y[:1] += 1.0
        if k > 1:
            y = y * 2.0
    return np.sum(y) + 2.0 * np.sum(x)


def best_of_two(x, y, n):
    best = x
    for k in range(n):
        if np.sum(y) > np.sum(best):
            best = y
        best -= 0.3 * k
    return best


def largest_row(m):
    row = m[:1]
    for k in range(1, len(m)):
        if np.sum(m[k : k + 1]) > np.sum(row):
            row = m[k : k + 1]
    row[:] = 0.0
    return row


def same_array(x, y, a):
    z = x if a > 0.5 else y
    return (z is x) + 2.0 * (z is y)


def _pick(x, y, k):
    if k > 1:
        return x
    return y


def picked_by_a_call(x, y, k):
    z = _pick(x, y, k)
    z[:1] = 3.0
    return np.sum(x) + 2.0 * np.sum(y)


def rotated_buffers(x, n):
    a, b, c = x, x * 2.0, x * 3.0
    for _ in range(n):
        a[:1] += np.sum(b)
        a, b, c = b, c, a
    return np.sum(a) + 2.0 * np.sum(b) + 3.0 * np.sum(c)


def array_through_mask(x, y):
    x[y > 0.7] = y[y > 0.7] ** 2
    return x


def changed_through_mask(x, y):
    big = y > 0.7
    x[big] += y[big] * x[big]
    return np.sum(x * y)


def inverse_where_positive(s):
    s[s > 0.0] = 1.0 / s[s > 0.0]
    return s


def pairs_of_indices(m):
    i = np.arange(len(m))
    return m[i, i % 3] * m[i[::-1], 1]


def columns_by_index(m):
    return m[:, np.array([2, 0, 2])] @ np.array([1.0, 2.0, 3.0])


def grid_of_indices(q):
    i = np.arange(len(q))
    return q[i[:, None], i[::-1]]


def rows_by_mask(m):
    picked = m[m[:, 0] > 0.6]
    return np.sum(picked * picked)


def store_at_pairs(m, a):
    i = np.arange(len(m))
    m[i, 0] = a * m[i, 1]
    m[i, i % 2] += 1.0
    return m


def last_of_equal_indices(x):
    index = np.array([0, 0, 0])[: 3 * min(len(x), 1)]
    x[index] = np.array([1.0, 2.0, 3.0])[: len(index)]
    return x


def stores_through_a_reshape(u):
    row = u.reshape(-1)
    for i in range(1, len(row)):
        row[i] += 0.5 * row[i - 1]
    return u.sum()


def stores_into_both_shapes(m):
    flat = m.ravel()
    for i in range(m.shape[0]):
        m[i, 0] *= 2.0
        flat[-1] += m[i, 0]
    return flat


def reshaped_locally(n):
    x = np.zeros(n * (n + 1))
    grid = x.reshape(n, n + 1)
    for i in range(n):
        for j in range(n + 1):
            grid[i, j] = i - 0.5 * j
    return x, grid


def reshaped_if(m, a):
    y = m.reshape(-1)
    if a > 0.3:
        y[0] = a
    else:
        m[0, 0] = 2.0 * a
    return y.sum() + m[0, 0]


def reshape_on_one_path(m, a):
    y = m.reshape(-1) if a > 0.3 else m.sum(axis=0)
    return y * 2.0 + m[0, 0]


def reshaped_after_the_change(m):
    y = m.reshape(m.shape[1], -1)
    m += 1.0
    z = y + 1.0
    y[0] = 3.0
    return z, m


def reshape_of_rows(m):
    for i in range(m.shape[0]):
        row = m[i].reshape(1, -1)
        row[0] *= 1.5
        row[0, 0] = 0.25
    return m


def reshaped_twice(m):
    x = m * 2.0
    y = x.reshape(-1)
    z = y.reshape(x.shape[1], x.shape[0])
    z[0] = 1.0
    y[-1] = 5.0
    return x, z


def _smooth(v):
    v.reshape(-1)[:] *= 0.5
    return v


def reshaped_in_a_function(m):
    p = m.copy()
    _smooth(p)
    return _smooth(m) + p


def flat_elements(m):
    total = 0.0
    for v in m.flat:
        total += v * v
    for k in range(len(m.flat)):
        m.flat[k] = total - k
    return m.flat[-1] + m.flat[1:].sum()


def flat_filled(m):
    p = m.T * 2.0
    p.flat = 0.5
    p.flat[0] += m.flat[0]
    return p


def reshape_while(m, tol):
    y = m.reshape(-1)
    k = 0
    while k < 6 and y[0] > tol:
        y[k % len(y)] *= 0.5
        m[0, 0] -= 0.1
        k += 1
    return m, k


def swapped_reshapes(u, n):
    p = u.reshape(-1)
    q = np.zeros(len(p))
    for _ in range(n):
        q[:] = 0.5 * p
        p, q = q, p
    return p


def stores_lists(m, x, a):
    m[0] = [a, 2 * a, 1.0]
    m[:, 1] += (0.5 * a,)
    m[0, :2] = (1, 2)
    y = [a, 3.0]
    m[0, [0, 2]] = y
    m[-1, :2] *= y
    return x.sum()


def sieve(n):
    prime = np.ones(n + 2, dtype=bool)
    prime[:2] = False
    p = 2
    while p * p < len(prime):
        if prime[p]:
            prime[p * p :: p] = False
        p += 1
    return prime


def diagonal_by_steps(q):
    q.flat[:: q.shape[1] + 1] += 2.0
    return q.sum(axis=0)


def steps_of_run_time(x, n):
    total = 0.0
    for step in range(1, n + 1):
        total += x[::step].sum() - x[::-step][-1:].sum()
        x[1::step][:2] *= 0.5
    return total, x[-1 : -n - 2 : -(n + 1)]


def _exchange(a, b):
    for i in range(len(a)):
        a[i], b[i] = b[i], a[i]


def overlapping_parts_passed(m, x):
    """A function stores into parts of one array, which overlap."""
    _exchange(x[:-1], x[1:])
    _exchange(m[0], m[-1])
    _exchange(m.T[0], m[:, -1])
    return np.sum(m * m[0]) + x[0]


def _leave_first(v, n):
    v[0] = 2.5
    if n > 1:
        v[:] = v * v[::-1]
        raise ValueError(f"no {n}")
    v[-1] *= n
    return np.sum(v)


def part_stored_then_raised(m, n):
    s = _leave_first(m[0], n)
    return s + _leave_first(m[1:, 0], n)


def _fill(x, a):
    if len(x) == 0:
        return 0
    x[0] *= a
    return 1 + _fill(x[1:], a + 1.0)


def recursion_over_the_rest(m, a):
    return _fill(m[0], a) + _fill(m[:, -1], 2.0)


def _unit(v):
    v /= np.sqrt(np.sum(v * v))


def gram_schmidt_by_rows(q):
    m = q.copy()
    for k in range(len(m)):
        for j in range(k):
            m[k] -= (m[k] @ m[j]) * m[j]
        _unit(m[k])
    return m


def shapes_assigned(n, a):
    """As ``x = x.reshape(...)``, where nothing else sees the array."""
    x = np.zeros((n, 2)) + a
    y = np.full((2, n), a)
    x.shape = y.shape = 2 * n
    x[-1:] = 5.0
    for _ in range(2):
        y = y * 2.0
        y.shape = (n, 2)
        y = y.ravel()
    return x, y, x.shape


def copied_to_be_changed(m, n):
    """The steps of a course on fluids: a copy, the middle of it, then its ends from beside them."""
    for _ in range(n):
        old = m.copy()
        m[1:-1, 1:-1] = old[1:-1, 1:-1] + 0.2 * (old[2:, 1:-1] - 2.0 * old[1:-1, 1:-1] + old[:-2, 1:-1])
        m[:, 0] = m[:, 1]
        m[:, -1] = m[:, -2]
        m[0] = 0.5 * old[1]
        m[-1] = m[0]
    return np.max(m)


def parts_stored_twice(m, n):
    """What is stored from elsewhere in an array, and changed where it is then."""
    m[0] = m[1]
    m[0] += 1.0
    m[1:-1, 0] = m[1:-1, 1]
    m[1:-1, 0] -= m[1:-1, 2] * m[1:-1, 1]
    for _ in range(n):
        m[:, -1] = m[:, -2]
        m[:, -1] += 0.5
        m[-1] += m[-2]
        m[-1] = m[-1] * 2.0
    if n > 1:
        row = m[0] * 2.0
        m[0] = m[1]
        m[0] += row
    return np.sum(m)


def parts_that_do_not_meet(m, k):
    m[0] = m[1] * 2.0
    m[:, -1] = m[:, -2] + m[:, 0]
    m[:-1:2, 0] = m[1::2, 0] - 1.0
    m[k] = m[k - 1] + m[k]
    return np.sum(m[-1])


def kept_by_another_name(x, k):
    """What is stored is there when something raises; the other name has what was."""
    old = +x
    x[1:] = old[:-1] * 2.0
    newer = x / 1.0
    x[0] = newer[-1] + 1.0
    return np.sum(old), np.sum(newer) + x[2 * k]


def kept_while_it_changes(x, n):
    old = 1.0 * x
    for i in range(n):
        x[1:-1] = old[:-2] + old[2:] * x[1:-1]
        if i == 4:
            raise ValueError("stop")
    return old


def stored_after_no_trip(x, k):
    for t in range(k):
        for i in range(1, len(x)):
            for j in range(2, x.ndim):
                x[i] = x[i - 1] + j
        x[-2] += x[2] + 1.0
        if t == 1:
            raise ValueError("stop")
    return x


def stored_before_what_certainly_raises(x, k):
    column = x[:, None]
    for _ in range(2):
        for t in range(k):
            column[1:-1] = 0.3 * column[:-2]
            if t > 1:
                raise ValueError("stop")
        column[1:-1, -1] = column[1:-1, 1] * 0.5
    return x


def both_go_on_from_what_was(x, k):
    """What another name of the old content becomes is not the argument, whichever comes first."""
    x[0] = 5.0
    other = +x
    other[k] = other[0] + x[1]
    x[1] = 3.0
    return other[0] + np.sum(x), other[k] * x[0]


def the_other_one_first(x, k):
    other = 1.0 * x
    other[1:] = x[:-1]
    x[:] = x * 0.5
    x[::-1] = other[:]
    x[-1] += 1.0
    return other[k] + np.sum(x)


def bound_anew_in_a_loop(x, n):
    """The name means the argument or an array of the function's own, whose elements are read in another order."""
    y = x
    for _ in range(n):
        own = np.copy(y)
        y[::-1] = y[:]
        y = own
    y[1] = y[-3]
    return y[0] - x[0]


def apart_from_a_branch_on(x, k):
    """The other name is bound to memory of its own, whether the branch is taken or not."""
    other = +x
    if k > 0:
        x[0] = 0.25
        other[0] += 1.0
    other[1] = 7.0
    x[k] = 5.0
    return other


def stored_in_a_branch_and_raised(x, k):
    other = 1.0 * x
    if k > 1:
        x[:] = 0.25
        other *= 2.0
    if k > 2:
        raise ValueError("no")
    return np.sum(other)


def bound_after_a_branch(x, k):
    if x[0] > 0.0:
        x[0] += 1.0
    other = +x
    x[0] = 9.0
    return np.sum(other) + x[3 * k]


def negative_of_what_changes(x, k):
    other = -x
    if k > 0:
        for i in range(len(x)):
            x[i] += other[i - 1]
    other[:] = 1.5 * other
    return other[0] * x[3 * k]


def branch_in_a_branch(x, k):
    other = +x
    if k > 1:
        if x[0] > 0.0:
            x[-1] -= 1.0
        other += x
    other[-1] += 1.5
    x[0] = other[0]
    x[k] = 2.0
    return other[1:] * 1.0
