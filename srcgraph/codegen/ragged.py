"""Rows of several lengths that go onto a list and are taken from it again, one after the other in one array.

A loop whose inner loop has more or fewer steps from trip to trip saves a row of its own in each trip. On a list each
row is memory asked for and given back, for a few numbers often. In one array, which gets longer where that does not do,
a row is where it begins; what is taken last is at the end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from srcgraph.codegen.flow import NOTHING, live_before
from srcgraph.codegen.statements import names_in, statements_in
from srcgraph.codegen.tapes import FIRST, HELPER, made, popped, pushed

Statements = list[ast.stmt]


def one_after_another(body: Statements, dtypes: Mapping[str, str], taken: AbstractSet[str]) -> Statements:
    """Change such lists; ``dtypes`` has NumPy's name for what is in the rows of each list of rows."""
    for name, dtype in dtypes.items():
        rows = _rows(body, name) if HELPER not in taken else frozenset()
        if rows:
            used = {n.id for n in names_in(*body)} | taken
            end, starts, held = (_free(f"{name}_{word}", used) for word in ("end", "starts", "held"))
            places = {row: _free(f"{row}_start", used) for row in sorted(rows)}
            body = _Laid(name, dtype, end, starts, held, places).block(body)
    return body


def _free(wanted: str, used: set[str]) -> str:
    found = next(n for n in (wanted, *(f"{wanted}_{k}" for k in range(2, 1000))) if n not in used)
    used.add(found)
    return found


def _rows(body: Statements, name: str) -> frozenset[str]:
    """The names of the rows on a list, if it is made once, and rows of different lengths are all that is on it."""
    moves = [s for s in statements_in(body) if made(s, name) or pushed(s, name) is not None or popped(s, name)]
    if len(moves) != sum(n.id == name for n in names_in(*body)) or sum(made(s, name) for s in moves) != 1:
        return frozenset()
    rows = {_name_of(s, name) for s in moves if not made(s, name)}
    begun = [found for block in _blocks(body) for found in _begun(block, name, rows)]
    lengths = {n.id for _, length in begun for n in names_in(length)}
    varied = {n.id for s in statements_in(body) if isinstance(s, ast.For | ast.While) for n in _assigned(s)}
    pushes = sum(pushed(s, name) is not None for s in moves)
    if "" in rows or len(begun) != pushes or lengths.isdisjoint(varied):
        return frozenset()
    if not rows.isdisjoint(live_before(body, NOTHING, NOTHING, NOTHING)):
        return frozenset()  # one is an argument's name, too
    uses = sum(n.id in rows for n in names_in(*body))
    elements = sum(_is_element(n, rows) for s in body for n in ast.walk(s))
    return frozenset(rows) if uses == elements + len(moves) - 1 + len(begun) else frozenset()


def _name_of(move: ast.stmt, name: str) -> str:
    """The row that is put onto a list, or taken from it."""
    item = pushed(move, name)
    target = move.targets[0] if isinstance(move, ast.Assign) else item
    return target.id if isinstance(target, ast.Name) else ""


def _assigned(loop: ast.For | ast.While) -> Iterator[ast.Name]:
    return (n for n in names_in(loop) if isinstance(n.ctx, ast.Store))


def _blocks(body: Statements) -> Iterator[Statements]:
    yield body
    for node in body:
        for part in ("body", "orelse"):
            if inner := getattr(node, part, None):
                yield from _blocks(inner)


def _begun(block: Statements, name: str, rows: AbstractSet[str]) -> Iterator[tuple[str, ast.expr]]:
    """The rows, and their lengths, that are made in a block and put onto the list there, and no other in between."""
    for k, node in enumerate(block):
        row, length = _made_row(node)
        if row not in rows or length is None:
            continue
        for after in block[k + 1 :]:
            item = pushed(after, name)
            if isinstance(item, ast.Name) and item.id == row:
                yield row, length
                break
            if any(n.id == name for n in names_in(after)):
                break


def _made_row(node: ast.stmt) -> tuple[str, ast.expr | None]:
    match node:
        case ast.Assign(
            targets=[ast.Name(id=row)],
            value=ast.Call(ast.Attribute(ast.Name("np"), "empty"), [length, *_]),
        ) if not isinstance(length, ast.Tuple):
            return row, length
    return "", None


def _is_element(node: ast.AST, rows: AbstractSet[str]) -> bool:
    """Whether a node is an element of a row, at a place counted from its start."""
    match node:
        case ast.Subscript(value=ast.Name(id=row), slice=index):
            return row in rows and not isinstance(index, ast.UnaryOp | ast.Slice | ast.Tuple)
    return False


@dataclass
class _Laid:
    """One list of rows as an array, and where each row starts."""

    name: str
    dtype: str
    end: str
    starts: str
    held: str
    places: Mapping[str, str]

    def block(self, body: Sequence[ast.stmt]) -> Statements:
        return [new for node in body for new in self.statement(node)]

    def statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        row, length = _made_row(node)
        if made(node, self.name):
            more = "" if self.dtype == "float64" else f", np.{self.dtype}"
            yield from _written(
                node,
                f"{self.name} = np.empty({FIRST}{more})\n{self.end} = 0\n"
                f"{self.starts} = np.empty({FIRST}, np.int64)\n{self.held} = 0",
            )
        elif pushed(node, self.name) is not None:
            yield from _written(
                node,
                f"if {self.held} == len({self.starts}):\n    {self.starts} = {HELPER}({self.starts})\n"
                f"{self.starts}[{self.held}] = {self.places[_name_of(node, self.name)]}\n{self.held} += 1",
            )
        elif popped(node, self.name):
            place = self.places[_name_of(node, self.name)]
            yield from _written(node, f"{self.held} -= 1\n{place} = {self.starts}[{self.held}]\n{self.end} = {place}")
        elif row in self.places and length is not None:
            yield from _written(
                node,
                f"{self.places[row]} = {self.end}\n{self.end} += {ast.unparse(length)}\n"
                f"while {self.end} > len({self.name}):\n    {self.name} = {HELPER}({self.name})",
            )
        else:
            yield self.inside(node)

    def inside(self, node: ast.stmt) -> ast.stmt:
        inner = {part: getattr(node, part) for part in ("body", "orelse") if getattr(node, part, None)}
        for part in inner:
            setattr(node, part, [])
        node = _Elements(self.name, self.places).visit(node)
        for part, statements in inner.items():
            setattr(node, part, self.block(statements))
        return node


class _Elements(ast.NodeTransformer):
    """Elements of rows as those of the array."""

    def __init__(self, name: str, places: Mapping[str, str]):
        self.name, self.places = name, places

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.value, ast.Name) or node.value.id not in self.places:
            return node
        place = ast.Name(self.places[node.value.id], ast.Load())
        index = ast.BinOp(place, ast.Add(), node.slice)
        return ast.copy_location(ast.Subscript(ast.Name(self.name, ast.Load()), index, node.ctx), node)


def _written(node: ast.stmt, text: str) -> Statements:
    found = ast.parse(text).body
    for inner in (n for s in found for n in ast.walk(s)):
        ast.copy_location(inner, node)
    return found
