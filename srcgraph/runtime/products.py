"""Products of matrices and vectors, by BLAS: in compiled code the call of a kernel, written where it is needed.

numba would take half a second to compile the same from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_new_ref
from numba.extending import lower_builtin, type_callable
from numba.np.numpy_support import as_dtype

from srcgraph.ir.ops.linalg import CACHED, FEWEST
from srcgraph.runtime.arrays import allocated, copied, zeros
from srcgraph.runtime.helpers import helper
from srcgraph.runtime.integers import Integers
from srcgraph.runtime.kernels.blas import dot, gemm, gemv
from srcgraph.runtime.kernels.intrinsics import called
from srcgraph.runtime.kernels.record import Kernel


def matmul(x: np.ndarray, y: np.ndarray) -> Any:
    """Matrix product of arrays of one or two axes; copies what lies so that BLAS cannot take it."""
    if x.ndim == 1 and y.ndim == 1:
        total = np.empty(1, x.dtype)
        a, b = _takeable(x), _takeable(y)
        dot((total,), (a, b), (len(x),), a.strides + b.strides, ())
        return total[0]
    sizes = (*x.shape[:-1], *y.shape[1:])
    out = np.empty(sizes, x.dtype)
    add_product(out, _takeable(x), _takeable(y), 1.0, 0.0)
    return out


def add_product(out: np.ndarray, x: np.ndarray, y: np.ndarray, alpha: Any, beta: Any) -> None:
    """``out = beta * out + alpha * (x @ y)``, of one or two axes; ``out`` is not read if ``beta`` is 0."""
    if out.ndim == 1:
        m, v = (y.T, x) if x.ndim == 1 else (x, y)
        refused = gemv((out,), (m, v, alpha, beta), m.shape, out.strides + m.strides + v.strides, ())
    else:
        sizes = (*out.shape, y.shape[0])
        refused = gemm((out,), (x, y, alpha, beta), sizes, out.strides + x.strides + y.strides, ())
    if refused:
        combine(out, matmul(x, y), out.dtype.type(alpha), out.dtype.type(beta))


def _takeable(x: np.ndarray) -> np.ndarray:
    return x if x.flags.c_contiguous or x.flags.f_contiguous else np.ascontiguousarray(x)


@helper(any_layout=True)
def combine(out, product, alpha, beta):
    """``out = alpha * product + beta * out``, whatever the strides."""
    if out.ndim == 1:
        for i in range(len(out)):
            out[i] = alpha * product[i] + (beta * out[i] if beta != 0 else beta)
    else:
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = alpha * product[i, j] + (beta * out[i, j] if beta != 0 else beta)


@helper
def rows_at_once(x):
    """How many rows of a matrix are worked on while they are in a core's cache."""
    return max(FEWEST, CACHED // max(1, x.shape[1] * x.itemsize))


@helper(pipeline_class=Integers)
def matmul_exact(x, y):
    """Matrix product of integers or booleans, which BLAS does not know."""
    if x.ndim == 1 and y.ndim == 1:
        total = x.dtype.type(0)
        for i in range(len(x)):
            total = x.dtype.type(total + x[i] * y[i])
        return total
    if x.ndim == 1:
        row = zeros(y.shape[1], x.dtype)
        for k in range(y.shape[0]):
            for j in range(y.shape[1]):
                row[j] += x[k] * y[k, j]
        return row
    if y.ndim == 1:
        column = zeros(x.shape[0], x.dtype)
        for i in range(x.shape[0]):
            for k in range(x.shape[1]):
                column[i] += x[i, k] * y[k]
        return column
    out = zeros((x.shape[0], y.shape[1]), x.dtype)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(y.shape[1]):
                out[i, j] += x[i, k] * y[k, j]
    return out


# -- in compiled code -------------------------------------------------------------------------------------------


@type_callable(matmul)
def _type_of_product(context: Any) -> Callable[..., Any]:
    def typed(x: Any, y: Any) -> Any:
        if not (isinstance(x, types.Array) and isinstance(y, types.Array) and x.dtype == y.dtype):
            return None
        axes = x.ndim + y.ndim - 2
        return types.Array(x.dtype, axes, "C") if axes else x.dtype

    return typed


@type_callable(add_product)
def _type_of_sum(context: Any) -> Callable[..., Any]:
    return lambda out, x, y, alpha, beta: types.void if isinstance(out, types.Array) else None


@lower_builtin(matmul, types.Array, types.Array)
def _matmul(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    x, y = (_Array.of(context, builder, k, v) for k, v in zip(signature.args, args, strict=True))
    kind = signature.return_type
    if isinstance(kind, types.Array):
        made = _product(context, builder, kind, x, y)
        return impl_ret_new_ref(context, builder, kind, made.value)
    total = cgutils.alloca_once(builder, context.get_value_type(kind))
    status = _dot(builder, kind, total, x, y)
    if _may_be_refused(x, y):
        with cgutils.if_unlikely(builder, _is_refused(builder, status)), _copies(context, builder, x, y) as given:
            _dot(builder, kind, total, *given)
    return builder.load(total)


@lower_builtin(add_product, types.Array, types.Array, types.Array, types.Any, types.Any)
def _add_product(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    out, x, y = (_Array.of(context, builder, k, v) for k, v in zip(signature.args[:3], args[:3], strict=True))
    given = zip(args[3:], signature.args[3:], strict=True)
    factors = [context.cast(builder, v, k, out.kind.dtype) for v, k in given]
    status = _multiplied(context, builder, out, x, y, factors)
    if _may_be_refused(out, x, y):
        with cgutils.if_unlikely(builder, _is_refused(builder, status)):
            kind = out.kind.copy(layout="C")
            made = _product(context, builder, kind, x, y)
            types_of = (out.kind, kind, kind.dtype, kind.dtype)
            known = context.typing_context.resolve_value_type(combine)
            made_for = known.get_call_type(context.typing_context, types_of, {})
            context.get_function(known, made_for)(builder, (out.value, made.value, *factors))
            context.nrt.decref(builder, kind, made.value)
    return context.get_dummy_value()


@dataclass(slots=True)
class _Array:
    """An array in a function that is being compiled: its memory, lengths and strides."""

    kind: Any
    value: Any
    data: Any
    shape: list[Any]
    strides: list[Any]

    @classmethod
    def of(cls, context: Any, builder: Any, kind: Any, value: Any) -> _Array:
        a = context.make_array(kind)(context, builder, value)
        shape, strides = (cgutils.unpack_tuple(builder, v, kind.ndim) for v in (a.shape, a.strides))
        return cls(kind, value, a.data, shape, strides)

    @property
    def transposed(self) -> _Array:
        layout: Literal["C", "F", "A"] = {"C": "F", "F": "C", "A": "A"}[self.kind.layout]  # type: ignore[assignment]
        return _Array(self.kind.copy(layout=layout), self.value, self.data, self.shape[::-1], self.strides[::-1])


@contextmanager
def _copies(context: Any, builder: Any, *arrays: _Array) -> Iterator[list[_Array]]:
    """Copies in C order, and code that lets go of them."""
    made = []
    for a in arrays:
        kind = a.kind.copy(layout="C", readonly=False)
        made.append(_Array.of(context, builder, kind, copied(context, builder, a.kind, kind, a.value).value))
    yield made
    for a in made:
        context.nrt.decref(builder, a.kind, a.value)


def _may_be_refused(*arrays: _Array) -> bool:
    """Whether that is not known when this is compiled: rows or columns without gaps are taken."""
    return any(a.kind.layout == "A" for a in arrays)


def _is_refused(builder: Any, status: Any) -> Any:
    return builder.icmp_signed("!=", status, status.type(0))


def _product(context: Any, builder: Any, kind: Any, x: _Array, y: _Array) -> _Array:
    """``x @ y``, a new array."""
    sizes = x.shape[:-1] + y.shape[1:]
    out = _Array.of(context, builder, kind, allocated(context, builder, kind, sizes).value)
    one, zero = (context.get_constant(kind.dtype, v) for v in (1.0, 0.0))
    status = _multiplied(context, builder, out, x, y, (one, zero))
    if _may_be_refused(x, y):
        with cgutils.if_unlikely(builder, _is_refused(builder, status)), _copies(context, builder, x, y) as (a, b):
            _multiplied(context, builder, out, a, b, (one, zero))
    return out


def _multiplied(context: Any, builder: Any, out: _Array, x: _Array, y: _Array, factors: Sequence[Any]) -> Any:
    """``out = alpha x @ y + beta out``, unless BLAS cannot take arrays that lie like this; 0 if it is done."""
    if out.kind.ndim == 2:
        return _called(builder, gemm, out, (x, y), factors, [*out.shape, y.shape[0]])
    m, v = (y.transposed, x) if x.kind.ndim == 1 else (x, y)
    return _called(builder, gemv, out, (m, v), factors, m.shape)


def _called(
    builder: Any, kernel: Kernel, out: _Array, given: Sequence[_Array], factors: Sequence[Any], dims: Sequence[Any]
) -> Any:
    ins = [a.data for a in given] + [cgutils.alloca_once_value(builder, f) for f in factors]
    strides = [s for a in (out, *given) for s in a.strides]
    return called(builder, kernel.for_dtype(as_dtype(out.kind.dtype)), [out.data], ins, dims, strides)


def _dot(builder: Any, kind: Any, total: Any, x: _Array, y: _Array) -> Any:
    return called(builder, dot.for_dtype(as_dtype(kind)), [total], [x.data, y.data], x.shape, x.strides + y.strides)
