"""np.r_, np.c_, np.mgrid and np.ogrid: arrays written as subscripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import calls
from srcgraph.frontend.entities import NONE, Const, Entity, SliceOf
from srcgraph.frontend.memory import refuse
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.creation import arange_array, linspace
from srcgraph.ir.ops.grids import meshgrid
from srcgraph.ir.ops.sequences import joined
from srcgraph.ir.ops.shape import arange, with_new_axes
from srcgraph.ir.promote import common_dtype
from srcgraph.ir.types import FLOAT

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

GRIDS = (np.r_, np.c_, np.mgrid, np.ogrid)


def subscript(low: Lowering, grid: Any, parts: Sequence[Entity]) -> Entity:
    """``np.r_[...]`` and the like."""
    if grid is np.r_ or grid is np.c_:
        return low.entity(_joined(low, parts, columns=grid is np.c_))
    lines = [_line(low, p, exact=False) for p in parts if isinstance(p, SliceOf)]
    if len(lines) < len(parts):
        raise refuse("np.mgrid and np.ogrid take slices", low.loc, kind=InferenceError)
    dtype = common_dtype([x.type for x in lines])
    lines = [low.builder.cast(x, dtype) for x in lines]
    if len(lines) == 1:
        return low.entity(lines[0])
    made = meshgrid(*lines, indexing="ij", sparse=grid is np.ogrid)
    if grid is np.ogrid:
        return low.entity(made)
    return low.entity(joined([with_new_axes(x, [0]) for x in made], 0))


def _line(low: Lowering, part: SliceOf, exact: bool) -> Value:
    """The numbers of a slice: with a step, or so many from end to end if that is imaginary."""
    b = low.builder
    start, stop = (low.value(e) for e in (Const(0) if part.start == NONE else part.start, part.stop))
    step = Const(1) if part.step == NONE else part.step
    if not (isinstance(step, Const) and isinstance(step.value, complex)):
        return arange_array(start, stop, low.value(step))
    count = int(abs(step.value))
    first, last = (b.cast(v, FLOAT, False) for v in (start, stop))
    if exact:
        return linspace(first, last, count)
    by = OPS["div"](OPS["sub"](last, first), float(count - 1)) if count > 1 else b.const(np.float64(0.0))
    return arange(first, by, b.const(count))


def _joined(low: Lowering, parts: Sequence[Entity], columns: bool) -> Value:
    """Parts one behind the other; as columns, lines stand side by side."""
    if any(isinstance(p, Const) and isinstance(p.value, str) for p in parts):
        raise refuse("a string in np.r_ or np.c_ is not supported", low.loc, "use np.concatenate or np.stack")
    values = [_line(low, p, exact=True) if isinstance(p, SliceOf) else calls.operand(low, p, "np.r_") for p in parts]
    dtype = common_dtype([v.type for v in values])
    values = [low.builder.cast(v, dtype, False) for v in values]
    least = 2 if columns else 1
    ndim = max(least, *(v.type.ndim for v in values))
    made = []
    for v in values:
        behind = ndim - v.type.ndim if columns or not v.type.ndim else 0
        made.append(with_new_axes(v, list(range(v.type.ndim, v.type.ndim + behind))) if behind else v)
    if any(v.type.ndim != ndim for v in made):
        raise refuse("the parts must have the same number of axes", low.loc, kind=InferenceError)
    return joined(made, ndim - 1 if columns else 0)
