"""NumPy functions built from elementwise ops and products: where, clip, dot, norm and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import composite, current_builder, sample
from srcgraph.ir.ops import linalg, reduce
from srcgraph.ir.ops.compare import equal, less, less_equal, logical_and, where
from srcgraph.ir.ops.elementwise import absolute, maximum, minimum, power, rint, sign, sin
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.reductions import as_operand, cast_to, mean, reduced
from srcgraph.ir.ops.searching import nonzero
from srcgraph.ir.ops.sequences import flat
from srcgraph.ir.ops.shape import arange, dims_of
from srcgraph.ir.ops.vector import add, cast, div, literal, mul, sub
from srcgraph.ir.promote import resolve
from srcgraph.ir.types import BOOL, FLOAT, ScalarType
from srcgraph.ir.view import View


def numpy_operands(*xs: Any) -> list[Value]:
    """Operands as NumPy sees them: alone, Python's numbers become NumPy's."""
    b = current_builder()
    values = [b.value(x) for x in xs]
    if all(isinstance(v.type, ScalarType) and v.type.weak for v in values):
        return [b.cast(v, v.type.dtype, False) for v in values]
    return values


@composite(
    "where_array",
    python=np.where,
    samples=(sample("b1[3]", "f64[3]", "f64"), sample("b1[3, 1]", "f64[4]", "f32[3, 4]")),
)
def where_array(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``x`` where the condition holds, else ``y``; of a condition alone, where it holds, as `nonzero`."""
    b = current_builder()
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise InferenceError("where takes both x and y, or neither")
    test, *branches = (b.value(v) for v in (condition, x, y))
    if test.type.dtype != np.bool_:
        test = b.call_named("not_equal", test, 0)
    chosen = where(test, *branches)
    return b.cast(chosen, chosen.type.dtype, False)


@composite(
    "clip",
    python=np.clip,
    method="clip",
    samples=(sample("f64[5]", -0.5, 0.5), sample("f64[5]", "f64[5]", None), sample("f64[3]", None, 0.2)),
)
def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Value:
    """``a`` limited to an interval; at an edge the derivative is shared."""
    (out,) = numpy_operands(a)
    if a_min is not None:
        out = maximum(out, a_min)
    return out if a_max is None else minimum(out, a_max)


@composite(
    "dot",
    python=np.dot,
    method="dot",
    samples=(sample("f64[3]", "f64[3]"), sample("f64[2, 3]", "f64[3]"), sample("f64", "f64[3]")),
)
def dot(a: Any, b: Any) -> Value:
    """Matrix product of operands of up to two axes; the product if one is a number."""
    x, y = numpy_operands(a, b)
    if x.type.ndim == 0 or y.type.ndim == 0:
        return mul(x, y)
    return linalg.product(x, y)


@composite("matmul_array", python=np.matmul, samples=(sample("f64[2, 3]", "f64[3, 2]"), sample("f64[3]", "f64[3]")))
def matmul_array(x1: Any, x2: Any) -> Value:
    """Matrix product of operands of one or two axes."""
    return linalg.product(*numpy_operands(x1, x2))


@composite("inner", python=np.inner, samples=(sample("f64[3]", "f64[3]"), sample("f64[2, 3]", "f64[4, 3]")))
def inner(a: Any, b: Any) -> Value:
    """Sum of products over the last axes."""
    x, y = numpy_operands(a, b)
    if x.type.ndim == 0 or y.type.ndim == 0:
        return mul(x, y)
    return linalg.product(x, linalg.transpose(y) if y.type.ndim == 2 else y)


@composite("vdot", python=np.vdot, samples=(sample("f64[3]", "f64[3]"), sample("f64[2, 3]", "f64[2, 3]")))
def vdot(a: Any, b: Any) -> Value:
    """Sum of products of all elements."""
    x, y = numpy_operands(a, b)
    return linalg.product(flat(x), flat(y))


@composite("outer", python=np.outer, samples=(sample("f64[3]", "f64[2]"),))
def outer(a: Any, b: Any) -> Value:
    """All products of an element of ``a`` and one of ``b``."""
    x, y = (flat(v) for v in numpy_operands(a, b))
    return mul(getitem(x, view=View((":",), (0, None))), getitem(y, view=View((":",), (None, 0))))


@composite("trace", python=np.trace, method="trace", samples=(sample("f64[3, 3]"), sample("f64[2, 3]")))
def trace(a: Any) -> Value:
    """Sum of the diagonal of a matrix."""
    if current_builder().value(a).type.ndim != 2:
        raise ShapeError("trace takes a matrix: an array of two axes")
    return reduced(reduce.sum_, diagonal(a), None, False)


