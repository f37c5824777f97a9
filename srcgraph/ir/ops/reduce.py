"""Reductions along axes. ``axes`` is a sorted tuple of distinct axes; the result lacks them."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.dims import product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import Reduction, current_builder, define, sample
from srcgraph.ir.ops._loops import counted, item, with_item
from srcgraph.ir.ops._rules import linear
from srcgraph.ir.ops.compare import equal, where
from srcgraph.ir.ops.shape import spread
from srcgraph.ir.types import ArrayType, Type, tensor


def reduced_type(x: ArrayType, *, axes: tuple[int, ...]) -> Type:
    shape = tuple(d for k, d in enumerate(x.shape) if k not in axes)
    return tensor(x.dtype, shape, array=bool(shape))


def _meaning(function: np.ufunc) -> Any:
    return lambda x, *, axes: function.reduce(x, axis=axes, dtype=x.dtype)


sum_ = define(
    name="sum",
    doc="Sum of ``x`` along ``axes``.",
    infer=reduced_type,
    numpy=_meaning(np.add),
    kind="reduction",
    jvp=linear(lambda tx, *, axes: sum_(tx, axes=axes)),
    vjp=lambda ct, out, x, *, axes: (spread(ct, x, axes),),
    reduction=Reduction(lambda dtype: dtype.type(0), "add"),
    grows=True,
    linear=True,
    heavy=True,
    through_complex=True,
    samples=(sample("f64[3, 4]", axes=(1,)), sample("f64[3, 4]", axes=(0, 1)), sample("f32[5]", axes=(0,))),
)


def products_of_others(x: Value, axes: tuple[int, ...]) -> Value:
    """For each element, the product of the others along ``axes``: without division, so zeros are fine.

    The product of what comes before times that of what comes after, by two loops. ``axes`` is one
    axis, or all of them.
    """
    b = current_builder()
    shape = x.type.shape
    axis, *others = axes
    if others:
        x = b.call_named("reshape", x, b.dim_value(product(shape)))
        axis = 0
    kept = [b.dim_value(d) for k, d in enumerate(x.type.shape) if k != axis]
    count = b.dim_value(x.type.shape[axis])
    one = x.type.dtype.type(1)
    ones = b.call_named("full", one, *kept) if kept else b.const(one)

    def before(i: Value, running: Value, out: Value) -> tuple[Value, Value]:
        return running * item(x, axis, i), with_item(out, axis, i, running)

    def after(i: Value, running: Value, out: Value) -> tuple[Value, Value]:
        return running * item(x, axis, i), with_item(out, axis, i, item(out, axis, i) * running)

    out = b.call_named("empty", *map(b.dim_value, x.type.shape), dtype=x.type.dtype)
    _, out = counted(count, [ones, out], before)
    _, out = counted(count, [ones, out], after, reverse=True)
    return (
        out
        if len(shape) == 1 or len(x.type.shape) == len(shape)
        else b.call_named("reshape", out, *map(b.dim_value, shape))
    )


def _prod_jvp(tangents: Any, out: Value, x: Value, *, axes: tuple[int, ...]) -> Value | None:
    return None if tangents[0] is None else sum_(tangents[0] * products_of_others(x, axes), axes=axes)


prod = define(
    name="prod",
    doc="Product of ``x`` along ``axes``, one axis or all.",
    infer=reduced_type,
    numpy=_meaning(np.multiply),
    kind="reduction",
    jvp=_prod_jvp,
    vjp=lambda ct, out, x, *, axes: (spread(ct, x, axes) * products_of_others(x, axes),),
    reduction=Reduction(lambda dtype: dtype.type(1), "mul"),
    grows=True,
    heavy=True,
    samples=(sample("f64[3, 4]", axes=(0,)), sample("f64[5]", axes=(0,))),
)


def _ties(out: Value, x: Value, axes: tuple[int, ...]) -> tuple[Value, Value]:
    """1 at each of the equal extremes, 0 elsewhere, and how many there are: they share the derivative."""
    b, dtype = current_builder(), x.type.dtype
    hit = equal(x, spread(out, x, axes))
    count = sum_(b.cast(hit, np.dtype(np.int64), False), axes=axes)
    return where(hit, dtype.type(1), dtype.type(0)), b.cast(count, dtype, False)


def _extreme_jvp(tangents: Any, out: Value, x: Value, *, axes: tuple[int, ...]) -> Value | None:
    if tangents[0] is None:
        return None
    hit, count = _ties(out, x, axes)
    return sum_(tangents[0] * hit, axes=axes) / count


def _extreme_vjp(ct: Value, out: Value, x: Value, *, axes: tuple[int, ...]) -> tuple[Value]:
    hit, count = _ties(out, x, axes)
    return (hit * spread(ct / count, x, axes),)


def _extreme(name: str, function: np.ufunc, lowest: bool) -> Any:
    def identity(dtype: np.dtype) -> Any:
        if dtype.kind == "f":
            return dtype.type(np.inf if lowest else -np.inf)
        if dtype.kind == "c":
            raise InferenceError(f"{name}: the order of complex numbers is not supported")
        if dtype.kind == "b":
            return dtype.type(lowest)
        info = np.iinfo(dtype)
        return dtype.type(info.max if lowest else info.min)

    return define(
        name=name,
        doc=f"The {'smallest' if lowest else 'largest'} of ``x`` along ``axes``; NaN if one is NaN; ties share.",
        infer=reduced_type,
        numpy=lambda x, *, axes: function.reduce(x, axis=axes, initial=identity(x.dtype)),
        kind="reduction",
        jvp=_extreme_jvp,
        vjp=_extreme_vjp,
        reduction=Reduction(identity, function.__name__),
        heavy=True,
        samples=(sample("f64[3, 4]", axes=(1,)), sample("f64[5]", axes=(0,)), sample("i32[4]", axes=(0,))),
    )


max_ = _extreme("max", np.maximum, lowest=False)
min_ = _extreme("min", np.minimum, lowest=True)


def _logical(name: str, function: np.ufunc, start: bool) -> Any:
    return define(
        name=name,
        doc=f"Whether {name} of ``x`` along ``axes`` hold.",
        infer=reduced_type,
        numpy=_meaning(function),
        kind="reduction",
        reduction=Reduction(lambda dtype: dtype.type(start), function.__name__),
        heavy=True,
        samples=(sample("b1[3, 4]", axes=(1,)), sample("b1[5]", axes=(0,))),
    )


all_ = _logical("all", np.logical_and, True)
any_ = _logical("any", np.logical_or, False)
