"""Type rules against NumPy, for every pair of dtypes and of Python's own numbers."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

import srcgraph  # noqa: F401  (fills the table of ops)
from srcgraph.errors import InferenceError, ShapeError
from srcgraph.ir.dims import as_dim, symbol
from srcgraph.ir.op import OPS
from srcgraph.ir.promote import broadcast_shapes, common_dtype
from srcgraph.ir.types import DTYPE_OF, NAME_OF, WEAK_DTYPE, ArrayType, ScalarType, Type

PYTHON = {"bool": True, "int": 2, "float": 2.0, "complex": 2 + 0j}
KINDS = [*WEAK_DTYPE, *DTYPE_OF, *(f"{name}[3]" for name in DTYPE_OF)]
PAIRS = list(itertools.product(KINDS, KINDS))
OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "less": operator.lt, "equal": operator.eq,
}  # fmt: skip
UFUNCS = {
    "maximum": np.maximum, "minimum": np.minimum, "arctan2": np.arctan2, "hypot": np.hypot,
    "logical_and": np.logical_and,
}  # fmt: skip


def type_of(kind: str) -> Type:
    if kind in WEAK_DTYPE:
        return ScalarType(WEAK_DTYPE[kind], weak=True)
    dtype = DTYPE_OF[kind.removesuffix("[3]")]
    return ArrayType(dtype, (as_dim(3),)) if kind.endswith("]") else ScalarType(dtype)


def value_of(kind: str) -> Any:
    if kind in PYTHON:
        return PYTHON[kind]
    dtype = DTYPE_OF[kind.removesuffix("[3]")]
    return np.full(3, 2, dtype) if kind.endswith("]") else dtype.type(2)


def check(name: str, function: Any, kinds: tuple[str, ...]) -> str | None:
    """What is wrong with a rule for operands of these kinds; None if it agrees with the function."""
    try:
        with np.errstate(all="ignore"):
            want = function(*map(value_of, kinds))
    except TypeError:
        want = None
    if want is not None and np.asarray(want).dtype not in NAME_OF:
        want = None  # half precision
    try:
        got = OPS[name].infer(*map(type_of, kinds))
    except InferenceError:
        got = None
    if got is None or want is None:
        return None if got is None and want is None else f"{name}{kinds}: the rule gives {got}, NumPy {want!r}"
    same = got.dtype == np.asarray(want).dtype and got.ndim == np.ndim(want)
    weak = isinstance(got, ScalarType) and got.weak
    same = got.dtype == np.asarray(want).dtype and got.ndim == np.ndim(want)
    weak = isinstance(got, ScalarType) and got.weak
    same = same and weak == (type(want) in (bool, int, float, complex))
    return None if same else f"{name}{kinds}: the rule gives {got}, NumPy {want!r} ({np.asarray(want).dtype})"


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    """Operators of Python's numbers give Python's, of all others NumPy's."""
    pairs = [p for p in PAIRS if p != ("complex", "f64")]  # Python's complex takes np.float64 for a float
    if name == "less":
        pairs = [p for p in pairs if not any(map(is_complex, p))]
    wrong = [found for pair in pairs if (found := check(name, OPERATORS[name], pair))]
    assert not wrong, "\n".join(wrong[:20])


def test_complex_numbers_have_no_order() -> None:
    """NumPy's lexicographic order of complex numbers is refused, as Python refuses it."""
    for kinds in PAIRS:
        if any(map(is_complex, kinds)):
            with pytest.raises(InferenceError, match="complex"):
                OPS["less"].infer(*map(type_of, kinds))


def is_complex(kind: str) -> bool:
    return type_of(kind).dtype.kind == "c"


@pytest.mark.parametrize("name", UFUNCS)
def test_functions(name: str) -> None:
    """Functions of NumPy, where at least one operand is NumPy's."""
    pairs = [p for p in PAIRS if not set(p) <= set(WEAK_DTYPE)]
    wrong = [found for pair in pairs if (found := check(name, UFUNCS[name], pair))]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("name", ["neg", "sin", "sqrt", "exp", "floor", "isnan", "absolute"])
def test_unary(name: str) -> None:
    function = {"neg": np.negative}.get(name) or getattr(np, name)
    wrong = [found for kind in DTYPE_OF for k in (kind, f"{kind}[3]") if (found := check(name, function, (k,)))]
    assert not wrong, "\n".join(wrong)


def test_common_dtype() -> None:
    """A mix of operands, as in `np.array([x, y])` or `np.where`, has NumPy's dtype."""
    for kinds in PAIRS:
        weak = [k in PYTHON for k in kinds]
        mixed = [type_of(k).dtype if all(weak) or not w else value_of(k) for k, w in zip(kinds, weak, strict=True)]
        assert common_dtype([type_of(k) for k in kinds]) == np.result_type(*mixed), kinds


def test_broadcasting() -> None:
    """Axes that are equal or 1 broadcast, others are refused with both shapes shown."""
    n, m, one, three = symbol("n"), symbol("m"), as_dim(1), as_dim(3)
    assert broadcast_shapes([(n, three), (three,)]) == (n, three)
    assert broadcast_shapes([(n, one), (one, m)]) == (n, m)
    assert broadcast_shapes([(), (n,)]) == (n,)
    assert broadcast_shapes([]) == ()
    for shapes in itertools.product([(1,), (3,), (1, 3), (3, 1), (3, 3)], repeat=2):
        found = broadcast_shapes([tuple(map(as_dim, s)) for s in shapes])
        assert tuple(d.const for d in found) == np.broadcast_shapes(*shapes)
    with pytest.raises(ShapeError, match=r"shapes \(3\) and \(n\) do not broadcast"):
        broadcast_shapes([(three,), (n,)])
