"""QR, eigenvalues, singular values and least squares as ops, by `srcgraph.runtime.decompositions`.

As for `factors`: none of them raises, and where only a lower triangle is read, the derivative is zero above.
References are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.ir.dims import UNKNOWN, minimum
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, NoDerivative, current_builder, sample
from srcgraph.ir.ops._loops import chosen
from srcgraph.ir.ops._rules import total
from srcgraph.ir.ops.compare import equal, where
from srcgraph.ir.ops.diagonals import diagonal, tril
from srcgraph.ir.ops.factors import (
    NUMBER,
    POSITIVE,
    Cts,
    column,
    library,
    lower_half,
    product,
    refuse,
    row,
    solve_triangular,
    symmetrized,
)
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.linalg import matmul, transpose
from srcgraph.ir.ops.shape import dims_of, zeros_of
from srcgraph.ir.ops.vector import add, div, mul, neg, sub
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.view import View

# -- orthogonal factors ---------------------------------------------------------------------------------


def _qr_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    m, n = a.shape
    k = minimum(m, n)
    return ArrayType(a.dtype, (m, k)), ArrayType(a.dtype, (k, n))


def _tall(outs: Sequence[Value], a: Value) -> tuple[Value, Value]:
    """The factors of a matrix that has at least as many rows as columns, which is checked."""
    b = current_builder()
    m, n = dims_of(a)
    message = "the derivative of a QR factorization needs at least as many rows as columns"
    b.call_named("check_that", OPS["greater_equal"](m, n), error="NotImplementedError", message=message)
    q, r = outs
    return b.retype(q, a.type.shape), b.retype(r, (a.type.shape[1], a.type.shape[1]))


def _qr_vjp(cts: Cts, outs: Sequence[Value], a: Value) -> tuple[Value]:
    """``(Q' + Q copyltu(M)) R^-T`` with ``M = R R'^T - Q'^T Q`` (Seeger et al., section 2.3)."""
    b = current_builder()
    q, r = _tall(outs, a)
    dq, dr = (None if ct is None else b.retype(ct, v.type.shape) for ct, v in zip(cts, (q, r), strict=True))
    parts = [] if dr is None else [matmul(r, transpose(dr))]
    parts += [] if dq is None else [neg(matmul(transpose(dq), q))]
    inner = total(parts)
    assert inner is not None
    right = total([matmul(q, symmetrized(inner)), *([] if dq is None else [dq])])
    assert right is not None
    return (transpose(solve_triangular(r, transpose(right), lower=False, transposed=False, unit=False)),)


def _qr_jvp(tangents: Cts, outs: Sequence[Value], a: Value) -> Cts:
    if tangents[0] is None:
        return None, None
    q, r = _tall(outs, a)
    x = transpose(solve_triangular(r, transpose(tangents[0]), lower=False, transposed=True, unit=False))
    c = matmul(transpose(q), x)
    turn = sub(tril(c, -1), transpose(tril(c, -1)))
    return add(x, matmul(q, sub(turn, c))), matmul(sub(c, turn), r)


def _qr_meaning(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    q, r = np.linalg.qr(a)
    return q, r


qr = library(
    "qr",
    "``q`` with as many columns as ``r`` has rows, the smaller side of ``a``.",
    _qr_type,
    _qr_meaning,
    jvp=_qr_jvp,
    vjp=_qr_vjp,
    results=("q", "r"),
    samples=(sample("f64[4, 3]"), sample("f64[3, 3]")),
)

# -- eigenvalues ----------------------------------------------------------------------------------------


def _reciprocal_gaps(w: Value) -> Value:
    """``1 / (w[j] - w[i])``, 0 where the two are equal: then only what does not depend on the choice is right."""
    gap = sub(row(w), column(w))
    one, zero = w.type.dtype.type(1), w.type.dtype.type(0)
    none = equal(gap, zero)
    return where(none, zero, div(one, where(none, one, gap)))


def _triangle_gradient(x: Value, upper: bool) -> Value:
    """The cotangent of one triangle, given that of the symmetric matrix made of it."""
    low = lower_half(add(x, transpose(x)))
    return transpose(low) if upper else low


def _read(a: Value, upper: bool) -> Value:
    """The symmetric matrix made of one triangle."""
    return symmetrized(transpose(a) if upper else a)


def _eigh_vjp(cts: Cts, outs: Sequence[Value], a: Value, *, upper: bool) -> tuple[Value | None]:
    """``V (diag(w') + F * (V^T V')) V^T`` (Giles, section 3.1)."""
    w, v, _ = outs
    parts = [] if cts[0] is None else [matmul(mul(v, row(cts[0])), transpose(v))]
    if cts[1] is not None:
        inner = mul(_reciprocal_gaps(w), matmul(transpose(v), cts[1]))
        parts.append(product(v, inner, transpose(v)))
    found = total(parts)
    return (None if found is None else _triangle_gradient(found, upper),)


def _eigh_jvp(tangents: Cts, outs: Sequence[Value], a: Value, *, upper: bool) -> Cts:
    if tangents[0] is None:
        return None, None, None
    w, v, _ = outs
    inner = product(transpose(v), _read(tangents[0], upper), v)
    return diagonal(inner), matmul(v, mul(_reciprocal_gaps(w), inner)), None


def _eigh_meaning(a: np.ndarray, *, upper: bool) -> tuple[Any, ...]:
    w, v = np.linalg.eigh(a, "U" if upper else "L")
    return w, np.ascontiguousarray(v), 0


eigh = library(
    "eigh",
    "Eigenvalues in order, eigenvectors as columns, and ``info``; one triangle is read.",
    lambda a, *, upper: (ArrayType(a.dtype, a.shape[:1]), a, NUMBER),
    _eigh_meaning,
    jvp=_eigh_jvp,
    vjp=_eigh_vjp,
    results=("w", "vectors", "info"),
    samples=(sample(POSITIVE, upper=False), sample(POSITIVE, upper=True)),
)


def _eigvalsh_vjp(cts: Cts, outs: Sequence[Value], a: Value, *, upper: bool) -> tuple[Value | None]:
    if cts[0] is None:
        return (None,)
    v = eigh(a, upper=upper)[1]
    return (_triangle_gradient(matmul(mul(v, row(cts[0])), transpose(v)), upper),)


def _eigvalsh_jvp(tangents: Cts, outs: Sequence[Value], a: Value, *, upper: bool) -> Cts:
    if tangents[0] is None:
        return None, None
    v = eigh(a, upper=upper)[1]
    return diagonal(product(transpose(v), _read(tangents[0], upper), v)), None


eigvalsh = library(
    "eigvalsh",
    "Eigenvalues in order, and ``info``; one triangle is read.",
    lambda a, *, upper: (ArrayType(a.dtype, a.shape[:1]), NUMBER),
    lambda a, *, upper: (np.linalg.eigvalsh(a, "U" if upper else "L"), 0),
    jvp=_eigvalsh_jvp,
    vjp=_eigvalsh_vjp,
    results=("w", "info"),
    samples=(sample(POSITIVE, upper=False),),
)


def _eig_meaning(a: np.ndarray) -> tuple[Any, ...]:
    w, v = np.linalg.eig(a)
    parts = (np.real(w), np.imag(w), np.real(v), np.imag(v))
    return (*(np.ascontiguousarray(p).astype(a.dtype) for p in parts), 0)


_EIG = NoDerivative("the derivative of a general eigenproblem is not supported; eigh has one, for symmetric matrices")
eig = library(
    "eig",
    "Real and imaginary parts of the eigenvalues, of the eigenvectors as columns, and ``info``.",
    lambda a: (ArrayType(a.dtype, a.shape[:1]), ArrayType(a.dtype, a.shape[:1]), a, a, NUMBER),
    _eig_meaning,
    jvp=_EIG,
    vjp=_EIG,
    results=("w_real", "w_imag", "v_real", "v_imag", "info"),
    samples=(sample(np.array([[0.0, 1.0, 0.2], [-1.0, 0.1, 0.0], [0.3, 0.2, 0.7]])),),
)

# -- singular values --------------------------------------------------------------------------------------


def _svd_type(a: ArrayType, *, full: bool) -> tuple[Any, ...]:
    m, n = a.shape
    k = minimum(m, n)
    shapes = ((m, m if full else k), (k,), (n if full else k, n))
    return (*(ArrayType(a.dtype, s) for s in shapes), NUMBER)


def _thin(cts: Cts, outs: Sequence[Value], a: Value, full: bool) -> Sequence[Value]:
    """The thin factors; the other columns of full ones have no derivative of their own."""
    if not full or a.type.shape[0] == a.type.shape[1]:
        return outs
    if cts[0] is not None or cts[2] is not None:
        raise refuse("svd: the derivative of u or vh needs full_matrices=False")
    return svd(a, full=False)


def _svd_vjp(cts: Cts, outs: Sequence[Value], a: Value, *, full: bool) -> tuple[Value | None]:
    """Townsend's formula, a term for each of ``u``, ``s`` and ``vh``."""
    u, s, vh, _ = _thin(cts, outs, a, full)
    du, ds, dvh, _ = cts
    parts = [] if ds is None else [matmul(mul(u, row(ds)), vh)]
    gaps = _reciprocal_gaps(mul(s, s))
    if du is not None:
        c = matmul(transpose(u), du)
        inner = mul(mul(gaps, sub(c, transpose(c))), row(s))
        rest = sub(div(du, row(s)), matmul(u, div(c, row(s))))
        parts.append(matmul(add(matmul(u, inner), rest), vh))
    if dvh is not None:
        c = matmul(vh, transpose(dvh))
        inner = mul(column(s), mul(gaps, sub(c, transpose(c))))
        rest = div(sub(dvh, matmul(transpose(c), vh)), column(s))
        parts.append(matmul(u, add(matmul(inner, vh), rest)))
    return (total(parts),)


def _svd_jvp(tangents: Cts, outs: Sequence[Value], a: Value, *, full: bool) -> Cts:
    ta = tangents[0]
    if ta is None:
        return None, None, None, None
    u, s, vh, _ = _thin(outs, outs, a, full)
    v, gaps = transpose(vh), _reciprocal_gaps(mul(s, s))
    p = product(transpose(u), ta, v)
    by_s, by_t = mul(p, row(s)), mul(column(s), transpose(p))
    tu = matmul(u, mul(gaps, add(by_s, by_t)))
    tu = add(tu, div(sub(matmul(ta, v), matmul(u, p)), row(s)))
    tv = matmul(v, mul(gaps, add(mul(column(s), p), mul(transpose(p), row(s)))))
    tv = add(tv, div(sub(matmul(transpose(ta), u), matmul(v, transpose(p))), row(s)))
    return tu, diagonal(p), transpose(tv), None


def _svd_meaning(a: np.ndarray, *, full: bool) -> tuple[Any, ...]:
    return (*(np.ascontiguousarray(x) for x in np.linalg.svd(a, full)), 0)


svd = library(
    "svd",
    "``u``, singular values from the largest down, ``vh``, and ``info``.",
    _svd_type,
    _svd_meaning,
    jvp=_svd_jvp,
    vjp=_svd_vjp,
    results=("u", "s", "vh", "info"),
    samples=(
        sample("f64[3, 3]", full=True),
        sample("f64[4, 2]", full=False),
        sample("f64[2, 4]", full=False),
    ),
)


def _svdvals_vjp(cts: Cts, outs: Sequence[Value], a: Value) -> tuple[Value | None]:
    if cts[0] is None:
        return (None,)
    u, _, vh, _ = svd(a, full=False)
    return (matmul(mul(u, row(cts[0])), vh),)


def _svdvals_jvp(tangents: Cts, outs: Sequence[Value], a: Value) -> Cts:
    if tangents[0] is None:
        return None, None
    u, _, vh, _ = svd(a, full=False)
    return diagonal(product(transpose(u), tangents[0], transpose(vh))), None


svdvals = library(
    "svdvals",
    "Singular values from the largest down, and ``info``.",
    lambda a: (ArrayType(a.dtype, (minimum(*a.shape),)), NUMBER),
    lambda a: (np.linalg.svd(a, compute_uv=False), 0),
    jvp=_svdvals_jvp,
    vjp=_svdvals_vjp,
    results=("s", "info"),
    samples=(sample("f64[3, 3]"), sample("f64[2, 4]")),
)

# -- least squares ----------------------------------------------------------------------------------------


def rounding_of(a: Value) -> Value:
    """What of the largest singular value is lost by rounding."""
    b, dtype = current_builder(), a.type.dtype
    longer = b.cast(OPS["maximum"](*dims_of(a)), dtype, False)
    return mul(dtype.type(np.finfo(dtype).eps), longer)


def _factors(x: Value) -> list[Any]:
    """The literals that a number is, or is a product of."""
    node = current_builder().definition(x)
    if node is None or node.op.name not in ("const", "mul", "cast"):
        return []
    return [node.attrs["value"]] if node.op.name == "const" else [f for v in node.inputs for f in _factors(v)]


def _demand_rank(a: Value, rcond: Value) -> None:
    """What counts as 0 must be 0 but for rounding: the differentials below are of matrices that keep their rank."""
    b, rounding = current_builder(), rounding_of(a)
    if any(value <= 10 * np.finfo(a.type.dtype).eps for value in _factors(rcond)):
        return

    def looked() -> Sequence[Value]:
        s = svd(a, full=False)[1]
        largest = OPS["max"](s, axes=(0,))
        kept = OPS["greater"](s, mul(rcond, largest))
        return (OPS["all"](OPS["logical_or"](kept, OPS["less_equal"](s, mul(rounding, largest))), axes=(0,)),)

    (fits,) = chosen(OPS["less_equal"](rcond, rounding), lambda: (b.const(np.bool_(True)),), looked)
    message = "no derivative of what takes singular values for 0, by rcond, that are not"
    b.call_named("check_that", fits, error="NotImplementedError", message=message)


def _pinv_vjp(cts: Cts, outs: Sequence[Value], a: Value, rcond: Value) -> tuple[Value | None, ...]:
    """The transpose of Golub and Pereyra's differential, for matrices that keep their rank."""
    p, ct = outs[0], cts[0]
    if ct is None:
        return None, None
    _demand_rank(a, rcond)
    pt, back = transpose(p), transpose(ct)
    outside = matmul(back, matmul(p, pt))
    inside = matmul(matmul(pt, p), back)
    found = neg(product(pt, ct, pt))
    found = add(found, sub(outside, product(a, p, outside)))
    return add(found, sub(inside, product(inside, p, a))), None


def _pinv_jvp(tangents: Cts, outs: Sequence[Value], a: Value, rcond: Value) -> Cts:
    p, ta = outs[0], tangents[0]
    if ta is None:
        return None, None
    _demand_rank(a, rcond)
    pt, tt = transpose(p), transpose(ta)
    left = product(p, pt, tt)
    right = product(tt, pt, p)
    found = neg(product(p, ta, p))
    found = add(found, sub(left, product(left, a, p)))
    return add(found, sub(right, product(p, a, right))), None


pinv = library(
    "pinv",
    "The pseudo-inverse, singular values of at most ``rcond`` times the largest counted as 0, and ``info``.",
    lambda a, rcond: (ArrayType(a.dtype, a.shape[::-1]), NUMBER),
    lambda a, rcond: (np.ascontiguousarray(np.linalg.pinv(a, rcond)), 0),
    jvp=_pinv_jvp,
    vjp=_pinv_vjp,
    results=("inverse", "info"),
    samples=(
        sample("f64[3, 2]", np.float64(1e-15)),
        sample("f64[2, 3]", np.float64(1e-15)),
    ),
)


def _lstsq_type(a: ArrayType, b: ArrayType, rcond: ScalarType) -> tuple[Any, ...]:
    n, count = a.shape[1], b.shape[1]
    return (
        ArrayType(a.dtype, (n, count)),
        ArrayType(a.dtype, (UNKNOWN,)),
        ScalarType(np.dtype(np.int32)),
        ArrayType(a.dtype, (minimum(*a.shape),)),
        NUMBER,
    )


def _lstsq_meaning(a: np.ndarray, b: np.ndarray, rcond: Any) -> tuple[Any, ...]:
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    return np.ascontiguousarray(x), residuals, np.int32(rank), s, 0


def _lstsq_vjp(cts: Cts, outs: Sequence[Value], a: Value, b: Value, rcond: Value) -> tuple[Value | None, ...]:
    """Through the pseudo-inverse ``P``: ``x = P b``; the residuals change with what is left of ``b``."""
    builder = current_builder()
    x, by_a, by_b = outs[0], [], []
    left = sub(b, matmul(a, x))
    _demand_rank(a, rcond)
    if cts[0] is not None:
        p = pinv(a, rcond)[0]
        shift = matmul(transpose(p), cts[0])
        onto = matmul(p, shift)
        off = sub(cts[0], product(p, a, cts[0]))
        by_a += [neg(matmul(shift, transpose(x))), matmul(left, transpose(onto))]
        by_a.append(product(transpose(p), x, transpose(off)))
        by_b.append(shift)
    by_residuals = cts[1]
    if by_residuals is not None:
        (weights,) = chosen(
            OPS["equal"](builder.dim_value(outs[1].type.shape[0]), dims_of(b)[1]),
            lambda: (builder.retype(by_residuals, b.type.shape[1:]),),
            lambda: (zeros_of(getitem(b, 0, view=View(("i", ":"), (0,)))),),
        )
        twice = mul(mul(a.type.dtype.type(2), left), row(builder.retype(weights, b.type.shape[1:])))
        by_a.append(neg(matmul(twice, transpose(x))))
        by_b.append(twice)
    if cts[3] is not None:
        u, _, vh, _ = svd(a, full=False)
        by_a.append(matmul(mul(u, row(cts[3])), vh))
    return total(by_a), total(by_b), None


def _lstsq_jvp(
    tangents: Sequence[Value | None], outs: Sequence[Value], a: Value, b: Value, rcond: Value
) -> tuple[Value | None, ...]:
    """Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973), 413: the pseudo-inverse ``P`` of constant rank."""
    ta, tb, _ = tangents
    x, p = outs[0], pinv(a, rcond)[0]
    left = sub(b, matmul(a, x))
    moved = total([*([] if tb is None else [tb]), *([] if ta is None else [neg(matmul(ta, x))])])
    if moved is None:
        return None, None, None, None, None
    parts, by_s = [matmul(p, moved)], None
    if ta is not None:
        _demand_rank(a, rcond)
        off = matmul(transpose(ta), matmul(transpose(p), x))
        parts += [product(p, transpose(p), matmul(transpose(ta), left)), sub(off, product(p, a, off))]
        u, _, vh, _ = svd(a, full=False)
        by_s = OPS["sum"](mul(u, matmul(ta, transpose(vh))), axes=(0,))
    squares = OPS["sum"](mul(mul(a.type.dtype.type(2), left), moved), axes=(0,))
    count = current_builder().dim_value(outs[1].type.shape[0])
    return total(parts), getitem(squares, 0, count, view=View((1,), (0,))), None, by_s, None


lstsq = library(
    "lstsq",
    "The shortest ``x`` that makes ``a @ x - b`` shortest, sums of squares of that, rank, singular values, ``info``.",
    _lstsq_type,
    _lstsq_meaning,
    jvp=_lstsq_jvp,
    vjp=_lstsq_vjp,
    results=("x", "residuals", "rank", "s", "info"),
    samples=(sample("f64[4, 2]", "f64[4, 2]", np.float64(1e-15)),),
)
