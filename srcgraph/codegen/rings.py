"""Adjoints of stencils in place: each row takes all that it is due at once, from a ring of the rows computed last.

The adjoint of ``u[1:-1] = f(u[:-2], u[2:])`` computes a row of ``t`` from a row of ``d``, and adds it to the rows
around that. Once a row of ``t`` is there, the first of those that it is added to is due nothing more: it takes what
this row and those before have for it in one pass over its elements, not in one for each.

References
----------
J. Hückelheim, N. Kukreja, S. Narayanan, F. Luporini, G. Gorman, P. Hovland, "Automatic differentiation for adjoint
stencil loops", International Conference on Parallel Processing 2019.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from srcgraph.codegen.affine import axes_of, beside, plus
from srcgraph.codegen.buffers import makes_array
from srcgraph.codegen.delayed import MOST, Accesses, Rows, aliased, fresh_names, made_by
from srcgraph.codegen.flow import assigned_names
from srcgraph.codegen.padded import Padding, padding
from srcgraph.codegen.registers import Added, as_written
from srcgraph.codegen.shifted import Shift
from srcgraph.codegen.statements import names_in, statements_in

_NAMES = ("new", "old", "older", "oldest")


def in_rings(body: list[ast.stmt], taken: AbstractSet[str]) -> list[ast.stmt]:
    """Change such pairs of nests in a function."""
    if any(isinstance(s, Added) for s in statements_in(body)):
        _in_block(body, body, {*taken, *(n.id for n in names_in(*body))})
    return body


def _in_block(block: list[ast.stmt], body: list[ast.stmt], taken: set[str]) -> None:
    for node in block:
        if isinstance(node, ast.For | ast.While | ast.If):
            _in_block(node.body, body, taken)
            _in_block(node.orelse, body, taken)
    k = 0
    while k + 1 < len(block):
        between = _made_between(block, k)
        first, second = block[k], block[k + 1 + len(between)]
        pair = _pair(first, second, body) if isinstance(first, ast.For) and isinstance(second, ast.For) else None
        if pair is not None:
            block[k : k + 2 + len(between)] = [*between, first, second]
            k += len(between)
            width = None if set(pair.made.values()).isdisjoint(block[:k]) else pair.padding(body)
            before = block[k - 1] if k else first
            block[k : k + 2] = [pair.ring(taken) if width is None else pair.padded(taken, width, before)]
        k += 1


def _made_between(block: list[ast.stmt], k: int) -> list[ast.stmt]:
    """The array that is made after a nest and before another one, if it may as well be made before both."""
    made = block[k + 1]
    if k + 2 == len(block) or not makes_array(made):
        return []
    bound = {n.id for n in names_in(made) if isinstance(n.ctx, ast.Store)}
    used = {n.id for n in names_in(block[k])} & bound
    return [made] if not used and assigned_names([block[k]]).isdisjoint(n.id for n in names_in(made)) else []


@dataclass(slots=True)
class _Pair:
    """A nest that computes the rows of some arrays, and one that adds them to the rows of others.

    Attributes
    ----------
    made : dict
        What makes each of the arrays.
    loops : list
        The loops that add, and how many rows further than theirs they add to.
    """

    first: ast.For
    second: ast.For
    made: dict[str, ast.Assign]
    loops: list[tuple[ast.For, int]]

    @property
    def least(self) -> int:
        return min(further for _, further in self.loops)

    @property
    def width(self) -> int:
        return max(further for _, further in self.loops) - self.least

    @property
    def rows(self) -> tuple[str, ast.expr]:
        """The number of a row, and how many are computed."""
        assert isinstance(self.first.target, ast.Name) and isinstance(self.first.iter, ast.Call)
        return self.first.target.id, self.first.iter.args[0]

    def in_ring(self, taken: set[str]) -> list[dict[str, str]]:
        """Keep so many rows of the arrays; their names, by how many steps ago they were computed."""
        fresh = fresh_names(taken)
        for made in self.made.values():
            shape = made.value.args[0]  # type: ignore[attr-defined]
            shape.elts[0] = ast.copy_location(ast.Constant(self.width + 1), shape)
        return [{array: fresh(f"{array}_{_NAMES[k]}") for array in self.made} for k in range(self.width + 1)]

    def padding(self, body: Sequence[ast.stmt]) -> Padding | None:
        assert isinstance(self.second.target, ast.Name)
        return padding(self.loops, self.second.target.id, self.made, self.rows[1], body)

    def padded(self, taken: set[str], ends: Padding, before: ast.stmt) -> ast.stmt:
        """The loop over rows of the array that is added to, and what stands before it."""
        index, end = self.rows
        apart = ends.array not in {n.id for n in names_in(self.first)}
        filled = apart and self.least == 0 and ends.fills(before, plus(end, self.width))
        if filled:
            before.value.func.attr = "empty"  # type: ignore[attr-defined]
        names, number = self.in_ring(taken), self.width + 1
        for made in self.made.values():
            shape, made.value.func.attr = made.value.args[0], "zeros"  # type: ignore[attr-defined]
            shape.elts[1:] = ends.with_ends
        by_row = sorted(self.loops, key=lambda each: each[1])
        added = [(loop, names[further - self.least][ends.spreads[loop].of]) for loop, further in by_row]
        text = f"""
