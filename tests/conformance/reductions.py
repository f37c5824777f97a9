"""Ops along axes: reductions, scans, orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.writing import Unsupported, Use, dtype_of, ndim_of
from srcgraph.ir.graph import Value


def axes_of(use: Use) -> tuple[int, ...]:
    axis = use.properties["axis"]
    every = range(ndim_of(use.inputs[0]))
    return (
        tuple(every)
        if axis is None
        else tuple(a % max(len(every), 1) for a in np.atleast_1d(axis).astype(int).tolist())
    )


def along(use: Use, text: str) -> Any:
    """A reduction in which AXIS is a number or a tuple."""
    axes = axes_of(use)
    if not axes:
        return use.cast(use.inputs[0], use.dtype)
    return use.cast(use(text.replace("AXIS", str(axes[0] if len(axes) == 1 else axes))), use.dtype)


def folded(name: str) -> Callable[[Use], Any]:
    """A sum or a product, in the dtype in which it is accumulated."""

    def built(use: Use) -> Any:
        dtype = np.dtype(use.properties["acc_dtype"] or use.dtype)
        return along(use, f"np.{name}({{0}}, axis=AXIS, dtype=np.{dtype.name})")

    return built


def extreme(name: str) -> Callable[[Use], Any]:
    return lambda use: along(use, f"np.{name}({{0}}, axis=AXIS)")


def bitwise(name: str, of_truths: str = "") -> Callable[[Use], Any]:
    """A reduction by a bitwise operator; of truths, by another."""

    def built(use: Use) -> Any:
        x = use.inputs[0]
        if dtype_of(x).kind == "b" and of_truths:
            return along(use, f"{of_truths}({{0}}, axis=AXIS)")
        for axis in sorted(axes_of(use), reverse=True):
            x = use(f"np.bitwise_{name}.reduce({{0}}, axis={axis})", x)
        return use.cast(x, use.dtype)

    return built


def without_zeros(use: Use) -> Any:
    if not axes_of(use):
        return use.cast(use.inputs[0], use.dtype)
    x = use("np.where({0} == 0, {1}, {0})", use.inputs[0], np.ones((), dtype_of(use.inputs[0]))[()])
    dtype = np.dtype(use.properties["acc_dtype"] or use.dtype)
    axes = axes_of(use)
    return use.cast(use(f"np.prod({{0}}, axis={axes}, dtype=np.{dtype.name})", x), use.dtype)


def place_of_largest(use: Use) -> Any:
    """Where the largest is among the elements along some axes, which are made one."""
    x, axes = use.inputs[0], axes_of(use)
    ndim = ndim_of(x)
    if ndim == 0 or not axes:
        return use("np.zeros({0}.shape, dtype=np.int64)") if ndim else np.int64(0)
    if len(axes) == ndim:
        return use("np.int64(np.argmax({0}))")
    if len(axes) == 1:
        return use(f"np.argmax({{0}}, axis={axes[0]})")
    kept = [a for a in range(ndim) if a not in axes]
    lengths = ", ".join(f"{{0}}.shape[{a}]" for a in kept)
    return use(f"np.argmax(np.reshape(np.transpose({{0}}, {(*kept, *axes)}), ({lengths}, -1)), axis={len(kept)})")


def over_axes(name: str) -> Callable[[Use], Any]:
    def built(use: Use) -> Any:
        axes = axes_of(use)
        return use(f"special.{name}({{0}}, axis={axes[0] if len(axes) == 1 else axes})")

    return built


def cumulated(use: Use) -> Any:
    name = {"add": "cumsum", "mul": "cumprod"}[use.properties["mode"]]
    return use(f"np.{name}({{0}}, axis={use.properties['axis']})")


def ordered(name: str) -> Callable[[Use], Any]:
    def built(use: Use) -> Any:
        x, axis = use.inputs
        if isinstance(axis, Value):
            raise Unsupported("an axis that is a variable")
        return use(f"np.{name}({{0}}, axis={int(axis)}, kind='stable')", x)

    return built


def distinct(use: Use) -> Any:
    asked = ("return_index", "return_inverse", "return_counts")
    wanted = "".join(f", {k}=True" for k in asked if use.properties[k])
    axis = use.properties["axis"]
    out = use(f"np.unique({{0}}{wanted}{'' if axis is None else f', axis={axis}'})")
    if axis is None and use.properties["return_inverse"] and ndim_of(use.inputs[0]) != 1:
        place = 1 + use.properties["return_index"]
        out = (*out[:place], use("np.ravel({0})", out[place]), *out[place + 1 :])
    return tuple(out) if isinstance(out, tuple) else out


REDUCTIONS = {
    "Add": folded("sum"),
    "Mul": folded("prod"),
    "Maximum": extreme("max"),
    "Minimum": extreme("min"),
    "AND": bitwise("and", "np.all"),
    "OR": bitwise("or", "np.any"),
    "XOR": bitwise("xor"),
}
"""By the names of the scalar ops that reduce."""


def reduced(use: Use) -> Any:
    if use.scalar not in REDUCTIONS:
        raise Unsupported(f"a reduction by {use.scalar}")
    return REDUCTIONS[use.scalar](use)


BUILDERS = {
    **dict.fromkeys(("CAReduce", "Sum", "Prod", "Max", "Min", "All", "Any"), reduced),
    "ProdWithoutZeros": without_zeros,
    "Argmax": place_of_largest,
    "Softmax": over_axes("softmax"),
    "LogSoftmax": over_axes("log_softmax"),
    "LogSumExp": over_axes("logsumexp"),
    "CumOp": cumulated,
    "SortOp": ordered("sort"),
    "ArgSortOp": ordered("argsort"),
    "Unique": distinct,
}
"""How each is built."""
