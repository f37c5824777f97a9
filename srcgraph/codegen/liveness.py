"""Where each variable is still needed, as ranges of the points of a function.

Points number a function's items in the order of the text: one after each item, one where a block starts, one where
a loop's iteration does, and one inside each loop nest. A variable is needed from the point after its
definition to the one before its last reading; all through a loop around which it is defined; and on one side
of a branch only, if the other does not read it. So ranges are few, and no set of variables is kept for each item.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from srcgraph.codegen.items import Block, Branch, Item, Kernel, Loop, Raise, reads_of, refs, writes_of
from srcgraph.codegen.spans import Spans
from srcgraph.errors import InternalError
from srcgraph.ir.graph import Value

NOTHING: frozenset[Value] = frozenset()


@dataclass(eq=False, slots=True)
class _Region:
    """A block, or a loop's test and what is around its body, and what was seen to be read in it.

    Attributes
    ----------
    before : int
        The point before the item that has it.
    start : int
        Its first point.
    last : dict
        The last point at which each variable is needed in it, after what certainly raises if something does.
    given_up : int
        The point before what certainly raises, or -1. What is needed only after it is not needed before the region.
    before_that : dict
        As ``last``, up to there.
    """

    parent: _Region | None
    before: int
    start: int
    last: dict[Value, int] = field(default_factory=dict)
    given_up: int = -1
    before_that: dict[Value, int] = field(default_factory=dict)


class Liveness:
    """The ranges in which the variables of a function are needed.

    Attributes
    ----------
    entry : int
        The point where the function starts.
    after : dict
        The point after each item, by its id.
    header : dict
        The point where an iteration of a loop starts.
    inside : dict
        The point within a loop nest.
    spans : dict
        By variable; those never read are missing.
    """

    def __init__(self, block: Block, at_end: Iterable[Value] = ()):
        self.after: dict[int, int] = {}
        self.header: dict[int, int] = {}
        self.inside: dict[int, int] = {}
        self._point = 0
        self._homes: dict[Value, tuple[_Region, int]] = {}
        self._regions: list[_Region] = []
        self._exits: list[tuple[Value, Value, int, int, int]] = []
        self._top = self._region(None, 0)
        self.entry = self._top.start
        self._items(block, self._top)
        for value in at_end:
            self._read(value, self._top, self._point)
        self.spans = self._found()
        self._leave_loops()

    def needed(self, value: Value, point: int) -> bool:
        """Whether a variable is needed at a point."""
        spans = self.spans.get(value)
        return spans is not None and point in spans

    def last(self, value: Value) -> int:
        """The last point at which a variable is needed; -1 if it never is."""
        spans = self.spans.get(value)
        return spans.ends[-1] if spans else -1

    # -- the walk -----------------------------------------------------------------------------------

    def _next(self) -> int:
        self._point += 1
        return self._point

    def _region(self, parent: _Region | None, before: int) -> _Region:
        region = _Region(parent, before, self._next())
        self._regions.append(region)
        return region

    def _define(self, value: Value, region: _Region, point: int) -> None:
        if value in self._homes:
            raise InternalError(f"{value} is defined twice")
        self._homes[value] = region, point

    def _home(self, value: Value) -> tuple[_Region, int]:
        """Where a variable is defined."""
        return self._homes.get(value, (self._top, self.entry))

    def _read(self, value: Value, region: _Region | None, point: int) -> None:
        """Note that a variable is needed at a point of a region, and so in those around it."""
        home, _ = self._home(value)
        while region is not None:
            known = value in region.last
            region.last[value] = point
            if known or region is home or region.given_up >= 0:
                return
            region, point = region.parent, region.before

    def _items(self, block: Block, region: _Region) -> None:
        for item in block.items:
            self._item(item, region)
        for expr in block.results:
            for value in refs(expr):
                self._read(value, region, self._point)

    def _item(self, item: Item, region: _Region) -> None:
        before = self._point
        at = self._next() if isinstance(item, Kernel) else before
        self.inside[id(item)] = at
        for value in reads_of(item):
            self._read(value, region, at)
        match item:
            case Raise(fails=ast.Constant(value=True)):
                _give_up(region, before)
            case Branch():
                for side in (item.then, item.orelse):
                    self._items(side, self._region(region, before))
            case Loop():
                self._loop(item, region, before)
        self.after[id(item)] = after = self._next()
        for value in writes_of(item):
            self._define(value, region, after)

    def _loop(self, item: Loop, region: _Region, before: int) -> None:
        around = self._region(region, before)
        self.header[id(item)] = header = around.start
        for value in (*item.params, *([item.index] if item.index is not None else [])):
            self._define(value, around, header)
        if item.test is not None:
            self._items(item.test, around)  # what it defines, the body may read
        tested = self._point
        body = self._region(around, tested)
        self._items(item.body, body)
        if item.stop is not None:
            for value in refs(item.stop):
                self._read(value, body, self._point)
        end = self._point
        around.last = {v: p if self._home(v)[0] is around else end for v, p in around.last.items()}
        self._exits += [(p, o, header, tested, end + 1) for p, o in zip(item.params, item.outputs, strict=True)]

    # -- the ranges -----------------------------------------------------------------------------------

    def _found(self) -> dict[Value, Spans]:
        zones = sorted((r.start, r.given_up) for r in self._regions if r.given_up >= 0)
        ranges: dict[Value, list[tuple[int, int]]] = {}
        for region in self._regions:
            for value, end in (*region.before_that.items(), *region.last.items()):
                home, point = self._home(value)
                start = point if home is region else region.start
                if start <= region.given_up < end:
                    start = region.given_up + 1
                ranges.setdefault(value, []).extend(_without(start, end, zones) if zones else [(start, end)])
        return {value: Spans(found) for value, found in ranges.items()}

    def _leave_loops(self) -> None:
        """What a loop hands on is needed where it ends: with a test, after it; otherwise where an iteration starts."""
        for param, output, header, tested, after in self._exits:
            if self.needed(output, after):
                self.spans.setdefault(param, Spans()).add(header, tested)


def _give_up(region: _Region, point: int) -> None:
    """Note that something certainly raises in a region; only the first counts."""
    if region.given_up < 0:
        region.given_up, region.before_that, region.last = point, region.last, {}


def _without(start: int, end: int, zones: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """A range but for the zones inside it."""
    for k in range(bisect_right(zones, (start, end)), len(zones)):
        low, high = zones[k]
        if low > end:
            break
        if low > start and high < end:
            if start < low:
                yield start, low - 1
            start = high + 1
    yield start, end


@dataclass(frozen=True, slots=True)
class Needed:
    """The variables needed at some points, but for some, and others beside them."""

    live: Liveness
    points: tuple[tuple[int, frozenset[Value]], ...]
    also: frozenset[Value] = NOTHING

    def __contains__(self, value: Value) -> bool:
        return value in self.also or any(
            value not in but and self.live.needed(value, point) for point, but in self.points
        )

    def __or__(self, other: Needed | frozenset[Value]) -> Needed:
        if isinstance(other, Needed):
            return Needed(self.live, self.points + other.points, self.also | other.also)
        return Needed(self.live, self.points, self.also | other)
