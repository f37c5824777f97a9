"""What is asked in loops is asked once: whether indices are inside, and whether floats are integers of 64 bits.

``if i < -n or i >= n: raise`` and ``k = i + n if i < 0 else i`` are the other way round ``k = ...`` and ``if not 0 <=
k < n: raise``: for the processor that is one comparison, of numbers without signs, as lengths are not negative. Of a
float that becomes an integer it is asked first whether it is too large, as NaN and infinity are, and then which it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from srcgraph.codegen.expr import dotted
from srcgraph.codegen.statements import form_of, names_in

Statements = list[ast.stmt]


def asked_once(body: Statements, in_loop: bool = False) -> Statements:
    """A function's statements, with such indices asked in loops."""
    out: Statements = []
    for node in body:
        for part in ("body", "orelse"):
            if inner := getattr(node, part, None):
                setattr(node, part, asked_once(inner, in_loop or isinstance(node, ast.For | ast.While)))
        out.append(node)
        if in_loop and (inside := _inside(*out[-2:]) if len(out) > 1 else None):
            out[-2:] = [node, inside]
        elif in_loop and (whole := _whole(out[-4:])):
            out[-4:] = whole
    return out


def _whole(statements: Statements) -> Statements:
    """The checks of a float that is to be an integer, the largest one first; none if it is something else."""
    match statements:
        case [
            ast.If(test=ast.Call(args=[x]), body=[ast.Raise()], orelse=[]) as nan,
            ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[y])) as size,
            ast.If(test=infinite, body=[ast.Raise()], orelse=[]) as second,
            ast.If(test=ast.UnaryOp(operand=ast.Compare(comparators=[bound])) as large, body=[ast.Raise()]) as last,
        ] if not last.orelse:
            size_of = ast.Name(name, ast.Load())
            found = (nan.test, size.value, infinite, large, y)
            wanted = (
                ast.Call(dotted("math.isnan"), [x], []),
                ast.Call(ast.Name("abs", ast.Load()), [y], []),
                _not_below(size_of, dotted("np.inf")),
                _not_below(size_of, bound),
                x,
            )
            if _same(found, wanted) and isinstance(bound, ast.Constant):
                return [size, ast.copy_location(ast.If(large, [nan, second, *last.body], []), last)]
    return []


def _not_below(x: ast.expr, bound: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), ast.Compare(x, [ast.Lt()], [bound]))


def _inside(check: ast.stmt, made: ast.stmt) -> ast.If | None:
    """The check of a number that is counted from the front just after the check of what it is made of."""
    match check, made:
        case (
            ast.If(test=ast.BoolOp(op=ast.Or(), values=[low, high]), body=[ast.Raise()], orelse=[]),
            ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.IfExp(test=below, body=ast.BinOp(left=i, op=ast.Add(), right=n), orelse=same),
            ),
        ):
            asked = ast.Compare(i, [ast.Lt()], [ast.UnaryOp(ast.USub(), n)]), ast.Compare(i, [ast.GtE()], [n])
            negative = ast.Compare(i, [ast.Lt()], [ast.Constant(0)])
            known = _same((low, high, below, same), (*asked, negative, i))
            if not known or name in {v.id for v in names_in(check)}:
                return None
            place = ast.Name(name, ast.Load())
            test = ast.Compare(ast.Constant(0), [ast.LtE(), ast.Lt()], [place, n])
            return ast.copy_location(ast.If(ast.UnaryOp(ast.Not(), test), check.body, []), check)
    return None


def _same(found: Iterable[ast.expr], wanted: Iterable[ast.expr]) -> bool:
    return all(form_of(x) == form_of(y) for x, y in zip(found, wanted, strict=True))
