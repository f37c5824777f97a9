"""Small numerical methods, written as people write them."""

import math

import numpy as np


def simpson(a, b, k):
    steps = 2 * k
    h = (b - a) / steps
    s = math.exp(-a * a) + math.exp(-b * b)
    for i in range(1, steps):
        weight = 4.0 if i % 2 else 2.0
        s += weight * math.exp(-((a + i * h) ** 2))
    return s * h / 3.0


def trapezoid(x, y):
    s = 0.0
    for i in range(len(x) - 1):
        s += 0.5 * (x[i + 1] - x[i]) * (y[i] + y[i + 1])
    return s


def trapezoid_vectorized(x, y):
    return np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1])) / 2.0


def romberg(a, b):
    table = np.zeros((4, 4))
    for i in range(4):
        steps = 2**i
        h = (b - a) / steps
        s = 0.5 * (math.sin(a) + math.sin(b))
        for j in range(1, steps):
            s += math.sin(a + j * h)
        table[i, 0] = s * h
        for j in range(1, i + 1):
            table[i, j] = table[i, j - 1] + (table[i, j - 1] - table[i - 1, j - 1]) / (4**j - 1)
    return table[3, 3]


def bisection(k):
    low, high = 0.0, 3.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if middle * middle * middle < k:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def secant(b):
    x0, x1 = 1.0, 2.0
    for _ in range(30):
        f0, f1 = x0**3 - b, x1**3 - b
        if abs(f1 - f0) < 1e-14:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
    return x1


def golden_section(k):
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    low, high = 0.0, 2.0
    for _ in range(20):
        x1 = high - ratio * (high - low)
        x2 = low + ratio * (high - low)
        f1 = (x1 - 0.2 * k) ** 2 + 0.1 * x1
        f2 = (x2 - 0.2 * k) ** 2 + 0.1 * x2
        if f1 < f2:
            high = x2
        else:
            low = x1
    return 0.5 * (low + high)


def newton_system(a, b):
    x, y = 1.0, 1.0
    for _ in range(50):
        f, g = x * x + y * y - 4.0 * b, x * y - a
        det = 2.0 * x * x - 2.0 * y * y
        if abs(det) < 1e-12:
            det = 1e-3
        dx = (x * f - 2.0 * y * g) / det
        dy = (2.0 * x * g - y * f) / det
        x, y = x - dx, y - dy
        if abs(dx) + abs(dy) < 1e-13:
            break
    return x, y


def euler_pendulum(a, h, n):
    angle, speed = a, 0.0
    for _ in range(n):
        angle, speed = angle + h * speed, speed - h * math.sin(angle)
    return angle, speed


def rk4_vector(x, h, n):
    for _ in range(n):
        k1 = -x * x
        k2 = -((x + 0.5 * h * k1) ** 2)
        k3 = -((x + 0.5 * h * k2) ** 2)
        k4 = -((x + h * k3) ** 2)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return x


def rk4_system(x, a, h, n):
    def slope(state):
        out = np.empty_like(state)
        for i in range(len(state)):
            out[i] = a * state[i] * (1.0 - state[i]) - 0.1 * state[i - 1]
        return out

    y = x.copy()
    for _ in range(n):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y


def adaptive_step(a, t):
    y, time, h = a, 0.0, 0.3
    rejected = 0
    while time < t:
        if time + h > t:
            h = t - time
        full = y - h * y * y
        half = y - 0.5 * h * y * y
        half = half - 0.5 * h * half * half
        if abs(full - half) > 0.02:
            h *= 0.5
            rejected += 1
            continue
        y = half
        time += h
        h *= 1.2
    return y, rejected


def heat_1d(u, a, n):
    for _ in range(n):
        u[1:-1] += 0.2 * a * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def heat_2d(q, a, n):
    for _ in range(n):
        new = q.copy()
        for i in range(1, q.shape[0] - 1):
            for j in range(1, q.shape[1] - 1):
                new[i, j] = q[i, j] + 0.1 * a * (q[i + 1, j] + q[i - 1, j] + q[i, j + 1] + q[i, j - 1] - 4.0 * q[i, j])
        q = new
    return np.sum(q * q)


