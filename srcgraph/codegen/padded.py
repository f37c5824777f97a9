"""Rings of rows with zeros at both ends, for adjoints of stencils that add nothing but these rows.

Where a row of ``t`` is added to columns 0, 1 and 2 further on, the first and last columns are due less than the others.
With as many zeros at both ends of a row, and rows of zeros after the last one, all columns of all rows take the same
sum, in one loop, as wide as the array itself.
"""

from __future__ import annotations

import ast
import copy
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from srcgraph.codegen.affine import plus
from srcgraph.codegen.registers import Added
from srcgraph.codegen.shifted import Moving, added_up, moving
from srcgraph.codegen.statements import names_in, statements_in


@dataclass(frozen=True, slots=True)
class Padding:
    """What is added to an array of two axes, all of which it is added to.

    Attributes
    ----------
    width : int
        How many columns further than another one a row is added.
    columns : ast.expr
        How many columns the array has.
    moves : dict
        The loops that add.
    """

    width: int
    columns: ast.expr
    moves: Mapping[ast.For, Moving]

    @property
    def with_ends(self) -> ast.expr:
        """How many columns a row of the ring has."""
        return plus(copy.deepcopy(self.columns), self.width)

    def stored(self, nest: Sequence[ast.stmt], rows: Mapping[str, str]) -> list[ast.stmt]:
        """Statements that use rows of the ring, of which all elements are some columns further on."""
        return [_Columns({*rows.values()}, self.width).visit(s) for s in nest]

    def cleared(self, row: str) -> ast.stmt:
        index = next(iter(self.moves.values())).index
        (loop,) = ast.parse(f"for {index} in range({ast.unparse(self.with_ends)}):\n    {row}[{index}] = 0.0\n").body
        return loop

    def summed(self, loops: Sequence[tuple[ast.For, str]], row: str) -> ast.stmt:
        """The loop in which all columns of ``row`` take what they are due: of which rows, by loop."""
        first = self.moves[loops[0][0]]
        target = ast.parse(f"{first.array}[{row}, {first.index}] = 0").body[0].targets[0]  # type: ignore[attr-defined]
        total: ast.expr | None = None
        for loop, name in loops:
            at = plus(ast.Name(first.index, ast.Load()), self.width - self.moves[loop].by)
            value = copy.deepcopy(self.moves[loop].added.value)
            element = _element(value)
            assert isinstance(element, ast.Subscript)
            element.value, element.slice = ast.Name(name, ast.Load()), at
            total = added_up(total, Added(target, self.moves[loop].added.op, value))
        assert total is not None
        op: ast.operator = ast.Sub() if isinstance(total, ast.UnaryOp) else ast.Add()
        value = total.operand if isinstance(total, ast.UnaryOp) else total
        run = ast.Call(ast.Name("range", ast.Load()), [copy.deepcopy(self.columns)], [])
        added = ast.copy_location(Added(target, op, value), first.added)
        return ast.copy_location(ast.For(ast.Name(first.index, ast.Store()), run, [added], []), loops[0][0])


def padding(
    loops: Sequence[tuple[ast.For, int]],
    own: str,
    made: Mapping[str, ast.Assign],
    end: ast.expr,
    body: Sequence[ast.stmt],
) -> Padding | None:
    """How loops that add rows of some arrays, each so many rows further, are one with zeros at both ends.

    ``own`` is the number of a row, ``end`` how many there are.
    """
    moves = {loop: moving(loop) for loop, _ in loops}
    if not all(m is not None and _adds_element(m, own, made) for m in moves.values()):
        return None
    found = {loop: m for loop, m in moves.items() if m is not None}
    if len({(m.array, ast.unparse(m.loop.iter)) for m in found.values()}) > 1:
        return None
    one = next(iter(found.values()))
    rows, columns = _shape(one.array, body) or (None, None)
    further, by = [k for _, k in loops], [m.by for m in found.values()]
    if rows is None or columns is None or min(further) or min(by) or not max(by):
        return None
    wide = ast.unparse(plus(end, max(further))), ast.unparse(plus(one.trips.stop, max(by)))
    if wide != (ast.unparse(rows), ast.unparse(columns)):
        return None
    stores = Counter(name for s in statements_in(body) for name in _stores(s))
    if any(stores[n.id] > 1 for n in names_in(rows, columns)):
        return None  # one name, of two lengths
    stop = ast.unparse(one.trips.stop)
    sizes = {ast.unparse(s.value.args[0].elts[1]) for s in made.values() if len(s.value.args[0].elts) == 2}  # type: ignore[attr-defined]
    if len(sizes) != 1 or not sizes <= {stop, f"max({stop}, 0)"}:
        return None
    return Padding(max(by), columns, found)


def _adds_element(m: Moving, own: str, made: Mapping[str, ast.Assign]) -> bool:
    """Whether a loop adds, or takes away, the elements of a row that was made, one in each step, and from the first."""
    if len(m.loop.body) > 1 or not isinstance(m.trips.first, ast.Constant) or m.trips.first.value != 0:
        return False
    match m.added.target, _element(m.added.value):
        case (
            ast.Subscript(slice=ast.Tuple(elts=[_, _])),
            ast.Subscript(value=ast.Name(id=array), slice=ast.Tuple(elts=[ast.Name(id=row), ast.Name(id=column)])),
        ):
            return array in made and row == own and column == m.index
    return False


def _element(value: ast.expr) -> ast.expr:
    """What is added, or what a literal times that is: nothing where that is 0."""
    match value:
        case ast.BinOp(left=ast.Constant(value=float(by)), op=ast.Mult(), right=element) if math.isfinite(by):
            return element
        case ast.BinOp(left=element, op=ast.Mult(), right=ast.Constant(value=float(by))) if math.isfinite(by):
            return element
    return value


def _shape(array: str, body: Sequence[ast.stmt]) -> Sequence[ast.expr] | None:
    """The two lengths of an array that one statement makes; or that is given, and they are names."""
    found = [s for s in statements_in(body) if array in _stores(s)]
    match found:
        case [
            ast.Assign(
                value=ast.Call(func=ast.Attribute(attr="empty" | "zeros" | "ones"), args=[ast.Tuple() as of, *_])
            )
        ]:
            return of.elts if len(of.elts) == 2 else None
        case [ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id=other), attr="copy"), args=[]))]:
            assigned = any(other in _stores(s) for s in statements_in(body) if s is not found[0])
            return _shape(other, body) if assigned else _lengths(other, body)
    return None


def _lengths(array: str, body: Sequence[ast.stmt]) -> Sequence[ast.expr] | None:
    """The names of an argument's two lengths."""
    names: dict[int, ast.expr] = {}
    for s in statements_in(body):
        match s:
            case ast.Assign(
                targets=[ast.Name() as name],
                value=ast.Subscript(
                    value=ast.Attribute(value=ast.Name(id=given), attr="shape"), slice=ast.Constant(value=int(axis))
                ),
            ) if given == array:
                names[axis] = name
    return [names[0], names[1]] if names.keys() == {0, 1} else None


def _stores(s: ast.stmt) -> list[str]:
    """The names that a statement itself assigns."""
    targets = s.targets if isinstance(s, ast.Assign) else [s.target] if isinstance(s, ast.For | ast.AugAssign) else []
    return [n.id for n in names_in(*targets) if isinstance(n.ctx, ast.Store)]


class _Columns(ast.NodeTransformer):
    """Elements of rows some columns further on."""

    def __init__(self, rows: set[str], by: int):
        self.rows, self.by = rows, by

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.rows:
            node.slice = plus(node.slice, self.by)
        return node
