"""Rings of rows with zeros around them, for adjoints of stencils that add nothing but these rows.

Where a row of ``t`` is added to columns 0, 1 and 2 further on, the first and last columns are due less than the others.
With as many zeros at both ends of a row, and rows of zeros after the last one, all columns of all rows take the same
sum, in one loop, as wide as the array itself. Rows may have several axes.
"""

from __future__ import annotations

import ast
import copy
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from srcgraph.codegen.affine import axes_of, beside, plus
from srcgraph.codegen.registers import Added
from srcgraph.codegen.shifted import added_up
from srcgraph.codegen.statements import names_in, statements_in

ENDS = 8
"""So many places at most at the end of an axis are added to by nothing."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A nest that adds each element of one row, but for a factor, to one place of an array.

    Attributes
    ----------
    array, of : str
        What is added to, and whose rows are added.
    indices, stops : tuple
        Its loops.
    by : tuple of int
        How many places further the element goes, by axis.
    value : ast.expr
        What is added.
    """

    added: Added
    array: str
    of: str
    indices: tuple[str, ...]
    stops: tuple[str, ...]
    by: tuple[int, ...]
    value: ast.expr


@dataclass(frozen=True, slots=True)
class Padding:
    """What is added to an array, and how many places take it.

    Attributes
    ----------
    first : tuple of int
        The first place of a row, by axis.
    widths : tuple of int
        How many places further than another one a row is added, by axis.
    counts, sizes : tuple of ast.expr
        How many places of a row take something, and how many there are.
    spreads : dict
        The nests that add.
    """

    first: tuple[int, ...]
    widths: tuple[int, ...]
    counts: tuple[ast.expr, ...]
    sizes: tuple[ast.expr, ...]
    spreads: Mapping[ast.For, Spread]

    @property
    def with_ends(self) -> list[ast.expr]:
        """The lengths of the ring's rows."""
        return [plus(copy.deepcopy(size), width) for size, width in zip(self.sizes, self.widths, strict=True)]

    @property
    def indices(self) -> tuple[str, ...]:
        return next(iter(self.spreads.values())).indices

    def stored(self, nest: Sequence[ast.stmt], rows: Mapping[str, str]) -> list[ast.stmt]:
        """Statements that use rows of the ring, of which all elements are some places further on."""
        return [_Further({*rows.values()}, self.widths).visit(s) for s in nest]

    def cleared(self, row: str) -> ast.stmt:
        (zero,) = ast.parse(f"{row}[{', '.join(self.indices)}] = 0.0").body
        return self.nest(self.with_ends, zero)

    @property
    def array(self) -> str:
        """What is added to."""
        return next(iter(self.spreads.values())).array

    def fills(self, made: ast.stmt, rows: ast.expr) -> bool:
        """Whether a statement makes the array full of zeros, and all its places take something, in so many rows."""
        match made:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(attr="zeros"), args=[ast.Tuple(elts=[count, *sizes])]),
            ) if name == self.array and not any(self.first):
                taken = [rows, *self.counts]
                return [*map(ast.unparse, taken)] == [*map(ast.unparse, (count, *sizes))]
        return False

    def summed(self, loops: Sequence[tuple[ast.For, str]], row: str, first: bool) -> ast.stmt:
        """The nest in which all places of ``row`` take what they are due: of which rows, by loop. There is nothing
        in them before, if it is the ``first``."""
        one = self.spreads[loops[0][0]]
        places = [ast.unparse(plus(ast.Name(i, ast.Load()), k)) for i, k in zip(self.indices, self.first, strict=True)]
        (made,) = ast.parse(f"{one.array}[{', '.join((row, *places))}] = 0").body
        assert isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Subscript)
        total: ast.expr | None = None
        for loop, name in loops:
            spread = self.spreads[loop]
            further = zip(self.indices, self.first, self.widths, spread.by, strict=True)
            at = [plus(ast.Name(index, ast.Load()), first + width - by) for index, first, width, by in further]
            value = _Element(spread.of, name, at).visit(copy.deepcopy(spread.value))
            total = added_up(total, Added(made.targets[0], spread.added.op, value))
        assert total is not None
        op: ast.operator = ast.Sub() if isinstance(total, ast.UnaryOp) else ast.Add()
        value = total.operand if isinstance(total, ast.UnaryOp) else total
        taken = ast.Assign(made.targets, total) if first else Added(made.targets[0], op, value)
        return ast.copy_location(self.nest(self.counts, ast.copy_location(taken, one.added)), loops[0][0])

    def nest(self, sizes: Iterable[ast.expr], inner: ast.stmt) -> ast.stmt:
        """Loops over the places of a row."""
        for index, size in reversed([*zip(self.indices, sizes, strict=True)]):
            run = ast.Call(ast.Name("range", ast.Load()), [copy.deepcopy(size)], [])
            inner = ast.copy_location(ast.For(ast.Name(index, ast.Store()), run, [inner], []), inner)
        return inner


