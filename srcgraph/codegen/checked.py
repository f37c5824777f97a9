"""Loops that only ask whether a number is as it should be ask for all of their steps first.

LLVM takes no loop several steps at a time that something may leave::

    for i in range(n):                         fails = False
        if x[i] < 0.0:                         for i in range(n):
            raise ValueError                       fails |= x[i] < 0.0
        y[i] = np.sqrt(x[i])        is         if fails:
                                                   for i in range(n):
                                                       if x[i] < 0.0:
                                                           raise ValueError
                                               for i in range(n):
                                                   y[i] = np.sqrt(x[i])

where what is asked depends on nothing that the loop stores, and all that it stores into is the function's own: nobody
sees it if something raises.

Two loops that were joined make all checks of the first before all of the second. Where LLVM takes them step by step
anyway, they make both on the way, and those of the first again before an error of the second is raised::

    for i in range(n):
        if not 0 <= a[i] < m:
            raise IndexError
        if not 0 <= b[i] < m:
            for i in range(n):
                if not 0 <= a[i] < m:
                    raise IndexError
            raise IndexError
        y[i] = x[a[i]] - x[b[i]]
"""

from __future__ import annotations

import ast
import copy
import math
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import count

from srcgraph.codegen.flow import assigned_names
from srcgraph.codegen.handed import FEW
from srcgraph.codegen.statements import is_pure, names_in, nodes_in, statements_in
from srcgraph.codegen.trips import (
    Exchange,
    asked,
    calls_functions,
    grows,
    is_check,
    is_vectorised,
    operations,
    own_arrays,
    read_in,
    stored_arrays,
    turn_of,
)


def checked_first(body: list[ast.stmt], watched: Set[str], taken: Set[str], in_order: bool) -> list[ast.stmt]:
    """The statements of a function with such loops divided; names that are ``taken`` are not used.

    A sum of integers that are ``watched`` may raise. Sums are added up ``in_order``, or LLVM takes several terms at a
    time.
    """
    if not any(isinstance(s, ast.For) and any(map(is_check, s.body)) for s in statements_in(body)):
        return body
    return _Division(own_arrays(body), watched, {*taken, *(n.id for n in names_in(*body))}, in_order).block(body)


@dataclass
class _Division:
    own: Set[str]
    """The arrays that the function makes, and knows by one name."""
    watched: Set[str]
    taken: set[str]
    in_order: bool

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.For | ast.While | ast.If):
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
            first = _asked(node) if isinstance(node, ast.For) and self.fits(node) else None
            if isinstance(node, ast.For) and first is not None:
                out += self.divided(node, first)
            elif isinstance(node, ast.For) and any(map(turn_of, node.body)):
                out.append(self.in_turn(node))
            else:
                out.append(node)
        return out

    def fits(self, loop: ast.For) -> bool:
        """Whether a loop does nothing but to compute and to check, and would be taken several steps at a time."""
        rest = [s for s in loop.body if not is_check(s)]
        if len(rest) == len(loop.body) or loop.orelse or not isinstance(loop.target, ast.Name):
            return False
        if not all(isinstance(s, ast.Assign | ast.AugAssign) and is_pure(s.value) for s in rest):
            return False
        stored = stored_arrays(loop.body)
        if not stored or not stored <= self.own or any(grows(s, self.watched) for s in rest):
            return False
        return is_vectorised(rest, self.in_order) and not _only_fetches(rest)

    def divided(self, loop: ast.For, first: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        """All checks before all else."""
        name = self.fresh("fails")
        test = [_noted(s, name) if isinstance(s, ast.If) else s for s in copy.deepcopy(first)]
        yield ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(False)), loop)
        yield _over(loop, test)
        yield ast.copy_location(ast.If(ast.Name(name, ast.Load()), _in_turn(loop, first), []), loop)
        rest = [s for s in loop.body if not is_check(s)]
        uses = Counter(n.id for n in names_in(*rest))
        unread = {n for s in first for n in assigned_names([s]) if uses[n] == 1}
        loop.body = [s for s in rest if unread.isdisjoint(assigned_names([s]))]
        yield loop

    def in_turn(self, loop: ast.For) -> ast.For:
        """The loop, those checks that come first made again where one fails."""
        checks = asked(loop, stored_arrays(loop.body))
        assert checks is not None
        late = [s for s in loop.body if isinstance(s, ast.If) and turn_of(s)]
        first = [_in_turn(loop, checks, before=turn_of(s)) for s in late]
        for check, again in zip(late, first, strict=True):
            said = {n.id for n in names_in(*check.body, loop.target)}
            for name in sorted(assigned_names(again) & said):
                again = [Exchange(name, self.fresh(name)).visit(s) for s in again]
            check.body = [*again, *check.body]
        return loop

    def fresh(self, wanted: str) -> str:
        name = next(n for k in count(1) if (n := f"{wanted}_{k}" if k > 1 else wanted) not in self.taken)
        self.taken.add(name)
        return name


def _only_fetches(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop takes most of its time to fetch what it looks up, which takes as long several steps at a time."""
    numbers = assigned_names(body)
    places = [n.slice for n in nodes_in(*body) if isinstance(n, ast.Subscript)]
    looked_up = sum(not numbers.isdisjoint(n.id for n in names_in(place)) for place in places)
    divides = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div | ast.Pow) for n in nodes_in(*body))
    return operations(body) <= looked_up * FEW and looked_up > 0 and not divides and not calls_functions(body)


def _asked(loop: ast.For) -> list[ast.stmt] | None:
    """The checks, and what computes what they ask, in order, if all trips may make them first."""
    found = asked(loop, stored_arrays(loop.body)) or []
    own = assigned_names(loop.body)
    if not any(isinstance(n, ast.Subscript) for s in found for n in nodes_in(s)):
        return None  # of numbers alone that go by ones it is known before the loop: see `inside`, and LLVM
    return found if all(_is_safe(s, own) for s in found) else None


def _in_turn(loop: ast.For, found: Sequence[ast.stmt], before: float = math.inf) -> list[ast.stmt]:
    """The checks of a loop by their turns, up to one of them, each in a loop of its own."""
    loops: list[ast.stmt] = []
    for turn in sorted({turn for s in found if is_check(s) and (turn := turn_of(s)) < before}):
        wanted, part = set[str](), list[ast.stmt]()
        for s in reversed(found):
            if (is_check(s) and turn_of(s) == turn) or not wanted.isdisjoint(assigned_names([s])):
                wanted |= read_in(s)
                part.append(copy.deepcopy(s))
        loops.append(_over(loop, part[::-1]))
    return loops


def _is_safe(s: ast.stmt, own: Set[str]) -> bool:
    """Whether a statement may run though an earlier check fails: nothing is looked up, and no integer divided, or made
    of a float."""
    tested = [s.test] if isinstance(s, ast.If) else [s]
    for node in (n for part in tested for n in ast.walk(part)):
        match node:
            case ast.Subscript(slice=place) if not own.isdisjoint(n.id for n in names_in(place)):
                return False
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
                return False
            case ast.Call(func=function) if ast.unparse(function) not in ("float", "np.float64", "np.float32", "bool"):
                return False
    return True


def _noted(check: ast.If, name: str) -> ast.stmt:
    return ast.copy_location(ast.AugAssign(ast.Name(name, ast.Store()), ast.BitOr(), check.test), check)


def _over(loop: ast.For, body: list[ast.stmt]) -> ast.For:
    """The loop with other statements in it."""
    return ast.copy_location(ast.For(copy.deepcopy(loop.target), copy.deepcopy(loop.iter), body, []), loop)
