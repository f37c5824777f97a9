"""What users write, by the Python object it is: NumPy names to records, `math` names to rules."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from srcgraph.ir.builder import Builder
from srcgraph.ir.graph import Value
from srcgraph.ir.op import COMPOSITES, OPS, Composite, Op, current_builder
from srcgraph.ir.types import FLOAT, INT


@cache
def _by_object() -> dict[Any, Op | Composite]:
    return {f: record for table in (OPS, COMPOSITES) for record in table.values() for f in record.python}


@cache
def methods() -> dict[str, Composite]:
    """Array methods by name."""
    return {r.method: r for r in COMPOSITES.values() if r.method}


def record_of(function: Any) -> Op | Composite | None:
    """The record of a NumPy (or builtin) function, or None."""
    try:
        return _by_object().get(function)
    except TypeError:  # not hashable
        return None


@dataclass(frozen=True, slots=True)
class MathRule:
    """A function of `math`: floats in, a float (or int, or bool) out, Python's errors.

    Parameters
    ----------
    op : callable
        Builds the result from float operands.
    fine : callable or None
        Builds the condition under which Python does not raise ValueError.
    overflows : bool
        Whether an infinite result of finite operands raises OverflowError.
    divisor : callable or None
        Builds what raises ZeroDivisionError if it is zero.
    whole : bool
        Whether it is the operand itself if that is an integer.
    result : numpy.dtype
        Of the Python number returned.
    """

    op: Callable[..., Value]
    fine: Callable[..., Value] | None = None
    overflows: bool = False
    result: np.dtype = FLOAT
    numpy_name: str = ""
    divisor: Callable[..., Value | None] | None = None
    whole: bool = False

    def build(self, b: Builder, values: Sequence[Value], raises: bool = True) -> Value:
        """The result, a Python number; without ``raises`` it is inf or NaN where Python raises."""
        if self.whole and values[0].type.dtype.kind in "iub":
            return to_integer(b, values[0])
        x = [b.cast(v, FLOAT, weak=True) for v in values]
        if raises:
            self._check_operands(b, x)
        out = self.op(*x)
        if raises and self.overflows:
            check_range(b, out, x)
        return b.cast(out, self.result, weak=True)

    def _check_operands(self, b: Builder, x: Sequence[Value]) -> None:
        if self.fine is not None:
            b.call_named("check_that", self.fine(*x), error="ValueError", message="math domain error")
        divisor = self.divisor(*x) if self.divisor is not None else None
        if divisor is not None:
            OPS["check_nonzero"](divisor, message=division_by_zero(operator.truediv, FLOAT, FLOAT))


@cache
def division_by_zero(function: Callable, x: np.dtype, y: np.dtype) -> str:
    """What Python says where ``function`` divides a number of dtype ``x`` by a zero of dtype ``y``."""
    try:
        function(x.type(1).item(), y.type(0).item())
    except ZeroDivisionError as error:
        return str(error)
    except TypeError:  # it divides no such numbers, which is said elsewhere
        return "division by zero"
    return "division by zero"


def check_range(b: Builder, out: Value, operands: Sequence[Value], message: str = "math range error") -> None:
    """Python's functions raise where the result of finite numbers is too large."""
    finite = OPS["isfinite"](operands[0])
    for other in operands[1:]:
        finite = OPS["logical_and"](finite, OPS["isfinite"](other))
    bad = OPS["logical_and"](OPS["isinf"](out), finite)
    b.call_named("check_that", OPS["logical_not"](bad), error="OverflowError", message=message)


def _not(test: Callable[..., Value]) -> Callable[..., Value]:
    """The opposite of a test that NaN fails: NaN is in every domain."""
    return lambda *x: OPS["logical_not"](test(*x))


def _rule(
    name: str, fails: Callable[..., Value] | None = None, overflows: bool = False, numpy_name: str = ""
) -> MathRule:
    return MathRule(lambda *x: OPS[name](*x), _not(fails) if fails else None, overflows, numpy_name=numpy_name)


def _outside_one(x: Value) -> Value:
    return OPS["greater"](OPS["absolute"](x), 1.0)


def _less(bound: float) -> Callable[[Value], Value]:
    return lambda x: OPS["less"](x, bound)


def _at_most(bound: float) -> Callable[[Value], Value]:
    return lambda x: OPS["less_equal"](x, bound)


def _infinite(x: Value) -> Value:
    return OPS["isinf"](x)


def to_integer(b: Builder, x: Value) -> Value:
    """A number as a Python integer: NaN, infinity and what needs more than 64 bits raise."""
    if x.type.dtype.kind == "f":
        number = OPS["logical_not"](OPS["isnan"](x))
        b.call_named("check_that", number, error="ValueError", message="cannot convert float NaN to integer")
        size = OPS["absolute"](b.cast(x, FLOAT, weak=True))
        finite, fits = OPS["less"](size, np.inf), OPS["less"](size, 2.0**63)
        b.call_named("check_that", finite, error="OverflowError", message="cannot convert float infinity to integer")
        message = "cannot convert a number of more than 64 bits to integer"
        b.call_named("check_that", fits, error="OverflowError", message=message)
    if x.type.dtype == np.uint64:
        fits = OPS["less_equal"](x, np.uint64(2**63 - 1))
        message = "an integer of more than 63 bits: Python's have 64 bits here, with a sign"
        b.call_named("check_that", fits, error="OverflowError", message=message)
    return b.cast(x, INT, weak=True)


