"""Elements that masks mark, for generated code. Compiled once per types of arrays, and kept on disk."""

from __future__ import annotations

import numpy as np

from srcgraph.runtime.arrays import empty, zeros
from srcgraph.runtime.copies import move
from srcgraph.runtime.helpers import helper


@helper
def compress(x, mask, count):
    """``x[mask]``, of which there are ``count``."""
    k = 0
    if x.ndim == 1:
        out = empty(count, x.dtype)
        for i in range(len(mask)):
            if mask[i]:
                out[k] = x[i]
                k += 1
    elif x.ndim == mask.ndim:
        out = empty(count, x.dtype)
        for at in np.ndindex(mask.shape):
            if mask[at]:
                out[k] = x[at]
                k += 1
    else:
        out = empty((count, *_rest(x, mask)), x.dtype)
        for at in np.ndindex(mask.shape):
            if mask[at]:
                move(out[k], x[at])
                k += 1
    return out


@helper
def expand(v, mask):
    """Zeros with ``v``, one after the other, where ``mask`` holds."""
    k = 0
    if v.ndim == 1:
        out = zeros(mask.shape, v.dtype)
        for at in np.ndindex(mask.shape):
            if mask[at]:
                out[at] = v[k]
                k += 1
    else:
        out = zeros((*mask.shape, *v.shape[1:]), v.dtype)
        for at in np.ndindex(mask.shape):
            if mask[at]:
                move(out[at], v[k])
                k += 1
    return out


@helper
def _rest(x, mask):
    """The lengths of the axes that are not marked."""
    if mask.ndim == 1:
        return x.shape[1:]
    if mask.ndim == 2:
        return x.shape[2:]
    return x.shape[3:]
