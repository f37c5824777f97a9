"""Operators with Python's own meaning: what raises, what promotes, what is folded."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import gast
import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import arrays, conditions, dicts, expressions, lists, objects, tables, text
from srcgraph.frontend.entities import Array, Const, Entity, Listing, Scalar, Tup
from srcgraph.frontend.memory import computed, known_int, refuse
from srcgraph.frontend.once import refuse_kept
from srcgraph.frontend.resolve import division_by_zero
from srcgraph.ir.builder import Builder
from srcgraph.ir.graph import Value
from srcgraph.ir.op import COMPOSITES, OPS
from srcgraph.ir.ops import linalg, numerics
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.types import BOOL, COMPLEX, FLOAT, INT, ArrayType, ScalarType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


_PYTHON = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "power": operator.pow,
    "left_shift": operator.lshift, "right_shift": operator.rshift, "bitwise_and": operator.and_,
    "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
}  # fmt: skip


def binary(low: Lowering, op: str, x: Entity, y: Entity, hint: str = "") -> Entity:
    """``x op y`` by Python's rules."""
    own = objects.operator(low, op, x, y)
    if own is not None:
        return own
    if op == "bitwise_or" and dicts.is_dict(x) and dicts.is_dict(y):
        return dicts.new_dict(low, dicts.merged(dicts.content_of(low, x), dicts.content_of(low, y)), hint)
    folded = _folded(op, x, y)
    if folded is not None:
        return folded
    if isinstance(x, Listing) and isinstance(y, Listing) and op == "add":
        return lists.joined(low, x, y)
    if op == "mul" and isinstance(x, Listing) and _is_count(y):
        return lists.repeated(low, x, y, hint)
    if op == "mul" and isinstance(y, Listing | Tup) and _is_count(x):
        return binary(low, op, y, x, hint)
    if isinstance(x, Listing) and isinstance(y, Array):
        x = arrays.as_array(low, tables.plain(low, x))
    elif isinstance(y, Listing) and isinstance(x, Array):
        y = arrays.as_array(low, tables.plain(low, y))
    if isinstance(x, Tup) and isinstance(y, Tup) and op == "add" and (x.cls is list) == (y.cls is list):
        return Tup(x.items + y.items, list if x.cls is list else tuple)
    if isinstance(x, Tup) and op == "mul" and (times := _count(low, y)) is not None:
        refuse_kept(low, x.items, "in a tuple that is repeated")
        return Tup(x.items * times, list if x.cls is list else tuple)
    if (made := text.binary(low, op, x, y)) is not None:
        return made
    x, y = beside_unsigned(low, x, y), beside_unsigned(low, y, x)
    a, b = low.value(x, "the left operand"), low.value(y, "the right operand")
    b = beside_complex(low, a, b)
    if op == "matmul":
        return low.entity(linalg.product(a, b), hint)
    if op in ("div", "floordiv", "mod"):
        b = divisor(low, _PYTHON[op], a, b)
        if op == "div" and is_python_number(a) and is_python_number(b) and "c" in a.type.dtype.kind + b.type.dtype.kind:
            op = "python_divide"
    if op == "power":
        return power(low, a, b, hint)
    if op in ("left_shift", "right_shift") and is_python_number(a) and is_python_number(b):
        a = low.builder.cast(a, INT, weak=True) if a.type.dtype == BOOL else a
        fine = OPS["greater_equal"](b, 0)
        low.builder.call_named("check_that", fine, error="ValueError", message="negative shift count")
        op = "shift_left" if op == "left_shift" and low.session.raises else op
    return low.entity(low.builder.call(OPS[op], (a, b), {}, name=hint), hint)


def beside_unsigned(low: Lowering, x: Entity, other: Entity) -> Entity:
    """An integer literal of 64 bits without a sign is a number of NumPy's beside such numbers and arrays."""
    if not isinstance(x, Const) or not isinstance(x.value, int) or not 2**63 <= x.value < 2**64:
        return x
    if isinstance(other, Scalar | Array) and low.value(other).type.dtype == np.uint64:
        return Scalar(low.builder.const(np.uint64(x.value)))
    return x


