"""NumPy functions that give parts or other arrangements of an array's own memory, and of several arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import arrays, dtypes, expressions, library, lists, written
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Scalar, Tup, cells_of, may_share
from srcgraph.frontend.memory import Dead, as_index, new_array, read, ref_type, refuse, select, slice_operands
from srcgraph.frontend.numpy_table import FUNCTIONS, METHODS, array_function
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops import complex as parts
from srcgraph.ir.ops.reductions import normalized
from srcgraph.ir.types import BOOL, INT, ArrayType
from srcgraph.ir.view import View, transposed

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

# -- parts of complex numbers -------------------------------------------------------------------------


def _number_or_array(low: Lowering, x: Entity) -> Entity:
    """What parts are taken of; those of Python's bools are integers."""
    if isinstance(x, Tup):
        return arrays.as_array(low, x)
    value = low.value(x)
    plain_bool = value.type.dtype == BOOL and getattr(value.type, "weak", False)
    return Scalar(low.builder.cast(value, INT, True)) if plain_bool else x


def _same_memory(low: Lowering, whole: Entity, value: Value) -> Entity:
    """The real or imaginary part of an array is a view: neither is read once the other changed."""
    made = low.entity(value)
    if isinstance(whole, Array) and isinstance(made, Array) and ref_type(low, whole).dtype.kind == "c":
        for other in {s for c in cells_of(whole) for s in (c, *c.shares)}:
            may_share(made.cell, other)
    return made


@array_function(np.real)
def real(low: Lowering, val: Entity) -> Entity:
    val = _number_or_array(low, val)
    value = low.value(val)
    return val if value.type.dtype.kind != "c" else _same_memory(low, val, parts.part("real", value))


@array_function(np.imag)
def imag(low: Lowering, val: Entity) -> Entity:
    val = _number_or_array(low, val)
    return _same_memory(low, val, parts.imag(low.value(val)))


@array_function(method="conj")
def conj(low: Lowering, a: Entity) -> Entity:
    value = low.value(a)
    return a if value.type.dtype.kind != "c" else low.entity(OPS["conjugate"](value))


METHODS["conjugate"] = conj


