"""Arrays for generated code: as NumPy makes them, with memory that is kept for the next one where they are large.

Called from Python the functions are NumPy's. In compiled code an array of less than `LARGE` bytes is what numba makes
of the same call; a larger one is in a block of `srcgraph.runtime.pool`. To those who have it an array is the same: it
has a ``MemInfo`` of numba's, which counts references; its memory is aligned to 64 bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_new_ref
from numba.core.typing.npydecl import parse_dtype, parse_shape
from numba.extending import lower_builtin, overload, type_callable
from numba.np import arrayobj

from srcgraph.runtime.pool import NEW, PREFIX, SUPPORTED, enter

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


def reshape(x: np.ndarray, shape: Any) -> np.ndarray:
    """The elements of ``x`` in C order, as many as ``shape`` says; shares memory where ``x`` is contiguous."""
    return np.ascontiguousarray(x).reshape(shape)


NEW_ARRAYS = (empty, zeros, ones, full)
"""Those that are given lengths."""


def larger(x: int, y: int) -> int:
    """As ``max``."""
    return max(x, y)


def smaller(x: int, y: int) -> int:
    """As ``min``."""
    return min(x, y)


INSTEAD: dict[Callable[..., Any], Callable[..., Any]] = {max: larger, min: smaller} | {
    getattr(np, function.__name__): function for function in (*NEW_ARRAYS, empty_like)
}
"""What does, in compiled code, as functions of Python's and NumPy's, and takes none of numba's time to compile."""


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


@type_callable(reshape)
def _type_of_reshaped(context: Any) -> Callable[..., Any]:
    def typed(x: Any, shape: Any) -> Any:
        axes = parse_shape(shape)
        return x.copy(ndim=axes, layout="C") if isinstance(x, types.Array) and axes is not None else None

    return typed


@type_callable(larger)
@type_callable(smaller)
def _type_of_extreme(context: Any) -> Callable[..., Any]:
    return lambda x, y: types.int64 if x == y == types.int64 else None


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
    made = allocated(context, builder, signature.return_type, _sizes(context, builder, signature.args[0], args[0]))
    return _returned(context, builder, signature, made)


@lower_builtin(zeros, types.Any)
@lower_builtin(zeros, types.Any, types.Any)
def _zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    sizes = _sizes(context, builder, signature.args[0], args[0])
    return _returned(context, builder, signature, allocated(context, builder, signature.return_type, sizes, True))