def wave_equation(u, a, n):
    previous = u.copy()
    current = u.copy()
    for _ in range(n):
        following = 2.0 * current - previous
        following[1:-1] += a * a * 0.1 * (current[2:] - 2.0 * current[1:-1] + current[:-2])
        previous, current = current, following
    return np.sum(current**2)


def advection_upwind(u, c, n):
    for _ in range(n):
        if c > 0:
            u[1:] = u[1:] - 0.5 * c * (u[1:] - u[:-1])
        else:
            u[:-1] = u[:-1] - 0.5 * c * (u[1:] - u[:-1])
    return u


def burgers(u, h, n):
    for _ in range(n):
        flux = 0.5 * u * u
        u[1:] = u[1:] - h * (flux[1:] - flux[:-1])
    return np.sum(u)


def thomas(u, v, w, f):
    k = len(u)
    cp = np.zeros(k)
    dp = np.zeros(k)
    cp[0] = w[0] / (v[0] + 3.0)
    dp[0] = f[0] / (v[0] + 3.0)
    for i in range(1, k):
        pivot = v[i] + 3.0 - u[i] * cp[i - 1]
        cp[i] = w[i] / pivot
        dp[i] = (f[i] - u[i] * dp[i - 1]) / pivot
    out = np.zeros(k)
    out[-1] = dp[-1]
    for i in range(k - 2, -1, -1):
        out[i] = dp[i] - cp[i] * out[i + 1]
    return out


def crank_nicolson(u, a, n):
    k = len(u)
    r = 0.3 * a
    for _ in range(n):
        rhs = np.empty(k)
        rhs[0] = u[0]
        rhs[-1] = u[-1]
        for i in range(1, k - 1):
            rhs[i] = 0.5 * r * u[i - 1] + (1.0 - r) * u[i] + 0.5 * r * u[i + 1]
        cp = np.zeros(k)
        dp = np.zeros(k)
        dp[0] = rhs[0]
        for i in range(1, k - 1):
            pivot = 1.0 + r + 0.5 * r * cp[i - 1]
            cp[i] = -0.5 * r / pivot
            dp[i] = (rhs[i] + 0.5 * r * dp[i - 1]) / pivot
        u[-1] = rhs[-1]
        for i in range(k - 2, -1, -1):
            u[i] = dp[i] - cp[i] * u[i + 1]
    return u


def jacobi(q, f, n):
    x = np.zeros(len(f))
    for _ in range(n):
        new = np.zeros(len(f))
        for i in range(len(f)):
            s = f[i]
            for j in range(len(f)):
                if j != i:
                    s -= q[i, j] * x[j]
            new[i] = s / (q[i, i] + 6.0)
        x = new
    return x


def lu_decomposition(q):
    a = q + 4.0 * np.eye(len(q))
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            a[i, k] /= a[k, k]
            for j in range(k + 1, len(a)):
                a[i, j] -= a[i, k] * a[k, j]
    det = 1.0
    for k in range(len(a)):
        det *= a[k, k]
    return det


def gram_schmidt(m):
    q = m.copy()
    for j in range(q.shape[1]):
        for i in range(j):
            q[:, j] -= np.sum(q[:, i] * m[:, j]) * q[:, i]
        q[:, j] /= np.sqrt(np.sum(q[:, j] ** 2)) + 0.1
    return q


def conjugate_gradient(q, f, n):
    a = q @ q.T + 3.0 * np.eye(len(f))
    x = np.zeros_like(f)
    r = f - a @ x
    p = r.copy()
    rs = r @ r
    for _ in range(n):
        if rs < 1e-20:
            break
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
    return x


def rayleigh_quotient(q, x, n):
    a = q + q.T
    v = x / np.linalg.norm(x)
    for _ in range(n):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v


