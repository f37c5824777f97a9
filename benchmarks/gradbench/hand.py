"""Derivatives written by hand for numba, of the evals for which that can be done: what srcgraph is timed against."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(error_model="numpy")
def lse_gradient(x):
    highest = x[0]
    for i in range(1, len(x)):
        highest = max(highest, x[i])
    out = np.empty(len(x))
    total = 0.0
    for i in range(len(x)):
        out[i] = math.exp(x[i] - highest)
        total += out[i]
    for i in range(len(x)):
        out[i] /= total
    return out


@njit(error_model="numpy")
def llsq_gradient(x, n):
    out = np.zeros(len(x))
    for i in range(n):
        t = -1.0 + 2.0 * i / (n - 1)
        left = (1.0 if t > 0.0 else 0.0) - (1.0 if t < 0.0 else 0.0)
        power = 1.0
        for j in range(len(x)):
            left -= x[j] * power
            power *= t
        power = 1.0
        for j in range(len(x)):
            out[j] -= left * power
            power *= t
    return out


@njit(error_model="numpy")
def _slope(x, y, z):
    z[0] = x[0]
    for i in range(1, len(x)):
        z[i] = x[i] * y[i - 1]


@njit(error_model="numpy")
def _slope_back(x, y, d_z, d_x, d_y):
    d_x[0] += d_z[0]
    for i in range(1, len(x)):
        d_x[i] += d_z[i] * y[i - 1]
        d_y[i - 1] += d_z[i] * x[i]


@njit(error_model="numpy")
def ode_gradient(x, steps):
    """The points at which slopes are taken are saved; stages are undone from the last one."""
    n, h = len(x), 2.0 / steps
    y = np.zeros(n)
    at, k = np.empty((steps, 4, n)), np.empty((4, n))
    for step in range(steps):
        for i in range(n):
            at[step, 0, i] = y[i]
        _slope(x, at[step, 0], k[0])
        for stage in range(1, 4):
            part = h if stage == 3 else h / 2.0
            for i in range(n):
                at[step, stage, i] = y[i] + part * k[stage - 1, i]
            _slope(x, at[step, stage], k[stage])
        for i in range(n):
            y[i] += h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
    d_x, d_y, d_at, d_k = np.zeros(n), np.zeros(n), np.empty(n), np.empty((4, n))
    d_y[n - 1] = 1.0
    for step in range(steps - 1, -1, -1):
        for i in range(n):
            d_k[0, i] = d_k[3, i] = h / 6.0 * d_y[i]
            d_k[1, i] = d_k[2, i] = h / 3.0 * d_y[i]
        for stage in range(3, 0, -1):
            part = h if stage == 3 else h / 2.0
            d_at[:] = 0.0
            _slope_back(x, at[step, stage], d_k[stage], d_x, d_at)
            for i in range(n):
                d_k[stage - 1, i] += part * d_at[i]
                d_y[i] += d_at[i]
        _slope_back(x, at[step, 0], d_k[0], d_x, d_y)
    return d_x


@njit(error_model="numpy")
def kmeans_step(points, centroids):
    """Gradient over diagonal of the Hessian: how far each centroid is from the mean of its points."""
    n, d = points.shape
    k = len(centroids)
    count, total = np.zeros(k), np.zeros((k, d))
    for i in range(n):
        nearest, best = np.inf, -1
        for j in range(k):
            square = 0.0
            for c in range(d):
                square += (points[i, c] - centroids[j, c]) ** 2
            if square < nearest:
                nearest, best = square, j
        count[best] += 1.0
        for c in range(d):
            total[best, c] += points[i, c]
    for j in range(k):
        for c in range(d):
            total[j, c] = centroids[j, c] - total[j, c] / count[j]
    return total


@njit(error_model="numpy")
def _minor(a, size, left, rows, columns):
    row, column = rows[size], columns[size]
    if left == 1:
        return a[row, column]
    total, sign, before = 0.0, 1.0, size
    rows[size] = rows[row]
    for _ in range(left):
        columns[before] = columns[column]
        total += sign * a[row, column] * _minor(a, size, left - 1, rows, columns)
        columns[before] = column
        before, column, sign = column, columns[column], -sign
    rows[size] = row
    return total


@njit(error_model="numpy")
def det_gradient(a):
    """Each derivative is the minor without its row and column, by expansion again."""
    size = len(a)
    out = np.ones((size, size))
    if size == 1:
        return out
    rows, columns = np.arange(1, size + 2), np.arange(1, size + 2)
    rows[size] = columns[size] = 0
    for i in range(size):
        above = i - 1 if i else size
        rows[above] = i + 1
        for j in range(size):
            before = j - 1 if j else size
            columns[before] = j + 1
            out[i, j] = (-1.0) ** (i + j) * _minor(a, size, size - 1, rows, columns)
            columns[before] = j
        rows[above] = i
    return out


@njit(error_model="numpy")
def gmm_gradient(alpha, mu, q, l, x, gamma, m):
    """Weights of the components for each point, times the derivatives of their exponents."""
    n, d = x.shape
    k = len(alpha)
    d_alpha, d_mu, d_q, d_l = np.zeros(k), np.zeros(mu.shape), np.zeros(q.shape), np.zeros(l.shape)
    eq, sums = np.exp(q), np.sum(q, axis=1)
    scaled, away, terms, back = np.empty((k, d)), np.empty((k, d)), np.empty(k), np.empty(d)
    for i in range(n):
        highest = -np.inf
        for j in range(k):
            square = 0.0
            for a in range(d):
                away[j, a] = x[i, a] - mu[j, a]
                scaled[j, a] = eq[j, a] * away[j, a]
            at = 0
            for a in range(d):
                for b in range(a + 1, d):
                    scaled[j, b] += l[j, at] * away[j, a]
                    at += 1
            for a in range(d):
                square += scaled[j, a] ** 2
            terms[j] = alpha[j] + sums[j] - 0.5 * square
            highest = max(highest, terms[j])
        total = 0.0
        for j in range(k):
            terms[j] = math.exp(terms[j] - highest)
            total += terms[j]
        for j in range(k):
            weight = terms[j] / total
            d_alpha[j] += weight
            for a in range(d):
                back[a] = -weight * scaled[j, a] * eq[j, a]
                d_q[j, a] += weight + back[a] * away[j, a]
            at = 0
            for a in range(d):
                for b in range(a + 1, d):
                    d_l[j, at] -= weight * scaled[j, b] * away[j, a]
                    back[a] -= weight * scaled[j, b] * l[j, at]
                    at += 1
            for a in range(d):
                d_mu[j, a] -= back[a]
    shares = np.exp(alpha - np.max(alpha))
    return (
        d_alpha - n * shares / np.sum(shares),
        d_mu,
        d_q - gamma**2 * eq**2 + m,
        d_l - gamma**2 * l,
    )


@njit(error_model="numpy")
def _sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


@njit(error_model="numpy")
def lstm_gradient(main, extra, state, sequence):
    """States and gates of all characters are saved; the loss is undone from the last character."""
    layers, b, steps = len(main) // 2, state.shape[1], len(sequence) - 1
    states = np.empty((steps + 1, 2 * layers, b))
    gates, signals, guess = np.empty((steps, layers, 4, b)), np.empty((steps, layers + 1, b)), np.empty((steps, b))
    total = np.empty(steps)
    states[0] = state
    for t in range(steps):
        for i in range(b):
            signals[t, 0, i] = sequence[t, i] * extra[0, i]
        for r in range(layers):
            w, c = main[2 * r], main[2 * r + 1]
            for i in range(b):
                x, hidden = signals[t, r, i], states[t, 2 * r, i]
                forget, ingate = _sigmoid(x * w[i] + c[i]), _sigmoid(hidden * w[b + i] + c[b + i])
                outgate = _sigmoid(x * w[2 * b + i] + c[2 * b + i])
                change = math.tanh(hidden * w[3 * b + i] + c[3 * b + i])
                gates[t, r, 0, i], gates[t, r, 1, i], gates[t, r, 2, i], gates[t, r, 3, i] = (
                    forget,
                    ingate,
                    outgate,
                    change,
                )
                states[t + 1, 2 * r + 1, i] = states[t, 2 * r + 1, i] * forget + ingate * change
                states[t + 1, 2 * r, i] = outgate * math.tanh(states[t + 1, 2 * r + 1, i])
                signals[t, r + 1, i] = states[t + 1, 2 * r, i]
        total[t] = 2.0
        for i in range(b):
            guess[t, i] = signals[t, layers, i] * extra[1, i] + extra[2, i]
            total[t] += math.exp(guess[t, i])
    d_main, d_extra, d_state = np.zeros(main.shape), np.zeros(extra.shape), np.zeros(state.shape)
    d_x = np.empty(b)
    for t in range(steps - 1, -1, -1):
        wanted = 0.0
        for i in range(b):
            wanted += sequence[t + 1, i]
        for i in range(b):
            d_guess = -(sequence[t + 1, i] - wanted * math.exp(guess[t, i]) / total[t]) / (steps * b)
            d_extra[1, i] += d_guess * signals[t, layers, i]
            d_extra[2, i] += d_guess
            d_x[i] = d_guess * extra[1, i]
        for r in range(layers - 1, -1, -1):
            w, d_w, d_c = main[2 * r], d_main[2 * r], d_main[2 * r + 1]
            for i in range(b):
                forget, ingate, outgate, change = (
                    gates[t, r, 0, i], gates[t, r, 1, i], gates[t, r, 2, i], gates[t, r, 3, i],
                )  # fmt: skip
                x, hidden, cell = signals[t, r, i], states[t, 2 * r, i], states[t, 2 * r + 1, i]
                bent = math.tanh(states[t + 1, 2 * r + 1, i])
                d_hidden = d_state[2 * r, i] + d_x[i]
                d_cell = d_state[2 * r + 1, i] + d_hidden * outgate * (1.0 - bent * bent)
                d_forget = d_cell * cell * forget * (1.0 - forget)
                d_in = d_cell * change * ingate * (1.0 - ingate)
                d_out = d_hidden * bent * outgate * (1.0 - outgate)
                d_change = d_cell * ingate * (1.0 - change * change)
                d_w[i] += d_forget * x
                d_c[i] += d_forget
                d_w[b + i] += d_in * hidden
                d_c[b + i] += d_in
                d_w[2 * b + i] += d_out * x
                d_c[2 * b + i] += d_out
                d_w[3 * b + i] += d_change * hidden
                d_c[3 * b + i] += d_change
                d_x[i] = d_forget * w[i] + d_out * w[2 * b + i]
                d_state[2 * r, i] = d_in * w[b + i] + d_change * w[3 * b + i]
                d_state[2 * r + 1, i] = d_cell * forget
        for i in range(b):
            d_extra[0, i] += d_x[i] * sequence[t, i]
    return d_main, d_extra


@njit(error_model="numpy")
def _miss(w):
    """The squared miss of a particle, and its derivative by the place of the upper charge, w below (10, 10)."""
    x, y, vx, vy = 0.0, 8.0, 0.75, 0.0
    tx = ty = tvx = tvy = 0.0
    while True:
        fx = fy = tfx = tfy = 0.0
        for above, moved in ((10.0 - w, 1.0), (0.0, 0.0)):
            dx, dy, tdx, tdy = x - 10.0, y - above, tx, ty + moved
            r2 = dx * dx + dy * dy
            r3 = r2 * math.sqrt(r2)
            tr3 = 3.0 * math.sqrt(r2) * (dx * tdx + dy * tdy)
            fx += dx / r3
            fy += dy / r3
            tfx += (tdx - dx / r3 * tr3) / r3
            tfy += (tdy - dy / r3 * tr3) / r3
        x, y, tx, ty = x + 0.1 * vx, y + 0.1 * vy, tx + 0.1 * tvx, ty + 0.1 * tvy
        if y <= 0.0:
            break
        vx, vy, tvx, tvy = vx + 0.1 * fx, vy + 0.1 * fy, tvx + 0.1 * tfx, tvy + 0.1 * tfy
    at = x - y / vy * vx
    t_at = tx - (ty * vx + y * tvx) / vy + y * vx * tvy / (vy * vy)
    return at * at, 2.0 * at * t_at


@njit(error_model="numpy")
def particle_best(start):
    w, step, helped = start[0], 1e-5, 0
    value, down = _miss(w)
    while abs(down) > 1e-5:
        if helped == 10:
            step, helped = 2.0 * step, 0
            continue
        moved = w - step * down
        if abs(moved - w) <= 1e-5:
            break
        there, slope = _miss(moved)
        if there < value:
            w, value, down, helped = moved, there, slope, helped + 1
        else:
            step, helped = step / 2.0, 0
    return np.array([w])
