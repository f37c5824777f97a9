"""Stencils on grids that go round, or go on as they end, read where they are: no copy with more at the ends.

    p = wrapped(u, 1)                               for i in range(n):
    for i in range(n):                                  i_next = (i + 1) % n
        for j in range(m):               is             for j in range(min(1, m)):
            v[i, j] = p[i + 2, j]                           v[i, j] = u[i_next, (j - 1) % m]
                                                        for j in range(1, m - 1):
                                                            v[i, j] = u[i_next, j - 1]
                                                        for j in range(max(m - 1, 1), m):
                                                            v[i, j] = u[i_next, (j - 1) % m]

Rows go round by their numbers, and only at the ends of a row something comes round in it. Where the grid goes on as it
ends, as `numpy.pad` has it by ``mode="edge"``, it is ``min(i + 1, n - 1)``. The copy is needed where the nest stores
into the grid itself.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from srcgraph.codegen.affine import axes_of, beside, plus
from srcgraph.codegen.delayed import fresh_names
from srcgraph.codegen.flow import NOTHING, assigned_names, live_before
from srcgraph.codegen.statements import is_pure, names_in, nodes_in, statements_in, without
from srcgraph.codegen.trips import Exchange, copied_array, empty_array, own_arrays, read_in, stored_arrays

MOST = 12
"""So many statements are written three times at most."""


def read_round(
    body: list[ast.stmt], lengths: Mapping[str, tuple[str, ...]], params: Set[str], taken: Set[str]
) -> list[ast.stmt]:
    """The statements of a function without such copies; names that are ``taken`` have other meanings."""
    if any(_copied(s) for s in statements_in(body)):
        fresh = fresh_names({*taken, *(n.id for n in names_in(*body))})
        _block(body, _Grids(body, lengths, params), functools.cache(fresh))  # nests may have rows of one name
    return body


def _block(body: list[ast.stmt], grids: _Grids, fresh: Callable[[str], str]) -> None:
    for s in [s for s in body if _copied(s)]:
        _one_for_each(s, body, grids, fresh)
    for loop in [s for s in body if isinstance(s, ast.For)]:
        nest = _Round.of(body, loop, grids)
        if nest is not None:
            body[:] = [part for t in body if t not in nest.made for part in (nest.parts(fresh) if t is loop else [t])]
    for s in body:
        for part in ("body", "orelse"):
            if getattr(s, part, None):
                _block(getattr(s, part), grids, fresh)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy ``made`` of a grid, how much wider it is at each end, and whether that is what comes round there."""

    made: str
    grid: str
    width: int
    round: bool

    def place(self, index: str, by: int, length: str) -> ast.expr:
        """Where the grid has what the copy has so far from a place."""
        at = plus(ast.Name(index, ast.Load()), by)
        if self.round:
            return ast.BinOp(at, ast.Mod(), ast.Name(length, ast.Load()))
        name, limit = ("max", ast.Constant(0)) if by < 0 else ("min", plus(ast.Name(length, ast.Load()), -1))
        return ast.Call(ast.Name(name, ast.Load()), [at, limit], [])


def _one_for_each(made: ast.stmt, body: list[ast.stmt], grids: _Grids, fresh: Callable[[str], str]) -> None:
    """Give each nest that reads a copy one of its own, if none of them is needed then."""
    copied = _copied(made)
    assert copied is not None
    nests = [s for s in body if isinstance(s, ast.For) and copied.made in read_in(s)]
    uses = [sum(n.id == copied.made for n in names_in(nest)) for nest in nests]
    if len(nests) < 2 or sum(uses) + 1 != grids.names[copied.made]:
        return
    before = list(body)
    names = [copied.made, *(fresh(f"{copied.made}_{k}") for k in range(2, len(nests) + 1))]
    for nest, name, count in zip(nests, names, uses, strict=True):
        Exchange(copied.made, name).visit(nest)
        grids.names[name], grids.stores[name] = count + 1, 1
        if name != copied.made:
            body.insert(body.index(made) + 1, Exchange(copied.made, name).visit(copy.deepcopy(made)))
    if any(
        (found := _Round.of(body, nest, grids)) is None or name not in found.grids
        for nest, name in zip(nests, names, strict=True)
    ):
        body[:] = before
        for nest, name in zip(nests, names, strict=True):
            Exchange(name, copied.made).visit(nest)
        grids.names[copied.made] = sum(uses) + 1


def _copied(s: ast.stmt) -> _Copy | None:
    """The copy that a statement makes."""
    match s:
        case ast.Assign(
            targets=[ast.Name(id=made)],
            value=ast.Call(
                func=ast.Name(id="wrapped" | "extended" as how),
                args=[ast.Name(id=grid), ast.Constant(value=int(width))],
            ),
        ):
            return _Copy(made, grid, width, how == "wrapped")
    return None


