"""Positions as sums: a factor times a loop's variable, and what does not change in the loop."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from srcgraph.codegen.statements import names_in

Terms = dict[str, int]
"""The factors of a sum: by name, or by the text of what does not change; those of "" are ones."""


@dataclass(slots=True)
class Trips:
    """The numbers of a loop's variable, from ``first`` to before ``stop``, or down to after it."""

    first: ast.expr
    stop: ast.expr
    step: int

    @staticmethod
    def of(run: ast.expr) -> Trips | None:
        """Those of ``range(...)`` whose step is known."""
        match run:
            case ast.Call(func=ast.Name(id="range"), args=[stop]):
                return Trips(ast.Constant(0), stop, 1)
            case ast.Call(func=ast.Name(id="range" | "indices"), args=[first, stop]):
                return Trips(first, stop, 1)
            case ast.Call(func=ast.Name(id="range"), args=[first, stop, by]):
                step = number_of(by)
                return Trips(first, stop, step) if step else None
        return None

    def lowest(self) -> ast.expr:
        """What no number of them is below."""
        return self.first if self.step > 0 else plus(self.stop, 1)

    def highest(self) -> ast.expr:
        """What no number of them is above."""
        return plus(self.stop, -1) if self.step > 0 else self.first


def number_of(node: ast.expr) -> int | None:
    """A literal integer."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None


def axes_of(index: ast.expr) -> list[ast.expr]:
    """What an index says of each axis."""
    return index.elts if isinstance(index, ast.Tuple) else [index]


def beside(node: ast.expr, index: str) -> int | None:
    """How far from a loop's number a place is."""
    match node:
        case ast.Name(id=name) if name == index:
            return 0
        case ast.BinOp(ast.Name(id=name), ast.Add(), ast.Constant(value=int(more))) if name == index:
            return more
        case ast.BinOp(ast.Name(id=name), ast.Sub(), ast.Constant(value=int(less))) if name == index:
            return -less
    return None


def plus(node: ast.expr, more: int) -> ast.expr:
    """``node + more``, of literals and of sums with literals too."""
    known = number_of(node)
    if known is not None:
        return literal(known + more)
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(value))):
            return plus(left, more + (value if isinstance(op, ast.Add) else -value))
    if more == 0:
        return node
    return ast.BinOp(node, ast.Add() if more > 0 else ast.Sub(), ast.Constant(abs(more)))


def literal(value: int) -> ast.expr:
    return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))


@dataclass(slots=True)
class Scope:
    """What is known of numbers in a loop.

    Attributes
    ----------
    changed : set of str
        The names that the loop assigns, inner loops' variables included.
    single : mapping
        Those assigned once in each trip, and what.
    inner : mapping
        The variables of loops, this one and those inside, and their numbers.
    """

    changed: Set[str]
    single: Mapping[str, ast.expr] = field(default_factory=dict)
    inner: Mapping[str, Trips] = field(default_factory=dict)

    def steady(self, node: ast.expr) -> bool:
        """Whether it is a sum or product of numbers that do not change in the loop."""
        match node:
            case ast.Name(id=name):
                return name not in self.changed
            case ast.Constant():
                return True
            case ast.UnaryOp(operand=inner):
                return self.steady(inner)
            case ast.BinOp(left=left, right=right):
                return self.steady(left) and self.steady(right)
            case ast.Call(func=ast.Name(id="max" | "min"), args=args):
                return all(self.steady(a) for a in args)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant()):
                return name not in self.changed
        return False

    def terms(self, node: ast.expr, variable: str, depth: int = 0) -> Terms | None:
        """An expression as a sum of the loop's variable and what does not change; None if it is none."""
        value = number_of(node)
        if value is not None:
            return {"": value}
        match node:
            case ast.Name(id=name):
                if name == variable or name not in self.changed:
                    return {name: 1}
                if name in self.single and depth < _DEPTH:
                    return self.terms(self.single[name], variable, depth + 1)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                x, y = self.terms(left, variable, depth), self.terms(right, variable, depth)
                if x is not None and y is not None:
                    return added(x, y, 1 if isinstance(op, ast.Add) else -1)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                x, y = self.terms(left, variable, depth), self.terms(right, variable, depth)
                for one, other in ((x, y), (y, x)):
                    if one is not None and other is not None and set(one) <= {""}:
                        return added({}, other, one.get("", 0))
        return {ast.unparse(node): 1} if self.steady(node) else None

    # -- bounds --------------------------------------------------------------------------------------

    def highest(self, node: ast.expr, depth: int = 0) -> ast.expr | None:
        """What an integer is at most in any trip, made of what does not change."""
        return self._bound(node, 1, depth)

    def lowest(self, node: ast.expr, depth: int = 0) -> ast.expr | None:
        """What it is at least."""
        return self._bound(node, -1, depth)

    def _bound(self, node: ast.expr, side: int, depth: int) -> ast.expr | None:
        if self.steady(node):
            return node
        if depth > _DEPTH:
            return None
        match node:
            case ast.Name(id=name) if name in self.inner:
                trips = self.inner[name]
                return self._bound(trips.highest() if side > 0 else trips.lowest(), side, depth + 1)
            case ast.Name(id=name) if name in self.single:
                return self._bound(self.single[name], side, depth + 1)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                x = self._bound(left, side, depth)
                y = self._bound(right, side if isinstance(op, ast.Add) else -side, depth)
                if x is None or y is None:
                    return None
                known = number_of(y)
                if known is not None:
                    return plus(x, known if isinstance(op, ast.Add) else -known)
                return ast.BinOp(x, op, y)
        return None


_DEPTH = 8


def added(x: Terms, y: Terms, factor: int) -> Terms:
    out = dict(x)
    for name, count in y.items():
        out[name] = out.get(name, 0) + factor * count
    return {name: count for name, count in out.items() if count}


def reads(node: ast.AST) -> set[str]:
    return {n.id for n in names_in(node)}
