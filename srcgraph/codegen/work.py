"""About how many operations the trips of a loop are, as an expression of lengths: whether it is worth dividing."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from srcgraph.codegen.affine import Scope, Trips, plus
from srcgraph.codegen.independent import is_blocks
from srcgraph.codegen.outline import assigned_names

_UNKNOWN = 8.0
"""Trips of loops of which nothing is known."""
_CALL, _LIBRARY, _MAKES = 12.0, 200.0, 60.0
_QUICK = frozenset({"abs", "min", "max", "int", "float", "len", "plus", "two_sum", "maximum", "minimum", "float32"})
_SLOW = {ast.Div: 4.0, ast.Pow: 12.0, ast.Mod: 8.0, ast.FloorDiv: 8.0}
_MAKERS = frozenset({"empty", "zeros", "ones", "full", "copy", "empty_like"})


@dataclass(frozen=True, slots=True)
class Work:
    """A sum of numbers of operations, each times lengths that are known when it runs."""

    terms: Mapping[tuple[str, ...], float]

    @staticmethod
    def of(count: float) -> Work:
        return Work({(): count})

    def __add__(self, other: Work) -> Work:
        out = dict(self.terms)
        for key, count in other.terms.items():
            out[key] = out.get(key, 0.0) + count
        return Work(out)

    def times(self, factor: float, length: str = "") -> Work:
        more = (length,) if length else ()
        return Work({tuple(sorted((*key, *more))): count * factor for key, count in self.terms.items()})

    @property
    def known(self) -> float | None:
        """The number, if it is the same for all lengths."""
        return sum(self.terms.values()) if set(self.terms) <= {()} else None

    def written(self) -> ast.expr:
        """``40.0 * n + 8.0 * m``: what grows with lengths counts, the rest goes with the largest term."""
        growing = {key: count for key, count in self.terms.items() if key}
        rest = self.terms.get((), 0.0)
        if not growing:
            return ast.Constant(_round(rest))
        first = max(growing, key=lambda key: (len(key), growing[key]))
        growing[first] += rest
        out: ast.expr | None = None
        for key, count in sorted(growing.items(), key=lambda item: -len(item[0])):
            term: ast.expr = ast.Constant(_round(count))
            for length in key:
                term = ast.BinOp(term, ast.Mult(), ast.parse(length, mode="eval").body)
            out = term if out is None else ast.BinOp(out, ast.Add(), term)
        assert out is not None
        return out


def _round(count: float) -> float:
    return float(round(count)) if count >= 1 else round(count, 2)


def work_of(loop: ast.For) -> Work:
    """That of one trip of a loop; lengths of loops inside are said by what does not change in it."""
    scope = Scope(assigned_names(loop.body) | assigned_names([loop.target]))
    around = Trips.of(loop.iter)
    inner = {loop.target.id: around} if isinstance(loop.target, ast.Name) and around is not None else {}
    body = _block(loop.body, Scope(scope.changed, {}, inner))
    return body.times(_BLOCK) if is_blocks(loop.iter) else body


_BLOCK = 256.0
"""Numbers in a block."""


def _block(body: Sequence[ast.stmt], scope: Scope) -> Work:
    out = Work.of(0.0)
    for node in body:
        match node:
            case ast.For():
                out += _loop(node, scope)
            case ast.While(test=test, body=inner):
                out += (_block(inner, scope) + Work.of(_operations(test))).times(_UNKNOWN)
            case ast.If(test=test, body=then, orelse=orelse):
                out += _block(then, scope) + _block(orelse, scope) + Work.of(_operations(test))
            case ast.Raise():
                pass
            case _:
                out += Work.of(_operations(node))
    return out


def _loop(node: ast.For, scope: Scope) -> Work:
    trips = Trips.of(node.iter)
    inner = scope
    if trips is not None and isinstance(node.target, ast.Name):
        inner = Scope(scope.changed, {}, {**scope.inner, node.target.id: trips})
    body = _block(node.body, inner)
    if is_blocks(node.iter):
        assert isinstance(node.iter, ast.Call)
        return _times(body, node.iter.args[0], scope)
    if isinstance(node.iter, ast.Name):  # the numbers of a block, which `_loop` of the blocks counts
        return body
    if trips is None:
        return body.times(_UNKNOWN)
    first, stop = (trips.first, trips.stop) if trips.step > 0 else (plus(trips.stop, 1), plus(trips.first, 1))
    low, high = scope.lowest(first), scope.highest(stop)
    if low is None or high is None:
        return body.times(_UNKNOWN)
    half = 1.0 if scope.steady(first) and scope.steady(stop) else 0.5
    length = high if isinstance(low, ast.Constant) and low.value == 0 else ast.BinOp(high, ast.Sub(), low)
    return _times(body.times(half / abs(trips.step)), _simple(length), scope)


def _simple(length: ast.expr) -> ast.expr:
    match length:
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int(value))):
            return plus(left, -value)
    return length


def _times(body: Work, length: ast.expr, scope: Scope) -> Work:
    if isinstance(length, ast.Constant) and isinstance(length.value, int):
        return body.times(float(max(length.value, 0)))
    return body.times(1.0, ast.unparse(length)) if scope.steady(length) else body.times(_UNKNOWN)


def _operations(node: ast.AST) -> float:
    """About how many additions take as long; of calls, as if one element was computed at a time."""
    count = 0.0
    for part in ast.walk(node):
        match part:
            case ast.BinOp(op=op):
                count += _SLOW.get(type(op), 1.0)
            case ast.Compare() | ast.Subscript() | ast.AugAssign():
                count += 1.0
            case ast.Call(func=function):
                count += _called(function)
    return count


def _called(function: ast.expr) -> float:
    match function:
        case ast.Attribute(value=ast.Name(id="np" | "math"), attr=name):
            if name in _MAKERS:
                return _MAKES
            return 4.0 if name == "sqrt" else 1.0 if name in _QUICK else _CALL
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return 1.0 if name in _QUICK else _MAKES if name in _MAKERS else _LIBRARY
    return _LIBRARY
