"""Copies of arrays and of lists of them."""

from __future__ import annotations

import numpy as np

from srcgraph.runtime.helpers import helper


@helper(any_layout=True)
def move(out, x):
    """``out[...] = x`` of arrays of one shape; numba would compile what it says of others, for longer than all else."""
    if x.ndim == 1:
        for i in range(x.shape[0]):
            out[i] = x[i]
    elif x.ndim == 2:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j] = x[i, j]
    else:
        for at in np.ndindex(x.shape):
            out[at] = x[at]


@helper(any_layout=True)
def copies(xs):
    """A list of copies of the arrays in a list."""
    made = []
    for x in xs:
        made.append(x.copy())
    return made
