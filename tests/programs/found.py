"""Programs that random generation found to go wrong, each the smallest that did."""

import numpy as np


def integer_before_array(n, x):
    """The parameter has the name that the array's size would get."""
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


def integer_before_matrix(n, m):
    if n > 7:
        return np.sum(m[0])
    m[0] *= 1.5
    return m[-1, 0] + n
