"""Matrix products."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.ir.dims import Dim
from srcgraph.ir.dims import product as product_of
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import NoDerivative, current_builder, define, sample
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops._rules import conjugated, total
from srcgraph.ir.ops.index import getitem, numpy_view
from srcgraph.ir.ops.shape import broadcast_to, dims_of, empty, reshape
from srcgraph.ir.ops.vector import mul
from srcgraph.ir.types import PY_INT, ArrayType, Type, is_inexact, tensor
from srcgraph.ir.view import View, transposed, whole


def _matmul_type(x: ArrayType, y: ArrayType) -> Type:
    if x.shape[-1] != y.shape[0]:
        raise ShapeError(f"matmul: {x} and {y} do not fit: {x.shape[-1]} columns, {y.shape[0]} rows")
    shape = x.shape[:-1] + y.shape[1:]
    return tensor(x.dtype, shape, array=bool(shape))


def _matmul_jvp(tangents: Any, out: Value, x: Value, y: Value) -> Value | None:
    tx, ty = tangents
    return total([matmul(a, b) for a, b in ((tx, y), (x, ty)) if a is not None and b is not None])


def _matmul_vjp(ct: Value, out: Value, x: Value, y: Value) -> tuple[Value | None, Value | None]:
    """``ct y^H`` and ``x^H ct``, where a vector stands for a row on the left, a column on the right."""
    if x.type.ndim == 1 and y.type.ndim == 1:
        return mul(ct, conjugated(y)), mul(ct, conjugated(x))
    x, y = conjugated(x), conjugated(y)
    by_x = by_y = None
    if is_inexact(x.type):
        by_x = outer(ct, y) if y.type.ndim == 1 else matmul(ct, transpose(y))
        if x.type.ndim == 1:
            by_x = matmul(y, ct)
    if is_inexact(y.type):
        by_y = outer(x, ct) if x.type.ndim == 1 else matmul(transpose(x), ct)
    return by_x, by_y


def outer(x: Value, y: Value) -> Value:
    """All products of an element of ``x`` and one of ``y``."""
    return mul(getitem(x, view=View((":",), (0, None))), getitem(y, view=View((":",), (None, 0))))


def transpose(x: Value) -> Value:
    """``x.T``."""
    ndim = x.type.ndim
    return getitem(x, view=transposed(ndim, range(ndim)[::-1]))


matmul = define(
    name="matmul",
    doc="Matrix product of operands of one or two axes.",
    infer=_matmul_type,
    numpy=np.matmul,
    python=(operator.matmul,),
    kind="library",
    jvp=_matmul_jvp,
    vjp=_matmul_vjp,
    emit={"cpu": "matmul", "cpu_exact": "matmul_exact"},
    helpers="products",
    heavy=True,
    through_complex=True,
    samples=(
        sample("i64[3, 4]", "i64[4, 2]"),
        sample("i32[4]", "i32[4]"),
        sample("b1[3, 4]", "b1[4]"),
        sample("f64[3, 4]", "f64[4, 2]"),
        sample("f64[3, 4]", "f64[4]"),
        sample("f64[4]", "f64[4, 2]"),
        sample("f64[4]", "f64[4]"),
    ),
)


CHANGED_BY = 5
"""The first operands of ops that change a part of an array: that array, and what by. The part's follow."""
SMALL = 16
"""The longest axis of a small matrix."""


