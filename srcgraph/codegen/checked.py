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
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import count

from srcgraph.codegen.flow import assigned_names
from srcgraph.codegen.handed import (
    FEW,
    calls_functions,
    grows,
    is_vectorised,
    operations,
    own_arrays,
    stored_arrays,
)
from srcgraph.codegen.statements import is_pure, names_in, nodes_in, statements_in


def checked_first(body: list[ast.stmt], watched: Set[str], taken: Set[str], in_order: bool) -> list[ast.stmt]:
    """The statements of a function with such loops divided; names that are ``taken`` are not used.

    A sum of integers that are ``watched`` may raise. Sums are added up ``in_order``, or LLVM takes several terms at a
    time.
    """
    if not any(isinstance(s, ast.For) and any(map(_is_check, s.body)) for s in statements_in(body)):
        return body
    return _Division(own_arrays(body), watched, {*taken, *(n.id for n in names_in(*body))}, in_order).block(body)


def _is_check(s: ast.stmt) -> bool:
    match s:
        case ast.If(body=[ast.Raise()], orelse=[]):
            return True
    return False


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
            asked = _asked(node) if isinstance(node, ast.For) and self.fits(node) else None
            out += [node] if asked is None or not isinstance(node, ast.For) else self.divided(node, asked)
        return out

    def fits(self, loop: ast.For) -> bool:
        """Whether a loop does nothing but to compute and to check, and would be taken several steps at a time."""
        rest = [s for s in loop.body if not _is_check(s)]
        if len(rest) == len(loop.body) or loop.orelse or not isinstance(loop.target, ast.Name):
            return False
        if not all(isinstance(s, ast.Assign | ast.AugAssign) and is_pure(s.value) for s in rest):
            return False
        stored = stored_arrays(loop.body)
        if not stored or not stored <= self.own or any(grows(s, self.watched) for s in rest):
            return False
        return is_vectorised(rest, self.in_order) and not _only_fetches(rest)

    def divided(self, loop: ast.For, asked: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        name = next(n for k in count(1) if (n := f"fails_{k}" if k > 1 else "fails") not in self.taken)
        self.taken.add(name)
        test = [_noted(s, name) if isinstance(s, ast.If) else s for s in copy.deepcopy(asked)]
        yield ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(False)), loop)
        yield _over(loop, test)
        yield ast.copy_location(ast.If(ast.Name(name, ast.Load()), [_over(loop, list(asked))], []), loop)
        rest = [s for s in loop.body if not _is_check(s)]
        uses = Counter(n.id for n in names_in(*rest))
        unread = {n for s in asked for n in assigned_names([s]) if uses[n] == 1}
        loop.body = [s for s in rest if unread.isdisjoint(assigned_names([s]))]
        yield loop


def _only_fetches(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop takes most of its time to fetch what it looks up, which takes as long several steps at a time."""
    numbers = assigned_names(body)
    places = [n.slice for n in nodes_in(*body) if isinstance(n, ast.Subscript)]
    looked_up = sum(not numbers.isdisjoint(n.id for n in names_in(place)) for place in places)
    divides = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div | ast.Pow) for n in nodes_in(*body))
    return operations(body) <= looked_up * FEW and looked_up > 0 and not divides and not calls_functions(body)


def _asked(loop: ast.For) -> list[ast.stmt] | None:
    """The checks, and what computes what they ask, in order; None if that depends on other steps, or takes long."""
    assert isinstance(loop.target, ast.Name)
    own, stored = assigned_names(loop.body), stored_arrays(loop.body)
    found: list[ast.stmt] = []
    wanted: set[str] = set()
    for s in reversed(loop.body):
        if _is_check(s) or not wanted.isdisjoint(assigned_names([s])):
            if isinstance(s, ast.AugAssign) or calls_functions([s]) or not stored.isdisjoint(_read(s)):
                return None
            if not _is_safe(s, own):
                return None
            wanted |= {n.id for n in names_in(s)} & own
            found.append(s)
    if not any(isinstance(n, ast.Subscript) for s in found for n in nodes_in(s)):
        return None  # of numbers alone that go by ones it is known before the loop: see `inside`, and LLVM
    made = Counter(n for s in loop.body for n in assigned_names([s]))
    first: set[str] = set()
    for s in reversed(found):
        if not (_read(s) & wanted) <= first or any(made[n] > 1 for n in assigned_names([s])):
            return None
        first |= assigned_names([s])
    return found[::-1]


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


def _read(s: ast.stmt) -> set[str]:
    return {n.id for n in names_in(s) if isinstance(n.ctx, ast.Load)}


def _noted(check: ast.If, name: str) -> ast.stmt:
    return ast.copy_location(ast.AugAssign(ast.Name(name, ast.Store()), ast.BitOr(), check.test), check)


def _over(loop: ast.For, body: list[ast.stmt]) -> ast.For:
    """The loop with other statements in it."""
    return ast.copy_location(ast.For(copy.deepcopy(loop.target), copy.deepcopy(loop.iter), body, []), loop)
