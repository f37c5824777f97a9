"""The log posterior of a mixture of Gaussians with a Wishart prior on their precision matrices."""

import math

import numpy as np

import srcgraph as sg
from gradbench.protocol import Function, arrays, numbers


def logsumexp(v):
    highest = np.max(v)
    return highest + np.log(np.sum(np.exp(v - highest)))


def times_factor(q, l, v):
    """The factor of a precision matrix, exp(q) on its diagonal and l below it, column by column, times v."""
    size = len(v)
    out = np.exp(q) * v
    k = 0
    for i in range(size):
        for j in range(i + 1, size):
            out[j] += l[k] * v[i]
            k += 1
    return out


def log_multigamma(a, d):
    total = d * (d - 1) / 4.0 * math.log(math.pi)
    for j in range(1, d + 1):
        total += math.lgamma(a + (1 - j) / 2.0)
    return total


def log_wishart(q, l, gamma, m):
    k, d = q.shape
    n = d + m + 1
    constant = n * d * math.log(gamma / math.sqrt(2.0)) - log_multigamma(0.5 * n, d)
    out = 0.0
    for i in range(k):
        frobenius = np.sum(np.exp(q[i]) ** 2) + np.sum(l[i] ** 2)
        out += 0.5 * gamma**2 * frobenius - m * np.sum(q[i])
    return k * constant - out


def log_posterior(alpha, mu, q, l, x, gamma, m):
    n, d = x.shape
    k = len(alpha)
    total = 0.0
    terms = np.empty(k)
    for i in range(n):
        for j in range(k):
            scaled = times_factor(q[j], l[j], x[i] - mu[j])
            terms[j] = alpha[j] + np.sum(q[j]) - 0.5 * np.sum(scaled**2)
        total += logsumexp(terms)
    total -= n * (0.5 * d * math.log(2.0 * math.pi) + logsumexp(alpha))
    return total + log_wishart(q, l, gamma, m)


read = arrays("alpha", "mu", "q", "l", "x", "gamma", "m")


def write(found):
    return {name: numbers(x) for name, x in zip(("alpha", "mu", "q", "l"), found, strict=True)}


FUNCTIONS = {
    "objective": Function(read, sg.compile(log_posterior), float),
    "jacobian": Function(read, sg.grad(log_posterior, argnums=(0, 1, 2, 3)), write),
}
