"""Gradient descent whose step grows while it helps, for `particle` and `saddle`."""

import numpy as np

SMALL = 1e-5


def lowest(f, slope, x):
    """Where ``f`` has a minimum, from ``x`` downhill; ``slope`` is its gradient."""
    value = f(x)
    down = slope(x)
    step = 1e-5
    helped = 0
    while np.sqrt(np.sum(down**2)) > SMALL:
        if helped == 10:
            step *= 2.0
            helped = 0
            continue
        moved = x - step * down
        if np.sqrt(np.sum((moved - x) ** 2)) <= SMALL:
            break
        there = f(moved)
        if there < value:
            x = moved
            value = there
            down = slope(x)
            helped += 1
        else:
            step /= 2.0
            helped = 0
    return x
