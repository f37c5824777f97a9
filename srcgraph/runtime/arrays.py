"""Arrays for generated code: as NumPy makes them, with memory that is kept for the next one where they are large.

Called from Python the functions are NumPy's. In compiled code an array of less than `LARGE` bytes is what numba makes
of the same call; a larger one is in a block of `srcgraph.runtime.pool`. To those who have it an array is the same: it
has a ``MemInfo`` of numba's, which counts references; its memory is aligned to 64 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_new_ref
from numba.core.typing.npydecl import parse_dtype, parse_shape
from numba.extending import lower_builtin, overload, type_callable
from numba.np import arrayobj

from srcgraph.runtime.pool import NEW, SUPPORTED, enter

LARGE = 1 << 17
"""From how many bytes on memory is kept: C's allocator asks the system for so much, and returns it, each time."""
_WORD, _BIT = ir.IntType(64), ir.IntType(1)


# -- as NumPy's -------------------------------------------------------------------------------------------------


def empty(shape: Any, dtype: Any = float) -> np.ndarray:
    """As `numpy.empty`."""
    return np.empty(shape, dtype)


def zeros(shape: Any, dtype: Any = float) -> np.ndarray:
    """As `numpy.zeros`."""
    return np.zeros(shape, dtype)


def ones(shape: Any, dtype: Any = float) -> np.ndarray:
    """As `numpy.ones`."""
    return np.ones(shape, dtype)


def full(shape: Any, value: Any, dtype: Any = None) -> np.ndarray:
    """As `numpy.full`."""
    return np.full(shape, value, dtype)


def empty_like(x: np.ndarray) -> np.ndarray:
    """As `numpy.empty_like`."""
    return np.empty_like(x)


def longer(x: np.ndarray) -> np.ndarray:
    """An array twice as long that begins as ``x`` does."""
    out = np.empty(2 * len(x), x.dtype)
    out[: len(x)] = x
    return out


def copy(x: Any) -> Any:
    """As the method of arrays, and of lists."""
    return x.copy()


NEW_ARRAYS = (empty, zeros, ones, full)
"""Those that are given lengths."""


# -- types ------------------------------------------------------------------------------------------------------


def _made(shape: Any, dtype: Any) -> Any:
    axes = parse_shape(shape)
    return None if axes is None or dtype is None else types.Array(types.unliteral(dtype), axes, "C")


@type_callable(empty)
@type_callable(zeros)
@type_callable(ones)
def _type_of_new(context: Any) -> Callable[..., Any]:
    return lambda shape, dtype=None: _made(shape, types.float64 if dtype is None else parse_dtype(dtype))


@type_callable(full)
def _type_of_full(context: Any) -> Callable[..., Any]:
    return lambda shape, value, dtype=None: _made(shape, value if dtype is None else parse_dtype(dtype))


@type_callable(empty_like)
def _type_of_like(context: Any) -> Callable[..., Any]:
    return lambda x: _alike(x, "F" if isinstance(x, types.Array) and x.layout == "F" else "C")


@type_callable(copy)
def _type_of_copy(context: Any) -> Callable[..., Any]:
    return lambda x: _alike(x, "C")


def _alike(x: Any, layout: Literal["C", "F"]) -> Any:
    return x.copy(layout=layout, readonly=False) if isinstance(x, types.Array) else None


@overload(longer)
def _longer(x):
    def made(x):
        out = np.empty(2 * len(x), x.dtype)
        for k in range(len(x)):
            out[k] = x[k]
        return out

    return made


@overload(copy)
def _copy_of_list(x):
    return (lambda x: x.copy()) if isinstance(x, types.List) else None


# -- code -------------------------------------------------------------------------------------------------------


@lower_builtin(empty, types.Any)
@lower_builtin(empty, types.Any, types.Any)
def _empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    made = _allocated(context, builder, signature.return_type, _sizes(context, builder, signature.args[0], args[0]))
    return _returned(context, builder, signature, made)


@lower_builtin(zeros, types.Any)
@lower_builtin(zeros, types.Any, types.Any)
def _zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    sizes = _sizes(context, builder, signature.args[0], args[0])
    return _returned(context, builder, signature, _allocated(context, builder, signature.return_type, sizes, True))


