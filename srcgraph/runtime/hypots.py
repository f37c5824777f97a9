"""Comparisons of ``hypot(x, y)`` with a bound: the squares decide, and the root where these are too close to tell."""

from __future__ import annotations

import numpy as np
from numba import njit

_MARGIN = 2e-15
"""Relative to the squares: their rounding errors, and two units in the last place of the root, are half of it."""
_SMALL, _LARGE = 1e-290, 1e300
"""Between which the square of a bound neither loses digits nor is infinite."""


@njit(error_model="numpy", inline="always")
def _beside(x, y, bound):
    """What is to ``bound`` as ``hypot(x, y)`` is: less, the same or more."""
    size, limit = x * x + y * y, bound * bound
    if _SMALL < limit < _LARGE and bound > 0.0:
        if size > limit * (1.0 + _MARGIN):
            return np.inf
        if size < limit * (1.0 - _MARGIN):
            return -np.inf
    return np.hypot(x, y)


@njit(error_model="numpy")
def hypot_less(x, y, bound):
    """Whether ``hypot(x, y) < bound``."""
    return _beside(x, y, bound) < bound


@njit(error_model="numpy")
def hypot_less_equal(x, y, bound):
    """Whether ``hypot(x, y) <= bound``."""
    return _beside(x, y, bound) <= bound


@njit(error_model="numpy")
def hypot_greater(x, y, bound):
    """Whether ``hypot(x, y) > bound``."""
    return _beside(x, y, bound) > bound


@njit(error_model="numpy")
def hypot_greater_equal(x, y, bound):
    """Whether ``hypot(x, y) >= bound``."""
    return _beside(x, y, bound) >= bound
