"""Sums of products: einsum, tensordot, kron, cross, convolve, and matrix products of stacks of matrices."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.ir.dims import Dim, product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import composite, current_builder, sample
from srcgraph.ir.ops import linalg, reduce
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops._rules import conjugated
from srcgraph.ir.ops.complex import numpy_number
from srcgraph.ir.ops.index import add_at, getitem
from srcgraph.ir.ops.reductions import as_operand, demand, one_axis, reduced
from srcgraph.ir.ops.remainders import maximum, minimum
from srcgraph.ir.ops.sequences import flat, stack
from srcgraph.ir.ops.shape import broadcast_to, dims_of, empty, full, reshape, with_new_axes
from srcgraph.ir.ops.shaping import slice_of
from srcgraph.ir.ops.vector import add, mul, sub
from srcgraph.ir.promote import common_dtype
from srcgraph.ir.types import BOOL
from srcgraph.ir.view import View, transposed


def asarrays(*xs: Any) -> list[Value]:
    """Operands as `numpy.asarray` makes them: Python's numbers count as NumPy's, whatever is beside them."""
    b = current_builder()
    return [b.cast(v, v.type.dtype, False) for v in map(b.value, xs)]


# -- einsum -------------------------------------------------------------------------------------------


def _terms(subscripts: str, count: int) -> tuple[list[str], str]:
    """The labels of each operand and of the result.

    References
    ----------
    NumPy manual, numpy.einsum: without ``->`` the result has the labels met once, in alphabetical order.
    """
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != count:
        raise InferenceError(f"einsum: {len(terms)} groups of labels for {count} operands")
    labels = "".join(terms)
    if not arrow:
        right = "".join(sorted(c for c in set(labels) if labels.count(c) == 1))
    if not (labels + right).isalpha() and labels + right:
        raise InferenceError(f"einsum: {subscripts!r} has something else than labels in it")
    if len(set(right)) != len(right) or not set(right) <= set(labels):
        raise InferenceError(f"einsum: the result's labels {right!r} must be different, and labels of operands")
    return terms, right


def _spelled_out(subscripts: str, ndims: Sequence[int]) -> str:
    """Labels in place of each ``...``: those of the last axes are the same ones everywhere."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    if "." not in left:
        return subscripts
    terms = left.split(",")
    counts = [n - len(t.replace("...", "")) if "..." in t else 0 for t, n in zip(terms, ndims, strict=False)]
    most = max(counts, default=0)
    free = [c for c in string.ascii_letters if c not in subscripts]
    if min(counts, default=0) < 0 or most > len(free):
        raise InferenceError(f"einsum: {subscripts!r} has more labels than the operands have axes")
    labels = "".join(free[:most])
    spelled = [t.replace("...", labels[most - n :] if n else "") for t, n in zip(terms, counts, strict=False)]
    own = "".join(terms[: len(spelled)]).replace(".", "")
    implied = labels + "".join(sorted(c for c in set(own) if own.count(c) == 1))
    return f"{','.join(spelled)}->{right.replace('...', labels) if arrow else implied}"


def _without_repeats(x: Value, term: str) -> tuple[Value, str]:
    """An operand with a label twice, as ``ii``: its diagonal along those axes."""
    while len(set(term)) != len(term):
        c = next(c for c in term if term.count(c) > 1)
        i, j = [k for k, d in enumerate(term) if d == c][:2]
        rest = [k for k in range(len(term)) if k not in (i, j)]
        moved = getitem(x, view=transposed(len(term), (i, j, *rest)))
        n, m = dims_of(moved)[:2]
        if n.type != m.type:
            message = "einsum: one label for axes of lengths {x} and {y}"
            current_builder().call_named("equal_size", n, m, error="ValueError", message=message)
        view = View(("i", "i", *(":" for _ in rest)), tuple(range(len(rest))))
        out = empty(n, *dims_of(moved)[2:], dtype=x.type.dtype)

        def step(k: Value, out: Value, moved: Value = moved, view: View = view) -> Sequence[Value]:
            return (with_item(out, 0, k, getitem(moved, k, k, view=view)),)

        (x,) = counted(n, [out], step)
        term = c + "".join(term[k] for k in rest)
    return x, term