def least_squares_line(x, y):
    xm, ym = np.mean(x), np.mean(y)
    slope = np.sum((x - xm) * (y - ym)) / (np.sum((x - xm) ** 2) + 0.1)
    return slope, ym - slope * xm


def gradient_descent(x, y, n):
    w, b = 0.0, 0.0
    for _ in range(n):
        error = w * x + b - y
        w -= 0.1 * np.mean(error * x)
        b -= 0.1 * np.mean(error)
    return w, b


def logistic_loss(w, q, y, a):
    loss = a * np.sum(w * w)
    for i in range(len(y)):
        z = 0.0
        for j in range(len(w)):
            z += q[i, j] * w[j]
        p = 1.0 / (1.0 + math.exp(-z))
        loss -= y[i] * math.log(p) + (2.0 - y[i]) * math.log(1.0 - p)
    return loss / max(len(y), 1)


def two_layer_network(q, w, x):
    hidden = np.tanh(q @ x)
    return np.sum(w * hidden) + np.maximum(hidden, 0.1).sum()


def recurrent_cell(x, w, a):
    state = np.zeros(len(w))
    for value in x:
        state = np.tanh(w * state + a * value)
    return np.sum(state)


def attention(q, x):
    scores = q @ x
    weights = np.exp(scores - np.max(scores))
    weights = weights / np.sum(weights)
    return weights @ q


def momentum(x, a, n):
    velocity = np.zeros_like(x)
    for _ in range(n):
        gradient = 2.0 * x - a
        velocity = 0.9 * velocity - 0.1 * gradient
        x = x + velocity
    return np.sum(x**2)


def adam(x, a, n):
    first = np.zeros_like(x)
    second = np.zeros_like(x)
    y = x.copy()
    for step in range(1, n + 1):
        gradient = np.cos(y) * a
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        y -= 0.1 * (first / (1.0 - 0.9**step)) / (np.sqrt(second / (1.0 - 0.99**step)) + 1e-8)
    return y


def kalman_1d(x, a, b):
    mean, var = 0.0, 1.0
    like = 0.0
    for z in x:
        var = var + 0.1 * a
        gain = var / (var + b)
        residual = z - mean
        like += math.log(var + b) + residual * residual / (var + b)
        mean = mean + gain * residual
        var = (1.0 - gain) * var
    return mean, like


def kalman_2d(x, h, a):
    state = np.zeros(2)
    cov = np.eye(2)
    step = np.array([[1.0, h], [0.0, 1.0]])
    for z in x:
        state = step @ state
        cov = step @ cov @ step.T + 0.05 * a * np.eye(2)
        s = cov[0, 0] + a
        gain = cov[:, 0] / s
        state = state + gain * (z - state[0])
        cov = cov - np.outer(gain, cov[0])
    return state, cov


def garch_variance(s, a, b):
    h = np.empty(len(s))
    h[0] = 0.3
    for t in range(1, len(s)):
        h[t] = 0.05 + 0.2 * a * s[t - 1] ** 2 + 0.4 * b * h[t - 1]
    return -0.5 * np.sum(np.log(h) + s**2 / h)


def threshold_autoregression(s, a, b, t):
    total = 0.0
    for i in range(2, len(s)):
        if s[i - 1] > t - 0.4:
            predicted = a * s[i - 1] + 0.1 * s[i - 2]
        elif s[i - 1] < -0.5:
            predicted = -b * s[i - 1]
        else:
            predicted = 0.0
        total += (s[i] - predicted) ** 2
    return total


def exponential_smoothing(x, a):
    level, trend = x[0], 0.0
    error = 0.0
    for i in range(1, len(x)):
        predicted = level + trend
        error += (x[i] - predicted) ** 2
        new = a * x[i] + (1.0 - a) * predicted
        trend = 0.3 * (new - level) + 0.7 * trend
        level = new
    return error


def hmm_forward(q, x):
    k = len(q)
    alpha = np.full(k, 1.0 / k)
    like = 0.0
    for value in x:
        new = np.zeros(k)
        for j in range(k):
            for i in range(k):
                new[j] += alpha[i] * q[i, j]
            new[j] *= math.exp(-((value - 0.2 * j) ** 2))
        total = new.sum()
        like += math.log(total)
        alpha = new / total
    return like


