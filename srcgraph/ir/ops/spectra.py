"""np.linalg and scipy.linalg: orthogonal factors, eigenvalues, singular values, least squares, powers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from srcgraph.errors import InferenceError
from srcgraph.ir.dims import minimum
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, composite, current_builder, sample
from srcgraph.ir.ops import linalg, orthogonal, sorting
from srcgraph.ir.ops._loops import counted
from srcgraph.ir.ops.diagonals import eye
from srcgraph.ir.ops.equations import LINALG_ERROR, fine, floats, inv, matrix, single, solve, square, stacked
from srcgraph.ir.ops.factors import column, identity_like
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.linalg import transpose
from srcgraph.ir.ops.remainders import absolute
from srcgraph.ir.ops.searching import largest
from srcgraph.ir.ops.sequences import take
from srcgraph.ir.ops.shape import dims_of
from srcgraph.ir.ops.vector import add, div, mul, neg, sub
from srcgraph.ir.types import FLOAT, INT
from srcgraph.ir.view import View

_GOOD = np.array([[2.0, 0.3, -0.4], [0.5, 1.5, 0.2], [-0.4, 0.7, 1.0]])
_TURN = np.array([[0.0, -8.0, 1.0], [8.0, 0.0, 2.0], [-1.0, -2.0, 0.1]])
_POSITIVE = np.array([[2.0, 0.3, -0.4], [0.3, 1.5, 0.2], [-0.4, 0.2, 1.0]])


# -- orthogonal factors, eigenvalues, singular values ---------------------------------------------------


@composite(
    "qr_array",
    python=np.linalg.qr,
    static="mode",
    samples=(sample("f64[4, 3]"), sample("f64[2, 3, 3]"), sample("f64[3, 3]", mode="r")),
)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Orthonormal columns ``q`` and an upper triangle ``r`` with ``q @ r == a``."""
    x = matrix(a, "qr")
    m, n = x.type.shape[-2:]
    if mode not in ("reduced", "r") and not (mode == "complete" and m == n):
        raise InferenceError(f"qr: mode={mode!r} is not supported")
    k = minimum(m, n)
    q, r = stacked(orthogonal.qr, [(x, 2)], [((m, k), x.type.dtype), ((k, n), x.type.dtype)])
    return r if mode == "r" else (q, r)


@composite("scipy_qr", python=scipy.linalg.qr, static="mode", samples=(sample("f64[4, 3]", mode="economic"),))
def scipy_qr(a: Any, *, mode: str = "full") -> Any:
    """Orthonormal columns ``q`` and an upper triangle ``r`` with ``q @ r == a``."""
    if mode != "economic":
        raise InferenceError("scipy.linalg.qr: only mode='economic' is supported")
    return qr(a)


def _upper(uplo: Any) -> bool:
    """Whether the upper triangle is read."""
    if str(uplo).upper() not in ("L", "U"):
        raise InferenceError("UPLO argument must be 'L' or 'U'")
    return str(uplo).upper() == "U"


_DIVERGED = "Eigenvalues did not converge"


@composite(
    "eigh_array",
    python=np.linalg.eigh,
    static="UPLO",
    samples=(sample(_POSITIVE), sample(_POSITIVE, UPLO="U"), sample(np.stack([_POSITIVE, 2 * _POSITIVE]))),
)
def eigh(a: Any, UPLO: str = "L") -> tuple[Value, ...]:  # noqa: N803 (NumPy's names)
    """Eigenvalues in order, and eigenvectors as columns, of a symmetric matrix of which one triangle is read."""
    x, upper = square(a, "eigh"), _upper(UPLO)

    def one(a: Value) -> Sequence[Value]:
        w, v, info = orthogonal.eigh(a, upper=upper)
        fine(info, _DIVERGED)
        return w, v

    dtype = x.type.dtype
    return tuple(stacked(one, [(x, 2)], [(x.type.shape[-1:], dtype), (x.type.shape[-2:], dtype)]))


