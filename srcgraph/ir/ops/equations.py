"""np.linalg and scipy.linalg: linear equations, determinants, positive definite and triangular matrices.

Matrices are float32 or float64, for equations, inverses and determinants complex too; integers count as float64.
A stack of matrices is a loop over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from srcgraph.errors import InferenceError
from srcgraph.ir.dims import Dim, product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, composite, current_builder, sample
from srcgraph.ir.ops import factors
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops.assume import Factored, structure, with_facts
from srcgraph.ir.ops.assume import slogdet as slogdet_of
from srcgraph.ir.ops.compare import where
from srcgraph.ir.ops.diagonals import diagonal, tril, triu
from srcgraph.ir.ops.factors import identity_like
from srcgraph.ir.ops.linalg import transpose
from srcgraph.ir.ops.shape import dims_of, empty, reshape
from srcgraph.ir.ops.vector import add, sub
from srcgraph.ir.types import FLOAT, INT

LINALG_ERROR = "np.linalg.LinAlgError"
_GOOD = np.array([[2.0, 0.3, -0.4], [0.5, 1.5, 0.2], [-0.4, 0.7, 1.0]])
_POSITIVE = np.array([[2.0, 0.3, -0.4], [0.3, 1.5, 0.2], [-0.4, 0.2, 1.0]])
_STACK = np.stack([_GOOD, _GOOD.T + np.eye(3)])


# -- operands ---------------------------------------------------------------------------------------


def matrix(a: Any, what: str, or_complex: bool = False) -> Value:
    """A matrix, or a stack of them, of floats, or of complex numbers too.

    Raises
    ------
    InferenceError
        It has fewer than two axes, or is complex where it must not be.
    """
    b = current_builder()
    x = b.value(a)
    if x.type.ndim < 2:
        raise InferenceError(f"{what}: {x.type.ndim}-dimensional array given, it must be at least two-dimensional")
    return floats(x, what, or_complex)


def floats(x: Value, what: str, or_complex: bool = False) -> Value:
    if x.type.dtype.kind == "c":
        if not or_complex:
            raise InferenceError(f"{what} of complex matrices is not supported")
        return x
    return x if x.type.dtype.kind == "f" else current_builder().cast(x, FLOAT)


def square(a: Any, what: str, or_complex: bool = False) -> Value:
    """A matrix that is checked to be square."""
    b = current_builder()
    x = matrix(a, what, or_complex)
    m, n = x.type.shape[-2:]
    if m != n:
        message = "Last 2 dimensions of the array must be square"
        b.call_named("equal_size", b.dim_value(n), b.dim_value(m), error=LINALG_ERROR, message=message)
        x = b.retype(x, (*x.type.shape[:-1], m))
    return x


def stacked(
    function: Callable[..., Sequence[Value]],
    operands: Sequence[tuple[Value, int]],
    results: Sequence[tuple[tuple[Dim, ...], Any]],
) -> Sequence[Value]:
    """Apply a function of matrices to stacks of them.

    Parameters
    ----------
    function : callable
        Takes the operands without their leading axes.
    operands : sequence of (Value, int)
        Each with the number of axes that are its own.
    results : sequence of (shape, dtype)
        What one call gives.
    """
    b = current_builder()
    lead = max((v.type.shape[: v.type.ndim - own] for v, own in operands), key=len)
    if not lead:
        return function(*(v for v, _ in operands))
    count = b.dim_value(product(lead))
    flat = []
    for v, own in operands:
        mine = v.type.shape[: v.type.ndim - own]
        if mine and len(mine) != len(lead):
            raise InferenceError("stacks of matrices with different numbers of axes are not supported")
        for own_size, size in zip(mine, lead, strict=False):
            message = "stacks of {x} and {y} matrices are not supported: they must be as many"
            b.call_named("equal_size", b.dim_value(size), b.dim_value(own_size), error="ValueError", message=message)
        flat.append(reshape(v, count, *dims_of(v)[len(mine) :]) if mine else v)
    inits = [empty(count, *map(b.dim_value, shape), dtype=dtype) for shape, dtype in results]

    def step(i: Value, *outs: Value) -> Sequence[Value]:
        parts = [item(v, 0, i) if v.type.ndim > own else v for v, (_, own) in zip(flat, operands, strict=True)]
        return [with_item(out, 0, i, found) for out, found in zip(outs, function(*parts), strict=True)]

    outs = counted(count, inits, step)
    sizes = list(map(b.dim_value, lead))
    return [reshape(v, *sizes, *dims_of(v)[1:]) for v in outs]


def fine(info: Value, message: str) -> None:
    """LAPACK went well."""
    current_builder().call_named("check_that", OPS["equal"](info, 0), error=LINALG_ERROR, message=message)


# -- linear equations ---------------------------------------------------------------------------------


def _solved(a: Value, b: Value, message: str, kind: str) -> Value:
    """``x`` with ``a @ x == b``, by the method that suits ``a``."""
    if kind:
        return Factored(a, kind, partial(_nonsingular, message)).solve(b)
    lu, pivots, info = factors.lu_factor(a)
    fine(info, message)
    return factors.lu_solve(a, lu, pivots, b, transposed=False)


def _nonsingular(singular: str, holds: Value, message: str) -> None:
    current_builder().call_named("check_that", holds, error=LINALG_ERROR, message=message or singular)


def _solve(a: Any, b: Any, message: str, what: str = "solve", facts: Sequence[str] = ()) -> Value:
    builder = current_builder()
    x, y = square(a, what, or_complex=True), floats(builder.value(b), what, or_complex=True)
    dtype = np.result_type(x.type.dtype, y.type.dtype)
    x, y = builder.cast(x, dtype), builder.cast(y, dtype)
    own = 1 if y.type.ndim == 1 else 2
    if y.type.ndim == 0:
        raise InferenceError(f"{what}: the right side must have at least one axis")
    n, rows = x.type.shape[-1], y.type.shape[-own]
    if n != rows:
        text = "solve: the matrix has {x} columns, the right side {y} rows"
        builder.call_named(
            "equal_size", builder.dim_value(n), builder.dim_value(rows), error="ValueError", message=text
        )
        y = builder.retype(y, [*y.type.shape[:-own], n, *y.type.shape[len(y.type.shape) - own + 1 :]])

    x = with_facts(x, facts, what) if facts else x
    kind = structure(x)

    def one(a: Value, b: Value) -> Sequence[Value]:
        return (_solved(a, b, message, kind),)

    return stacked(one, [(x, 2), (y, own)], [(y.type.shape[-own:], dtype)])[0]


@composite(
    "solve",
    python=np.linalg.solve,
    samples=(
        sample(_GOOD, "f64[3]"),
        sample(_GOOD, "f64[3, 2]"),
        sample("f32[2, 2]", "f32[2]"),
        sample(_STACK, "f64[2, 3, 2]"),
        sample("i64[2, 2]", "f64[2]"),
        sample(_GOOD + 0.3j * _GOOD.T, _GOOD[:, :2] * (1.0 - 2.0j)),
    ),
)
def solve(a: Any, b: Any) -> Value:
    """``x`` with ``a @ x == b``, also for complex numbers."""
    return _solve(a, b, "Singular matrix")


@composite("scipy_solve", python=scipy.linalg.solve, static="lower overwrite_a overwrite_b check_finite assume_a")
def scipy_solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
) -> Value:
    """``x`` with ``a @ x == b``."""
    if assume_a not in _ASSUMED:
        known = ", ".join(repr(n) for n in _ASSUMED if n is not None)
        raise InferenceError(f"scipy.linalg.solve: assume_a={assume_a!r} is not supported, one of {known} is")
    facts = _ASSUMED[assume_a]
    return _solve(_as_read(a, facts, lower) if facts else a, b, "Matrix is singular.", facts=facts)


_ASSUMED: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys((None, "gen", "general"), ()),
    **dict.fromkeys(("sym", "symmetric"), ("symmetric",)),
    **dict.fromkeys(("pos", "positive definite"), ("positive_definite",)),
    "lower triangular": ("lower_triangular",),
    "upper triangular": ("upper_triangular",),
}
"""What `scipy.linalg.solve` can be told."""


def _as_read(a: Any, facts: Sequence[str], lower: bool) -> Value:
    """The matrix of which SciPy reads one triangle only."""
    x = square(a, "scipy.linalg.solve")
    if facts[0] in ("lower_triangular", "upper_triangular"):
        return tril(x) if facts[0] == "lower_triangular" else triu(x)
    if x.type.ndim > 2:
        raise InferenceError("scipy.linalg.solve: assume_a of stacks of matrices is not supported")
    return add(tril(x), transpose(tril(x, -1))) if lower else add(triu(x), transpose(triu(x, 1)))


@composite(
    "inv",
    python=(np.linalg.inv, scipy.linalg.inv),
    samples=(sample(_GOOD), sample(_STACK), sample("f32[2, 2]")),
)
def inv(a: Any) -> Value:
    """The inverse of a matrix, also of a complex one."""
    return _inverse(square(a, "inv", or_complex=True), fine)


def _inverse(x: Value, check: Callable[[Value, str], None]) -> Value:
    kind = structure(x) if check is fine else ""

    def one(a: Value) -> Sequence[Value]:
        if kind:
            return (_solved(a, identity_like(a), "Singular matrix", kind),)
        lu, pivots, info = factors.lu_factor(a)
        check(info, "Singular matrix")
        found = factors.lu_solve(a, lu, pivots, identity_like(a), transposed=False)
        return (found if check is fine else where(OPS["equal"](info, 0), found, x.type.dtype.type(np.nan)),)

    return stacked(one, [(x, 2)], [(x.type.shape[-2:], x.type.dtype)])[0]


def inverse_or_nan(a: Any, what: str) -> Value:
    """The inverse of a matrix, NaN where it is singular."""
    return _inverse(square(a, what), lambda info, message: None)


@composite(
    "det",
    python=(np.linalg.det, scipy.linalg.det),
    samples=(
        *(sample(_GOOD), sample(_STACK), sample("f32[2, 2]"), sample(np.ones((2, 2)))),
        sample(_GOOD + 0.3j * _GOOD.T),
    ),
)
def det(a: Any) -> Value:
    """The determinant, also of a complex matrix; that is not differentiated."""
    x = square(a, "det", or_complex=True)

    def one(a: Value) -> Sequence[Value]:
        lu, pivots, _ = factors.lu_factor(a)
        return (factors.lu_det(a, lu, pivots),)

    return stacked(one, [(x, 2)], [((), x.type.dtype)])[0]


@composite("slogdet", python=np.linalg.slogdet, samples=(sample(_GOOD), sample(_STACK), sample("f32[2, 2]")))
def slogdet(a: Any) -> tuple[Value, ...]:
    """Sign and logarithm of the absolute value of the determinant."""
    x = square(a, "slogdet")
    kind = structure(x)

    def one(a: Value) -> Sequence[Value]:
        if kind not in ("", "orthogonal"):
            return slogdet_of(a, kind)
        lu, pivots, _ = factors.lu_factor(a)
        return factors.lu_slogdet(a, lu, pivots)

    return tuple(stacked(one, [(x, 2)], [((), x.type.dtype)] * 2))


@composite(
    "scipy_lu_factor", python=scipy.linalg.lu_factor, static="overwrite_a check_finite", samples=(sample(_GOOD),)
)
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Value, Value]:
    """``L`` and ``U`` in one matrix, and the row that each row was exchanged with."""
    lu, pivots, _ = factors.lu_factor(single(square(a, "lu_factor")))
    return lu, OPS["cast"](sub(pivots, np.int32(1)), dtype=np.dtype(np.int32), weak=False)


def single(x: Value) -> Value:
    if x.type.ndim != 2:
        raise InferenceError("stacks of matrices are not supported here")
    return x


@composite("scipy_lu_solve", python=scipy.linalg.lu_solve, static="trans overwrite_b check_finite")
def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Value:
    """``x`` with ``a @ x == b``, or ``a.T @ x == b``, given the factors of ``a``."""
    builder = current_builder()
    lu, pivots = lu_and_piv
    y = builder.cast(builder.value(b), lu.type.dtype)
    order = factors.row_order(builder.cast(add(pivots, np.int32(1)), np.dtype(np.int32)))
    solved = lambda x, lower: factors.solve_triangular(  # noqa: E731
        lu, x, lower=lower, transposed=bool(trans), unit=lower
    )
    if trans:
        return factors.take(solved(solved(y, False), True), factors.argsort(order))
    return solved(solved(factors.take(y, order), True), False)


# -- positive definite matrices -----------------------------------------------------------------------


@composite(
    "cholesky_array",
    python=np.linalg.cholesky,
    static="upper",
    samples=(sample(_POSITIVE), sample(_POSITIVE, upper=True), sample(np.stack([_POSITIVE, 2 * _POSITIVE]))),
)
def cholesky(a: Any, *, upper: bool = False) -> Value:
    """The lower ``l`` with ``l @ l.T == a``, or the upper ``u`` with ``u.T @ u == a``; one triangle is read."""
    x = square(a, "cholesky")

    def one(a: Value) -> Sequence[Value]:
        low, info = factors.cholesky(transpose(a) if upper else a)
        fine(info, "Matrix is not positive definite")
        return (transpose(low) if upper else low,)

    return stacked(one, [(x, 2)], [(x.type.shape[-2:], x.type.dtype)])[0]


def _cho_factor(a: Any, lower: bool) -> Value:
    b = current_builder()
    x = single(square(a, "cholesky"))
    low, info = factors.cholesky(x if lower else transpose(x))
    message = "{x}-th leading minor of the array is not positive definite"
    b.call_named("equal_size", b.cast(info, INT, True), b.const(0), error=LINALG_ERROR, message=message)
    return low if lower else transpose(low)


@composite(
    "scipy_cholesky",
    python=scipy.linalg.cholesky,
    static="lower overwrite_a check_finite",
    samples=(sample(_POSITIVE), sample(_POSITIVE, lower=True)),
)
def scipy_cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """The upper ``u`` with ``u.T @ u == a``, or the lower ``l`` with ``l @ l.T == a``; one triangle is read."""
    return _cho_factor(a, lower)


@composite("cho_factor", python=scipy.linalg.cho_factor, static="lower overwrite_a check_finite")
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Value, bool]:
    """The factor of a positive definite matrix for `cho_solve`, zeros in its other triangle."""
    return _cho_factor(a, lower), lower


@composite("cho_solve", python=scipy.linalg.cho_solve, static="overwrite_b check_finite")
def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Value:
    """``x`` with ``a @ x == b``, given the Cholesky factor of ``a``."""
    builder = current_builder()
    if not isinstance(c_and_lower, tuple) or len(c_and_lower) != 2:
        raise InferenceError("cho_solve takes the pair that cho_factor gives")
    c, lower = c_and_lower
    lower = bool(builder.definition(lower).attrs["value"]) if isinstance(lower, Value) else bool(lower)  # type: ignore[union-attr]
    c, y = _right_side(c, b, "cho_solve")
    half = factors.solve_triangular(c, y, lower=lower, transposed=not lower, unit=False)
    return factors.solve_triangular(c, half, lower=lower, transposed=lower, unit=False)


def _right_side(a: Any, b: Any, what: str) -> tuple[Value, Value]:
    """A square matrix and a right side of as many rows, of one dtype."""
    builder = current_builder()
    x, y = single(square(a, what)), floats(builder.value(b), what)
    if y.type.ndim not in (1, 2):
        raise InferenceError(f"{what}: the right side must have one or two axes")
    dtype = np.result_type(x.type.dtype, y.type.dtype)
    n, rows = x.type.shape[0], y.type.shape[0]
    if n != rows:
        text = "the matrix has {x} rows, the right side {y}"
        builder.call_named(
            "equal_size", builder.dim_value(n), builder.dim_value(rows), error="ValueError", message=text
        )
        y = builder.retype(y, (n, *y.type.shape[1:]))
    return builder.cast(x, dtype), builder.cast(y, dtype)


@composite(
    "solve_triangular_array",
    python=scipy.linalg.solve_triangular,
    static="trans lower unit_diagonal overwrite_b check_finite",
    samples=(
        sample(_GOOD, "f64[3]", lower=True),
        sample(_GOOD, "f64[3, 2]", trans=1),
        sample(_GOOD, "f64[3]", "T", True, unit_diagonal=True),
    ),
)
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Value:
    """``x`` with ``a @ x == b`` for one triangle of ``a``."""
    x, y = _right_side(a, b, "solve_triangular")
    if not unit_diagonal:
        zeros = OPS["equal"](diagonal(x), x.type.dtype.type(0))
        some = OPS["cast"](OPS["any"](zeros, axes=(0,)), dtype=np.dtype(bool), weak=True)
        message = "singular matrix: a number on the diagonal is 0"
        current_builder().call_named("check_that", OPS["logical_not"](some), error=LINALG_ERROR, message=message)
    transposed = trans in (1, 2, "T", "C")
    return factors.solve_triangular(x, y, lower=bool(lower), transposed=transposed, unit=bool(unit_diagonal))
