"""Special functions in likelihoods and losses."""

import numpy as np
from scipy import special
from scipy.special import expit, gammaln, logsumexp, softmax, xlogy


def logistic_loss(m, mask, a):
    """Negative log-likelihood of a logistic regression with one shared weight."""
    score = a * np.sum(m, axis=1) - 1.0
    p = expit(score)
    return -np.sum(np.where(mask, np.log(p), np.log(1.0 - p)))


def logistic_loss_stable(m, mask, a):
    score = a * np.sum(m, axis=1)
    return -np.sum(special.log_expit(np.where(mask, score, -score)))


def softmax_regression(m, q):
    p = softmax(m @ m.T @ q, axis=1)
    return -np.sum(q * np.log(p)), special.log_softmax(m, axis=1)


def mixture_likelihood(x, y, a, b):
    """Two normal components with unknown places."""
    terms = np.stack((-0.5 * (x - a) ** 2, -0.5 * (x - b) ** 2 + 0.1 * y))
    return np.sum(logsumexp(terms, axis=0)), logsumexp(x, b=y)


def poisson_and_gamma(x, y, a):
    rate = np.exp(a * x)
    poisson = np.sum(xlogy(y, rate) - rate - gammaln(y + 1.0))
    return poisson, np.sum((a - 1.0) * np.log(y) - y - gammaln(a))


def beta_binomial(x, a, b):
    return special.betaln(x + a, 2.0 - x + b) - special.betaln(a, b), special.beta(a, b)


def probit_price(x, a, t):
    """Black and Scholes, by the distribution function of the normal."""
    d1 = (np.log(x / a) + 0.5 * t) / np.sqrt(t)
    return x * special.ndtr(d1) - a * special.ndtr(d1 - np.sqrt(t)), special.log_ndtr(-x)


def quantiles_of_uniform(x):
    u = x / 2.0
    return special.ndtri(u), special.erfinv(u - 0.4), special.logit(u)


def von_mises(x, a):
    return a * np.cos(x) - np.log(2.0 * np.pi * special.i0(a)), special.i1(x) / special.i0(x), special.i0e(x)


def slopes_of_gamma(x):
    return special.digamma(x), special.polygamma(1, x), special.gamma(x)


def robust_loss(x, y):
    return np.sum(special.huber(0.3, x - y)), np.sum(special.rel_entr(x, y)), np.sum(special.entr(x))


def half_precision_of_double(xf):
    return expit(xf), gammaln(xf), special.erfc(xf)


def scalars_too(a, xi):
    return special.expit(a), special.gammaln(5), special.gammaln(xi + 1)
