"""Draws from a generator that is an argument: the same numbers as NumPy, and the same generator afterwards."""

from __future__ import annotations

import numpy as np


def random_walk(rng, a, h, n):
    x = a
    path = np.zeros(n + 1)
    for i in range(n):
        x += h * rng.normal(-x, 2.0)
        path[i + 1] = x
    return path


def accept_or_reject(rng, a, n):
    """Metropolis: what is drawn depends on what was drawn."""
    x, accepted = a, 0
    for _ in range(n):
        y = x + 0.5 * rng.standard_normal()
        if np.log(rng.random()) < 0.5 * (x * x - y * y):
            x, accepted = y, accepted + 1
    return x, accepted


def until_large(rng, a):
    total, draws = 0.0, 0
    while total < 3.0:
        step = rng.exponential(a)
        draws += 1
        if step > 2.5:
            continue
        total += step * step * a
    return total, draws


def noise_on_an_array(rng, x, h):
    noise = rng.normal(size=x.shape)
    x += h * noise
    return np.sum(x * x * noise)


def two_draws_in_any_order(rng, a):
    first = rng.random()
    second = rng.uniform(a, 2.0)
    return second, first - second, rng.uniform() * first


def unread_draws_count(rng, x):
    rng.random()
    rng.normal(size=3)
    return np.sum(x) * rng.random()


def parameters_that_are_arrays(rng, x, y):
    z = rng.normal(x, y)
    u = rng.uniform(x[:, None], 2.0, size=(len(x), 2))
    return z, u, rng.gamma(2.0, y), rng.lognormal(x, 0.5), rng.exponential(y, size=len(y))


def location_and_scale(rng, a, b):
    return (
        rng.laplace(a, b),
        rng.gumbel(a, b, 2),
        rng.logistic(a, b, (2, 2)),
        rng.rayleigh(b),
        rng.lognormal(a, b),
        rng.normal(scale=b, size=3),
    )


def powers_of_draws(rng, a, b):
    return rng.weibull(a), rng.pareto(b, 3), rng.power(a, 2)


def other_distributions(rng, k):
    return (
        rng.standard_cauchy(),
        rng.beta(0.5, 2.0, 3),
        rng.chisquare(k),
        rng.noncentral_chisquare(3.0, 0.5),
        rng.f(2.0, 3.0),
        rng.noncentral_f(2, 3, 0.5),
        rng.standard_t(4, size=2),
        rng.vonmises(0.1, 2.0),
        rng.wald(1.0, 2.0),
        rng.triangular(-1.0, 0.0, 2.0, 3),
        rng.standard_gamma(0.7),
        rng.weibull(0.0),
    )


def counted_events(rng, x):
    return (
        rng.poisson(3.5),
        rng.poisson(40.0 * x),
        rng.geometric(0.3, 3),
        rng.logseries(0.6),
        rng.zipf(2.5),
        rng.binomial(10, 0.4),
        rng.binomial(100, 0.4, 3),
        rng.binomial(5, x / 2.0),
    )


def integers_of_all_kinds(rng, xi, k):
    return (
        rng.integers(k),
        rng.integers(-3, 4, size=(2, 3)),
        rng.integers(0, k, 4, endpoint=True),
        rng.integers(xi + 1),
        rng.integers(0, 2**40, 3),
        rng.integers(5, dtype=int),
        rng.integers(-(2**63), 2**63 - 1, 2, endpoint=True),
    )


def integers_below_nothing(rng, n):
    return rng.integers(n)


def single_precision(rng, a):
    z = rng.standard_normal(4, dtype=np.float32)
    return a * z, rng.random(dtype=np.float32), rng.random((2, 2), np.float32), rng.standard_exponential(3, np.float32)


def into_an_array(rng, x):
    out = np.empty(len(x))
    rng.random(out=out)
    return rng.standard_normal(out=x) is x, out


def orders(rng, x, m, k):
    order = rng.permutation(k)
    return order, rng.permutation(x), rng.permutation(m), rng.permutation(m, axis=1)


def lists_shuffled(rng, n):
    order, cards = list(range(n)), [(k, 0.5 * k) for k in range(n)]
    halves = [1.5, 2.5, 3.5]
    for items in order[:0], order[:1], order, halves:
        rng.shuffle(items)
    rng.shuffle(cards)
    return order, cards, halves, rng.random()


def shuffled_in_place(rng, x, m):
    rng.shuffle(x)
    rng.shuffle(m)
    rng.shuffle(m, axis=1)
    row = m[:, 0]
    rng.shuffle(row)
    return x * x


def chosen(rng, x, m, n):
    return rng.choice(x), rng.choice(x, n), rng.choice(x, (n, 2)), rng.choice(len(x), 3), rng.choice(m, 2, axis=1)


def chosen_with_chances(rng, x):
    p = x / np.sum(x)
    return rng.choice(len(x), p=p), rng.choice(x, 3, p=p), rng.choice([1.5, 2.5, 3.5], p=[0.2, 0.0, 0.8])


def chosen_once_each(rng, x, n):
    some = rng.choice(x, n, replace=False)
    return some, rng.choice(20000, 3, replace=False), rng.choice(12000, 700, replace=False, shuffle=False)[:4]


def bootstrap(rng, x, n):
    means = np.zeros(n)
    for i in range(n):
        means[i] = np.mean(x[rng.integers(0, len(x), len(x))])
    return np.mean(means)


def _half_normal(rng, a):
    return abs(rng.normal(0.0, a)), rng


def passed_on_and_returned(rng, a):
    x, same = _half_normal(rng, a)
    return x + same.random()


def default_generator(rng, a, flag):
    rng = rng if rng is not None else np.random
    if not isinstance(rng, np.random.Generator):
        raise TypeError("a generator is needed")
    return rng.normal(a) if flag else 0.0


def negative_scale(rng, c):
    return rng.normal(0.0, c)


def range_too_large(rng, x):
    return rng.uniform(-1e308, 1e308 * (1.0 + x), size=len(x))


def wrong_chances(rng, x):
    return rng.choice(len(x), p=x)


def more_than_there_are(rng, x):
    return rng.choice(x, len(x) + 1, replace=False)


def allocation(rng, a, n):
    """People choose among shops."""
    total = 0.0
    for _ in range(n):
        counts = rng.multinomial(6, [0.2, 0.3, 0.5])
        total += a * counts[0]
    return total


def correlated(rng, x):
    """Returns that move together: the derivative with respect to their means."""
    returns = rng.multivariate_normal(x, 0.1 * np.eye(len(x)) + 0.05, method="cholesky")
    return np.sum(returns * x), rng.permuted(returns)