for {index} in range({ast.unparse(plus(end, self.width))}):
    {"; ".join(f"{row} = {array}[{index} % {number}]" for array, row in names[0].items())}
    if {index} < {ast.unparse(end)}:
        pass
"""
        (loop,) = ast.parse(text).body
        assert isinstance(loop, ast.For)
        test = loop.body[-1]
        assert isinstance(test, ast.If)
        test.body = ends.stored([_in_rows(s, names[0], index) for s in self.first.body], names[0])
        test.orelse = [ends.cleared(row) for row in names[0].values()]
        for back in range(1, number):
            for array, row in names[back].items():
                if any(row == name for _, name in added):
                    loop.body += ast.parse(f"{row} = {array}[({index} - {back}) % {number}]").body
        for node in (loop, *loop.body, *statements_in(test.orelse)):
            _placed(node, self.first)
        loop.body.append(ends.summed(added, ast.unparse(plus(ast.Name(index, ast.Load()), self.least)), filled))
        return loop

    def ring(self, taken: set[str]) -> ast.stmt:
        """The loop over rows that computes some and adds to another."""
        (index, end), width, names = self.rows, self.width, self.in_ring(taken)
        backs = sorted({further - self.least for _, further in self.loops})
        parts = [self.part(k, names[k], index, end, width) for k in backs]
        text = f"""
for {index} in range({ast.unparse(plus(end, width))}):
    if {index} < {ast.unparse(end)}:
        {"; ".join(f"{row} = {array}[{index} % {width + 1}]" for array, row in names[0].items())}
    if {width} <= {index} < {ast.unparse(end)}:
        pass