class _Grids:
    """How large arrays are, as far as that is known by names of lengths, each bound once."""

    def __init__(self, body: Sequence[ast.stmt], lengths: Mapping[str, tuple[str, ...]], params: Set[str]):
        self.lengths, self.params = lengths, params
        self.own = own_arrays(without(body, {s for s in statements_in(body) if _copied(s)}))
        self.stores = Counter(n.id for n in names_in(*body) if isinstance(n.ctx, ast.Store))
        self.names = Counter(n.id for n in names_in(*body))
        self.values: dict[str, list[ast.expr]] = {}
        for s in statements_in(body):
            match s:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.values.setdefault(name, []).append(value)

    def shape(self, array: str, seen: Set[str] = frozenset()) -> tuple[str, ...]:
        """The names of an array's lengths, whatever it is bound to; () if they are not known."""
        values = self.values.get(array, [])
        around = {*seen, array}
        found = {self.made(value, around) for value in values if not self.is_one_of(value, around)}
        if array in self.params:
            found.add(self.lengths.get(array, ()))
        (only,) = found if len(found) == 1 else ((),)
        complete = len(values) == self.stores[array] and all(self.stores[n] + (n in self.params) == 1 for n in only)
        return only if complete else ()

    def only_in(self, loop: ast.For, made: ast.stmt, between: Sequence[ast.stmt]) -> bool:
        """Whether a loop alone reads a copy, whose grid is what it was before."""
        copied = _copied(made)
        assert copied is not None
        name = copied.made
        reads = sum(n.id == name for n in names_in(loop))
        if not reads or self.names[name] != reads + 1 or self.stores[name] != 1:
            return False
        return not any(copied.grid in assigned_names([s]) | stored_arrays([s]) for s in between)

    def is_one_of(self, value: ast.expr, arrays: Set[str]) -> bool:
        """Whether a value is one of some arrays, or a copy, and so of their size."""
        return (value.id if isinstance(value, ast.Name) else copied_array(value)) in arrays

    def made(self, value: ast.expr, seen: Set[str]) -> tuple[str, ...]:
        """The same of an array that an expression makes."""
        match value:
            case ast.Call(func=ast.Attribute(ast.Name("np"), "empty" | "zeros" | "ones" | "full"), args=[shape, *_]):
                sizes = axes_of(shape)
                return tuple(e.id for e in sizes if isinstance(e, ast.Name)) if _are_names(sizes) else ()
            case ast.Name(id=name):
                return self.shape(name, seen)
        array = copied_array(value)
        return self.shape(array, seen) if array else ()


def _is_fresh(array: str, before: Sequence[ast.stmt]) -> bool:
    """Whether nothing has been done with an array, but to make it."""
    makes = [k for k, s in enumerate(before) if empty_array(s) == array]
    return bool(makes) and not any(n.id == array for n in names_in(*before[makes[-1] + 1 :]))


def _are_names(nodes: Sequence[ast.expr]) -> bool:
    return all(isinstance(e, ast.Name) for e in nodes)


