"""Diagonals and triangles of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import composite, current_builder, sample
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops.compare import equal, less_equal, where
from srcgraph.ir.ops.complex import numpy_number
from srcgraph.ir.ops.creation import F8, known_dtype, lengths
from srcgraph.ir.ops.index import getitem, setitem
from srcgraph.ir.ops.reductions import cast_to, one_axis, reduced, sum_dtype
from srcgraph.ir.ops.remainders import absolute, maximum, minimum
from srcgraph.ir.ops.sequences import flat
from srcgraph.ir.ops.shape import arange, dims_of, empty, full
from srcgraph.ir.ops.vector import add, sub
from srcgraph.ir.types import BOOL, INT
from srcgraph.ir.view import View, transposed


def _integer(x: Any) -> Value:
    b = current_builder()
    value = b.value(x)
    if value.type.ndim or value.type.dtype.kind not in "iu":
        raise InferenceError(f"a diagonal is given by an integer, not {value.type}")
    return b.cast(value, INT, weak=True)


def _corner(offset: Value) -> tuple[Value, Value]:
    """Row and column where a diagonal begins."""
    return maximum(sub(0, offset), 0), maximum(offset, 0)


def _last_two(x: Value, axis1: int, axis2: int) -> Value:
    """``x`` with the two axes moved to the front."""
    i, j = one_axis(axis1, x.type.ndim), one_axis(axis2, x.type.ndim)
    if i == j:
        raise InferenceError("axis1 and axis2 cannot be the same")
    order = (i, j, *(k for k in range(x.type.ndim) if k not in (i, j)))
    return x if order == tuple(range(x.type.ndim)) else getitem(x, view=transposed(x.type.ndim, order))


_DIAGONALS = (
    sample("f64[3, 3]"),
    sample("f64[2, 3]", 1),
    sample("f64[4, 3]", offset=-2),
    sample("f64[2, 3, 3]", axis1=1, axis2=-1),
)


@composite(
    "diagonal",
    python=np.diagonal,
    method="diagonal",
    static="axis1 axis2",
    samples=_DIAGONALS,
    views=lambda *args, **kwargs: True,
)
def diagonal(a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """The elements ``a[i, i + offset]`` (a new array)."""
    x = current_builder().value(a)
    if x.type.ndim < 2:
        raise ShapeError("diagonal and trace take an array of at least two axes")
    x = _last_two(x, axis1, axis2)
    shift = _integer(offset)
    row, column = _corner(shift)
    rows, columns, *rest = dims_of(x)
    count = maximum(minimum(sub(rows, row), sub(columns, column)), 0)
    current_builder().learn(count.type.value)
    out = empty(*rest, count, dtype=x.type.dtype)
    view = View(("i", "i", *(":" for _ in rest)), tuple(range(len(rest))))

    def step(i: Value, out: Value) -> Sequence[Value]:
        return (with_item(out, len(rest), i, getitem(x, add(row, i), add(column, i), view=view)),)

    return counted(count, [out], step)[0]


@composite("trace", python=np.trace, method="trace", static="axis1 axis2 dtype", samples=_DIAGONALS)
def trace(a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Value:
    """Sum of a diagonal."""
    x = diagonal(a, offset, axis1, axis2)
    return reduced(reduce.sum_, cast_to(x, sum_dtype(x, dtype)), -1, False)


@composite(
    "diag",
    python=np.diag,
    samples=(sample("f64[3, 3]"), sample("f64[2, 3]", k=1), sample("f64[3]"), sample("f64[2]", -1)),
    views=lambda v, k=0: current_builder().value(v).type.ndim == 2,
)
def diag(v: Any, k: Any = 0) -> Value:
    """The diagonal of a matrix, or the matrix with a diagonal (a new array)."""
    x = current_builder().value(v)
    if x.type.ndim == 1:
        return diagflat(x, k)
    if x.type.ndim != 2:
        raise InferenceError("diag takes an array of one or two axes")
    return diagonal(x, k)


@composite("diagflat", python=np.diagflat, samples=(sample("f64[3]"), sample("f64[2, 2]", 1), sample("f64[2]", k=-1)))
def diagflat(v: Any, k: Any = 0) -> Value:
    """The matrix whose ``k``-th diagonal is the flattened input."""
    x = flat(current_builder().value(v))
    shift = _integer(k)
    row, column = _corner(shift)
    (count,) = dims_of(x)
    size = add(count, absolute(shift))
    out = full(x.type.dtype.type(0), size, size)
    view = View(("i", "i"), ())

    def step(i: Value, out: Value) -> Sequence[Value]:
        return (setitem(out, item(x, 0, i), add(row, i), add(column, i), view=view),)

    return counted(count, [out], step)[0]


def _rows_and_columns(rows: Value, columns: Value, k: Any) -> tuple[Value, Value]:
    """The column of the diagonal in each row, and the columns: what a triangle compares."""
    b = current_builder()
    start = b.cast(_integer(k), INT, False)
    i = arange(start, np.int64(1), rows)
    j = arange(np.int64(0), np.int64(1), columns)
    return getitem(i, view=View((":",), (0, None))), getitem(j, view=View((":",), (None, 0)))


def _two_lengths(rows: Any, columns: Any) -> tuple[Value, Value]:
    first, second = lengths((rows, rows if columns is None else columns))
    return first, second


def _triangle(m: Any, k: Any, lower: bool) -> Value:
    x = numpy_number(m)
    if x.type.ndim == 0:
        raise InferenceError("a triangle is taken of an array of at least one axis")
    columns = dims_of(x)[-1]
    i, j = _rows_and_columns(columns if x.type.ndim == 1 else dims_of(x)[-2], columns, k)
    hit = less_equal(j, i) if lower else less_equal(i, j)
    return where(hit, x, x.type.dtype.type(0))


_TRIANGLES = (sample("f64[3, 3]"), sample("f64[3, 4]", k=1), sample("f64[3, 4]", k=-1), sample("f64[2, 3, 3]"))


@composite("tril", python=np.tril, samples=_TRIANGLES)
def tril(m: Any, k: Any = 0) -> Value:
    """The lower triangle of a matrix, zeros above."""
    return _triangle(m, k, True)


@composite("triu", python=np.triu, samples=_TRIANGLES)
def triu(m: Any, k: Any = 0) -> Value:
    """The upper triangle of a matrix, zeros below."""
    return _triangle(m, k, False)


@composite("tri", python=np.tri, static="dtype", samples=(sample(3), sample(2, 4, k=1), sample(3, k=-1, dtype=int)))
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Value:  # noqa: N803 (NumPy's names)
    """Ones on the ``k``-th diagonal and below, zeros above."""
    found = known_dtype(dtype, F8)
    i, j = _rows_and_columns(*_two_lengths(N, M), k)
    hit = less_equal(j, i)
    return hit if found == BOOL else where(hit, found.type(1), found.type(0))


@composite("eye", python=np.eye, static="dtype", samples=(sample(3), sample(2, 4, k=1), sample(3, k=-1)))
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Value:  # noqa: N803 (NumPy's names)
    """Ones on the ``k``-th diagonal, zeros elsewhere."""
    found = known_dtype(dtype, F8)
    i, j = _rows_and_columns(*_two_lengths(N, M), k)
    return where(equal(i, j), found.type(1), found.type(0))


@composite("identity", python=np.identity, static="dtype", samples=(sample(3),))
def identity(n: Any, dtype: Any = None) -> Value:
    """The square identity matrix."""
    return eye(n, dtype=dtype)
