"""What a call costs that computes next to nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.record import Case, by_hand


def parabola(x):
    return 3.0 * x * x + x


def slope(x):
    return 6.0 * x + 1.0


@by_hand
def hand_slope(x):
    return (6.0 * x + 1.0,)


def with_module(_: Any) -> Any:
    return parabola


def entries(a, b, c, d, e):
    return a[0] + b[1] * c[2] - d[3] * e[4]


def with_arrays(_: Any) -> Any:
    return entries


def five_arrays(small: bool) -> tuple[Any, ...]:
    return tuple(np.random.default_rng(0).normal(size=(5, 10)))


CASES = [
    Case(
        name="call, 1 float",
        plain=parabola,
        arguments=lambda small: (1.5,),
        hand=by_hand(parabola),
        argnums=(0,),
        hand_gradient=hand_slope,
        python_gradient=slope,
        peers={
            "jax": with_module,
            "torch": with_module,
            "torch.compile": with_module,
            "autograd": with_module,
            "pythran": "parabola(float)",
        },
        kind="call",
    ),
    Case(
        name="call, 5 arrays of 10",
        plain=entries,
        arguments=five_arrays,
        hand=by_hand(entries),
        peers={
            "jax": with_arrays,
            "torch": with_arrays,
            "torch.compile": with_arrays,
            "pythran": f"entries({', '.join(['float64[]'] * 5)})",
        },
        kind="call",
    ),
]
