"""Numbers pushed on lists and popped off them, which is what tapes of loops and of recursion do.

numba lets a list grow by a quarter, clears what is not used yet and what is popped, and gives memory back at once. Here
it grows to twice its length, nothing is cleared, and memory is given back from a long list only: calls that push and
pop by turns keep theirs.
"""

from __future__ import annotations

from typing import Any

from llvmlite.ir import Constant
from numba.core import cgutils, types
from numba.cpython.listobj import ListInstance, get_itemsize

FIRST = 256
"""For how many numbers there is place at first."""
LONG = 2**16
"""A list with place for more numbers gives back what it does not need."""


def is_of_numbers(kind: Any) -> bool:
    """Whether a method is one of a list of numbers, which has no counterpart in Python."""
    of = kind.this if isinstance(kind, types.BoundFunction) else None
    return isinstance(of, types.List) and isinstance(of.dtype, types.Number | types.Boolean) and not of.reflected


def push(context: Any, builder: Any, kind: types.List, at: Any, item: Any) -> None:
    """``at.append(item)``."""
    made = ListInstance(context, builder, kind, at)
    size = made.size
    with cgutils.if_unlikely(builder, builder.icmp_unsigned("==", size, made._payload.allocated)):
        _resize(context, builder, kind, made, builder.add(builder.shl(size, size.type(1)), size.type(FIRST)))
    made.inititem(size, item, incref=False)
    made.size = builder.add(size, size.type(1))


def insert(context: Any, builder: Any, kind: types.List, at: Any, place: Any, item: Any) -> None:
    """``at.insert(place, item)``, for a place that is not outside."""
    made = ListInstance(context, builder, kind, at)
    size = made.size
    with cgutils.if_unlikely(builder, builder.icmp_unsigned("==", size, made._payload.allocated)):
        _resize(context, builder, kind, made, builder.add(builder.shl(size, size.type(1)), size.type(FIRST)))
    made.move(builder.add(place, place.type(1)), place, builder.sub(size, place))
    made.inititem(place, item, incref=False)
    made.size = builder.add(size, size.type(1))


def pop(context: Any, builder: Any, kind: types.List, at: Any, place: Any = None) -> Any:
    """``at.pop()``, or ``at.pop(place)`` for a place in range."""
    made = ListInstance(context, builder, kind, at)
    size = made.size
    cgutils.guard_zero(context, builder, size, (IndexError, "pop from empty list"))
    left = builder.sub(size, size.type(1))
    item = made.getitem(left if place is None else place)
    if place is not None:
        made.move(place, builder.add(place, place.type(1)), builder.sub(left, place))
    made.size = left
    allocated = made._payload.allocated
    few = builder.icmp_unsigned("<", left, builder.lshr(allocated, size.type(2)))
    with cgutils.if_unlikely(builder, builder.and_(few, builder.icmp_unsigned(">", allocated, size.type(LONG)))):
        _resize(context, builder, kind, made, builder.shl(size, size.type(1)))
    return item


def take(context: Any, builder: Any, kind: types.List, at: Any, place: Any) -> Any:
    """``at.pop(place)`` of a list of arrays, for a place in range.

    numba's leaves the last item where it was, too, and counts one reference less when something else is put there.
    """
    made = ListInstance(context, builder, kind, at)
    left = builder.sub(made.size, made.size.type(1))
    item = made.getitem(place)
    made.move(place, builder.add(place, place.type(1)), builder.sub(left, place))
    made.zfill(left, builder.add(left, left.type(1)))
    made.resize(left)
    return item


def _resize(context: Any, builder: Any, kind: types.List, made: ListInstance, allocated: Any) -> None:
    """Make place for so many numbers."""
    each = get_itemsize(context, kind)
    head = context.get_abi_sizeof(context.get_data_type(types.ListPayload(kind))) - each
    long = [Constant(allocated.type, n) for n in (each, head)]
    size, over = cgutils.muladd_with_overflow(builder, allocated, *long)
    with cgutils.if_unlikely(builder, over):
        context.call_conv.return_user_exc(builder, MemoryError, ("cannot resize list",))
    found = context.nrt.meminfo_varsize_realloc_unchecked(builder, made.meminfo, size=size)
    cgutils.guard_memory_error(context, builder, found, "cannot resize list")
    made._payload.allocated = allocated