def viterbi_score(q, x):
    score = np.zeros(len(q))
    for value in x:
        new = np.empty_like(score)
        for j in range(len(q)):
            best = -1e9
            for i in range(len(q)):
                candidate = score[i] + math.log(q[i, j])
                if candidate > best:
                    best = candidate
            new[j] = best - (value - 0.3 * j) ** 2
        score = new
    return np.max(score)


def particle_weights(x, y, a):
    weights = np.exp(-0.5 * (x - a) ** 2)
    weights /= weights.sum()
    effective = 1.0 / np.sum(weights**2)
    if effective < 2.0:
        weights = np.full(len(x), 1.0 / len(x))
    return weights @ y


def binomial_option(a, b, k):
    up = math.exp(0.1 * a)
    down = 1.0 / up
    rate = math.exp(0.02)
    p = (rate - down) / (up - down)
    values = np.zeros(k + 1)
    for i in range(k + 1):
        values[i] = max(b * up**i * down ** (k - i) - 1.0, 0.0)
    for step in range(k, 0, -1):
        for i in range(step):
            values[i] = (p * values[i + 1] + (1.0 - p) * values[i]) / rate
    return values[0]


def american_put(a, b, n):
    up = math.exp(0.15 * a)
    value = np.empty(n + 1)
    for i in range(n + 1):
        value[i] = max(1.4 - b * up ** (2 * i - n), 0.0)
    for step in range(n - 1, -1, -1):
        for i in range(step + 1):
            hold = 0.98 * (0.5 * value[i + 1] + 0.5 * value[i])
            exercise = 1.4 - b * up ** (2 * i - step)
            value[i] = hold if hold > exercise else exercise
    return value[0]


def black_scholes(a, b, t):
    d1 = (math.log(b / a) + 0.5 * a * a * t) / (a * math.sqrt(t))
    d2 = d1 - a * math.sqrt(t)
    return 0.5 * b * (1.0 + math.erf(d1 / math.sqrt(2.0))) - 0.5 * a * (1.0 + math.erf(d2 / math.sqrt(2.0)))


def monte_carlo_paths(z, a, n):
    price = np.ones(len(z))
    for _ in range(n):
        price *= np.exp(0.1 * a * z - 0.005 * a * a)
    return np.mean(np.maximum(price - 1.0, 0.0))


def knapsack(x, k):
    weights = np.array([1, 2, 3])
    best = np.zeros(k + 3)
    for item in range(min(3, len(x))):
        for room in range(k + 2, weights[item] - 1, -1):
            candidate = best[room - weights[item]] + x[item]
            if candidate > best[room]:
                best[room] = candidate
    return best[-1]


def edit_distance(x, y, a):
    table = np.zeros((len(x) + 1, len(y) + 1))
    for i in range(len(x) + 1):
        table[i, 0] = i * a
    for j in range(len(y) + 1):
        table[0, j] = j * a
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            change = table[i - 1, j - 1] + abs(x[i - 1] - y[j - 1])
            table[i, j] = min(change, table[i - 1, j] + a, table[i, j - 1] + a)
    return table[-1, -1]


def soft_dtw(x, y):
    d = np.full((len(x) + 1, len(y) + 1), 1e3)
    d[0, 0] = 0.0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            cost = (x[i - 1] - y[j - 1]) ** 2
            low = -math.log(math.exp(-d[i - 1, j]) + math.exp(-d[i, j - 1]) + math.exp(-d[i - 1, j - 1]))
            d[i, j] = cost + low
    return d[len(x), len(y)]


def floyd_warshall(q):
    for k in range(len(q)):
        for i in range(len(q)):
            for j in range(len(q)):
                through = q[i, k] + q[k, j]
                if through < q[i, j]:
                    q[i, j] = through
    return q


