"""About how long the trips of a loop take, as an expression of lengths: whether it is worth dividing.

The unit is an operation of the processor's, a quarter of a nanosecond. It is right to a factor of two or three, which
is enough: parts that are twice as long as they need be are no loss.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from srcgraph.codegen.affine import Scope, Trips, plus
from srcgraph.codegen.flow import NOTHING, assigned_names, live_before
from srcgraph.codegen.independent import is_blocks
from srcgraph.codegen.statements import statements_in

_UNKNOWN = 8.0
"""Trips of loops of which nothing is known."""
_LIBRARY, _MAKES = 400.0, 100.0
_QUICK = frozenset({"abs", "min", "max", "int", "float", "len", "plus", "two_sum", "maximum", "minimum", "float32"})
_SLOW = (ast.Div, ast.Pow, ast.Mod, ast.FloorDiv)
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
        """``40.0 * n + 8.0 * m + 100.0``."""
        growing = {key: count for key, count in self.terms.items() if key}
        rest = self.terms.get((), 0.0)
        if not growing:
            return ast.Constant(_round(rest))
        first = max(growing, key=lambda key: (len(key), growing[key]))
        if rest <= growing[first]:  # one number is enough
            growing[first] += rest
            rest = 0.0
        out: ast.expr | None = None
        for key, count in sorted(growing.items(), key=lambda item: -len(item[0])):
            term: ast.expr = ast.Constant(_round(count))
            for length in key:
                term = ast.BinOp(term, ast.Mult(), ast.parse(length, mode="eval").body)
            out = term if out is None else ast.BinOp(out, ast.Add(), term)
        assert out is not None
        return ast.BinOp(out, ast.Add(), ast.Constant(_round(rest))) if rest else out


def _round(count: float) -> float:
    return float(f"{count:.2g}")


def work_of(loop: ast.For) -> Work:
    """That of one trip of a loop; lengths of loops inside are said by what does not change in it."""
    scope = Scope(assigned_names(loop.body) | assigned_names([loop.target]))
    around = Trips.of(loop.iter)
    inner = {loop.target.id: around} if isinstance(loop.target, ast.Name) and around is not None else {}
    body = _block(loop.body, Scope(scope.changed, {}, inner), _rates(loop))
    return body.times(_BLOCK) if is_blocks(loop.iter) else body


_BLOCK = 256.0
"""Numbers in a block."""


def _block(body: Sequence[ast.stmt], scope: Scope, rates: _Rates) -> Work:
    out = Work.of(0.0)
    for node in body:
        match node:
            case ast.For():
                out += _loop(node, scope)
            case ast.While(test=test, body=inner):
                out += (_block(inner, scope, _SINGLE) + Work.of(_operations(test, _SINGLE))).times(_UNKNOWN)
            case ast.If(test=test, body=[*_, ast.Raise()], orelse=[]):
                out += Work.of(_operations(test, rates))
            case ast.If(test=test, body=then, orelse=orelse):
                out += _block(then, scope, rates) + _block(orelse, scope, rates) + Work.of(_operations(test, rates))
            case ast.Raise():
                pass
            case _:
                out += Work.of(_operations(node, rates))
    return out


def _loop(node: ast.For, scope: Scope) -> Work:
    trips = Trips.of(node.iter)
    inner = scope
    if trips is not None and isinstance(node.target, ast.Name):
        inner = Scope(scope.changed, {}, {**scope.inner, node.target.id: trips})
    body = _block(node.body, inner, _rates(node))
    if is_blocks(node.iter):
        assert isinstance(node.iter, ast.Call)
        return _times(body, node.iter.args[-1], scope)
    if isinstance(node.iter, ast.Name):  # the numbers of a block, which `_loop` of the blocks counts
        return body
    if trips is None:
        return body.times(_UNKNOWN)
    if (most := _most(trips)) is not None:
        return body.times(float(most))
    first, stop = (trips.first, trips.stop) if trips.step > 0 else (plus(trips.stop, 1), plus(trips.first, 1))
    low, high = scope.lowest(first), scope.highest(stop)
    if low is None or high is None:
        return body.times(_UNKNOWN)
    half = 1.0 if scope.steady(first) and scope.steady(stop) else 0.5
    length = high if isinstance(low, ast.Constant) and low.value == 0 else ast.BinOp(high, ast.Sub(), low)
    return _times(body.times(half / abs(trips.step)), _simple(length), scope)


def _most(trips: Trips) -> int | None:
    """How many trips a loop from ``first`` to ``min(first + 128, n)`` has at most."""
    match trips.stop:
        case ast.Call(
            func=ast.Name(id="min" | "max"), args=[ast.BinOp(left=left, right=ast.Constant(value=int(most))), _]
        ):
            return most if ast.dump(left) == ast.dump(trips.first) else None
    return None


def _simple(length: ast.expr) -> ast.expr:
    match length:
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int(value))):
            return plus(left, -value)
    return length


def _times(body: Work, length: ast.expr, scope: Scope) -> Work:
    if isinstance(length, ast.Constant) and isinstance(length.value, int):
        return body.times(float(max(length.value, 0)))
    return body.times(1.0, ast.unparse(length)) if scope.steady(length) else body.times(_UNKNOWN)


@dataclass(frozen=True, slots=True)
class _Rates:
    """What operations count, in quarters of a nanosecond."""

    plain: float
    item: float
    slow: float
    root: float
    call: float


_SINGLE = _Rates(plain=1.0, item=1.0, slow=6.0, root=8.0, call=30.0)
_SEVERAL = _Rates(plain=0.1, item=0.3, slow=1.0, root=1.5, call=4.0)
"""Of loops that LLVM computes several elements at a time."""


def _rates(loop: ast.For) -> _Rates:
    """Those of the statements in a loop, if there are no others in it."""
    inside = list(statements_in(loop.body))
    if any(isinstance(s, ast.For | ast.While | ast.Raise | ast.Break) for s in inside):
        return _SINGLE
    carried = assigned_names(loop.body) & live_before(loop.body, NOTHING, NOTHING, NOTHING)
    for node in inside:
        match node:
            case ast.Assign(
                value=ast.Call(func=ast.Name(id="plus" | "maximum" | "minimum"), args=[ast.Name(id=name), _])
            ):
                carried -= {name}
    return _SINGLE if carried else _SEVERAL


def _operations(node: ast.AST, rates: _Rates) -> float:
    """About how many quarters of a nanosecond an expression takes."""
    count = 0.0
    for part in ast.walk(node):
        match part:
            case ast.BinOp(op=op):
                count += rates.plain if not isinstance(op, _SLOW) else rates.slow
            case ast.Subscript():
                count += rates.item
            case ast.Compare() | ast.AugAssign():
                count += rates.plain
            case ast.Call(func=function):
                count += _called(function, rates)
    return count


def _called(function: ast.expr, rates: _Rates) -> float:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            if name in _QUICK:
                return rates.plain
            if name in _MAKERS:
                return _MAKES
            if name == "sqrt":
                return rates.root
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return rates.call if function.value.id in ("np", "math") else _LIBRARY
    return _LIBRARY
