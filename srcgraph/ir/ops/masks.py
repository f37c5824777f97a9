"""Elements that masks mark, as ops: what of an array is marked, and back to where it was.

Both are linear, and each is the transpose of the other. The number of marks is an operand, so that everything read by
one mask has one length. What users write is in `srcgraph.frontend.fancy` and `grids`; sums and stores of what is
marked need no array of it, see `srcgraph.opt.rules.masks`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.errors import InternalError
from srcgraph.ir.dims import product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import current_builder, define, sample
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops._rules import linear
from srcgraph.ir.ops.compare import where
from srcgraph.ir.ops.shape import dims_of, reshape, with_new_axes
from srcgraph.ir.ops.vector import cast
from srcgraph.ir.types import BOOL, INT, ArrayType, is_inexact

MOST_AXES = 3
"""So many axes of a mask loops are written for; more are made one."""
_MASK = np.array([True, False, True, True])
_GRID = np.array([[True, False], [False, True]])


def _marked(x: ArrayType, mask: ArrayType, count: Any) -> ArrayType:
    if mask.dtype != BOOL or mask.shape != x.shape[: mask.ndim]:
        raise InternalError(f"{mask} marks nothing of {x}")
    return ArrayType(x.dtype, (count.value, *x.shape[mask.ndim :]))


def _expanded(v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    out = np.zeros((*mask.shape, *v.shape[1:]), v.dtype)
    out[mask] = v
    return out


def _never(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> bool:
    """That there are as many elements as marks is not known before it is checked."""
    return False


compress = define(
    name="compress",
    doc="``x[mask]``: the elements, or parts, that are marked, of which there are ``count``.",
    infer=_marked,
    numpy=lambda x, mask, count: x[mask],
    kind="library",
    emit={"cpu": "compress"},
    helpers="masks",
    results=("marked",),
    jvp=linear(lambda tx, mask, count: compress(tx, mask, count)),
    vjp=lambda ct, out, x, mask, count: (expand(ct, mask) if is_inexact(x.type) else None, None, None),
    linear=True,
    through_complex=True,
    samples=(
        sample("f64[4]", _MASK, 3),
        sample("f64[4, 2]", _MASK, 3),
        sample("f64[2, 2]", _GRID, 2),
        sample("f64[2, 2, 3]", _GRID, 2),
        sample("f64[2, 2, 1]", _GRID[:, :, None], 2),
    ),
)
expand = define(
    name="expand",
    doc="Zeros with ``v``, one after the other, where a mask holds.",
    infer=lambda v, mask: ArrayType(v.dtype, (*mask.shape, *v.shape[1:])),
    numpy=_expanded,
    kind="library",
    emit={"cpu": "expand"},
    helpers="masks",
    results=("spread",),
    jvp=linear(lambda tv, mask: expand(tv, mask)),
    vjp=lambda ct, out, v, mask: (compress(ct, mask, dims_of(v)[0]) if is_inexact(v.type) else None, None),
    proved=_never,
    linear=True,
    through_complex=True,
    samples=(
        sample("f64[3]", _MASK),
        sample("f64[3, 2]", _MASK),
        sample("f64[2]", _GRID),
        sample("f64[2, 3]", _GRID),
        sample("f64[2]", _GRID[:, :, None]),
    ),
)


def count_of(mask: Value) -> Value:
    """How often a mask holds."""
    b = current_builder()
    axes = tuple(range(mask.type.ndim))
    count = b.cast(reduce.sum_(cast(mask, dtype=INT, weak=False), axes=axes), INT, weak=True)
    b.learn(count.type.value)
    return count


def marked(x: Value, mask: Value, count: Value | None = None) -> Value:
    """``x[mask]`` with a mask of the first axes of ``x``."""
    count = count_of(mask) if count is None else count
    return compress(*_of_few_axes(x, mask), count)


def stored(x: Value, v: Value, mask: Value) -> Value:
    """``x`` after ``x[mask] = v``, of which there are as many parts as marks."""
    whole, mask = _of_few_axes(x, mask)
    out = where(over(mask, whole), expand(v, mask), whole)
    return out if whole is x else reshape(out, *dims_of(x))


def over(mask: Value, x: Value) -> Value:
    """A mask of the first axes of ``x`` with axes of length 1 for the others."""
    return with_new_axes(mask, list(range(mask.type.ndim, x.type.ndim)))


def _of_few_axes(x: Value, mask: Value) -> tuple[Value, Value]:
    if mask.type.ndim <= MOST_AXES:
        return x, mask
    b = current_builder()
    n = b.dim_value(product(mask.type.shape))
    return reshape(x, n, *dims_of(x)[mask.type.ndim :]), reshape(mask, n)
