"""Ops that make or rearrange arrays without arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.ir.dims import Dim, product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import current_builder, define, sample
from srcgraph.ir.ops._rules import linear
from srcgraph.ir.ops.index import getitem, zeros_like
from srcgraph.ir.types import ArrayType, ScalarType, Type, is_inexact
from srcgraph.ir.view import View, transposed


def sizes(dims: Sequence[Type]) -> tuple[Dim, ...]:
    return tuple(map(_size, dims))


def _size(dim: Type) -> Dim:
    """What an operand that is a size equals: the builder gives integers it does not know a symbol."""
    assert isinstance(dim, ScalarType) and dim.value is not None
    return dim.value


def dims_of(x: Value) -> tuple[Value, ...]:
    """The sizes of ``x`` as integers, without reading ``x`` itself where another value knows them."""
    return tuple(current_builder().dim_value(d) for d in x.type.shape)


full = define(
    name="full",
    doc="An array of the given lengths with every element ``x``.",
    infer=lambda x, *dims: ArrayType(x.dtype, sizes(dims)),
    numpy=lambda x, *dims: np.full(dims, x),
    kind="structural",
    jvp=linear(lambda tx, *dims: full(tx, *dims)),
    vjp=lambda ct, out, x, *dims: (sum_all(ct, x) if is_inexact(x.type) else None, *(None for _ in dims)),
    fresh=True,
    linear=True,
    through_complex=True,
    samples=(sample("f64", 3, 4), sample("float", 2)),
)
empty = define(
    name="empty",
    doc="An array of the given lengths whose elements have no meaning yet; ``absent`` where there is none to be read.",
    infer=lambda *dims, dtype, absent=False: ArrayType(dtype, sizes(dims)),
    numpy=lambda *dims, dtype, absent=False: np.zeros([max(d, 0) for d in dims] if absent else dims, dtype),
    kind="structural",
    fresh=True,
)


def _edges(x: np.ndarray, *, width: int) -> np.ndarray:
    out = x.copy()
    out[(slice(width, -width),) * x.ndim] = 0
    return out


edges = define(
    name="edges",
    doc="An array of its own with the elements of ``x`` less than ``width`` from an end of an axis; others are unset.",
    infer=lambda x, *, width: x,
    numpy=_edges,
    kind="library",
    emit={"cpu": "edges"},
    helpers="edges",
    fresh=True,
)


def zeros_of(x: Value) -> Value:
    """Zeros of the type of ``x``: an array, or a number."""
    if isinstance(x.type, ScalarType):
        zero = x.type.dtype.type(0)
        return current_builder().const(zero.item() if x.type.weak else zero)
    return zeros_like(x)


def _arange_type(start: ScalarType, step: ScalarType, length: ScalarType) -> ArrayType:
    return ArrayType(start.dtype, sizes((length,)))


def _arange_jvp(tangents: Any, out: Value, start: Value, step: Value, length: Value) -> Value | None:
    if tangents[0] is None and tangents[1] is None:
        return None
    zero = start.type.dtype.type(0)
    return arange(*(zero if t is None else t for t in tangents[:2]), length)


def _arange_vjp(ct: Value, out: Value, start: Value, step: Value, length: Value) -> tuple[Value, Value, None]:
    b, number = current_builder(), start.type.dtype.type
    places = arange(number(0), number(1), length)
    return b.call_named("sum", ct, axes=(0,)), b.call_named("sum", b.call_named("mul", ct, places), axes=(0,)), None


arange = define(
    name="arange",
    doc="``start + step * k`` for ``k`` from 0 to ``length - 1``.",
    infer=_arange_type,
    numpy=lambda start, step, length: start + np.arange(length).astype(np.asarray(start).dtype) * step,
    kind="structural",
    jvp=_arange_jvp,
    vjp=_arange_vjp,
    samples=(sample(np.float64(0.5), np.float64(0.25), 4), sample(np.int64(3), np.int64(-1), 3)),
)
copy = define(
    name="copy",
    doc="An array of its own with the elements of ``x``.",
    infer=lambda x: x,
    numpy=lambda x: x.copy(),
    kind="structural",
    jvp=linear(lambda tx: tx),
    vjp=lambda ct, out, x: (ct,),
    fresh=True,
    linear=True,
    through_complex=True,
    samples=(sample("f64[3, 4]"),),
)


def _as_shape(ct: Value, x: Value) -> Value:
    return with_shape(ct, *dims_of(x))


def same_sizes(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> bool:
    """Whether an array is surely of the given lengths."""
    x, *dims = inputs
    return all(builder.same(d, v.type.value) for d, v in zip(x.type.shape, dims, strict=True))


def _shaped_already(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    x, *dims = inputs
    return x if x.type.shape == tuple(d.type.value for d in dims) else None


with_shape = define(
    name="with_shape",
    doc="``x``, whose axes are known to have the given lengths.",
    infer=lambda x, *dims: ArrayType(x.dtype, sizes(dims)),
    simplify=_shaped_already,
    numpy=lambda x, *dims: x,
    kind="structural",
    jvp=linear(lambda tx, *dims: with_shape(tx, *dims)),
    proved=same_sizes,
    vjp=lambda ct, out, x, *dims: (_as_shape(ct, x), *(None for _ in dims)),
    linear=True,
    through_complex=True,
    samples=(sample("f64[n, 4]", 3, 4),),
)


def _not_stretched(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    x, *dims = inputs
    return x if x.type.shape == sizes([v.type for v in dims]) else None


def _stretches(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> bool:
    """Whether every axis surely has the given length or 1."""
    x, *dims = inputs
    own = dims[len(dims) - x.type.ndim :]
    return all(d == 1 or builder.same(d, v.type.value) for d, v in zip(x.type.shape, own, strict=True))


broadcast_to = define(
    name="broadcast_to",
    doc="``x`` stretched to the given lengths: axes are added in front, axes of length 1 repeat.",
    infer=lambda x, *dims: ArrayType(x.dtype, sizes(dims)),
    numpy=lambda x, *dims: np.broadcast_to(x, dims).copy(),
    kind="structural",
    jvp=linear(lambda tx, *dims: broadcast_to(tx, *dims)),
    proved=_stretches,
    vjp=lambda ct, out, x, *dims: (sum_to(ct, x), *(None for _ in dims)),
    simplify=_not_stretched,
    linear=True,
    through_complex=True,
    samples=(sample("f64[3, 1]", 2, 3, 4), sample("f64", 3)),
)  # fmt: skip


def _reshape_type(x: ArrayType, *dims: ScalarType) -> ArrayType:
    return ArrayType(x.dtype, sizes(dims))


def _same_size(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> bool:
    """Whether an array surely has as many elements as one of the given lengths."""
    x, *dims = inputs
    return builder.same(total_size(x), product(sizes([v.type for v in dims])))


reshape = define(
    name="reshape",
    doc="The elements of ``x`` in C order as an array of the given lengths.",
    infer=_reshape_type,
    numpy=lambda x, *dims: np.reshape(x, dims).copy(),
    kind="library",
    jvp=linear(lambda tx, *dims: reshape(tx, *dims)),
    proved=_same_size,
    vjp=lambda ct, out, x, *dims: (reshape(ct, *dims_of(x)), *(None for _ in dims)),
    helpers="arrays",
    emit={"cpu": "reshape"},
    linear=True,
    through_complex=True,
    samples=(sample("f64[3, 4]", 2, 6), sample("f64[6]", 3, 2)),
)


def _seen_through(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    """A view of a view is one of the array itself, or that."""
    x, *dims = inputs
    before = builder.definition(x)
    base = before.inputs[0] if before is not None and before.op is reshape_view else x
    if base.type.shape == sizes([v.type for v in dims]):
        return base
    return None if base is x else reshape_view(base, *dims)


reshape_view = define(
    name="reshape_view",
    doc="As ``reshape``, of an array that lies in C order: what is stored into the result is stored into ``x``.",
    infer=_reshape_type,
    numpy=lambda x, *dims: np.reshape(x, dims).copy(),
    kind="library",
    jvp=linear(lambda tx, *dims: reshape(tx, *dims)),
    proved=_same_size,
    vjp=lambda ct, out, x, *dims: (reshape(ct, *dims_of(x)), *(None for _ in dims)),
    simplify=_seen_through,
    helpers="arrays",
    emit={"cpu": "reshape"},
    linear=True,
    through_complex=True,
    samples=(sample("f64[3, 4]", 2, 6),),
)


turned = define(
    name="turned",
    doc="The transpose of ``x``, in the same memory: of an array in Fortran's order one in C order, and back.",
    infer=lambda x: ArrayType(x.dtype, x.shape[::-1]),
    numpy=lambda x: x.T.copy(),
    kind="library",
    jvp=linear(lambda tx: getitem(tx, view=transposed(tx.type.ndim, range(tx.type.ndim)[::-1]))),
    vjp=lambda ct, out, x: (getitem(ct, view=transposed(ct.type.ndim, range(ct.type.ndim)[::-1])),),
    linear=True,
    through_complex=True,
    samples=(sample("f64[3, 4]"),),
)


def sum_to(ct: Value, x: Value) -> Value:
    """The transpose of broadcasting ``x`` to the shape of ``ct``: sums over the stretched axes."""
    from_ndim, to_ndim = ct.type.ndim, x.type.ndim
    lead = tuple(range(from_ndim - to_ndim))
    shape = x.type.shape
    ones = tuple(k + len(lead) for k, d in enumerate(shape) if d == 1 and ct.type.shape[k + len(lead)] != 1)
    if lead or ones:
        ct = _summed(ct, lead + ones)
        ct = with_new_axes(ct, [k - len(lead) for k in ones])
    for axis, size in enumerate(shape):
        if ct.type.shape[axis] != size:
            ct = _sum_if_stretched(ct, axis, size)
    return ct


def _summed(ct: Value, axes: tuple[int, ...]) -> Value:
    if not axes:
        return ct
    return current_builder().call_named("sum", ct, axes=axes)


def with_new_axes(ct: Value, axes: list[int]) -> Value:
    """``ct`` with axes of length 1 at these positions of the result."""
    if not axes:
        return ct
    ndim = ct.type.ndim + len(axes)
    kept = iter(range(ct.type.ndim))
    order = tuple(None if k in axes else next(kept) for k in range(ndim))
    if ct.type.ndim == 0:
        return full(ct, *(1 for _ in axes))
    return getitem(ct, view=View((":",) * ct.type.ndim, order))


def _sum_if_stretched(ct: Value, axis: int, size: Dim) -> Value:
    """``ct`` summed along ``axis`` if the operand's length there turns out to be 1 and it was stretched."""
    b = current_builder()
    length, wanted = b.dim_value(ct.type.shape[axis]), b.dim_value(size)
    same = b.call_named("equal", length, wanted)
    then, orelse = b.new_region(), b.new_region()
    shape = tuple(size if k == axis else d for k, d in enumerate(ct.type.shape))
    with b.inside(then):
        kept = with_shape(ct, *map(b.dim_value, shape))
    with b.inside(orelse):
        summed = with_new_axes(_summed(ct, (axis,)), [axis])
        summed = with_shape(summed, *map(b.dim_value, shape))
    return b.if_(same, (then, [kept]), (orelse, [summed]))[0]


def sum_all(ct: Value, x: Value) -> Value:
    """The sum of all elements as a number of the type of ``x``."""
    out = _summed(ct, tuple(range(ct.type.ndim)))
    return current_builder().cast(out, x.type.dtype, getattr(x.type, "weak", False))


def total_size(x: Value) -> Dim:
    """How many elements ``x`` has."""
    return product(x.type.shape)


def spread(ct: Value, x: Value, axes: tuple[int, ...]) -> Value:
    """``ct``, which lacks ``axes`` of ``x``, repeated along them."""
    if ct.type.ndim:
        ct = with_new_axes(ct, list(axes))
    return broadcast_to(ct, *dims_of(x))