def game_of_life(q, n):
    for _ in range(n):
        new = np.zeros_like(q)
        for i in range(len(q)):
            for j in range(len(q)):
                s = 0.0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di != 0 or dj != 0:
                            s += q[(i + di) % len(q), (j + dj) % len(q)]
                new[i, j] = q[i, j] * np.exp(-0.1 * (s - 5.0) ** 2) + 0.1
        q = new
    return q


def verlet_bodies(m, h, n):
    pos = m.copy()
    vel = np.zeros_like(m)
    for _ in range(n):
        force = np.zeros_like(m)
        for i in range(len(m)):
            for j in range(len(m)):
                if i != j:
                    d = pos[j] - pos[i]
                    force[i] += d / (np.sum(d * d) + 0.1) ** 1.5
        vel += h * force
        pos += h * vel
    return pos


def lennard_jones(m):
    energy = 0.0
    for i in range(len(m) - 1):
        for j in range(i + 1, len(m)):
            r2 = np.sum((m[i] - m[j]) ** 2) + 0.5
            s6 = 1.0 / r2**3
            if s6 > 4.0:
                continue
            energy += 4.0 * (s6 * s6 - s6)
    return energy


def leapfrog_oscillator(a, b, h, n):
    x, p = a, b
    for _ in range(n):
        p -= 0.5 * h * x
        x += h * p
        p -= 0.5 * h * x
    return 0.5 * (x * x + p * p)


def median_of_three(x):
    out = x.copy()
    for i in range(1, len(x) - 1):
        p, q, r = x[i - 1], x[i], x[i + 1]
        out[i] = max(min(p, q), min(max(p, q), r))
    return out


def moving_average(x, k):
    out = np.zeros(len(x))
    for i in range(len(x)):
        low = max(0, i - k + 1)
        out[i] = np.mean(x[low : i + 1])
    return out


