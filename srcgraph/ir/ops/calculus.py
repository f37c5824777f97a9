"""Differences, integrals, interpolation and polynomials on grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import composite, current_builder, sample
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops.compare import equal, greater, less, logical_and, where
from srcgraph.ir.ops.index import add_at, getitem, setitem
from srcgraph.ir.ops.reductions import as_operand, cast_to, demand, one_axis, reduced
from srcgraph.ir.ops.remainders import absolute, maximum, minimum, mod
from srcgraph.ir.ops.searching import searchsorted_array
from srcgraph.ir.ops.sequences import concatenate, cumsum, diff, flat
from srcgraph.ir.ops.shape import dims_of, empty, full, with_new_axes
from srcgraph.ir.ops.shaping import slice_of
from srcgraph.ir.ops.sorting import gather
from srcgraph.ir.ops.vector import add, div, mul, neg, sub
from srcgraph.ir.promote import common_dtype
from srcgraph.ir.types import FLOAT, INT
from srcgraph.ir.view import View


def real_operand(x: Any, what: str, kinds: str) -> Value:
    """An operand whose dtype is of one of these kinds.

    Raises
    ------
    InferenceError
        It is not.
    """
    value = as_operand(x)
    if value.type.dtype.kind not in kinds:
        raise InferenceError(f"{what} of {value.type.dtype} is not supported")
    return value


def _as_floats(x: Any) -> Value:
    value = as_operand(x)
    return cast_to(value, FLOAT) if value.type.dtype.kind in "biu" else value


def _part(x: Value, axis: int, start: Any, count: Value) -> Value:
    return getitem(x, start, count, view=slice_of(x.type.ndim, axis))


def _shorter(x: Value, axis: int, by: int) -> Value:
    """The length along ``axis`` less ``by``, not below 0."""
    size = sub(dims_of(x)[axis], by)
    return size if current_builder().proves(size.type.value) else maximum(size, 0)


def _on_axis(v: Value, ndim: int, axis: int) -> Value:
    """A vector laid along one of ``ndim`` axes."""
    return v if ndim == 1 else with_new_axes(v, [k for k in range(ndim) if k != axis])


# -- differences --------------------------------------------------------------------------------------


@composite("ediff1d", python=np.ediff1d, samples=(sample("f64[4]"), sample("f64[2, 2]"), sample("f64[3]", 1.0, 2.0)))
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Value:
    """Differences of neighbours of the flattened array, with numbers put before and after."""
    b = current_builder()
    x = flat(real_operand(ary, "ediff1d", "iufc"))
    parts = [None if v is None else flat(b.value(v)) for v in (to_begin, to_end)]
    for v in parts:
        if v is not None and not np.can_cast(v.type.dtype, x.type.dtype, "same_kind"):
            raise InferenceError("ediff1d: to_begin and to_end must fit the dtype of the array")
    begin, end = (v if v is None else cast_to(v, x.type.dtype) for v in parts)
    middle = diff(x)
    given = [v for v in (begin, middle, end) if v is not None]
    return middle if len(given) == 1 else concatenate(tuple(given))


_GRADIENTS = (
    sample("f64[5]"),
    sample("f64[5]", 0.5),
    sample("f64[4]", np.array([0.0, 0.3, 1.0, 1.5])),
    sample("f64[3, 4]", axis=1),
    sample("f64[3, 4]", 2.0, np.array([0.0, 1.0, 3.0, 4.0])),
    sample("f64[5]", edge_order=2),
    sample("f64[4]", np.array([0.0, 0.3, 1.0, 1.5]), edge_order=2),
)


@composite("gradient", python=np.gradient, static="axis edge_order", samples=_GRADIENTS)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Derivatives along axes: central differences inside, one-sided ones at the ends.

    References
    ----------
    Fornberg, Mathematics of Computation 51 (1988): weights on uneven grids.
    """
    x = _as_floats(real_operand(f, "gradient", "iufc"))
    axes = (
        [one_axis(k, x.type.ndim) for k in (axis if isinstance(axis, tuple) else (axis,))]
        if axis is not None
        else list(range(x.type.ndim))
    )
    spacings: list[Any] = list(varargs) or [1.0]
    if len(spacings) == 1 and not current_builder().value(spacings[0]).type.ndim:
        spacings = spacings * len(axes)
    if len(spacings) != len(axes) or edge_order not in (1, 2) or not axes:
        raise InferenceError("gradient: one spacing for all axes, or one for each; edge_order is 1 or 2")
    outs = tuple(_derivative(x, k, current_builder().value(h), edge_order) for k, h in zip(axes, spacings, strict=True))
    return outs[0] if len(outs) == 1 else outs


