"""Grids on which every point takes from its neighbours, many times over."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.record import SCALAR_LOOP, Case, by_hand

# -- heat, linear ----------------------------------------------------------------------------------


def heat(u, k, steps):
    u = u.copy()
    for _ in range(steps):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + k * (around - 4.0 * u[1:-1, 1:-1])
    return 0.5 * np.sum(u * u)


@by_hand
def heat_step(u, v, k):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            v[i, j] = u[i, j] + k * (around - 4.0 * u[i, j])


@by_hand
def half_square(u):
    total = 0.0
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            total += u[i, j] * u[i, j]
    return 0.5 * total


@by_hand
def hand_heat(u, k, steps):
    u, v = u.copy(), u.copy()
    for _ in range(steps):
        heat_step(u, v, k)
        u, v = v, u
    return half_square(u)


@by_hand
def heat_step_back(d, e, k):
    """Cotangents `e` before a step from those after it; borders were kept, and gave to the inside."""
    n, m = d.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            e[i, j] = (1.0 - 4.0 * k) * d[i, j]
            up = d[i - 1, j] if i > 1 else 0.0
            down = d[i + 1, j] if i < n - 2 else 0.0
            left = d[i, j - 1] if j > 1 else 0.0
            right = d[i, j + 1] if j < m - 2 else 0.0
            e[i, j] += k * (up + down + left + right)
    border_back(d, e, k)


@by_hand
def border_back(d, e, k):
    n, m = d.shape
    for j in range(m):
        inside = 1 <= j < m - 1
        e[0, j] = d[0, j] + (k * d[1, j] if inside else 0.0)
        e[n - 1, j] = d[n - 1, j] + (k * d[n - 2, j] if inside else 0.0)
    for i in range(1, n - 1):
        e[i, 0] = d[i, 0] + k * d[i, 1]
        e[i, m - 1] = d[i, m - 1] + k * d[i, m - 2]


@by_hand
def hand_heat_gradient(u, k, steps):
    u, v = u.copy(), u.copy()
    for _ in range(steps):
        heat_step(u, v, k)
        u, v = v, u
    for _ in range(steps):
        heat_step_back(u, v, k)
        u, v = v, u
    return (u,)


def heat_with_jax(jax: Any) -> tuple[Any, Any]:
    def step(u: Any, k: Any) -> Any:
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return u.at[1:-1, 1:-1].add(k * (around - 4.0 * u[1:-1, 1:-1]))

    return scanned(jax, step)


def scanned(jax: Any, step: Any) -> tuple[Any, Any]:
    """Many steps; the gradient recomputes inside a step, which is better for both."""

    def program(step: Any) -> Any:
        def value(u: Any, *rest: Any) -> Any:
            *parameters, steps = rest
            u, _ = jax.lax.scan(lambda u, _: (step(u, *parameters), None), u, None, length=steps)
            return 0.5 * jax.numpy.sum(u * u)

        return value

    return program(step), program(jax.checkpoint(step))


def heat_with_torch(torch: Any) -> Any:
    def value(u: Any, k: Any, steps: int) -> Any:
        for _ in range(steps):
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            inside = u[1:-1, 1:-1] + k * (around - 4.0 * u[1:-1, 1:-1])
            u = framed(torch, u, inside)
        return 0.5 * torch.sum(u * u)

    return value


def framed(torch: Any, u: Any, inside: Any) -> Any:
    """`inside` with the border of `u`."""
    rows = torch.cat([u[1:-1, :1], inside, u[1:-1, -1:]], dim=1)
    return torch.cat([u[:1], rows, u[-1:]], dim=0)


# -- Fisher's equation: heat that reacts -----------------------------------------------------------


def fisher(u, k, r, steps):
    u = u.copy()
    for _ in range(steps):
        c = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] = c + k * (around - 4.0 * c) + r * c * (1.0 - c)
    return 0.5 * np.sum(u * u)


@by_hand
def fisher_step(u, v, k, r):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            c = u[i, j]
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            v[i, j] = c + k * (around - 4.0 * c) + r * c * (1.0 - c)


@by_hand
def hand_fisher(u, k, r, steps):
    u, v = u.copy(), u.copy()
    for _ in range(steps):
        fisher_step(u, v, k, r)
        u, v = v, u
    return half_square(u)


@by_hand
def hand_fisher_gradient(u, k, r, steps):
    n, m = u.shape
    states = np.empty((steps + 1, n, m))
    states[0] = u
    for t in range(steps):
        states[t + 1, 0], states[t + 1, n - 1] = u[0], u[n - 1]
        states[t + 1, :, 0], states[t + 1, :, m - 1] = u[:, 0], u[:, m - 1]
        fisher_step(states[t], states[t + 1], k, r)
    d, e = states[steps].copy(), np.empty((n, m))
    for t in range(steps - 1, -1, -1):
        fisher_step_back(states[t], d, e, k, r)
        d, e = e, d
    return (d,)


@by_hand
def fisher_step_back(u, d, e, k, r):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            e[i, j] = (1.0 - 4.0 * k + r * (1.0 - 2.0 * u[i, j])) * d[i, j]
            up = d[i - 1, j] if i > 1 else 0.0
            down = d[i + 1, j] if i < n - 2 else 0.0
            left = d[i, j - 1] if j > 1 else 0.0
            right = d[i, j + 1] if j < m - 2 else 0.0
            e[i, j] += k * (up + down + left + right)
    border_back(d, e, k)


def fisher_with_jax(jax: Any) -> tuple[Any, Any]:
    def step(u: Any, k: Any, r: Any) -> Any:
        c = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        return u.at[1:-1, 1:-1].add(k * (around - 4.0 * c) + r * c * (1.0 - c))

    return scanned(jax, step)


def fisher_with_torch(torch: Any) -> Any:
    def value(u: Any, k: Any, r: Any, steps: int) -> Any:
        for _ in range(steps):
            c = u[1:-1, 1:-1]
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            u = framed(torch, u, c + k * (around - 4.0 * c) + r * c * (1.0 - c))
        return 0.5 * torch.sum(u * u)

    return value


def plate(small: bool) -> Any:
    return np.random.default_rng(0).uniform(size=(12, 9) if small else (512, 512))


# -- a rod that is updated in place, each point from one that is new already -----------------------


def rod(u, rate, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            u[i] += rate * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
    total = 0.0
    for i in range(len(u)):
        total += u[i] * u[i]
    return total


@by_hand
def hand_rod_gradient(u, rate, steps):
    n = len(u)
    u = u.copy()
    states = np.empty((steps, n))
    for t in range(steps):
        states[t] = u
        for i in range(1, n - 1):
            u[i] += rate * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
    d_u = 2.0 * u
    d_rate = 0.0
    for t in range(steps - 1, -1, -1):
        before = states[t]
        for i in range(n - 2, 0, -1):
            left, here, right = u[i - 1], before[i], before[i + 1]
            u[i] = here
            bend = left - 2.0 * here + right
            d_rate += d_u[i] * bend * here
            d_bend = d_u[i] * rate * here
            d_u[i] += d_u[i] * rate * bend - 2.0 * d_bend
            d_u[i - 1] += d_bend
            d_u[i + 1] += d_bend
    return d_u, d_rate


def rod_with_jax(jax: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax

    def value(u: Any, rate: Any, steps: int) -> Any:
        def sweep(u: Any, _: Any) -> Any:
            def point(left: Any, given: Any) -> Any:
                here, right = given
                here = here + rate * (left - 2.0 * here + right) * here
                return here, here

            _, inside = lax.scan(point, u[0], (u[1:-1], u[2:]))
            return jnp.concatenate([u[:1], inside, u[-1:]]), None

        u, _ = lax.scan(sweep, u, None, length=steps)
        return jnp.sum(u * u)

    return value


TORCH_LIMIT = {"torch.compile": "unrolled: minutes to compile"}
CASES = [
    Case(
        name="heat, 512 x 512, 200 steps",
        plain=heat,
        arguments=lambda small: (plate(small), 0.1, 7 if small else 200),
        hand=hand_heat,
        argnums=(0,),
        hand_gradient=hand_heat_gradient,
        peers={"jax": heat_with_jax, "torch": heat_with_torch, "pythran": "heat(float64[:,:], float, int)"},
        refused=TORCH_LIMIT | {"autograd": "no assignment", "numexpr": "no loops"},
        kind="stencil",
    ),
    Case(
        name="Fisher, 512 x 512, 200 steps",
        plain=fisher,
        arguments=lambda small: (plate(small), 0.1, 0.05, 7 if small else 200),
        hand=hand_fisher,
        argnums=(0,),
        hand_gradient=hand_fisher_gradient,
        peers={
            "jax": fisher_with_jax,
            "torch": fisher_with_torch,
            "pythran": "fisher(float64[:,:], float, float, int)",
        },
        refused=TORCH_LIMIT | {"autograd": "no assignment", "numexpr": "no loops"},
        kind="stencil",
    ),
    Case(
        name="rod in place, 1e3 x 1e3",
        plain=rod,
        arguments=lambda small: (np.random.default_rng(0).uniform(0.5, 1.5, 20 if small else 1000), 0.05,
                                 7 if small else 1000),
        hand=by_hand(rod),
        argnums=(0, 1),
        hand_gradient=hand_rod_gradient,
        peers={"jax": rod_with_jax, "pythran": "rod(float64[], float, int)"},
        refused=SCALAR_LOOP,
        kind="stencil",
    ),
]  # fmt: skip
