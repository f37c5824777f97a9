"""Loops in graph code, for functions that are most plainly written as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Value
from srcgraph.ir.op import current_builder
from srcgraph.ir.ops.index import getitem, setitem
from srcgraph.ir.types import ScalarType
from srcgraph.ir.view import View


def counted(count: Value, inits: Sequence[Value], body: Callable[..., Sequence[Value]], reverse: bool = False):
    """``for i in range(count): carry = body(i, *carry)``, or downwards; returns the last carry."""
    b = current_builder()
    one = b.const(1)
    if reverse:
        bounds = (b.call_named("sub", count, one), b.const(-1), b.const(-1))
    else:
        bounds = (b.const(0), count, one)
    region, index = b.for_region(bounds, "i")
    with b.inside(region):
        carry = [b.fresh(v.name, _without_value(v)) for v in inits]
        b.enter_params(region, (index, *carry))
        results = body(index, *carry)
    return b.for_(bounds, list(inits), region, list(results))


def _without_value(value: Value) -> Any:
    return replace(value.type, value=None) if isinstance(value.type, ScalarType) else value.type


def chosen(cond: Value, then: Callable[[], Sequence[Value]], orelse: Callable[[], Sequence[Value]]):
    """``then() if cond else orelse()``: only one of them runs."""
    b = current_builder()
    sides: list[tuple[Region, Sequence[Value]]] = []
    for build in (then, orelse):
        region = b.new_region()
        with b.inside(region):
            sides.append((region, build()))
    return b.if_(cond, sides[0], sides[1])


def along(ndim: int, axis: int) -> View:
    """The view that fixes one axis."""
    axes = tuple("i" if k == axis else ":" for k in range(ndim))
    return View(axes, tuple(range(ndim - 1)))


def item(x: Value, axis: int, i: Value) -> Value:
    """``x`` at index ``i`` of ``axis``."""
    return getitem(x, i, view=along(x.type.ndim, axis))


def with_item(x: Value, axis: int, i: Value, v: Value) -> Value:
    """``x`` with ``v`` at index ``i`` of ``axis``."""
    return setitem(x, v, i, view=along(x.type.ndim, axis))
