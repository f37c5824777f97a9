"""Neighbouring loop nests over the same lengths become one, where no element is read before it is made.

Those that differ in their inner loops alone run row by row together: what the first makes of a row is read while it is
in the cache, and a number for each row needs no array.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from srcgraph.codegen.expr import Index, in_row
from srcgraph.codegen.flat import has_short_rows
from srcgraph.codegen.items import INDICES, InnerReduce, Item, Kernel, Let, LoopStore, part_exprs, reads_of, refs
from srcgraph.codegen.nest import Nest
from srcgraph.codegen.several import is_several
from srcgraph.codegen.statements import names_in
from srcgraph.codegen.sums import FEW
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.types import ListType

if TYPE_CHECKING:
    from srcgraph.codegen.schedule import Scheduler


BACK = 8
"""So many nests are looked back for one that makes what another reads."""
LINES = 64
"""So many nests and lets are."""


def fused(items: list[Item], s: Scheduler) -> list[Item]:
    """Join nests over the same lengths, or over the same rows, where no element is read before it is made."""
    out: list[Item] = []
    row = _Row(s)
    for item in items:
        match item:
            case Kernel():
                row.take(Nest(item))
            case Let():
                row.lines.append(_Line(item))
            case _:
                out += [*row.items(), item]
                row = _Row(s)
    return out + row.items()


class _Line:
    """A let between nests."""

    def __init__(self, let: Let):
        self.let = let
        self.reads = reads_of(let)
        drawn = any(n.id.startswith("draw_") for n in names_in(let.expr))
        self.ordered = drawn or any(isinstance(v.type, ListType) for v in (let.value, *self.reads))
        """Whether it matters which of those like it runs first: what is drawn, and what is taken from lists."""


class _Row:
    """Nests and lets that stand one after the other."""

    def __init__(self, s: Scheduler):
        self.s = s
        self.lines: list[Nest | _Line] = []

    def items(self) -> list[Item]:
        return [line.kernel() if isinstance(line, Nest) else line.let for line in self.lines]

    def take(self, nest: Nest) -> None:
        """Run a nest together with one of those before it, or after them."""
        moved: list[_Line] = []
        needs, between = nest.reads | nest.overwritten, 0
        for k in range(len(self.lines) - 1, max(len(self.lines) - LINES, 0) - 1, -1):
            line = self.lines[k]
            if isinstance(line, Nest):
                free = all(line.makes(v) is False for let in moved for v in let.reads)
                depth = self._depth(line, nest, bool(between)) if free else 0
                if depth:
                    self._join(k, nest, depth, moved)
                    return
                between += 1
                if between == BACK or any(map(line.makes, needs)) or not nest.overwritten.isdisjoint(line.reads):
                    break
            elif line.let.value in needs or not nest.overwritten.isdisjoint(line.reads) or _follows(line, moved):
                moved.append(line)
                needs = needs | line.reads
        self.lines.append(nest)

    def _join(self, k: int, nest: Nest, depth: int, moved: Sequence[_Line]) -> None:
        """Run a nest together with the one at ``k``, and the lets that it needs before."""
        first = self.lines[k]
        assert isinstance(first, Nest)
        before = {*moved}
        self.lines[k:] = [*reversed(moved), *(line for line in self.lines[k:] if line not in before)]
        first.take(nest, depth)
        for value in dict.fromkeys((*nest.accesses, *nest.fresh)):
            if value not in first.fresh or value in self.s.uses.consumed:
                continue
            if first.is_local(value) and not _readers_outside(value, (first,), self.s):
                first.contract(value)

    def _depth(self, first: Nest, second: Nest, apart: bool) -> int:
        """In how many loops a nest runs together with another one; 0 if it cannot."""
        shares = _shares(first, second, self.s)
        if second.dims in (first.dims, first.all_dims) and (shares or not apart):
            if _can_join(first, second, len(second.dims), self.s):
                return len(second.dims)
        if self.s.write.target != "cpu" or not shares:
            return 0
        for depth in range(_common(first, second), 0, -1):
            if second.dims[depth - 1] != 1 and _can_join(first, second, depth, self.s):
                return 0 if _is_slower(first, second, depth) else depth
        return 0


def _follows(line: _Line, moved: Iterable[_Line]) -> bool:
    """Whether a let has to run before others that do."""
    return line.ordered and any(other.ordered for other in moved)


def _common(first: Nest, second: Nest) -> int:
    """How many loops around are over the same lengths."""
    pairs = enumerate(zip(first.all_dims, second.dims, strict=False))
    return next((k for k, (d, e) in pairs if d != e), min(len(first.all_dims), len(second.dims)))


def _is_slower(first: Nest, second: Nest, depth: int) -> bool:
    """Whether one of two nests is better vectorised, or its loops exchanged, on its own."""
    more = second.dims[depth:]
    if depth == len(first.dims) and more and all(d.const is not None and d.const <= FEW for d in more):
        return False
    if any(len(nest.all_dims) == depth and _calls(nest) for nest in (first, second)):
        return True
    return not all(
        _in_order(index) for nest in (first, second) for places in nest.accesses.values() for index in places
    )


def _calls(nest: Nest) -> bool:
    """Whether functions are called in the innermost loop of a nest."""
    flat = not any(isinstance(p, InnerReduce) for p in nest.parts.values())
    return flat and any(is_several(n) for p in nest.parts.values() for e in part_exprs(p) for n in ast.walk(e))


def _in_order(index: Index) -> bool:
    """Whether the last axis is that of the innermost loop."""
    loops = [max((s for s in d.symbols() if s.startswith("@")), default="") for d in index]
    used = [loop for loop in loops if loop]
    return used == sorted(used)


def _can_join(first: Nest, second: Nest, depth: int, s: Scheduler) -> bool:
    """Whether the first ``depth`` loops of two nests may be run together.

    Points of the second nest then follow those of the first that are in the same row, or, where there are no loops
    besides, at the same point.
    """
    if not (first.sums - first.stores.keys()).isdisjoint(second.reads):
        return False
    if not first.overwritten.isdisjoint(second.accesses):
        return False
    for value, places in second.accesses.items():
        if value in first.stores and _is_one_of_several(first.store_of(value), first, s):
            return False
        if value in first.stores and not _follow(places, first.stores[value], second, first.shared(value, depth), s):
            return False
    if not all(_can_change(first, second, p, depth, s) for p in second.parts.values() if isinstance(p, LoopStore)):
        return False
    several = first.partial or second.partial
    return not several or (s.write.target == "cpu" and _shares(first, second, s))


def _follow(places: Iterable[Index], at: Index, nest: Nest, depth: int, s: Scheduler) -> bool:
    """Whether places of an array are all in the row of ``depth`` loops of a nest in which ``at`` is."""
    if s.write.target != "cpu":
        return all(place == at for place in places)
    loops = [f"@{k}" for k, d in enumerate(nest.dims[:depth]) if d != 1]
    return all(in_row(place, at, loops) for place in places)


def _can_change(first: Nest, second: Nest, part: LoopStore, depth: int, s: Scheduler) -> bool:
    """Whether an array may be stored into where the first nest is not over yet."""
    base = part.base
    if base is None:
        return True
    if base in first.overwritten:
        return False  # both change one array: one of them changes a copy
    places = [*first.accesses.get(base, ()), *([first.stores[base]] if base in first.stores else ())]
    if part.free and base not in first.fresh:  # additions to several places are one on their own: see `shifted`
        if places and (depth < len(second.dims) or any(place != part.at for place in places)):
            return False
        if _is_one_of_several(part, second, s) and any(
            _readers_outside(v, (first, second), s) for v in second.accesses if v in first.fresh
        ):
            return False
    if not _follow(places, part.at, second, depth, s):
        return False
    # is what the first made needed after the second changed it?
    return base not in first.stores or not _readers_outside(base, (first, second), s)


def _is_one_of_several(part: LoopStore, nest: Nest, s: Scheduler) -> bool:
    """Whether a derivative adds one array, but for factors that are literals, to several parts of another."""
    node = s.uses.definition.get(part.target)
    if s.write.target != "cpu" or not part.free or not isinstance(node, Apply) or node.op.name != "add_at":
        return False
    before = s.uses.definition.get(node.inputs[0])
    after = [use.node for use in s.uses.reads[part.target]]
    others = [n for n in (before, *after) if isinstance(n, Apply) and n.op.name == "add_at" and n.origin.by]
    place = node.attrs["view"], node.inputs[2:]
    if all((n.attrs["view"], n.inputs[2:]) == place for n in others):
        return False
    return len({v for p in nest.parts.values() for v in refs(p.expr)} - nest.lets - {*INDICES}) == 1


def _shares(first: Nest, second: Nest, s: Scheduler) -> bool:
    """Whether a nest reads what another makes, or what it reads."""
    made = not first.fresh.keys().isdisjoint(second.accesses)
    return made or (s.write.target == "cpu" and _reads_again(first, second))


def _reads_again(first: Nest, second: Nest) -> bool:
    """Whether a nest reads rows of an array that another one reads: when that runs first, they are in the cache.

    Short rows are best read side by side: see `srcgraph.codegen.flat`.
    """
    both = first.accesses.keys() & second.accesses.keys()
    long = [v for v in both if len(v.type.shape) > 1 and not has_short_rows(v.type.shape)]
    return any(first.accesses[v].keys() & second.accesses[v].keys() for v in long)


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