def _rounded(name: str) -> MathRule:
    return MathRule(lambda x: to_integer(current_builder(), OPS[name](x)), result=INT, whole=True)


def _log(x: Value, base: Value | None = None) -> Value:
    if base is None:
        return OPS["log"](x)
    return OPS["div"](OPS["log"](x), OPS["log"](base))


def _log_divisor(x: Value, base: Value | None = None) -> Value | None:
    return None if base is None else OPS["log"](base)


def _pow_fails(x: Value, y: Value) -> Value:
    """Not real, or a power of zero that is infinite."""
    finite = OPS["logical_and"](OPS["isfinite"](x), OPS["isfinite"](y))
    fraction = OPS["logical_and"](OPS["less"](x, 0.0), OPS["not_equal"](y, OPS["floor"](y)))
    pole = OPS["logical_and"](OPS["equal"](x, 0.0), OPS["less"](y, 0.0))
    return OPS["logical_and"](finite, OPS["logical_or"](fraction, pole))


def _not_positive_integer(x: Value) -> Value:
    """Zero and the negative integers: poles of the gamma function."""
    return OPS["logical_and"](OPS["less_equal"](x, 0.0), OPS["equal"](x, OPS["floor"](x)))


def _gamma_fails(x: Value) -> Value:
    return OPS["logical_or"](_not_positive_integer(x), OPS["equal"](x, -math.inf))


def _fmod_fails(x: Value, y: Value) -> Value:
    """No remainder, though neither is NaN."""
    known = OPS["logical_not"](OPS["logical_or"](OPS["isnan"](x), OPS["isnan"](y)))
    return OPS["logical_and"](known, OPS["logical_or"](OPS["isinf"](x), OPS["equal"](y, 0.0)))


def _log_fails(x: Value, base: Value | None = None) -> Value:
    bad = OPS["less_equal"](x, 0.0)
    return bad if base is None else OPS["logical_or"](bad, OPS["less_equal"](base, 0.0))


def _test(name: str) -> MathRule:
    return MathRule(lambda x: OPS[name](x), result=np.dtype(bool))


MATH: dict[Any, MathRule] = {
    math.sin: _rule("sin", _infinite),
    math.cos: _rule("cos", _infinite),
    math.tan: _rule("tan", _infinite),
    math.asin: _rule("arcsin", _outside_one, numpy_name="arcsin"),
    math.acos: _rule("arccos", _outside_one, numpy_name="arccos"),
    math.atan: _rule("arctan", numpy_name="arctan"),
    math.atan2: _rule("arctan2", numpy_name="arctan2"),
    math.sinh: _rule("sinh", overflows=True),
    math.cosh: _rule("cosh", overflows=True),
    math.tanh: _rule("tanh"),
    math.asinh: _rule("arcsinh", numpy_name="arcsinh"),
    math.acosh: _rule("arccosh", _less(1.0), numpy_name="arccosh"),
    math.atanh: _rule("arctanh", lambda x: OPS["greater_equal"](OPS["absolute"](x), 1.0), numpy_name="arctanh"),
    math.exp: _rule("exp", overflows=True),
    math.exp2: _rule("exp2", overflows=True),
    math.expm1: _rule("expm1", overflows=True),
    math.log: MathRule(_log, _not(_log_fails), divisor=_log_divisor),
    math.log2: _rule("log2", _at_most(0.0)),
    math.log10: _rule("log10", _at_most(0.0)),
    math.log1p: _rule("log1p", _at_most(-1.0)),
    math.sqrt: _rule("sqrt", _less(0.0)),
    math.cbrt: _rule("cbrt"),
    math.pow: _rule("power", _pow_fails, overflows=True, numpy_name="power"),
    math.fabs: _rule("fabs"),
    math.fmod: _rule("fmod", _fmod_fails),
    math.copysign: _rule("copysign"),
    math.degrees: _rule("rad2deg", numpy_name="degrees"),
    math.radians: _rule("deg2rad", numpy_name="radians"),
    math.erf: _rule("erf"),
    math.erfc: _rule("erfc"),
    math.gamma: _rule("gamma", _gamma_fails, overflows=True),
    math.lgamma: _rule("gammaln", _not_positive_integer, overflows=True),
    math.nextafter: _rule("nextafter"),
    math.floor: _rounded("floor"),
    math.ceil: _rounded("ceil"),
    math.trunc: _rounded("trunc"),
    math.isnan: _test("isnan"),
    math.isinf: _test("isinf"),
    math.isfinite: _test("isfinite"),
}
