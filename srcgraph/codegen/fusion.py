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
    last: _Last | None = None
    for item in items:
        if isinstance(item, Let) and last is not None:
            last.lets.append(item)
            continue
        nest = Nest(item) if isinstance(item, Kernel) else None
        if nest is not None and last is not None and last.lets_pass(nest) and _can_join(last.nest, nest, s):
            out += last.taken_before()
            _join(last.nest, nest, s)
            continue
        before = out[-1] if out and last is not None and not last.lets else None
        if nest is not None and last is not None and isinstance(before, Nest) and _passes(before, last.nest, nest, s):
            _join(before, nest, s)
            continue
        out += [last.nest, *last.lets] if last is not None else []
        last = _Last(nest) if nest is not None else None
        out += [item] if nest is None else []
    out += [last.nest, *last.lets] if last is not None else []
    return [item.kernel() if isinstance(item, Nest) else item for item in out]


class _Last:
    """A nest to which another one could be joined, and the lets that stand after it.

    Attributes
    ----------
    later : dict
        Those of them that need the nest, by what they define.
    """

    def __init__(self, nest: Nest):
        self.nest = nest
        self.lets: list[Let] = []
        self.later: dict[Value, Let] = {}
        self._seen = 0
        self._needed: set[Value] = set()

    def lets_pass(self, second: Nest) -> bool:
        """Whether the lets may run before this nest, or after the second."""
        for let in self.lets[self._seen :]:
            if _independent(self.nest, let):
                self._needed |= reads_of(let)
            else:
                self.later[let.value] = let
        new, self._seen = self.lets[self._seen :], len(self.lets)
        if not all(_is_of_numbers(let) for let in new if let.value in self.later):
            self._needed |= self.later.keys()  # never
        needs = (reads_of(second.item), self._needed)
        return all(self.later.keys().isdisjoint(needed) for needed in needs)

    def taken_before(self) -> list[Let]:
        """Take the lets that may run before the nest out of those after it."""
        before = [let for let in self.lets if let.value not in self.later]
        self.lets = list(self.later.values())
        self._seen = len(self.lets)
        self._needed = set()
        return before


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


def _passes(first: Nest, between: Nest, second: Nest, s: Scheduler) -> bool:
    """Whether a nest joins one that makes what it reads, and can be run before the one between them."""
    if not (_shares(first, second) and _can_join(first, second, s)):
        return False
    made = (between.fresh, between.stores, between.sums, between.overwritten)
    needs = reads_of(second.item) | second.overwritten
    reads = reads_of(between.item)
    return all(needs.isdisjoint(m) for m in made) and second.overwritten.isdisjoint(reads)


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
