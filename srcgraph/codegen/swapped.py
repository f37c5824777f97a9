"""Two arrays that a loop fills in turns, in place of one made in each trip.

    for t in range(steps):                    new = np.empty(n)
        new = np.empty(n)                     for t in range(steps):
        for i in range(n):                        for i in range(n):
            new[i] = f(old, i)      is                new[i] = f(old, i)
        old = new                                 old, new = new, old

What ``old`` was before a trip nobody needs after it, and the next one fills it anew: both are of one shape.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from srcgraph.codegen.affine import axes_of
from srcgraph.codegen.buffers import as_empty, made_again, makes_array
from srcgraph.codegen.statements import names_in, statements_in, without
from srcgraph.codegen.trips import copied_array, own_arrays

Statements = list[ast.stmt]


def swapped(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with such arrays made before its loops."""
    loops = [s for s in statements_in(function.body) if isinstance(s, ast.For | ast.While)]
    found = [pair for loop in loops for pair in _pairs(loop)]
    if found:
        known = _Known(function, found)
        first: dict[ast.stmt, Statements] = {}
        for pair in filter(known.may_swap, found):
            at, last = pair.loop.body.index(pair.made), pair.loop.body.index(pair.handed)
            pair.loop.body[last] = _exchange(pair)
            pair.loop.body[at : at + 1] = made_again(pair.made)
            first.setdefault(pair.loop, []).append(_empty(pair.made))
        function.body = _put_before(function.body, first)
    return function


@dataclass(frozen=True, slots=True)
class _Pair:
    """An array that a loop makes, and the name that it has from there on."""

    loop: ast.For | ast.While
    made: ast.Assign
    handed: ast.Assign
    new: str
    old: str


def _pairs(loop: ast.For | ast.While) -> Iterator[_Pair]:
    made = {_target(s): s for s in loop.body if makes_array(s) and not s.value.keywords}  # type: ignore[attr-defined]
    for s in loop.body:
        match s:
            case ast.Assign(targets=[ast.Name(id=old)], value=ast.Name(id=new)) if new in made:
                yield _Pair(loop, made[new], s, new, old)  # type: ignore[arg-type]


def _exchange(pair: _Pair) -> ast.Assign:
    targets: list[ast.expr] = [ast.Name(pair.old, ast.Store()), ast.Name(pair.new, ast.Store())]
    values: list[ast.expr] = [ast.Name(pair.new, ast.Load()), ast.Name(pair.old, ast.Load())]
    made = ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(values, ast.Load()))
    return ast.copy_location(made, pair.handed)


def _empty(made: ast.Assign) -> ast.Assign:
    assert isinstance(made.value, ast.Call)
    new = ast.Attribute(ast.Name("np", ast.Load()), "empty", ast.Load())
    return ast.copy_location(ast.Assign(made.targets, ast.Call(new, as_empty(made), [])), made)


def _put_before(body: Statements, first: dict[ast.stmt, Statements]) -> Statements:
    out: Statements = []
    for s in body:
        for part in ("body", "orelse"):
            if getattr(s, part, None):
                setattr(s, part, _put_before(getattr(s, part), first))
        out += [*first.get(s, []), s]
    return out


class _Known:
    """What is known of the names in a function, but for what loops hand on."""

    def __init__(self, function: ast.FunctionDef, pairs: Sequence[_Pair]):
        self.names = Counter(n.id for n in names_in(*function.body))
        self.stores = Counter(n.id for n in names_in(*function.body) if isinstance(n.ctx, ast.Store))
        self.params = {a.arg for a in function.args.args}
        self.first = {n.id for s in function.body if isinstance(s, ast.Assign) for t in s.targets for n in names_in(t)}
        handed = {pair.handed for pair in pairs}
        self.made = [s for s in statements_in(function.body) if isinstance(s, ast.Assign) and s not in handed]
        self.lengths = dict(_lengths(s for s in function.body if self.stores[_target(s)] == 1))
        axes = {pair.old: len(_sizes(pair.made.value)) for pair in pairs}
        self.own = own_arrays(without(function.body, handed), axes)

    def may_swap(self, pair: _Pair) -> bool:
        """Whether all that either array ever is, is of one shape, and known by no other name."""
        body = pair.loop.body
        inside = Counter(n.id for n in names_in(*body))
        between = Counter(n.id for n in names_in(*body[body.index(pair.made) : body.index(pair.handed) + 1]))
        if self.stores[pair.new] != 1 or not self.names[pair.new] == inside[pair.new] == between[pair.new]:
            return False
        if pair.old in self.params or not {pair.old, pair.new} <= self.own:
            return False
        others = [s.value for s in self.made if isinstance(s.targets[0], ast.Name) and s.targets[0].id == pair.old]
        stored = sum(n.id == pair.old and isinstance(n.ctx, ast.Store) for n in names_in(*body))
        if stored != 1 or not 0 < len(others) == self.stores[pair.old] - 1:
            return False
        if not all(self.is_alike(value, pair.made) for value in others):
            return False
        sizes = {n.id for n in names_in(*as_empty(pair.made))} - {"np"}
        steady = all(self.stores[x] + (x in self.params) == 1 for x in sizes - {"max", "min"})
        return steady and sizes <= self.first | self.params | {"max", "min"}

    def is_alike(self, value: ast.expr, made: ast.Assign) -> bool:
        """Whether an array is made as long as another, and of the same numbers."""
        array = copied_array(value)
        if array:  # of the same numbers, as one name is of both
            return [self.lengths.get((array, k)) for k in range(len(_sizes(made.value)))] == [
                *map(ast.unparse, _sizes(made.value))
            ]
        match value:
            case ast.Call(func=ast.Attribute(ast.Name("np"), "empty" | "zeros" | "ones"), args=args, keywords=[]):
                return [*map(ast.unparse, args)] == [*map(ast.unparse, as_empty(made))]
        return False


def _target(s: ast.stmt) -> str:
    match s:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _lengths(body: Iterable[ast.stmt]) -> Iterator[tuple[tuple[str, int], str]]:
    """The names of lengths: of which array, along which axis."""
    for s in body:
        match s:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Subscript(ast.Attribute(ast.Name(id=array), "shape"), ast.Constant(value=int(axis))),
            ):
                yield (array, axis), name


def _sizes(made: ast.expr) -> list[ast.expr]:
    assert isinstance(made, ast.Call)
    return axes_of(made.args[0])