def moving_median(x, k):
    out = np.zeros(len(x))
    for i in range(len(x)):
        window = x[max(0, i - k + 1) : i + 1].copy()
        for p in range(1, len(window)):
            value = window[p]
            r = p - 1
            while r >= 0 and window[r] > value:
                window[r + 1] = window[r]
                r -= 1
            window[r + 1] = value
        out[i] = window[len(window) // 2]
    return out


def insertion_sort(x):
    for i in range(1, len(x)):
        value = x[i]
        j = i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value
    return x


def bubble_sort(x):
    swapped = True
    while swapped:
        swapped = False
        for i in range(len(x) - 1):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
                swapped = True
    return x


def convolution(x, w):
    out = np.zeros(len(x) + len(w) - 1)
    for i in range(len(x)):
        for j in range(len(w)):
            out[i + j] += x[i] * w[j]
    return out


def convolution_2d(q, m):
    out = np.zeros_like(q)
    for i in range(1, len(q) - 1):
        for j in range(1, len(q) - 1):
            s = 0.0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    s += q[i + di, j + dj] * m[di + 1, dj + 1]
            out[i, j] = s
    return out


def horner(x, a):
    s = 0.0
    for c in x[::-1]:
        s = s * a + c
    return s


def lagrange(x, y, a):
    s = 0.0
    for i in range(len(x)):
        term = y[i]
        for j in range(len(x)):
            if j != i:
                term *= (a - x[j]) / (x[i] - x[j])
        s += term
    return s


def cubic_spline_like(x, y, a):
    for i in range(len(x) - 1):
        if a < x[i + 1] + i:
            t = (a - x[i]) / (1.0 + x[i + 1])
            return y[i] * (1.0 - t) + y[i + 1] * t + t * (1.0 - t) * (y[i + 1] - y[i])
    return y[-1]


def interpolate(x, y, a):
    grid = np.cumsum(x)
    for i in range(len(grid) - 1):
        if grid[i] <= a + 1.0 < grid[i + 1]:
            share = (a + 1.0 - grid[i]) / (grid[i + 1] - grid[i])
            return (1.0 - share) * y[i] + share * y[i + 1]
    return 0.0


def discrete_fourier(x, k):
    re, im = 0.0, 0.0
    for i in range(len(x)):
        angle = 2.0 * math.pi * k * i / len(x)
        re += x[i] * math.cos(angle)
        im -= x[i] * math.sin(angle)
    return re * re + im * im


def mandelbrot_escape(a, c):
    x, y = 0.0, 0.0
    for i in range(20):
        x, y = x * x - y * y + a, 2.0 * x * y + c
        if x * x + y * y > 4.0:
            return x * x + y * y, i
    return x, 20


def lorenz(a, b, h, n):
    x, y, z = a, b, 1.0
    trace = np.zeros((n + 1, 3))
    trace[0] = np.array([x, y, z])
    for i in range(n):
        dx = 10.0 * (y - x)
        dy = x * (28.0 - z) - y
        dz = x * y - 8.0 / 3.0 * z
        x += 0.1 * h * dx
        y += 0.1 * h * dy
        z += 0.1 * h * dz
        trace[i + 1, 0], trace[i + 1, 1], trace[i + 1, 2] = x, y, z
    return trace


def sir_epidemic(a, b, n):
    susceptible, infected, recovered = 0.99, 0.01, 0.0
    peak = 0.0
    for _ in range(10 * n):
        new = a * susceptible * infected
        healed = 0.2 * b * infected
        susceptible -= new
        infected += new - healed
        recovered += healed
        if infected > peak:
            peak = infected
    return peak, recovered


def quaternion_rotation(x, a):
    w = math.cos(0.5 * a)
    z = math.sin(0.5 * a)
    out = np.zeros(3)
    p = x[0]
    q = x[-1]
    out[0] = p * (w * w - z * z) - 2.0 * w * z * q
    out[1] = q * (w * w - z * z) + 2.0 * w * z * p
    out[2] = w * w + z * z
    return out


def gamma_lanczos(b):
    coefficients = (76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155)
    s = 1.000000000190015
    for j, c in enumerate(coefficients):
        s += c / (b + 1.0 + j)
    t = b + 5.5
    return -t + (b + 0.5) * math.log(t) + math.log(2.5066282746310005 * s / b)


def continued_fraction(a, n):
    s = 0.0
    for i in range(n, 0, -1):
        s = a / (i + s)
    return 1.0 + s


def bessel_series(a, k):
    term = 1.0
    total = 1.0
    i = 1
    while abs(term) > 1e-12 and i < 30:
        term *= -(a * a) / (4.0 * i * (i + k))
        total += term
        i += 1
    return total


def compensated_sum(x):
    total, lost = 0.0, 0.0
    for value in x:
        y = value - lost
        t = total + y
        lost = (t - total) - y
        total = t
    return total


def running_variance(x):
    count = 0
    mean, m2 = 0.0, 0.0
    for value in x:
        count += 1
        delta = value - mean
        mean += delta / count
        m2 += delta * (value - mean)
    return m2 / count if count > 1 else 0.0


def covariance(m):
    centred = m - m.mean(axis=0)
    return centred.T @ centred / len(m)


def pagerank(q, n):
    k = len(q)
    links = q / q.sum(axis=0)
    rank = np.ones(k) / k
    for _ in range(n):
        rank = 0.15 / k + 0.85 * (links @ rank)
    return rank


def kmeans_step(x, a, b):
    s1, n1, s2, n2 = 0.0, 0, 0.0, 0
    for v in x:
        if abs(v - a) < abs(v - b):
            s1 += v
            n1 += 1
        else:
            s2 += v
            n2 += 1
    first = s1 / n1 if n1 > 0 else a
    second = s2 / n2 if n2 > 0 else b
    return first, second


def soft_threshold(s, a):
    out = np.empty_like(s)
    for i in range(len(s)):
        if s[i] > 0.3 * a:
            out[i] = s[i] - 0.3 * a
        elif s[i] < -0.3 * a:
            out[i] = s[i] + 0.3 * a
        else:
            out[i] = 0.0
    return out


def total_variation(q):
    dx = q[1:, :] - q[:-1, :]
    dy = q[:, 1:] - q[:, :-1]
    return np.sum(np.sqrt(dx**2 + 0.01)) + np.sum(np.abs(dy))


def sandpile(x, n):
    moved = 0
    for _ in range(n):
        stable = True
        for i in range(len(x) - 1):
            if x[i] - x[i + 1] > 0.3:
                x[i] -= 0.1
                x[i + 1] += 0.1
                moved += 1
                stable = False
        if stable:
            break
    return moved


def root_locus(pair, a):
    p, q = pair
    disc = p * p - 4.0 * q
    if disc >= 0:
        root = math.sqrt(disc)
        return (-p + root) / 2.0, (-p - root) / 2.0
    return -p / 2.0, a * math.sqrt(-disc) / 2.0


def tent_map(a, n):
    x = a
    for _ in range(n):
        x = 1.9 * x if x < 0.5 else 1.9 * (1.0 - x)
    return x


def random_walk_lcg(a, n):
    seed = 12345
    x = a
    for _ in range(n):
        seed = (1103515245 * seed + 12345) % 2147483648
        x += a * (seed / 2147483648 - 0.5)
    return x, seed


def fixed_point(a, tol):
    x = a
    count = 0
    while count < 100:
        new = math.cos(a * x)
        count += 1
        if abs(new - x) < tol:
            x = new
            break
        x = new
    return x, count


def gauss_elimination(q, f):
    a = q.copy()
    b = f.copy()
    k = len(b)
    for i in range(k):
        best = i
        for r in range(i + 1, k):
            if abs(a[r, i]) > abs(a[best, i]):
                best = r
        if best != i:
            for j in range(k):
                a[i, j], a[best, j] = a[best, j], a[i, j]
            b[i], b[best] = b[best], b[i]
        for r in range(i + 1, k):
            factor = a[r, i] / a[i, i]
            a[r, i:] -= factor * a[i, i:]
            b[r] -= factor * b[i]
    x = np.zeros(k)
    for i in range(k - 1, -1, -1):
        x[i] = (b[i] - np.sum(a[i, i + 1 :] * x[i + 1 :])) / a[i, i]
    return x


def variance_of_few(x, n):
    short = x[:n]
    return np.var(short, ddof=1), np.std(short, ddof=2), np.var(np.outer(x, short), axis=1, ddof=1)


def state_made_anew(q, x, n):
    """An array made in each trip, whose length is known only by what it is added to."""
    size = q.shape[0]
    state = x * 1.0
    for _ in range(n):
        new = np.empty(size)
        for j in range(size):
            z = state + q[:, j]
            new[j] = np.mean(np.exp(-z) * z)
        state = new
    return np.sum(state)


def gated_cell(q, x, n):
    both = np.concatenate((q, 0.5 * q))
    size = both.shape[1]
    h = np.zeros(size)
    c = np.zeros(size)
    for _ in range(n):
        z = both @ h + np.concatenate((x, -x))
        c = np.tanh(c) * z[:size] + x
        h = z[size:] * np.tanh(c)
    return h @ h + np.sum(c)


def inverse_distances(x):
    """What is infinite on the diagonal is replaced before it is used."""
    at = np.arange(len(x)) + 0.2 * x
    d = at.reshape(-1, 1) - at
    w = 3.0 * (1.0 / d)
    np.fill_diagonal(w, 0.0)
    return np.sum(w * w), w


def potential_energy(m):
    """Distances that are 0 stay: their square roots have no derivative, and none is needed."""
    d = m[:, None, :] - m[None, :, :]
    r = np.sqrt(np.sum(d * d, axis=2))
    r[r > 0] = 1.0 / r[r > 0]
    return np.sum(np.triu(-r, 1))


def read_where_positive(x):
    r = np.sqrt((x - x[:1]) ** 2)
    s = 0.0
    for i in range(len(x)):
        if r[i] > 0.0:
            s += r[i]
    return s + np.sqrt(x * x - x * x)[1:].size
