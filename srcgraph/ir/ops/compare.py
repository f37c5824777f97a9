"""Comparisons, logic and selection. Nothing here has a derivative but `where`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, Op, define, sample
from srcgraph.ir.ops._rules import binary, unary
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.promote import Elementwise, Loop, broadcast_shapes, common_dtype, is_weak, resolve
from srcgraph.ir.types import BOOL, FLOAT, INT, ScalarType, TensorType, is_inexact

UINT = np.dtype(np.uint64)
_WITHIN_64_BITS = frozenset(map(np.dtype, (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32)))


def _with_a_sign(builder: Any, inputs: tuple[Value, ...], symbol: str, python: Any) -> Value:
    """A comparison of a signed with an unsigned integer, which numba makes in floats."""
    signs = [0 if v.type.dtype == UINT else -1 for v in inputs]
    negative = less(inputs[signs.index(-1)], 0)
    x, y = (builder.cast(v, UINT) for v in inputs)
    sizes = builder.call(_COMPARISONS[symbol], (x, y))
    if python(*signs):
        return logical_or(negative, sizes)
    return logical_and(logical_not(negative), sizes)


def _comparison(function: np.ufunc, symbol: str, python: Any, doc: str, holds: Any = None) -> Op:
    """A comparison; ``holds(difference)`` decides it where the operands' difference is a constant."""

    def simplify(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
        if {v.type.dtype for v in inputs} == {INT, UINT}:
            return _with_a_sign(builder, inputs, symbol, python)
        x, y = (getattr(v.type, "value", None) for v in inputs)
        if x is None or y is None or not all(getattr(v.type, "weak", False) for v in inputs):
            return None
        difference = (x - y).const
        return None if difference is None else builder.const(bool(holds(difference)))

    def loop(types: Sequence[TensorType]) -> Loop:
        if symbol in ("<", "<=", ">", ">=") and any(t.dtype.kind == "c" for t in types):
            raise InferenceError(f"{symbol} is not defined for complex numbers")
        if any(map(is_weak, types)) and all(t.dtype in _WITHIN_64_BITS for t in types):
            return (INT, INT), BOOL  # NumPy compares exactly where Python's integer does not fit the other's dtype
        if any(t.dtype == np.uint64 for t in types):  # beside a signed integer of 64 bits: exactly, too
            types = [ScalarType(INT) if is_weak(t) and t.dtype == INT else t for t in types]
        return resolve(function, types)

    return binary(
        function,
        None,
        f"x {symbol} y",
        doc=doc,
        infer=Elementwise(loop),
        python=(function, python),
        simplify=simplify,
        samples=(sample("f64[3, 4]", "f64[4]"), sample("int", "float"), sample("f32[3]", "float")),
    )


less = _comparison(np.less, "<", operator.lt, "``x < y``.", lambda d: d < 0)
less_equal = _comparison(np.less_equal, "<=", operator.le, "``x <= y``.", lambda d: d <= 0)
greater = _comparison(np.greater, ">", operator.gt, "``x > y``.", lambda d: d > 0)
greater_equal = _comparison(np.greater_equal, ">=", operator.ge, "``x >= y``.", lambda d: d >= 0)
equal = _comparison(np.equal, "==", operator.eq, "``x == y``.", lambda d: d == 0)
not_equal = _comparison(np.not_equal, "!=", operator.ne, "``x != y``.", lambda d: d != 0)


def _unused_meaning(x: Any, y: Any) -> Any:
    return np.equal(x, y)


def _hypot_comparison(op: Op, symbol: str, compared: Any) -> Op:
    return define(
        name=f"hypot_{op.name}",
        doc=f"``np.hypot(x, y) {symbol} bound``: by squares, where these are not too close.",
        infer=Elementwise(lambda types: ((FLOAT, FLOAT, FLOAT), BOOL)),
        numpy=lambda x, y, bound: compared(np.hypot(x, y), bound),
        emit={"cpu": f"hypot_{op.name}(x, y, z)"},
        helpers="hypots",
        samples=(sample("float", "float", "float"), sample("f64[3]", "f64[3]", "f64")),
    )


for _op, _symbol, _compared in (
    (less, "<", operator.lt),
    (less_equal, "<=", operator.le),
    (greater, ">", operator.gt),
    (greater_equal, ">=", operator.ge),
):
    _hypot_comparison(_op, _symbol, _compared)


unused = binary(
    np.equal,
    None,
    "x == y",
    doc="Whether a cotangent is 0, as it is of what nothing used; what that contributes is then 0, beside an infinite "
    "derivative, too. Unlike `equal` it says so to derivatives of derivatives.",
    name="unused",
    python=(_unused_meaning,),
    samples=(sample("f64[3, 4]", "f64[4]"), sample("f32[3]", "float")),
)

_COMPARISONS = {"<": less, "<=": less_equal, ">": greater, ">=": greater_equal, "==": equal, "!=": not_equal}


def _as_bools(types: Any) -> Any:
    return (BOOL,) * len(types), BOOL


def _decided(absorbing: bool) -> Any:
    """`and`/`or` with a literal operand."""

    def simplify(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
        for x, y in (inputs, inputs[::-1]):
            known = literal(builder, x)
            if known is not None and y.type.ndim == 0 and x.type == y.type:
                return x if bool(known) is absorbing else y
        return inputs[0] if inputs[0] is inputs[1] else None

    return simplify


def _not_twice(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    node = builder.definition(inputs[0])
    return node.inputs[0] if node is not None and node.op is logical_not else None


_BOOLS = (sample("b1[3, 4]", "b1[4]"), sample("bool", "bool"))
logical_and = binary(
    np.logical_and,
    None,
    "x and y",
    doc="Truth of ``x and y``, elementwise.",
    infer=Elementwise(_as_bools),
    simplify=_decided(False),
    commutative=True,
    samples=_BOOLS,
)
logical_or = binary(
    np.logical_or,
    None,
    "x or y",
    doc="Truth of ``x or y``, elementwise.",
    infer=Elementwise(_as_bools),
    simplify=_decided(True),
    commutative=True,
    samples=_BOOLS,
)
logical_xor = binary(
    np.logical_xor,
    None,
    "x != y",
    doc="Truth of exactly one of ``x`` and ``y``, elementwise.",
    infer=Elementwise(_as_bools),
    commutative=True,
    samples=_BOOLS,
)
logical_not = unary(
    np.logical_not,
    None,
    "not x",
    doc="Truth of ``not x``, elementwise.",
    python=(np.logical_not, operator.not_),
    infer=Elementwise(_as_bools),
    simplify=_not_twice,
    samples=(sample("b1[3]"), sample("bool")),
)


def _test(name: str, doc: str, join: str = "logical_or") -> Op:
    """A test of floats; ``join`` says what it is of a complex number, from its parts."""

    def of_parts(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
        (x,) = inputs
        if x.type.dtype.kind != "c":
            return None
        return OPS[join](*(OPS[name](OPS[part](x)) for part in ("real", "imag")))

    function = getattr(np, name)
    samples = (sample("f64[3]"), sample("c128[3]"))
    return unary(function, None, f"math.{name}(x)", doc=doc, simplify=of_parts, samples=samples)


isnan = _test("isnan", "Whether ``x`` is not a number.")
isfinite = _test("isfinite", "Whether ``x`` is neither infinite nor NaN.", "logical_and")
isinf = _test("isinf", "Whether ``x`` is infinite.")


def _where_loop(types: Any) -> Any:
    out = common_dtype(types[1:])
    return (BOOL, out, out), out


def _where_meaning(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, x, y)[()]


def _where_jvp(tangents: Any, out: Value, c: Value, x: Value, y: Value) -> Value | None:
    _, tx, ty = tangents
    if tx is None and ty is None:
        return None
    return where(c, 0.0 if tx is None else tx, 0.0 if ty is None else ty)


def _where_vjp(ct: Value, out: Value, c: Value, x: Value, y: Value) -> tuple[Value | None, ...]:
    if not is_inexact(out.type):
        return (None, None, None)
    return (None, where(c, ct, 0.0), where(c, 0.0, ct))


def _chosen(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    c, x, y = inputs
    known = literal(builder, c)
    chosen = x if known else y
    if known is not None and chosen.type.shape == broadcast_shapes([x.type.shape, y.type.shape]):
        return builder.cast(chosen, common_dtype([x.type, y.type]), is_weak(x.type) and is_weak(y.type))
    if x is not y or x.type.ndim >= c.type.ndim:
        return x if x is y else None
    return None if x.type.ndim else builder.apply(OPS["full"], (x, *map(builder.dim_value, c.type.shape)), {})


where = define(
    name="where",
    doc="``x`` where ``condition`` holds, else ``y``; see numpy.where.",
    infer=Elementwise(_where_loop),
    numpy=_where_meaning,
    jvp=_where_jvp,
    vjp=_where_vjp,
    emit={"cpu": "y if x else z"},
    simplify=_chosen,
    through_complex=True,
    samples=(sample("b1[3]", "f64[3]", "f64"), sample("b1[3, 1]", "f64[4]", "f32[3, 4]")),
)
