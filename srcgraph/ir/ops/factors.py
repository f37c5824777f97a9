"""LU and Cholesky factors and triangular matrices as ops, by `srcgraph.runtime.decompositions`.

None of them raises: ``info`` is LAPACK's, and what users call checks it. Operands are square where they have
to be. Where NumPy reads only the lower triangle, the derivative is that of such a function: zero above.

References
----------
M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
2008. M. Seeger, A. Hetzel, Z. Dai, N. Lawrence, Auto-differentiating linear algebra, 2017 (QR, eigenvalues,
singular values). J. Townsend, Differentiating the singular value decomposition, 2016. F. de Hoog, R. Anderssen,
M. Lukas, Differentiation of matrix functionals using triangular factorization, 2011 (LU). G. Golub, V. Pereyra,
The differentiation of pseudo-inverses and nonlinear least squares problems, 1973.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from srcgraph.errors import DerivativeError, Problem
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, NoDerivative, Op, current_builder, define, sample
from srcgraph.ir.ops._loops import chosen
from srcgraph.ir.ops._rules import conjugated, total
from srcgraph.ir.ops.compare import equal, less, where
from srcgraph.ir.ops.diagonals import eye, tril, triu
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.linalg import matmul, outer, transpose
from srcgraph.ir.ops.sequences import take
from srcgraph.ir.ops.shape import arange, dims_of
from srcgraph.ir.ops.sorting import argsort
from srcgraph.ir.ops.vector import add, mul, neg
from srcgraph.ir.types import INT, ArrayType, ScalarType
from srcgraph.ir.view import View

Cts = Sequence[Value | None]
PIVOTS = np.dtype(np.int32)
NUMBER = ScalarType(INT)


def library(name: str, doc: str, infer: Callable, numpy: Callable, **fields: Any) -> Op:
    return define(
        name=name, doc=doc, infer=infer, numpy=numpy, kind="library", emit={"cpu": name}, helpers="decompositions",
        heavy=True, **fields,
    )  # fmt: skip


# -- small pieces -----------------------------------------------------------------------------------


def column(x: Value) -> Value:
    return getitem(x, view=View((":",), (0, None)))


def row(x: Value) -> Value:
    return getitem(x, view=View((":",), (None, 0)))


def symmetrized(x: Value) -> Value:
    """The symmetric matrix with the lower triangle of ``x``."""
    return add(tril(x), transpose(tril(x, -1)))


def lower_half(x: Value) -> Value:
    """The lower triangle with half the diagonal, zeros above."""
    n = dims_of(x)[0]
    i = arange(np.int64(0), np.int64(1), n)
    zero, half = x.type.dtype.type(0), x.type.dtype.type(0.5)
    return where(less(row(i), column(i)), x, where(equal(row(i), column(i)), mul(x, half), zero))


def identity_like(a: Value) -> Value:
    return eye(dims_of(a)[0], dtype=a.type.dtype)


def product(*factors: Value) -> Value:
    out = factors[0]
    for factor in factors[1:]:
        out = matmul(out, factor)
    return out


def refuse(why: str) -> DerivativeError:
    return DerivativeError(Problem(why, current_builder().origin.loc))


# -- LU -----------------------------------------------------------------------------------------------


def _lu_meaning(a: np.ndarray) -> tuple[Any, ...]:
    if not len(a):
        return a.copy(), np.empty(0, PIVOTS), 0
    lu, pivots, info = scipy.linalg.get_lapack_funcs(("getrf",), (a,))[0](a)
    return np.ascontiguousarray(lu), pivots.astype(PIVOTS) + np.int32(1), max(int(info), 0)


def _unit_lower(lu: Value) -> Value:
    return add(tril(lu, -1), identity_like(lu))


def _lu_jvp(tangents: Cts, outs: Sequence[Value], a: Value) -> Cts:
    if tangents[0] is None:
        return None, None, None
    lu, pivots, _ = outs
    rows = take(tangents[0], row_order(pivots))
    left = solve_triangular(lu, rows, lower=True, transposed=False, unit=True)
    both = transpose(solve_triangular(lu, transpose(left), lower=False, transposed=True, unit=False))
    return add(product(_unit_lower(lu), tril(both, -1)), product(triu(both), triu(lu))), None, None


def _lu_vjp(cts: Cts, outs: Sequence[Value], a: Value) -> Cts:
    lu, pivots, _ = outs
    if cts[0] is None:
        return (None,)
    ct = conjugated(cts[0])
    low = tril(product(transpose(_unit_lower(lu)), tril(ct, -1)), -1)
    both = add(low, triu(product(triu(ct), transpose(triu(lu)))))
    left = solve_triangular(lu, both, lower=True, transposed=True, unit=True)
    rows = transpose(solve_triangular(lu, transpose(left), lower=False, transposed=False, unit=False))
    return (conjugated(take(rows, argsort(row_order(pivots)))),)


lu_factor = library(
    "lu_factor",
    "``L`` and ``U`` in one matrix, the row that each row was exchanged with (from 1), and ``info``.",
    lambda a: (a, ArrayType(PIVOTS, a.shape[:1]), NUMBER),
    _lu_meaning,
    jvp=_lu_jvp,
    vjp=_lu_vjp,
    results=("lu", "pivots", "info"),
    through_complex=True,
    samples=(sample("f64[3, 3]"), sample("f32[2, 2]")),
)


def _row_order_meaning(pivots: np.ndarray) -> np.ndarray:
    order = np.arange(len(pivots))
    for k, j in enumerate(pivots - 1):
        order[[k, j]] = order[[j, k]]
    return order


row_order = library(
    "row_order",
    "The rows in the order that exchanging them one after another gives.",
    lambda pivots: ArrayType(INT, pivots.shape),
    _row_order_meaning,
    results=("order",),
    samples=(sample(np.array([2, 3, 3], np.int32)),),
)


def _outer_product(x: Value, y: Value) -> Value:
    return outer(x, y) if x.type.ndim == 1 else matmul(x, transpose(y))


def _lu_solve_vjp(
    ct: Value, out: Value, a: Value, lu: Value, pivots: Value, b: Value, *, transposed: bool
) -> tuple[Value | None, ...]:
    """``-A^-H ct x^H`` and ``A^-H ct`` (Giles, section 2.2.3)."""
    by_b = conjugated(lu_solve(a, lu, pivots, conjugated(ct), transposed=not transposed))
    out = conjugated(out)
    by_a = neg(_outer_product(out, by_b) if transposed else _outer_product(by_b, out))
    return by_a, None, None, by_b


def _lu_solve_jvp(
    tangents: Cts, out: Value, a: Value, lu: Value, pivots: Value, b: Value, *, transposed: bool
) -> Value | None:
    ta, _, _, tb = tangents
    moved: list[Value] = [] if ta is None else [neg(matmul(transpose(ta) if transposed else ta, out))]
    right = total(moved + ([] if tb is None else [tb]))
    return None if right is None else lu_solve(a, lu, pivots, right, transposed=transposed)


def _lu_solve_meaning(
    a: np.ndarray, lu: np.ndarray, pivots: np.ndarray, b: np.ndarray, *, transposed: bool
) -> np.ndarray:
    if not b.size:
        return b.copy()
    return scipy.linalg.lu_solve((lu, pivots - 1), b, trans=int(transposed), check_finite=False)


lu_solve = library(
    "lu_solve",
    "``x`` with ``a @ x == b``, or ``a.T @ x == b``, by the factors of ``a``; differentiates through ``a``.",
    lambda a, lu, pivots, b, *, transposed: b,
    _lu_solve_meaning,
    jvp=_lu_solve_jvp,
    vjp=_lu_solve_vjp,
    unread=1,
    through_complex=True,
)


def inverse_transposed(a: Value, lu: Value, pivots: Value) -> Value:
    return lu_solve(a, lu, pivots, identity_like(a), transposed=True)


def _cofactors_meaning(a: np.ndarray) -> np.ndarray:
    if not len(a):
        return a.copy()
    u, s, vh = np.linalg.svd(a)
    others = np.array([np.prod(np.delete(s, k)) for k in range(len(s))], a.dtype)
    return (np.linalg.det(u) * np.linalg.det(vh) * (u * others) @ vh).astype(a.dtype)


def _moved_cofactors_meaning(a: np.ndarray, e: np.ndarray) -> np.ndarray:
    if not len(a):
        return a.copy()
    u, s, vh = np.linalg.svd(a)
    between = u.T @ e @ vh.T
    others = np.array([[np.prod(np.delete(s, [i, j])) for j in range(len(s))] for i in range(len(s))])
    np.fill_diagonal(others, 0.0)
    moved = np.diag(others @ np.diag(between)) - between.T * others
    return (np.linalg.det(u) * np.linalg.det(vh) * u @ moved @ vh).astype(a.dtype)


def _no_third(ct: Value, out: Value, a: Value, e: Value) -> tuple[None, Value]:
    """Linear in ``e``, and its own transpose; by ``a`` it raises where it is asked for."""
    message = "the third derivative of the determinant of a singular matrix is not supported"
    current_builder().call_named("check_that", False, error="NotImplementedError", message=message)
    return None, moved_cofactors(a, ct)


moved_cofactors = library(
    "moved_cofactors",
    "The derivative of the cofactors of ``a`` in the direction ``e``; what moves with ``a`` is refused.",
    lambda a, e: a,
    _moved_cofactors_meaning,
    vjp=_no_third,
    jvp=NoDerivative("the third derivative of the determinant of a singular matrix is not supported"),
    samples=(sample("f64[3, 3]", "f64[3, 3]"),),
)
cofactors = library(
    "cofactors",
    "The derivative of the determinant, also of a singular matrix.",
    lambda a: a,
    _cofactors_meaning,
    vjp=lambda ct, out, a: (moved_cofactors(a, ct),),
    jvp=lambda tangents, out, a: moved_cofactors(a, tangents[0]),
    samples=(sample("f64[3, 3]"),),
)


def _det_vjp(ct: Value, out: Value, a: Value, lu: Value, pivots: Value) -> tuple[Value | None, ...]:
    """``ct det(A) A^-T`` (Giles, section 2.2.4); the cofactors where the matrix is singular."""
    (by_a,) = chosen(
        OPS["not_equal"](out, 0),
        lambda: (mul(mul(ct, out), inverse_transposed(a, lu, pivots)),),
        lambda: (mul(ct, cofactors(a)),),
    )
    return by_a, None, None


def _det_jvp(tangents: Cts, out: Value, a: Value, lu: Value, pivots: Value) -> Value | None:
    if tangents[0] is None:
        return None
    one = out.type.dtype.type(1)
    slope = _det_vjp(current_builder().const(one), out, a, lu, pivots)[0]
    return OPS["sum"](mul(slope, tangents[0]), axes=(0, 1))


def _det_meaning(a: np.ndarray, lu: np.ndarray, pivots: np.ndarray) -> Any:
    odd = np.count_nonzero(pivots != np.arange(1, len(pivots) + 1)) % 2
    u = np.diag(lu)
    return a.dtype.type(0 if np.any(u == 0) else (-1) ** odd * np.prod(u))


lu_det = library(
    "lu_det",
    "The determinant, by the factors of ``a``; differentiates through ``a``.",
    lambda a, lu, pivots: ScalarType(a.dtype),
    _det_meaning,
    jvp=_det_jvp,
    vjp=_det_vjp,
    unread=1,
    results=("det",),
)


def _slogdet_meaning(a: np.ndarray, lu: np.ndarray, pivots: np.ndarray) -> tuple[Any, Any]:
    odd = np.count_nonzero(pivots != np.arange(1, len(pivots) + 1)) % 2
    u = np.diag(lu)
    if np.any(u == 0):
        return a.dtype.type(0), a.dtype.type(-np.inf)
    return a.dtype.type((-1) ** (odd + np.count_nonzero(u < 0))), a.dtype.type(np.sum(np.log(np.abs(u))))


def _slogdet_vjp(cts: Cts, outs: Sequence[Value], a: Value, lu: Value, pivots: Value) -> tuple[Value | None, ...]:
    if cts[1] is None:
        return None, None, None
    return mul(cts[1], inverse_transposed(a, lu, pivots)), None, None


def _slogdet_jvp(tangents: Cts, outs: Sequence[Value], a: Value, lu: Value, pivots: Value) -> Cts:
    if tangents[0] is None:
        return None, None
    return None, OPS["sum"](mul(inverse_transposed(a, lu, pivots), tangents[0]), axes=(0, 1))


lu_slogdet = library(
    "lu_slogdet",
    "Sign and logarithm of the determinant, by the factors of ``a``; differentiates through ``a``.",
    lambda a, lu, pivots: (ScalarType(a.dtype), ScalarType(a.dtype)),
    _slogdet_meaning,
    jvp=_slogdet_jvp,
    vjp=_slogdet_vjp,
    unread=1,
    results=("sign", "logdet"),
)

# -- triangles ----------------------------------------------------------------------------------------


def _triangle(x: Value, lower: bool, unit: bool) -> Value:
    """The part of a matrix that a triangular solution reads."""
    return tril(x, -int(unit)) if lower else triu(x, int(unit))


def _triangular_vjp(
    ct: Value, out: Value, a: Value, b: Value, *, lower: bool, transposed: bool, unit: bool
) -> tuple[Value, Value]:
    by_b = solve_triangular(a, ct, lower=lower, transposed=not transposed, unit=unit)
    by_a = _outer_product(out, by_b) if transposed else _outer_product(by_b, out)
    return neg(_triangle(by_a, lower, unit)), by_b


def _triangular_jvp(
    tangents: Cts, out: Value, a: Value, b: Value, *, lower: bool, transposed: bool, unit: bool
) -> Value | None:
    ta, tb = tangents
    moved: list[Value] = []
    if ta is not None:
        builder, part = current_builder(), _triangle(ta, lower, unit)
        own = builder.retype(out, (a.type.shape[0], *out.type.shape[1:]))
        made = neg(matmul(transpose(part) if transposed else part, own))
        moved.append(builder.retype(made, b.type.shape))
    right = total(moved + ([] if tb is None else [tb]))
    if right is None:
        return None
    return solve_triangular(a, right, lower=lower, transposed=transposed, unit=unit)


def _triangular_meaning(a: np.ndarray, b: np.ndarray, *, lower: bool, transposed: bool, unit: bool) -> np.ndarray:
    if not b.size:
        return b.copy()
    return scipy.linalg.solve_triangular(a, b, int(transposed), lower, unit, check_finite=False)


solve_triangular = library(
    "solve_triangular",
    "``x`` with ``a @ x == b`` (or ``a.T @ x == b``) for a triangle of ``a``, ones on its diagonal if ``unit``.",
    lambda a, b, *, lower, transposed, unit: b,
    _triangular_meaning,
    jvp=_triangular_jvp,
    vjp=_triangular_vjp,
    samples=(
        sample("f64[3, 3]", "f64[3]", domain=(0.5, 2.0), lower=True, transposed=False, unit=False),
        sample("f64[3, 3]", "f64[3, 2]", domain=(0.5, 2.0), lower=False, transposed=True, unit=True),
        sample("f64[3, 3]", "f64[3]", domain=(0.5, 2.0), lower=True, transposed=True, unit=False),
    ),
)


def _cholesky_meaning(a: np.ndarray) -> tuple[np.ndarray, int]:
    if not len(a):
        return a.copy(), 0
    low, info = scipy.linalg.get_lapack_funcs(("potrf",), (a,))[0](a, lower=1, clean=1)
    return np.ascontiguousarray(low), max(int(info), 0)


def _cholesky_vjp(cts: Cts, outs: Sequence[Value], a: Value) -> tuple[Value | None]:
    """``L^-T (tril(P) + tril(P, -1)^T) L^-1`` with ``P = L^T ct``, folded into the lower triangle."""
    low = outs[0]
    if cts[0] is None:
        return (None,)
    inner = symmetrized(matmul(transpose(low), tril(cts[0])))
    left = solve_triangular(low, inner, lower=True, transposed=True, unit=False)
    both = transpose(solve_triangular(low, transpose(left), lower=True, transposed=True, unit=False))
    return (lower_half(both),)


def _cholesky_jvp(tangents: Cts, outs: Sequence[Value], a: Value) -> Cts:
    if tangents[0] is None:
        return None, None
    low = outs[0]
    left = solve_triangular(low, symmetrized(tangents[0]), lower=True, transposed=False, unit=False)
    both = transpose(solve_triangular(low, transpose(left), lower=True, transposed=False, unit=False))
    return matmul(low, lower_half(both)), None


POSITIVE = np.array([[2.0, 0.3, -0.4], [0.3, 1.5, 0.2], [-0.4, 0.2, 1.0]])
cholesky = library(
    "cholesky",
    "The lower ``l`` with ``l @ l.T == a``, of which only the lower triangle is read, and ``info``.",
    lambda a: (a, NUMBER),
    _cholesky_meaning,
    jvp=_cholesky_jvp,
    vjp=_cholesky_vjp,
    results=("low", "info"),
    samples=(sample(POSITIVE), sample(np.array([[2.0, 7.0], [0.5, 1.0]]))),
)
