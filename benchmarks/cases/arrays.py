"""Elementwise work on large arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from cases.record import Case, by_hand

SIZE = 10_000_000

# -- a chain of ten operations ---------------------------------------------------------------------


def chain(x):
    y = x * 1.5 + 0.5
    z = y * y - x
    w = z * 0.25 + y
    return w * z - y * 0.125


def chain_total(x):
    return np.sum(chain(x))


@by_hand
def hand_chain(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        y = x[i] * 1.5 + 0.5
        z = y * y - x[i]
        w = z * 0.25 + y
        out[i] = w * z - y * 0.125
    return out


@by_hand
def hand_chain_gradient(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        y = x[i] * 1.5 + 0.5
        z = y * y - x[i]
        w = z * 0.25 + y
        d_z = w + 0.25 * z
        d_y = z - 0.125 + 2.0 * y * d_z
        out[i] = 1.5 * d_y - d_z
    return (out,)


def chain_with_numexpr(numexpr: Any) -> Any:
    def value(x: Any) -> Any:
        y = "(x * 1.5 + 0.5)"
        z = f"({y} * {y} - x)"
        return numexpr.evaluate(f"({z} * 0.25 + {y}) * {z} - {y} * 0.125", {"x": x})

    return value


# -- a chain with exp and tanh ---------------------------------------------------------------------


def bell(x):
    return np.tanh(0.5 * x) * np.exp(-0.5 * x * x) + 0.25 * x


def bell_total(x):
    return np.sum(bell(x))


@by_hand
def hand_bell(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = math.tanh(0.5 * x[i]) * math.exp(-0.5 * x[i] * x[i]) + 0.25 * x[i]
    return out


@by_hand
def hand_bell_gradient(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        t = math.tanh(0.5 * x[i])
        e = math.exp(-0.5 * x[i] * x[i])
        out[i] = e * (0.5 * (1.0 - t * t) - t * x[i]) + 0.25
    return (out,)


def bell_with(module: Any) -> Any:
    np = getattr(module, "numpy", module)

    def value(x: Any) -> Any:
        return np.tanh(0.5 * x) * np.exp(-0.5 * x * x) + 0.25 * x

    return value


def bell_with_numexpr(numexpr: Any) -> Any:
    return lambda x: numexpr.evaluate("tanh(0.5 * x) * exp(-0.5 * x * x) + 0.25 * x", {"x": x})


# -- Black and Scholes: prices of calls, and all Greeks --------------------------------------------


def black_scholes(spot, strike, rate, volatility, time):
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / root
    return spot * ndtr(d1) - strike * np.exp(-rate * time) * ndtr(d1 - root)


def black_scholes_total(spot, strike, rate, volatility, time):
    return np.sum(black_scholes(spot, strike, rate, volatility, time))


@by_hand
def cumulative(x):
    return 0.5 * math.erfc(-0.7071067811865476 * x)


@by_hand
def hand_black_scholes(spot, strike, rate, volatility, time):
    out = np.empty_like(spot)
    for i in range(len(spot)):
        s, k, r, v, t = spot[i], strike[i], rate[i], volatility[i], time[i]
        root = v * math.sqrt(t)
        d1 = (math.log(s / k) + (r + 0.5 * v * v) * t) / root
        out[i] = s * cumulative(d1) - k * math.exp(-r * t) * cumulative(d1 - root)
    return out


@by_hand
def hand_black_scholes_gradient(spot, strike, rate, volatility, time):
    n = len(spot)
    d_s, d_k, d_r, d_v, d_t = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        s, k, r, v, t = spot[i], strike[i], rate[i], volatility[i], time[i]
        root_t = math.sqrt(t)
        root = v * root_t
        d1 = (math.log(s / k) + (r + 0.5 * v * v) * t) / root
        first, second = cumulative(d1), cumulative(d1 - root)
        discounted = k * math.exp(-r * t)
        density = s * 0.3989422804014327 * math.exp(-0.5 * d1 * d1)
        d_s[i] = first
        d_k[i] = -discounted * second / k
        d_r[i] = discounted * second * t
        d_v[i] = density * root_t
        d_t[i] = 0.5 * density * v / root_t + r * discounted * second
    return d_s, d_k, d_r, d_v, d_t


def black_scholes_with(np: Any, ndtr: Any) -> Any:
    def value(spot: Any, strike: Any, rate: Any, volatility: Any, time: Any) -> Any:
        root = volatility * np.sqrt(time)
        d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / root
        return spot * ndtr(d1) - strike * np.exp(-rate * time) * ndtr(d1 - root)

    return value


def black_scholes_with_autograd(autograd: Any) -> Any:
    from autograd.scipy.special import erfc

    return black_scholes_with(autograd.numpy, lambda x: 0.5 * erfc(-0.7071067811865476 * x))


def options(small: bool) -> tuple[Any, ...]:
    random, n = np.random.default_rng(0), 1000 if small else 1_000_000
    return (
        random.uniform(80.0, 120.0, n),
        random.uniform(80.0, 120.0, n),
        random.uniform(0.01, 0.05, n),
        random.uniform(0.1, 0.5, n),
        random.uniform(0.2, 2.0, n),
    )


def line(small: bool) -> tuple[Any, ...]:
    return (np.random.default_rng(0).normal(size=1000 if small else SIZE),)


CASES = [
    Case(
        name="chain of 10 ops, 1e7",
        plain=chain,
        arguments=line,
        hand=hand_chain,
        argnums=(0,),
        loss=chain_total,
        hand_gradient=hand_chain_gradient,
        peers={
            "jax": lambda _: chain,
            "torch": lambda _: chain,
            "torch.compile": lambda _: chain,
            "autograd": lambda _: chain,
            "numexpr": chain_with_numexpr,
            "pythran": "chain(float64[])",
        },
        kind="elementwise",
    ),
    Case(
        name="chain with exp and tanh, 1e7",
        plain=bell,
        arguments=line,
        hand=hand_bell,
        argnums=(0,),
        loss=bell_total,
        hand_gradient=hand_bell_gradient,
        peers={
            "jax": bell_with,
            "torch": bell_with,
            "torch.compile": bell_with,
            "autograd": bell_with,
            "numexpr": bell_with_numexpr,
            "pythran": "bell(float64[])",
        },
        kind="elementwise",
    ),
    Case(
        name="Black-Scholes, 1e6",
        plain=black_scholes,
        arguments=options,
        hand=hand_black_scholes,
        argnums=(0, 1, 2, 3, 4),
        loss=black_scholes_total,
        hand_gradient=hand_black_scholes_gradient,
        peers={
            "jax": lambda jax: black_scholes_with(jax.numpy, jax.scipy.special.ndtr),
            "torch": lambda torch: black_scholes_with(torch, torch.special.ndtr),
            "torch.compile": lambda torch: black_scholes_with(torch, torch.special.ndtr),
            "autograd": black_scholes_with_autograd,
        },
        refused={"numexpr": "no erf", "pythran": "no ndtr"},
        kind="elementwise",
    ),
]
