"""NumPy functions about memory: which give views, which copy, and fancy indexing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.frontend import flat, indexing
from srcgraph.frontend.entities import (
    NONE,
    Array,
    Cell,
    Const,
    Entity,
    Listing,
    Reshaped,
    Scalar,
    Tup,
    cells_of,
    may_be_memory_of,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.layout import contiguous
from srcgraph.frontend.memory import as_index, new_array, read, ref_type, refuse, select, write
from srcgraph.frontend.numpy_table import FUNCTIONS, METHODS, array_function
from srcgraph.frontend.resolve import to_integer
from srcgraph.ir.dims import Dim, as_dim, product, quotient
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops import searching
from srcgraph.ir.types import INT, NAME_OF, ArrayType
from srcgraph.ir.view import View, transposed, whole

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def call(low: Lowering, lower: Callable, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call one of these with entities, by Python's rules for its own signature."""
    signature = inspect.signature(lower)
    try:
        given = signature.bind(low, *args, **kwargs)
    except TypeError as error:
        name, (_, *known) = lower.__name__.strip("_"), signature.parameters.values()
        unknown = [key for key in kwargs if key not in signature.parameters]
        why = f"{unknown[0]}= is not supported" if unknown else str(error)
        texts = [p.name if p.default is p.empty else f"{p.name}={_default_text(p.default)}" for p in known]
        hint = f"supported: {name}({', '.join(texts)})"
        raise refuse(f"{name}: {why}", low.loc, hint, kind=InferenceError) from None
    return lower(*given.args, **given.kwargs)


def _default_text(default: Any) -> str:
    return repr(default.value) if isinstance(default, Const) else repr(default)


def as_array(low: Lowering, x: Entity) -> Array:
    """``x`` as a reference to an array; numbers and lists become new ones."""
    if isinstance(x, Array):
        return x
    if flat.is_flat(x):
        return new_array(low, read(low, flat.row(low, x)))
    made = array_from(low, x, None)
    assert isinstance(made, Array)
    return made


# -- views ----------------------------------------------------------------------------------------


@array_function(np.transpose, method="transpose")
def transpose(low: Lowering, a: Entity, axes: Entity = NONE, *more: Entity) -> Entity:
    if isinstance(a, Scalar) and not getattr(a.value.type, "weak", False):
        return a
    ref = as_array(low, a)
    ndim = ref_type(low, ref).ndim
    order = low.static(Tup((axes, *more)) if more else axes, "the axes of transpose")
    order = range(ndim)[::-1] if order is None else _axes(low, order, ndim)
    if len(order) != ndim:
        raise refuse("axes don't match array", low.loc, kind=InferenceError)
    return select(low, ref, transposed(ndim, order), ())


@array_function(np.swapaxes, method="swapaxes")
def swapaxes(low: Lowering, a: Entity, axis1: Entity, axis2: Entity) -> Entity:
    ref = as_array(low, a)
    ndim = ref_type(low, ref).ndim
    i, j = (_axis(low, low.static(e, "an axis"), ndim) for e in (axis1, axis2))
    order = list(range(ndim))
    order[i], order[j] = order[j], order[i]
    return select(low, ref, transposed(ndim, order), ())


@array_function(np.moveaxis)
def moveaxis(low: Lowering, a: Entity, source: Entity, destination: Entity) -> Entity:
    ref = as_array(low, a)
    ndim = ref_type(low, ref).ndim
    before, after = (_axes(low, low.static(e, "an axis"), ndim) for e in (source, destination))
    if len(before) != len(after):
        message = "`source` and `destination` arguments must have the same number of elements"
        raise refuse(message, low.loc, kind=InferenceError)
    order = [k for k in range(ndim) if k not in before]
    for j, i in sorted(zip(after, before, strict=True)):
        order.insert(j, i)
    return select(low, ref, transposed(ndim, order), ())


