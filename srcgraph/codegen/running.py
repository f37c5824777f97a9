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
    for loop in _innermost(body) if taken.isdisjoint(FUNCTIONS.values()) else ():
        assigned = [s for s in statements_in(loop.body) if isinstance(s, ast.Assign)]
        if isinstance(loop, ast.For) and SHORT < known_steps(loop.iter) <= FEW:
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


def _innermost(body: Sequence[ast.stmt]) -> Iterator[ast.For | ast.While]:
    """The loops in which there is no other one."""
    for s in statements_in(body):
        if isinstance(s, ast.For | ast.While):
            if not any(isinstance(inner, ast.For | ast.While) for inner in statements_in(s.body)):
                yield s


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
