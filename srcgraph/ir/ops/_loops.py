"""Loops in graph code, for functions that are most plainly written as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Value
from srcgraph.ir.op import current_builder
from srcgraph.ir.ops.index import getitem, setitem
from srcgraph.ir.types import ScalarType, type_symbols
from srcgraph.ir.view import View

Body: TypeAlias = Callable[..., Sequence[Value]]
"""From the index, if there is one, and the carry to the next carry."""


def counted(count: Value, inits: Sequence[Value], body: Body, reverse: bool = False, names: Sequence[str] = ()):
    """``for i in range(count): carry = body(i, *carry)``, or downwards; returns the last carry."""
    b = current_builder()
    if reverse:
        return ranged((b.call_named("sub", count, b.const(1)), b.const(-1), b.const(-1)), inits, body, names)
    return ranged((b.const(0), count, b.const(1)), inits, body, names)


def ranged(
    bounds: tuple[Value, Value, Value],
    inits: Sequence[Value],
    body: Body,
    names: Sequence[str] = (),
    stops: bool = False,
    index: str = "i",
):
    """``for i in range(*bounds): carry = body(i, *carry)``; returns the last carry.

    With ``stops`` the body gives one value more, which ends the loop when true.
    """
    b = current_builder()
    region, at = b.for_region(bounds, index)
    with b.inside(region):
        carry = _carry(inits, names)
        b.enter_params(region, (at, *carry))
        results = list(body(at, *carry))
    stop = results.pop() if stops else None
    return b.for_(bounds, list(inits), region, results, stop)


def repeated(
    test: Callable[..., Value], inits: Sequence[Value], body: Body, names: Sequence[str] = (), stops: bool = False
):
    """``while test(*carry): carry = body(*carry)``; returns the last carry.

    With ``stops`` the body gives one value more, which ends the loop when true.
    """
    b = current_builder()
    asked, region = b.new_region(), b.new_region()
    with b.inside(region):
        carry = _carry(inits, names)
        b.enter_params(region, carry)
        results = list(body(*carry))
    stop = results.pop() if stops else None
    with b.inside(asked):  # one symbol for a number in the test and in the body
        seen = [Value(v.name, v.type) for v in carry]
        asked.born |= region.born & frozenset().union(*(type_symbols(v.type) for v in carry))
        b.enter_params(asked, seen)
        holds = test(*seen)
    return b.while_(list(inits), (asked, holds), region, results, stop)


def _carry(inits: Sequence[Value], names: Sequence[str]) -> list[Value]:
    b = current_builder()
    return [b.fresh(n, _without_value(v)) for n, v in zip(names or [v.name for v in inits], inits, strict=True)]


def _without_value(value: Value) -> Any:
    return replace(value.type, value=None) if isinstance(value.type, ScalarType) else value.type


def chosen(
    cond: Value, then: Callable[[], Sequence[Value]], orelse: Callable[[], Sequence[Value]], names: Sequence[str] = ()
):
    """``then() if cond else orelse()``: only one of them runs."""
    b = current_builder()
    sides: list[tuple[Region, Sequence[Value]]] = []
    for build in (then, orelse):
        region = b.new_region()
        with b.inside(region):
            sides.append((region, build()))
    return b.if_(cond, sides[0], sides[1], names)


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
