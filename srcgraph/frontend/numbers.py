"""Functions of `math` and `cmath` and methods of numbers written in Python, in `arithmetic`: their calls."""

from __future__ import annotations

import builtins
import cmath
import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import arithmetic, complex_arithmetic, contents, expressions, lists, operators
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Iteration, Scalar, Tup
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import computed, ref_type, refuse
from srcgraph.frontend.pythonic import MANY, builtin, complex_, int_, real_number, scalar_value
from srcgraph.frontend.resolve import check_range
from srcgraph.ir.graph import Value
from srcgraph.ir.op import COMPOSITES, OPS
from srcgraph.ir.promote import is_weak
from srcgraph.ir.types import BOOL, FLOAT, INT, ArrayType, ScalarType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def integer(low: Lowering, x: Entity, what: str) -> Scalar:
    """A Python integer."""
    value = scalar_value(low, x, what)
    if value.type.dtype.kind not in "iub":
        raise refuse(f"{what} takes integers, not {describe(x)}", low.loc, "use int(...)", kind=InferenceError)
    return Scalar(low.builder.cast(value, INT, weak=True))


def real(low: Lowering, x: Entity, what: str) -> Scalar:
    """A Python float."""
    value = real_number(low, x, what)
    return Scalar(low.builder.cast(value, FLOAT, weak=True))


def _integers(function: Any, written: Any, count: int) -> None:
    @builtin(function, count, count)
    def lower(low: Lowering, *args: Entity) -> Entity:
        what = f"math.{function.__name__}()"
        return lists.own(low, written, *(integer(low, a, what) for a in args))


def _floats(function: Any, written: Any, count: int) -> None:
    @builtin(function, count, count)
    def lower(low: Lowering, *args: Entity) -> Entity:
        what = f"math.{function.__name__}()"
        return lists.own(low, written, *(real(low, a, what) for a in args))


def _folded(function: Any, written: Any, neutral: int) -> None:
    @builtin(function, 0, MANY)
    def lower(low: Lowering, *args: Entity) -> Entity:
        what = f"math.{function.__name__}()"
        numbers = [integer(low, a, what) for a in args]
        out: Entity = numbers[0] if numbers else Const(neutral)
        for number in numbers[1:] or ([Const(neutral)] if numbers else []):
            out = lists.own(low, written, out, number)
        return out


_integers(math.isqrt, arithmetic.isqrt, 1)
_integers(math.factorial, arithmetic.factorial, 1)
_integers(math.comb, arithmetic.comb, 2)
_floats(math.modf, arithmetic.modf, 1)
_floats(math.frexp, arithmetic.frexp, 1)
_folded(math.gcd, arithmetic.gcd, 0)
_folded(math.lcm, arithmetic.lcm, 1)


@builtin(math.fsum, 1, 1)
def fsum(low: Lowering, xs: Entity) -> Entity:
    known = lists.known_items(low, xs)
    if known is not None:
        numbers = tuple(real(low, e, "math.fsum()") for e in known)
        xs = contents.new_list(low, Tup(numbers, list))
    return lists.own(low, arithmetic.fsum, xs)


_floats(math.ulp, arithmetic.ulp, 1)


@builtin(math.perm, 1, 2)
def perm(low: Lowering, n: Entity, k: Entity = NONE) -> Entity:
    n = integer(low, n, "math.perm()")
    return lists.own(low, arithmetic.perm, n, n if k == NONE else integer(low, k, "math.perm()"))


@builtin(math.remainder, 2, 2)
def remainder(low: Lowering, x: Entity, y: Entity) -> Entity:
    x, y = real(low, x, "math.remainder()"), real(low, y, "math.remainder()")
    if low.session.raises:
        unknown = OPS["logical_or"](OPS["isnan"](x.value), OPS["isnan"](y.value))
        outside = OPS["logical_or"](OPS["isinf"](x.value), OPS["equal"](y.value, 0.0))
        fine = OPS["logical_or"](unknown, OPS["logical_not"](outside))
        low.builder.call_named("check_that", fine, error="ValueError", message="math domain error")
    return lists.own(low, arithmetic.remainder, x, y)


@builtin(math.ldexp, 2, 2)
def ldexp(low: Lowering, x: Entity, i: Entity) -> Entity:
    x = real(low, x, "math.ldexp()")
    out = lists.own(low, arithmetic.ldexp, x, integer(low, i, "math.ldexp()"))
    return _in_range(low, out, [x.value])


def _in_range(low: Lowering, out: Entity, operands: Sequence[Value]) -> Entity:
    """A result that Python does not give if it is infinite and the operands are not."""
    if low.session.raises:
        check_range(low.builder, low.value(out), operands)
    return out


@builtin(math.isclose, 2, 2, "rel_tol abs_tol")
def isclose(
    low: Lowering, a: Entity, b: Entity, rel_tol: Entity = Const(1e-09), abs_tol: Entity = Const(0.0)
) -> Entity:
    return lists.own(low, arithmetic.isclose, *(real(low, v, "math.isclose()") for v in (a, b, rel_tol, abs_tol)))


@builtin(math.prod, 1, 1, "start")
def prod(low: Lowering, xs: Entity, start: Entity = Const(1)) -> Entity:
    if isinstance(xs, Array | Iteration) or lists.known_items(low, xs) is None:
        return lists.own(low, arithmetic.product, xs, start)
    for item in expressions.items_of(low, xs):
        start = operators.binary(low, "mul", start, item)
    return start


