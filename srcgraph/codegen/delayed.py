"""Buffers of a few rows, for what is computed of an array and then stored into it.

``u[1:-1] = f(u[:-2], u[2:])`` reads what it overwrites, so that all of it is computed first, and stored then: two nests
over an array as large as ``u``. A row can be stored as soon as no row that is still to be computed reads there; what
is computed is kept so long in a ring of rows, which stay in the processor's nearest memory.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, section 6.2 (loop alignment
and fusion) and 8.3 (rotating storage).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from srcgraph.codegen.statements import names_in, statements_in

MOST = 4
"""So many rows are kept at most."""
_PURE = frozenset(("float", "int", "abs", "max", "min", "plus"))


def delayed(body: list[ast.stmt], taken: AbstractSet[str]) -> list[ast.stmt]:
    """Change such pairs of nests in a function."""
    for _ in range(64):
        if not _one(body, body, taken):
            break
    return body


def _one(block: list[ast.stmt], body: list[ast.stmt], taken: AbstractSet[str]) -> bool:
    for k, node in enumerate(block):
        if isinstance(node, ast.For | ast.While | ast.If) and (
            _one(node.body, body, taken) or _one(node.orelse, body, taken)
        ):
            return True
        after = block[k + 1] if k + 1 < len(block) else None
        if isinstance(node, ast.For) and isinstance(after, ast.For):
            found = _pair(node, after, body)
            if found is not None:
                block[k : k + 2] = found.statements({n.id for n in names_in(*body)} | taken)
                return True
    return False


# -- which ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Pair:
    """A nest that fills an array, and the one that reads it so many rows later.

    Attributes
    ----------
    made : ast.Assign
        What makes the array.
    """

    first: ast.For
    second: ast.For
    array: str
    made: ast.Assign
    rows: int

    def statements(self, taken: AbstractSet[str]) -> list[ast.stmt]:
        return self.ring(taken) if self.rows else self.row()

    def row(self) -> list[ast.stmt]:
        """A row is stored as soon as it is made: it is all that is kept."""
        assert isinstance(self.first.target, ast.Name) and isinstance(self.second.target, ast.Name)
        index, made = self.first.target.id, self.made.value
        assert isinstance(made, ast.Call) and isinstance(made.args[0], ast.Tuple)
        _, *sizes = made.args[0].elts
        made.args[0] = sizes[0] if len(sizes) == 1 else ast.copy_location(ast.Tuple(sizes, ast.Load()), made)
        pairs = ((self.first, index), (self.second, self.second.target.id))
        self.first.body = [Rows(self.array, self.array, own, index).visit(s) for loop, own in pairs for s in loop.body]
        return [self.first]

    def ring(self, taken: AbstractSet[str]) -> list[ast.stmt]:
        number = self.rows + 1
        fresh = fresh_names({*taken})
        new, old, back = fresh(f"{self.array}_new"), fresh(f"{self.array}_old"), fresh("back")
        assert isinstance(self.first.target, ast.Name) and isinstance(self.second.target, ast.Name)
        index = self.first.target.id
        shape = self.made.value.args[0]  # type: ignore[attr-defined]
        shape.elts[0] = ast.copy_location(ast.Constant(number), shape)
        first = [Rows(self.array, new, index, index).visit(s) for s in self.first.body]
        later = [Rows(self.array, old, self.second.target.id, back).visit(copy.deepcopy(s)) for s in self.second.body]
        last = copy.deepcopy(later)
        (loop, rest) = self.written(f"""
for {index} in {ast.unparse(self.first.iter)}:
    {new} = {self.array}[{index} % {number}]
    if {index} >= {self.rows}:
        {back} = {index} - {self.rows}
        {old} = {self.array}[{back} % {number}]
for {back} in range(max({self.end} - {self.rows}, 0), {self.end}):
    {old} = {self.array}[{back} % {number}]
""")
        assert isinstance(loop, ast.For) and isinstance(rest, ast.For)
        start, test = loop.body
        assert isinstance(test, ast.If)
        test.body += later
        loop.body = [start, *first, test]
        rest.body += last
        return [loop, rest]

    @property
    def end(self) -> str:
        assert isinstance(self.first.iter, ast.Call)
        return ast.unparse(self.first.iter.args[0])

    def written(self, text: str) -> list[ast.stmt]:
        made = ast.parse(text).body
        for statement, like in zip(made, (self.first, self.second), strict=True):
            for inner in ast.walk(statement):
                ast.copy_location(inner, like)
        return made


def fresh_names(taken: set[str]) -> Callable[[str], str]:
    def name(wanted: str) -> str:
        made, k = wanted, 2
        while made in taken:
            made, k = f"{wanted}_{k}", k + 1
        taken.add(made)
        return made

    return name


class Rows(ast.NodeTransformer):
    """An array's row as an array, and another index."""

    def __init__(self, array: str, row: str, index: str, now: str):
        self.array, self.row, self.index, self.now = array, row, index, now

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == self.array:
            assert isinstance(node.slice, ast.Tuple)
            rest = [self.visit(e) for e in node.slice.elts[1:]]
            node.value = ast.copy_location(ast.Name(self.row, ast.Load()), node.value)
            node.slice = rest[0] if len(rest) == 1 else ast.copy_location(ast.Tuple(rest, ast.Load()), node.slice)
            return node
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name(self.now, node.ctx), node) if node.id == self.index else node


