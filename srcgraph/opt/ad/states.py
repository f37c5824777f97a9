"""States of a loop in memory, and the numbers that say where each is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from srcgraph.ir.builder import Builder
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import with_item
from srcgraph.ir.types import INT, ArrayType, ScalarType, is_integer


@dataclass(frozen=True, slots=True)
class Stored:
    """What the first sweep leaves: so many places; of so many steps, so many states.

    ``order`` has the places of the states from the earliest to the latest, where it is not that of the places.
    """

    snapshots: Value
    steps: Value
    held: Value
    at: Value
    pools: list[Value]
    order: Value | None


def store(
    b: Builder, place: Value, step: Value, at: Value, pools: Sequence[Value], state: Sequence[Value]
) -> tuple[Value, list[Value]]:
    """Store a state, and which step it is before."""
    at = with_item(at, 0, place, b.cast(step, INT))
    return at, [with_item(p, 0, place, plain(b, v)) for p, v in zip(pools, state, strict=True)]


def counted_as(b: Builder, value: Value, name: str) -> Value:
    """An integer that is computed once, and has a name."""
    return value if value.type.value.const is not None else b.call(OPS["count"], (value,), name=name)


def index_of(trip: Value, start: Value, step: Value) -> Value:
    return OPS["add"](start, OPS["mul"](trip, step))


def trips(b: Builder, start: Value, stop: Value, step: Value) -> Value:
    """How many trips ``for i in range(start, stop, step)`` makes; the step is a literal."""
    width = step.type.value.const
    span = b.call_named("sub", stop, start) if width > 0 else b.call_named("sub", start, stop)
    if abs(width) > 1:
        span = b.call_named("floordiv", b.call_named("add", span, abs(width) - 1), abs(width))
    return span if b.proves(span.type.value) else b.call_named("maximum", span, 0)


def plain(b: Builder, value: Value) -> Value:
    """A value as it is in an array."""
    return value if value.type.ndim else b.cast(value, value.type.dtype, False)


def as_kind(b: Builder, found: Value, like: Value) -> Value:
    """What was stored, as the kind of value it was."""
    if isinstance(like.type, ArrayType):
        return found
    return b.cast(found, like.type.dtype, like.type.weak)


def fitted(b: Builder, value: Value, like: Value) -> Value:
    """A value with the sizes that a loop's parameter has; they were proved equal before."""
    return b.retype(value, like.type.shape) if isinstance(like.type, ArrayType) else value


def varying(value: Value) -> ArrayType | ScalarType:
    """The type of a carry that starts with a value."""
    return replace(value.type, value=None) if is_integer(value.type) else value.type


def d_name(name: str) -> str:
    """The name of a cotangent."""
    return f"d_{name.lstrip('_')}" if name else ""


def bytes_of(b: Builder, value: Value) -> Value:
    total = b.const(value.type.dtype.itemsize)
    for size in value.type.shape:
        total = b.call_named("mul", total, b.dim_value(size))
    return total
