"""An ordinary differential equation: predators and prey, by the Runge-Kutta method of fourth order."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.record import SCALAR_LOOP, Case, by_hand


def lotka_volterra(a, b, c, d, steps):
    dt = 10.0 / steps
    x = 1.0
    y = 0.5
    total = 0.0
    for _ in range(steps):
        k1 = a * x - b * x * y
        l1 = c * x * y - d * y
        x2 = x + 0.5 * dt * k1
        y2 = y + 0.5 * dt * l1
        k2 = a * x2 - b * x2 * y2
        l2 = c * x2 * y2 - d * y2
        x3 = x + 0.5 * dt * k2
        y3 = y + 0.5 * dt * l2
        k3 = a * x3 - b * x3 * y3
        l3 = c * x3 * y3 - d * y3
        x4 = x + dt * k3
        y4 = y + dt * l3
        k4 = a * x4 - b * x4 * y4
        l4 = c * x4 * y4 - d * y4
        x += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        y += dt / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
        total += x * dt
    return total + y


@by_hand
def stage_back(x, y, dk, dl, a, b, c, d):
    """Cotangents of x, y and the four parameters from those of one stage's two slopes."""
    xy = x * y
    return (
        dk * (a - b * y) + dl * c * y,
        dl * (c * x - d) - dk * b * x,
        dk * x,
        -dk * xy,
        dl * xy,
        -dl * y,
    )


@by_hand
def hand_lotka_gradient(a, b, c, d, steps):
    dt = 10.0 / steps
    half, sixth = 0.5 * dt, dt / 6.0
    states = np.empty((steps, 2))
    x, y = 1.0, 0.5
    for i in range(steps):
        states[i, 0], states[i, 1] = x, y
        k1, l1 = a * x - b * x * y, c * x * y - d * y
        x2, y2 = x + half * k1, y + half * l1
        k2, l2 = a * x2 - b * x2 * y2, c * x2 * y2 - d * y2
        x3, y3 = x + half * k2, y + half * l2
        k3, l3 = a * x3 - b * x3 * y3, c * x3 * y3 - d * y3
        x4, y4 = x + dt * k3, y + dt * l3
        k4, l4 = a * x4 - b * x4 * y4, c * x4 * y4 - d * y4
        x += sixth * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        y += sixth * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
    dx, dy = 0.0, 1.0
    da = db = dc = dd = 0.0
    for i in range(steps - 1, -1, -1):
        x, y = states[i, 0], states[i, 1]
        k1, l1 = a * x - b * x * y, c * x * y - d * y
        x2, y2 = x + half * k1, y + half * l1
        k2, l2 = a * x2 - b * x2 * y2, c * x2 * y2 - d * y2
        x3, y3 = x + half * k2, y + half * l2
        k3, l3 = a * x3 - b * x3 * y3, c * x3 * y3 - d * y3
        x4, y4 = x + dt * k3, y + dt * l3
        dx += dt
        p, q, ea, eb, ec, ed = stage_back(x4, y4, sixth * dx, sixth * dy, a, b, c, d)
        nx, ny = dx + p, dy + q
        da, db, dc, dd = da + ea, db + eb, dc + ec, dd + ed
        p, q, ea, eb, ec, ed = stage_back(x3, y3, 2.0 * sixth * dx + dt * p, 2.0 * sixth * dy + dt * q, a, b, c, d)
        nx, ny = nx + p, ny + q
        da, db, dc, dd = da + ea, db + eb, dc + ec, dd + ed
        p, q, ea, eb, ec, ed = stage_back(x2, y2, 2.0 * sixth * dx + half * p, 2.0 * sixth * dy + half * q, a, b, c, d)
        nx, ny = nx + p, ny + q
        da, db, dc, dd = da + ea, db + eb, dc + ec, dd + ed
        p, q, ea, eb, ec, ed = stage_back(x, y, sixth * dx + half * p, sixth * dy + half * q, a, b, c, d)
        dx, dy = nx + p, ny + q
        da, db, dc, dd = da + ea, db + eb, dc + ec, dd + ed
    return da, db, dc, dd


def lotka_with_jax(jax: Any) -> tuple[Any, Any]:
    """The steps by scan; for the gradient, each step is recomputed: 81 times faster than to store its stages."""

    def program(wrap: Any) -> Any:
        def value(a: Any, b: Any, c: Any, d: Any, steps: int) -> Any:
            dt = 10.0 / steps

            def slopes(x: Any, y: Any) -> Any:
                return a * x - b * x * y, c * x * y - d * y

            def step(state: Any, _: Any) -> Any:
                x, y, total = state
                k1, l1 = slopes(x, y)
                k2, l2 = slopes(x + 0.5 * dt * k1, y + 0.5 * dt * l1)
                k3, l3 = slopes(x + 0.5 * dt * k2, y + 0.5 * dt * l2)
                k4, l4 = slopes(x + dt * k3, y + dt * l3)
                x = x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
                y = y + dt / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
                return (x, y, total + x * dt), None

            (_, y, total), _ = jax.lax.scan(wrap(step), (1.0, 0.5, 0.0), None, length=steps)
            return total + y

        return value

    return program(lambda step: step), program(jax.checkpoint)


CASES = [
    Case(
        name="Lotka-Volterra, RK4, 1e5 steps",
        plain=lotka_volterra,
        arguments=lambda small: (1.1, 0.4, 0.1, 0.4, 100 if small else 100_000),
        hand=by_hand(lotka_volterra),
        argnums=(0, 1, 2, 3),
        hand_gradient=hand_lotka_gradient,
        peers={"jax": lotka_with_jax, "pythran": "lotka_volterra(float, float, float, float, int)"},
        refused=SCALAR_LOOP,
        kind="recurrence",
    ),
]
