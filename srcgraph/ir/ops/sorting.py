"""Sorting, searching and counting as ops: what runs in memory, by `srcgraph.runtime.sorting`.

Operands have one axis; those of `sort`, `argsort`, `gather` and `scatter` may have two, and then each row
counts by itself. What users write is in `searching`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcgraph.ir.dims import UNKNOWN
from srcgraph.ir.graph import Value
from srcgraph.ir.op import Op, define, sample
from srcgraph.ir.ops._rules import linear
from srcgraph.ir.ops.shape import dims_of
from srcgraph.ir.types import BOOL, INT, PY_INT, ArrayType, ScalarType, is_float, is_inexact

SOME = ArrayType(INT, (UNKNOWN,))
"""Integers, how many is known at run time."""


def _library(name: str, doc: str, infer: Callable, numpy: Callable, **fields: Any) -> Op:
    return define(
        name=name, doc=doc, infer=infer, numpy=numpy, kind="library", emit={"cpu": name}, helpers="sorting",
        heavy=True, **fields,
    )  # fmt: skip


# -- moving elements --------------------------------------------------------------------------------


def _scattered(v: np.ndarray, index: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros((*v.shape[:-1], n), v.dtype)
    rows = np.indices(index.shape)[:-1]
    np.add.at(out, (*rows, index), v)
    return out


def _never(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> bool:
    """What is in an array of indices is not known before it is checked."""
    return False


gather = _library(
    "gather",
    "``x[..., index]``, row by row where there are two axes.",
    lambda x, index: ArrayType(x.dtype, index.shape),
    lambda x, index: np.take_along_axis(x, index, -1),
    jvp=linear(lambda tx, index: gather(tx, index)),
    proved=_never,
    vjp=lambda ct, out, x, index: (scatter(ct, index, dims_of(x)[-1]), None),
    linear=True,
    through_complex=True,
    samples=(
        sample("f64[4]", np.array([2, 0, 0])),
        sample("f64[2, 3]", np.array([[2, 0], [1, 1]])),
    ),
)
scatter = _library(
    "scatter",
    "Zeros of length ``n`` to which ``v[k]`` is added at ``index[k]``, row by row where there are two axes.",
    lambda v, index, n: ArrayType(v.dtype, (*v.shape[:-1], n.value)),
    _scattered,
    jvp=linear(lambda tv, index, n: scatter(tv, index, n)),
    proved=_never,
    vjp=lambda ct, out, v, index, n: (gather(ct, index) if is_inexact(v.type) else None, None, None),
    linear=True,
    through_complex=True,
    samples=(
        sample("f64[3]", np.array([2, 0, 0]), 4),
        sample("f64[2, 2]", np.array([[2, 0], [1, 1]]), 3),
    ),
)
tally = _library(
    "tally",
    "How often each of the integers from 0 to ``n - 1`` comes; there are no others.",
    lambda index, n: ArrayType(INT, (n.value,)),
    lambda index, n: np.bincount(index, minlength=n),
    proved=_never,
    samples=(sample(np.array([2, 0, 0]), 4),),
)
argsort = _library(
    "argsort",
    "The indices that put ``x`` in order along its last axis; equal elements keep theirs.",
    lambda x: ArrayType(INT, x.shape),
    lambda x: np.argsort(x, kind="stable"),
    results=("order",),
    samples=(sample("f64[5]"), sample("f64[3, 4]"), sample("i32[4]")),
)


def _sort_jvp(tangents: Any, out: Value, x: Value) -> Value | None:
    return None if tangents[0] is None else gather(tangents[0], argsort(x))


sort = _library(
    "sort",
    "``x`` in order along its last axis; the derivative moves with the elements.",
    lambda x: x,
    np.sort,
    jvp=_sort_jvp,
    vjp=lambda ct, out, x: (scatter(ct, argsort(x), dims_of(x)[-1]),),
    samples=(sample("f64[5]"), sample("f64[3, 4]"), sample("i32[4]")),
)

# -- searching --------------------------------------------------------------------------------------

_EDGES = np.array([-1.0, 0.1, 0.5, 0.9])
searchsorted = _library(
    "searchsorted",
    "Where each of ``v`` would go in the sorted ``a``.",
    lambda a, v, *, right: ArrayType(INT, v.shape),
    lambda a, v, *, right: np.searchsorted(a, v, "right" if right else "left"),
    samples=(sample(_EDGES, "f64[4]", right=False), sample(_EDGES, _EDGES, right=True)),
)
search = _library(
    "search",
    "Where one number would go in the sorted ``a``.",
    lambda a, v, *, right: ScalarType(INT),
    lambda a, v, *, right: np.searchsorted(a, v, "right" if right else "left"),
    samples=(sample(_EDGES, "f64", right=False),),
)
direction = _library(
    "direction",
    "1 if ``a`` never falls, else -1 if it never rises, else 0.",
    lambda a: PY_INT,
    lambda a: 1 if np.all(a[:-1] <= a[1:]) else -1 if np.all(a[:-1] >= a[1:]) else 0,
    samples=(sample(_EDGES), sample("f64[5]")),
)
flatnonzero = _library(
    "flatnonzero",
    "The indices of the elements that are not zero.",
    lambda x: SOME,
    np.flatnonzero,
    results=("found",),
    samples=(sample("b1[5]"), sample("i64[6]")),
)
isin = _library(
    "isin",
    "Which elements of ``x`` are among others.",
    lambda x, among: ArrayType(BOOL, x.shape),
    np.isin,
    samples=(sample("i64[6]", "i64[3]"),),
)

# -- counting ---------------------------------------------------------------------------------------


def _bins(x: ArrayType, edges: ArrayType) -> ArrayType:
    return ArrayType(INT, (edges.shape[0] - 1,))


def _weighted_bins(x: np.ndarray, weights: np.ndarray, edges: np.ndarray) -> np.ndarray:
    inside = (x >= edges[0]) & (x <= edges[-1])
    at = np.minimum(np.searchsorted(edges, x, "right") - 1, len(edges) - 2)
    out = np.zeros(len(edges) - 1, weights.dtype)
    np.add.at(out, at[inside], weights[inside])
    return out


def _from_bins(x: np.ndarray, ct: np.ndarray, edges: np.ndarray) -> np.ndarray:
    inside = (x >= edges[0]) & (x <= edges[-1])
    at = np.minimum(np.searchsorted(edges, x, "right") - 1, len(edges) - 2)
    return np.where(inside, ct[at], 0).astype(ct.dtype)


count_in_bins = _library(
    "count_in_bins",
    "How many of ``x`` are between neighbouring edges; the last edge is in the last bin.",
    _bins,
    lambda x, edges: np.histogram(x, edges)[0],
    results=("counts",),
    samples=(sample("f64[9]", _EDGES),),
)
weigh_in_bins = _library(
    "weigh_in_bins",
    "The sum of the weights of those of ``x`` that are between neighbouring edges.",
    lambda x, weights, edges: ArrayType(weights.dtype, (edges.shape[0] - 1,)),
    _weighted_bins,
    jvp=lambda tangents, out, x, weights, edges: None if tangents[1] is None else weigh_in_bins(x, tangents[1], edges),
    vjp=lambda ct, out, x, weights, edges: (
        None,
        gather_from_bins(x, ct, edges) if is_float(weights.type) else None,
        None,
    ),
    samples=(sample("f64[6]", "f64[6]", _EDGES),),
)
gather_from_bins = _library(
    "gather_from_bins",
    "What each of ``x`` finds in its bin: the transpose of `weigh_in_bins`.",
    lambda x, ct, edges: ArrayType(ct.dtype, x.shape),
    _from_bins,
    jvp=lambda tangents, out, x, ct, edges: None if tangents[1] is None else gather_from_bins(x, tangents[1], edges),
    vjp=lambda ct, out, x, v, edges: (None, weigh_in_bins(x, ct, edges), None),
    samples=(sample("f64[6]", "f64[3]", _EDGES),),
)


def _unique_meaning(x: np.ndarray) -> tuple[np.ndarray, ...]:
    return np.unique(x, return_index=True, return_inverse=True, return_counts=True)[1:]


unique_all = _library(
    "unique_all",
    "Of each different element where it comes first, and how often; of each element which of these it is.",
    lambda x: (SOME, ArrayType(INT, x.shape), SOME),
    _unique_meaning,
    results=("first", "inverse", "counts"),
    samples=(sample("i64[6]"),),
)


def _first_of(x: Value) -> Value:
    return unique_all(x)[0]


def _unique_jvp(tangents: Any, out: Value, x: Value) -> Value | None:
    return None if tangents[0] is None else gather(tangents[0], _first_of(x))


unique = _library(
    "unique",
    "The different elements in order; the derivative is that of the first of equal ones.",
    lambda x: ArrayType(x.dtype, (UNKNOWN,)),
    np.unique,
    jvp=_unique_jvp,
    vjp=lambda ct, out, x: (scatter(ct, _first_of(x), dims_of(x)[0]),),
    samples=(sample("i64[6]"), sample("f64[4]")),
)
