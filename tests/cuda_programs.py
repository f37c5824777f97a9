"""Programs for the CUDA target: whole arrays, loops over time steps, reductions."""

import numpy as np


def chain(x, y, a):
    z = np.exp(-x) * a + np.sqrt(np.abs(y))
    return np.where(z > 1.0, z, 0.5 * z) - np.floor(3.0 * y) + np.minimum(x, y) ** 2


def outer_chain(x, y):
    return np.sum(np.tanh(x[:, None] * y[None, :]) + np.maximum(x[:, None], y))


def masked(x):
    x[x > 0.5] *= -2.0
    return np.sum(x)


def sliced(x, y):
    y[1:-1:2] = x[::-1][1:-1:2] * 2.0
    y[-1] += np.max(x)
    return np.sum(y * np.sin(x))


def heat(u, rate, steps):
    for _ in range(steps):
        u[1:-1] += rate * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        u[len(u) // 2] += 0.1
    return np.sum(u * u)


def jacobi(u, f, steps):
    v = u.copy()
    for _ in range(steps):
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1])
        u, v = v, u
    return np.mean(u * u)


def until_flat(u, tol, most):
    """A test, read back from the device in each trip, ends the loop."""
    change, trips = 2.0 * tol, 0
    while change > tol and trips < most:
        new = 0.5 * (u[:-2] + u[2:])
        change = np.max(np.abs(new - u[1:-1]))
        u[1:-1] = new
        trips += 1
    return np.sum(u) * trips


def history(u, steps):
    seen = np.zeros(steps)
    for t in range(steps):
        u[:] = 0.5 * u + 0.1 * np.cos(u)
        seen[t] = np.sum(u * u)
    return np.sum(seen)


def extremes(m):
    return np.max(m) - np.min(m) + m[1, 2] * np.mean(m, axis=0)[0] + np.sum(np.max(m, axis=1))


def over_axes(m):
    mean = np.mean(m, axis=0, keepdims=True)
    return np.sum(m, axis=0), np.sum(m, axis=1), mean, np.min(m, axis=0), np.prod(m, axis=1)


def in_three(r):
    return np.sum(r, axis=(0, 2)), np.max(r, axis=1), np.sum(r, axis=1), np.sum(r)


def every_second(r):
    """The derivative of a sum over rows that are half as long, of which there may be none."""
    s = np.sum(r, axis=0)
    r[1:, :, ::2] -= 0.5 * s[:, ::2]
    return np.max(r, axis=(0, 2)).sum() + np.sum(r * r)


def several_sums(x, y):
    sums = np.sum(x), np.sum(x * y), np.prod(y), np.sum(x * x)
    return *sums, np.max(y), np.all(x > 0.0), np.any(y > 1.0), np.sum(x > 0.5)


