"""Loops that only add to arrays, one after the other over the same rows, are one loop.

The derivative of a stencil adds one array to several places of another, and that of ``x[a] - x[b]`` to rows that it
looks up. What is added first does not matter, and a row is read from memory once. Inner loops stay apart, so that each
is vectorised.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence, Set

from srcgraph.codegen.flow import NOTHING, assigned_names, live_before
from srcgraph.codegen.registers import Added
from srcgraph.codegen.statements import is_pure, names_in, nodes_in, statements_in
from srcgraph.codegen.trips import loop_before, repeated


def by_rows(body: list[ast.stmt], watched: Set[str]) -> list[ast.stmt]:
    """The statements of a block, and those inside it, with such loops joined; integers that are ``watched`` may
    raise."""
    if not any(isinstance(s, Added) for s in statements_in(body)):
        return body
    out: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.For | ast.While | ast.If):
            node.body, node.orelse = by_rows(node.body, watched), by_rows(node.orelse, watched)
        k = loop_before(out, watched) if isinstance(node, ast.For) else None
        before = out[k] if k is not None else None
        if k is not None and isinstance(before, ast.For) and isinstance(node, ast.For) and _together(before, node):
            node.body = [*before.body, *repeated(before, node, lambda name: False).left_of(node.body)]
            ast.copy_location(node, before)
            del out[k]
        out.append(node)
    return out


def _together(first: ast.For, second: ast.For) -> bool:
    """Whether a loop may run row by row with the one before it."""
    if not all(is_pure(s) for loop in (first, second) for s in loop.body):
        return False
    same = ast.dump(first.target) == ast.dump(second.target) and ast.dump(first.iter) == ast.dump(second.iter)
    if not same or not any(all(map(kind, (first, second))) for kind in (_adds_by_rows, _adds_to_looked_up)):
        return False
    changed = {n for loop in (first, second) for n in _added_to(loop.body)}
    if any(n.id in changed for loop in (first, second) for n in _read(loop.body)):
        return False
    numbers = [assigned_names(loop.body) for loop in (first, second)]
    needed = [live_before(loop.body, NOTHING, NOTHING, NOTHING) for loop in (first, second)]
    return numbers[0].isdisjoint(needed[1]) and numbers[1].isdisjoint(needed[0])


def _adds_to_looked_up(loop: ast.For) -> bool:
    """Whether a loop does nothing but add to places that it looks up in each step."""
    added = [s for s in loop.body if isinstance(s, Added)]
    own = assigned_names(loop.body)
    places = [s.target.slice for s in added if isinstance(s.target, ast.Subscript)]
    looked_up = [
        p
        for p in places
        if any(isinstance(n, ast.Subscript) for n in nodes_in(p)) or not own.isdisjoint(n.id for n in names_in(p))
    ]
    return 0 < len(added) == len(looked_up) and all(isinstance(s, Added) or _is_number(s) for s in loop.body)


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
