"""What numbers of different kinds become where two paths join: one kind, the same number, the same arithmetic after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend.entities import Const, Entity, Scalar
from srcgraph.frontend.memory import refuse
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.promote import common_dtype, in_words
from srcgraph.ir.types import BOOL, COMPLEX, FLOAT, INT, ScalarType, Type, without_value

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

SAME_WIDTH = (
    "make it one kind of number on every path: NumPy's, as np.float32(...), "
    "or Python's, as float(...), int(...), x + 0j"
)
EXACT = 2**53
"""Up to here every integer is a float."""


def join_type(x: Type, y: Type) -> ScalarType | None:
    """The type both scalars are converted to, or None where neither's arithmetic would do for both.

    Python's own number joined with NumPy's gives NumPy's; integers joined with floats, and bools with either, give
    these. NumPy's numbers of one kind and of different widths have nothing in common: float32 and float64 round
    differently, int8 and int64 wrap differently. Whether a number fits is for `loses` to say.
    """
    x, y = without_value(x), without_value(y)
    if not isinstance(x, ScalarType) or not isinstance(y, ScalarType):
        return None
    weak = x.weak and y.weak
    if weak and BOOL in (x.dtype, y.dtype) and INT in (x.dtype, y.dtype):
        return ScalarType(INT, weak=True)
    dtype = common_dtype([x, y])
    strong = [t.dtype for t in (x, y) if not t.weak]
    if len(set(strong)) == 2 and (dtype not in strong or strong[0].kind == strong[1].kind):
        return None
    return ScalarType(dtype, weak)


def loses(low: Lowering, x: Entity | Value, type: ScalarType) -> bool:
    """Whether a number may not be the same as one of ``type``.

    Of numbers known when compiling that can be seen. Others of Python have 64 bits, and need a type that has them;
    and a real number is no complex one, unless it is written so, as the 0.0 a sum begins with.
    """
    own = (x if isinstance(x, Value) else low.value(x)).type
    if type.dtype.kind == "c" and own.dtype.kind != "c" and _known(low, x) is None:
        return True
    if not own.weak or own.dtype in (BOOL, type.dtype) or (type.dtype in (FLOAT, COMPLEX) and own.dtype != INT):
        return False
    known = _known(low, x)
    if known is None:
        return type.dtype not in (INT, FLOAT, COMPLEX)
    if type.dtype.kind in "iu":
        return not np.iinfo(type.dtype).min <= known <= np.iinfo(type.dtype).max
    with np.errstate(all="ignore"):
        return not _same(type.dtype.type(known).item(), known)


def _same(x: Any, y: Any) -> bool:
    return bool(x == y or (x != x and y != y))


def _known(low: Lowering, x: Entity | Value) -> Any:
    """The number something is known to be when compiling, or None."""
    if isinstance(x, Const):
        return x.value
    value = x.value if isinstance(x, Scalar) else x
    assert isinstance(value, Value)
    if value in low.begins:
        low.trusted.add(value)
        return low.begins[value]
    found = literal(low.builder, value)
    known = getattr(value.type, "value", None)
    return known.const if found is None and known is not None else found


def as_joined(low: Lowering, value: Value, type: ScalarType) -> Value:
    """A number as what it is joined to; an integer that is no float of 53 bits raises."""
    b = low.builder
    if loses(low, value, type):
        raise refuse(f"{in_words(value.type)} is not always {in_words(type)}", low.loc, SAME_WIDTH, kind=InferenceError)
    if value.type.dtype.kind in "iu" and value.type.dtype.itemsize == 8 and type.dtype in (FLOAT, COMPLEX):
        _check_exact(low, value)
    return b.cast(value, type.dtype, True) if type.weak else b.stored(value, type.dtype)


def joined(low: Lowering, values: Sequence[Value]) -> list[Value]:
    """A few numbers, one of which is chosen at run time, as numbers of one type."""
    type = values[0].type
    for value in values[1:]:
        type = join_type(type, value.type) if type is not None else None
    if type is None or any(loses(low, v, type) for v in values):
        kinds = " or ".join(dict.fromkeys(in_words(without_value(v.type)) for v in values))
        raise refuse(f"which it is, {kinds}, is known at run time only", low.loc, SAME_WIDTH, kind=InferenceError)
    return [as_joined(low, v, type) for v in values]


def _check_exact(low: Lowering, value: Value) -> None:
    """An integer that becomes a float where paths join has to have 53 bits: it would lose digits else."""
    b, known = low.builder, getattr(value.type, "value", None)
    if _known(low, value) is not None or (known is not None and b.proves_below(known, EXACT)):
        return
    fits = OPS["less_equal"](OPS["absolute"](value), EXACT)
    message = "an integer of more than 53 bits is not a float, which it is on another path"
    b.call_named("check_that", fits, error="OverflowError", message=message)
