"""Sums into places of an array that a loop does not leave are kept in numbers.

``out[i, 0] += x[j] * y`` in a loop over ``j`` becomes a sum of its own::

    out_0 = 0.0
    for j in range(n):
        out_0 += x[j] * y
    if out_0 != 0.0:
        out[i, 0] += out_0

which LLVM keeps in a register, and takes in blocks (`srcgraph.codegen.sums`). Only what operations on arrays and
derivatives add up is changed, whose order is nobody's. Loops of a few steps inside are written out.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from srcgraph.codegen.statements import names_in, statements_in
from srcgraph.codegen.sums import Start, Summed

FEW = 4
"""The longest loop that is written out."""
MOST = 8
"""So many numbers a loop keeps at most."""


class Added(ast.AugAssign):
    """An addition to an element that may be done in any order."""


def in_registers(body: list[ast.stmt], taken: set[str]) -> list[ast.stmt]:
    """The statements, with such sums kept in numbers; names that are ``taken`` have other meanings."""
    if any(isinstance(s, Added) for s in statements_in(body)):
        body = _Registers({*taken, *(n.id for n in names_in(*body))}).block(body)
    return body


@dataclass
class _Registers:
    taken: set[str]
    own: set[str] = field(default_factory=set)

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for node in body:
            for part in ("body", "orelse"):
                inner = getattr(node, part, None)
                if inner:
                    setattr(node, part, self.block(inner))
            out += self.loop(node) if isinstance(node, ast.For) and _is_innermost(node) else [node]
        return out

    def loop(self, loop: ast.For) -> list[ast.stmt]:
        """A loop without others but short ones, between the first values of its sums and what becomes of them."""
        arrays = _only_added_to(loop)
        if not arrays:
            return [loop]
        written = _written_out(loop.body, arrays)
        places: dict[str, tuple[str, Added]] = {}
        changing = _changing(loop)
        for s in _at_each_step(written):
            if isinstance(s, Added) and _array(s) in arrays and _is_steady(s, changing):
                key = ast.unparse(s.target)
                if key not in places:
                    places[key] = self.name(s), s
        if len(places) > MOST or not written:  # short loops of no steps leave nothing
            return [loop]
        loop.body = [_summed(s, places) for s in written]
        for name, _ in places.values():
            self.own.discard(name)
        before = [_at(Start([ast.Name(name, ast.Store())], ast.Constant(0.0)), loop) for name, _ in places.values()]
        return [*before, loop, *(_put_down(name, s) for name, s in places.values())]

    def name(self, added: Added) -> str:
        """``out_0`` for the sum into ``out[i, 0]``."""
        target = added.target
        assert isinstance(target, ast.Subscript)
        known = [str(i.value) for i in _axes(added) if isinstance(i, ast.Constant)]
        base = "_".join([_array(added), *(known or ["sum"])])
        name, k = base, 2
        while name in self.taken or name in self.own:
            name, k = f"{base}_{k}", k + 1
        self.own.add(name)
        return name


def _put_down(name: str, added: Added) -> ast.stmt:
    """What becomes of a sum: where there was no step, the place may not be there."""
    change = _at(Added(added.target, ast.Add(), ast.Name(name, ast.Load())), added)
    there = ast.Compare(ast.Name(name, ast.Load()), [ast.NotEq()], [ast.Constant(0.0)])
    return _at(ast.If(there, [change], []), added)


def _is_innermost(node: ast.For) -> bool:
    """Whether a loop runs to its end, with none inside but those that may be written out."""
    if _steps(node) is not None:
        return False
    inside = list(statements_in(node.body))
    loops = all(_steps(s) is not None for s in inside if isinstance(s, ast.For | ast.While))
    return loops and not any(isinstance(s, ast.Raise | ast.Return | ast.Break) for s in inside)


def _steps(node: ast.stmt) -> int | None:
    """How many steps a loop of a few has."""
    match node:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(steps))])):
            return steps if steps <= FEW else None
    return None


def _only_added_to(loop: ast.For) -> set[str]:
    """The arrays of which a loop does nothing but add to places that it does not leave."""
    changing = _changing(loop)
    steady: Counter[str] = Counter()
    for s in _at_each_step(loop.body):
        if isinstance(s, Added) and _is_steady(s, changing):
            steady[_array(s)] += 1
    used = Counter(n.id for s in loop.body for n in names_in(s))
    elsewhere: Counter[str] = Counter()
    for s in _at_each_step(loop.body):
        if isinstance(s, Added) and _array(s) in steady and not _is_steady(s, changing):
            elsewhere[_array(s)] += all(_never_meet(loop, s, t) for t in _steadily_added(loop, _array(s), changing))
    return {array for array, times in steady.items() if used[array] == times + elsewhere[array]}


def _changing(loop: ast.For) -> set[str]:
    """The names that a loop assigns, but for the numbers of short loops inside."""
    inside = list(statements_in(loop.body))
    changing = {n.id for s in (loop, *inside) for n in names_in(s) if isinstance(n.ctx, ast.Store)}
    return changing - {n.id for s in inside if _steps(s) is not None for n in names_in(s.target)}  # type: ignore[attr-defined]


def _is_steady(added: Added, changing: set[str]) -> bool:
    """Whether an addition is at the same place in each step."""
    assert isinstance(added.target, ast.Subscript)
    return changing.isdisjoint(n.id for n in names_in(added.target.slice))


def _steadily_added(loop: ast.For, array: str, changing: set[str]) -> Iterator[Added]:
    for s in _at_each_step(loop.body):
        if isinstance(s, Added) and _array(s) == array and _is_steady(s, changing):
            yield s


def _never_meet(loop: ast.For, moving: Added, steady: Added) -> bool:
    """Whether two places differ in an axis in which one is the loop's number, and the other just below its range."""
    match loop.iter:
        case ast.Call(args=[ast.BinOp(left=below, op=ast.Add(), right=ast.Constant(value=1)), _]):
            return any(
                isinstance(x, ast.Name) and x.id == ast.unparse(loop.target) and ast.dump(y) == ast.dump(below)
                for x, y in zip(_axes(moving), _axes(steady), strict=True)
            )
    return False


