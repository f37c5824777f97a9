"""What `itertools`, `np.ndindex` and `np.ndenumerate` make: things to loop over.

Few known items are a tuple of these. Else it is an `Iteration`, which `srcgraph.frontend.nests` loops over.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import expressions, later, library, lists, watched
from srcgraph.frontend.entities import (
    NONE,
    Array,
    Const,
    Entity,
    Instance,
    Iteration,
    Listing,
    Once,
    Scalar,
    Tup,
    is_once,
)
from srcgraph.frontend.memory import new_array, read, ref_type, refuse
from srcgraph.frontend.once import refuse_kept
from srcgraph.frontend.pythonic import MANY, builtin, range_
from srcgraph.ir.op import OPS

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

INSTEAD = {
    "nditer": "loop over the elements, for v in x.flat, or over their places, for i, j in np.ndindex(*x.shape)",
    "groupby": "loop over the items, and compare each with the one before",
    "zip_longest": "loop over the positions, for k in range(max(len(xs), len(ys)))",
    "tee": "make a list, and loop over it twice",
    "batched": "loop over the positions, for k in range(0, len(xs), n), and take xs[k : k + n]",
}
"""What to write in place of iterators that are not supported, by their names."""
FEW = 32
"""Up to so many tuples made of known items, each is an item of its own."""


def _pool(low: Lowering, items: Entity) -> Entity:
    """The items as they are now: what is combined is read before the first turn."""
    known = lists.known_items(low, items)
    if known is not None:
        return Tup(known)
    match items:
        case Iteration(kind="range", parts=parts):
            ends = [lists.known_int(low, low.value(p)) for p in parts]
            known = [e for e in ends if e is not None]
            numbers = range(*known) if len(known) == len(ends) else range(FEW + 1)
            return Tup(tuple(map(Const, numbers))) if len(numbers) <= FEW else items
        case Array() if ref_type(low, items).ndim == 1:
            return new_array(low, read(low, items), items.cell.name)
        case Array():
            return items
        case Const() | Instance():
            return Tup(tuple(expressions.items_of(low, items)))
    return lists.as_list(low, items)


def _known(pools: Sequence[Entity], count: Callable[..., int]) -> list[tuple[Entity, ...]] | None:
    """The items of pools that are known, if few tuples are made of them."""
    known = [p.items for p in pools if isinstance(p, Tup)]
    return known if len(known) == len(pools) and count(*map(len, known)) <= FEW else None


def _tuples(made: Any) -> Tup:
    return Tup(tuple(Tup(tuple(items)) for items in made), Once)


@builtin(iter, 1, 1)
def iter_(low: Lowering, items: Entity) -> Entity:
    return chained(low, Tup((items,)))


@builtin(next, 1, 2)
def next_(low: Lowering, items: Entity, *default: Entity) -> Entity:
    """The first item of an iterator made for that: a name's would be at another one afterwards."""
    if not is_once(items):
        raise refuse(f"next() of {low.shown(items)} is not supported", low.loc, NEXT)
    return lists.own(low, library.first_or if default else library.first, items, *default)


NEXT = "write next(x for x in xs if ...), or loop over the positions"


@builtin(itertools.product, 0, MANY, "repeat")
def product(low: Lowering, *iterables: Entity, repeat: Entity = Const(1)) -> Entity:
    pools = [_pool(low, e) for e in iterables] * low.static(repeat, "repeat")
    known = _known(pools, lambda *sizes: math.prod(sizes))
    if known is not None:
        return _tuples(itertools.product(*known))
    return Iteration("product", tuple(pools))


def _selection(function: Any, count: Callable[[int, int], int]) -> None:
    """``combinations(items, r)`` and the like."""
    name = function.__name__

    @builtin(function, 1, 2, "r")
    def lower(low: Lowering, items: Entity, r: Entity = NONE) -> Entity:
        pool = _pool(low, items)
        whole = isinstance(pool, Tup) and r == NONE
        chosen = len(pool.items) if whole else _how_many(low, r, name)  # type: ignore[union-attr]
        known = _known([pool], lambda n: count(n, chosen))
        if known is not None:
            return _tuples(function(known[0], chosen))
        if chosen == 0:
            return _tuples([()])
        return Iteration(name, (lists.listed(low, pool), Const(chosen)))


def _how_many(low: Lowering, r: Entity, name: str) -> int:
    """The length of each tuple."""
    known = r if isinstance(r, Const) else None
    if known is None and isinstance(r, Scalar):
        known = Const(low.static(r, f"the length of the tuples of {name}"))
    if known is None or known.value is None:
        why = f"{name}() of as many items as are known at run time only makes tuples of unknown length"
        raise refuse(why, low.loc, "give the length as a number, or permute an array of indices by hand")
    if not isinstance(known.value, int) or known.value < 0:
        raise refuse(f"{name}(): r must be a non-negative integer", low.loc, kind=InferenceError)
    return known.value


_selection(itertools.combinations, math.comb)
_selection(itertools.combinations_with_replacement, lambda n, r: math.comb(n + r - 1, r) if n + r else 1)
_selection(itertools.permutations, math.perm)