def _pair(first: ast.For, second: ast.For, body: Sequence[ast.stmt]) -> _Pair | None:
    match first, second:
        case (
            ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), args=[end]), orelse=[]),
            ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), args=[other]), orelse=[]),
        ) if ast.unparse(end) == ast.unparse(other):
            pass
        case _:
            return None
    ours, theirs = Accesses.of(first), Accesses.of(second)
    if ours is None or theirs is None or not ours.is_apart(theirs):
        return None
    for array in ours.written & theirs.read - theirs.written:
        made = made_by(array, body, ast.unparse(end))
        alone = {0} == ours.rows.get(array) == theirs.rows.get(array)
        uses = sum(n.id == array for n in names_in(*body))
        if made is None or not alone or uses != 1 + ours.uses[array] + theirs.uses[array]:
            continue
        rows = _distance(ours, theirs, array)
        if rows is not None and rows < MOST and not aliased(ours, theirs, body):
            return _Pair(first, second, array, made, rows)
    return None


def made_by(array: str, body: Sequence[ast.stmt], end: str) -> ast.Assign | None:
    """The one statement that makes an array with a row for each step."""
    for node in statements_in(body):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=made, args=[ast.Tuple(elts=[rows, _, *_]), *_])
            ) if name == array and ast.unparse(made) in ("empty", "np.empty"):
                return node if ast.unparse(rows) in (end, f"max({end}, 0)") else None
    return None


def _distance(ours: Accesses, theirs: Accesses, array: str) -> int | None:
    """After how many rows the second nest may do its own; None if that is not told."""
    rows = 0
    for name in (ours.written & theirs.names) | (theirs.written & ours.names):
        if name == array:
            continue
        here, there = ours.rows.get(name), theirs.rows.get(name)
        if here is None or there is None:
            return None
        rows = max(rows, max(there) - min(here))
    return rows


def aliased(ours: Accesses, theirs: Accesses, body: Sequence[ast.stmt]) -> bool:
    """Whether an array of the nests may be in the memory of another one: those made of other arrays, and parameters
    that are changed are told apart by the caller."""
    used = ours.names | theirs.names
    same: dict[str, set[str]] = {name: {name} for name in used}
    parts: set[str] = set()
    for node in statements_in(body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
                both = same.get(name, {name}) | same.get(other, {other})
                same |= dict.fromkeys(both, both)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.Attribute() | ast.IfExp()):
                parts.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple()):
                parts.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="reshape" | "reshape_view"))):
                parts.add(name)
            case ast.Assign(targets=[ast.Tuple(elts=elts)]):
                parts |= {e.id for e in elts if isinstance(e, ast.Name)}
    return any(len(same[name] & used) > 1 or not parts.isdisjoint(same[name]) for name in used)


class Accesses:
    """What a nest does: which arrays it reads and writes, at which rows, and which numbers it assigns."""

    def __init__(self, index: str):
        self.index = index
        self.read: set[str] = set()
        self.written: set[str] = set()
        self.rows: dict[str, set[int] | None] = {}
        self.uses: dict[str, int] = {}
        self.assigned: set[str] = set()
        self.loaded: set[str] = set()
        self.inner: set[str] = set()

    @property
    def names(self) -> set[str]:
        return self.read | self.written

    @classmethod
    def of(cls, loop: ast.For) -> Accesses | None:
        """None where it does anything else."""
        assert isinstance(loop.target, ast.Name)
        found = cls(loop.target.id)
        return found if all(map(found.statement, loop.body)) else None

    def statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range" | "indices"), args=args)):
                self.inner.add(name)
                return not node.orelse and all(map(self.expr, args)) and all(map(self.statement, node.body))
            case ast.Assign(targets=[target], value=value):
                return self.expr(value) and self.target(target, also_read=False)
            case ast.AugAssign(target=target, value=value):
                return self.expr(value) and self.target(target, also_read=True)
        return False

    def target(self, node: ast.expr, also_read: bool) -> bool:
        match node:
            case ast.Name(id=name):
                self.assigned.add(name)
                if also_read:
                    self.loaded.add(name)
                return name != self.index
            case ast.Subscript(value=ast.Name(id=name)):
                self.written.add(name)
                if also_read:
                    self.read.add(name)
                return self.access(name, node)
        return False

    def access(self, name: str, node: ast.Subscript) -> bool:
        if not isinstance(node.slice, ast.Tuple):
            return False
        self.uses[name] = self.uses.get(name, 0) + 1
        row, known = _row(node.slice.elts[0], self.index), self.rows.get(name, set())
        self.rows[name] = None if row is None or known is None else known | {row}
        return all(map(self.expr, node.slice.elts))

    def expr(self, node: ast.expr) -> bool:
        match node:
            case ast.Subscript(value=ast.Name(id=name)):
                self.read.add(name)
                return self.access(name, node)
            case ast.Name(id=name):
                self.loaded.add(name)
                return True
            case ast.Call(func=called, args=args, keywords=[]):
                return _is_pure(called) and all(map(self.expr, args))
            case ast.Constant():
                return True
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp() | ast.IfExp():
                return all(self.expr(e) for e in ast.iter_child_nodes(node) if isinstance(e, ast.expr))
        return False

    def is_apart(self, other: Accesses) -> bool:
        """Whether neither uses a number, or a part of an array without rows, of the other."""
        own, theirs = self.assigned | self.inner, other.assigned | other.inner
        shared = self.inner & other.inner
        if (own - shared) & (other.loaded | other.assigned) or (theirs - shared) & (self.loaded | self.assigned):
            return False
        return self.index not in other.assigned | other.inner and other.index not in self.assigned | self.inner


def _is_pure(called: ast.expr) -> bool:
    match called:
        case ast.Attribute(value=ast.Name(id="np" | "math")):
            return True
        case ast.Name(id=name):
            return name in _PURE
    return False


def _row(node: ast.expr, index: str) -> int | None:
    """``k`` of ``i + k``."""
    match node:
        case ast.Name(id=name) if name == index:
            return 0
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(k))):
            return None if name != index else k if isinstance(op, ast.Add) else -k
    return None