def padding(
    loops: Sequence[tuple[ast.For, int]],
    own: str,
    made: Mapping[str, ast.Assign],
    end: ast.expr,
    body: Sequence[ast.stmt],
) -> Padding | None:
    """How loops that add rows of some arrays, each so many rows further, are one with zeros around the rows.

    ``own`` is the number of a row, ``end`` how many there are.
    """
    found = {loop: spread for loop, _ in loops if (spread := _spread(loop, own, made)) is not None}
    if len(found) < len(loops) or len({(s.array, s.indices, s.stops) for s in found.values()}) > 1:
        return None
    one, further = next(iter(found.values())), [k for _, k in loops]
    shape = _shape(one.array, body)
    by = [*zip(*(s.by for s in found.values()), strict=True)]
    if shape is None or len(shape) != len(by) + 1:
        return None
    stops = [ast.parse(stop, mode="eval").body for stop in one.stops]
    if not all(_is_within(*axis) for axis in zip([end, *stops], [further, *by], shape, strict=True)):
        return None
    stores = Counter(name for s in statements_in(body) for name in _stores(s))
    if any(stores[n.id] > 1 for n in names_in(*shape)):
        return None  # one name, of two lengths
    if not all(_is_over(s.value, one.stops) for s in made.values()):
        return None
    first = tuple(map(min, by))
    widths = tuple(max(places) - min(places) for places in by)
    counts = tuple(plus(stop, width) for stop, width in zip(stops, widths, strict=True))
    return Padding(first, widths, counts, tuple(shape[1:]), found)


def _is_within(stop: ast.expr, by: Sequence[int], size: ast.expr) -> bool:
    """Whether all places so much further than a loop's numbers are on an axis of this size, also where it has none."""
    ends = [ast.unparse(plus(stop, k)) for k in range(max(by), max(by) + ENDS)]
    return min(by) >= 0 and ast.unparse(size) in ends


def _spread(loop: ast.For, own: str, made: Mapping[str, ast.Assign]) -> Spread | None:
    """A nest as one that adds the elements of row ``own`` of an array that was made; None if it is not."""
    indices: list[str] = []
    stops: list[str] = []
    block: Sequence[ast.stmt] = [loop]
    while True:
        match block:
            case [ast.For(target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[stop])) as inner]:
                indices.append(index)
                stops.append(ast.unparse(stop))
                block = inner.body
            case [*numbers, Added(target=ast.Subscript(value=ast.Name(id=array), slice=at)) as added]:
                break
            case _:
                return None
    numbered = {s.targets[0].id: s.value for s in numbers if _is_number(s)}  # type: ignore[attr-defined]
    places = [beside(e, index) for e, index in zip(axes_of(at)[1:], indices, strict=False)]
    by = tuple(k for k in places if k is not None)
    if len(numbered) < len(numbers) or not len(by) == len(indices) == len(axes_of(at)) - 1:
        return None
    value = _Inlined(numbered).visit(copy.deepcopy(added.value))
    element = f"[{', '.join((own, *indices))}]"
    read = {ast.unparse(n) for n in ast.walk(value) if isinstance(n, ast.Subscript)}
    array_read = next((a for a in made if read == {a + element}), None)
    if array_read is None or not _vanishes(value):
        return None
    return Spread(added, array, array_read, tuple(indices), tuple(stops), by, value)


