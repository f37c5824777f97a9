"""Scalar and small recurrences: one step after the other, nothing to do at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cases.record import SCALAR_LOOP, Case, by_hand

# -- the leaky integrator --------------------------------------------------------------------------


def leaky(a, x):
    v = 0.0
    total = 0.0
    for i in range(len(x)):
        v = a * v + x[i]
        total += v * v
    return total / len(x)


@by_hand
def hand_leaky_gradient(a, x):
    n = len(x)
    states = np.empty(n + 1)
    states[0] = v = 0.0
    for i in range(n):
        v = a * v + x[i]
        states[i + 1] = v
    d_x = np.empty(n)
    d_v = 0.0
    d_a = 0.0
    scale = 2.0 / n
    for i in range(n - 1, -1, -1):
        d_v = a * d_v + scale * states[i + 1]
        d_x[i] = d_v
        d_a += d_v * states[i]
    return d_a, d_x


def leaky_with_jax(jax: Any) -> Any:
    def value(a: Any, x: Any) -> Any:
        def step(state: Any, given: Any) -> Any:
            v, total = state
            v = a * v + given
            return (v, total + v * v), None

        return jax.lax.scan(step, (0.0, 0.0), x)[0][1] / len(x)

    return value


# -- a nonlinear one without arrays ----------------------------------------------------------------


def recurrence(decay, drive, steps):
    level = 0.5
    total = 0.0
    for _ in range(steps):
        level = decay * level + drive * (1.0 - level * level)
        total += level
    return total / steps


@by_hand
def hand_recurrence_gradient(decay, drive, steps):
    levels = np.empty(steps)
    level = 0.5
    for i in range(steps):
        levels[i] = level
        level = decay * level + drive * (1.0 - level * level)
    d_total = 1.0 / steps
    d_level = d_decay = d_drive = 0.0
    for i in range(steps - 1, -1, -1):
        level = levels[i]
        d_level += d_total
        d_decay += d_level * level
        d_drive += d_level * (1.0 - level * level)
        d_level *= decay - 2.0 * drive * level
    return d_decay, d_drive


def recurrence_with_jax(jax: Any) -> Any:
    def value(decay: Any, drive: Any, steps: int) -> Any:
        def step(state: Any, _: Any) -> Any:
            level, total = state
            level = decay * level + drive * (1.0 - level * level)
            return (level, total + level), None

        return jax.lax.scan(step, (0.5, 0.0), None, length=steps)[0][1] / steps

    return value


# -- GARCH(1, 1): the negative log-likelihood of returns -------------------------------------------


def garch(omega, alpha, beta, returns):
    h = omega / (1.0 - alpha - beta)
    total = 0.0
    for i in range(len(returns)):
        square = returns[i] * returns[i]
        total += math.log(h) + square / h
        h = omega + alpha * square + beta * h
    return 0.5 * total


@by_hand
def hand_garch_gradient(omega, alpha, beta, returns):
    n = len(returns)
    states = np.empty(n)
    below = 1.0 - alpha - beta
    h = omega / below
    for i in range(n):
        states[i] = h
        h = omega + alpha * returns[i] * returns[i] + beta * h
    d_h = d_omega = d_alpha = d_beta = 0.0
    for i in range(n - 1, -1, -1):
        h = states[i]
        square = returns[i] * returns[i]
        d_omega += d_h
        d_alpha += d_h * square
        d_beta += d_h * h
        over = 1.0 / h
        d_h = beta * d_h + 0.5 * over * (1.0 - square * over)
    first = d_h * omega / (below * below)
    return d_omega + d_h / below, d_alpha + first, d_beta + first


def garch_with_jax(jax: Any) -> Any:
    def value(omega: Any, alpha: Any, beta: Any, returns: Any) -> Any:
        def step(h: Any, square: Any) -> Any:
            return omega + alpha * square + beta * h, h

        squares = returns * returns
        _, hs = jax.lax.scan(step, omega / (1.0 - alpha - beta), squares)
        return 0.5 * jax.numpy.sum(jax.numpy.log(hs) + squares / hs)

    return value


def market(small: bool) -> tuple[Any, ...]:
    return 0.05, 0.1, 0.8, np.random.default_rng(0).normal(size=1000 if small else 1_000_000)


# -- a hidden Markov model's forward pass ----------------------------------------------------------


def hidden_markov(transitions, emissions, seen):
    k = len(transitions)
    state = emissions[:, seen[0]] / k
    total = 0.0
    for t in range(1, len(seen)):
        state = (state @ transitions) * emissions[:, seen[t]]
        scale = np.sum(state)
        state = state / scale
        total += np.log(scale)
    return total


@by_hand
def hand_markov(transitions, emissions, seen):
    k = len(transitions)
    state = emissions[:, seen[0]] / k
    new = np.empty(k)
    total = 0.0
    for t in range(1, len(seen)):
        scale = 0.0
        for j in range(k):
            x = 0.0
            for i in range(k):
                x += state[i] * transitions[i, j]
            new[j] = x * emissions[j, seen[t]]
            scale += new[j]
        for j in range(k):
            state[j] = new[j] / scale
        total += math.log(scale)
    return total


@by_hand
def hand_markov_gradient(transitions, emissions, seen):
    k, n = len(transitions), len(seen)
    states, scales = np.empty((n, k)), np.empty(n)
    for j in range(k):
        states[0, j] = emissions[j, seen[0]] / k
    for t in range(1, n):
        scale = 0.0
        for j in range(k):
            x = 0.0
            for i in range(k):
                x += states[t - 1, i] * transitions[i, j]
            states[t, j] = x * emissions[j, seen[t]]
            scale += states[t, j]
        for j in range(k):
            states[t, j] /= scale
        scales[t] = scale
    d_transitions, d_emissions = np.zeros_like(transitions), np.zeros_like(emissions)
    d_state, d_new = np.zeros(k), np.zeros(k)
    for t in range(n - 1, 0, -1):
        scale, symbol = scales[t], seen[t]
        along = 0.0
        for j in range(k):
            along += d_state[j] * states[t, j]
        for j in range(k):
            d_raw = (d_state[j] - along + 1.0) / scale
            e = emissions[j, symbol]
            d_emissions[j, symbol] += d_raw * states[t, j] * scale / e
            d_new[j] = d_raw * e
        for i in range(k):
            x = 0.0
            before = states[t - 1, i]
            for j in range(k):
                d_transitions[i, j] += d_new[j] * before
                x += d_new[j] * transitions[i, j]
            d_state[i] = x
    for j in range(k):
        d_emissions[j, seen[0]] += d_state[j] / k
    return d_transitions, d_emissions


def markov_with_jax(jax: Any) -> Any:
    jnp = jax.numpy

    def value(transitions: Any, emissions: Any, seen: Any) -> Any:
        def step(state: Any, emitted: Any) -> Any:
            state = (state @ transitions) * emitted
            scale = jnp.sum(state)
            return state / scale, scale

        rows = emissions.T[seen]
        _, scales = jax.lax.scan(step, rows[0] / len(transitions), rows[1:])
        return jnp.sum(jnp.log(scales))

    return value


def observed(small: bool) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    transitions, emissions = random.uniform(0.1, 1.0, (4, 4)), random.uniform(0.1, 1.0, (4, 6))
    transitions /= transitions.sum(axis=1, keepdims=True)
    emissions /= emissions.sum(axis=1, keepdims=True)
    return transitions, emissions, random.integers(0, 6, 100 if small else 100_000)


CASES = [
    Case(
        name="leaky integrator, 1e6",
        plain=leaky,
        arguments=lambda small: (0.9, np.random.default_rng(0).normal(size=1000 if small else 1_000_000)),
        hand=by_hand(leaky),
        argnums=(0, 1),
        hand_gradient=hand_leaky_gradient,
        peers={"jax": leaky_with_jax, "pythran": "leaky(float, float64[])"},
        refused=SCALAR_LOOP,
        kind="recurrence",
    ),
    Case(
        name="scalar recurrence, 1e6",
        plain=recurrence,
        arguments=lambda small: (0.9, 0.1, 1000 if small else 1_000_000),
        hand=by_hand(recurrence),
        argnums=(0, 1),
        hand_gradient=hand_recurrence_gradient,
        peers={"jax": recurrence_with_jax, "pythran": "recurrence(float, float, int)"},
        refused=SCALAR_LOOP,
        kind="recurrence",
    ),
    Case(
        name="GARCH(1,1), 1e6",
        plain=garch,
        arguments=market,
        hand=by_hand(garch),
        argnums=(0, 1, 2),
        hand_gradient=hand_garch_gradient,
        peers={"jax": garch_with_jax, "pythran": "garch(float, float, float, float64[])"},
        refused=SCALAR_LOOP,
        kind="recurrence",
    ),
    Case(
        name="hidden Markov model, 4 states, 1e5",
        plain=hidden_markov,
        arguments=observed,
        hand=hand_markov,
        argnums=(0, 1),
        hand_gradient=hand_markov_gradient,
        peers={"jax": markov_with_jax, "pythran": "hidden_markov(float64[:,:], float64[:,:], int64[])"},
        refused=SCALAR_LOOP,
        kind="recurrence",
    ),
]
