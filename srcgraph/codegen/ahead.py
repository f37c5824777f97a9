"""What the next step of a loop reads, too, is read before anything is stored or asked: LLVM takes several steps at a
time then.

Where a step reads ``x[i]``, stores, and then reads ``x[i + 1]``, LLVM hands on that element to the next step, which
reads it as ``x[i]``. It vectorises a loop that hands on an element (a first-order recurrence) if it can move what is
made of it after the read of the next one, and nothing moves over a store, or out of a branch.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from srcgraph.codegen.affine import Trips, axes_of, beside
from srcgraph.codegen.aliases import Aliases
from srcgraph.codegen.flow import assigned_names
from srcgraph.codegen.statements import names_in, statements_in

Row = tuple[str, ...]
"""An array, and where on all axes but the last, as text."""


def read_ahead(body: list[ast.stmt], taken: AbstractSet[str], aliases: Callable[[], Aliases]) -> list[ast.stmt]:
    """Change the loops of a function in place.

    Parameters
    ----------
    body : list of statement
    taken : set of str
        Names that have other meanings.
    aliases : callable
        Gives what may share memory, in the function.
    """
    loops = [(s, found) for s in statements_in(body) if isinstance(s, ast.For) and (found := list(_late(s)))]
    if loops:
        known, used = aliases(), {*taken, *(n.id for n in names_in(*body))}
        for loop, late in loops:
            shared = known.during(loop)
            for element in late:
                if not any(shared.same(element.array, stored) for stored in element.stored):
                    _put_first(loop, element, used)
    return body


@dataclass(slots=True)
class _Element:
    """An element that is read late.

    Attributes
    ----------
    text : str
        As it is written.
    stored : set of str
        The arrays that the loop stores into.
    """

    array: str
    text: str
    stored: AbstractSet[str]


@dataclass(slots=True)
class _Read:
    """An element of a row, where a loop reads it first.

    Attributes
    ----------
    at : int
        In which of the statements.
    asked : bool
        Whether it is read there in some steps only.
    always : bool
        Whether every step reads it somewhere.
    """

    text: str
    at: int
    asked: bool
    always: bool = False


def _late(loop: ast.For) -> Iterator[_Element]:
    """The elements that a loop reads after it has stored or asked something, where the next step reads them before."""
    trips = Trips.of(loop.iter)
    upward = isinstance(loop.iter, ast.Name) or (trips is not None and trips.step == 1)
    if not upward or not isinstance(loop.target, ast.Name):
        return
    inside = list(statements_in(loop.body))
    if not all(isinstance(s, ast.Assign | ast.AugAssign | ast.If) for s in inside):
        return
    stops = [k for k, s in enumerate(loop.body) if _stored(s) or _asks(s)]
    stored = frozenset(filter(None, map(_stored, inside)))
    if stored and len({*stops, len(loop.body) - 1}) > 1:
        for (array, *_), row in _rows(loop, loop.target.id).items():
            for by, read in row.items():
                if by - 1 not in row or not read.always or array in stored:
                    continue
                if read.asked or any(row[by - 1].at <= stop < read.at for stop in stops):
                    yield _Element(array, read.text, stored)


def _stored(s: ast.stmt) -> str:
    """The array that a statement stores into; "" if it is none."""
    match s:
        case ast.Assign(targets=[ast.Subscript(value=array), *_]) | ast.AugAssign(target=ast.Subscript(value=array)):
            return ast.unparse(array)
    return ""


def _asks(s: ast.stmt) -> bool:
    return any(isinstance(n, ast.If | ast.IfExp | ast.BoolOp) for n in ast.walk(s))


def _rows(loop: ast.For, index: str) -> dict[Row, dict[int, _Read]]:
    """What a loop reads of rows beside its number, at places that it does not compute."""
    changing, rows = assigned_names(loop.body), dict[Row, dict[int, _Read]]()
    for at, s in enumerate(loop.body):
        for node, asked in _elements(s, False):
            *others, last = axes_of(node.slice) or [node.slice]
            by = beside(last, index)
            plain = not any(isinstance(e, ast.Slice | ast.Starred) for e in others)
            if by is not None and plain and changing.isdisjoint(n.id for n in names_in(node)):
                row = rows.setdefault((ast.unparse(node.value), *map(ast.unparse, others)), {})
                read = row.setdefault(by, _Read(ast.unparse(node), at, asked))
                read.always |= not asked
    return rows


def _elements(node: ast.AST, asked: bool) -> Iterator[tuple[ast.Subscript, bool]]:
    """What is read of arrays that have names, in order, and whether in some steps only."""
    always: list[ast.AST] = []
    sometimes: list[ast.AST] = []
    match node:
        case ast.Subscript(value=ast.Name(), slice=index, ctx=ast.Load()):
            yield node, asked
            always = [index]
        case ast.If(test=test, body=body, orelse=orelse):
            always, sometimes = [test], [*body, *orelse]
        case ast.IfExp(test=test, body=then, orelse=other):
            always, sometimes = [test], [then, other]
        case ast.BoolOp(values=[first, *others]):
            always, sometimes = [first], [*others]
        case ast.Assign(value=value, targets=targets):
            always = [value, *targets]
        case _:
            always = list(ast.iter_child_nodes(node))
    for part in always:
        yield from _elements(part, asked)
    for part in sometimes:
        yield from _elements(part, True)


def _put_first(loop: ast.For, element: _Element, used: set[str]) -> None:
    name, k = f"{element.array}_next", 2
    while name in used:
        name, k = f"{element.array}_next_{k}", k + 1
    used.add(name)
    value = ast.parse(element.text, mode="eval").body
    read = ast.Assign([ast.Name(name, ast.Store())], value, lineno=0)
    named = _Named(element.text, name)
    loop.body = [_at(read, _first_with(loop.body, element.text)), *map(named.visit, loop.body)]


def _first_with(body: Sequence[ast.stmt], text: str) -> ast.stmt:
    return next(s for s in body if any(isinstance(n, ast.Subscript) and ast.unparse(n) == text for n in ast.walk(s)))


def _at(made: ast.stmt, like: ast.stmt) -> ast.stmt:
    """A statement, and what is in it, with another one's place in the source."""
    for node in ast.walk(made):
        ast.copy_location(node, like)
    return made


class _Named(ast.NodeTransformer):
    """A name in place of an element."""

    def __init__(self, text: str, name: str):
        self.text, self.name = text, name

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and ast.unparse(node) == self.text:
            return ast.copy_location(ast.Name(self.name, ast.Load()), node)
        self.generic_visit(node)
        return node
