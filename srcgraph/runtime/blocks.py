"""Sums of many elements, several at a time, at least as accurate as NumPy's.

Elements are added up in blocks, within which LLVM may take them in any order, and so as many at a time as the CPU can.
What rounding takes from the sum of the blocks is added up beside it. The error is that of at most 256 additions, in a
vectorised loop of about 8, however many elements there are.

References
----------
T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26 (2005), algorithm 4.1. D. E.
Knuth, "The Art of Computer Programming", volume 2, section 4.2.2, theorem B.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import RefType, iternext_impl
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, register_model, type_callable

from srcgraph.runtime.compiler import EXACT

LENGTH = 256
"""How many elements a block has."""


def blocks(first: int, stop: int | None = None) -> list[range]:
    """The numbers from ``first`` to below ``stop``, or those below ``first``, in blocks."""
    first, stop = (0, first) if stop is None else (first, stop)
    return [range(k, min(k + LENGTH, stop)) for k in range(first, stop, LENGTH)]


def plus(part: Any, x: Any) -> Any:
    """The sum of two numbers; those of a block may be taken in any order."""
    return part + x


def two_sum(total: Any, part: Any, lost: Any) -> tuple[Any, Any]:
    """The sum of two numbers, and what rounding has taken from this and earlier sums."""
    if isinstance(total, complex):
        real, imag = two_sum(total.real, part.real, lost.real), two_sum(total.imag, part.imag, lost.imag)
        return complex(real[0], imag[0]), complex(real[1], imag[1])
    rounded = total + part
    gained = rounded - total
    error = (total - (rounded - gained)) + (part - gained)
    return rounded, lost + error if np.isfinite(error) else lost


def maximum(largest: Any, x: Any) -> Any:
    """The larger of two numbers, NaN if either is."""
    return np.maximum(largest, x)


def minimum(smallest: Any, x: Any) -> Any:
    """The smaller of two numbers, NaN if either is."""
    return np.minimum(smallest, x)


def running_maximum(largest: Any, x: Any) -> Any:
    """The larger of what was the largest before and ``x``, NaN if either is: for loops that need it in each step."""
    return np.maximum(largest, x)


def running_minimum(smallest: Any, x: Any) -> Any:
    """The smaller of what was the smallest before and ``x``, NaN if either is: for loops that need it in each step."""
    return np.minimum(smallest, x)


# -- sums -------------------------------------------------------------------------------------------

_NUMBERS = {True: types.complex128, False: types.float64}


@type_callable(plus)
def _type_of_plus(context: Any) -> Callable[..., Any]:
    def typed(part: Any, x: Any) -> Any:
        kind = _NUMBERS[isinstance(part, types.Complex)]
        return signature(kind, kind, kind)

    return typed


@type_callable(maximum)
@type_callable(minimum)
@type_callable(running_maximum)
@type_callable(running_minimum)
def _type_of_extreme(context: Any) -> Callable[..., Any]:
    return lambda x, y: signature(x, x, x)


def _extreme(name: str) -> Callable[..., Any]:
    """numba's own branches, which keeps a reduction from being vectorised."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = args[0].type
        function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind, kind]))
        return builder.call(function, args)

    return code