@array_function(np.expand_dims)
def expand_dims(low: Lowering, a: Entity, axis: Entity) -> Entity:
    ref = as_array(low, a)
    ndim = ref_type(low, ref).ndim
    asked = low.static(axis, "the axis of expand_dims")
    total = ndim + (len(asked) if isinstance(asked, tuple) else 1)
    new = _axes(low, asked, total)
    kept = iter(range(ndim))
    order = tuple(None if k in new else next(kept) for k in range(total))
    return select(low, ref, View((":",) * ndim, order), ())


@array_function(np.squeeze, method="squeeze")
def squeeze(low: Lowering, a: Entity, axis: Entity = NONE) -> Entity:
    asked = low.static(axis, "the axis of squeeze")
    refuse_list(low, axis)
    if isinstance(a, Scalar) and not getattr(a.value.type, "weak", False) and asked in (None, (), 0, -1):
        return a
    ref = as_array(low, a)
    kind = ref_type(low, ref)
    if asked is None:
        gone = {k for k, d in enumerate(kind.shape) if d == 1}
        message = "squeeze of an axis that may have another length than 1 is not supported: give the axis"
        for d in kind.shape:
            if d != 1 and not low.builder.not_one(d):
                other = OPS["not_equal"](low.builder.dim_value(d), 1)
                low.builder.call_named("check_that", other, error="NotImplementedError", message=message)
        if not gone:
            return ref
    else:
        gone = set(_axes(low, asked, kind.ndim))
    for k in gone:
        if low.builder.not_one(kind.shape[k]):
            raise refuse("cannot squeeze an axis whose length is not 1", low.loc, kind=ShapeError)
        message = "cannot select an axis to squeeze out which has size not equal to one"
        fine = OPS["equal"](low.builder.dim_value(kind.shape[k]), 1)
        low.builder.call_named("check_that", fine, error="ValueError", message=message)
    axes = tuple("i" if k in gone else ":" for k in range(kind.ndim))
    zeros = [low.builder.const(0)] * len(gone)
    return select(low, ref, View(axes, tuple(range(kind.ndim - len(gone)))), zeros)


@array_function(np.flip)
def flip(low: Lowering, m: Entity, axis: Entity = NONE) -> Entity:
    ref = as_array(low, m)
    kind = ref_type(low, ref)
    asked = low.static(axis, "the axis of flip")
    turned = range(kind.ndim) if asked is None else _axes(low, asked, kind.ndim)
    if not kind.ndim:  # the number itself
        return low.entity(low.builder.scalar(read(low, ref)))
    axes, operands = [], []
    for k, size in enumerate(kind.shape):
        axes.append(-1 if k in turned else ":")
        if k in turned:
            n = low.builder.dim_value(size)
            operands += [OPS["sub"](n, 1), n]
    return select(low, ref, View(tuple(axes), tuple(range(kind.ndim))), operands)


def refuse_list(low: Lowering, axis: Entity) -> None:
    """Most functions take several axes in a tuple only."""
    if isinstance(axis, Listing) or (isinstance(axis, Tup) and axis.cls is list):
        message = "'list' object cannot be interpreted as an integer"
        raise refuse(message, low.loc, "give several axes as a tuple", kind=InferenceError)


def _axis(low: Lowering, axis: int, ndim: int) -> int:
    if not isinstance(axis, int | np.integer) or not -ndim <= axis < ndim:
        raise refuse(f"axis {axis} is out of bounds for an array of {ndim} axes", low.loc, kind=InferenceError)
    return int(axis) % ndim


def _axes(low: Lowering, asked: Any, ndim: int) -> list[int]:
    """Different axes, counted from the front."""
    axes = [_axis(low, k, ndim) for k in (asked if isinstance(asked, tuple) else (asked,))]
    if len(set(axes)) != len(axes):
        raise refuse("repeated axis", low.loc, kind=InferenceError)
    return axes


def _turned(low: Lowering, a: Entity, order: Entity) -> bool:
    """Whether elements are taken in Fortran's order, the first index fastest: that of the transposed array in C's."""
    asked = low.static(order, "the order of elements")
    if asked not in ("C", "F"):
        raise refuse(f"order={asked!r} is not supported", low.loc, "use order='C' or order='F'")
    return asked == "F" and ref_type(low, as_array(low, a)).ndim > 1