def _derivative(x: Value, axis: int, h: Value, edge_order: int) -> Value:
    """The derivative along one axis."""
    b = current_builder()
    n = dims_of(x)[axis]
    if h.type.ndim:
        message = "when 1d, distances must match the length of the corresponding dimension"
        b.call_named("equal_size", n, dims_of(h)[0], error="ValueError", message=message)
        demand(greater(n, 1), "IndexError", "index 0 is out of bounds for axis 0 with size 0")
    message = "Shape of array too small to calculate a numerical gradient"
    demand(b.call_named("greater_equal", n, edge_order + 1), "ValueError", message)
    b.learn(x.type.shape[axis] - (edge_order + 1))
    inside = sub(n, 2)
    before, middle, after = (_part(x, axis, k, inside) for k in range(3))
    if h.type.ndim:
        if h.type.ndim != 1:
            raise InferenceError("gradient: coordinates must have one axis")
        steps = diff(_as_floats(b.retype(h, [x.type.shape[axis]])))
        inner = _uneven(x, axis, steps, (before, middle, after), inside)
    else:
        steps = None
        inner = div(sub(after, before), mul(2.0, h))
    dtype = x.type.dtype
    out = empty(*dims_of(x), dtype=dtype)
    out = setitem(out, cast_to(inner, dtype), 1, inside, view=slice_of(x.type.ndim, axis))
    first, last = _ends(x, axis, steps, h, edge_order)
    out = with_item(out, axis, b.const(0), cast_to(first, dtype))
    return with_item(out, axis, sub(n, 1), cast_to(last, dtype))


def _uneven(x: Value, axis: int, steps: Value, points: Sequence[Value], count: Value) -> Value:
    """The derivative at the middle of three points with two different steps."""
    before, middle, after = points
    s, t = (_on_axis(_part(steps, 0, k, count), x.type.ndim, axis) for k in (0, 1))
    a = div(neg(t), mul(s, add(s, t)))
    c = div(s, mul(t, add(s, t)))
    return add(add(mul(a, before), mul(div(sub(t, s), mul(s, t)), middle)), mul(c, after))


def _ends(x: Value, axis: int, steps: Value | None, h: Value, edge_order: int) -> tuple[Value, Value]:
    """The derivative at the first and at the last point."""
    b = current_builder()
    n = dims_of(x)[axis]
    first = [item(x, axis, b.const(k)) for k in range(edge_order + 1)]
    last = [item(x, axis, sub(n, k + 1)) for k in range(edge_order + 1)]
    if edge_order == 1:
        h0, h1 = (h, h) if steps is None else (item(steps, 0, b.const(0)), item(steps, 0, sub(n, 2)))
        return div(sub(first[1], first[0]), h0), div(sub(last[0], last[1]), h1)
    if steps is None:
        return _second_order(first, h, h), _second_order(last, neg(h), neg(h))
    left = [item(steps, 0, b.const(k)) for k in (0, 1)]
    right = [neg(item(steps, 0, sub(n, k))) for k in (2, 3)]
    return _second_order(first, *left), _second_order(last, *right)


def _second_order(points: Sequence[Value], s: Value, t: Value) -> Value:
    """The derivative at the first of three points, ``s`` and ``t`` apart."""
    a = div(neg(add(mul(2.0, s), t)), mul(s, add(s, t)))
    b = div(add(s, t), mul(s, t))
    c = div(neg(s), mul(t, add(s, t)))
    return add(add(mul(a, points[0]), mul(b, points[1])), mul(c, points[2]))


# -- integrals ----------------------------------------------------------------------------------------


@composite(
    "trapezoid",
    python=np.trapezoid,
    static="axis",
    samples=(
        sample("f64[4]"),
        sample("f64[4]", dx=0.5),
        sample("f64[4]", np.array([0.0, 0.3, 1.0, 1.5])),
        sample("f64[3, 4]", axis=0),
        sample("f64[3, 4]", np.array([0.0, 0.3, 1.0, 1.5])),
        sample("f64[3, 4]", "f64[3, 4]"),
    ),
)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Value:
    """Integral by the trapezoidal rule along an axis."""
    values = as_operand(y)
    at = one_axis(axis, values.type.ndim)
    count = _shorter(values, at, 1)
    later, earlier = _part(values, at, 1, count), _part(values, at, 0, count)
    if x is None:
        widths: Any = current_builder().value(dx)
    else:
        points = as_operand(x)
        widths = diff(points, axis=0 if points.type.ndim == 1 else axis)
        widths = _on_axis(widths, values.type.ndim, at) if points.type.ndim == 1 else widths
    return reduced(reduce.sum_, div(mul(widths, add(later, earlier)), 2.0), at, False)