@composite(
    "eigvalsh_array",
    python=np.linalg.eigvalsh,
    static="UPLO",
    samples=(sample(_POSITIVE), sample(_POSITIVE, "U"), sample(np.stack([_POSITIVE, 2 * _POSITIVE]))),
)
def eigvalsh(a: Any, UPLO: str = "L") -> Value:  # noqa: N803 (NumPy's names)
    """Eigenvalues in order of a symmetric matrix of which one triangle is read."""
    x, upper = square(a, "eigvalsh"), _upper(UPLO)

    def one(a: Value) -> Sequence[Value]:
        w, info = orthogonal.eigvalsh(a, upper=upper)
        fine(info, _DIVERGED)
        return (w,)

    return stacked(one, [(x, 2)], [(x.type.shape[-1:], x.type.dtype)])[0]


@composite("scipy_eigvalsh", python=scipy.linalg.eigvalsh, static="lower", samples=(sample(_POSITIVE),))
def scipy_eigvalsh(a: Any, *, lower: bool = True) -> Value:
    """Eigenvalues in order of a symmetric matrix."""
    return eigvalsh(a, "L" if lower else "U")


def _eig(a: Any, what: str) -> tuple[Value, Value]:
    x = single(square(a, what))
    w_real, w_imag, v_real, v_imag, info = orthogonal.eig(x)
    fine(info, _DIVERGED)
    return add(w_real, mul(1j, w_imag)), add(v_real, mul(1j, v_imag))


@composite("eig_array", python=np.linalg.eig, samples=(sample(_TURN),))
def eig(a: Any) -> tuple[Value, Value]:
    """Eigenvalues, and eigenvectors as columns; complex also where NumPy finds all of them real."""
    return _eig(a, "eig")


@composite("eigvals", python=np.linalg.eigvals, samples=(sample(_TURN),))
def eigvals(a: Any) -> Value:
    """Eigenvalues; complex also where NumPy finds all of them real."""
    return _eig(a, "eigvals")[0]


_NO_SVD = "SVD did not converge"


@composite(
    "svd_array",
    python=(np.linalg.svd, scipy.linalg.svd),
    static="full_matrices compute_uv hermitian",
    samples=(
        sample("f64[3, 3]"),
        sample("f64[3, 2]", full_matrices=False),
        sample("f64[2, 3]", compute_uv=False),
        sample("f64[2, 3, 2]", full_matrices=False),
        sample(_POSITIVE, hermitian=True),
        sample(_TURN, compute_uv=False, hermitian=True),
    ),
)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """``u``, singular values from the largest down, and ``vh``, with ``u * s @ vh == a``."""
    if hermitian:
        return _hermitian_svd(square(a, "svd"), compute_uv)
    x = matrix(a, "svd")
    if not compute_uv:
        return singular_values(x)
    m, n = x.type.shape[-2:]
    k = minimum(m, n)

    def one(a: Value) -> Sequence[Value]:
        *found, info = orthogonal.svd(a, full=bool(full_matrices))
        fine(info, _NO_SVD)
        return found

    shapes = ((m, m), (k,), (n, n)) if full_matrices else ((m, k), (k,), (k, n))
    return tuple(stacked(one, [(x, 2)], [(s, x.type.dtype) for s in shapes]))


def _hermitian_svd(x: Value, compute_uv: bool) -> Any:
    """By the eigenvalues of the lower triangle, as in NumPy."""

    def falling(w: Value) -> tuple[Value, Value]:
        (n,) = dims_of(w)
        order = sorting.argsort(absolute(w))
        order = getitem(order, sub(n, 1), n, view=View((-1,), (0,)))
        return sorting.gather(w, order), order

    def values(a: Value) -> Sequence[Value]:
        return (absolute(falling(eigvalsh(a))[0]),)

    def vectors(a: Value) -> Sequence[Value]:
        w, v = eigh(a)
        w, order = falling(w)
        rows = take(transpose(v), order)
        return transpose(rows), absolute(w), mul(rows, column(OPS["sign"](w)))

    n, dtype = x.type.shape[-1], x.type.dtype
    if not compute_uv:
        return stacked(values, [(x, 2)], [((n,), dtype)])[0]
    return tuple(stacked(vectors, [(x, 2)], [(s, dtype) for s in ((n, n), (n,), (n, n))]))


