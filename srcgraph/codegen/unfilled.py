"""What a sweep back would take from lists that nothing is put into: no call comes there.

Where one way through a function certainly raises, what its loops would have saved is not: of such a list numba could
not say what is in it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from srcgraph.codegen.statements import names_in, statements_in

Statements = list[ast.stmt]


def without_unfilled(body: Statements) -> Statements:
    """The statements up to where the first is taken from a list that stays empty."""
    made = {s.targets[0].id: s for s in statements_in(body) if _is_empty_list(s)}  # type: ignore[attr-defined]
    if not made:
        return body
    uses = Counter(n.id for s in body for n in names_in(s) if n.id in made)
    taken = Counter(name for s in statements_in(body) if (name := _taken_from(s)) in made)
    empty = {name for name in made if taken[name] and uses[name] == taken[name] + 1}
    if not empty:
        return body
    left = _up_to(body, empty)
    read = {n.id for s in left for n in names_in(s) if isinstance(n.ctx, ast.Load)}
    return [s for s in left if not (_is_empty_list(s) and s.targets[0].id in empty - read)]  # type: ignore[attr-defined]


def _is_empty_list(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_list(node.value)


def _is_list(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and not node.elts


def _taken_from(node: ast.stmt) -> str:
    """The name of the list in ``x = name.pop()``."""
    match node:
        case ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), args=[])):
            return name
    return ""


def _up_to(body: Sequence[ast.stmt], empty: set[str]) -> Statements:
    out: Statements = []
    for node in body:
        if _taken_from(node) in empty:
            failed = ast.Call(ast.Name("IndexError", ast.Load()), [ast.Constant("pop from empty list")], [])
            out.append(ast.copy_location(ast.Raise(failed), node))
            break
        for part in ("body", "orelse"):
            if inner := getattr(node, part, None):
                setattr(node, part, _up_to(inner, empty))
        out.append(node)
    return out