# -- interpolation ------------------------------------------------------------------------------------


@composite(
    "interp",
    python=np.interp,
    samples=(
        sample("f64[5]", np.array([-1.0, 0.0, 0.5, 1.2]), "f64[4]"),
        sample(0.3, np.array([-1.0, 0.0, 0.5, 1.2]), "f64[4]"),
        sample("f64[2, 3]", np.array([-1.0, 0.5]), "f64[2]", left=0.0, right=9.0),
        sample("f64[4]", np.array([0.1, 0.45, 0.9]), "f64[3]", period=1.0),
    ),
)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Value:
    """Piecewise linear interpolation between points with increasing coordinates."""
    b = current_builder()
    at, xs, fs = (b.cast(real_operand(v, "interp", "biuf"), FLOAT, False) for v in (x, xp, fp))
    if xs.type.ndim != 1 or fs.type.ndim != 1:
        raise InferenceError("interp: the points must have one axis")
    n = dims_of(xs)[0]
    demand(greater(n, 0), "ValueError", "array of sample points is empty")
    message = "fp and xp are not of the same length."
    b.call_named("equal_size", n, dims_of(fs)[0], error="ValueError", message=message)
    fs = b.retype(fs, [xs.type.shape[0]])
    b.learn(xs.type.shape[0] - 1)
    if period is not None:
        return _periodic(at, xs, fs, b.value(period))
    ends = (v if v is None else b.cast(real_operand(v, "interp", "biuf"), FLOAT, False) for v in (left, right))
    return _between(at, xs, fs, *ends)


def _periodic(at: Value, xs: Value, fs: Value, period: Value) -> Value:
    """Interpolation where everything repeats: points sorted within one period, and one more on each side."""
    b = current_builder()
    length = absolute(period)
    demand(b.call_named("not_equal", period, 0.0), "ValueError", "period must be a non-zero value")
    xs = mod(xs, length)
    order = b.call_named("argsort", xs)
    xs, fs = gather(xs, order), gather(fs, order)
    n = dims_of(xs)[0]
    ends = (sub(item(xs, 0, sub(n, 1)), length), add(item(xs, 0, b.const(0)), length))
    xs = concatenate((flat(ends[0]), xs, flat(ends[1])))
    fs = concatenate((flat(item(fs, 0, sub(n, 1))), fs, flat(item(fs, 0, b.const(0)))))
    b.learn(xs.type.shape[0] - 2)
    return _between(mod(at, length), xs, fs, None, None)


def _between(at: Value, xs: Value, fs: Value, left: Any, right: Any) -> Value:
    """The line between the two points beside each coordinate; constants beyond the ends."""
    b = current_builder()
    n = dims_of(xs)[0]
    last = sub(n, 1)
    first_x, first_f = item(xs, 0, b.const(0)), item(fs, 0, b.const(0))
    last_x, last_f = item(xs, 0, last), item(fs, 0, last)
    flat_at = flat(at)
    above = sub(searchsorted_array(xs, flat_at, "right"), 1)
    low = maximum(minimum(above, b.cast(sub(n, 2), INT, False)), np.int64(0))
    high = minimum(add(low, 1), b.cast(last, INT, False))
    x0, f0, x1, f1 = (gather(v, k) for k in (low, high) for v in (xs, fs))
    single = equal(x1, x0)
    slope = div(sub(f1, f0), where(single, 1.0, sub(x1, x0)))
    inside = add(mul(slope, sub(flat_at, x0)), f0)
    inside = where(b.call_named("isnan", inside), add(mul(slope, sub(flat_at, x1)), f1), inside)
    inside = where(logical_and(b.call_named("isnan", inside), equal(f0, f1)), f0, inside)
    known = where(b.call_named("isfinite", slope), slope, 0.0)
    finite = b.call_named("isfinite", flat_at)
    at_point = [
        add(mul(known, where(finite, sub(flat_at, x), 0.0)), f) for x, f in ((x0, f0), (x1, f1))
    ]  # exactly f, with the slope beside it
    inside = where(
        equal(flat_at, x1), at_point[1], where(equal(flat_at, x0), at_point[0], inside)
    )  # x1: the last point
    out = where(less(flat_at, first_x), first_f if left is None else b.value(left), inside)
    out = where(greater(flat_at, last_x), last_f if right is None else b.value(right), out)
    number = b.call_named("isnan", flat_at)
    if not b.not_one(xs.type.shape[0]):  # the one value there is, also for NaN
        number = logical_and(number, greater(n, 1))
    out = where(number, flat_at, out)
    if not at.type.ndim:
        return item(out, 0, b.const(0))
    return out if at.type.ndim == 1 else b.call_named("reshape", out, *dims_of(at))


