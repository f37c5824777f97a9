"""Arrays: elements, slices, stores, views, reductions, copies and aliases."""
# ruff: noqa: B905  (these programs do what people do)

import numpy as np


def sum_of_squares(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s


def iterate_values(x):
    s = 1.0
    for value in x:
        s = s * value + 0.1
    return s


def iterate_rows(m):
    s = 0.0
    for row in m:
        s += row[0] * row[2]
    return s


def enumerate_values(x):
    s = 0.0
    for i, value in enumerate(x):
        s += i * value * value
    return s


def zip_values(x, y):
    s = 0.0
    for p, q in zip(x, y):
        s += p * np.sin(q)
    return s


def zip_enumerate(x, y):
    s = 0.0
    for i, (p, q) in enumerate(zip(x, y), 1):
        s += p * q / i
    return s


def reversed_values(x):
    s = 0.0
    for v in reversed(x):
        s = s * 0.5 + v
    return s


def store_elements(x, a):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = a * x[i] ** 2
    return y


def store_in_argument(x, a):
    for i in range(len(x)):
        x[i] = a * x[i] + x[i] * x[i]


def accumulate_in_argument(x, y):
    for i in range(len(x)):
        x[i] += y[i] * x[i]
        y[i] -= 0.5
    return x[0]


def slice_add(x, a, n):
    for _ in range(n):
        lap = x[:-2] - 2.0 * x[1:-1] + x[2:]
        x[1:-1] += a * 0.1 * lap * (1.0 - x[1:-1])
    return np.sum(x * x)


def slice_store_shifted(x):
    x[1:] = x[:-1] * 2.0
    return np.sum(x**2)


def slice_store_reversed(x):
    x[:] = x[::-1]
    x[0] = 3.0
    return x


def negative_indices(x):
    return x[-1] * x[-2] + x[0]


def swap_elements(x):
    x[0], x[-1] = x[-1], x[0] * 2.0
    return x * x


def gauss_seidel(u, f, n):
    h2 = 0.04
    for _ in range(n):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] - h2 * f[i] * u[i] * u[i])
    return np.sum(u * u)


def gauss_seidel_until(u, f, tol):
    sweeps = 0
    while sweeps < 30:
        change = 0.0
        for i in range(1, len(u) - 1):
            new = 0.5 * (u[i - 1] + u[i + 1] - 0.1 * f[i] * u[i] ** 2)
            change += abs(new - u[i])
            u[i] = new
        sweeps += 1
        if change < tol:
            break
    return u.sum()


def two_buffers(u, n):
    old = u.copy()
    new = np.empty_like(u)
    for _ in range(n):
        new[0] = old[0]
        new[-1] = old[-1]
        for i in range(1, len(u) - 1):
            new[i] = 0.25 * (old[i - 1] + 2.0 * old[i] + old[i + 1]) * old[i]
        old, new = new, old
    return old


def three_buffers(u, n):
    p = u.copy()
    q = u * 0.5
    r = np.zeros_like(u)
    for _ in range(n):
        for i in range(len(u)):
            r[i] = 2.0 * q[i] - p[i] + 0.1 * q[i] * q[i]
        p, q, r = q, r, p
    return q - p


def rebind_array(x, a, n):
    y = x
    for _ in range(n):
        y = np.sin(y) * a
    return y


def alias_store(x):
    y = x
    y[0] = 5.0
    return x * y


def copy_store(x):
    y = x.copy()
    y[0] = 5.0
    return x * y


def row_view(m):
    row = m[0]
    row[1] = 7.0
    return m[0, 1] * np.sum(m * m)


def column_view(m, a):
    col = m[:, 1]
    col *= a
    col[0] += 1.0
    return np.sum(m * m)


def transpose_view(m):
    t = m.T
    t[0, 0] = 9.0
    t[1] *= 2.0
    return np.sum(m**2)


def view_of_view(m):
    v = m[1:, ::-1]
    w = v[:, 1:]
    w[0, 0] = 2.5
    return np.sum(m * m)


def row_in_loop(m):
    for i in range(m.shape[0]):
        row = m[i]
        row[0] = row[1] * row[2]
    return np.sum(np.sin(m))


def new_axis(x, y):
    return np.sum(x[:, None] * np.sin(y[None, :]))


