"""Arrays whose axes go round: shifted, and with more at their ends: what comes round there, or the last one again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, Op, current_builder, define, sample
from srcgraph.ir.ops._loops import along, item
from srcgraph.ir.ops._rules import linear
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import View

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


# -- with more at the ends ------------------------------------------------------------------------------

PADDED: dict[str, Op] = {}
"""The ops that put more at the ends of each axis, by `numpy.pad`'s names of what that is."""
SOURCES: dict[str, Callable[[Value, Value], Value]] = {
    "wrap": lambda k, n: OPS["mod"](k, n),
    "edge": lambda k, n: OPS["minimum"](OPS["maximum"](k, 0), OPS["sub"](n, 1)),
}
"""The place along an axis of length ``n`` whose element is at place ``k``, which may be outside."""


def _low_and_high(mode: str, k: int, n: Value) -> tuple[Value, Value]:
    """The places whose elements are ``k`` places before the first, and ``k`` after the last."""
    if mode == "edge":
        return current_builder().const(0), OPS["sub"](n, 1)
    return OPS["mod"](-k, n), OPS["mod"](OPS["add"](n, k - 1), n)


def _around(x: ArrayType, *, width: int) -> ArrayType:
    return ArrayType(x.dtype, tuple(n + 2 * width for n in x.shape))


def _added_back(ct: Value, x: Value, width: int, mode: str) -> Value:
    """What is at the ends added to where it comes from, the last axis first, and the rest."""
    b, sizes = current_builder(), x.type.shape
    for axis in reversed(range(x.type.ndim)):
        n = b.dim_value(sizes[axis])

        for k in range(1, width + 1):
            low, high = _low_and_high(mode, k, n)
            for end, place in ((b.const(width - k), low), (OPS["add"](n, width + k - 1), high)):
                ct = OPS["add_at"](ct, item(ct, axis, end), place + width, view=along(x.type.ndim, axis))
    operands = [v for d in sizes for v in (b.const(width), b.dim_value(d))]
    ndim = x.type.ndim
    return OPS["getitem"](ct, *operands, view=View((1,) * ndim, tuple(range(ndim))))


def _padding(name: str, mode: str, what: str) -> Op:
    def padded(x: np.ndarray, *, width: int) -> np.ndarray:
        return np.pad(x, width, mode=mode) if x.size else np.zeros(tuple(n + 2 * width for n in x.shape), x.dtype)  # type: ignore[call-overload]

    def moved(tx: Value, *, width: int) -> Value:
        return PADDED[mode](tx, width=width)

    PADDED[mode] = define(
        name=name,
        doc=f"``x`` with ``width`` more elements at each end of each axis: {what}.",
        infer=_around,
        numpy=padded,
        kind="library",
        emit={"cpu": name},
        helpers="wraps",
        fresh=True,
        linear=True,
        through_complex=True,
        jvp=linear(moved),
        vjp=lambda ct, out, x, *, width: (_added_back(ct, x, width, mode),),
        samples=(sample("f64[5]", width=2), sample("f64[3, 4]", width=1)),
    )
    return PADDED[mode]


wrapped = _padding("wrapped", "wrap", "what comes round there, if ``x`` has any")
extended = _padding("extended", "edge", "the first one, and the last")
