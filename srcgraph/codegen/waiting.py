"""Of several integers of which the least is taken, the one that the trip before computes comes last.

    for j in range(1, n):                             for j in range(1, n):
        left = d[j - 1]                                   left = d[j - 1]
        d[j] = min(min(up[j], left + 1), up[j - 1])       d[j] = min(min(up[j], up[j - 1]), left + 1)

A trip waits for that one alone, and then for one comparison in place of two.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from srcgraph.codegen.affine import axes_of
from srcgraph.codegen.statements import names_in, nodes_in, statements_in

_EXTREMES = ("min", "max")


def waiting_last(body: list[ast.stmt]) -> list[ast.stmt]:
    """Change such extremes in the innermost loops of a function."""
    for loop in statements_in(body):
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and any(_nested(loop.body)):
            late = _late(loop.body, loop.target.id)
            if late:
                order = _Order(late)
                loop.body = [s if isinstance(s, ast.For | ast.While) else order.visit(s) for s in loop.body]
    return body


def _nested(body: Sequence[ast.stmt]) -> Iterator[bool]:
    for node in nodes_in(*body):
        yield _extreme(node) != "" and any(_extreme(a) == _extreme(node) for a in node.args)  # type: ignore[attr-defined]


def _extreme(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[_, _], keywords=[]) if name in _EXTREMES:
            return name
    return ""


def _late(body: Sequence[ast.stmt], index: str) -> set[str]:
    """The names of what depends on elements that the trip before stores."""
    stores = [t for s in body for t in _stored(s)]
    late: set[str] = set()
    for s in body:
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                reads = (n for n in nodes_in(value) if isinstance(n, ast.Subscript))
                if any(_is_along(n, t, index) for n in reads for t in stores) or not late.isdisjoint(
                    n.id for n in names_in(value)
                ):
                    late.add(name)
    return late


def _stored(s: ast.stmt) -> Iterator[ast.Subscript]:
    for node in nodes_in(s):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield node


def _is_along(read: ast.Subscript, stored: ast.Subscript, index: str) -> bool:
    """Whether two places of one array differ only along the loop."""
    axes, others = axes_of(read.slice), axes_of(stored.slice)
    if ast.unparse(read.value) != ast.unparse(stored.value) or len(axes) != len(others):
        return False
    pairs = [
        (ast.unparse(a), ast.unparse(b), any(n.id == index for n in names_in(a, b)))
        for a, b in zip(axes, others, strict=True)
    ]
    return all(a == b or along for a, b, along in pairs) and any(a != b for a, b, _ in pairs)


class _Order(ast.NodeTransformer):
    """The operands of an extreme of extremes in another order."""

    def __init__(self, late: set[str]):
        self.late = late

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = _extreme(node)
        operands = list(_operands(node, name)) if name else []
        waits = [not self.late.isdisjoint(n.id for n in names_in(operand)) for operand in operands]
        if len(operands) < 3 or sum(waits) != 1 or waits[-1]:
            return self.generic_visit(node)  # type: ignore[return-value]
        first, *rest = [*(o for o, w in zip(operands, waits, strict=True) if not w), operands[waits.index(True)]]
        for operand in rest:
            first = ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [first, operand], []), node)
        return first


def _operands(node: ast.expr, name: str) -> Iterator[ast.expr]:
    if _extreme(node) != name:
        yield node
        return
    for operand in node.args:  # type: ignore[attr-defined]
        yield from _operands(operand, name)