def outer_store(x, y):
    q = np.zeros((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            q[i, j] = x[i] * y[j]
    return q


def broadcasting(m, a):
    col = m[:, :1]
    row = m[:1, :]
    return np.sum(col * row + a)


def scalar_and_array(x, a):
    return (a * x + 1.0) / (2.0 + x * x) - x**2 / a


def array_of_ints(xi, x):
    s = 0.0
    for i in range(len(xi)):
        s += x[xi[i]] * (i + 1)
    return s


def float32_arithmetic(xf):
    y = xf * 2.0 + 1
    return np.sum(y * y)


def float32_store(xf, a):
    xf[0] = a
    xf *= 1.5
    return xf


def reductions(m):
    return np.sum(m) + np.max(m) * np.min(m) + np.mean(m) + m.sum() - m.mean()


def axis_reductions(m):
    return np.sum(m, axis=0), m.sum(axis=1), np.mean(m, axis=-1), np.max(m, axis=0)


def keepdims(m):
    centred = m - np.mean(m, axis=0, keepdims=True)
    return np.sum(centred**2, axis=1, keepdims=True)


def three_axes(r):
    return np.sum(r, axis=(0, 2)), np.sum(r, axis=1), np.mean(r)


def variance(x):
    return np.var(x) + np.std(x)


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def log_sum_exp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def where_mask(x, a):
    y = np.where(x > a, x * x, -x)
    return np.sum(y)


def mask_arithmetic(x, y):
    return np.sum((x > y) * x + (x <= y) * y * y)


def clip_and_extremes(x, y):
    return np.sum(np.maximum(x, y) * np.minimum(x, 0.8)) + np.sum(np.clip(x, 0.3, 1.0))


def matrix_vector(q, x):
    return q @ x


def matrix_matrix(m, q):
    return np.sum((q @ m) ** 2)


def dot_products(x, y, q):
    return np.dot(x, y) + x @ q @ y


def quadratic_form(q, x, n):
    y = x
    for _ in range(n):
        y = q @ y * 0.3
    return y @ y


def logistic_regression(w, q, y):
    z = q @ w
    p = 1.0 / (1.0 + np.exp(-z))
    return -np.mean(y * np.log(p) + (2.0 - y) * np.log(1.0 - p))


def power_iteration(q, n):
    v = np.ones(len(q))
    for _ in range(n):
        v = q @ v
        v = v / np.sqrt(np.sum(v * v))
    return v @ (q @ v)


def parts_joined(m, x, r):
    """The parts of one array along its first axis are the sequence that is joined."""
    return (
        (np.vstack(m), np.hstack(m), np.concatenate(m), np.stack(m, axis=1), np.column_stack(m), np.dstack(m)),
        (np.vstack(r), np.hstack(r), np.concatenate(r, axis=1), np.stack(r, axis=-1), np.column_stack(r), np.dstack(r)),
        (np.vstack(x), np.hstack(x), np.stack(x), np.column_stack(x)),
    )


def windows_of(x, m, n):
    """Windows do not fit where they are longer than the array."""
    view = np.lib.stride_tricks.sliding_window_view
    return view(x, n).mean(axis=-1), view(m, (2, 2)).max(axis=(2, 3)), 2.0 * view(m, 2, axis=1), view(x, (2,))[0] + 1.0


def cholesky(q):
    k = len(q)
    a = q @ q.T + 2.0 * np.eye(k)
    for j in range(k):
        for p in range(j):
            a[j, j] -= a[j, p] * a[j, p]
        a[j, j] = np.sqrt(a[j, j])
        for i in range(j + 1, k):
            for p in range(j):
                a[i, j] -= a[i, p] * a[j, p]
            a[i, j] /= a[j, j]
    return np.log(a[0, 0]) + a[k - 1, 0]


def in_place_operators(x, y):
    x += y
    x *= 2.0
    x -= y * y
    x /= 3.0
    x **= 2
    return x


def new_array_operators(x, y):
    z = x
    z = z + y
    z *= 2.0
    return z


def conditional_store(x, a):
    for i in range(len(x)):
        if x[i] > a:
            x[i] = x[i] * x[i]
        else:
            x[i] += 0.1
    return np.sum(x)


def early_exit_with_store(x, a):
    for i in range(len(x)):
        if x[i] > 1.2 * a:
            x[i] = 0.0
            return x.sum() * 2.0
        x[i] *= a
    return x.sum()


def nested_store_break(q, t):
    s = 0.0
    for i in range(len(q)):
        for j in range(len(q)):
            q[i, j] = np.sin(q[i, j]) * q[j, i]
            s += q[i, j]
            if s > t:
                break
        if s > 3 * t:
            break
    return s + q[0, 0]


def array_in_both_branches(x, a):
    if a > 0.5:
        y = x * a
    else:
        y = x + a
    y[0] = a
    return np.sum(y * y)


def shrinking_array(x, n):
    y = x
    s = 0.0
    for _ in range(n):
        if len(y) > 1:
            y = y[1:] * y[:-1]
            s += y[0]
    return s


def accumulate_products(x):
    out = np.ones(len(x) + 1)
    for i in range(len(x)):
        out[i + 1] = out[i] * x[i]
    return out


def histogram(x, xi):
    counts = np.zeros(len(x))
    for i in range(len(xi)):
        counts[xi[i]] += x[i]
    return counts * counts


def index_out_of_range(x, n):
    s = 0.0
    for i in range(n):
        s += x[i + 3]
    return s


def shapes_do_not_match(x, m):
    return x + m[:, 0]


def length_and_shape(m, x):
    rows, cols = m.shape
    return rows * cols * x.size + len(m) + m.ndim + x.shape[0] * np.sum(x)


def arange_linspace(x, a):
    i = np.arange(len(x))
    g = np.linspace(0.0, a, len(x))
    return np.sum(x * i) + np.sum(g * x)


def full_and_ones(x, a):
    return np.full(len(x), a) * x + np.ones_like(x) - np.zeros(x.shape)


def array_literal(a, b):
    y = np.array([a, b, a * b])
    return y @ y


def matrix_literal(a, b):
    q = np.array([[a, b], [b, 1.0]])
    return q[0, 0] * q[1, 1] - q[0, 1] * q[1, 0]


def reshape_sum(m):
    y = m.reshape(-1)
    return np.sum(y[1:] * y[:-1]) + np.sum(np.ravel(m) ** 2)


def raveled_number(a):
    return np.sum(np.ravel(a) ** 3)


def stencil_2d(q, n):
    for _ in range(n):
        inner = q[1:-1, 1:-1]
        q[1:-1, 1:-1] = inner + 0.1 * (q[:-2, 1:-1] + q[2:, 1:-1] + q[1:-1, :-2] + q[1:-1, 2:] - 4.0 * inner) * inner
    return np.sum(q * q)


def mean_field(m):
    return m - m.mean(axis=0) / (1.0 + m.std(axis=0))


def pairwise_energy(m):
    e = 0.0
    for i in range(len(m)):
        for j in range(i):
            d2 = 0.0
            for k in range(3):
                d = m[i, k] - m[j, k]
                d2 += d * d
            e += 1.0 / np.sqrt(d2 + 0.01)
    return e


def scan_with_state(x, a):
    out = np.empty_like(x)
    state = 0.0
    for i in range(len(x)):
        state = a * state + (1.0 - a) * x[i]
        out[i] = state
    return out


def garch(x, a, b):
    var = 0.2
    total = 0.0
    for i in range(len(x)):
        total += np.log(var) + x[i] ** 2 / var
        var = 0.05 + 0.1 * a * x[i] ** 2 + 0.5 * b * var
    return total


def unchanged_argument(x, y):
    return np.sum(x * y)


def same_array_read_and_stored(x, n):
    y = x.copy()
    for i in range(n):
        if i < len(x):
            y[i] = x[i] * y[len(x) - 1 - i]
    return y


def store_row(m, x):
    m[0] = m[1 % len(m)] * 2.0
    m[:, 2] = x * x
    return m


def store_scalar_slice(x, a):
    x[1:3] = a
    x[::2] = a * a
    return x


def unused_store(x):
    y = x.copy()
    y[0] = 3.0
    return np.sum(x)


def element_kept_before_store(x):
    first = x[0]
    x[0] = 2.0
    return first * x[0] + first * first


def slice_kept_before_store(x):
    head = x[:2].copy()
    x[:2] = 1.0
    return np.sum(head * head) + np.sum(x)


def view_sees_store(x):
    head = x[:2]
    x[0] = 4.0
    return np.sum(head)


def ring(u, a, n):
    size = len(u)
    for _ in range(n):
        for i in range(size):
            u[i] -= a * (u[(i + 1) % size] - u[i - 1]) * u[i]
    return np.sum(u * u)


def ring_of_two_strides(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[(i + 2) % len(x)] += x[i] * x[i - 1]
    return out


def stacked_matrices(r, q):
    return r @ np.swapaxes(r, 1, 2), np.matmul(r, q)


def einsum_forms(m, q):
    a = np.einsum("ij,ik->jk", m, q)
    b = np.einsum("ij,ij,j->i", m, m, a[:, 0])
    return a, b, np.einsum("ii", q)


def contracted(r):
    return np.tensordot(r, r, axes=([0, 2], [0, 2]))


def smoothed(x, y):
    return np.convolve(x, [0.25, 0.5, 0.25], mode="same"), np.correlate(x, y, "full")


def compressed_by_another_length(x, n):
    """A condition may be shorter than the axis, and longer where it does not hold."""
    m = np.ones((2, n)) * np.arange(n)
    return np.compress(x > 0.5, m, axis=1), np.extract(x > 0.5, np.arange(n)), np.compress(x[:1] > 0, x)


def put_anywhere(x, k, n):
    """Nothing to put is fine at any index; an empty array has no place."""
    np.put(x, [k], np.zeros(0))
    np.put(x[:n], [0, -1], [1.0, 2.0])
    return x


def crossed_and_blocked(m, x, y):
    return np.cross(m, m[::-1] + 0.5), np.kron(x, y)


def counted_along(x, n):
    """Integers that follow from the trip, one of them backwards and after the loop, one used before it grows."""
    k = 3
    down = 2 * n
    total = x[0]
    for i in range(n, 0, -1):
        total = np.sin(total * x[k % len(x)]) + k
        k += 4
        for _ in range(0, i, 2):
            total *= x[down % len(x)]
            down -= 2
    return total * k + down


def packed_triangle(x, m):
    """A packed triangle times a row, for each row of a matrix: arrays of known sizes are read again backwards."""
    total = 0.0
    for i in range(len(m)):
        row = np.sin(m[i])
        out = row * row
        k = 0
        for a in range(len(row)):
            for b in range(a + 1, len(row)):
                out[b] += x[k % len(x)] * row[a]
                k += 1
        total += np.sum(out**3)
    return total


def rows_until(x, m, a):
    """An array that each trip makes and keeps, in a loop that is left early."""
    state = x.copy()
    for i in range(1000):
        if i >= len(m) or np.sum(state**2) > 50.0:
            break
        state = a * np.cos(state) * state + m[i, 0]
    return np.sum(state)


def jumps(x, m, a):
    """Differences with something put before and after: a number, a part of the array."""
    rows = np.diff(m, axis=0, prepend=a, append=m[:1])
    return np.sum(np.diff(x, prepend=a) ** 3), np.sum(rows**2), np.diff(x, 2, -1, x[:1], 0)


def columns_first(m, x):
    """Elements in Fortran's order."""
    table = m.ravel(order="F") * np.arange(m.size)
    table[0] = x[0]
    return m.flatten("F") @ table, np.reshape(table, m.T.shape, order="F"), m.reshape(-1, 1, order="F")[1]


def eroded(m, k):
    """Parts of arrays that have names: `slice` as a person would write it for a shift either way."""
    rows, columns = m.shape
    out = np.full((rows, columns), 9.0)
    inner = (slice(1, -1), slice(None))
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            ys, yd = slice(max(0, dy), min(rows, rows + dy)), slice(max(0, -dy), min(rows, rows - dy))
            xs, xd = slice(max(0, dx), min(columns, columns + dx)), slice(max(0, -dx), min(columns, columns - dx))
            out[yd, xd] = np.minimum(out[yd, xd], m[ys, xs] * 0.5)
    out[inner] += k
    return out, m[0][slice(2)], np.sum(m[slice(0, None, 2)])
