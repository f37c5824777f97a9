"""Loops whose trips are shared out among threads, for generated code.

``in_parallel(f, range(n), work, x, y)`` is ``f(rows, x, y)`` for parts of the range, on the threads of
`srcgraph.runtime.workers`; ``work`` says about how many operations a trip is, and small loops are one part, which the
caller runs. ``in_parts`` also gives ``f`` the number of the part, for what each sums up; `parts_of` says how many there
are. That follows from sizes alone, so results do not depend on the number of threads.

If parts raise, the exception is that of the first in order, as in the plain loop; parts after it may have run.

In compiled code the arguments are put into a record on the caller's stack, which a function of this module's hands on
to ``f``. An array that may overlap itself, by its strides, is stored into in order.

References
----------
numba, ``core/callconv.py``. R. D. Blumofe, C. E. Leiserson, "Scheduling multithreaded computations by work stealing",
J. ACM 46 (1999), for why parts are more than threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import Status, excinfo_ptr_t
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, register_model
from numba.np import arrayobj

from srcgraph.runtime import workers
from srcgraph.runtime.blocks import LENGTH, Block, Blocks, Rows
from srcgraph.runtime.workers_code import MOST_PARTS

_WORD, _BIT, _CODE, _NUMBER = ir.IntType(64), ir.IntType(1), ir.IntType(32), ir.DoubleType()


# -- as they are called from Python ------------------------------------------------------------------------


def parts_of(trips: Any, work: float, size: int = 0, spread: int = 0) -> int:
    """How many parts a loop over ``trips``, a range or blocks, is divided into.

    ``size`` is how many elements each part sums up apart, ``spread`` the least length of a part.
    """
    return workers.parts_of(len(trips), work, size, spread)


def in_parallel(function: Callable[..., None], trips: Any, work: float, *args: Any) -> None:
    """Call ``function(rows, *args)`` for the parts of a range, or of blocks."""
    function(trips, *args)


def in_parts(function: Callable[..., None], trips: Any, parts: int, turns: int, *args: Any) -> None:
    """Call ``function(rows, part, *args)`` for so many parts; in two turns, those with even numbers first."""
    for turn in range(turns):
        for part in range(turn, parts, turns):
            own = [a.of(part) if isinstance(a, Apart) else a for a in args]
            function(_rows(trips, part, parts), part, *own)


class Apart(NamedTuple):
    """An array that parts add to: the first one to itself, each other one to an array of its own."""

    array: np.ndarray
    others: np.ndarray

    def of(self, part: int) -> np.ndarray:
        return self.others[part - 1] if part else self.array


def apart(array: np.ndarray, others: np.ndarray) -> Apart:
    """For `in_parts`: an array, and those of the parts after the first, one behind the other."""
    return Apart(array, others)


def _rows(trips: Any, part: int, parts: int) -> Any:
    each, more = divmod(len(trips), parts)
    first = part * each + min(part, more)
    return trips[first : first + each + (part < more)]


# -- types -------------------------------------------------------------------------------------------------


def _rows_of(trips: Any) -> Any:
    if isinstance(trips, Blocks):
        return trips
    return Rows() if isinstance(trips, types.RangeType | Block) else None


def _plain(kinds: Sequence[Any]) -> tuple[Any, ...]:
    """What the function is given for what the call is given."""
    return tuple(k.own if isinstance(k, ApartType) else types.unliteral(k) for k in kinds)


class ApartType(types.Type):
    """That of what `apart` makes."""

    def __init__(self, array: Any, others: Any):
        self.array, self.others = array, others
        self.own = array.copy(layout="C" if array.layout == "C" else "A")
        super().__init__(f"srcgraph.apart({array}, {others})")


@register_model(ApartType)
class _ApartModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, [("array", kind.array), ("others", kind.others)])


@infer_global(apart)  # type: ignore[reportOptionalCall]
class _TypeOfApart(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(ApartType(*args), *args)


@lower_builtin(apart, types.Array, types.Array)
def _apart(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    made.array, made.others = args
    for kind, value in zip(sig.args, args, strict=True):
        context.nrt.incref(builder, kind, value)
    return made._getvalue()


@infer_global(parts_of)  # type: ignore[reportOptionalCall]
class _TypeOfPartsOf(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if not 2 <= len(args) <= 4 or _rows_of(args[0]) is None:
            return None
        return signature(types.int64, args[0], types.float64, *[types.int64] * (len(args) - 2))


@infer_global(in_parallel)  # type: ignore[reportOptionalCall]
class _TypeOfInParallel(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        function, trips, _, *rest = args
        function.get_call_type(self.context, (_rows_of(trips), *_plain(rest)), {})
        return signature(types.none, function, trips, types.float64, *_plain(rest))


@infer_global(in_parts)  # type: ignore[reportOptionalCall]
class _TypeOfInParts(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        function, trips, _, _, *rest = args
        function.get_call_type(self.context, (_rows_of(trips), types.int64, *_plain(rest)), {})
        given = [k if isinstance(k, ApartType) else types.unliteral(k) for k in rest]
        return signature(types.none, function, trips, types.int64, types.int64, *given)


# -- ranges ------------------------------------------------------------------------------------------------


def _bounds(context: Any, builder: Any, kind: Any, trips: Any) -> tuple[Any, Any]:
    """The first trip, and the one after the last; of blocks, the first is number 0."""
    given = cgutils.create_struct_proxy(kind)(context, builder, trips)
    if isinstance(kind, Blocks):
        more = builder.add(builder.sub(given.stop, given.first), ir.Constant(_WORD, LENGTH - 1))
        return ir.Constant(_WORD, 0), builder.sdiv(more, ir.Constant(_WORD, LENGTH))
    if isinstance(kind, Block):
        return given.first, given.stop
    return tuple(context.cast(builder, n, kind.dtype, types.int64) for n in (given.start, given.stop))  # type: ignore[return-value]


def _between(context: Any, builder: Any, kind: Any, trips: Any, first: Any, stop: Any) -> Any:
    """The trips from one to before another, as a value of `_rows_of`."""
    made = cgutils.create_struct_proxy(_rows_of(kind))(context, builder)
    if isinstance(kind, Blocks):
        given = cgutils.create_struct_proxy(kind)(context, builder, trips)
        length = ir.Constant(_WORD, LENGTH)
        first, stop = (builder.add(given.first, builder.mul(k, length)) for k in (first, stop))
        stop = _least(builder, stop, given.stop)
    made.first, made.stop = first, stop
    return made._getvalue()


def _least(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.icmp_signed("<", x, y), x, y)


def _length(builder: Any, first: Any, stop: Any) -> Any:
    length, none = builder.sub(stop, first), ir.Constant(_WORD, 0)
    return builder.select(builder.icmp_signed(">", length, none), length, none)


# -- calls -------------------------------------------------------------------------------------------------


@lower_builtin(parts_of, types.Any, types.Float)
@lower_builtin(parts_of, types.Any, types.Float, types.Integer)
@lower_builtin(parts_of, types.Any, types.Float, types.Integer, types.Integer)
def _parts_of(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    trips, work, *rest = args
    rest += [ir.Constant(_WORD, 0)] * (2 - len(rest))
    length = _length(builder, *_bounds(context, builder, sig.args[0], trips))
    return _number_of_parts(builder, length, work, *rest)


def _number_of_parts(builder: Any, length: Any, work: Any, size: Any, spread: Any) -> Any:
    workers.enter()
    kind = ir.FunctionType(_WORD, [_WORD, _NUMBER, _WORD, _WORD])
    found = cgutils.get_or_insert_function(builder.module, kind, workers.PARTS)
    return builder.call(found, [length, work, size, spread])


@lower_builtin(in_parallel, types.VarArg(types.Any))
def _in_parallel(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, trips, work = sig.args[1], args[1], args[2]
    region = _Region(context, builder, sig.args[0], kind, trips, sig.args[3:], args[3:], numbered=False)
    none = ir.Constant(_WORD, 0)
    parts = _number_of_parts(builder, region.length, work, none, none)
    with builder.if_else(builder.icmp_signed("<", parts, ir.Constant(_WORD, 2))) as (whole, divided):
        with whole:
            rows = _between(context, builder, kind, trips, region.first, region.stop)
            implementation = context.get_function(sig.args[0], region.signature)
            implementation(builder, [rows, *args[3:]])
        with divided:
            region.run(parts, None)
    return context.get_dummy_value()


@lower_builtin(in_parts, types.VarArg(types.Any))
def _in_parts(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    region = _Region(context, builder, sig.args[0], sig.args[1], args[1], sig.args[4:], args[4:], numbered=True)
    region.run(args[2], args[3])
    return context.get_dummy_value()


class _Region:
    """A call of a function for the parts of a range.

    Parameters
    ----------
    context, builder
        numba's and llvmlite's.
    function : numba.types.Dispatcher
    kind, trips
        The type and value of the range.
    types, args : sequence
        Those of the function's other arguments.
    numbered : bool
        Whether the function is told the number of the part.
    """

    def __init__(
        self, context: Any, builder: Any, function: Any, kind: Any, trips: Any, types: Any, args: Any, numbered: bool
    ):
        self.context, self.builder = context, builder
        self.kind, self.trips = kind, trips
        self.types, self.args, self.numbered = list(types), list(args), numbered
        self.first, self.stop = _bounds(context, builder, kind, trips)
        self.length = _length(builder, self.first, self.stop)
        self.signature = function.get_call_type(context.typing_context, tuple(self._kinds()), {})
        self.compiled = function.dispatcher.overloads[tuple(self.signature.args)]
        context.add_linking_libs((self.compiled.library,))

    def _kinds(self) -> Iterator[Any]:
        yield _rows_of(self.kind)
        yield from [types.int64] * self.numbered
        yield from _plain(self.types)

    def run(self, parts: Any, turns: Any) -> None:
        """Call it for all parts, in turns if that is asked; the first exception is raised here."""
        builder = self.builder
        record = self._record(parts)
        part = self._part(record.type.pointee).bitcast(cgutils.voidptr_t)
        apart = self._apart()
        here = builder.bitcast(record, cgutils.voidptr_t)
        zero, one = ir.Constant(_WORD, 0), ir.Constant(_WORD, 1)
        if turns is None:
            self._call(apart, part, here, parts, zero, one)
        else:
            two = ir.Constant(_WORD, 2)
            once = builder.or_(builder.icmp_signed("<", turns, two), builder.not_(apart))
            with builder.if_else(once) as (at_once, by_turns):
                with at_once:
                    self._call(apart, part, here, parts, zero, one)
                with by_turns:
                    even = builder.sdiv(builder.add(parts, one), two)
                    self._call(apart, part, here, even, zero, two)
                    self._call(apart, part, here, builder.sdiv(parts, two), one, two)
        self._raise(record, parts)

    def _call(self, apart: Any, part: Any, record: Any, count: Any, first: Any, stride: Any) -> None:
        """By the threads; by this one in order where an array may overlap itself, or there are no threads."""
        builder = self.builder
        shared = builder.and_(apart, ir.Constant(_BIT, int(workers.SUPPORTED)))
        with builder.if_else(shared) as (by_threads, in_order):
            with by_threads:
                workers.enter()
                kinds = [cgutils.voidptr_t, cgutils.voidptr_t, _WORD, _WORD, _WORD]
                run = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), kinds), workers.RUN)
                builder.call(run, [part, record, count, first, stride])
            with in_order:
                function = builder.bitcast(part, _PART.as_pointer())
                with cgutils.for_range(builder, count) as trip:
                    builder.call(function, [record, builder.add(first, builder.mul(trip.index, stride))])

    # -- the record ----------------------------------------------------------------------------------

    def _record(self, parts: Any) -> Any:
        """The arguments, the number of parts, the first part that raised, and what each raised."""
        builder = self.builder
        given = [self.context.get_value_type(t) for t in self.types]
        trips = self.context.get_value_type(self.kind)
        kind = ir.LiteralStructType(
            [_WORD, _WORD, trips, ir.ArrayType(_CODE, MOST_PARTS), ir.ArrayType(excinfo_ptr_t, MOST_PARTS), *given]
        )
        record = cgutils.alloca_once(builder, kind)
        for k, value in enumerate((parts, parts, self.trips)):
            builder.store(value, cgutils.gep_inbounds(builder, record, 0, k))
        for k, value in enumerate(self.args, _GIVEN):
            builder.store(value, cgutils.gep_inbounds(builder, record, 0, k))
        return record

    def _part(self, kind: Any) -> Any:
        """The function of a record and the number of a part that calls the function."""
        context, module = self.context, self.builder.module
        made = ir.Function(module, _PART, module.get_unique_name("part"))
        made.linkage = "internal"
        builder = ir.IRBuilder(made.append_basic_block())
        record, part = builder.bitcast(made.args[0], kind.as_pointer()), made.args[1]
        failed_at = cgutils.gep_inbounds(builder, record, 0, 1)
        failed = builder.load_atomic(failed_at, "monotonic", 8)
        with builder.if_then(builder.icmp_signed("<", failed, part), likely=False):
            builder.ret_void()
        parts, trips = (builder.load(cgutils.gep_inbounds(builder, record, 0, k)) for k in (0, 2))
        first, stop = self._share(builder, trips, part, parts)
        rows = _between(context, builder, self.kind, trips, first, stop)
        given = [builder.load(cgutils.gep_inbounds(builder, record, 0, k + _GIVEN)) for k in range(len(self.types))]
        given = [self._own(builder, t, v, part) for t, v in zip(self.types, given, strict=True)]
        args = [rows, *[part] * self.numbered, *given]
        function = context.declare_function(module, self.compiled.fndesc)
        found = self.signature
        status, _ = context.call_conv.call_function(builder, function, found.return_type, found.args, args)
        with builder.if_then(status.is_error, likely=False):
            builder.store(status.code, cgutils.gep_inbounds(builder, record, 0, 3, part))
            builder.store(status.excinfoptr, cgutils.gep_inbounds(builder, record, 0, 4, part))
            builder.atomic_rmw("min", failed_at, part, "seq_cst")
        builder.ret_void()
        return made

    def _own(self, builder: Any, kind: Any, value: Any, part: Any) -> Any:
        """What a part is given: of arrays that are added to, its own."""
        if not isinstance(kind, ApartType):
            return value
        pair = cgutils.create_struct_proxy(kind)(self.context, builder, value)
        array = self.context.make_array(kind.array)(self.context, builder, pair.array)
        others = self.context.make_array(kind.others)(self.context, builder, pair.others)
        made = self.context.make_array(kind.own)(self.context, builder)
        lengths, strides = (cgutils.unpack_tuple(builder, t) for t in (others.shape, others.strides))
        offset = builder.mul(builder.sub(part, ir.Constant(_WORD, 1)), strides[0])
        arrayobj.populate_array(
            made,
            data=cgutils.pointer_add(builder, others.data, offset, others.data.type),
            shape=cgutils.pack_array(builder, lengths[1:], ty=_WORD),
            strides=cgutils.pack_array(builder, strides[1:], ty=_WORD),
            itemsize=others.itemsize,
            meminfo=others.meminfo,
        )
        first = builder.icmp_signed("==", part, ir.Constant(_WORD, 0))
        return builder.select(first, array._getvalue(), made._getvalue())

    def _share(self, builder: Any, trips: Any, part: Any, parts: Any) -> tuple[Any, Any]:
        """The trips of a part: the first ones have one more, where they cannot be divided evenly."""
        start, end = _bounds(self.context, builder, self.kind, trips)
        length = _length(builder, start, end)
        each, more = builder.sdiv(length, parts), builder.srem(length, parts)
        places = [part, builder.add(part, ir.Constant(_WORD, 1))]
        first, stop = (builder.add(start, builder.add(builder.mul(k, each), _least(builder, k, more))) for k in places)
        return first, stop

    def _raise(self, record: Any, parts: Any) -> None:
        builder = self.builder
        failed = builder.load(cgutils.gep_inbounds(builder, record, 0, 1))
        with builder.if_then(builder.icmp_signed("<", failed, parts), likely=False):
            code = builder.load(cgutils.gep_inbounds(builder, record, 0, 3, failed))
            info = builder.load(cgutils.gep_inbounds(builder, record, 0, 4, failed))
            sure, not_so = ir.Constant(_BIT, 1), ir.Constant(_BIT, 0)
            self.context.call_conv.return_status_propagate(
                builder, Status(code, not_so, sure, not_so, not_so, not_so, sure, info)
            )

    # -- arrays that overlap themselves ---------------------------------------------------------------

    def _apart(self) -> Any:
        """Whether no element of an array is in the memory of another one of it."""
        found: Any = ir.Constant(_BIT, 1)
        for kind, value in zip(self.types, self.args, strict=True):
            if isinstance(kind, types.Array) and kind.layout == "A" and kind.mutable:
                found = self.builder.and_(found, self._array_apart(kind, value))
        return found

    def _array_apart(self, kind: Any, value: Any) -> Any:
        """Each stride is at least as long as the axes of smaller strides together."""
        builder, zero, one = self.builder, ir.Constant(_WORD, 0), ir.Constant(_WORD, 1)
        array = self.context.make_array(kind)(self.context, builder, value)
        lengths = cgutils.unpack_tuple(builder, array.shape)
        strides = [
            builder.select(builder.icmp_signed("<", s, zero), builder.neg(s), s)
            for s in cgutils.unpack_tuple(builder, array.strides)
        ]
        found: Any = ir.Constant(_BIT, 1)
        for k, stride in enumerate(strides):
            reach = array.itemsize
            for j, other in enumerate(strides):
                if j != k:
                    inner = builder.icmp_signed("<" if j > k else "<=", other, stride)
                    steps = _length(builder, one, lengths[j])
                    reach = builder.add(reach, builder.select(inner, builder.mul(steps, other), zero))
            short = builder.icmp_signed("<", lengths[k], ir.Constant(_WORD, 2))
            found = builder.and_(found, builder.or_(short, builder.icmp_signed(">=", stride, reach)))
        return found


_PART = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, _WORD])
_GIVEN = 5
"""Where the arguments are in a record."""


__all__ = ["Rows", "apart", "in_parallel", "in_parts", "parts_of"]