def _folded(op: str, x: Entity, y: Entity) -> Const | None:
    """What Python computes from two literals, unless it raises or is too big to matter."""
    if not (isinstance(x, Const) and isinstance(y, Const) and x.is_number and y.is_number):
        return None
    if op not in _PYTHON or (op in ("power", "left_shift") and abs(y.value) > 1024):
        return None
    try:
        return Const(_PYTHON[op](x.value, y.value))
    except (ArithmeticError, TypeError, ValueError):
        return None  # raised at run time, where Python would


def divisor(low: Lowering, function: Callable, x: Value, y: Value) -> Value:
    """``y``, checked not to be zero where ``function`` divides Python's numbers."""
    if not (is_python_number(x) and is_python_number(y) and low.session.raises):
        return y
    return OPS["check_nonzero"](y, message=division_by_zero(function, x.type.dtype, y.type.dtype))


def _is_count(entity: Entity) -> bool:
    """Whether something is an integer number, by which a list can be repeated."""
    if isinstance(entity, Scalar):
        return entity.value.type.dtype.kind in "iub"
    return isinstance(entity, Const) and isinstance(entity.value, int)


def _count(low: Lowering, entity: Entity) -> int | None:
    if isinstance(entity, Const) and isinstance(entity.value, int):
        return entity.value
    return known_int(low, entity.value) if isinstance(entity, Scalar) else None


def is_python_number(x: Value) -> bool:
    return isinstance(x.type, ScalarType) and x.type.weak


def power(low: Lowering, x: Value, y: Value, hint: str) -> Entity:
    """``x ** y``: Python's numbers by Python's rules, NumPy's by NumPy's."""
    b = low.builder
    python = is_python_number(x) and is_python_number(y)
    if python and "c" in (x.type.dtype.kind + y.type.dtype.kind) and literal(b, y) not in (2, 3) and low.session.raises:
        return low.entity(_complex_power(b, x, y), hint)
    integers = x.type.dtype.kind in "iub" and y.type.dtype.kind in "iub"
    if python:
        if integers and (known_int(low, y) or 0) < 0:
            x, integers = b.cast(x, FLOAT, weak=True), False
        check_power(low, x, y)
    elif integers:
        numerics.check_integer_power(x, y)
    if isinstance(x.type, ArrayType) and x.type.dtype == BOOL and is_python_number(y) and y.type.dtype == INT:
        if known_int(low, y) is None:
            why = "the dtype of booleans to a power depends on whether it is 2, which is known only at run time"
            raise refuse(why, low.loc, "convert them first: x.astype(int) ** k")
        if known_int(low, y) == 2:
            return low.entity(OPS["square"](x), hint)  # as NumPy: its dtype is not that of other powers
    if x.type == ArrayType(x.type.dtype, ()) and numerics.is_root(x, y):
        return low.entity(OPS["sqrt"](x), hint)
    exact = python and integers and low.session.raises
    out = b.call(OPS["whole_power" if exact else "power"], (x, y), {}, name=hint)
    if python and not integers and out.type.dtype.kind == "f" and low.session.raises:
        _check_power_overflow(low, x, y, out)
    return low.entity(out, hint)


def beside_complex(low: Lowering, a: Value, b: Value) -> Value:
    """The right operand: np.float64 is a float to Python's complex numbers."""
    floats = is_python_number(a) and a.type.dtype == COMPLEX and b.type == ScalarType(FLOAT)
    return low.builder.cast(b, FLOAT, weak=True) if floats else b


def _complex_power(b: Builder, x: Value, y: Value) -> Value:
    """A power of Python's complex numbers, and what it raises."""
    x, y = b.cast(x, COMPLEX, weak=True), b.cast(y, COMPLEX, weak=True)
    fine = OPS["logical_not"](OPS["no_power"](x, y))
    message = division_by_zero(lambda one, zero: zero**-one, COMPLEX, COMPLEX)
    b.call_named("check_that", fine, error="ZeroDivisionError", message=message)
    out = OPS["python_power"](x, y)
    fine = OPS["logical_not"](OPS["isinf"](out))
    b.call_named("check_that", fine, error="OverflowError", message="complex exponentiation")
    return out


