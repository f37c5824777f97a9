"""Checks that ask the same in each trip of a loop are made before it.

    for i in range(1, n):                     d = dx ** 2
        d = dx ** 2                           if n > 1 and d == 0:
        if d == 0:                  is            raise ZeroDivisionError
            raise ZeroDivisionError           for i in range(1, n):
        u[i] = x[i] / d                           u[i] = x[i] / d

What a trip does before them are numbers: nothing is stored when they fail, nor has anything else failed. LLVM takes no
loop several trips at a time that something may leave.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Set

from srcgraph.codegen.flow import assigned_names
from srcgraph.codegen.statements import names_in, nodes_in, statements_in
from srcgraph.codegen.sums import known_steps
from srcgraph.codegen.trips import calls_functions, grows, is_check, is_plain, read_in


def asked_before(body: list[ast.stmt], watched: Set[str]) -> list[ast.stmt]:
    """The statements of a function with such checks before loops, inner loops first; numbers that are ``watched`` may
    raise."""
    if any(isinstance(s, ast.For) and any(map(is_check, s.body)) for s in statements_in(body)):
        return _block(body, watched, Counter(n.id for n in names_in(*body)))
    return body


def _block(body: list[ast.stmt], watched: Set[str], uses: Counter[str]) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.For | ast.While | ast.If):
            node.body, node.orelse = _block(node.body, watched, uses), _block(node.orelse, watched, uses)
        if isinstance(node, ast.For):
            out += _before(node, watched, uses)
        out.append(node)
    return out


def _before(loop: ast.For, watched: Set[str], uses: Counter[str]) -> list[ast.stmt]:
    """What may be done before a loop: its first checks, and the numbers that these ask. They are taken out of it."""
    runs = has_trips(loop.iter)
    if runs is None:
        return []
    changed = {n.id for n in names_in(loop.target, *loop.body) if isinstance(n.ctx, ast.Store)}
    numbers: list[ast.stmt] = []
    found: list[ast.stmt] = []
    for s in loop.body:
        if is_check(s) and _is_steady(s, changed):
            found += [*numbers, s]
            numbers = []
        elif not isinstance(s, ast.Assign) or not is_plain(s) or grows(s, watched):
            break
        elif _is_steady(s, changed) and not calls_functions([s]) and _is_own(s, loop, uses):
            changed -= assigned_names([s])
            numbers.append(s)
        elif not isinstance(s.targets[0], ast.Name):
            break
    if len(found) == len(loop.body):
        return []
    loop.body = [s for s in loop.body if s not in found]
    for s in found:
        if isinstance(s, ast.If) and known_steps(loop.iter) <= 0:
            tests = [runs, *(s.test.values if _is_all(s.test) else [s.test])]  # type: ignore[attr-defined]
            s.test = ast.BoolOp(ast.And(), tests)
    return found


def _is_all(test: ast.expr) -> bool:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)


def _is_steady(s: ast.stmt, changed: Set[str]) -> bool:
    """Whether a statement does the same in each trip; elements of arrays are left to LLVM."""
    plain = not any(
        isinstance(n, ast.Subscript | ast.Attribute) for n in nodes_in(s.test if isinstance(s, ast.If) else s)
    )
    return plain and changed.isdisjoint(read_in(s))


def _is_own(s: ast.Assign, loop: ast.For, uses: Counter[str]) -> bool:
    """Whether the number that a statement makes is used in this loop alone, and made there once."""
    (name,) = assigned_names([s])
    inside = [n for n in names_in(*loop.body) if n.id == name]
    return len(inside) == uses[name] and sum(isinstance(n.ctx, ast.Store) for n in inside) == 1


def has_trips(run: ast.expr) -> ast.expr | None:
    """Whether a loop runs at all; None if that is not told."""
    match run:
        case ast.Call(func=ast.Name(id="range"), args=[stop]):
            return ast.Compare(stop, [ast.Gt()], [ast.Constant(0)])
        case ast.Call(func=ast.Name(id="range"), args=[start, stop]):
            return ast.Compare(stop, [ast.Gt()], [start])
    return None
