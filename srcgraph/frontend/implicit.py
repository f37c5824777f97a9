"""Solvers, and how what they find moves with their arguments, in Python: compiled with the functions that use them.

``jvp`` is that of `srcgraph`. Errors raised here are shown at the user's call.
"""

from __future__ import annotations

import numpy as np

from srcgraph.frontend.jacobians import by_columns


def along(residual, x, args, tangents, jvp):
    """How a root ``x`` of ``residual(x, *args)`` moves: ``F_x dx + F_args dargs = 0``."""
    pushed = jvp(lambda *given: residual(x, *given), args, tangents)[1]
    if np.ndim(x) == 0:
        return -pushed / jvp(lambda v: residual(v, *args), (x,), (x * 0.0 + 1.0,))[1]
    matrix = _matrix(residual, x, args, jvp)
    return -np.linalg.solve(matrix, pushed.reshape(x.size)).reshape(x.shape)


def _matrix(residual, x, args, jvp):
    """The derivatives of the residual by ``x``, with a row and a column for each number."""
    if np.shape(residual(x, *args)) != np.shape(x):
        raise ValueError("the residual of a root has another shape than the root")
    return by_columns(lambda v: residual(v, *args), x, jvp).reshape(x.size, x.size)


def newton(residual, x, args, jvp, tolerance, steps):
    """A root, by Newton's method from ``x``."""
    for _ in range(steps):
        value = residual(x, *args)
        if np.ndim(x) == 0:
            step = value / jvp(lambda v: residual(v, *args), (x,), (x * 0.0 + 1.0,))[1]
        else:
            step = np.linalg.solve(_matrix(residual, x, args, jvp), value.reshape(x.size)).reshape(x.shape)
        x = x - step
        if np.max(np.abs(step), initial=0.0) <= tolerance * (1.0 + np.max(np.abs(x), initial=0.0)):
            break
    else:
        raise RuntimeError(f"no root was found in {steps} steps of Newton's method: start nearer, or pass a solver")
    return x


def iterated(step, x, args, tolerance, steps):
    """A fixed point, by applying ``step`` from ``x`` on."""
    for _ in range(steps):
        last, x = x, step(x, *args)
        if np.max(np.abs(x - last), initial=0.0) <= tolerance * (1.0 + np.max(np.abs(x), initial=0.0)):
            break
    else:
        raise RuntimeError(f"no fixed point was found in {steps} steps: start nearer, or pass a solver")
    return x
