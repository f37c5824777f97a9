"""Kernels called from compiled code, by their symbols."""

from __future__ import annotations

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
            bound.enter()
            called = cgutils.get_or_insert_function(builder.module, SIGNATURE, bound.symbol)
            given = list(zip(signature.args, values, strict=True))
            pointers = [_addresses(context, builder, t, v, first.dtype) for t, v in given[:2]]
            words = [_words(context, builder, t, v) for t, v in given[2:]]
            return builder.call(called, [*pointers, *words])

        return types.int64(outs, ins, dims, strides, flags), codegen

    context: Any = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(call)


def _addresses(context: Any, builder: Any, kinds: Any, tuple_: Any, dtype: Any) -> Any:
    """The addresses of arrays, and of copies of numbers, in an array."""
    found = []
    for k, kind in enumerate(kinds):
        value = builder.extract_value(tuple_, k)
        if isinstance(kind, types.Array):
            pointer = context.make_array(kind)(context, builder, value).data
        else:
            pointer = cgutils.alloca_once_value(builder, context.cast(builder, value, kind, dtype))
        found.append(builder.bitcast(pointer, BYTES))
    return _in_memory(builder, found, BYTES)


def _words(context: Any, builder: Any, kinds: Any, tuple_: Any) -> Any:
    """Integers in an array."""
    found = [context.cast(builder, builder.extract_value(tuple_, k), kind, types.int64) for k, kind in enumerate(kinds)]
    return _in_memory(builder, found, WORD)


def _in_memory(builder: Any, values: list[Any], kind: Any) -> Any:
    if not values:
        return ir.Constant(kind.as_pointer(), None)
    return builder.bitcast(cgutils.alloca_once_value(builder, cgutils.pack_array(builder, values)), kind.as_pointer())
