"""Loops over the rows of arrays, one after the other, run row by row together where the next reads what one has stored.

    for i in range(n):                         for i in range(n):
        for j in range(m):                         for j in range(m):
            out[i, j] = f(x[i, j])                     out[i, j] = f(x[i, j])
    for i in range(n):                             for j in range(m):
        for j in range(m):                             out[i, j] *= 2.0
            out[i, j] *= 2.0            is

A row is then read while the processor's nearest memory has it. The loops inside may be one in their turn (`handed`),
and a row all that is kept of an array (`narrow`).

Each trip has rows of its own of all that one of the two loops stores and the other uses. All that they store into is
the function's own: nobody sees it if something raises. Checks of the second are made after all of the first
(`take_turns`).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field
from functools import cached_property

from srcgraph.codegen.flow import NOTHING, NeededNames, assigned_names, leaves, live_before
from srcgraph.codegen.statements import names_in, nodes_in, statements_in
from srcgraph.codegen.sums import Summed
from srcgraph.codegen.trips import (
    Exchange,
    Repeated,
    is_plain,
    loop_before,
    may_raise,
    own_arrays,
    repeated,
    stored_arrays,
    take_turns,
)


def row_by_row(body: list[ast.stmt], watched: Set[str], in_order: bool) -> bool:
    """Join such loops of a function; whether there are any. Integers that are ``watched`` may raise.

    Unless rows are ``in_order``, threads share them, and none waits for another but for sums.
    """
    nests = [s for s in statements_in(body) if isinstance(s, ast.For) and _has_rows(s)]
    joining = _Joining(own_arrays(body), watched, in_order) if len(nests) > 1 else None
    if joining is not None:
        body[:] = joining.block(body, NOTHING)
    return joining is not None and joining.count > 0


def _has_rows(loop: ast.For) -> bool:
    return any(isinstance(s, ast.For) for s in loop.body)


@dataclass
class _Joining:
    own: Set[str]
    """The arrays that the function makes, and knows by one name."""
    watched: Set[str]
    in_order: bool
    count: int = 0

    def block(self, body: list[ast.stmt], after: Set[str]) -> list[ast.stmt]:
        """The statements of a block, given the names that are needed after it."""
        if not any(isinstance(s, ast.For | ast.While | ast.If) for s in body):
            return body
        needed = NeededNames.in_block(body, after)
        out: list[ast.stmt] = []
        known: dict[ast.stmt, _Trips] = {}
        for at, node in enumerate(body):
            live = needed.all(at)
            if isinstance(node, ast.If):
                node.body, node.orelse = self.block(node.body, live), self.block(node.orelse, live)
            elif isinstance(node, ast.For | ast.While):
                around = live | live_before([node], live, NOTHING, NOTHING)
                node.body = self.block(node.body, around)
                if isinstance(node, ast.For) and self.joined(out, node, known, live):
                    node.body = self.block(node.body, around)
            out.append(node)
        return out

    def joined(self, out: list[ast.stmt], node: ast.For, known: dict[ast.stmt, _Trips], live: Set[str]) -> bool:
        """Put the trips of the last loops before those of this one; whether there are any. Those of loops over rows
        are ``known``."""
        if not isinstance(node.target, ast.Name) or not _has_rows(node) or leaves(node.body) or node.orelse:
            return False
        trips, before = _Trips(node, node.target.id), len(out)
        while (k := loop_before(out, self.watched)) is not None:
            first = known.get(out[k])
            if first is None or not self.fits(first, trips, live):
                break
            del out[k]
            self.count += 1
            node.body = [*first.loop.body, *trips.again.left_of(node.body)]
            ast.copy_location(node, first.loop)
            trips = _Trips(node, trips.index)
        known[node] = trips
        return len(out) < before

    def fits(self, first: _Trips, second: _Trips, live: Set[str]) -> bool:
        """Whether all trips of one loop before all of the next is the same as trip by trip, and takes longer."""
        if ast.dump(first.loop.iter) != ast.dump(second.loop.iter) or first.stored.isdisjoint(second.uses):
            return False
        if not (first.is_plain and second.is_plain) or not second.renamed(first.index, live):
            return False
        if not first.assigned.isdisjoint(n.id for n in names_in(first.loop.iter)):
            return False
        if not first.stored | second.stored <= self.own or (not self.in_order and (first.waits or second.waits)):
            return False
        second.again = repeated(first.loop, second.loop, lambda name: name not in live)
        if not first.is_apart(second, live) or not first.have_rows(second):
            return False
        if self.raises(first) and self.raises(second):
            return take_turns(first.loop, second.loop, second.again, self.watched)
        return True

    def raises(self, trips: _Trips) -> bool:
        return may_raise(trips.loop, self.watched)


@dataclass
class _Trips:
    """What a loop does in each trip.

    Attributes
    ----------
    again : Repeated
        Which of it the loop before does, too.
    """

    loop: ast.For
    index: str
    again: Repeated = field(default_factory=Repeated)

    def renamed(self, index: str, live: Set[str]) -> bool:
        """Let the loop have a variable of this name; False if it cannot."""
        if index != self.index:
            if index in self.uses or self.index in live:
                return False
            self.loop.body = [Exchange(self.index, index).visit(s) for s in self.loop.body]
            self.loop.target = ast.copy_location(ast.Name(index, ast.Store()), self.loop.target)
            self.index = index
            self.__dict__ = {k: self.__dict__[k] for k in ("loop", "index", "again")}
        return True

    @cached_property
    def uses(self) -> Counter[str]:
        return Counter(n.id for n in names_in(*self.loop.body))

    @cached_property
    def assigned(self) -> Set[str]:
        """The numbers that it changes."""
        return assigned_names(self.loop.body)

    @cached_property
    def handed(self) -> Set[str]:
        """Those that a trip hands on to the next."""
        return live_before(self.loop.body, NOTHING, NOTHING, NOTHING) & self.assigned

    @cached_property
    def stored(self) -> Set[str]:
        return stored_arrays(self.loop.body)

    @cached_property
    def is_plain(self) -> bool:
        return self.index not in self.assigned and all(map(is_plain, statements_in(self.loop.body)))

    @cached_property
    def axes(self) -> dict[str, tuple[int, set[int]]]:
        """How many axes arrays have, and along which a trip is at the loop's number wherever it uses them."""
        found: dict[str, tuple[int, set[int]]] = {}
        for node in nodes_in(*self.loop.body):
            match node:
                case ast.Subscript(value=ast.Name(id=array), slice=at):
                    axes = at.elts if isinstance(at, ast.Tuple) else [at]
                    own = {k for k, a in enumerate(axes) if isinstance(a, ast.Name) and a.id == self.index}
                    found[array] = len(axes), found[array][1] & own if array in found else own
        return found

    @cached_property
    def waits(self) -> bool:
        """Whether a trip needs a number of the trip before, but for a sum."""
        sums = {s.target.id for s in statements_in(self.loop.body) if isinstance(s, Summed)}  # type: ignore[attr-defined]
        return not self.handed <= sums

    def is_apart(self, after: _Trips, live: Set[str]) -> bool:
        """Whether no number of one loop is used in the other, where so many are needed later; both may have numbers of
        one name for a trip's own."""
        both = (self.assigned & after.uses.keys()) | (after.assigned & self.uses.keys())
        passing = (self.assigned & after.assigned) - self.handed - after.handed - live
        return both <= passing | after.again.assigned

    def have_rows(self, after: _Trips) -> bool:
        """Whether each trip has a part of its own of the arrays that one loop stores and the other uses, and a row of
        an array that both use."""
        both = self.axes.keys() & after.axes.keys()
        own = {a for a in both if not self.axes[a][1].isdisjoint(after.axes[a][1])}
        return both & (self.stored | after.stored) <= own and any(self.axes[a][0] > 1 for a in own)
