"""`srcgraph.assume`: facts that users promise, and equations, inverses and determinants that make use of them.

A fact changes how fast something is computed and how it is rounded, never what it means: derivatives are those of the
function without it, also with respect to elements that a fact says are zero.

References
----------
G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th ed., 2013, sections 3.1 and 4.2: triangular and positive
definite systems.
M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.assumptions import FACTS, OF_ELEMENTS, Known, closed, facts_of, set_build, tolerance
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, Op, current_builder, define, sample
from srcgraph.ir.ops import factors
from srcgraph.ir.ops._loops import counted, item
from srcgraph.ir.ops._rules import linear, total
from srcgraph.ir.ops.compare import greater, greater_equal, less_equal, where
from srcgraph.ir.ops.diagonals import tril, triu
from srcgraph.ir.ops.linalg import matmul, outer, transpose
from srcgraph.ir.ops.remainders import absolute
from srcgraph.ir.ops.vector import mul, neg, sub
from srcgraph.ir.types import PY_BOOL, ScalarType
from srcgraph.ir.view import transposed

Cts = Sequence[Value | None]
_A = np.array([[2.0, 0.3, -0.4], [0.5, 1.5, 0.2], [-0.4, 0.7, 1.0]])


def _simpler(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    """Facts of one value are in one node; those that are known anyway need none."""
    (x,) = inputs
    known = facts_of(builder.definition, x)
    wanted = frozenset(attrs["facts"])
    if closed(wanted) <= known:
        return x
    node = builder.definition(x)
    if node is None or node.op is not assumed:
        return None
    return assumed(node.inputs[0], facts=tuple(sorted(wanted | set(node.attrs["facts"]))))


assumed = define(
    name="assumed",
    doc="``x``, of which the user promises facts, see `srcgraph.ir.assumptions`.",
    infer=lambda x, *, facts: x,
    numpy=lambda x, *, facts: x,
    kind="structural",
    jvp=linear(lambda tx, *, facts: tx),
    vjp=lambda ct, out, x, *, facts: (ct,),
    simplify=_simpler,
    linear=True,
    through_complex=True,
    samples=(sample("f64[3, 3]", facts=("symmetric",)),),
)


stands_for = define(
    name="stands_for",
    doc="``x``; its derivative is that of ``y``, which is another way to compute it.",
    infer=lambda x, y: x,
    numpy=lambda x, y: x,
    kind="structural",
    jvp=lambda tangents, out, x, y: tangents[1],
    vjp=lambda ct, out, x, y: (None, ct),
    constant=(0,),
    through_complex=True,
)


def with_facts(x: Value, names: Sequence[str], what: str) -> Value:
    """``x``, of which these facts are promised.

    Raises
    ------
    InferenceError
        There is no such fact, or ``x`` cannot have it.
    """
    b = current_builder()
    if x.type.dtype.kind not in "iufc":
        raise InferenceError(f"{what}: facts are about numbers, not {x.type}")
    for name in names:
        _fits(x, name, what)
    if any(FACTS[n].square for n in names):
        m, n = x.type.shape[-2:]
        if m != n:
            message = f"{what}: a matrix that is {FACTS[names[0]].text} has as many rows as columns"
            b.call_named("equal_size", b.dim_value(n), b.dim_value(m), error="ValueError", message=message)
            x = b.retype(x, (*x.type.shape[:-1], m))
    return assumed(x, facts=tuple(sorted(names)))


def _fits(x: Value, name: str, what: str) -> None:
    if name not in FACTS:
        raise InferenceError(f"{what}: there is no fact {name!r}; known are {', '.join(FACTS)}")
    if FACTS[name].square and x.type.ndim < 2:
        raise InferenceError(f"{what}: {x.type} cannot be {FACTS[name].text}: it is no matrix")
    if x.type.dtype.kind == "c" and name in ("positive_definite", "orthogonal", "positive", "nonnegative"):
        raise InferenceError(f"{what}: of complex numbers {name!r} is not supported")


set_build(lambda x, names: assumed(x, facts=tuple(names)))


# -- checks, in mode DEBUG ------------------------------------------------------------------------------


def check_facts(x: Value, names: Sequence[str], what: str) -> None:
    """Raise ValueError where a fact does not hold, up to half of the digits."""
    b = current_builder()
    for name in names:
        holds = _every(_ELEMENTS[name](x)) if name in OF_ELEMENTS else _of_matrices(x, name)
        b.call_named("check_that", holds, error="ValueError", message=f"{what}: it is not {FACTS[name].text}")


def _every(right: Value) -> Value:
    """Whether something is so everywhere."""
    axes = tuple(range(right.type.ndim))
    every = OPS["all"](right, axes=axes) if axes else right
    return current_builder().cast(every, np.dtype(bool), True)


def _of_matrices(x: Value, name: str) -> Value:
    """Whether a matrix, or each one of a stack, has a fact."""
    b = current_builder()
    if x.type.ndim == 2:
        floats = x.type.dtype.kind in "fc" or name not in _BY_FACTORS
        return _every(_MATRICES[name](x if floats else b.cast(x, np.dtype(float), False)))

    def next_one(i: Value, so_far: Value) -> list[Value]:
        both = OPS["logical_and"](so_far, _of_matrices(item(x, 0, i), name))
        return [b.cast(both, np.dtype(bool), True)]

    (found,) = counted(b.dim_value(x.type.shape[0]), [b.const(True)], next_one, names=["holds"])
    return found


def _near(x: Value, y: Value) -> Value:
    """Which elements agree up to half of the digits of the largest; integers agree exactly."""
    if x.type.dtype.kind in "iu":
        return OPS["equal"](x, y)
    axes = tuple(range(x.type.ndim))
    sizes = absolute(x)
    number = sizes.type.dtype.type
    largest = OPS["max"](where(greater_equal(sizes, number(0)), sizes, number(0)), axes=axes)
    return less_equal(absolute(sub(x, y)), mul(largest, number(tolerance(x.type.dtype))))


def _is_zero(x: Value) -> Value:
    return OPS["equal"](x, x.type.dtype.type(0))


def _is_positive_definite(x: Value) -> Value:
    _, info = factors.cholesky(x)
    return OPS["logical_and"](_near(x, transpose(x)), OPS["equal"](info, 0))


_ELEMENTS = {
    "positive": lambda x: greater(x, x.type.dtype.type(0)),
    "nonnegative": lambda x: greater_equal(x, x.type.dtype.type(0)),
    "finite": lambda x: OPS["isfinite"](x),
}
_MATRICES = {
    "symmetric": lambda x: _near(x, transpose(x)),
    "positive_definite": _is_positive_definite,
    "invertible": lambda x: OPS["logical_and"](OPS["isfinite"](x), OPS["equal"](factors.lu_factor(x)[2], 0)),
    "lower_triangular": lambda x: _is_zero(triu(x, 1)),
    "upper_triangular": lambda x: _is_zero(tril(x, -1)),
    "diagonal": lambda x: OPS["logical_and"](_is_zero(triu(x, 1)), _is_zero(tril(x, -1))),
    "orthogonal": lambda x: _near(matmul(transpose(x), x), factors.identity_like(x)),
}
_BY_FACTORS = ("positive_definite", "invertible", "orthogonal")
"""Those that are computed in floats."""


# -- solutions of structured equations ------------------------------------------------------------------


def _outer(x: Value, y: Value) -> Value:
    return outer(x, y) if x.type.ndim == 1 else matmul(x, transpose(y))


def _solution(a: np.ndarray, *rest: np.ndarray, transposed: bool, **attrs: bool) -> np.ndarray:
    """What each of them means; of a matrix that has the fact, a faster method gives the same."""
    return np.linalg.solve(a.T if transposed else a, rest[-1])


def _solve_vjp(op: Callable[[], Op]) -> Callable[..., Cts]:
    """``-A^-T ct x^T`` and ``A^-T ct`` (Giles, section 2.2.3)."""

    def vjp(ct: Value, out: Value, a: Value, *rest: Value, transposed: bool, **attrs: bool) -> Cts:
        by_b = op()(a, *rest[:-1], ct, transposed=not transposed, **attrs)
        by_a = neg(_outer(out, by_b) if transposed else _outer(by_b, out))
        return by_a, *(None for _ in rest[:-1]), by_b

    return vjp


def _solve_jvp(op: Callable[[], Op]) -> Callable[..., Value | None]:
    def jvp(tangents: Cts, out: Value, a: Value, *rest: Value, transposed: bool, **attrs: bool) -> Value | None:
        ta, tb = tangents[0], tangents[-1]
        by_a = [] if ta is None else [neg(matmul(transpose(ta) if transposed else ta, out))]
        right = total(by_a + ([] if tb is None else [tb]))
        return None if right is None else op()(a, *rest[:-1], right, transposed=transposed, **attrs)

    return jvp


def _method(name: str, doc: str, infer: Callable, **fields: Any) -> Op:
    return define(
        name=name, doc=f"``x`` with ``a @ x == b``, or ``a.T @ x == b``, {doc}.", infer=infer, numpy=_solution,
        kind="library", emit={"cpu": name}, helpers="structured", heavy=True, jvp=_solve_jvp(lambda: OPS[name]),
        vjp=_solve_vjp(lambda: OPS[name]), **fields,
    )  # fmt: skip


triangular_solve = _method(
    "triangular_solve",
    "for a triangular ``a``",
    lambda a, b, *, lower, transposed: b,
    samples=(sample(np.tril(_A), "f64[3, 2]", lower=True, transposed=True),),
)
positive_solve = _method(
    "positive_solve",
    "for a positive definite ``a``, by its Cholesky factor; differentiates through ``a``",
    lambda a, low, b, *, transposed: b,
    unread=1,
)
orthogonal_solve = _method(
    "orthogonal_solve",
    "for an orthogonal ``a``",
    lambda a, b, *, transposed: b,
)


def _slogdet_meaning(a: np.ndarray, factor: np.ndarray, *, positive: bool, lower: bool) -> tuple[Any, Any]:
    sign, size = np.linalg.slogdet(a)
    return a.dtype.type(sign), a.dtype.type(size)


def _slope(a: Value, factor: Value, positive: bool, lower: bool) -> Value:
    """``A^-T`` (Giles, section 2.2.4)."""
    eye = factors.identity_like(a)
    if positive:
        return positive_solve(a, factor, eye, transposed=True)
    return triangular_solve(a, eye, lower=lower, transposed=True)


def _slogdet_vjp(cts: Cts, outs: Cts, a: Value, factor: Value, *, positive: bool, lower: bool) -> Cts:
    return (None if cts[1] is None else mul(cts[1], _slope(a, factor, positive, lower))), None


def _slogdet_jvp(tangents: Cts, outs: Cts, a: Value, factor: Value, *, positive: bool, lower: bool) -> Cts:
    if tangents[0] is None:
        return None, None
    return None, OPS["sum"](mul(_slope(a, factor, positive, lower), tangents[0]), axes=(0, 1))


structured_slogdet = define(
    name="structured_slogdet",
    doc="Sign and logarithm of the determinant of a triangular matrix, or of a positive definite one by its factor.",
    infer=lambda a, factor, *, positive, lower: (ScalarType(a.dtype), ScalarType(a.dtype)),
    numpy=_slogdet_meaning,
    kind="library",
    emit={"cpu": "structured_slogdet"},
    helpers="structured",
    heavy=True,
    unread=1,
    results=("sign", "logdet"),
    jvp=_slogdet_jvp,
    vjp=_slogdet_vjp,
)


full_diagonal = define(
    name="full_diagonal",
    doc="Whether no element of the diagonal is 0.",
    infer=lambda a: PY_BOOL,
    numpy=lambda a: bool(np.all(np.diag(a) != 0)),
    kind="library",
    emit={"cpu": "full_diagonal"},
    helpers="structured",
    samples=(sample(np.array([[1.0, 2.0], [3.0, 0.0]])),),
)


# -- which of them --------------------------------------------------------------------------------------


def known_facts(x: Value) -> Known:
    """What is known of a value where code is being built."""
    return facts_of(current_builder().definition, x)


def structure(a: Value) -> str:
    """Which method suits a matrix: ``lower``, ``upper``, ``positive``, ``orthogonal``, or ``''`` for any matrix."""
    known = known_facts(a) if a.type.dtype.kind == "f" else frozenset()
    kinds = {"lower_triangular": "lower", "upper_triangular": "upper", "positive_definite": "positive"}
    kinds["orthogonal"] = "orthogonal"
    return next((kind for fact, kind in kinds.items() if fact in known), "")


class Factored:
    """A square matrix with a known structure, and its Cholesky factor if that is what suits it.

    Parameters
    ----------
    a : Value
    kind : str
        See `structure`.
    fine : callable
        ``fine(condition)`` raises unless it holds: the matrix is singular, or not positive definite.
    """

    def __init__(self, a: Value, kind: str, fine: Any):
        self.a, self.kind = a, kind
        if kind == "positive":
            self.factor, info = factors.cholesky(a)
            fine(OPS["equal"](info, 0), "Matrix is not positive definite")
        elif "invertible" not in known_facts(a):
            fine(full_diagonal(a), "")

    def solve(self, b: Value) -> Value:
        if self.kind == "positive":
            return positive_solve(self.a, self.factor, b, transposed=False)
        if self.kind == "orthogonal":
            return orthogonal_solve(self.a, b, transposed=False)
        lower, base = self.kind == "lower", _turned(self.a)
        if base is not None:
            return triangular_solve(base, b, lower=not lower, transposed=True)
        return triangular_solve(self.a, b, lower=lower, transposed=False)


def _turned(a: Value) -> Value | None:
    """The matrix of which this is the transpose."""
    node = current_builder().definition(a)
    is_view = node is not None and node.op.name == "getitem" and node.attrs["view"] == transposed(2, (1, 0))
    return node.inputs[0] if node is not None and is_view else None


def slogdet(a: Value, kind: str) -> tuple[Value, Value]:
    """Sign and logarithm of the determinant."""
    positive = kind == "positive"
    factor = Factored(a, kind, _fine_factor).factor if positive else a
    return structured_slogdet(a, factor, positive=positive, lower=kind == "lower")


def _fine_factor(holds: Value, message: str) -> None:
    current_builder().call_named("check_that", holds, error="np.linalg.LinAlgError", message=message)