def _lengths(operands: Sequence[Value], terms: Sequence[str]) -> dict[str, Dim]:
    """The length each label stands for; 1 gives way to any other."""
    b = current_builder()
    sizes: dict[str, Dim] = {}
    for x, term in zip(operands, terms, strict=True):
        for c, size in zip(term, x.type.shape, strict=True):
            known = sizes.setdefault(c, size)
            if known != size:
                sizes[c] = size if known == 1 else known if size == 1 else b.joint_size(known, size)
    return sizes


def _aligned(x: Value, term: str, order: str, sizes: dict[str, Dim]) -> Value:
    """``x`` with its axes in the order of all labels, new ones of length 1 between them."""
    kept = [term.index(c) if c in term else None for c in order]
    x = current_builder().fit(x, [sizes[c] for c in term]) if term else x
    return getitem(x, view=View((":",) * len(term), tuple(kept))) if order else x


@composite(
    "einsum",
    python=np.einsum,
    static="subscripts optimize",
    views=lambda subscripts, *operands, optimize=False: len(operands) == 1 and _sums_nothing(subscripts),
    samples=(
        sample("ij,jk->ik", "f64[2, 3]", "f64[3, 2]"),
        sample("ij,ij", "f64[2, 3]", "f64[2, 3]"),
        sample("ii", "f64[3, 3]"),
        sample("ii->i", "f64[3, 3]"),
        sample("ij->ji", "f64[2, 3]"),
        sample("i,j", "f64[2]", "f64[3]"),
        sample("bij,bjk->bik", "f64[2, 2, 3]", "f64[2, 3, 2]"),
        sample("ij,j,i->", "f64[2, 3]", "f64[3]", "f64[2]"),
        sample("ij,kj->ik", "f64[2, 3]", "f64[4, 3]"),
    ),
)
def einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Value:
    """Sums of products by the labels of axes."""
    if not isinstance(subscripts, str):
        raise InferenceError("einsum: the first argument must be a string here")
    values = [numpy_number(as_operand(x)) for x in operands]
    terms, right = _terms(_spelled_out(subscripts, [v.type.ndim for v in values]), len(values))
    for x, term in zip(values, terms, strict=True):
        if x.type.ndim != len(term):
            raise InferenceError(f"einsum: labels {term!r} for an array of {x.type.ndim} axes")
    pairs = [_without_repeats(x, term) for x, term in zip(values, terms, strict=True)]
    values, terms = [x for x, _ in pairs], [t for _, t in pairs]
    dtype = common_dtype([v.type for v in values])
    values = [current_builder().cast(v, dtype, False) for v in values]
    if len(values) == 2 and dtype.kind in "fc":
        found = _as_matrices(values, terms, right)
        if found is not None:
            return found
    return _summed_products(values, terms, right)


def _sums_nothing(subscripts: str) -> bool:
    """Whether every label of an operand is one of the result, so that NumPy gives a view."""
    terms, right = _terms(subscripts.replace("...", ""), 1)
    return set(terms[0]) == set(right)


def _summed_products(values: Sequence[Value], terms: Sequence[str], right: str) -> Value:
    """All products, summed over the labels the result lacks."""
    sizes = _lengths(values, terms)
    order = right + "".join(sorted(set("".join(terms)) - set(right)))
    aligned = [_aligned(x, t, order, sizes) for x, t in zip(values, terms, strict=True)]
    out = aligned[0]
    for x in aligned[1:]:
        out = _times(out, x)
    if order and out.type.ndim:
        out = broadcast_to(out, *(current_builder().dim_value(sizes[c]) for c in order))
    axes = tuple(range(len(right), len(order)))
    return reduced(reduce.sum_, out, axes, False) if axes else out


def _times(x: Value, y: Value) -> Value:
    return current_builder().call_named("logical_and", x, y) if x.type.dtype == BOOL else mul(x, y)


def _as_matrices(values: Sequence[Value], terms: Sequence[str], right: str) -> Value | None:
    """A product of matrices, as a library does it, where it is one: one label summed over, one left of each."""
    (x, y), (s, t) = values, terms
    summed = [c for c in s if c in t and c not in right]
    if len(s) != 2 or len(t) != 2 or len(right) != 2 or len(summed) != 1 or len({*s, *t}) != 3:
        return None
    (c,) = summed
    x = x if s[1] == c else linalg.transpose(x)
    y = y if t[0] == c else linalg.transpose(y)
    sizes = x.type.shape[1], y.type.shape[0]
    if sizes[0] != sizes[1] and not all(map(current_builder().not_one, sizes)):
        return None  # one may be stretched: not a product of matrices
    rows = (s[0] if s[1] == c else s[1]) == right[0]
    return linalg.product(x, y) if rows else linalg.product(linalg.transpose(y), linalg.transpose(x))


