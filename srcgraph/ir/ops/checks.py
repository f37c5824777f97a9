"""Every possible raise: ordered nodes that pass a value on, or raise what Python or NumPy would.

A check goes away only when it is proved (here, when built, from what the builder knows) and is
hoisted only by a pass that proves the loop reaches it. Derivatives look through checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from srcgraph.ir.dims import Dim
from srcgraph.ir.exceptions import exception
from srcgraph.ir.facts import COMPARISONS
from srcgraph.ir.graph import Value
from srcgraph.ir.op import Check, current_builder, define
from srcgraph.ir.ops.compare import equal, greater_equal, less, logical_and, logical_or, not_equal, where
from srcgraph.ir.ops.ranges import bounds
from srcgraph.ir.ops.vector import literal, neg
from srcgraph.ir.text import arguments, formatted
from srcgraph.ir.types import PY_BOOL, ScalarType, Type

Message: TypeAlias = str | tuple[Any, ...]
"""A text; with values, a template for them; or several arguments of an exception, see `srcgraph.ir.text`."""


def _wrapped(i: int, n: int, *, axis: int) -> int:
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    return int(i + n if i < 0 else i)


def _index_type(i: ScalarType, n: ScalarType, *, axis: int) -> ScalarType:
    known = None
    if i.value is not None and n.value is not None and i.value.const is not None:
        known = i.value if i.value.const >= 0 else i.value + n.value
    return ScalarType(np.dtype(np.int64), True, known)


def _proved_index(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    """An index proved to be in range needs no check; one proved not negative, or in range, a smaller one."""
    i, n = inputs
    index, size = i.type.value, n.type.value
    if index is None or size is None:
        return None
    low, high = bounds(builder, i)
    if low is not None and builder.proves(low):
        if high is not None and builder.proves(size - 1 - high):
            return builder.cast(i, np.dtype(np.int64), weak=True)
        return builder.apply(check_upper, (builder.cast(i, np.dtype(np.int64), weak=True), n), attrs)
    if builder.proves(index + size):
        if builder.proves(-index - 1):
            return builder.dim_value(index + size)
        if builder.proves(size - 1 - index):
            return builder.apply(wrap_index, (builder.cast(i, np.dtype(np.int64), weak=True), n), {})
    if index.const is not None and index.const < 0:
        message = f"index {{}} is out of bounds for axis {attrs['axis']} with size {{}}"
        check_that(greater_equal(n, -index.const), i, n, error="IndexError", message=message)
        return builder.dim_value(index + size)
    return None


def _proved_below(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    i, n = inputs
    high = bounds(builder, i)[1]
    return i if high is not None and builder.proves(n.type.value - 1 - high) else None


def _in_range(out: Value, i: Value, n: Value) -> list[Dim]:
    return [out.type.value, n.type.value - 1 - out.type.value]


def _is_inside(i: Value, n: Value) -> Value:
    """Whether an index, counted from the front or the back, is in range."""
    return logical_and(greater_equal(i, neg(n)), less(i, n))


wrap_index = define(
    name="wrap_index",
    doc="``i + n`` for a negative ``i``, else ``i``: an index counted from the front.",
    infer=lambda i, n: ScalarType(np.dtype(np.int64), True),
    numpy=lambda i, n: int(i + n if i < 0 else i),
    emit={"cpu": "x + y if x < 0 else x"},
)
check_index = define(
    name="check_index",
    doc="An index counted from the front; raises IndexError outside ``-n <= i < n``.",
    infer=_index_type,
    numpy=_wrapped,
    kind="check",
    check=Check("x < -y or x >= y", "IndexError", "index {x} is out of bounds for axis {axis} with size {y}",
                "x + y if x < 0 else x"),
    simplify=_proved_index,
    learn=_in_range,
    unchecked=lambda i, n, *, axis: wrap_index(i, n),
    holds=lambda i, n, *, axis: _is_inside(i, n),
)  # fmt: skip
check_upper = define(
    name="check_upper",
    doc="A nonnegative index; raises IndexError from ``n`` on.",
    infer=lambda i, n, *, axis: i,
    numpy=_wrapped,
    kind="check",
    check=Check("x >= y", "IndexError", "index {x} is out of bounds for axis {axis} with size {y}"),
    simplify=_proved_below,
    learn=_in_range,
    unchecked=lambda i, n, *, axis: i,
    holds=lambda i, n, *, axis: less(i, n),
)


def _item_wrapped(i: int, n: int, *, message: str) -> int:
    if not -n <= i < n:
        raise IndexError(message)
    return int(i + n if i < 0 else i)


def _proved_item(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    """As for arrays: an index proved to be in range needs no check."""
    i, n = inputs
    index, size = i.type.value, n.type.value
    if index is None or size is None:
        return None
    low, high = bounds(builder, i)
    if low is not None and builder.proves(low):
        i = builder.cast(i, np.dtype(np.int64), weak=True)
        inside = high is not None and builder.proves(size - 1 - high)
        return i if inside else builder.apply(check_item_upper, (i, n), attrs)
    if builder.proves(-index - 1) and builder.proves(index + size):
        return builder.dim_value(index + size)
    return None


check_item = define(
    name="check_item",
    doc="An index into a list counted from the front; raises IndexError outside ``-n <= i < n``.",
    infer=lambda i, n, *, message: _index_type(i, n, axis=0),
    numpy=_item_wrapped,
    kind="check",
    check=Check("x < -y or x >= y", "IndexError", "{message}", "x + y if x < 0 else x"),
    simplify=_proved_item,
    learn=_in_range,
    unchecked=lambda i, n, *, message: wrap_index(i, n),
    holds=lambda i, n, *, message: _is_inside(i, n),
)
check_item_upper = define(
    name="check_item_upper",
    doc="A nonnegative index into a list; raises IndexError from ``n`` on.",
    infer=lambda i, n, *, message: i,
    numpy=_item_wrapped,
    kind="check",
    check=Check("x >= y", "IndexError", "{message}"),
    simplify=_proved_below,
    learn=_in_range,
    unchecked=lambda i, n, *, message: i,
    holds=lambda i, n, *, message: less(i, n),
)


def _same(x: int, y: int, *, error: str = "ValueError", message: str = "") -> int:
    if x != y:
        raise exception(error)((message or _MISMATCH).format(x=x, y=y))
    return x


def _stretched(x: int, y: int, *, of: str) -> int:
    if x != y and x != 1 and y != 1:
        raise ValueError(f"operands could not be broadcast together: lengths {x} and {y}")
    return y if x == 1 else x


def _stretched_type(x: ScalarType, y: ScalarType, *, of: str) -> ScalarType:
    known = {"first": x.value, "second": y.value}.get(of)
    return ScalarType(np.dtype(np.int64), True, known)


def _stretched_unchecked(x: Value, y: Value, *, of: str) -> Value:
    if of:
        return x if of == "first" else y
    return where(equal(x, 1), y, x)


_MISMATCH = "operands could not be broadcast together: lengths {x} and {y}"
same_size = define(
    name="same_size",
    doc="``x``; raises ValueError, as for a broadcast, unless it equals ``y``.",
    infer=lambda x, y: x,
    numpy=_same,
    kind="check",
    check=Check("x != y", "ValueError", _MISMATCH),
    simplify=lambda builder, inputs, attrs: inputs[0] if inputs[0].type.value == inputs[1].type.value else None,
    learn=lambda out, x, y: [x.type.value - y.type.value, y.type.value - x.type.value],
    unchecked=lambda x, y: x,
    holds=lambda x, y: equal(x, y),
)
equal_size = define(
    name="equal_size",
    doc="``x``; raises ``error`` with ``message``, in which {x} and {y} stand for the lengths, unless it equals ``y``.",
    infer=lambda x, y, *, error, message: x,
    numpy=_same,
    kind="check",
    check=Check("x != y", "{error}", "{message}"),
    simplify=same_size.simplify,
    learn=same_size.learn,
    unchecked=lambda x, y, **attrs: x,
    holds=lambda x, y, **attrs: equal(x, y),
)
broadcast_size = define(
    name="broadcast_size",
    doc="The length two axes broadcast to; raises ValueError unless they are equal or one of them is 1.",
    infer=_stretched_type,
    numpy=_stretched,
    kind="check",
    check=Check("x != y and x != 1 and y != 1", "ValueError", _MISMATCH, "y if x == 1 else x"),
    simplify=lambda builder, inputs, attrs: inputs[0] if inputs[0].type.value == inputs[1].type.value else None,
    learn=lambda out, x, y: [out.type.value],
    unchecked=_stretched_unchecked,
    holds=lambda x, y, *, of: logical_or(equal(x, y), logical_or(equal(x, 1), equal(y, 1))),
)


def _fits_meaning(x: int, y: int, **attrs: Any) -> int:
    if x not in (1, y):
        raise ValueError(f"could not broadcast input array from length {x} into length {y}")
    return x


check_fits = define(
    name="check_fits",
    doc="``x``; raises ValueError unless an axis of length ``x`` can be stored into one of length ``y``.",
    infer=lambda x, y: x,
    numpy=_fits_meaning,
    kind="check",
    check=Check("x != 1 and x != y", "ValueError", "could not broadcast input array from length {x} into length {y}"),
    simplify=lambda builder, inputs, attrs: inputs[0] if inputs[0].type.value in (inputs[1].type.value, 1) else None,
    unchecked=lambda x, y: x,
    holds=lambda x, y: logical_or(equal(x, 1), equal(x, y)),
)


def _nonzero_meaning(x: Any, *, message: str) -> Any:
    if x == 0:
        raise ZeroDivisionError(message)
    return x


def _proved_nonzero(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    (x,) = inputs
    number = literal(builder, x)
    known = getattr(x.type, "value", None)
    proved = known is not None and (builder.proves(known - 1) or builder.proves(-known - 1))
    return x if proved or (number is not None and number != 0) else None


def _learned_nonzero(out: Value, x: Value) -> list[Any]:
    """A size that is not zero is at least 1."""
    known = getattr(x.type, "value", None)
    return [known - 1] if known is not None and current_builder().proves(known) else []


check_nonzero = define(
    name="check_nonzero",
    doc="A Python number; raises ZeroDivisionError when it is zero.",
    infer=lambda x, *, message: x,
    numpy=_nonzero_meaning,
    kind="check",
    check=Check("x == 0", "ZeroDivisionError", "{message}"),
    simplify=_proved_nonzero,
    learn=_learned_nonzero,
    unchecked=lambda x, *, message: x,
    holds=lambda x, *, message: not_equal(x, 0),
)


def exception_of(cls: type[Exception], message: Message, values: Sequence[Any]) -> Exception:
    """The exception that a check raises."""
    if isinstance(message, tuple):
        return cls(*arguments(message, values))
    return cls(formatted(message, values) if values else message)


def _that_meaning(ok: bool, *values: Any, error: str, message: Message) -> bool:
    if not ok:
        raise exception_of(exception(error), message, values)
    return True


def _proved_that(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    """What is known to hold, or follows from what is known of integers."""
    if literal(builder, inputs[0]):
        return inputs[0]
    node = builder.definition(inputs[0])
    if node is None or node.op.name not in COMPARISONS:
        return None
    return builder.const(True) if builder.compares(node.op.name, *node.inputs) else None


def _ok_type(ok: Type, *values: Type, error: str, message: Message) -> Type:
    return PY_BOOL


check_that = define(
    name="check_that",
    doc="True; raises ``error`` with ``message``, which takes the values after ``x``, unless ``x`` holds.",
    infer=_ok_type,
    numpy=_that_meaning,
    kind="check",
    check=Check("not x", "{error}", "{message}"),
    simplify=_proved_that,
    ensures=(0,),
    unchecked=lambda ok, *values, **attrs: ok,
    holds=lambda ok, *values, **attrs: ok,
)
given = define(
    name="given",
    doc="True; that ``x`` holds is known of the arguments, nothing is checked.",
    infer=lambda ok: PY_BOOL,
    numpy=lambda ok: ok,
    kind="check",
    simplify=_proved_that,
    ensures=(0,),
    unchecked=lambda ok: ok,
    holds=lambda ok: ok,
)