@composite(
    "unwrap",
    python=np.unwrap,
    static="axis",
    samples=(
        sample("f64[6]", domain=(-9.0, 9.0)),
        sample("f64[3, 4]", axis=0, domain=(-9.0, 9.0)),
        sample("f64[6]", period=4.0, domain=(-9.0, 9.0)),
    ),
)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Value:
    """Angles without jumps of more than half a period."""
    x = as_operand(p)
    if x.type.dtype.kind != "f":
        raise InferenceError("unwrap takes floats here")
    at = one_axis(axis, x.type.ndim)
    half = div(current_builder().value(period), 2.0)
    jumps = diff(x, axis=at)
    wrapped = sub(mod(add(jumps, half), period), half)
    wrapped = where(logical_and(equal(wrapped, neg(half)), greater(jumps, 0.0)), half, wrapped)
    correction = where(less(absolute(jumps), half if discont is None else discont), 0.0, sub(wrapped, jumps))
    count = _shorter(x, at, 1)
    out = empty(*dims_of(x), dtype=common_dtype([x.type, current_builder().value(period).type]))
    view = slice_of(x.type.ndim, at)
    some = minimum(dims_of(x)[at], 1)
    out = setitem(out, _part(x, at, 0, some), 0, some, view=view)
    return setitem(out, add(_part(x, at, 1, count), cumsum(correction, at)), 1, count, view=view)


# -- polynomials --------------------------------------------------------------------------------------


def _horner(coefficients: Value, x: Value, descending: bool) -> Value:
    """The value of a polynomial by Horner's rule."""
    n = dims_of(coefficients)[0]
    dtype = common_dtype([coefficients.type, x.type])
    zero = dtype.type(0)
    start = full(zero, *dims_of(x)) if x.type.ndim else current_builder().const(zero)

    def step(i: Value, value: Value) -> Sequence[Value]:
        own = item(coefficients, 0, i)
        return (cast_to(add(mul(value, x), own), dtype),)

    return counted(n, [start], step, reverse=not descending)[0]


def _coefficients(p: Any) -> Value:
    x = as_operand(p)
    x = flat(x) if not x.type.ndim else x
    if x.type.ndim != 1:
        raise InferenceError("a polynomial is given by an array of one axis")
    return cast_to(x, x.type.dtype)


_POLY = (sample("f64[4]", "f64[3]"), sample("f64[3]", 0.5), sample("f64[3]", "f64[2, 2]"))


@composite("polyval", python=np.polyval, samples=_POLY)
def polyval(p: Any, x: Any) -> Value:
    """The polynomial with coefficients ``p``, highest power first, at ``x``."""
    value, coefficients = as_operand(x), _coefficients(p)
    if not value.type.ndim:  # NumPy gives an array without axes then, and a number otherwise
        some = greater(dims_of(coefficients)[0], 0)
        demand(some, "ValueError", "a polynomial without coefficients, at a number, is not supported")
    return _horner(coefficients, cast_to(value, value.type.dtype), True)


@composite(
    "polynomial_polyval",
    python=polynomial.polyval,
    samples=(sample("f64[3]", "f64[4]"), sample(0.5, "f64[3]"), sample("f64[2, 2]", "f64[3]")),
)
def polynomial_polyval(x: Any, c: Any) -> Value:
    """The polynomial with coefficients ``c``, lowest power first, at ``x``."""
    value = as_operand(x)
    coefficients = _coefficients(c)
    demand(greater(dims_of(coefficients)[0], 0), "IndexError", "index -1 is out of bounds for axis 0 with size 0")
    return _horner(_as_floats(coefficients), value, False)