@builtin(math.dist, 2, 2)
def dist(low: Lowering, p: Entity, q: Entity) -> Entity:
    xs, ys = expressions.items_of(low, p), expressions.items_of(low, q)
    if len(xs) != len(ys):
        raise refuse("both points must have the same number of dimensions", low.loc, kind=InferenceError)
    return _hypot(low, [operators.binary(low, "sub", x, y) for x, y in zip(xs, ys, strict=True)], "math.dist()")


@builtin(math.hypot, 0, MANY)
def hypot(low: Lowering, *xs: Entity) -> Entity:
    return _hypot(low, list(xs), "math.hypot()")


def _hypot(low: Lowering, xs: list[Entity], what: str) -> Entity:
    values = [real(low, x, what).value for x in xs]
    if not values:
        return Const(0.0)
    if len(values) == 2:
        return Scalar(OPS["hypot"](*values))
    return lists.own(low, arithmetic.hypot, Tup(tuple(Scalar(v) for v in values)))


def _of_complex(function: Any) -> None:
    @builtin(function, 1, 1)
    def lower(low: Lowering, z: Entity) -> Entity:
        return lists.own(low, getattr(complex_arithmetic, function.__name__), complex_(low, z))


for _named in (
    cmath.exp, cmath.sqrt, cmath.log10, cmath.sin, cmath.cos, cmath.tan, cmath.sinh, cmath.cosh, cmath.tanh,
    cmath.asin, cmath.acos, cmath.atan, cmath.asinh, cmath.acosh, cmath.atanh, cmath.phase, cmath.polar,
    cmath.isfinite, cmath.isinf, cmath.isnan,
):  # fmt: skip
    _of_complex(_named)


@builtin(cmath.log, 1, 2)
def complex_log(low: Lowering, z: Entity, base: Entity = NONE) -> Entity:
    if base == NONE:
        return lists.own(low, complex_arithmetic.log, complex_(low, z))
    return lists.own(low, complex_arithmetic.log_to, complex_(low, z), complex_(low, base))


@builtin(cmath.rect, 2, 2)
def complex_rect(low: Lowering, r: Entity, phi: Entity) -> Entity:
    return lists.own(low, complex_arithmetic.rect, *(real(low, e, "cmath.rect()") for e in (r, phi)))


@builtin(cmath.isclose, 2, 2, "rel_tol abs_tol")
def complex_isclose(
    low: Lowering, a: Entity, b: Entity, rel_tol: Entity = Const(1e-09), abs_tol: Entity = Const(0.0)
) -> Entity:
    tolerances = (real(low, e, "cmath.isclose()") for e in (rel_tol, abs_tol))
    return lists.own(low, complex_arithmetic.isclose, complex_(low, a), complex_(low, b), *tolerances)


@builtin(builtins.round, 1, 2, "ndigits")
def round_(low: Lowering, number: Entity, ndigits: Entity = NONE) -> Entity:
    if isinstance(number, Array) and isinstance(ref_type(low, number), ArrayType):
        raise refuse("type numpy.ndarray doesn't define __round__ method", low.loc, "use np.round", kind=InferenceError)
    value = real_number(low, number, "round()")
    if value.type == ScalarType(BOOL):
        raise refuse("type numpy.bool doesn't define __round__ method", low.loc, kind=InferenceError)
    if ndigits == NONE:
        whole = OPS["rint"](low.builder.cast(value, FLOAT, weak=True)) if value.type.dtype.kind == "f" else value
        return int_(low, Scalar(whole))
    if not getattr(value.type, "weak", False):
        digits = computed(low, operator.index, low.static(ndigits, "the number of digits of a NumPy number"))
        return low.entity(COMPOSITES["round"](value, digits))
    digits = integer(low, ndigits, "round()")
    if value.type.dtype.kind != "f":
        return lists.own(low, arithmetic.round_integer, Scalar(low.builder.cast(value, INT, weak=True)), digits)
    out = OPS["round_float"](value, digits.value)
    if low.session.raises:
        check_range(low.builder, out, [value], "rounded value too large to represent")
    return Scalar(out)


@builtin(builtins.pow, 2, 3)
def pow_(low: Lowering, x: Entity, y: Entity, m: Entity = NONE) -> Entity:
    if m == NONE:
        return operators.binary(low, "power", x, y)
    return lists.own(low, arithmetic.power_modulo, *(integer(low, v, "pow() with a modulus") for v in (x, y, m)))


@builtin(np.errstate, 0, 0, "all divide over under invalid")
def errstate(low: Lowering, /, **kinds: Entity) -> Entity:
    """Warnings of NumPy are not issued anyway; that they become exceptions is refused."""
    for key, kind in kinds.items():
        if low.static(kind, key) not in ("ignore", "warn", None):
            raise refuse(f"np.errstate({key}={describe(kind)}) is not supported", low.loc, "test for it with an if")
    return Const(ERRSTATE)


ERRSTATE = object()
"""What may stand in a `with`."""


def of_range(low: Lowering, function: Any, r: Iteration, *before: Entity) -> Entity:
    """A function of `arithmetic` on the three numbers of a range."""
    return lists.own(low, function, *before, *r.parts)


METHODS = {
    "bit_length": (arithmetic.bit_length, "i"),
    "conjugate": (arithmetic.conjugate, "c"),
    "is_integer": (arithmetic.is_integer, "f"),
}
"""Methods of Python's numbers: what they are, and the kind of number that has them."""


def is_pythons(low: Lowering, entity: Entity) -> bool:
    """Whether something is a number of Python's, not of NumPy's."""
    return isinstance(entity, Const) or (isinstance(entity, Scalar) and is_weak(entity.value.type))


def method_of(value: Value, name: str) -> bool:
    """Whether a number has a method of this name."""
    kinds = METHODS[name][1] if name in METHODS else ""
    return not isinstance(value.type, ArrayType) and value.type.dtype.kind in kinds
