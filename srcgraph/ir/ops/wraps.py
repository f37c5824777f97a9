"""Arrays whose axes go round: shifted, and with what comes round at their ends."""

from __future__ import annotations

import numpy as np

from srcgraph.ir.graph import Value
from srcgraph.ir.op import define, sample
from srcgraph.ir.ops._rules import linear
from srcgraph.ir.types import ArrayType

MOST_AXES = 3
"""Of the arrays that `rolled` takes."""


def _rolled_back(ct: Value, shift: int, axis: int) -> Value:
    return rolled(ct, shift=-shift, axis=axis)


rolled = define(
    name="rolled",
    doc="The elements of ``x`` shifted round by ``shift`` places along an axis.",
    infer=lambda x, *, shift, axis: x,
    numpy=lambda x, *, shift, axis: np.roll(x, shift, axis),
    kind="library",
    emit={"cpu": "rolled"},
    helpers="wraps",
    fresh=True,
    linear=True,
    through_complex=True,
    jvp=linear(lambda tx, *, shift, axis: rolled(tx, shift=shift, axis=axis)),
    vjp=lambda ct, out, x, *, shift, axis: (_rolled_back(ct, shift, axis),),
    samples=(
        sample("f64[5]", shift=2, axis=0),
        sample("f64[3, 4]", shift=-1, axis=1),
        sample("f64[2, 3, 2]", shift=4, axis=1),
    ),
)


def _around(x: ArrayType, *, width: int) -> ArrayType:
    return ArrayType(x.dtype, tuple(n + 2 * width for n in x.shape))


wrapped = define(
    name="wrapped",
    doc="``x`` with ``width`` more elements at each end of each axis: what comes round there, if ``x`` has any.",
    infer=_around,
    numpy=lambda x, *, width: (
        np.pad(x, width, mode="wrap") if x.size else np.zeros(tuple(n + 2 * width for n in x.shape))
    ),
    kind="library",
    emit={"cpu": "wrapped"},
    helpers="wraps",
    fresh=True,
)