def _sum_of(p: Any, q: Any, sign: int) -> Value:
    """The sum or difference of two polynomials, highest power first."""
    b = current_builder()
    x, y = _coefficients(p), _coefficients(q)
    dtype = common_dtype([x.type, y.type])
    n, m = dims_of(x)[0], dims_of(y)[0]
    size = maximum(n, m)
    b.learn(size.type.value)
    out = full(dtype.type(0), size)
    view = View((1,), (0,))
    out = setitem(out, cast_to(x, dtype), sub(size, n), n, view=view)
    y = cast_to(y, dtype)
    return add_at(out, y if sign > 0 else neg(y), sub(size, m), m, view=view)


@composite("polyadd", python=np.polyadd, samples=(sample("f64[4]", "f64[2]"), sample("f64[2]", "f64[3]")))
def polyadd(a1: Any, a2: Any) -> Value:
    """The sum of two polynomials, highest power first."""
    return _sum_of(a1, a2, 1)


@composite("polysub", python=np.polysub, samples=(sample("f64[4]", "f64[2]"), sample("f64[2]", "f64[3]")))
def polysub(a1: Any, a2: Any) -> Value:
    """The difference of two polynomials, highest power first."""
    return _sum_of(a1, a2, -1)


@composite(
    "polyder",
    python=np.polyder,
    static="m",
    views=lambda p, m=1: m == 0,
    samples=(sample("f64[4]"), sample("f64[4]", 2)),
)
def polyder(p: Any, m: int = 1) -> Value:
    """The ``m``-th derivative of a polynomial, highest power first."""
    x = _coefficients(p)
    for _ in range(m):
        count = _shorter(x, 0, 1)
        out = empty(count, dtype=np.result_type(x.type.dtype, INT))

        def step(i: Value, out: Value, x: Value = x, count: Value = count) -> Sequence[Value]:
            power = current_builder().cast(sub(count, i), out.type.dtype, False)
            return (with_item(out, 0, i, cast_to(mul(item(x, 0, i), power), out.type.dtype)),)

        (x,) = counted(count, [out], step)
    return x


@composite(
    "polyint",
    python=np.polyint,
    static="m",
    views=lambda p, m=1, k=0: m == 0,
    samples=(sample("f64[3]"), sample("f64[3]", 2), sample("f64[3]", k=0.5)),
)
def polyint(p: Any, m: int = 1, k: Any = 0) -> Value:
    """The ``m``-th antiderivative of a polynomial, highest power first, with the constant ``k``."""
    b = current_builder()
    x = _coefficients(p)
    x = cast_to(x, np.result_type(x.type.dtype, FLOAT))
    constant = b.cast(b.value(k), x.type.dtype, False)
    if constant.type.ndim:
        raise InferenceError("polyint takes one constant here")
    for _ in range(m):
        n = dims_of(x)[0]
        out = empty(add(n, 1), dtype=x.type.dtype)

        def step(i: Value, out: Value, x: Value = x, n: Value = n) -> Sequence[Value]:
            power = b.cast(sub(n, i), x.type.dtype, False)
            return (with_item(out, 0, i, div(item(x, 0, i), power)),)

        (out,) = counted(n, [out], step)
        x = with_item(out, 0, n, constant)
    return x


@composite(
    "vander",
    python=np.vander,
    static="increasing",
    samples=(sample("f64[3]"), sample("f64[3]", 4), sample("f64[2]", 3, increasing=True)),
)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Value:  # noqa: N803 (NumPy's names)
    """The powers of each number in a row, highest first."""
    b = current_builder()
    values = as_operand(x)
    if values.type.ndim != 1:
        raise InferenceError("vander takes an array of one axis")
    n = dims_of(values)[0]
    columns = n if N is None else b.cast(b.value(N), INT, weak=True)
    dtype = np.result_type(values.type.dtype, INT)
    values = cast_to(values, dtype)
    if not b.proves(columns.type.value):
        demand(b.call_named("greater_equal", columns, 0), "ValueError", "negative dimensions are not allowed")
        b.learn(columns.type.value)
    out = empty(n, columns, dtype=dtype)

    def step(j: Value, power: Value, out: Value) -> Sequence[Value]:
        at = j if increasing else sub(sub(columns, 1), j)
        return mul(power, values), with_item(out, 1, at, power)

    return counted(columns, [full(dtype.type(1), n), out], step)[1]