def is_small_product(node: Apply) -> bool:
    """Whether what a product adds up is known to be short, and all but one of the axes left: loops do that."""
    x, y = (v.type.shape for v in node.inputs)
    others = [d.const for d in (*x[:-1], *y[1:])]
    short = [d for d in others if d is not None and d <= SMALL]
    added = y[0].const
    return added is not None and added <= SMALL and len(short) >= len(others) - (added <= SMALL // 2)


def _added_product(base: Any, x: Any, y: Any, alpha: float, beta: float, *operands: int, view: View) -> Any:
    out = base.copy()
    part = numpy_view(out, operands, view)
    part[...] = alpha * np.matmul(x, y) + (0 if beta == 0 else beta * part)
    return out


add_product = define(
    name="add_product",
    doc="``beta * part + alpha * (x @ y)`` in place of a part of ``base``, which does not matter where beta is 0.",
    infer=lambda base, x, y, alpha, beta, *operands, view: base,
    numpy=_added_product,
    kind="library",
    jvp=NoDerivative("products are added up in memory when all derivatives are taken"),
    vjp=NoDerivative("products are added up in memory when all derivatives are taken"),
    emit={"cpu": "add_product"},
    helpers="products",
    heavy=True,
    changes=True,
    samples=(
        sample("f64[3, 2]", "f64[3, 4]", "f64[4, 2]", "float", "float", view=whole(2)),
        sample("f32[3, 2]", "f32[3, 4]", "f32[4, 2]", 1.0, 1.0, view=whole(2)),
        sample("f64[3]", "f64[3, 4]", "f64[4]", -1.0, 0.5, view=whole(1)),
        sample("f64[5, 2]", "f64[4]", "f64[4, 2]", 2.0, 0.0, 3, view=View(("i", ":"), (0,))),
        sample("f64[5]", "f64[3, 4]", "f64[4]", 2.0, 0.5, 1, 3, view=View((1,), (0,))),
    ),
)
CACHED = 2**19
"""So many bytes of a matrix stay in a core's cache while they are used again."""
FEWEST = 16
"""So many rows at least are worth a call of a library."""


def _rows_at_once(x: np.ndarray) -> int:
    return max(FEWEST, CACHED // max(1, x.shape[1] * x.itemsize))


rows_at_once = define(
    name="rows_at_once",
    doc="How many rows of a matrix are worked on while they are in the cache.",
    infer=lambda x: PY_INT,
    numpy=_rows_at_once,
    kind="library",
    emit={"cpu": "rows_at_once"},
    helpers="products",
    learn=lambda out, x: [out.type.value - 1],
    samples=(sample("f64[3, 4]"),),
)


def product(x: Value, y: Value) -> Value:
    """``x @ y``, its inner lengths checked at run time where they are not known to be equal.

    Raises
    ------
    InferenceError
        An operand has no axis.
    """
    b = current_builder()
    for v in (x, y):
        if not v.type.ndim:
            raise InferenceError(f"a matrix product takes arrays of at least one axis, not {v.type}")
    if max(x.type.ndim, y.type.ndim) > 2:
        return _stacked_product(x, y)
    inner, rows = x.type.shape[-1], y.type.shape[0]
    if inner != rows:
        message = "matmul: the operands do not fit: {x} columns, {y} rows"
        b.call_named("equal_size", b.dim_value(inner), b.dim_value(rows), error="ValueError", message=message)
        y = b.retype(y, [inner, *y.type.shape[1:]])
    dtype = np.result_type(x.type.dtype, y.type.dtype)
    return matmul(b.cast(x, dtype), b.cast(y, dtype))


def _stacked_product(x: Value, y: Value) -> Value:
    """Products of the matrices along the last two axes; the axes before those broadcast."""
    from_left, from_right = x.type.ndim == 1, y.type.ndim == 1
    x = getitem(x, view=View((":",), (None, 0))) if from_left else x
    y = getitem(y, view=View((":",), (0, None))) if from_right else y
    out = _rows_of_all(x, y) if y.type.ndim == 2 else _each_with_each(x, y)
    ndim = out.type.ndim
    if from_left or from_right:
        gone = ndim - 2 if from_left else ndim - 1
        axes = tuple("i" if k == gone else ":" for k in range(ndim))
        out = getitem(out, 0, view=View(axes, tuple(range(ndim - 1))))
    return out


def _rows_of_all(x: Value, y: Value) -> Value:
    """A stack of matrices times one matrix: one product with all rows below each other."""
    b = current_builder()
    *lead, inner = dims_of(x)
    rows = reshape(x, b.dim_value(product_of(v.type.value for v in lead)), inner)
    out = product(rows, y)
    return reshape(out, *lead, dims_of(out)[1])


def _each_with_each(x: Value, y: Value) -> Value:
    """A product per index of the axes before the last two."""
    b = current_builder()
    shared = _common_lead(x.type.shape[:-2], y.type.shape[:-2])
    lead = [b.dim_value(d) for d in shared]
    count = b.dim_value(product_of(shared))
    stacks = []
    for v in (x, y):
        own = v.type.shape[:-2]
        v = b.fit(v, [*shared[len(shared) - len(own) :], *v.type.shape[-2:]])
        v = broadcast_to(v, *lead, *dims_of(v)[-2:])
        stacks.append(v if len(lead) == 1 else reshape(v, count, *dims_of(v)[-2:]))
    left, right = stacks
    (_, rows, inner), (_, others, columns) = dims_of(left), dims_of(right)
    if inner.type != others.type:
        message = "matmul: the operands do not fit: {x} columns, {y} rows"
        b.call_named("equal_size", inner, others, error="ValueError", message=message)
        right = b.retype(right, [right.type.shape[0], left.type.shape[2], right.type.shape[2]])
    dtype = np.result_type(x.type.dtype, y.type.dtype)
    left, right = b.cast(left, dtype), b.cast(right, dtype)

    def step(i: Value, out: Value) -> list[Value]:
        return [with_item(out, 0, i, matmul(item(left, 0, i), item(right, 0, i)))]

    (out,) = counted(count, [empty(count, rows, columns, dtype=dtype)], step)
    return out if len(lead) == 1 else reshape(out, *lead, rows, columns)


def _common_lead(left: tuple[Dim, ...], right: tuple[Dim, ...]) -> list[Dim]:
    """The lengths that the axes before the last two broadcast to."""
    b = current_builder()
    ndim = max(len(left), len(right))
    out = []
    for k in range(-ndim, 0):
        sizes = [s[k] for s in (left, right) if len(s) >= -k]
        sizes = list(dict.fromkeys(d for d in sizes if d != 1)) or [sizes[0]]
        out.append(sizes[0] if len(sizes) == 1 else b.joint_size(*sizes))
    return out
