"""Loops that run until something has converged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cases.record import SCALAR_LOOP, Case, by_hand

# -- one long chain: damped steps towards a square root --------------------------------------------


def newton(a, rate, tolerance):
    x = a
    while abs(x * x - a) > tolerance:
        x -= rate * (x * x - a) / (2.0 * x)
    return x


@by_hand
def hand_newton_gradient(a, rate, tolerance):
    trail = np.empty(1024)
    count = 0
    x = a
    while abs(x * x - a) > tolerance:
        if count == len(trail):
            longer = np.empty(2 * count)
            longer[:count] = trail
            trail = longer
        trail[count] = x
        count += 1
        x -= rate * (x * x - a) / (2.0 * x)
    d_x = 1.0
    d_a = 0.0
    for k in range(count - 1, -1, -1):
        x = trail[k]
        half = 0.5 * rate * d_x / x
        d_a += half
        d_x -= half * (x + a / x)
    return (d_a + d_x,)


def newton_with_jax(jax: Any) -> tuple[Any, Any]:
    """The value by a while loop; its gradient by a masked scan over a number of steps known before."""

    def step(a: Any, rate: Any, x: Any) -> Any:
        return x - rate * (x * x - a) / (2.0 * x)

    def value(a: Any, rate: Any, tolerance: Any) -> Any:
        return jax.lax.while_loop(lambda x: abs(x * x - a) > tolerance, lambda x: step(a, rate, x), a)

    def differentiable(a: Any, rate: Any, tolerance: Any) -> Any:
        def body(x: Any, _: Any) -> Any:
            return jax.numpy.where(abs(x * x - a) > tolerance, step(a, rate, x), x), None

        return jax.lax.scan(body, a * 1.0, None, length=1_100_000)[0]

    return value, differentiable


# -- many short chains: cube roots -----------------------------------------------------------------


def roots(targets):
    total = 0.0
    for i in range(len(targets)):
        target = targets[i]
        root = 1.0 + target
        while abs(root * root * root - target) > 1e-10:
            root -= (root * root * root - target) / (3.0 * root * root)
        total += root
    return total


@by_hand
def hand_roots_gradient(targets):
    n = len(targets)
    d_targets = np.zeros(n)
    trail = np.empty(128)
    for i in range(n):
        target = targets[i]
        root = 1.0 + target
        count = 0
        while abs(root * root * root - target) > 1e-10:
            trail[count] = root
            count += 1
            root -= (root * root * root - target) / (3.0 * root * root)
        d_root = 1.0
        d_target = 0.0
        for k in range(count - 1, -1, -1):
            root = trail[k]
            part = d_root / (3.0 * root * root)
            d_target += part
            d_root = 2.0 / 3.0 * d_root - 2.0 * part * target / root
        d_targets[i] = d_target + d_root
    return (d_targets,)


def roots_with_jax(jax: Any) -> tuple[Any, Any]:
    def step(root: Any, target: Any) -> Any:
        return root - (root**3 - target) / (3.0 * root * root)

    def going(root: Any, target: Any) -> Any:
        return abs(root**3 - target) > 1e-10

    def value(targets: Any) -> Any:
        def one(target: Any) -> Any:
            return jax.lax.while_loop(lambda x: going(x, target), lambda x: step(x, target), 1.0 + target)

        return jax.numpy.sum(jax.vmap(one)(targets))

    def differentiable(targets: Any) -> Any:
        def one(_: Any, x: Any) -> Any:
            return jax.numpy.where(going(x, targets), step(x, targets), x)

        return jax.numpy.sum(jax.lax.fori_loop(0, 20, one, 1.0 + targets))

    return value, differentiable


# -- Kepler's equation, once per planet ------------------------------------------------------------


def kepler(anomalies, eccentricity):
    total = 0.0
    for i in range(len(anomalies)):
        mean = anomalies[i]
        x = mean
        change = 1.0
        while abs(change) > 1e-12:
            change = (x - eccentricity * math.sin(x) - mean) / (1.0 - eccentricity * math.cos(x))
            x -= change
        total += math.cos(x)
    return total


@by_hand
def hand_kepler_gradient(anomalies, eccentricity):
    n = len(anomalies)
    d_anomalies = np.empty(n)
    d_eccentricity = 0.0
    sines, cosines, errors = np.empty(64), np.empty(64), np.empty(64)
    for i in range(n):
        mean = anomalies[i]
        x = mean
        change = 1.0
        count = 0
        while abs(change) > 1e-12:
            s, c = math.sin(x), math.cos(x)
            error = x - eccentricity * s - mean
            sines[count], cosines[count], errors[count] = s, c, error
            change = error / (1.0 - eccentricity * c)
            x -= change
            count += 1
        d_x = -math.sin(x)
        d_mean = 0.0
        for k in range(count - 1, -1, -1):
            s, c = sines[k], cosines[k]
            over = 1.0 / (1.0 - eccentricity * c)
            d_error = -d_x * over
            d_below = d_x * errors[k] * over * over
            d_mean -= d_error
            d_eccentricity -= d_error * s + d_below * c
            d_x += d_error * (1.0 - eccentricity * c) + d_below * eccentricity * s
        d_anomalies[i] = d_mean + d_x
    return d_anomalies, d_eccentricity


def kepler_with_jax(jax: Any) -> tuple[Any, Any]:
    jnp, lax = jax.numpy, jax.lax

    def change(x: Any, mean: Any, e: Any) -> Any:
        return (x - e * jnp.sin(x) - mean) / (1.0 - e * jnp.cos(x))

    def value(anomalies: Any, e: Any) -> Any:
        def one(mean: Any) -> Any:
            def body(state: Any) -> Any:
                d = change(state[0], mean, e)
                return state[0] - d, d

            return lax.while_loop(lambda state: abs(state[1]) > 1e-12, body, (mean, jnp.ones_like(mean)))[0]

        return jnp.sum(jnp.cos(jax.vmap(one)(anomalies)))

    def differentiable(anomalies: Any, e: Any) -> Any:
        def body(_: Any, state: Any) -> Any:
            x, d = state
            new = change(x, anomalies, e)
            going = abs(d) > 1e-12
            return jnp.where(going, x - new, x), jnp.where(going, new, d)

        return jnp.sum(jnp.cos(lax.fori_loop(0, 12, body, (anomalies, jnp.ones_like(anomalies)))[0]))

    return value, differentiable


def planets(small: bool) -> tuple[Any, ...]:
    return np.random.default_rng(0).uniform(0.0, 6.28, 100 if small else 100_000), 0.3


MASKED = {"jax gradient": "refuses the while loop; measured is a masked scan with a bound known before"}
CASES = [
    Case(
        name="Newton while, 1e6 steps",
        plain=newton,
        arguments=lambda small: (2.0, 0.01 if small else 2.1e-5, 1e-9),
        hand=by_hand(newton),
        argnums=(0,),
        hand_gradient=hand_newton_gradient,
        peers={"jax": newton_with_jax, "pythran": "newton(float, float, float)"},
        refused=SCALAR_LOOP | MASKED,
        kind="recurrence",
    ),
    Case(
        name="Newton while, 1e5 roots",
        plain=roots,
        arguments=lambda small: (np.random.default_rng(0).uniform(0.5, 20.0, 100 if small else 100_000),),
        hand=by_hand(roots),
        argnums=(0,),
        hand_gradient=hand_roots_gradient,
        peers={"jax": roots_with_jax, "pythran": "roots(float64[])"},
        refused=SCALAR_LOOP | MASKED,
        kind="recurrence",
    ),
    Case(
        name="Kepler, 1e5 whiles",
        plain=kepler,
        arguments=planets,
        hand=by_hand(kepler),
        argnums=(0, 1),
        hand_gradient=hand_kepler_gradient,
        peers={"jax": kepler_with_jax, "pythran": "kepler(float64[], float)"},
        refused=SCALAR_LOOP | MASKED,
        kind="recurrence",
    ),
]
