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
    given = _given(body, items)
    for suite in _suites(body):
        for i, node in enumerate(suite):
            match node:
                case ast.Assign([ast.Name(id=name)], ast.List(elts=[])) if name in items:
                    if name in given or _feeds_itself(name, suite[i + 1 :]):
                        node.value = ast.copy_location(empty_list(items[name]), node.value)
    return body


def _given(body: list[ast.stmt], items: Mapping[str, TensorType]) -> set[str]:
    """The names of lists that are given the list of another name, as in trips of a loop that may change it."""
    found = set()
    for suite in _suites(body):
        for node in suite:
            match node:
                case ast.Assign([ast.Name(id=name)], ast.Name(id=other)) if name in items and other in items:
                    found.add(name)
    return found


def _suites(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    yield body
    for node in body:
        if isinstance(node, ast.If | ast.For | ast.While):
            yield from _suites(node.body)
            yield from _suites(node.orelse)


def _feeds_itself(name: str, suite: Sequence[ast.stmt]) -> bool:
    """Whether something that is appended to a list is computed from what was on it; ``suite`` is what follows on it.

    Not if all that is read is read after all that is appended: a name may be one thing before and another after.
    """
    if not _is_read_before_filled(name, suite):
        return False
    statements = list(statements_in(suite))
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


def _is_read_before_filled(name: str, suite: Sequence[ast.stmt]) -> bool:
    """Whether something in a list may be read before the last of it is appended."""
    appends = [any(_list_of(s) == name for s in statements_in([node])) for node in suite]
    last = max((k for k, found in enumerate(appends) if found), default=-1)
    uses = sum(sum(n.id == name for n in names_in(node)) for node in suite[: last + 1])
    fills = sum(_list_of(s) == name for s in statements_in(suite[: last + 1]))
    return uses > fills


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
