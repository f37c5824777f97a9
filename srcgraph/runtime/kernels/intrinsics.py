"""Kernels called from compiled code, by their symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from srcgraph.runtime.kernels.glue import BYTES, SIGNATURE, WORD


def type_of(kernel: Any) -> Any:
    """What numba takes a kernel for: a function of tuples of arrays, or numbers, and of integers."""

    @intrinsic
    def call(typingctx: Any, outs: Any, ins: Any, dims: Any, strides: Any, flags: Any) -> Any:
        first = next(t for t in (*ins, *outs) if isinstance(t, types.Array))
        bound = kernel.for_dtype(as_dtype(first.dtype))

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            given = list(zip(signature.args, values, strict=True))
            pointers = [_addresses(context, builder, t, v, first.dtype) for t, v in given[:2]]
            words = [_words(context, builder, t, v) for t, v in given[2:]]
            return called(builder, bound, *pointers, *words)

        return types.int64(outs, ins, dims, strides, flags), codegen

    context: Any = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(call)


def called(
    builder: Any,
    bound: Any,
    outs: Sequence[Any],
    ins: Sequence[Any],
    dims: Sequence[Any],
    strides: Sequence[Any],
    flags: Sequence[Any] = (),
) -> Any:
    """What a kernel for one dtype returns, called with pointers and integers of 64 bits."""
    bound.enter()
    function = cgutils.get_or_insert_function(builder.module, SIGNATURE, bound.symbol)
    pointers = [_in_memory(builder, [builder.bitcast(p, BYTES) for p in given], BYTES) for given in (outs, ins)]
    return builder.call(function, [*pointers, *(_in_memory(builder, words, WORD) for words in (dims, strides, flags))])


def _addresses(context: Any, builder: Any, kinds: Any, tuple_: Any, dtype: Any) -> list[Any]:
    """The addresses of arrays, and of copies of numbers."""
    found = []
    for k, kind in enumerate(kinds):
        value = builder.extract_value(tuple_, k)
        if isinstance(kind, types.Array):
            found.append(context.make_array(kind)(context, builder, value).data)
        else:
            found.append(cgutils.alloca_once_value(builder, context.cast(builder, value, kind, dtype)))
    return found


def _words(context: Any, builder: Any, kinds: Any, tuple_: Any) -> list[Any]:
    return [context.cast(builder, builder.extract_value(tuple_, k), kind, types.int64) for k, kind in enumerate(kinds)]


def _in_memory(builder: Any, values: Sequence[Any], kind: Any) -> Any:
    """Values in an array."""
    if not values:
        return ir.Constant(kind.as_pointer(), None)
    packed = cgutils.alloca_once_value(builder, cgutils.pack_array(builder, list(values)))
    return builder.bitcast(packed, kind.as_pointer())