@lower_builtin(ones, types.Any)
@lower_builtin(ones, types.Any, types.Any)
def _ones(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    sizes = _sizes(context, builder, signature.args[0], args[0])
    made = allocated(context, builder, signature.return_type, sizes)
    one = context.get_constant(types.int64, 1)
    _fill(context, builder, signature.return_type, made, context.cast(builder, one, types.int64, _dtype(signature)))
    return _returned(context, builder, signature, made)


@lower_builtin(full, types.Any, types.Any)
@lower_builtin(full, types.Any, types.Any, types.Any)
def _full(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    sizes = _sizes(context, builder, signature.args[0], args[0])
    made = allocated(context, builder, signature.return_type, sizes)
    value = context.cast(builder, args[1], signature.args[1], _dtype(signature))
    _fill(context, builder, signature.return_type, made, value)
    return _returned(context, builder, signature, made)


@lower_builtin(empty_like, types.Array)
def _empty_like(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    x = context.make_array(signature.args[0])(context, builder, args[0])
    sizes = cgutils.unpack_tuple(builder, x.shape)
    return _returned(context, builder, signature, allocated(context, builder, signature.return_type, sizes))


@lower_builtin(copy, types.Array)
def _copy(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    made = copied(context, builder, signature.args[0], signature.return_type, args[0])
    return _returned(context, builder, signature, made)


def copied(context: Any, builder: Any, kind: Any, made_kind: Any, value: Any) -> Any:
    x = context.make_array(kind)(context, builder, value)
    sizes = cgutils.unpack_tuple(builder, x.shape)
    made = allocated(context, builder, made_kind, sizes)
    if kind.layout == made_kind.layout:
        cgutils.raw_memcpy(builder, made.data, x.data, x.nitems, x.itemsize, align=1)
        return made
    strides, made_strides = (cgutils.unpack_tuple(builder, a.strides) for a in (x, made))
    with cgutils.loop_nest(builder, sizes, _WORD) as index:
        source = cgutils.get_item_pointer2(context, builder, x.data, sizes, strides, kind.layout, index)
        target = cgutils.get_item_pointer2(context, builder, made.data, sizes, made_strides, made_kind.layout, index)
        builder.store(builder.load(source), target)
    return made


@lower_builtin(reshape, types.Array, types.Any)
def _reshape(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind, made_kind = signature.args[0], signature.return_type
    x = _by_rows(context, builder, kind, args[0])
    sizes = _sizes(context, builder, signature.args[1], args[1])
    fields = {
        "meminfo": x.meminfo,
        "parent": x.parent,
        "nitems": x.nitems,
        "itemsize": x.itemsize,
        "data": x.data,
        "shape": cgutils.pack_array(builder, sizes, ty=_WORD),
        "strides": cgutils.pack_array(builder, _strides(builder, sizes, x.itemsize), ty=_WORD),
    }
    return _returned(context, builder, signature, _array(context, builder, made_kind, fields))


def _by_rows(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A new reference to an array, or to a copy that lies in C order."""
    found = context.make_array(kind.copy(layout="C"))(context, builder)
    x = context.make_array(kind)(context, builder, value)
    if kind.layout == "C":
        found._setvalue(x._getvalue())
        context.nrt.incref(builder, kind, value)
        return found
    sizes, lie = (cgutils.unpack_tuple(builder, a) for a in (x.shape, x.strides))
    so: Any = ir.Constant(_BIT, 1)
    for size, step, needed in zip(sizes, lie, _strides(builder, sizes, x.itemsize), strict=True):
        short = builder.icmp_signed("<", size, ir.Constant(_WORD, 2))
        so = builder.and_(so, builder.or_(short, builder.icmp_signed("==", step, needed)))
    with builder.if_else(so) as (then, otherwise):
        with then:
            found._setvalue(x._getvalue())
            context.nrt.incref(builder, kind, value)
        with otherwise:
            found._setvalue(copied(context, builder, kind, found._fe_type, value).value)
    return found


def _strides(builder: Any, sizes: Sequence[Any], item: Any) -> list[Any]:
    """Those of an array in C order."""
    found = [item]
    for size in reversed(sizes[1:]):
        found.append(builder.mul(found[-1], size))
    return found[: len(sizes)][::-1]


@lower_builtin(larger, types.int64, types.int64)
def _larger(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.select(builder.icmp_signed(">", *args), *args)


@lower_builtin(smaller, types.int64, types.int64)
def _smaller(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.select(builder.icmp_signed("<", *args), *args)


def _returned(context: Any, builder: Any, signature: Any, made: _Array) -> Any:
    return impl_ret_new_ref(context, builder, signature.return_type, made.value)


def _dtype(signature: Any) -> Any:
    return signature.return_type.dtype


def _fill(context: Any, builder: Any, kind: Any, made: Any, value: Any) -> None:
    with cgutils.for_range(builder, made.nitems) as trip:
        arrayobj.store_item(context, builder, kind, value, builder.gep(made.data, [trip.index]))


def is_cleared(method: Any, args: Sequence[Any]) -> bool:
    """Whether a call is ``x.fill(0)`` of an array whose numbers lie without gaps."""
    x = method.this if isinstance(method, types.BoundFunction) and method.typing_key == (types.Array, "fill") else None
    zero = len(args) == 1 and isinstance(args[0], types.IntegerLiteral) and args[0].literal_value == 0
    return zero and isinstance(x, types.Array) and x.layout in "CF" and isinstance(x.dtype, types.Number)


def clear(context: Any, builder: Any, kind: types.Array, value: Any) -> None:
    """``x.fill(0)``, see `is_cleared`."""
    x = context.make_array(kind)(context, builder, value)
    size = builder.mul(x.nitems, x.itemsize)
    cgutils.memset(builder, builder.bitcast(x.data, cgutils.voidptr_t), size, 0)


def _sizes(context: Any, builder: Any, kind: Any, shape: Any) -> list[Any]:
    """The length of each axis."""
    kinds = [kind] if isinstance(kind, types.Integer) else list(kind)
    given = [shape] if isinstance(kind, types.Integer) else cgutils.unpack_tuple(builder, shape)
    known = [k.literal_value if isinstance(k, types.IntegerLiteral) else None for k in kinds]
    return [
        context.cast(builder, n, k, types.intp) if value is None else ir.Constant(_WORD, value)
        for n, k, value in zip(given, kinds, known, strict=True)
    ]


def allocated(context: Any, builder: Any, kind: Any, sizes: Sequence[Any], cleared: bool = False) -> _Array:
    """An array of a type that is contiguous.

    Raises
    ------
    ValueError, MemoryError
        In the compiled code: a length is negative; no memory could be as large; there is none.
    """
    item = context.get_constant(types.intp, arrayobj.get_itemsize(context, kind))
    strides, count, overflow = [item], item, ir.Constant(_BIT, 0)
    for size in reversed(sizes) if kind.layout == "C" else sizes:
        found = builder.smul_with_overflow(count, size)
        count, overflow = builder.extract_value(found, 0), builder.or_(overflow, builder.extract_value(found, 1))
        strides.append(count)
    negative: Any = ir.Constant(_BIT, 0)
    if sizes:
        negative = builder.icmp_signed("<", functools.reduce(builder.or_, sizes), ir.Constant(_WORD, 0))
    alignment = context.get_preferred_array_alignment(kind.dtype)
    bytes_ = builder.select(builder.or_(negative, overflow), ir.Constant(_WORD, -1), count)
    info = builder.call(_memory(context, builder.module, alignment, cleared), [bytes_])
    with cgutils.if_unlikely(builder, cgutils.is_null(builder, info)):
        _refuse(context, builder, negative, overflow)
    data = builder.bitcast(context.nrt.meminfo_data(builder, info), context.get_data_type(kind.dtype).as_pointer())
    steps = strides[: kind.ndim]
    fields = {
        "meminfo": info,
        "nitems": functools.reduce(builder.mul, sizes, ir.Constant(_WORD, 1)),
        "itemsize": item,
        "data": data,
        "shape": cgutils.pack_array(builder, list(sizes), ty=_WORD),
        "strides": cgutils.pack_array(builder, steps[::-1] if kind.layout == "C" else steps, ty=_WORD),
    }
    return _array(context, builder, kind, fields)


class _Array(NamedTuple):
    """A contiguous array, and what it consists of."""

    value: Any
    data: Any
    nitems: Any
    strides: Any


def _array(context: Any, builder: Any, kind: Any, fields: dict[str, Any]) -> _Array:
    model = context.data_model_manager[kind]
    value = context.get_constant_null(kind)
    for name, part in fields.items():
        value = builder.insert_value(value, part, model.get_field_position(name))
    return _Array(value, *(fields[name] for name in _Array._fields[1:]))


def _refuse(context: Any, builder: Any, negative: Any, overflow: Any) -> None:
    """Go to where a function raises what is wrong with the lengths of any array that it makes."""
    function = builder.function
    if getattr(function, "srcgraph_refusal", None) is None:
        block = function.append_basic_block("refusal")
        with builder.goto_block(block):
            kind = builder.phi(_WORD)
            switch = builder.switch(kind, builder.append_basic_block("refusal.memory"))
            builder.position_at_end(switch.default)
            context.call_conv.return_user_exc(builder, MemoryError, (_NO_MEMORY,))
            for k, words in enumerate((_NEGATIVE, _TOO_BIG)):
                raising = builder.append_basic_block("refusal.lengths")
                switch.add_case(k, raising)
                builder.position_at_end(raising)
                context.call_conv.return_user_exc(builder, ValueError, (words,))
        function.srcgraph_refusal = block, kind
    block, kind = function.srcgraph_refusal
    which = builder.select(overflow, ir.Constant(_WORD, 1), ir.Constant(_WORD, 2))
    kind.add_incoming(builder.select(negative, ir.Constant(_WORD, 0), which), builder.block)
    builder.branch(block)


_NEGATIVE = "negative dimensions not allowed"
_NO_MEMORY = "Allocation failed (probably too large)."
_TOO_BIG = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
"""NumPy's words."""


def _memory(context: Any, module: Any, alignment: int, cleared: bool) -> Any:
    """The function of a module that gives a ``MemInfo`` of some bytes, in a block if they are many, or null."""
    kind = ir.FunctionType(cgutils.voidptr_t, [_WORD])
    made = cgutils.get_or_insert_function(module, kind, f"{PREFIX}of_{alignment}{'_cleared' if cleared else ''}")
    if not made.is_declaration:
        return made
    made.linkage = "linkonce_odr"
    made.attributes.add("noinline")
    made.return_value.add_attribute("noalias")
    (size,) = made.args
    builder = ir.IRBuilder(made.append_basic_block())
    with builder.if_then(builder.icmp_signed("<", size, ir.Constant(_WORD, 0)), likely=False):
        builder.ret(ir.Constant(cgutils.voidptr_t, None))
    if SUPPORTED:
        enter()
        with builder.if_then(builder.icmp_unsigned(">=", size, ir.Constant(_WORD, LARGE)), likely=False):
            new = cgutils.get_or_insert_function(module, ir.FunctionType(cgutils.voidptr_t, [_WORD, _WORD]), NEW)
            builder.ret(builder.call(new, [size, ir.Constant(_WORD, int(cleared))]))
    info = context.nrt.meminfo_alloc_aligned_unchecked(builder, size, alignment)
    if cleared:
        with builder.if_then(cgutils.is_not_null(builder, info)):
            cgutils.memset(builder, context.nrt.meminfo_data(builder, info), size, 0)
    builder.ret(info)
    return made