# -- dot, matmul, inner, outer ------------------------------------------------------------------------


@composite(
    "dot",
    python=np.dot,
    method="dot",
    samples=(
        sample("f64[3]", "f64[3]"),
        sample("f64[2, 3]", "f64[3]"),
        sample("f64", "f64[3]"),
        sample("f64[2, 2, 3]", "f64[2, 3, 2]"),
    ),
)
def dot(a: Any, b: Any) -> Value:
    """Sum of products over the last axis of one and the last but one of the other; the product if one is a number."""
    x, y = asarrays(a, b)
    if x.type.ndim == 0 or y.type.ndim == 0:
        return mul(x, y)
    if max(x.type.ndim, y.type.ndim) > 2:
        return tensordot(x, y, (x.type.ndim - 1, max(y.type.ndim - 2, 0)))
    return linalg.product(x, y)


@composite(
    "matmul_array",
    python=np.matmul,
    samples=(
        sample("f64[2, 3]", "f64[3, 2]"),
        sample("f64[2, 2, 3]", "f64[3, 2]"),
        sample("f64[2, 1, 3]", "f64[1, 3, 2]"),
        sample("f64[3]", "f64[2, 3, 2]"),
        sample("f64[3]", "f64[3]"),
    ),
)
def matmul_array(x1: Any, x2: Any) -> Value:
    """Matrix product of vectors, matrices, or stacks of matrices."""
    return linalg.product(*asarrays(x1, x2))


@composite("inner", python=np.inner, samples=(sample("f64[3]", "f64[3]"), sample("f64[2, 3]", "f64[4, 3]")))
def inner(a: Any, b: Any) -> Value:
    """Sum of products over the last axes."""
    x, y = asarrays(a, b)
    if x.type.ndim == 0 or y.type.ndim == 0:
        return mul(x, y)
    if max(x.type.ndim, y.type.ndim) > 2:
        return tensordot(x, y, (x.type.ndim - 1, y.type.ndim - 1))
    return linalg.product(x, linalg.transpose(y) if y.type.ndim == 2 else y)


@composite("vdot", python=np.vdot, samples=(sample("f64[3]", "f64[3]"), sample("f64[2, 3]", "f64[2, 3]")))
def vdot(a: Any, b: Any) -> Value:
    """Sum of products of all elements."""
    x, y = asarrays(a, b)
    return linalg.product(conjugated(flat(x)), flat(y))


@composite("outer", python=np.outer, samples=(sample("f64[3]", "f64[2]"),))
def outer(a: Any, b: Any) -> Value:
    """All products of an element of ``a`` and one of ``b``."""
    x, y = (flat(v) for v in asarrays(a, b))
    return mul(getitem(x, view=View((":",), (0, None))), getitem(y, view=View((":",), (None, 0))))


# -- tensordot, kron ---------------------------------------------------------------------------


