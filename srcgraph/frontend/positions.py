"""Iterators of `itertools` by position: how many items they have, and the item at one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from srcgraph.frontend import indexing, iteration, lists
from srcgraph.frontend.entities import NONE, Array, Entity, Scalar, Tup
from srcgraph.frontend.memory import as_index, refuse
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS

if TYPE_CHECKING:
    from srcgraph.frontend.iteration import Items
    from srcgraph.frontend.lower import Lowering


def _at_least_0(low: Lowering, count: Value) -> Value:
    return count if low.builder.proves(count.type.value) else OPS["maximum"](count, 0)


def _count(low: Lowering, first: Entity, step: Entity) -> Items:
    numbers = [low.value(e) for e in (first, step)]
    if any(v.type.dtype.kind not in "iu" or v.type.ndim for v in numbers):
        raise refuse("count() of floats beside others is not supported", low.loc, "compute them: start + k * step")
    start, by = numbers
    return None, lambda k: Scalar(OPS["add"](start, OPS["mul"](k, by)))


def _repeat(low: Lowering, item: Entity, times: Entity | None = None) -> Items:
    count = None if times is None else iteration.counted(low, times)[0]
    return count, lambda k: item


def _cycle(low: Lowering, pool: Entity) -> Items:
    size, item = iteration.counted(low, pool)
    if low.builder.proves(size.type.value - 1):
        return None, lambda k: item(OPS["mod"](k, size))
    return OPS["where"](OPS["equal"](size, 0), 0, MANY), lambda k: item(OPS["mod"](k, size))


MANY = 2**62
"""As many items as nothing beside them has."""


def _islice(low: Lowering, inner: Entity, first: Entity, last: Entity, by: Entity) -> Items:
    size, item = iteration.items_by_position(low, inner)
    start = as_index(low, low.value(first), "a bound of islice")
    step = low.static(by, "the step of islice")

    def at(k: Value) -> Entity:
        return item(OPS["add"](start, OPS["mul"](k, step)))

    if last == NONE and size is None:
        return None, at
    end = size if last == NONE else as_index(low, low.value(last), "a bound of islice")
    assert end is not None
    if last != NONE and size is not None:
        end = OPS["minimum"](end, size)
    span = OPS["add"](OPS["sub"](end, start), step - 1)
    return _at_least_0(low, OPS["floordiv"](span, step) if step > 1 else span), at


def _pairwise(low: Lowering, inner: Entity) -> Items:
    size, item = iteration.items_by_position(low, inner)
    count = None if size is None else _at_least_0(low, OPS["sub"](size, 1))
    return count, lambda k: Tup((item(k), item(OPS["add"](k, 1))))


def _product(low: Lowering, *pools: Entity) -> Items:
    """The last pool's items change fastest."""
    sides = [iteration.counted(low, lists.as_list(low, p) if isinstance(p, Tup) else p) for p in pools]
    count = low.builder.const(1)
    for size, _ in sides:
        count = OPS["mul"](count, size)

    def at(k: Value) -> Entity:
        items: list[Entity] = []
        for size, item in reversed(sides):
            items.insert(0, item(OPS["mod"](k, size)))
            k = OPS["floordiv"](k, size)
        return Tup(tuple(items))

    return count, at


def _ndenumerate(low: Lowering, places: Entity, x: Entity) -> Items:
    assert isinstance(x, Array)
    count, place = iteration.counted(low, places)

    def at(k: Value) -> Entity:
        index = place(k)
        assert isinstance(index, Tup)
        return Tup((index, indexing.element_at(low, x, [low.value(e) for e in index.items])))

    return count, at


POSITIONS: dict[str, Callable[..., Items]] = {
    "count": _count,
    "repeat": _repeat,
    "cycle": _cycle,
    "islice": _islice,
    "pairwise": _pairwise,
    "product": _product,
    "ndenumerate": _ndenumerate,
}