@array_function(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(low: Lowering, x: Entity, window_shape: Entity, axis: Entity = NONE) -> Entity:
    """A copy, which is not read once the array changed."""
    made = arrays.as_array(low, x)
    sizes = list(window_shape.items) if isinstance(window_shape, Tup) else [window_shape]
    ndim = ref_type(low, made).ndim
    axes = range(ndim) if axis == NONE else normalized(low.static(axis, "the axis of sliding_window_view"), ndim)
    if len(axes) != len(sizes):
        raise refuse("sliding_window_view takes a length for each axis", low.loc, "give axis=...", kind=InferenceError)
    for size, at in zip(sizes, axes, strict=True):
        made = lists.own(low, written.windows, made, size, Const(at))
    assert isinstance(made, Array)
    for other in {s for c in cells_of(x) for s in (c, *c.shares)}:
        may_share(made.cell, other)
    return made


# -- storing ------------------------------------------------------------------------------------------


@array_function(np.copyto)
def copyto(low: Lowering, dst: Entity, src: Entity, *, where: Entity = Const(True)) -> Entity:
    if not isinstance(dst, Array):
        raise refuse(f"np.copyto stores into an array, not {low.shown(dst)}", low.loc, kind=InferenceError)
    value, dtype = low.value(arrays.as_array(low, src) if isinstance(src, Tup) else src), ref_type(low, dst).dtype
    whole = getattr(value.type, "weak", False) and value.type.dtype == INT and dtype.kind in "iu"
    if not whole and not np.can_cast(value.type.dtype, dtype, "same_kind"):
        what = "array data" if value.type.ndim else "scalar"
        why = f"Cannot cast {what} from {value.type.dtype!r} to {dtype!r} according to the rule 'same_kind'"
        low.builder.call_named("check_that", False, error="TypeError", message=why)
        raise Dead
    return lists.own(low, written.copyto, dst, low.entity(low.builder.stored(value, dtype)), where)


# -- axes ---------------------------------------------------------------------------------------------


def _static_axis(low: Lowering, axis: Entity, ndim: int, what: str) -> int:
    k = low.static(axis, what)
    if not isinstance(k, int | np.integer) or not -ndim <= k < ndim:
        raise refuse(f"axis {k} is out of bounds for an array of {ndim} axes", low.loc, kind=InferenceError)
    return int(k) % ndim


@array_function(np.matrix_transpose)
def matrix_transpose(low: Lowering, x: Entity) -> Entity:
    ref = arrays.as_array(low, x)
    ndim = ref_type(low, ref).ndim
    if ndim < 2:
        raise refuse("matrix_transpose takes an array of at least two axes", low.loc, kind=InferenceError)
    return select(low, ref, transposed(ndim, (*range(ndim - 2), ndim - 1, ndim - 2)), ())


@array_function(np.rollaxis)
def rollaxis(low: Lowering, a: Entity, axis: Entity, start: Entity = Const(0)) -> Entity:
    ref = arrays.as_array(low, a)
    ndim = ref_type(low, ref).ndim
    at = _static_axis(low, axis, ndim, "the axis of rollaxis")
    to = low.static(start, "the start of rollaxis")
    if not isinstance(to, int) or not -ndim <= to <= ndim:
        raise refuse(f"start {to} is out of bounds for an array of {ndim} axes", low.loc, kind=InferenceError)
    to = to + ndim if to < 0 else to
    order = [k for k in range(ndim) if k != at]
    order.insert(to - (at < to), at)
    return select(low, ref, transposed(ndim, order), ())


def _at_least(low: Lowering, x: Entity, ndim: int) -> Array:
    """A reference with axes of length 1 added as `numpy.atleast_3d` does."""
    ref = arrays.as_array(low, x)
    kind = ref_type(low, ref)
    if not kind.ndim:
        value = read(low, ref)
        value = low.builder.scalar(value) if isinstance(value.type, ArrayType) else value
        return new_array(low, OPS["full"](value, *(1 for _ in range(ndim))))
    if kind.ndim >= ndim:
        return ref
    order = {(1, 2): (None, 0), (1, 3): (None, 0, None), (2, 3): (0, 1, None)}[kind.ndim, ndim]
    return select(low, ref, View((":",) * kind.ndim, order), ())


def _define_at_least(function: object, ndim: int) -> None:
    @array_function(function)
    def atleast(low: Lowering, *arys: Entity) -> Entity:
        made = [_at_least(low, x, ndim) for x in arys]
        return made[0] if len(made) == 1 else Tup(tuple(made))


for _ndim, _function in enumerate((np.atleast_1d, np.atleast_2d, np.atleast_3d), 1):
    _define_at_least(_function, _ndim)


@array_function(np.fliplr)
def fliplr(low: Lowering, m: Entity) -> Entity:
    return arrays.flip(low, m, Const(1))


@array_function(np.flipud)
def flipud(low: Lowering, m: Entity) -> Entity:
    return arrays.flip(low, m, Const(0))


@array_function(np.rot90)
def rot90(low: Lowering, m: Entity, k: Entity = Const(1), axes: Entity = Const((0, 1))) -> Entity:
    ref = arrays.as_array(low, m)
    ndim = ref_type(low, ref).ndim
    asked = axes.items if isinstance(axes, Tup) else tuple(map(Const, low.static(axes, "the axes of rot90")))
    plane = [_static_axis(low, e, ndim, "the axes of rot90") for e in asked]
    if len(plane) != 2 or plane[0] == plane[1]:
        raise refuse("rot90 takes two different axes", low.loc, kind=InferenceError)
    first, second = plane
    turns = low.static(k, "the number of turns of rot90") % 4
    order = list(range(ndim))
    order[first], order[second] = order[second], order[first]
    swapped = transposed(ndim, order)
    match turns:
        case 0:
            return ref
        case 1:
            return select(low, _turned(low, ref, second), swapped, ())
        case 2:
            return _turned(low, _turned(low, ref, first), second)
    return _turned(low, select(low, ref, swapped, ()), second)


def _turned(low: Lowering, ref: Array, axis: int) -> Array:
    out = arrays.flip(low, ref, Const(axis))
    assert isinstance(out, Array)
    return out


# -- splitting ----------------------------------------------------------------------------------------


def _part(low: Lowering, ref: Array, axis: int, start: Value | None, stop: Value | None) -> Array:
    kind = ref_type(low, ref)
    operands = slice_operands(low, start, stop, 1, kind.shape[axis])
    view = View(tuple(1 if k == axis else ":" for k in range(kind.ndim)), tuple(range(kind.ndim)))
    return select(low, ref, view, operands)


def _split(low: Lowering, ary: Entity, parts: Entity, axis: int, exact: bool) -> Entity:
    """The parts of an array along an axis, as a list of views."""
    ref = arrays.as_array(low, ary)
    b = low.builder
    if isinstance(parts, Tup):
        ends = [as_index(low, low.value(e, "an index"), "an index") for e in parts.items]
        pairs = zip([None, *ends], [*ends, None], strict=True)
        return Tup(tuple(_part(low, ref, axis, start, stop) for start, stop in pairs), list)
    count = low.static(parts, "the number of parts")
    if not isinstance(count, int) or count < 1:
        raise refuse("number sections must be larger than 0.", low.loc, kind=InferenceError)
    size = b.dim_value(ref_type(low, ref).shape[axis])
    if exact:
        rest = b.call_named("equal", b.call_named("mod", size, count), 0)
        message = "array split does not result in an equal division"
        b.call_named("check_that", rest, error="ValueError", message=message)
    each, extra = b.call_named("floordiv", size, count), b.call_named("mod", size, count)
    starts: list[Value] = []
    for k in range(count + 1):
        start = b.call_named("mul", each, k)
        starts.append(start if exact else b.call_named("add", start, b.call_named("minimum", extra, k)))
    bounds = zip(starts[:-1], [*starts[1:-1], None], strict=True)
    return Tup(tuple(_part(low, ref, axis, start, stop) for start, stop in bounds), list)


@array_function(np.split)
def split(low: Lowering, ary: Entity, indices_or_sections: Entity, axis: Entity = Const(0)) -> Entity:
    ref = arrays.as_array(low, ary)
    at = _static_axis(low, axis, ref_type(low, ref).ndim, "the axis of split")
    return _split(low, ref, indices_or_sections, at, True)


@array_function(np.array_split)
def array_split(low: Lowering, ary: Entity, indices_or_sections: Entity, axis: Entity = Const(0)) -> Entity:
    ref = arrays.as_array(low, ary)
    at = _static_axis(low, axis, ref_type(low, ref).ndim, "the axis of array_split")
    return _split(low, ref, indices_or_sections, at, False)


def _define_split(function: object, least: int, axis: int) -> None:
    @array_function(function)
    def split_along(low: Lowering, ary: Entity, indices_or_sections: Entity) -> Entity:
        ref = arrays.as_array(low, ary)
        ndim = ref_type(low, ref).ndim
        if ndim < least:
            raise refuse(f"an array of at least {least} axes is needed", low.loc, kind=InferenceError)
        return _split(low, ref, indices_or_sections, min(axis, ndim - 1), True)


_define_split(np.hsplit, 1, 1)
_define_split(np.vsplit, 2, 0)
_define_split(np.dsplit, 3, 2)


@array_function(np.unstack)
def unstack(low: Lowering, x: Entity, axis: Entity = Const(0)) -> Entity:
    ref = arrays.as_array(low, x)
    kind = ref_type(low, ref)
    at = _static_axis(low, axis, kind.ndim, "the axis of unstack")
    count = kind.shape[at].const
    if count is None:
        raise refuse("the number of parts is known only at run time", low.loc, "loop over the axis instead")
    view = View(tuple("i" if k == at else ":" for k in range(kind.ndim)), tuple(range(kind.ndim - 1)))
    items = (select(low, ref, view, [low.builder.const(k)]) for k in range(count))
    return Tup(tuple(Scalar(read(low, e)) if kind.ndim == 1 else e for e in items))


@array_function(np.piecewise)
def piecewise(low: Lowering, x: Entity, condlist: Entity, funclist: Entity) -> Entity:
    wheres = condlist.items if isinstance(condlist, Tup) else (condlist,)
    values = expressions.items_of(low, funclist)
    if not all(isinstance(w, Array) for w in wheres) or len(values) - len(wheres) not in (0, 1):
        why = "piecewise takes an array, conditions that are arrays, and as many functions, or one more"
        raise refuse(why, low.loc, kind=InferenceError)
    line = arrays.as_array(low, x)
    out = lists.own(low, library.zeros_like, line)
    if len(values) > len(wheres):
        rest: Entity = Const(True)
        for where in wheres:
            rest = lists.own(low, library.outside, rest, where)
        wheres = (*wheres, rest)
    for where, value in zip(wheres, values, strict=True):
        lists.own(low, library.piece, line, out, where, value)
    return out


# -- several arrays -----------------------------------------------------------------------------------


def values_of(low: Lowering, entities: Sequence[Entity]) -> list[Value]:
    """The values of arrays; numbers become arrays without axes."""
    return [read(low, arrays.as_array(low, e)) for e in entities]


__all__ = ["FUNCTIONS", "METHODS", "conj", "dtypes", "imag", "matrix_transpose", "real"]
