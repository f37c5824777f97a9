"""Arrays that a loop fills in turns, in place of one made in each trip.

    for t in range(steps):                    new = np.empty(n)
        new = np.empty(n)                     for t in range(steps):
        for i in range(n):                        for i in range(n):
            new[i] = f(old, i)      is                new[i] = f(old, i)
        old = new                                 old, new = new, old

What ``old`` was before a trip nobody needs after it, and the next one fills it anew: both are of one shape. Where it is
a caller's array at first, or may be known by another name, it stays what it was, and the loop has one more of its own:

        old = new
        new, new_2 = new_2, new

An array may be handed on several times, as ``oldest = old; old = new``: the last that it was is filled anew. One that
is a copy of the edges of another in each trip has these copied again.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from srcgraph.codegen.affine import axes_of
from srcgraph.codegen.buffers import as_empty, known_otherwise, lengths_in, made_again, made_before, makes_array
from srcgraph.codegen.delayed import fresh_names
from srcgraph.codegen.flow import assigned_names, leaves
from srcgraph.codegen.statements import names_in, nodes_in, statements_in, target_name, without
from srcgraph.codegen.trips import copied_array, stored_arrays

Statements = list[ast.stmt]
AGAIN = "copy_edges"
"""What copies the edges of an array into another one."""


def swapped(function: ast.FunctionDef, taken: set[str]) -> ast.FunctionDef:
    """The function with such arrays made before its loops; names ``taken`` are no variables' of it."""
    loops = [s for s in statements_in(function.body) if isinstance(s, ast.For | ast.While)]
    found = [chain for loop in loops for chain in _chains(loop)]
    if found:
        known = _Known(function, found)
        fresh = fresh_names({*known.names, *taken})
        first: dict[ast.stmt, Statements] = {}
        for chain in filter(known.may_take_turns, found):
            alike = chain.is_stored_alike()
            names = [chain.new] if known.may_swap(chain) and not alike else chain.ring(fresh)
            first.setdefault(chain.loop, []).extend(chain.made_before(known.counts, x, alike) for x in names)
            chain.take_turns(names, [] if alike else chain.made_again())
        function.body = _put_before(function.body, first)
    return function


@dataclass(frozen=True, slots=True)
class _Chain:
    """An array that a loop makes, and the names that it has from there on, the next one first."""

    loop: ast.For | ast.While
    made: ast.Assign
    handed: tuple[ast.Assign, ...]

    @property
    def new(self) -> str:
        return target_name(self.made)

    @property
    def olds(self) -> list[str]:
        return [target_name(s) for s in self.handed]

    @property
    def axes(self) -> int:
        """How many axes it has; 0 if that is not known."""
        return len(_sizes(self.made.value))

    def made_before(self, counts: set[str], name: str, full: bool) -> ast.Assign:
        """What makes such an array before the loop."""
        return made_before(self.made, counts, name, full)

    def made_again(self) -> Statements:
        """What is left to do in each trip."""
        return made_again(self.made)

    def is_steady(self, known: _Known) -> bool:
        """Whether it is made alike in each trip, and could be before the loop."""
        sizes = {n.id for n in names_in(*as_empty(self.made))} - {"np", "max", "min"}
        return all(known.stores[x] + (x in known.params) == 1 for x in sizes) and sizes <= known.first | known.params

    def ring(self, fresh: Callable[[str], str]) -> list[str]:
        """As many names as arrays are needed at once."""
        base = re.sub(r"_\d+$", "", self.new)
        return [self.new, *(fresh(base) for _ in self.handed)]

    def is_stored_alike(self) -> bool:
        """Whether an array that is full of a number has the same other elements in each trip."""
        body = self.loop.body
        changed = assigned_names([self.loop])
        if not made_again(self.made) or not all(_is_steady(e, changed) for e in self.made.value.args):  # type: ignore[attr-defined]
            return False
        between = body[body.index(self.made) + 1 : body.index(self.handed[-1])]
        filling = [s for s in between if any(n.id == self.new for n in names_in(s))]
        if not stored_arrays([s for s in body if s not in filling]).isdisjoint(self.olds):
            return False
        return all(_stores_alike(s, self.new, changed) for s in filling)

    def take_turns(self, names: Sequence[str], again: Statements) -> None:
        """Make none in the loop, but do this ``again``, and let the arrays of these names be the next one in turns."""
        body = self.loop.body
        body[body.index(self.made) : body.index(self.made) + 1] = again
        last = body.index(self.handed[0])
        if len(names) > 1:
            body.insert(last + 1, _exchange(names, [*names[1:], names[0]], self.handed[0]))
            return
        body[last] = _exchange([*self.olds, self.new], [self.new, *self.olds], self.handed[0])
        for s in self.handed[1:]:
            body.remove(s)


