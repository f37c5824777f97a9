"""Arrays that each trip of a loop makes shorter, of what they were, stay where they are.

    for i in range(n - 1, -1, -1):                      for i in range(n - 1, -1, -1):
        new = np.empty(i + 1)                               for j in range(i + 1):
        for j in range(i + 1):                                  v[j] = p * v[j] + q * v[j + 1]
            new[j] = p * v[j] + q * v[j + 1]    is          v = v[:i + 1]
        v = new

as in the trees of finance, and in tables of differences. An element is stored where nothing reads the old one any more.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srcgraph.codegen.affine import beside
from srcgraph.codegen.flow import assigned_names, leaves
from srcgraph.codegen.statements import names_in, nodes_in, statements_in, without
from srcgraph.codegen.trips import Exchange, empty_array, own_arrays


def shorter(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with such arrays in one place."""
    loops = [s for s in statements_in(function.body) if isinstance(s, ast.For | ast.While)]
    found = [each for loop in loops for each in _found(loop)]
    if found:
        own = own_arrays(without(function.body, {each.handed for each in found}), {each.old: 1 for each in found})
        params = {a.arg for a in function.args.args}
        for each in found:
            if each.old not in params and {each.old, each.new} <= own and each.is_all_of(function.body):
                each.stay()
    return function


@dataclass(frozen=True, slots=True)
class _Shorter:
    """An array that a trip makes, the nest that fills it, and the name that it has from there on."""

    loop: ast.For | ast.While
    made: ast.Assign
    nest: ast.For
    handed: ast.Assign
    new: str
    old: str

    def is_all_of(self, body: Sequence[ast.stmt]) -> bool:
        """Whether the new name is used in the trip alone, and the old one, of an array that is made once before, no
        more in it once the nest has run."""
        trip = self.loop.body
        at, last = trip.index(self.nest), trip.index(self.handed)
        everywhere, here = (Counter(n.id for n in names_in(*part)) for part in (body, trip[trip.index(self.made) :]))
        if everywhere[self.new] != here[self.new] or leaves(trip[at : last + 1]):
            return False
        if any(n.id == self.old for n in names_in(*trip[at + 1 : last])) or not self.is_filled():
            return False
        sizes = {n.id for n in names_in(self.made.value)}
        if not sizes.isdisjoint(assigned_names(trip[trip.index(self.made) + 1 : at + 1])) or _is_returned(
            self.old, body
        ):
            return False
        return sum(isinstance(n.ctx, ast.Store) and n.id == self.old for n in names_in(*body)) == 2

    def is_filled(self) -> bool:
        """Whether the nest stores one element after the other, each where the old one is read for the last time."""
        index, body = ast.unparse(self.nest.target), self.nest.body
        places = [k for k, s in enumerate(body) if _stores(s, self.new, index)]
        if len(places) != 1 or self.nest.orelse or leaves(body):
            return False
        before, after = body[: places[0] + 1], body[places[0] + 1 :]
        reads = [n for n in nodes_in(*before) if isinstance(n, ast.Subscript) and ast.unparse(n.value) == self.old]
        names = [sum(n.id == self.old for n in names_in(*part)) for part in (before, after)]
        far = [beside(n.slice, index) for n in reads]
        if names != [len(reads), 0] or not reads or any(k is None or k < 0 for k in far):
            return False
        stored = sum(
            isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) for n in nodes_in(*_of(body, self.new))
        )
        return stored == 1 and not any(n.id == self.new for n in names_in(*body[: places[0]]))

    def stay(self) -> None:
        trip = self.loop.body
        length = self.made.value.args[0]  # type: ignore[attr-defined]
        part = ast.Subscript(ast.Name(self.old, ast.Load()), ast.Slice(None, length, None), ast.Load())
        cut = ast.copy_location(ast.Assign([ast.Name(self.old, ast.Store())], part), self.handed)
        at = trip.index(self.nest)
        trip[at + 1 : at + 1] = [cut]
        trip[:] = [Exchange(self.new, self.old).visit(s) for s in trip if s is not self.made and s is not self.handed]


def _is_returned(array: str, body: Sequence[ast.stmt]) -> bool:
    """Whether an array is returned, not only elements of it: it would hold more memory than it has elements."""
    returned = [s for s in statements_in(body) if isinstance(s, ast.Return)]
    return sum(n.id == array for n in names_in(*returned)) > len(_of(returned, array))


def _of(body: Sequence[ast.stmt], array: str) -> list[ast.AST]:
    return [n for n in nodes_in(*body) if isinstance(n, ast.Subscript) and ast.unparse(n.value) == array]


def _stores(s: ast.stmt, array: str, index: str) -> bool:
    match s:
        case ast.Assign(targets=[ast.Subscript(ast.Name(id=name), ast.Name(id=at))]):
            return name == array and at == index
    return False


def _made(s: ast.Assign) -> str:
    """The array of one axis that a statement makes without a content."""
    match s.value:
        case ast.Call(args=[length, *_]) if not isinstance(length, ast.Tuple):
            return empty_array(s)
    return ""


def _found(loop: ast.For | ast.While) -> Iterator[_Shorter]:
    made = {name: s for s in loop.body if isinstance(s, ast.Assign) and (name := _made(s))}
    for s in loop.body:
        match s:
            case ast.Assign(targets=[ast.Name(id=old)], value=ast.Name(id=new)) if new in made:
                nest = _nest(loop.body, made[new], s)
                if nest is not None:
                    yield _Shorter(loop, made[new], nest, s, new, old)


def _nest(body: Sequence[ast.stmt], made: ast.Assign, handed: ast.Assign) -> ast.For | None:
    """The loop that fills an array, the first one that has it."""
    between = body[body.index(made) + 1 : body.index(handed)] if body.index(made) < body.index(handed) else []
    users = [s for s in between if any(n.id == empty_array(made) for n in names_in(s))]
    assert isinstance(made.value, ast.Call)
    match users:
        case [ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), args=[end])) as nest, *_]:
            length = ast.unparse(made.value.args[0])
            return nest if length in (ast.unparse(end), f"max({ast.unparse(end)}, 0)") else None
    return None
