"""Derivatives by differences: how large they are, how far off they may be, and whether there is one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Slope = Callable[[complex], complex]
"""A function of one number; one that takes complex numbers, too, may be analytic."""


def derivative(at: Slope, single: bool) -> tuple[float, float]:
    """A derivative at 0 and its error: Ridders' extrapolation, improved by the complex step if it agrees.

    Parameters
    ----------
    at : callable
        Of numbers around 0; results are taken to be of size 1 or so.
    single : bool
        Whether it has only single precision.

    References
    ----------
    Press et al., Numerical Recipes, section 5.7 (Ridders' method); Squire and Trapp, SIAM Review 40
    (1998), complex step.
    """
    h = 0.05 if single else 0.01
    table: list[list[float]] = []
    best, error = 0.0, np.inf
    for row in range(2 if single else 6):
        step = h / 1.6**row
        entry = [(np.real(at(step)) - np.real(at(-step))) / (2 * step)]
        for k in range(row):
            factor = 1.6 ** (2 * (k + 1))
            entry.append((factor * entry[k] - table[-1][k]) / (factor - 1))
            guess = max(abs(entry[k + 1] - entry[k]), abs(entry[k + 1] - table[-1][k]))
            if guess < error:
                best, error = entry[k + 1], guess
        table.append(entry)
    error = 4 * error + 1e-8 * (1 + abs(best))
    if not single:
        best, error = _nearer(at, best, error)
    try:
        exact = np.imag(at(1e-30j)) / 1e-30
    except Exception:  # not analytic: comparisons or functions of real numbers
        exact = np.nan
    if np.isfinite(exact) and abs(exact - best) <= 10 * error:
        return float(exact), 1e-11 * (1 + abs(exact))
    return float(best), float(error)


def _nearer(at: Slope, best: float, error: float) -> tuple[float, float]:
    """Plain differences at small steps instead, where the extrapolation went over a kink or a steep place."""
    small, smaller = ((np.real(at(h)) - np.real(at(-h))) / (2 * h) for h in (1e-5, 3e-6))
    room = 4 * abs(small - smaller) + 1e-7 * (1 + abs(small))
    if error <= room and abs(best - small) <= error + room:
        return best, max(error, 4 * abs(best - small))
    return float(small), float(room)