def softmax(m):
    e = np.exp(m - np.max(m, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def cross_entropy(m, w):
    return -np.sum(w * np.log(softmax(m)))


def logsumexp(x):
    c = np.max(x)
    return c + np.log(np.sum(np.exp(x - c)))


def cdf(x):
    return 0.5 * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def black_scholes(s, k, t, rate, sigma):
    root = sigma * np.sqrt(t)
    d1 = (np.log(s / k) + (rate + 0.5 * sigma * sigma) * t) / root
    return np.sum(s * cdf(d1) - k * np.exp(-rate * t) * cdf(d1 - root))


def density(x, y, h):
    """A sum of sums over rows of what is not kept."""
    d = (x[:, None] - y[None, :]) / h
    return np.sum(np.log(np.mean(np.exp(-0.5 * d * d), axis=1)))


def forces(x, mass):
    d = x[:, None, :] - x[None, :, :]
    r2 = np.sum(d * d, axis=2) + 0.01
    return np.sum(d / (r2**1.5)[:, :, None] * mass[None, :, None], axis=1)


def n_body(x, v, mass, steps):
    for _ in range(steps):
        v -= 0.01 * forces(x, mass)
        x += 0.01 * v
    return np.sum(mass[:, None] * v * v)


def standardised(m):
    return np.sum(((m - np.mean(m, axis=0)) / np.std(m, axis=0)) ** 3)


def dot_and_norm(x, y):
    return x @ y / (np.linalg.norm(x) + 1.0)


def branches(x, a):
    if np.sum(x) > a:
        x *= 2.0
    else:
        x -= a
    return np.sum(x**3)


def reshaped(m, x):
    return np.sum(m.reshape(-1)[: len(x)] * x) + np.sum(m.ravel())


def rounded(x):
    whole = np.rint(4.0 * x), np.sign(x - 0.5), np.ceil(x), np.trunc(3.0 * x)
    return *whole, np.cbrt(x), np.exp2(x), np.logaddexp(x, 0.5)


def of_integers(xi, k):
    return xi * k + xi // 2 - xi % 3, np.sum(xi), np.max(xi), np.prod(xi % 3 + 1), xi**2, xi << 1, np.minimum(xi, k)


def of_narrow(xb, xu):
    return xb + xb, xu * xu, np.sum(xb), np.sum(xu), np.max(xb), xb.astype(np.float32) * np.float32(0.5)


def of_float32(xf, mf):
    return np.exp(xf) * np.float32(2.0), np.sum(xf), np.sum(mf, axis=0), np.max(mf, axis=1), np.mean(xf), xf * 0.1


def of_booleans(mask, x):
    return np.where(mask, x, -x), ~mask, mask & (x > 0.5), np.all(mask), np.any(mask), np.sum(mask)


def of_complex(xc, a):
    ratio = np.conj(xc) / (xc + a)
    return xc * xc, np.exp(xc), np.abs(xc), np.sum(xc), xc.real + xc.imag, ratio, np.sqrt(xc), np.log(xc), xc**3


def not_finite(x):
    return 1.0 / (x - x), np.log(x - 2.0), np.sqrt(-x), np.exp(1000.0 * x), x / np.sum(x - x), np.max(x / (x - x) * 0.0)


def wrong_lengths(x, m):
    return x + m[0]


def no_maximum(x):
    return np.max(x[:0])


def told(x, a):
    total = np.sum(x)
    if total > a:
        raise ValueError(f"too large: {total:.3f}")
    print("total", total, "of", len(x))
    return total


# -- refused ------------------------------------------------------------------------------------------


def one_by_one(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * x[i]
    return out


def summed_by_hand(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


def product(m):
    return m.T @ m


def solved(q, x):
    return np.linalg.solve(q, x)


def in_order(x):
    return np.sort(x)


def transformed(x):
    return np.fft.rfft(x)


def drawn(x, rng):
    return x + rng.normal()


def gathered(x, xi):
    return np.sum(x[xi])


def recursive(x, n):
    return x if n == 0 else recursive(x * 2.0, n - 1)


def into_one_place(m, x):
    """The adjoints of what is repeated: many points go into one place, which may not be there."""
    first = m[:, 0] if m.shape[1] > 0 else x
    return np.sum(first[:, None] * x[None, :]) + (np.sum(x[0] * m) if len(x) > 0 else 0.0)


def diffusion(u, steps):
    for _ in range(steps):
        old = u.copy()
        u[1:-1] = old[1:-1] + 0.2 * (old[:-2] - 2.0 * old[1:-1] + old[2:])
        u[0] = u[1]
    return np.sum(u * u)


def of_three_columns(m):
    """Columns of numbers, which threads do not share."""
    m[1:-1, 1:-1] -= 0.2 * (m[:-2, 1:-1] + m[2:, 1:-1] - m[1:-1, :-2])
    return np.sum(m * m)


def stored_and_told(x, most):
    x *= 2.0
    if np.sum(x) > most:
        raise ValueError("large")


def ends(m):
    """Columns stored from those beside them, and padded arrays, with the adjoints of their ends."""
    m[:, 0] = 2.0 * m[:, 1]
    m[:, -1] += m[:, -2]
    p, q = np.pad(m, 1, mode="edge"), np.pad(m, 2, mode="wrap")
    return np.sum(p[2:, 1:-1] * p[1:-1, :-2] + q[4:, 4:] * np.pad(m, 1)[1:-1, 2:])


def rounded_narrow(x):
    """Which 2**52 is too large for."""
    return np.rint(x), np.round(3.0 * x, 1), np.around(-x)