def _is_number(s: ast.stmt) -> bool:
    return isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name)


def _vanishes(value: ast.expr) -> bool:
    """Whether an expression of one element is 0 where that is."""
    match value:
        case ast.Subscript():
            return True
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return _vanishes(x)
        case ast.BinOp(left=x, op=ast.Add() | ast.Sub(), right=y):
            return _vanishes(x) and _vanishes(y)
        case ast.BinOp(left=ast.Constant(value=int() | float() as by), op=ast.Mult(), right=x):
            return math.isfinite(by) and _vanishes(x)
        case ast.BinOp(left=x, op=ast.Mult(), right=ast.Constant(value=int() | float() as by)):
            return math.isfinite(by) and _vanishes(x)
        case ast.BinOp(left=x, op=ast.Div(), right=ast.Constant(value=int() | float() as by)):
            return by != 0 and _vanishes(x)
        case ast.Call(func=ast.Name(id="quotient"), args=[x, ast.Constant(value=int() | float() as by)]):
            return by != 0 and _vanishes(x)
    return False


def _is_over(call: ast.expr, stops: Sequence[str]) -> bool:
    """Whether what makes an array gives its rows these lengths."""
    assert isinstance(call, ast.Call) and isinstance(call.args[0], ast.Tuple)
    sizes = [ast.unparse(e) for e in call.args[0].elts[1:]]
    pairs = zip(sizes, stops, strict=False)
    return len(sizes) == len(stops) and all(size in (stop, f"max({stop}, 0)") for size, stop in pairs)


def _shape(array: str, body: Sequence[ast.stmt]) -> Sequence[ast.expr] | None:
    """The lengths of an array that one statement makes."""
    found = [s for s in statements_in(body) if array in _stores(s)]
    match found:
        case [
            ast.Assign(
                value=ast.Call(func=ast.Attribute(attr="empty" | "zeros" | "ones"), args=[ast.Tuple() as of, *_])
            )
        ]:
            return of.elts
        case [ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id=other), attr="copy"), args=[]))]:
            assigned = any(other in _stores(s) for s in statements_in(body) if s is not found[0])
            return _shape(other, body) if assigned else _lengths(other, body)
    return None


def _lengths(array: str, body: Sequence[ast.stmt]) -> Sequence[ast.expr] | None:
    """The names of an argument's lengths."""
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
    return [names[k] for k in sorted(names)] if names.keys() == {*range(len(names))} else None


def _stores(s: ast.stmt) -> list[str]:
    """The names that a statement itself assigns."""
    targets = s.targets if isinstance(s, ast.Assign) else [s.target] if isinstance(s, ast.For | ast.AugAssign) else []
    return [n.id for n in names_in(*targets) if isinstance(n.ctx, ast.Store)]


class _Further(ast.NodeTransformer):
    """Elements of rows some places further on."""

    def __init__(self, rows: set[str], by: Sequence[int]):
        self.rows, self.by = rows, by

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.rows:
            at = [plus(e, k) for e, k in zip(axes_of(node.slice), self.by, strict=True)]
            node.slice = at[0] if len(at) == 1 else ast.copy_location(ast.Tuple(at, ast.Load()), node.slice)
        return node


class _Element(ast.NodeTransformer):
    """Another array's element in place of one's."""

    def __init__(self, array: str, row: str, at: list[ast.expr]):
        self.array, self.row, self.at = array, row, at

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        at = copy.deepcopy(self.at)
        return ast.Subscript(
            ast.Name(self.row, ast.Load()), at[0] if len(at) == 1 else ast.Tuple(at, ast.Load()), ast.Load()
        )


class _Inlined(ast.NodeTransformer):
    """What numbers are in place of their names."""

    def __init__(self, numbers: Mapping[str, ast.expr]):
        self.numbers = numbers

    def visit_Name(self, node: ast.Name) -> ast.AST:
        known = self.numbers.get(node.id)
        return node if known is None else self.visit(copy.deepcopy(known))