@array_function(method="reshape")
def _reshape(low: Lowering, a: Entity, *shape: Entity, order: Entity = Const("C")) -> Entity:
    return reshape(low, a, shape[0] if len(shape) == 1 else Tup(shape), order)


@array_function(np.reshape)
def reshape(low: Lowering, a: Entity, shape: Entity, order: Entity = Const("C")) -> Entity:
    parts = list(shape.items) if isinstance(shape, Tup) else [shape]
    if low.static(order, "the order of elements") != "C" and (_turned(low, a, order) or len(parts) > 1):
        return transpose(low, reshape(low, transpose(low, a), Tup(tuple(parts[::-1]))))
    ref = as_array(low, a)
    return reshaped(low, ref, _full_shape(low, product(ref_type(low, ref).shape), parts))


def of_shape(low: Lowering, ref: Array, name: str, shape: Entity) -> Array:
    """What ``name`` is after ``name.shape = shape``: nothing else may see the array."""
    names = [n for n, e in low.state.names.items() if e == ref]
    if ref.cell.visible or names != [low.key(name)] or not contiguous(low, ref):
        why = f"the shape of {name!r} is assigned, and something else may see this array, or it may not be contiguous"
        raise refuse(why, low.loc, f"make a new one: {name} = {name}.reshape(...)")
    return reshape(low, ref, shape)


@array_function(np.ravel, method="ravel")
def ravel(low: Lowering, a: Entity, order: Entity = Const("C")) -> Entity:
    ref = as_array(low, transpose(low, a) if _turned(low, a, order) else a)
    return reshaped(low, ref, [low.builder.dim_value(product(ref_type(low, ref).shape))], ravel=True)


@array_function(method="flatten")
def flatten(low: Lowering, a: Entity, order: Entity = Const("C")) -> Entity:
    value = read(low, as_array(low, transpose(low, a) if _turned(low, a, order) else a))
    return new_array(low, OPS["reshape"](value, low.builder.dim_value(product(value.type.shape))))


@array_function(method="view")
def view(low: Lowering, a: Entity, dtype: Entity = NONE) -> Entity:
    wanted = low.static(dtype, "the dtype")
    if wanted is not None and (
        not isinstance(a, Array | Scalar) or np.dtype(wanted) != low.value(a, "an array").type.dtype
    ):
        raise refuse("view() as another dtype is not supported", low.loc, "astype(...) converts the numbers")
    if isinstance(a, Scalar):
        return a
    ref = as_array(low, a)
    return select(low, ref, whole(ref_type(low, ref).ndim), ())


def reshaped(low: Lowering, ref: Array, dims: Sequence[Value], ravel: bool = False, seen: bool = False) -> Array:
    """An array that may be the memory of ``ref``, as NumPy's reshape is where it can be; ``seen``: by others, too."""
    seen = seen or _seen(low, ref.cell)
    op = OPS["reshape" if seen or ref.view is not None else "reshape_view"]
    made = new_array(low, op(read(low, ref), *dims))
    if seen:
        made.cell.choose(Reshaped(ref, tuple(dims), ravel))
    may_be_memory_of(made.cell, ref.cell)
    return made


def _seen(low: Lowering, cell: Cell) -> bool:
    """Whether the caller or a name refers to an array."""
    return cell.visible or any(cell in cells_of(e, low.state) for e in low.state.names.values())