def _running(beyond: str) -> Callable[..., Any]:
    """A step waits for one comparison with the step before; a branch that is not taken asks whether ``x`` is NaN."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        before, x = args
        out = cgutils.alloca_once_value(builder, before)
        with builder.if_else(builder.fcmp_ordered(beyond, x, before)) as (further, other):
            with further:
                builder.store(x, out)
            with other, builder.if_then(builder.fcmp_unordered("uno", x, x), likely=False):
                builder.store(x, out)
        return builder.load(out)

    return code


for kind in (types.float32, types.float64):
    lower_builtin(maximum, kind, kind)(_extreme("maximum"))
    lower_builtin(minimum, kind, kind)(_extreme("minimum"))
    lower_builtin(running_maximum, kind, kind)(_running(">"))
    lower_builtin(running_minimum, kind, kind)(_running("<"))


@type_callable(two_sum)
def _type_of_two_sum(context: Any) -> Callable[..., Any]:
    def typed(total: Any, part: Any, lost: Any) -> Any:
        kind = _NUMBERS[isinstance(total, types.Complex)]
        return signature(types.UniTuple(kind, 2), kind, kind, kind)

    return typed


@lower_builtin(plus, types.float64, types.float64)
def _plus(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fadd(*args, flags=("reassoc",))


@lower_builtin(plus, types.complex128, types.complex128)
def _plus_complex(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    x, y = (context.make_complex(builder, types.complex128, value=v) for v in args)
    x.real, x.imag = builder.fadd(x.real, y.real, ("reassoc",)), builder.fadd(x.imag, y.imag, ("reassoc",))
    return x._getvalue()


def _two_sum(builder: Any, total: Any, part: Any, lost: Any) -> tuple[Any, Any]:
    def plus(x: Any, y: Any) -> Any:
        return builder.fadd(x, y, EXACT)

    def minus(x: Any, y: Any) -> Any:
        return builder.fsub(x, y, EXACT)

    rounded = plus(total, part)
    gained = minus(rounded, total)
    error = plus(minus(total, minus(rounded, gained)), minus(part, gained))
    zero = ir.Constant(error.type, 0.0)
    finite = builder.fcmp_ordered("==", minus(error, error), zero)
    return rounded, plus(lost, builder.select(finite, error, zero))


@lower_builtin(two_sum, types.float64, types.float64, types.float64)
def _two_sum_real(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.make_tuple(builder, sig.return_type, _two_sum(builder, *args))


@lower_builtin(two_sum, types.complex128, types.complex128, types.complex128)
def _two_sum_complex(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    given = [context.make_complex(builder, types.complex128, value=v) for v in args]
    real = _two_sum(builder, *(v.real for v in given))
    imag = _two_sum(builder, *(v.imag for v in given))
    out = []
    for re, im in zip(real, imag, strict=True):
        number = context.make_complex(builder, types.complex128)
        number.real, number.imag = re, im
        out.append(number._getvalue())
    return context.make_tuple(builder, sig.return_type, out)


# -- blocks -----------------------------------------------------------------------------------------
# numba's own ranges that do not begin at 0 do not tell LLVM that their numbers are not negative, and it does not
# vectorise what is indexed by them.


class BlockNumbers(types.SimpleIteratorType):
    """Runs through a block."""

    def __init__(self) -> None:
        super().__init__("srcgraph.numbers_of_block", types.int64)


class Block(types.SimpleIterableType):
    def __init__(self) -> None:
        super().__init__("srcgraph.block", BlockNumbers())


class _EachBlock(types.SimpleIteratorType):
    """Runs through the blocks."""

    def __init__(self) -> None:
        super().__init__("srcgraph.each_block", Block())


class Blocks(types.SimpleIterableType):
    def __init__(self) -> None:
        super().__init__("srcgraph.blocks", _EachBlock())


class Rows(types.SimpleIterableType):
    """A part of a range."""

    def __init__(self) -> None:
        super().__init__("srcgraph.rows", BlockNumbers())


@register_model(Block)
@register_model(Blocks)
@register_model(Rows)
class _RangeModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, [("first", types.int64), ("stop", types.int64)])


@register_model(BlockNumbers)
@register_model(_EachBlock)
class _RunModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, [("next", types.EphemeralPointer(types.int64)), ("stop", types.int64)])


@type_callable(blocks)
def _type_of_blocks(context: Any) -> Callable[..., Any]:
    def typed(first: Any, stop: Any = None) -> Any:
        return signature(Blocks(), *[types.int64] * (1 if stop is None else 2))

    return typed


def _range(context: Any, builder: Any, kind: Any, first: Any, stop: Any) -> Any:
    made = cgutils.create_struct_proxy(kind)(context, builder)
    made.first, made.stop = first, stop
    return made._getvalue()


@lower_builtin(blocks, types.int64)
def _blocks(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _range(context, builder, sig.return_type, ir.Constant(args[0].type, 0), args[0])


@lower_builtin(blocks, types.int64, types.int64)
def _from_first(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _range(context, builder, sig.return_type, *args)


@lower_builtin("getiter", Block)
@lower_builtin("getiter", Blocks)
@lower_builtin("getiter", Rows)
def _started(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    given = cgutils.create_struct_proxy(sig.args[0])(context, builder, args[0])
    run = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    run.next, run.stop = cgutils.alloca_once_value(builder, given.first), given.stop
    return run._getvalue()


def _next(step: int, value: Callable[..., Any]) -> Callable[..., Any]:
    def code(context: Any, builder: Any, sig: Any, args: Any, result: Any) -> None:
        run = cgutils.create_struct_proxy(sig.args[0])(context, builder, args[0])
        now = builder.load(run.next)
        going = builder.icmp_signed("<", now, run.stop)
        result.set_valid(going)
        with builder.if_then(going):
            after = builder.add(now, ir.Constant(now.type, step), flags=("nsw",))
            builder.store(after, run.next)
            result.yield_(value(context, builder, now, after, run.stop))

    return iternext_impl(RefType.UNTRACKED)(code)


def _block(context: Any, builder: Any, now: Any, after: Any, stop: Any) -> Any:
    last = builder.select(builder.icmp_signed("<", after, stop), after, stop)
    return _range(context, builder, Block(), now, last)


lower_builtin("iternext", BlockNumbers)(_next(1, lambda context, builder, now, after, stop: now))
lower_builtin("iternext", _EachBlock)(_next(LENGTH, _block))
