"""When kernels of CUDA modules do the same: one is written for all that differ by the names of their variables only."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from srcgraph.codegen.statements import names_in, statements_in


def in_order(node: ast.AST) -> Iterable[str]:
    """The names in a piece of text, as they are read."""
    if isinstance(node, ast.Name):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from in_order(child)


def form(body: Sequence[ast.stmt], args: Sequence[str], types: Sequence[str]) -> str:
    """What is the same for kernels that differ by the names of their variables only."""
    numbers = {a: f"<{k}>" for k, a in enumerate(args)}
    local = dict.fromkeys(n.id for s in statements_in(body) for n in names_in(s) if isinstance(n.ctx, ast.Store))
    order = [n for s in body for n in in_order(s) if n in local]
    numbers |= {n: f"<{k}>" for k, n in enumerate(dict.fromkeys(order), len(args))}
    renamed = [_Renamed(numbers).visit(ast.parse(ast.unparse(ast.fix_missing_locations(s)))) for s in body]
    return "\n".join([*types, *map(ast.dump, renamed)])


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)