"""
        (loop,) = ast.parse(text).body
        assert isinstance(loop, ast.For)
        whole, rest = loop.body
        assert isinstance(whole, ast.If) and isinstance(rest, ast.If)
        whole.body += [_in_rows(s, names[0], index) for s in self.first.body]
        inside = [copy.deepcopy(s) for part in parts for s in part.body]
        rest.body = sorted(inside, key=lambda s: isinstance(s, ast.For))  # rows first
        rest.orelse += as_written([*parts])  # few rows: as they come
        for node, like in (
            (loop, self.first),
            (whole, self.first),
            (rest, self.second),
            *((p, self.second) for p in parts),
        ):
            _placed(node, like)
        return loop

    def part(self, back: int, rows: dict[str, str], index: str, end: ast.expr, width: int) -> ast.If:
        """What is added of the rows computed so many steps before, if there are such rows."""
        assert isinstance(self.second.target, ast.Name)
        own = self.second.target.id
        ends = {0: f"{index} < {ast.unparse(end)}", width: f"{back} <= {index}"}
        test = ends.get(back, f"{back} <= {index} < {ast.unparse(plus(end, back))}")
        added = []
        for loop, further in self.loops:
            if further - self.least == back:
                moved = Shift(own, -back, {}).visit(_in_rows(copy.deepcopy(loop), rows, own))
                added.append(Rows("", "", own, index).visit(moved))
        read = {n.id for n in names_in(*added)}
        take = [f"{row} = {array}[({index} - {back}) % {width + 1}]" for array, row in rows.items() if row in read]
        (part,) = ast.parse(f"if {test}:\n    {'; '.join(take) or 'pass'}\n").body
        assert isinstance(part, ast.If)
        part.body = [*(part.body if back else []), *added]
        return part


def _in_rows(node: ast.stmt, rows: dict[str, str], index: str) -> ast.stmt:
    """A statement that reads and stores rows under names of their own."""
    for array, row in rows.items():
        node = Rows(array, row, index, index).visit(node)
    return node


def _placed(node: ast.stmt, like: ast.stmt) -> None:
    """Give the statements that have no place that of another."""
    ast.copy_location(node, like)
    for s in getattr(node, "body", []):
        if isinstance(s, ast.Assign):
            ast.copy_location(s, like)


def _pair(first: ast.For, second: ast.For, body: Sequence[ast.stmt]) -> _Pair | None:
    match first, second:
        case (
            ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), args=[end]), orelse=[]),
            ast.For(target=ast.Name(id=own), iter=ast.Call(func=ast.Name(id="range"), args=[other]), orelse=[]),
        ) if ast.unparse(end) == ast.unparse(other):
            loops = _loops(second, own)
        case _:
            return None
    if loops is None or not 0 < max(k for _, k in loops) - min(k for _, k in loops) < MOST:
        return None
    ours, theirs = Accesses.of(first), Accesses.of(second)
    if ours is None or theirs is None or not ours.is_apart(theirs) or aliased(ours, theirs, body):
        return None
    added = {_base(s) for s in statements_in(second.body) if isinstance(s, Added)}
    least = min(k for _, k in loops)
    if theirs.written != added or any(not _waits(ours, name, least) for name in added & ours.names):
        return None
    if any(theirs.uses[name] != sum(_base(s) == name for s in statements_in(second.body)) for name in added):
        return None
    if any(_uses([name], body) != _uses([name], [second]) for name in theirs.assigned):
        return None
    made = {array: made_by(array, body, ast.unparse(end)) for array in sorted((ours.written & theirs.names) - added)}
    for array, by in made.items():
        alone = {0} == ours.rows.get(array) == theirs.rows.get(array)
        if by is None or not alone or _uses([array], body) != 1 + ours.uses[array] + theirs.uses[array]:
            return None
    return _Pair(first, second, {array: by for array, by in made.items() if by is not None}, loops) if made else None


def _uses(names: Sequence[str], body: Sequence[ast.stmt]) -> int:
    return sum(n.id in names for n in names_in(*body))


def _waits(ours: Accesses, name: str, least: int) -> bool:
    """Whether a nest is done with a row of an array when the rows that it computes are added to it."""
    rows = ours.rows.get(name)
    return rows is not None and min(rows) >= least


def _loops(nest: ast.For, index: str) -> list[tuple[ast.For, int]] | None:
    """The loops of a nest that do nothing but add to a row each; None if there is anything else."""
    found = []
    for loop in nest.body:
        rows = {_row(s, index) for s in _inside(loop) if isinstance(s, Added)}
        plain = all(isinstance(s, ast.For | Added | ast.Assign) for s in _inside(loop))
        further = rows.pop() if len(rows) == 1 else None
        if not isinstance(loop, ast.For) or not plain or further is None:
            return None
        found.append((loop, further))
    return found or None


def _inside(loop: ast.stmt) -> Iterator[ast.stmt]:
    return iter(statements_in(loop.body)) if isinstance(loop, ast.For) else iter(())


def _row(s: Added, index: str) -> int | None:
    """How much further than a loop's number the row is that something is added to."""
    assert isinstance(s.target, ast.Subscript)
    first, *others = axes_of(s.target.slice)
    return beside(first, index) if others else None


def _base(s: ast.stmt) -> str:
    match s:
        case Added(target=ast.Subscript(value=ast.Name(id=name))):
            return name
    return ""