def _full_shape(low: Lowering, total: Dim, parts: Sequence[Entity]) -> list[Value]:
    """The lengths asked for, with -1 worked out and the total checked."""
    b = low.builder
    dims = [as_index(low, low.value(e, "a length"), "a length") for e in parts]
    unknown = [k for k, d in enumerate(dims) if d.type.value == -1]
    if len(unknown) > 1:
        raise refuse("can only specify one unknown dimension", low.loc, kind=ShapeError)
    known = product(d.type.value for k, d in enumerate(dims) if k not in unknown)
    if unknown:
        if not b.proves(known - 1):
            some = OPS["not_equal"](b.dim_value(known), 0)
            message = "cannot reshape an array into a shape of length 0 and one that is not known"
            b.call_named("check_that", some, error="ValueError", message=message)
            b.learn_condition(some, True)
        if (exact := quotient(total, known)) is not None:
            length = b.dim_value(exact)
        else:
            length = b.call_named("floordiv", b.dim_value(total), b.dim_value(known))
        dims[unknown[0]] = length
        known = known * length.type.value
    elif known != total:
        for length in dims:
            if not b.proves(length.type.value):
                fine = OPS["greater_equal"](length, 0)
                message = "a length of -1 that is not known when compiling is not supported: write -1 itself"
                b.call_named("check_that", fine, error="NotImplementedError", message=message)
                b.learn_condition(fine, True)
    if known != total:
        message = "cannot reshape an array of size {x} into one of size {y}"
        b.call_named("equal_size", b.dim_value(total), b.dim_value(known), error="ValueError", message=message)
    return dims


# -- copies ---------------------------------------------------------------------------------------


@array_function(method="copy")
def copy_of(low: Lowering, a: Entity) -> Entity:
    return a if isinstance(a, Scalar) else copy(low, a)


@array_function(np.copy)
def copy(low: Lowering, a: Entity) -> Entity:
    return new_array(low, OPS["copy"](read(low, as_array(low, a))))


@array_function(np.ascontiguousarray)
def ascontiguousarray(low: Lowering, a: Entity, dtype: Entity = NONE) -> Entity:
    """A copy of at least one axis that may be the array itself: NumPy decides by how that lies in memory."""
    made = asarray(low, a, dtype)
    assert isinstance(made, Array)
    if not ref_type(low, made).ndim:
        return select(low, made, View((), (None,)), ())
    if made is not a:
        return made
    copied = new_array(low, OPS["copy"](read(low, made)))
    may_be_memory_of(copied.cell, made.cell)
    return copied


@array_function(np.asarray, np.asanyarray)
def asarray(low: Lowering, a: Entity, dtype: Entity = NONE) -> Entity:
    wanted = low.static(dtype, "the dtype")
    if isinstance(a, Array):
        return a if wanted is None or wanted == ref_type(low, a).dtype else astype(low, a, dtype)
    return array_from(low, a, wanted)


@array_function(np.array)
def array(low: Lowering, a: Entity, dtype: Entity = NONE) -> Entity:
    wanted = low.static(dtype, "the dtype")
    if isinstance(a, Array):
        return copy(low, a) if wanted is None or wanted == ref_type(low, a).dtype else astype(low, a, dtype)
    return array_from(low, a, wanted)


@array_function(method="astype")
def astype(low: Lowering, a: Entity, dtype: Entity) -> Entity:
    wanted = known_dtype(low, dtype)
    value = low.value(a)
    if value.type.dtype == wanted and isinstance(value.type, ArrayType):
        return copy(low, a)
    return low.entity(low.builder.cast(value, wanted, False))


def known_dtype(low: Lowering, dtype: Entity) -> np.dtype:
    wanted = low.static(dtype, "the dtype")
    try:
        found = np.dtype(wanted)
    except TypeError:
        raise refuse(f"{wanted!r} is not a dtype", low.loc, kind=InferenceError) from None
    if found not in NAME_OF:
        raise refuse(f"dtype {found} is not supported", low.loc)
    return found