@composite("diagonal", python=(np.diagonal, np.diag), samples=(sample("f64[3, 3]"), sample("f64[2, 3]")))
def diagonal(a: Any) -> Value:
    """The diagonal of a matrix, or the matrix with a diagonal (a new array)."""
    b = current_builder()
    (x,) = numpy_operands(a)
    if x.type.ndim == 1:
        (n,) = dims_of(x)
        i = arange(np.int64(0), np.int64(1), n)
        hit = equal(getitem(i, view=View((":",), (0, None))), getitem(i, view=View((":",), (None, 0))))
        return where(hit, x, x.type.dtype.type(0))
    if x.type.ndim != 2:
        raise InferenceError("diagonal takes an array of one or two axes")
    rows, columns = dims_of(x)
    if rows.type != columns.type:
        count = minimum(rows, columns)
        corner = View((1, 1), (0, 1))
        x = getitem(x, 0, count, 0, count, view=corner)
    (n, _) = dims_of(x)
    i = arange(np.int64(0), np.int64(1), n)
    hit = equal(getitem(i, view=View((":",), (0, None))), getitem(i, view=View((":",), (None, 0))))
    zero = x.type.dtype.type(0)
    return b.call_named("sum", where(hit, x, zero), axes=(1,))


def _triangle(m: Any, k: int, keep: Any) -> Value:
    (x,) = numpy_operands(m)
    rows, columns = dims_of(x)
    i = arange(np.int64(k), np.int64(1), rows)
    j = arange(np.int64(0), np.int64(1), columns)
    hit = keep(getitem(j, view=View((":",), (None, 0))), getitem(i, view=View((":",), (0, None))))
    return where(hit, x, x.type.dtype.type(0))


@composite("tril", python=np.tril, static="k", samples=(sample("f64[3, 3]"), sample("f64[3, 4]", k=1)))
def tril(m: Any, k: int = 0) -> Value:
    """The lower triangle of a matrix, zeros above."""
    return _triangle(m, k, less_equal)


@composite("triu", python=np.triu, static="k", samples=(sample("f64[3, 3]"), sample("f64[3, 4]", k=-1)))
def triu(m: Any, k: int = 0) -> Value:
    """The upper triangle of a matrix, zeros below."""
    return _triangle(m, k, lambda j, i: less_equal(i, j))


@composite("power_array", python=np.power, samples=(sample("f64[3]", "f64[3]", domain=(0.3, 2.0)), sample("i64[3]", 2)))
def power_array(x1: Any, x2: Any) -> Value:
    """``x1**x2``; of integers, a negative exponent raises."""
    x, y = numpy_operands(x1, x2)
    check_integer_power(x, y)
    return power(x, y)


def check_integer_power(x: Value, y: Value) -> None:
    """NumPy raises where an integer would be raised to a negative power."""
    b = current_builder()
    known = literal(b, y)
    if x.type.dtype.kind not in "iub" or y.type.dtype.kind != "i" or (known is not None and known >= 0):
        return
    fine = b.call_named("greater_equal", y, 0)
    if fine.type.ndim:
        fine = b.cast(b.call_named("all", fine, axes=tuple(range(fine.type.ndim))), BOOL, weak=True)
    message = "Integers to negative integer powers are not allowed."
    b.call_named("check_that", fine, error="ValueError", message=message)


@composite("float_power", python=np.float_power, samples=(sample("f32[3]", "f32[3]", domain=(0.3, 2.0)), sample(3, 2)))
def float_power(x1: Any, x2: Any) -> Value:
    """``x1**x2`` in float64."""
    return power(*(cast_to(v, FLOAT) for v in numpy_operands(x1, x2)))


@composite("sign_of", python=np.sign, samples=(sample("f64[3]"), sample("f32"), sample("i32[3]"), sample("u8[3]")))
def sign_of(x: Any) -> Value:
    """-1, 0 or 1 with the sign of ``x``; 0.0 for both zeros."""
    (value,) = numpy_operands(x)
    dtype = value.type.dtype
    if dtype.kind == "u":
        return cast_to(current_builder().call_named("greater", value, 0), dtype)
    return add(sign(value), dtype.type(0)) if dtype.kind == "f" else sign(value)


@composite("sinc", python=np.sinc, samples=(sample("f64[3]"),))
def sinc(x: Any) -> Value:
    """``sin(pi x) / (pi x)``, 1 at 0."""
    (value,) = numpy_operands(x)
    zero = equal(value, 0)
    angle = mul(np.pi, where(zero, 1.0, value))
    return where(zero, 1.0, div(sin(angle), angle))


@composite("heaviside", python=np.heaviside, samples=(sample("f64[3]", 0.5),))
def heaviside(x1: Any, x2: Any) -> Value:
    """0 below zero, 1 above, ``x2`` at it."""
    x, y = numpy_operands(x1, x2)
    resolve(np.heaviside, [x.type, y.type])  # raises where NumPy would use another dtype
    step = where(less(x, 0), 0.0, where(equal(x, 0), y, 1.0))
    return where(current_builder().call_named("isnan", x), x, step)


@composite(
    "round",
    python=(np.round, np.around),
    method="round",
    static="decimals",
    samples=(sample("f64[3]"), sample("f64[3]", decimals=2)),
)
def round_array(a: Any, decimals: int = 0) -> Value:
    """Nearest number with ``decimals`` decimals, halves to even; derivative 0."""
    (x,) = numpy_operands(a)
    if x.type.dtype.kind in "iu":
        return x
    if decimals == 0 or x.type.dtype.kind == "b":
        return rint(x)
    scale = x.type.dtype.type(10.0 ** abs(decimals))
    return div(rint(mul(x, scale)), scale) if decimals > 0 else mul(rint(div(x, scale)), scale)