@composite(
    "tensordot",
    python=np.tensordot,
    static="axes",
    samples=(
        sample("f64[2, 3]", "f64[3, 2]", 1),
        sample("f64[2, 3]", "f64[2, 3]"),
        sample("f64[2, 3, 2]", "f64[3, 4]", axes=(1, 0)),
        sample("f64[2, 3, 2]", "f64[2, 2, 3]", axes=((1, 0), (2, 0))),
        sample("f64[2]", "f64[3]", axes=0),
    ),
)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Value:
    """Sum of products over given axes of each."""
    builder = current_builder()
    x, y = asarrays(a, b)
    if isinstance(axes, int):
        over_x, over_y = list(range(x.type.ndim - axes, x.type.ndim)), list(range(axes))
    else:
        over_x, over_y = (list(k) if isinstance(k, tuple) else [k] for k in axes)
    if len(over_x) != len(over_y) or max(len(over_x), 0) > min(x.type.ndim, y.type.ndim):
        raise ShapeError("tensordot: shape-mismatch for sum")
    over_x = [one_axis(k, x.type.ndim) for k in over_x]
    over_y = [one_axis(k, y.type.ndim) for k in over_y]
    for i, j in zip(over_x, over_y, strict=True):
        own, other = x.type.shape[i], y.type.shape[j]
        if own != other:
            sizes = builder.dim_value(own), builder.dim_value(other)
            message = "shape-mismatch for sum: axes of lengths {x} and {y}"
            builder.call_named("equal_size", *sizes, error="ValueError", message=message)
    left = [k for k in range(x.type.ndim) if k not in over_x]
    rest = [k for k in range(y.type.ndim) if k not in over_y]
    inner = builder.dim_value(product(x.type.shape[k] for k in over_x))
    shape = [dims_of(x)[k] for k in left] + [dims_of(y)[k] for k in rest]
    rows = builder.dim_value(product(x.type.shape[k] for k in left))
    columns = builder.dim_value(product(y.type.shape[k] for k in rest))
    out = linalg.product(_matrix(x, [*left, *over_x], rows, inner), _matrix(y, [*over_y, *rest], inner, columns))
    return reshape(out, *shape) if shape else full(getitem(out, 0, 0, view=View(("i", "i"), ())))


def _matrix(x: Value, order: Sequence[int], rows: Value, columns: Value) -> Value:
    moved = x if list(order) == list(range(x.type.ndim)) else getitem(x, view=transposed(x.type.ndim, order))
    return moved if moved.type.shape == (rows.type.value, columns.type.value) else reshape(moved, rows, columns)


@composite(
    "kron",
    python=np.kron,
    samples=(sample("f64[2]", "f64[3]"), sample("f64[2, 2]", "f64[1, 3]"), sample("f64[2]", "f64[2, 2]")),
)
def kron(a: Any, b: Any) -> Value:
    """Every element of ``a`` times all of ``b``, as blocks."""
    x, y = asarrays(a, b)
    if not x.type.ndim or not y.type.ndim:
        return mul(x, y)
    ndim = max(x.type.ndim, y.type.ndim)
    x, y = (with_new_axes(v, list(range(ndim - v.type.ndim))) for v in (x, y))
    pairs = mul(with_new_axes(x, list(range(1, 2 * ndim, 2))), with_new_axes(y, list(range(0, 2 * ndim, 2))))
    sizes = zip(dims_of(x), dims_of(y), strict=True)
    return reshape(pairs, *(mul(n, m) for n, m in sizes))


@composite(
    "vecdot",
    python=np.vecdot,
    static="axis",
    samples=(sample("f64[3]", "f64[3]"), sample("f64[2, 3]", "f64[3]"), sample("f64[3, 2]", "f64[3, 2]", axis=0)),
)
def vecdot(x1: Any, x2: Any, axis: int = -1) -> Value:
    """Sum of products along an axis."""
    x, y = asarrays(x1, x2)
    if not x.type.ndim or not y.type.ndim:
        raise InferenceError("vecdot takes arrays of at least one axis")
    if axis != -1 and x.type.ndim != y.type.ndim:
        raise InferenceError("vecdot along another axis takes arrays of as many axes")
    sizes = [dims_of(v)[one_axis(axis, v.type.ndim)] for v in (x, y)]
    if sizes[0].type != sizes[1].type:
        message = "vecdot: axes of lengths {x} and {y}"
        current_builder().call_named("equal_size", *sizes, error="ValueError", message=message)
    return reduced(reduce.sum_, _times(conjugated(x), y), axis, False)


@composite(
    "cross",
    python=np.cross,
    static="axisa axisb axisc axis",
    samples=(sample("f64[3]", "f64[3]"), sample("f64[2, 3]", "f64[3]"), sample("f64[3, 2]", "f64[3, 2]", axis=0)),
)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Value:
    """Vector product of vectors of three components."""
    builder = current_builder()
    if axis is not None:
        axisa = axisb = axisc = axis
    parts = []
    for v, k in zip(asarrays(a, b), (axisa, axisb), strict=True):
        at = one_axis(k, v.type.ndim)
        size = dims_of(v)[at]
        fits = builder.call_named(
            "logical_or", builder.call_named("equal", size, 2), builder.call_named("equal", size, 3)
        )
        demand(fits, "ValueError", "incompatible dimensions for cross product\n(dimension must be 2 or 3)")
        if size.type.value == 2:
            raise InferenceError(_OF_TWO)
        demand(builder.call_named("equal", size, 3), "NotImplementedError", _OF_TWO)
        parts.append([item(v, at, builder.const(j)) for j in range(3)])
    (x0, x1, x2), (y0, y1, y2) = parts
    components = (sub(mul(x1, y2), mul(x2, y1)), sub(mul(x2, y0), mul(x0, y2)), sub(mul(x0, y1), mul(x1, y0)))
    if not components[0].type.ndim:
        return builder.value(components)
    return stack(components, axisc)