def _axes(added: Added) -> list[ast.expr]:
    assert isinstance(added.target, ast.Subscript)
    index = added.target.slice
    return index.elts if isinstance(index, ast.Tuple) else [index]


def _at_each_step(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a loop that run in each step, those of short loops included."""
    for s in body:
        yield s
        if isinstance(s, ast.For):
            yield from _at_each_step(s.body)


def _written_out(body: Sequence[ast.stmt], arrays: set[str]) -> list[ast.stmt]:
    """The statements, with short loops that add to ``arrays`` written out."""
    out: list[ast.stmt] = []
    for s in body:
        if isinstance(s, ast.For) and any(isinstance(t, Added) and _array(t) in arrays for t in _at_each_step(s.body)):
            for k in range(_steps(s) or 0):
                for t in _written_out(s.body, arrays):
                    out.append(_Put(s.target.id, k).visit(copy.deepcopy(t)))  # type: ignore[attr-defined]
        else:
            out.append(s)
    return out


class _Put(ast.NodeTransformer):
    """A number in place of a loop's index."""

    def __init__(self, name: str, number: int):
        self.name = name
        self.number = number

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(self.number), node) if node.id == self.name else node


def _summed(s: ast.stmt, places: dict[str, tuple[str, Added]]) -> ast.stmt:
    if not isinstance(s, Added) or ast.unparse(s.target) not in places:
        return s
    name, _ = places[ast.unparse(s.target)]
    value = s.value if isinstance(s.op, ast.Add) else ast.UnaryOp(ast.USub(), s.value)
    return _at(Summed(ast.Name(name, ast.Store()), ast.Add(), value), s)


def _array(added: Added) -> str:
    target = added.target
    assert isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
    return target.value.id


def _at(made: ast.stmt, place: ast.stmt) -> ast.stmt:
    return ast.copy_location(made, place)


def as_written(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, in which additions are plain ones."""
    for k, node in enumerate(body):
        for part in ("body", "orelse"):
            as_written(getattr(node, part, []))
        if isinstance(node, Added):
            body[k] = _at(ast.AugAssign(node.target, node.op, node.value), node)
    return body