def singular_values(x: Value) -> Value:
    def one(a: Value) -> Sequence[Value]:
        s, info = orthogonal.svdvals(a)
        fine(info, _NO_SVD)
        return (s,)

    return stacked(one, [(x, 2)], [((minimum(*x.type.shape[-2:]),), x.type.dtype)])[0]


@composite(
    "svdvals_array",
    python=(np.linalg.svdvals, scipy.linalg.svdvals),
    samples=(sample("f64[3, 3]"), sample("f64[3, 2]")),
)
def svdvals(x: Any) -> Value:
    """Singular values from the largest down."""
    return singular_values(matrix(x, "svdvals"))


@composite(
    "pinv_array",
    python=(np.linalg.pinv, scipy.linalg.pinv),
    numpy=np.linalg.pinv,
    samples=(sample("f64[3, 2]"), sample("f64[2, 3]"), sample("f64[2, 3, 2]"), sample("f64[3, 3]", 1e-12)),
)
def pinv(a: Any, rcond: Any = 1e-15) -> Value:
    """The pseudo-inverse."""
    b = current_builder()
    x = matrix(a, "pinv")
    cut = b.cast(b.value(rcond), x.type.dtype, False)

    def one(a: Value) -> Sequence[Value]:
        found, info = orthogonal.pinv(a, cut)
        fine(info, _NO_SVD)
        return (found,)

    m, n = x.type.shape[-2:]
    return stacked(one, [(x, 2)], [((n, m), x.type.dtype)])[0]


@composite(
    "lstsq_array", python=np.linalg.lstsq, samples=(sample("f64[4, 2]", "f64[4]"), sample("f64[3, 2]", "f64[3, 2]"))
)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Value, ...]:
    """The shortest ``x`` that makes ``a @ x - b`` shortest, the squares of that, the rank, the singular values."""
    builder = current_builder()
    x, y = single(matrix(a, "lstsq")), floats(builder.value(b), "lstsq")
    dtype = np.result_type(x.type.dtype, y.type.dtype)
    x, y = builder.cast(x, dtype), builder.cast(y, dtype)
    line = y.type.ndim == 1
    y = column(y) if line else y
    m = dims_of(x)[0]
    builder.call_named("equal_size", m, dims_of(y)[0], error=LINALG_ERROR, message="Incompatible dimensions")
    y = builder.retype(y, (x.type.shape[0], y.type.shape[1]))
    cut = orthogonal.rounding_of(x) if rcond is None else builder.value(rcond)
    out, residuals, rank, s, info = orthogonal.lstsq(x, y, builder.cast(cut, dtype, False))
    fine(info, "SVD did not converge in Linear Least Squares")
    if line:
        out = getitem(out, 0, view=View((":", "i"), (0,)))
    return out, residuals, rank, s


# -- numbers and powers of matrices ---------------------------------------------------------------------


@composite(
    "matrix_power",
    python=np.linalg.matrix_power,
    static="n",
    views=lambda a, n: n == 1,
    samples=(
        *(sample("f64[3, 3]", 3), sample(_GOOD, -2), sample("f64[2, 2]", 0), sample("i64[2, 2]", 5)),
        sample("f64[2, 2]", 1),
    ),
)
def matrix_power(a: Any, n: int) -> Value:
    """A matrix multiplied by itself, by squaring; the inverse's for negative powers."""
    b = current_builder()
    x = b.value(a)
    x = single(square(a, "matrix_power")) if x.type.dtype.kind == "f" or n < 0 else _integer_square(x)
    if not isinstance(n, int | np.integer):
        raise InferenceError("matrix_power: the exponent must be an integer")
    if n < 0:
        x, n = inv(x), -n
    if n == 0:
        return eye(dims_of(x)[0], dtype=x.type.dtype)
    out: Value | None = None
    while n:
        if n % 2:
            out = x if out is None else linalg.matmul(out, x)
        n //= 2
        if n:
            x = linalg.matmul(x, x)
    assert out is not None
    return b.call_named("copy", out)