@dataclass(slots=True)
class _Round:
    """A nest that alone reads such copies, of grids of one size.

    Attributes
    ----------
    loop : ast.For
    made : list of ast.stmt
        What makes the copies.
    grids : dict
        The copies, by name.
    shape : tuple of str
        The grids' lengths.
    rows : dict
        The names of the numbers of rows, by how far they are from the one the loop is at, and a copy that has more.
    """

    loop: ast.For
    made: list[ast.stmt]
    grids: dict[str, _Copy]
    shape: tuple[str, ...]
    rows: dict[tuple[int, bool], tuple[str, _Copy]] = field(default_factory=dict)

    @staticmethod
    def of(body: Sequence[ast.stmt], loop: ast.For, grids: _Grids) -> _Round | None:
        before = body[: body.index(loop)]
        found = {
            s: copied for k, s in enumerate(before) if (copied := _copied(s)) and grids.only_in(loop, s, before[k:])
        }
        shapes = {grids.shape(c.grid) for c in found.values()}
        shape = shapes.pop() if len(shapes) == 1 else ()
        if len(shape) not in (1, 2):
            return None
        nest = _Round(loop, [*found], {c.made: c for c in found.values()}, shape)
        return nest if nest.is_plain() and nest.keeps_grids(before, grids.own) else None

    def keeps_grids(self, before: Sequence[ast.stmt], own: Set[str]) -> bool:
        """Whether nothing that the nest stores into can be a grid's memory."""
        stored, read = stored_arrays([self.loop]), {c.grid for c in self.grids.values()}
        if not read.isdisjoint(stored | assigned_names([self.loop])):
            return False
        return read <= own or all(array in own or _is_fresh(array, before) for array in stored)

    def is_plain(self) -> bool:
        """Whether all loops go along the grid, and all that is read of the copy is beside the place they are at."""
        if not self.goes_along(self.loop, 0):
            return False
        if len(self.shape) == 1:
            return self.is_row(self.loop)
        loops = [s for s in self.loop.body if any(n.id in self.grids for n in names_in(s))]
        return all(isinstance(s, ast.For) and self.goes_along(s, 1) and self.is_row(s) for s in loops)

    def goes_along(self, loop: ast.For, axis: int) -> bool:
        run = ast.unparse(loop.iter)
        return isinstance(loop.target, ast.Name) and not loop.orelse and run == f"range({self.shape[axis]})"

    def is_row(self, loop: ast.For) -> bool:
        body = loop.body
        if len(body) > MOST or not all(isinstance(s, ast.Assign | ast.AugAssign) for s in body):
            return False
        targets = [t for s in body for t in (s.targets if isinstance(s, ast.Assign) else [s.target])]  # type: ignore[attr-defined]
        if not all(isinstance(t, ast.Name | ast.Subscript) for t in targets) or not all(map(is_pure, body)):
            return False
        if any(isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) for s in body):
            return False
        if live_before(body, NOTHING, NOTHING, NOTHING) & assigned_names(body):
            return False
        reads = [n for n in nodes_in(*body) if isinstance(n, ast.Subscript) and ast.unparse(n.value) in self.grids]
        only_elements = len(reads) == sum(n.id in self.grids for n in names_in(*body))
        return only_elements and all(self.places(n, loop) is not None for n in reads)

    def places(self, read: ast.Subscript, row: ast.For) -> list[int] | None:
        """How far from where the loops are an element of the grid is, along each axis."""
        loops = [self.loop, row][: len(self.shape)] if len(self.shape) == 2 else [row]
        axes = axes_of(read.slice)
        found = [beside(a, ast.unparse(loop.target)) for a, loop in zip(axes, loops, strict=False)]
        width = self.grids[ast.unparse(read.value)].width
        if len(axes) != len(loops) or any(k is None or not 0 <= k <= 2 * width for k in found):
            return None
        return [k - width for k in found if k is not None]

    # -- without the copy ---------------------------------------------------------------------------

    def parts(self, fresh: Callable[[str], str]) -> list[ast.stmt]:
        if len(self.shape) == 1:
            return list(self.in_three(self.loop, fresh))
        rows: list[ast.stmt] = []
        for s in self.loop.body:
            reads_it = isinstance(s, ast.For) and not read_in(s).isdisjoint(self.grids)
            rows += self.in_three(s, fresh) if reads_it and isinstance(s, ast.For) else [s]
        index = ast.unparse(self.loop.target)
        named = [(name, c.place(index, by, self.shape[0])) for (by, _), (name, c) in self.rows.items()]
        first = [ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], at), self.loop) for name, at in named]
        self.loop.body = [*first, *rows]
        return [self.loop]

    def in_three(self, row: ast.For, fresh: Callable[[str], str]) -> Iterator[ast.stmt]:
        """A row from end to end: what comes round is asked for at the ends alone."""
        reads = [n for n in nodes_in(*row.body) if isinstance(n, ast.Subscript) and ast.unparse(n.value) in self.grids]
        columns = [(self.places(n, row) or [0])[-1] for n in reads]
        length, low, high = self.shape[-1], max(0, -min(columns)), max(0, *columns)
        stop = ast.unparse(plus(ast.Name(length, ast.Load()), -high))
        runs = [f"range(min({low}, {length}))"] if low else []
        runs += [f"range({low}, {stop})" if low else f"range({stop})"]
        runs += [f"range(max({stop}, {low}), {length})"] if high else []
        for run in runs:
            made = copy.deepcopy(row)
            made.iter = ast.parse(run, mode="eval").body
            at_end = run.startswith(("range(min", "range(max"))
            made.body = [_Reads(self, row, at_end, fresh).visit(s) for s in made.body]
            yield made

    def row_name(self, by: int, copied: _Copy, fresh: Callable[[str], str]) -> str:
        """The number of a row so far from the one the loop is at."""
        index = ast.unparse(self.loop.target)
        key = by, copied.round
        if by and key not in self.rows:
            beside_it = {-1: "before", 1: "next"}.get(by, f"{'plus' if by > 0 else 'minus'}_{abs(by)}")
            self.rows[key] = fresh(f"{index}_{beside_it}"), copied
        return self.rows[key][0] if by else index


class _Reads(ast.NodeTransformer):
    """The grid's elements in place of the copy's, which come round at the ends of a row."""

    def __init__(self, nest: _Round, row: ast.For, at_end: bool, fresh: Callable[[str], str]):
        self.nest, self.row, self.at_end, self.fresh = nest, row, at_end, fresh

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if ast.unparse(node.value) not in self.nest.grids:
            return node
        *rows, by = self.nest.places(node, self.row) or [0]
        index, copied = ast.unparse(self.row.target), self.nest.grids[ast.unparse(node.value)]
        at_end = self.at_end and by
        column = copied.place(index, by, self.nest.shape[-1]) if at_end else plus(ast.Name(index, ast.Load()), by)
        places: list[ast.expr] = [ast.Name(self.nest.row_name(k, copied, self.fresh), ast.Load()) for k in rows]
        at = ast.Tuple([*places, column], ast.Load()) if places else column
        return ast.copy_location(ast.Subscript(ast.Name(copied.grid, ast.Load()), at, node.ctx), node)
