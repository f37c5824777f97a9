"""The largest and the smallest so far, where each step of a loop needs it: ``peak = running_maximum(peak, x[i])``.

A step of ``np.maximum`` as numba writes it asks after NaN of both numbers before it knows the larger one, and the next
step waits for all that. So is the largest of a short row that is too long to be written out: LLVM's own way for several
numbers at a time is made for long ones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set

from srcgraph.codegen.flow import NOTHING, live_before
from srcgraph.codegen.statements import names_in, statements_in
from srcgraph.codegen.sums import FEW, SHORT, known_steps

FUNCTIONS = {"maximum": "running_maximum", "minimum": "running_minimum"}


def with_running_extremes(body: list[ast.stmt], floats: Set[str], taken: Set[str]) -> list[ast.stmt]:
    """Change the loops of a function in place; ``floats`` are its numbers that are, and names are ``taken``."""
    for loop, around in _innermost(body, None) if taken.isdisjoint(FUNCTIONS.values()) else ():
        assigned = [s for s in statements_in(loop.body) if isinstance(s, ast.Assign)]
        steps = known_steps(loop.iter) if isinstance(loop, ast.For) else 0
        if SHORT < steps <= FEW or (0 < steps <= SHORT and not _goes_side_by_side(around)):
            _of_rows(assigned, floats)
        found = [(s, name) for s in assigned if (name := _extreme(s))]
        carried = live_before(loop.body, NOTHING, NOTHING, NOTHING) if found else NOTHING
        for s, name in found:
            if name in carried and name in floats:
                s.value = _running(s.value, name)
    return body


def _of_rows(assigned: Sequence[ast.Assign], floats: Set[str]) -> None:
    """The largest and the smallest of short rows."""
    for s in assigned:
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name() as function)):
                if function.id in FUNCTIONS and name in floats:
                    function.id = FUNCTIONS[function.id]


def _innermost(
    body: Sequence[ast.stmt], around: ast.For | ast.While | None
) -> Iterator[tuple[ast.For | ast.While, ast.For | ast.While | None]]:
    """The loops in which there is no other one, and those that they are in."""
    for s in body:
        if isinstance(s, ast.For | ast.While):
            inside = any(isinstance(inner, ast.For | ast.While) for inner in statements_in(s.body))
            yield from _innermost(s.body, s) if inside else [(s, around)]
        elif isinstance(s, ast.If):
            yield from _innermost([*s.body, *s.orelse], around)


def _goes_side_by_side(loop: ast.For | ast.While | None) -> bool:
    """Whether LLVM may take several steps of a loop at a time, once short loops in it are written out."""
    if not isinstance(loop, ast.For) or 0 < known_steps(loop.iter) <= SHORT:
        return False
    for s in statements_in(loop.body):
        if isinstance(s, ast.While | ast.Break | ast.Return | ast.Raise):
            return False
        if isinstance(s, ast.For) and not 0 < known_steps(s.iter) <= SHORT:
            return False
    return True


def _extreme(s: ast.Assign) -> str:
    """The number that a statement makes the larger, or the smaller, of itself and another."""
    match s:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(ast.Name("np"), attr), args=[x, y])
        ) if attr in FUNCTIONS and [n.id for n in names_in(x, y)].count(name) == 1:
            return name if any(isinstance(e, ast.Name) and e.id == name for e in (x, y)) else ""
    return ""


def _running(call: ast.expr, name: str) -> ast.expr:
    """The call with the number that goes on first: of equal ones, NumPy says of neither that it is the larger."""
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    operands = sorted(call.args, key=lambda e: not (isinstance(e, ast.Name) and e.id == name))
    return ast.Call(ast.Name(FUNCTIONS[call.func.attr], ast.Load()), operands, [])