@composite("ptp", python=np.ptp, static="axis keepdims", samples=(sample("f64[4]"), sample("f64[3, 4]", axis=0)))
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Largest minus smallest element along axes."""
    x = as_operand(a)
    return sub(reduced(reduce.max_, x, axis, keepdims), reduced(reduce.min_, x, axis, keepdims))


@composite("average", python=np.average, static="axis", samples=(sample("f64[4]"), sample("f64[4]", weights="f64[4]")))
def average(a: Any, axis: Any = None, weights: Any = None) -> Value:
    """Mean, weighted if weights are given."""
    x = as_operand(a)
    if weights is None:
        return mean(x, axis)
    w = as_operand(weights)
    return div(reduced(reduce.sum_, mul(x, w), axis, False), reduced(reduce.sum_, w, axis, False))


@composite("nan_to_num", python=np.nan_to_num, static="nan", samples=(sample("f64[3]"),))
def nan_to_num(x: Any, nan: float = 0.0) -> Value:
    """NaN replaced by a number and infinities by the largest finite numbers."""
    b = current_builder()
    (value,) = numpy_operands(x)
    if value.type.dtype.kind != "f":
        return value
    info = np.finfo(value.type.dtype)
    dtype = value.type.dtype.type
    out = where(b.call_named("isnan", value), dtype(nan), value)
    out = where(equal(value, dtype(np.inf)), info.max, out)
    return where(equal(value, dtype(-np.inf)), info.min, out)


@composite(
    "isclose", python=np.isclose, static="rtol atol", samples=(sample("f64[3]", "f64[3]"), sample("f64[3]", "float"))
)
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Value:
    """Whether numbers agree within ``atol + rtol * abs(b)``."""
    builder = current_builder()
    x, y = numpy_operands(a, b)
    x, y = (v if v.type.dtype.kind == "f" else builder.cast(v, FLOAT, False) for v in (x, y))
    near = less_equal(absolute(sub(x, y)), add(atol, mul(rtol, absolute(y))))
    finite = logical_and(builder.call_named("isfinite", x), builder.call_named("isfinite", y))
    return where(finite, near, equal(x, y))


@composite("allclose", python=np.allclose, static="rtol atol", samples=(sample("f64[3]", "f64[3]"),))
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Value:
    """Whether all numbers agree within ``atol + rtol * abs(b)``, a Python bool."""
    near = isclose(a, b, rtol, atol)
    out = near if near.type.ndim == 0 else reduced(reduce.all_, near, None, False)
    return cast(out, dtype=np.dtype(bool), weak=True)


@composite(
    "trapezoid",
    python=np.trapezoid,
    static="dx",
    samples=(sample("f64[4]"), sample("f64[4]", dx=0.5), sample("f64[4]", np.array([0.0, 0.3, 1.0, 1.5]))),
)
def trapezoid(y: Any, x: Any = None, dx: float = 1.0) -> Value:
    """Integral by the trapezoidal rule, of numbers along one axis."""
    b = current_builder()
    values = as_operand(y)
    size = maximum(sub(dims_of(values)[-1], 1), 0)
    view = View((1,), (0,))
    if values.type.ndim != 1:
        raise InferenceError("trapezoid takes an array of one axis")
    means = mul(0.5, add(getitem(values, 1, size, view=view), getitem(values, 0, size, view=view)))
    if x is None:
        return mul(dx, b.call_named("sum", means, axes=(0,)))
    at = as_operand(x)
    widths = sub(getitem(at, 1, size, view=view), getitem(at, 0, size, view=view))
    return b.call_named("sum", mul(widths, means), axes=(0,))


@composite("positive", python=np.positive, samples=(sample("f64[3]"),))
def positive(x: Any) -> Value:
    """``x`` itself, as a new array."""
    (value,) = numpy_operands(x)
    resolve(np.positive, [value.type])  # raises for bools
    return value if value.type.ndim == 0 else current_builder().call_named("copy", value)


@composite("nansum", python=np.nansum, static="axis keepdims", samples=(sample("f64[4]"), sample("f64[3, 4]", axis=0)))
def nansum(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Sum along axes, NaN counted as 0."""
    x = as_operand(a)
    zero = x.type.dtype.type(0)
    return reduced(reduce.sum_, where(current_builder().call_named("isnan", x), zero, x), axis, keepdims)


@composite(
    "nanmean", python=np.nanmean, static="axis keepdims", samples=(sample("f64[4]"), sample("f64[3, 4]", axis=1))
)
def nanmean(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Mean along axes of what is not NaN."""
    x = as_operand(a)
    missing = current_builder().call_named("isnan", x)
    one, zero = x.type.dtype.type(1), x.type.dtype.type(0)
    count = reduced(reduce.sum_, where(missing, zero, one), axis, keepdims)
    return div(reduced(reduce.sum_, where(missing, zero, x), axis, keepdims), count)
