"""Loops that add to one row of an array, each some places further, as one: each element takes what it is due.

The derivative of ``u[:-2] + u[2:]`` adds one array to two parts of another, in two loops that read and write nearly
all of that. One loop over the places that both have adds both (a gather in place of scatters), and is vectorised as
they are; the few others at the ends are added by short loops of their own.

References
----------
J. Hückelheim, N. Kukreja, S. Narayanan, F. Luporini, G. Gorman, P. Hovland, "Automatic differentiation for adjoint
stencil loops", International Conference on Parallel Processing 2019: scatters turned into a gather and its rims.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from srcgraph.codegen.affine import Trips, axes_of, beside, plus
from srcgraph.codegen.flow import NOTHING, NeededNames, assigned_names, live_before
from srcgraph.codegen.registers import Added
from srcgraph.codegen.statements import is_pure, names_in, nodes_in, statements_in

FEWEST = 3
"""Of fewer loops, the short ones at the ends take what is spared."""
WIDEST = 8
"""So many places at most is one loop further than another."""
LONGEST = 48
"""The nodes of an expression that is written again at the ends."""


def gathered(body: list[ast.stmt], taken: AbstractSet[str]) -> list[ast.stmt]:
    """The statements of a function with such loops joined; names that are ``taken`` have other meanings."""
    if sum(_moves(s) is not None for s in statements_in(body)) < FEWEST:
        return body
    return _Gathered({*taken, *(n.id for n in names_in(*body))}).block(body, NOTHING)


@dataclass(slots=True)
class _Moving:
    """A loop that adds to places so many further than its number is.

    Attributes
    ----------
    array, place : str
        What is added to, and with the other axes as text.
    by : int
        How many places further.
    """

    loop: ast.For
    trips: Trips
    index: str
    added: Added
    array: str
    place: str
    by: int

    @property
    def key(self) -> tuple[str, ...]:
        return self.place, self.index, ast.unparse(self.loop.iter)

    def part(self, start: ast.expr, stop: ast.expr) -> ast.For:
        """The loop for some of its numbers."""
        args = [stop] if isinstance(start, ast.Constant) and start.value == 0 else [start, stop]
        run = ast.Call(ast.Name("range", ast.Load()), args, [])
        made = ast.For(copy.deepcopy(self.loop.target), run, copy.deepcopy(self.loop.body), [], lineno=0)
        return ast.copy_location(made, self.loop)


def _moves(node: ast.stmt) -> _Moving | None:
    """A loop that does nothing but add to one place in each step, which moves along with its number."""
    match node:
        case ast.For(
            target=ast.Name(id=index), body=[*numbers, Added(target=ast.Subscript(slice=at)) as added], orelse=[]
        ) if axes_of(at):
            trips = Trips.of(node.iter)
            if trips is None or trips.step != 1 or not all(_is_number(s) for s in numbers):
                return None
        case _:
            return None
    assert isinstance(added.target, ast.Subscript) and isinstance(added.target.value, ast.Name)
    *others, last = axes_of(added.target.slice)
    by = beside(last, index)
    changing = assigned_names([node])
    if by is None or any(n.id in changing for e in others for n in names_in(e)):
        return None
    array = added.target.value.id
    if not all(map(is_pure, node.body)) or sum(n.id == array for n in names_in(node)) > 1:
        return None
    if any(n.id in changing for n in names_in(node.iter)) or sum(1 for _ in nodes_in(*node.body)) > LONGEST:
        return None
    place = ast.unparse(ast.Tuple([added.target.value, *others], ast.Load()))
    return _Moving(node, trips, index, added, array, place, by)


def _is_number(s: ast.stmt) -> bool:
    return isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name)


def _hands_on(m: _Moving) -> bool:
    """Whether a step of a loop reads a number that the one before has made."""
    before = live_before(m.loop.body, NOTHING, NOTHING, NOTHING)
    return not (assigned_names([m.loop]) - {m.index}).isdisjoint(before)


def _ends(group: Sequence[_Moving]) -> tuple[int, int]:
    return min(m.by for m in group), max(m.by for m in group)


def _is_worth_it(group: Sequence[_Moving]) -> bool:
    first, last = _ends(group)
    return len(group) >= FEWEST and 0 < last - first <= WIDEST


class _Gathered:
    def __init__(self, taken: set[str]):
        self.taken = taken

    def block(self, body: list[ast.stmt], after: AbstractSet[str]) -> list[ast.stmt]:
        """A block, given the names that are needed after it."""
        loops = [_moves(s) for s in body]
        needed = NeededNames.in_block(body, after)
        out: list[ast.stmt] = []
        k = 0
        while k < len(body):
            end = k
            while end < len(body) and loops[end] is not None:
                end += 1
            if end > k:
                out += self.joined([m for m in loops[k:end] if m is not None], needed.all(end - 1))
                k = end
                continue
            self.inside(body[k], needed.all(k))
            out.append(body[k])
            k += 1
        return out

    def inside(self, node: ast.stmt, live: AbstractSet[str]) -> None:
        match node:
            case ast.If():
                node.body = self.block(node.body, live)
                node.orelse = self.block(node.orelse, live)
            case ast.For() | ast.While():
                node.body = self.block(node.body, live | live_before([node], frozenset(live), NOTHING, NOTHING))

    def joined(self, loops: list[_Moving], live: AbstractSet[str]) -> list[ast.stmt]:
        """Loops that follow each other, those of one row as one."""
        plain = [m.loop for m in loops]
        uses, changes = Counter(n.id for n in names_in(*plain)), Counter(m.array for m in loops)
        is_read = any(uses[array] > count for array, count in changes.items())
        is_needed = not assigned_names(plain).isdisjoint(live) or any(map(_hands_on, loops))
        if len(loops) < FEWEST or is_read or is_needed:
            return list(plain)
        groups: dict[tuple[str, ...], list[_Moving]] = {}
        for m in loops:
            groups.setdefault(m.key, []).append(m)
        if not any(map(_is_worth_it, groups.values())):
            return list(plain)
        return [s for g in groups.values() for s in (self.one(g) if _is_worth_it(g) else [m.loop for m in g])]

    def one(self, group: Sequence[_Moving]) -> Iterator[ast.stmt]:
        """Loops over the same numbers that add to one row: over the places that all have, and the others at its ends.

        The number of the first is that of the loop in the middle.
        """
        first, last = _ends(group)
        like = sorted(group, key=lambda m: m.by)[len(group) // 2]
        start, stop = like.trips.first, like.trips.stop
        yield self.sum_of(group, like, plus(start, last - like.by), plus(stop, first - like.by))
        for by in dict.fromkeys(m.by for m in group):
            same = [m for m in group if m.by == by]
            inner = plus(start, last - by), plus(stop, first - by)
            if by < last:
                yield self.sum_of(same, same[0], start, _call("min", inner[0], stop))
            if by > first:
                yield self.sum_of(same, same[0], _call("max", inner[1], inner[0]), stop)

    def sum_of(self, group: Sequence[_Moving], like: _Moving, start: ast.expr, stop: ast.expr) -> ast.stmt:
        """A loop that adds what some add to the same place, by the numbers of one of them."""
        made = like.part(start, stop)
        made.body = []
        total: ast.expr | None = None
        used: set[str] = set()
        for m in group:
            shift = Shift(m.index, like.by - m.by, self.fresh(used, assigned_names(m.loop.body)))
            *numbers, added = (shift.visit(copy.deepcopy(s)) for s in m.loop.body)
            made.body += numbers
            total = added_up(total, added)
        assert total is not None
        place = copy.deepcopy(like.added.target)
        op = ast.Sub() if isinstance(total, ast.UnaryOp) else ast.Add()
        value = total.operand if isinstance(total, ast.UnaryOp) else total
        made.body.append(ast.copy_location(Added(place, op, value), like.added))
        return made

    def fresh(self, used: set[str], names: AbstractSet[str]) -> dict[str, str]:
        """Other names for those that loops before have used."""
        out: dict[str, str] = {}
        for name in sorted(names):
            made, k = name, 2
            while made in used or (made != name and made in self.taken):
                made, k = f"{name}_{k}", k + 1
            out[name] = made
        used |= {*out.values()}
        self.taken |= {*out.values()}
        return out


def added_up(total: ast.expr | None, added: Added) -> ast.expr:
    """A sum, if there is one, and what one more loop adds."""
    less = isinstance(added.op, ast.Sub)
    if total is None:
        return ast.UnaryOp(ast.USub(), added.value) if less else added.value
    if isinstance(total, ast.UnaryOp) and isinstance(total.op, ast.USub) and not less:
        return ast.BinOp(added.value, ast.Sub(), total.operand)
    return ast.BinOp(total, ast.Sub() if less else ast.Add(), added.value)


def _call(function: str, x: ast.expr, y: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(function, ast.Load()), [x, y], [])


class Shift(ast.NodeTransformer):
    """A loop's number moved on, and other names for what is computed."""

    def __init__(self, index: str, by: int, names: dict[str, str]):
        self.index, self.by, self.names = index, by, names

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        more = beside(node, self.index)
        if more is not None:
            return ast.copy_location(plus(ast.Name(self.index, ast.Load()), more + self.by), node)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == self.index:
            return ast.copy_location(plus(ast.Name(node.id, ast.Load()), self.by), node)
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)