@lower_builtin(ones, types.Any)
@lower_builtin(ones, types.Any, types.Any)
def _ones(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    sizes = _sizes(context, builder, signature.args[0], args[0])
    made = _allocated(context, builder, signature.return_type, sizes)
    one = context.get_constant(types.int64, 1)
    _fill(context, builder, signature.return_type, made, context.cast(builder, one, types.int64, _dtype(signature)))
    return _returned(context, builder, signature, made)


@lower_builtin(full, types.Any, types.Any)
@lower_builtin(full, types.Any, types.Any, types.Any)
def _full(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    sizes = _sizes(context, builder, signature.args[0], args[0])
    made = _allocated(context, builder, signature.return_type, sizes)
    value = context.cast(builder, args[1], signature.args[1], _dtype(signature))
    _fill(context, builder, signature.return_type, made, value)
    return _returned(context, builder, signature, made)


@lower_builtin(empty_like, types.Array)
def _empty_like(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    x = context.make_array(signature.args[0])(context, builder, args[0])
    sizes = cgutils.unpack_tuple(builder, x.shape)
    return _returned(context, builder, signature, _allocated(context, builder, signature.return_type, sizes))


@lower_builtin(copy, types.Array)
def _copy(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind, made_kind = signature.args[0], signature.return_type
    x = context.make_array(kind)(context, builder, args[0])
    sizes = cgutils.unpack_tuple(builder, x.shape)
    made = _allocated(context, builder, made_kind, sizes)
    if kind.layout == made_kind.layout:
        cgutils.raw_memcpy(builder, made.data, x.data, x.nitems, x.itemsize, align=1)
        return _returned(context, builder, signature, made)
    strides, made_strides = (cgutils.unpack_tuple(builder, a.strides) for a in (x, made))
    with cgutils.loop_nest(builder, sizes, _WORD) as index:
        source = cgutils.get_item_pointer2(context, builder, x.data, sizes, strides, kind.layout, index)
        target = cgutils.get_item_pointer2(context, builder, made.data, sizes, made_strides, made_kind.layout, index)
        builder.store(builder.load(source), target)
    return _returned(context, builder, signature, made)


def _returned(context: Any, builder: Any, signature: Any, made: Any) -> Any:
    return impl_ret_new_ref(context, builder, signature.return_type, made._getvalue())


def _dtype(signature: Any) -> Any:
    return signature.return_type.dtype


def _fill(context: Any, builder: Any, kind: Any, made: Any, value: Any) -> None:
    with cgutils.for_range(builder, made.nitems) as trip:
        arrayobj.store_item(context, builder, kind, value, builder.gep(made.data, [trip.index]))


def _sizes(context: Any, builder: Any, kind: Any, shape: Any) -> list[Any]:
    """The length of each axis.

    Raises
    ------
    ValueError
        In the compiled code: one is negative.
    """
    kinds = [kind] if isinstance(kind, types.Integer) else list(kind)
    given = [shape] if isinstance(kind, types.Integer) else cgutils.unpack_tuple(builder, shape)
    sizes = [context.cast(builder, n, k, types.intp) for n, k in zip(given, kinds, strict=True)]
    negative: Any = ir.Constant(_BIT, 0)
    for size in sizes:
        negative = builder.or_(negative, builder.icmp_signed("<", size, ir.Constant(_WORD, 0)))
    with cgutils.if_unlikely(builder, negative):
        context.call_conv.return_user_exc(builder, ValueError, ("negative dimensions not allowed",))
    return sizes


def _allocated(context: Any, builder: Any, kind: Any, sizes: Sequence[Any], cleared: bool = False) -> Any:
    """An array of a type that is contiguous.

    Raises
    ------
    ValueError, MemoryError
        In the compiled code: no memory could be as large; there is none.
    """
    item = context.get_constant(types.intp, arrayobj.get_itemsize(context, kind))
    strides, count, overflow = [item], item, ir.Constant(_BIT, 0)
    for size in reversed(sizes) if kind.layout == "C" else sizes:
        found = builder.smul_with_overflow(count, size)
        count, overflow = builder.extract_value(found, 0), builder.or_(overflow, builder.extract_value(found, 1))
        strides.append(count)
    with cgutils.if_unlikely(builder, overflow):
        context.call_conv.return_user_exc(builder, ValueError, (_TOO_BIG,))
    info = _memory(context, builder, count, context.get_preferred_array_alignment(kind.dtype), cleared)
    made = context.make_array(kind)(context, builder)
    pointer = context.get_data_type(kind.dtype).as_pointer()
    strides = strides[: kind.ndim]
    arrayobj.populate_array(
        made,
        data=builder.bitcast(context.nrt.meminfo_data(builder, info), pointer),
        shape=cgutils.pack_array(builder, list(sizes), ty=_WORD),
        strides=cgutils.pack_array(builder, strides[::-1] if kind.layout == "C" else strides, ty=_WORD),
        itemsize=item,
        meminfo=info,
    )
    return made


_TOO_BIG = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
"""NumPy's words."""


def _memory(context: Any, builder: Any, size: Any, alignment: int, cleared: bool) -> Any:
    """A ``MemInfo`` for some bytes, in a block if they are many."""
    nrt = context.nrt
    if not SUPPORTED:
        info = nrt.meminfo_alloc_aligned(builder, size, alignment)
        if cleared:
            cgutils.memset(builder, nrt.meminfo_data(builder, info), size, 0)
        return info
    enter()
    large = builder.icmp_unsigned(">=", size, ir.Constant(_WORD, LARGE))
    with builder.if_else(large, likely=False) as (then, otherwise):
        with then:
            new = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(cgutils.voidptr_t, [_WORD, _WORD]), NEW
            )
            kept = builder.call(new, [size, ir.Constant(_WORD, int(cleared))])
            kept_end = builder.block
        with otherwise:
            info = nrt.meminfo_alloc_aligned_unchecked(builder, size, alignment)
            if cleared:
                with builder.if_then(cgutils.is_not_null(builder, info)):
                    cgutils.memset(builder, nrt.meminfo_data(builder, info), size, 0)
            info_end = builder.block
    found = builder.phi(cgutils.voidptr_t)
    found.add_incoming(kept, kept_end)
    found.add_incoming(info, info_end)
    cgutils.guard_memory_error(context, builder, found, msg="Allocation failed (probably too large).")
    return found
