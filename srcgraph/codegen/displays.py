"""Choices that stand in a long tuple or list, or among the arguments of a long call: computed before it.

Python makes what has more than 30 items step by step, and numba puts these steps together again only if there is no
jump in between, as a conditional expression makes one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from srcgraph.codegen.statements import names_in, nodes_in, statements_in

LONGEST = 30


def without_long_choices(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with such items in variables."""
    if any(_long_in(s) for s in statements_in(function.body)):
        _block(function.body, _fresh({n.id for n in names_in(function)} | {a.arg for a in function.args.args}))
    return function


def _long_in(node: ast.stmt) -> list[list[ast.expr]]:
    """The items of the displays and calls of a statement that are long and have choices among them."""
    names = () if isinstance(node, ast.While) else ("value", "test", "iter")
    parts = [getattr(node, name, None) for name in names]
    found = [_items(n) for part in parts if part is not None for n in nodes_in(part)]
    return [items for items in found if len(items) > LONGEST and any(map(_jumps, items))]


def _items(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Call(args=items):
            return items
    return []


def _jumps(item: ast.expr) -> bool:
    return any(isinstance(n, ast.IfExp | ast.BoolOp) or _is_chain(n) for n in nodes_in(item))


def _is_chain(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) > 1


def _fresh(taken: set[str]) -> Iterator[str]:
    k = 1
    while True:
        if (name := f"item_{k}") not in taken:
            yield name
        k += 1


def _block(body: list[ast.stmt], names: Iterator[str]) -> None:
    for node in list(body):
        before: list[ast.stmt] = []
        for items in _long_in(node):
            for k, item in enumerate(items):
                if _jumps(item):
                    name = next(names)
                    before.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], item), node))
                    items[k] = ast.Name(name, ast.Load())
        at = body.index(node)
        body[at:at] = before
        for inner in (getattr(node, part, None) for part in ("body", "orelse")):
            if inner:
                _block(inner, names)
