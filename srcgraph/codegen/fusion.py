"""Neighbouring loop nests over the same lengths become one, where no element is read before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from srcgraph.codegen.items import InnerReduce, Item, Kernel, Let, LoopStore, reads_of, refs
from srcgraph.codegen.nest import Nest, is_partial
from srcgraph.codegen.statements import names_in
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.types import ScalarType

if TYPE_CHECKING:
    from srcgraph.codegen.schedule import Scheduler


FEW = 16
"""The longest loop that is put inside of a nest that makes what it reads."""


def fused(items: list[Item], s: Scheduler) -> list[Item]:
    """Join neighbouring nests over the same lengths where no element is read before it is made."""
    out: list[Item | Nest] = []
    for item in items:
        if not isinstance(item, Kernel):
            out.append(item)
            continue
        nest = Nest(item)
        at = _partner(out, nest, s)
        if at is None:
            out.append(nest)
            continue
        first = out[at]
        assert isinstance(first, Nest)
        between = [b for b in out[at + 1 :] if not isinstance(b, Nest)]
        free = [b for b in between if _independent(first, b)]
        _join(first, nest, s)
        out[at:] = [*free, first, *(b for b in between if b not in free)]
    return [item.kernel() if isinstance(item, Nest) else item for item in out]


def _partner(out: list[Item | Nest], nest: Nest, s: Scheduler) -> int | None:
    """The last nest before another that it can join: only lets may lie between, which one of both does not need."""
    between: list[Let] = []
    for at in range(len(out) - 1, -1, -1):
        before = out[at]
        if isinstance(before, Nest):
            return at if _can_part(before, between, nest) and _can_join(before, nest, s) else None
        if not isinstance(before, Let):
            return None
        between.append(before)
    return None


def _can_part(first: Nest, between: Sequence[Let], second: Nest) -> bool:
    """Whether what stands between two nests may run before the first, or after the second."""
    later = [b for b in between if not _independent(first, b)]
    needed = reads_of(second.item).union(*(reads_of(b) for b in between if b not in later))
    return all(b.value not in needed and _is_of_numbers(b) for b in later)


def _is_of_numbers(let: Let) -> bool:
    """Whether a number is computed from numbers, which neither a store nor a draw changes."""
    drawn = any(n.id.startswith("draw_") for n in names_in(let.expr))
    return not drawn and all(isinstance(v.type, ScalarType) for v in (let.value, *refs(let.expr)))


def _independent(nest: Nest, item: Item) -> bool:
    """Whether a let may run before a nest that stands before it."""
    reads = reads_of(item)
    return all(reads.isdisjoint(changed) for changed in (nest.fresh, nest.stores, nest.sums, nest.overwritten))


def _can_join(first: Nest, second: Nest, s: Scheduler) -> bool:
    if first.dims != second.dims and not (s.write.target == "cpu" and _goes_inside(first, second)):
        return False
    if not first.sums.isdisjoint(reads_of(second.item)):
        return False
    for value, places in second.accesses.items():
        if value in first.overwritten:
            return False
        if value in first.stores and list(places) != [first.stores[value]]:
            return False
    if not all(_can_change(first, second, p, s) for p in second.parts.values() if isinstance(p, LoopStore)):
        return False
    several = first.partial or second.partial
    return not several or (s.write.target == "cpu" and _shares(first, second))


def _can_change(first: Nest, second: Nest, part: LoopStore, s: Scheduler) -> bool:
    """Whether an array may be stored into where the first nest is not over yet."""
    base = part.base
    if base is None:
        return True
    if base in first.overwritten:
        return False  # both change one array: one of them changes a copy
    partial = is_partial(part, second.dims)
    if any(index != part.at or partial for index in first.accesses.get(base, ())):
        return False
    if base not in first.stores:
        return True
    if part.at != first.stores[base] or partial:
        return False
    return not _readers_outside(base, (first, second), s)  # is what the first made needed after the second changed it?


def _goes_inside(first: Nest, second: Nest) -> bool:
    """Whether a nest is over what another is over and few elements more, of what that one makes."""
    more = second.dims[len(first.dims) :]
    few = all(d.const is not None and d.const <= FEW for d in more)
    flat = not any(p.inner or isinstance(p, InnerReduce) for p in second.parts.values())
    return second.dims[: len(first.dims)] == first.dims and bool(more) and few and flat and _shares(first, second)


def _shares(first: Nest, second: Nest) -> bool:
    """Whether a nest reads what another makes."""
    return not first.fresh.keys().isdisjoint(second.accesses)


def _join(first: Nest, second: Nest, s: Scheduler) -> None:
    """Run one nest inside another; arrays of which only this reads each element where it is made become numbers."""
    first.take(second, second.dims[len(first.dims) :])
    for value in dict.fromkeys((*second.accesses, *second.fresh)):
        if value not in first.fresh or value in s.uses.consumed:
            continue
        if first.is_local(value) and not _readers_outside(value, (first,), s):
            first.contract(value)


def _readers_outside(value: Value, nests: Sequence[Nest], s: Scheduler) -> bool:
    """Whether anything but the values these nests compute reads ``value``."""
    stack = [value]
    seen: set[Value] = set()
    while stack:
        current = stack.pop()
        for use in s.uses.reads[current]:
            if not isinstance(use.node, Apply) or s.wants_memory(current, use):
                return True
            out = use.node.outputs[0]
            if out in seen or any(out in nest.results for nest in nests):
                continue
            named = any(out in nest.lets for nest in nests)
            if named and out in s.made:
                continue
            if not named and (out in s.variables or not s.is_delayed(use.node)):
                return True  # what has a name in this nest may be computed again in another
            seen.add(out)
            stack.append(out)
    return False