def _check_power_overflow(low: Lowering, x: Value, y: Value, out: Value) -> None:
    """Python's floats raise where a power of finite numbers is too large."""
    exponent = known_int(low, y)
    plain = exponent is not None and abs(exponent) <= 3  # squares and the like: as the user wrote them, outside of try
    if plain and not low.catching.active:
        return
    finite = OPS["logical_and"](OPS["isfinite"](x), OPS["isfinite"](low.builder.cast(y, FLOAT, weak=True)))
    bad = OPS["logical_and"](OPS["isinf"](out), finite)
    fine = OPS["logical_not"](bad)
    message = (34, "Numerical result out of range")
    low.builder.call_named("check_that", fine, error="OverflowError", message=message)


def check_power(low: Lowering, x: Value, y: Value) -> None:
    """Python's own ``**``: zero to a negative power raises; results that would not be real are refused."""
    b = low.builder
    exponent = known_int(low, y) if y.type.dtype.kind in "ib" else None
    if x.type.dtype.kind in "ib" and y.type.dtype.kind in "ib":
        if exponent is None:
            fine = OPS["greater_equal"](y, 0)
            message = "an integer to a negative power is a float in Python: write a float base, 2.0 ** n"
            b.call_named("check_that", fine, error="ValueError", message=message)
        return
    if y.type.dtype.kind == "c" or not low.session.raises:
        return
    negative = OPS["less"](y, 0)
    if y.type.dtype.kind == "f" and literal(b, y) is None:
        negative = OPS["logical_and"](negative, OPS["greater"](y, -math.inf))
    zero = OPS["logical_and"](OPS["equal"](x, 0), negative)
    message = "0.0 cannot be raised to a negative power"
    b.call_named("check_that", OPS["logical_not"](zero), error="ZeroDivisionError", message=message)
    if y.type.dtype.kind == "f" and x.type.dtype.kind != "c":
        whole = OPS["logical_not"](OPS["less"](OPS["floor"](y), y))  # so is NaN
        below = OPS["logical_and"](OPS["less"](x, 0), OPS["greater"](x, -math.inf))
        real = OPS["logical_or"](OPS["logical_not"](below), whole)
        message = "a negative number to a fractional power is complex"
        b.call_named("check_that", real, error="ValueError", message=message)


def unary(low: Lowering, node: gast.UnaryOp, hint: str) -> Entity:
    if isinstance(node.op, gast.Not):
        test = conditions.tested(low, node)
        return Const(test) if isinstance(test, bool) else Scalar(test)
    entity = expressions.lower(low, node.operand)
    own = {gast.USub: "__neg__", gast.UAdd: "__pos__", gast.Invert: "__invert__"}[type(node.op)]
    if objects.has_special(entity, own):
        return objects.special(low, own, entity)
    if isinstance(entity, Const) and entity.is_number:
        function = {gast.USub: operator.neg, gast.UAdd: operator.pos, gast.Invert: operator.invert}[type(node.op)]
        return Const(computed(low, function, entity.value))
    value = low.value(entity, "the operand")
    if value.type.dtype == BOOL and is_python_number(value):
        value = low.builder.cast(value, INT, weak=True)
    if isinstance(node.op, gast.UAdd):
        return (
            low.entity(COMPOSITES["positive"](value), hint)
            if value.type.dtype == BOOL
            else low.entity(numerics.without_axes(value), hint)
        )
    if isinstance(node.op, gast.USub) and value.type.dtype == BOOL:
        raise refuse("NumPy has no negative of a boolean", low.loc, "use ~x or np.logical_not(x)", kind=InferenceError)
    name = "neg" if isinstance(node.op, gast.USub) else "invert"
    return low.entity(low.builder.call(OPS[name], (value,), {}, name=hint), hint)