def array_from(low: Lowering, entity: Entity, dtype: Any) -> Entity:
    """A new array of numbers, or of nested lists of numbers and arrays."""
    if isinstance(entity, Tup) and not entity.items:
        return new_array(low, OPS["empty"](0, dtype=np.dtype(float if dtype is None else dtype)))
    leaves = _leaves(low, entity)
    if not leaves:
        raise refuse("a list of empty lists is not supported", low.loc, "write np.zeros((n, 0))")
    found = np.dtype(dtype) if dtype is not None else np.result_type(*(v.type.dtype for v in leaves))
    if found not in NAME_OF:
        raise refuse(f"dtype {found} is not supported", low.loc)
    b = low.builder
    shape = _nested_shape(low, entity)
    if all(not v.type.ndim for v in leaves) and not isinstance(entity, Tup):
        return new_array(low, OPS["full"](b.stored(leaves[0], found)))
    out = OPS["empty"](*map(b.dim_value, shape), dtype=found)
    ref = new_array(low, out)
    _fill(low, ref, entity, [], found)
    return ref


def _leaves(low: Lowering, entity: Entity) -> list[Value]:
    if isinstance(entity, Tup):
        return [v for e in entity.items for v in _leaves(low, e)]
    return [low.value(entity, "an item of the array")]


def _nested_shape(low: Lowering, entity: Entity) -> tuple[Dim, ...]:
    if not isinstance(entity, Tup):
        return low.value(entity).type.shape
    inner = [_nested_shape(low, e) for e in entity.items]
    if any(len(s) != len(inner[0]) for s in inner) or any(
        mine.const != own.const and None not in (mine.const, own.const)
        for s in inner
        for mine, own in zip(s, inner[0], strict=True)
    ):
        raise refuse("the nested lists have an inhomogeneous shape", low.loc, kind=ShapeError)
    return (as_dim(len(inner)), *inner[0])


def _fill(low: Lowering, ref: Array, entity: Entity, at: list[Value], dtype: np.dtype) -> None:
    if isinstance(entity, Tup):
        for k, item in enumerate(entity.items):
            _fill(low, ref, item, [*at, low.builder.const(k)], dtype)
        return
    value = low.builder.stored(low.value(entity), dtype)
    ndim = ref_type(low, ref).ndim
    view = View(("i",) * len(at) + (":",) * (ndim - len(at)), tuple(range(ndim - len(at))))
    write(low, select(low, ref, view, at), value)


@array_function(method="fill")
def fill(low: Lowering, a: Entity, value: Entity) -> Entity:
    ref, number = as_array(low, a), low.value(value)
    if number.type.ndim:
        raise refuse("setting an array element with a sequence.", low.loc, kind=InferenceError)
    write(low, ref, low.builder.assigned(number, ref_type(low, ref).dtype))
    return NONE


@array_function(method="sort")
def sort(low: Lowering, a: Entity, axis: Entity = Const(-1), kind: Entity = NONE) -> Entity:
    """In place, as the method is."""
    ref = as_array(low, a)
    write(low, ref, searching.sort_array(read(low, ref), low.static(axis, "the axis of sort")))
    return NONE


@array_function(method="partition")
def partition(low: Lowering, a: Entity, kth: Entity, axis: Entity = Const(-1), kind: Entity = NONE) -> Entity:
    """In place; all of it is sorted, see `srcgraph.ir.ops.searching`."""
    ref = as_array(low, a)
    write(low, ref, searching.partition(read(low, ref), low.value(kth), low.static(axis, "the axis of partition")))
    return NONE


@array_function(method="item")
def item(low: Lowering, a: Entity, *index: Entity) -> Entity:
    value = low.value(a)
    if isinstance(value.type, ArrayType):
        if index:
            if len(index) != value.type.ndim:
                raise refuse("item takes one index for each axis here", low.loc, kind=InferenceError)
            ref = as_array(low, a)
            place = indexing.basic_place(low, ref, list(index))
            value = read(low, place)
        else:
            if any(d != 1 for d in value.type.shape):
                raise refuse("can only convert an array of size 1 to a number", low.loc, kind=InferenceError)
            value = low.builder.scalar(OPS["reshape"](value) if value.type.ndim else value)
    dtype = np.dtype(type(value.type.dtype.type(0).item()))
    if dtype == INT:
        return Scalar(to_integer(low.builder, value))
    return Scalar(low.builder.cast(value, dtype, weak=True))


__all__ = ["FUNCTIONS", "METHODS", "array_from", "call", "describe", "transpose"]