@dataclass(frozen=True, slots=True)
class _Edges(_Chain):
    """One that begins as a copy of the edges of another: ``new = edges(old, 1)``."""

    @property
    def axes(self) -> int:
        own = [n for n in nodes_in(*self.loop.body) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
        counts = {len(axes_of(n.slice)) for n in own if n.value.id == self.new}  # type: ignore[attr-defined]
        return counts.pop() if len(counts) == 1 else 0

    @property
    def given(self) -> list[ast.expr]:
        """The other array, and how wide the edges are."""
        assert isinstance(self.made.value, ast.Call)
        return self.made.value.args

    def made_before(self, counts: set[str], name: str, full: bool) -> ast.Assign:
        other = ast.unparse(self.given[0])
        made = ast.parse(f"{name} = np.empty({other}.shape, {other}.dtype)").body[0]
        return ast.copy_location(ast.fix_missing_locations(made), self.made)  # type: ignore[return-value]

    def made_again(self) -> Statements:
        copied = ast.Call(ast.Name(AGAIN, ast.Load()), [ast.Name(self.new, ast.Load()), *self.given], [])
        return [ast.copy_location(ast.Expr(copied), self.made)]

    def is_steady(self, known: _Known) -> bool:
        return ast.unparse(self.given[0]) in self.olds and AGAIN not in known.names

    def is_stored_alike(self) -> bool:
        return False


def _chains(loop: ast.For | ast.While) -> Iterator[_Chain]:
    made = {target_name(s): (kind, s) for s in loop.body if (kind := _kind(s)) is not None}
    handed = {
        s.value.id: s
        for s in loop.body
        if isinstance(s, ast.Assign) and target_name(s) and isinstance(s.value, ast.Name)
    }
    for new in filter(made.get, handed):
        links = [handed[new]]
        while (older := handed.get(target_name(links[-1]))) and older not in links:
            links.append(older)
        kind, begun = made[new]
        yield kind(loop, begun, tuple(links))  # type: ignore[arg-type]


def _kind(s: ast.stmt) -> type[_Chain] | None:
    """What kind of chain a statement may begin."""
    match s:
        case ast.Assign([ast.Name()], ast.Call(ast.Name(id="edges"), [ast.Name(), ast.Constant()])):
            return _Edges
        case ast.Assign(value=ast.Call(keywords=[])) if makes_array(s):
            return _Chain
    return None


def _exchange(names: Sequence[str], others: Sequence[str], at: ast.stmt) -> ast.Assign:
    targets: list[ast.expr] = [ast.Name(x, ast.Store()) for x in names]
    values: list[ast.expr] = [ast.Name(x, ast.Load()) for x in others]
    return ast.copy_location(ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(values, ast.Load())), at)


def _stores_alike(s: ast.stmt, array: str, changed: Set[str]) -> bool:
    """Whether a statement only stores into an array, at places that none of the names that are ``changed`` has a part
    in."""
    match s:
        case ast.For(target=ast.Name(id=index), iter=run, body=body, orelse=[]):
            inner = [inner for inner in body if any(n.id == array for n in names_in(inner))]
            changed_there = changed - ({index} - assigned_names(body))
            is_steady = _is_steady(run, changed) and not leaves(body)
            return is_steady and all(_stores_alike(each, array, changed_there) for each in inner)
        case ast.Assign(targets=[ast.Subscript(ast.Name(), index)], value=value):
            read = {n.id for n in names_in(index, value)}
            return array not in read and _is_steady(index, changed)
    return False


def _is_steady(node: ast.expr, changed: Set[str]) -> bool:
    """Whether an expression is of numbers that do not change: elements may."""
    plain = not any(isinstance(n, ast.Subscript | ast.Attribute) for n in nodes_in(node))
    return plain and changed.isdisjoint(n.id for n in names_in(node))


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

    def __init__(self, function: ast.FunctionDef, chains: Sequence[_Chain]):
        self.names = Counter(n.id for n in names_in(*function.body))
        self.stores = Counter(n.id for n in names_in(*function.body) if isinstance(n.ctx, ast.Store))
        self.params = {a.arg for a in function.args.args}
        self.first = {n.id for s in function.body if isinstance(s, ast.Assign) for t in s.targets for n in names_in(t)}
        handed = {s for chain in chains for s in chain.handed}
        self.made = [s for s in statements_in(function.body) if isinstance(s, ast.Assign) and s not in handed]
        self.lengths = dict(_lengths(s for s in function.body if self.stores[target_name(s)] == 1))
        self.counts = lengths_in(function.body, self.stores)
        self.body = without(function.body, handed)

    def may_take_turns(self, chain: _Chain) -> bool:
        """Whether what a trip makes is known by these names alone while the loop runs, and always of one shape."""
        body, new = chain.loop.body, chain.new
        steps = [body.index(s) for s in (chain.made, *chain.handed[::-1])]
        inside = Counter(n.id for n in names_in(*body))
        between = Counter(n.id for n in names_in(*body[steps[0] : steps[-1] + 1]))
        if (
            self.stores[new] != 1
            or not self.names[new] == inside[new] == between[new]
            or sorted(steps[1:]) != steps[1:]
        ):
            return False
        stored = Counter(n.id for n in names_in(*body) if isinstance(n.ctx, ast.Store))
        axes = dict.fromkeys((new, *chain.olds), chain.axes)
        if any(stored[x] != 1 for x in chain.olds) or len(axes) <= len(chain.olds) or not chain.axes:
            return False
        if known_otherwise(without(body, {*chain.handed}), axes) & {*axes}:
            return False
        return chain.is_steady(self)

    def may_swap(self, chain: _Chain) -> bool:
        """Whether all that any of these arrays ever is, is of one shape, and known by no other name."""
        body = chain.loop.body
        if (
            isinstance(chain, _Edges)
            or not self.params.isdisjoint(chain.olds)
            or body.index(chain.handed[0]) - body.index(chain.handed[-1]) >= len(chain.handed)
        ):
            return False
        axes = dict.fromkeys((chain.new, *chain.olds), len(_sizes(chain.made.value)))
        return not known_otherwise(self.body, axes) & {*axes} and all(
            self.is_one_shape(old, chain) for old in chain.olds
        )

    def is_one_shape(self, old: str, chain: _Chain) -> bool:
        others = [s.value for s in self.made if target_name(s) == old]
        return 0 < len(others) == self.stores[old] - 1 and all(self.is_alike(value, chain.made) for value in others)

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
