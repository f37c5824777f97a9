"""Nests that only add to arrays, one after the other over the same rows, run row by row together.

The derivative of a stencil adds one array to several places of another. What is added first does not matter, and a row
is read from memory once. Inner loops stay apart, so that each is vectorised.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from srcgraph.codegen.flow import NOTHING, assigned_names, live_before
from srcgraph.codegen.registers import Added
from srcgraph.codegen.statements import is_pure, names_in, statements_in


def by_rows(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block, and those inside it, with such nests joined."""
    out: list[ast.stmt] = []
    for node in body:
        for part in ("body", "orelse"):
            inner = getattr(node, part, None)
            if inner:
                setattr(node, part, by_rows(inner))
        before = out[-1] if out else None
        if isinstance(before, ast.For) and isinstance(node, ast.For) and _together(before, node):
            before.body += node.body
        else:
            out.append(node)
    return out


def _together(first: ast.For, second: ast.For) -> bool:
    """Whether a nest may run row by row with the one before it."""
    if not all(is_pure(s) for loop in (first, second) for s in loop.body):
        return False
    same = ast.dump(first.target) == ast.dump(second.target) and ast.dump(first.iter) == ast.dump(second.iter)
    if not same or not all(map(_adds_by_rows, (first, second))):
        return False
    changed = {n for loop in (first, second) for n in _added_to(loop.body)}
    if any(n.id in changed for loop in (first, second) for n in _read(loop.body)):
        return False
    numbers = [assigned_names(loop.body) for loop in (first, second)]
    needed = [live_before(loop.body, NOTHING, NOTHING, NOTHING) for loop in (first, second)]
    return numbers[0].isdisjoint(needed[1]) and numbers[1].isdisjoint(needed[0])


def _adds_by_rows(loop: ast.For) -> bool:
    """Whether a nest of at least two loops does nothing but add to arrays."""
    inside = list(statements_in(loop.body))
    plain = all(isinstance(s, ast.For | Added) or _is_number(s) for s in inside)
    return plain and any(isinstance(s, ast.For) for s in loop.body) and not any(isinstance(s, Added) for s in loop.body)


def _is_number(s: ast.stmt) -> bool:
    return isinstance(s, ast.Assign) and all(isinstance(t, ast.Name) for t in s.targets)


def _added_to(body: Sequence[ast.stmt]) -> set[str]:
    return {ast.unparse(s.target.value) for s in statements_in(body) if isinstance(s, Added)}  # type: ignore[attr-defined]


def _read(body: Sequence[ast.stmt]) -> list[ast.Name]:
    """The names that are read, but for those of the arrays that are added to."""
    found: list[ast.Name] = []
    for s in statements_in(body):
        match s:
            case Added(target=ast.Subscript(slice=index), value=value):
                found += [*names_in(index), *names_in(value)]
            case ast.Assign(value=value):
                found += names_in(value)
            case ast.For(iter=run):
                found += names_in(run)
    return found