@builtin(itertools.chain, 0, MANY)
def chain(low: Lowering, *iterables: Entity) -> Entity:
    return chained(low, Tup(iterables))


@builtin(itertools.chain.from_iterable, 1, 1)
def chained(low: Lowering, iterables: Entity) -> Entity:
    """``chain.from_iterable(iterables)``."""
    parts = lists.known_items(low, iterables)
    known = [e.items for e in parts or () if isinstance(e, Tup)]
    if parts is not None and len(known) == len(parts):
        return later.iterator(low, list(itertools.chain(*known)), parts)
    return Iteration("chain", (iterables,))


@builtin(itertools.islice, 2, 4)
def islice(low: Lowering, items: Entity, *bounds: Entity) -> Entity:
    start, stop, step = (NONE, *bounds, NONE) if len(bounds) == 1 else (*bounds, NONE)[:3]
    by = 1 if step == NONE else low.static(step, "the step of islice")
    if not isinstance(by, int) or by < 1:
        raise refuse("Step for islice() must be a positive integer or None.", low.loc, kind=InferenceError)
    known = later.waiting(low, items)
    if isinstance(items, Tup) and known is not None and all(isinstance(e, Const) for e in (start, stop)):
        first, last = (low.static(e, "a bound of islice") for e in (start, stop))
        return later.iterator(low, known[slice(first, last, by)], [items])
    start = Const(0) if start == NONE else start
    lists.own(low, library.check_bounds, start, stop)
    return Iteration("islice", (lists.listed(low, items), start, stop, Const(by)))


@builtin(itertools.count, 0, 2, "start step")
def count(low: Lowering, start: Entity = Const(0), step: Entity = Const(1)) -> Entity:
    return Iteration("count", (start, step))


@builtin(itertools.repeat, 1, 2, "times")
def repeat(low: Lowering, item: Entity, times: Entity = NONE) -> Entity:
    refuse_kept(low, [item], "that is repeated")
    if times == NONE:
        return Iteration("repeat", (item,))
    return Iteration("repeat", (item, range_(low, times)))


@builtin(itertools.cycle, 1, 1)
def cycle(low: Lowering, items: Entity) -> Entity:
    known = later.waiting(low, items)
    listed = lists.listed(low, _pool(low, items) if known is None else later.iterator(low, known, [items]))
    if known is None and isinstance(listed, Listing):
        watched.watch(low, listed, [items])
    return Iteration("cycle", (listed,))


@builtin(itertools.starmap, 2, 2)
def starmap(low: Lowering, function: Entity, items: Entity) -> Entity:
    known = later.waiting(low, items)
    return Iteration("map", (function, items if known is None else later.iterator(low, known, [items])))


@builtin(itertools.takewhile, 2, 2)
def takewhile(low: Lowering, test: Entity, items: Entity) -> Entity:
    return Iteration("takewhile", (items, test))


@builtin(itertools.dropwhile, 2, 2)
def dropwhile(low: Lowering, test: Entity, items: Entity) -> Entity:
    return Iteration("dropwhile", (items, test))


@builtin(itertools.filterfalse, 2, 2)
def filterfalse(low: Lowering, test: Entity, items: Entity) -> Entity:
    return Iteration("filterfalse", (items, Const(bool) if test == NONE else test))


@builtin(itertools.compress, 2, 2, "data selectors")
def compress(low: Lowering, data: Entity, selectors: Entity) -> Entity:
    return Iteration("compress", (data, selectors))


@builtin(itertools.pairwise, 1, 1)
def pairwise(low: Lowering, items: Entity) -> Entity:
    known = later.waiting(low, items) if isinstance(items, Tup) else None
    if known is not None:
        return later.iterator(low, [Tup(pair) for pair in itertools.pairwise(known)], [items])
    return Iteration("pairwise", (items,))


@builtin(np.ndindex, 0, MANY)
def ndindex(low: Lowering, *shape: Entity) -> Entity:
    known = lists.known_items(low, shape[0]) if len(shape) == 1 else None
    sizes = shape if known is None else known
    for size in sizes:
        length = low.value(size, "a length of ndindex")
        if length.type.ndim or length.type.dtype.kind not in "biu":
            raise refuse("ndindex takes lengths, which are integers", low.loc, kind=InferenceError)
        length = low.builder.cast(length, np.dtype(int), weak=True)
        if length.type.value is None or not low.builder.proves(length.type.value):
            message = "negative dimensions are not allowed"
            fine = OPS["greater_equal"](length, 0)
            low.builder.call_named("check_that", fine, error="ValueError", message=message)
    return product(low, *(range_(low, size) for size in sizes))


@builtin(np.ndenumerate, 1, 1)
def ndenumerate(low: Lowering, x: Entity) -> Entity:
    if not isinstance(x, Array):
        raise refuse(f"ndenumerate() of {low.shown(x)} is not supported", low.loc, "make an array of it")
    sizes = map(low.builder.dim_value, ref_type(low, x).shape)
    return Iteration("ndenumerate", (product(low, *(range_(low, Scalar(n)) for n in sizes)), x))
