"""Loops that only add what a factor outside of them may make nothing of: they are left out where it does.

``for j in range(n): d[j] += 0.0 if t == 0.0 else t * x[j]`` is ``if t != 0.0: for j in range(n): d[j] += t * x[j]``,
in derivatives: a sum of the user's own may tell 0.0 from -0.0.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence

from srcgraph.codegen.registers import Added
from srcgraph.codegen.statements import names_in


def guarded(body: list[ast.stmt]) -> list[ast.stmt]:
    """Change such loops of a function, the inner ones first."""
    return _block(body, Counter(n.id for n in names_in(*body)), _made_once(body))


def _made_once(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """What names are that are assigned in one place alone."""
    stored = Counter(n.id for n in names_in(*body) if isinstance(n.ctx, ast.Store))
    found: dict[str, ast.expr] = {}
    for node in (n for s in body for n in ast.walk(s)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                found[name] = value
    return found


def _block(body: list[ast.stmt], uses: Counter[str], made: Mapping[str, ast.expr]) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.For | ast.While | ast.If):
            node.body, node.orelse = _block(node.body, uses, made), _block(node.orelse, uses, made)
        out.append(_guard(node, uses, made) if isinstance(node, ast.For) else node)
    return out


def _guard(loop: ast.For, uses: Counter[str], made: Mapping[str, ast.expr]) -> ast.stmt:
    """A loop, under a condition if it only adds where that holds."""
    found = _condition(loop, uses, made)
    if found is None or not isinstance(loop.target, ast.Name) or loop.orelse:
        return loop
    factor, sums = found
    own = {loop.target.id} | {n.id for s in sums for n in names_in(s.target) if isinstance(n.ctx, ast.Store)}
    if any(n.id in own for n in names_in(factor)):
        return loop
    for s in sums:
        s.value = s.value.orelse if isinstance(s.value, ast.IfExp) else s.value
    loop.body = list(sums)
    test = ast.Compare(factor, [ast.NotEq()], [ast.Constant(0.0)])
    guard = ast.If(test, [loop], [])
    for inner in (guard, test, test.comparators[0]):
        ast.copy_location(inner, sums[0])
    return guard


def _condition(
    loop: ast.For, uses: Counter[str], made: Mapping[str, ast.expr]
) -> tuple[ast.Name, Sequence[ast.AugAssign]] | None:
    """What must not be 0 for a loop to add anything, and what it adds."""
    factor, held, sums, multiples = "", "", list[ast.AugAssign](), set[str]()
    inside = Counter(n.id for n in names_in(*loop.body))
    for node in loop.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=test) if not held and _factor(test):
                if inside[name] != uses[name]:
                    return None
                held, factor = name, _factor(test)
            case Added(op=ast.Add() | ast.Sub(), target=ast.Subscript(), value=ast.IfExp(test, zero, _)):
                own = factor if isinstance(test, ast.Name) and test.id == held else _factor(test)
                if not own or own != (factor or own) or not _is_zero(zero):
                    return None
                factor = own
                sums.append(node)
            case Added(op=ast.Add() | ast.Sub(), target=ast.Subscript(), value=value) if own := _multiple_of(value):
                multiples.add(own)
                sums.append(node)
            case _:
                return None
    multiples = {_multiple_of(made[m]) if m != factor and m in made else m for m in multiples}
    return (ast.Name(factor, ast.Load()), sums) if factor and multiples <= {factor} else None


def _multiple_of(value: ast.expr) -> str:
    """``t`` of ``-(2.0 * t)``: a name, times literals."""
    match value:
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _multiple_of(operand)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for number, other in ((left, right), (right, left)):
                if _is_literal(number):
                    return _multiple_of(other)
    return ""


def _is_literal(node: ast.expr) -> bool:
    """Whether an expression is a number that is not large, or a product of two."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_literal(node.left) and _is_literal(node.right)
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _factor(test: ast.expr) -> str:
    """``t`` of ``t == 0.0``."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[other]) if _is_zero(other):
            return name
    return ""


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is float and node.value == 0.0