def _integer_square(x: Value) -> Value:
    b = current_builder()
    if x.type.ndim != 2:
        raise InferenceError("matrix_power takes a matrix")
    m, n = x.type.shape
    if m != n:
        message = "Last 2 dimensions of the array must be square"
        b.call_named("equal_size", b.dim_value(n), b.dim_value(m), error=LINALG_ERROR, message=message)
    return b.retype(x, (m, m))


@composite("multi_dot", python=np.linalg.multi_dot, samples=(
    sample(("f64[2, 3]", "f64[3, 4]", "f64[4, 2]")), sample(("f64[2, 3]", "f64[3, 4]", "f64[4]")),
))  # fmt: skip
def multi_dot(arrays: Any) -> Value:
    """The matrix product of several arrays; from the right if the last is a vector, else from the left."""
    b = current_builder()
    parts = [b.value(v) for v in arrays] if isinstance(arrays, tuple | list) else []
    if len(parts) < 2:
        raise InferenceError("multi_dot takes a list of at least two arrays")
    if any(v.type.ndim > 2 for v in parts):
        raise InferenceError("multi_dot takes matrices, and vectors at its ends")
    if parts[-1].type.ndim == 1:
        out = parts[-1]
        for x in parts[-2::-1]:
            out = linalg.product(x, out)
        return out
    out = parts[0]
    for x in parts[1:]:
        out = linalg.product(out, x)
    return out


@composite("matrix_rank", python=np.linalg.matrix_rank, samples=(sample("f64[3, 2]"), sample(np.ones((3, 3)))))
def matrix_rank(A: Any, tol: Any = None) -> Value:  # noqa: N803 (NumPy's names)
    """How many singular values are larger than ``tol``."""
    b = current_builder()
    x = single(matrix(A, "matrix_rank"))
    s = singular_values(x)
    if tol is None:
        m, n = dims_of(x)
        size = b.cast(OPS["maximum"](m, n), x.type.dtype, False)
        tol = mul(mul(largest(s, 0), size), np.finfo(x.type.dtype).eps)
    return OPS["sum"](OPS["cast"](OPS["greater"](s, tol), dtype=INT, weak=False), axes=(0,))


# -- matrix exponential -----------------------------------------------------------------------------------

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


@composite("expm", python=scipy.linalg.expm, samples=(sample("f64[3, 3]"), sample(_TURN)))
def expm(A: Any) -> Value:  # noqa: N803 (SciPy's names)
    """The matrix exponential, by scaling, a Padé approximant of order 13, and squaring.

    References
    ----------
    N. Higham, The scaling and squaring method for the matrix exponential revisited, SIAM J. Matrix Anal.
    Appl. 26 (2005).
    """
    b = current_builder()
    x = single(square(A, "expm"))
    kind = x.type.dtype.type
    size = largest(OPS["sum"](OPS["absolute"](x), axes=(0,)), 0)
    times = OPS["maximum"](OPS["ceil"](OPS["log2"](div(b.cast(size, FLOAT, True), 5.371920351148152))), 0.0)
    count = b.cast(OPS["where"](OPS["isfinite"](times), times, 0.0), INT, weak=True)
    x = mul(x, b.cast(OPS["exp2"](neg(b.cast(count, FLOAT, True))), x.type.dtype, False))
    one = identity_like(x)
    x2 = linalg.matmul(x, x)
    x4 = linalg.matmul(x2, x2)
    x6 = linalg.matmul(x2, x4)

    def series(c6: float, c4: float, c2: float) -> Value:
        return add(add(mul(kind(c6), x6), mul(kind(c4), x4)), mul(kind(c2), x2))

    c = _PADE
    odd = add(linalg.matmul(x6, series(c[13], c[11], c[9])), add(series(c[7], c[5], c[3]), mul(kind(c[1]), one)))
    odd = linalg.matmul(x, odd)
    even = add(linalg.matmul(x6, series(c[12], c[10], c[8])), add(series(c[6], c[4], c[2]), mul(kind(c[0]), one)))
    out = solve(sub(even, odd), add(even, odd))
    return counted(count, [out], lambda i, y: [linalg.matmul(y, y)])[0]