_OF_TWO = "the cross product of vectors of two components, which NumPy is to leave out, is not supported"

# -- convolution --------------------------------------------------------------------------------------

_MODES = ("full", "same", "valid")
_CONVOLVED = (
    sample("f64[4]", "f64[3]"),
    sample("f64[4]", "f64[3]", mode="same"),
    sample("f64[3]", "f64[5]", mode="valid"),
    sample("f64[2]", "f64[5]", mode="same"),
)


def _all_overlaps(x: Value, y: Value) -> Value:
    """The full convolution: every product added where the sum of its indices is."""
    n, m = dims_of(x)[0], dims_of(y)[0]
    out = full(x.type.dtype.type(0), sub(add(n, m), 1))
    view = slice_of(1, 0)

    def step(j: Value, out: Value) -> Sequence[Value]:
        return (add_at(out, mul(item(y, 0, j), x), j, n, view=view),)

    return counted(m, [out], step)[0]


def _convolved(x: Value, y: Value, mode: str, what: str) -> Value:
    b = current_builder()
    if mode not in _MODES:
        raise InferenceError(f"{what}: mode must be 'full', 'same' or 'valid'")
    if x.type.ndim != 1 or y.type.ndim != 1:
        raise InferenceError(f"{what} takes arrays of one axis")
    n, m = dims_of(x)[0], dims_of(y)[0]
    dtype = common_dtype([x.type, y.type])
    if dtype == BOOL:
        raise InferenceError(f"{what} of booleans is not supported")
    out = _all_overlaps(b.cast(x, dtype), b.cast(y, dtype))
    if mode == "full":
        return out
    longer, shorter = maximum(n, m), minimum(n, m)
    if mode == "valid":
        start, count = sub(shorter, 1), add(sub(longer, shorter), 1)
    else:
        start, count = b.call_named("floordiv", sub(shorter, 1), 2), longer
    b.learn(count.type.value)
    return getitem(out, start, count, view=slice_of(1, 0))


def _not_empty(x: Value, what: str) -> None:
    fine = current_builder().call_named("greater", dims_of(x)[0], 0)
    demand(fine, "ValueError", f"{what} cannot be empty")
    current_builder().learn(x.type.shape[0] - 1)


@composite("convolve", python=np.convolve, static="mode", samples=_CONVOLVED)
def convolve(a: Any, v: Any, mode: str = "full") -> Value:
    """Discrete convolution of two sequences."""
    x, y = (flat(w) if not w.type.ndim else w for w in asarrays(a, v))
    _not_empty(x, "a")
    _not_empty(y, "v")
    return _convolved(x, y, mode, "convolve")


@composite("correlate", python=np.correlate, static="mode", samples=_CONVOLVED)
def correlate(a: Any, v: Any, mode: str = "valid") -> Value:
    """Cross-correlation of two sequences."""
    x, y = asarrays(a, v)
    if not (x.type.ndim and y.type.ndim):
        raise InferenceError("object of too small depth for desired array")
    _not_empty(x, "first array argument")
    _not_empty(y, "second array argument")
    n, m = dims_of(x)[0], dims_of(y)[0]
    y = conjugated(getitem(y, sub(m, 1), m, view=View((-1,), (0,))))
    if mode != "same":
        return _convolved(x, y, mode, "correlate")
    whole = _convolved(x, y, "full", "correlate")
    b = current_builder()
    shorter_first = b.call_named("less", n, m)
    start = b.call_named("floordiv", minimum(n, m), 2)
    start = b.call_named("where", shorter_first, start, b.call_named("floordiv", sub(m, 1), 2))
    count = maximum(n, m)
    b.learn(count.type.value)
    return getitem(whole, start, count, view=slice_of(1, 0))
