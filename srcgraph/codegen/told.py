"""Empty lists that say what their items are: ``[0.0][:0]``, where what is put on them is computed from them.

numba finds out from what is appended what is on a list that is made empty. A stack from which two numbers are taken
and their sum put back, it cannot tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from srcgraph.codegen.expr import empty_list
from srcgraph.codegen.statements import names_in, statements_in
from srcgraph.ir.types import TensorType


def told(body: list[ast.stmt], items: Mapping[str, TensorType]) -> list[ast.stmt]:
    """Let such lists say so; ``items`` has the type of what is on each list."""
    statements = list(statements_in(body))
    made = [s for s in statements if isinstance(s, ast.Assign) and isinstance(s.value, ast.List) and not s.value.elts]
    for node in made:
        (target,) = node.targets
        if isinstance(target, ast.Name) and target.id in items and _feeds_itself(target.id, statements):
            node.value = ast.copy_location(empty_list(items[target.id]), node.value)
    return body


def _feeds_itself(name: str, statements: Sequence[ast.stmt]) -> bool:
    """Whether something that is appended to a list is computed from what was on it."""
    appended = [item for s in statements for item in _appended(s, name)]
    read = {name}
    before = 0
    while appended and before != (before := len(read)):
        for s in statements:
            if isinstance(s, ast.Assign | ast.AugAssign) and any(n.id in read for n in names_in(s.value)):
                targets = s.targets if isinstance(s, ast.Assign) else [s.target]
                read.update(n.id for t in targets for n in names_in(t) if isinstance(n.ctx, ast.Store))
            elif isinstance(s, ast.For) and any(n.id in read for n in names_in(s.iter)):
                read.update(n.id for n in names_in(s.target))
            elif (onto := _list_of(s)) and onto != name and any(n.id in read for n in names_in(s)):
                read.add(onto)
    return any(n.id in read for item in appended for n in names_in(item))


def _appended(node: ast.stmt, name: str) -> Iterator[ast.expr]:
    if _list_of(node) == name:
        assert isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        yield from node.value.args


def _list_of(node: ast.stmt) -> str:
    """The list that something is appended to; '' if nothing is."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "append"), [_], [])):
            return name
    return ""
