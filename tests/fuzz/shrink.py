"""Make a program smaller while it goes wrong in the same way."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Keeps = Callable[[str], bool]


def shrink(text: str, keeps: Keeps, tries: int = 600) -> str:
    """The smallest text found for which ``keeps`` holds, by removing and replacing parts of its syntax tree.

    Parameters
    ----------
    keeps : callable
        Whether a text still shows the fault.
    tries : int
        How often that may be asked.

    References
    ----------
    Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, IEEE TSE 28 (2002).
    """
    text = ast.unparse(ast.parse(text))
    asked: set[str] = {text}
    while True:
        for smaller in candidates(text):
            if smaller in asked or len(asked) > tries:
                continue
            asked.add(smaller)
            if keeps(smaller):
                text = smaller
                break
        else:
            return text


def candidates(text: str) -> Iterator[str]:
    """Programs a step smaller, those with most removed first."""
    for edit in (without_statements, without_nesting, without_parameters, simpler_expressions):
        yield from edit(ast.parse(text))


def _texts(tree: ast.Module, changes: Iterator[None]) -> Iterator[str]:
    """The program after each change; whoever changes the tree restores it."""
    for _ in changes:
        try:
            yield ast.unparse(ast.fix_missing_locations(tree))
        except Exception:  # not a program
            continue


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def without_statements(tree: ast.Module) -> Iterator[str]:
    """Without half of a block, a quarter, ..., one statement."""

    def changes() -> Iterator[None]:
        for block in list(_blocks(tree)):
            kept = block[:]
            size = len(kept)
            while size:
                for start in range(0, len(kept), size):
                    block[:] = kept[:start] + kept[start + size :]
                    if block or _may_be_empty(tree, block):
                        yield
                    block[:] = kept
                size //= 2

    return _texts(tree, changes())


def _may_be_empty(tree: ast.AST, block: list[ast.stmt]) -> bool:
    return any(getattr(n, "orelse", None) is block for n in ast.walk(tree)) or tree.body is block  # type: ignore[attr-defined]


def without_nesting(tree: ast.Module) -> Iterator[str]:
    """With a branch or loop replaced by what is in it, an assignment by its value."""

    def changes() -> Iterator[None]:
        for block in list(_blocks(tree)):
            kept = block[:]
            for k, node in enumerate(kept):
                if isinstance(node, ast.Assign | ast.AugAssign):
                    block[k] = ast.Expr(node.value)
                    yield
                    block[:] = kept
                for inner in (getattr(node, "body", None), getattr(node, "orelse", None)):
                    if isinstance(node, ast.If | ast.For | ast.While) and inner:
                        block[:] = [*kept[:k], *inner, *kept[k + 1 :]]
                        yield
                        block[:] = kept

    return _texts(tree, changes())


def without_parameters(tree: ast.Module) -> Iterator[str]:
    def changes() -> Iterator[None]:
        main = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "f")
        kept = main.args.args[:]
        for k in range(len(kept)):
            main.args.args = kept[:k] + kept[k + 1 :]
            yield
        main.args.args = kept

    return _texts(tree, changes())


def simpler_expressions(tree: ast.Module) -> Iterator[str]:
    """With an expression replaced by a part of it or by a small number."""

    def changes() -> Iterator[None]:
        for node in list(ast.walk(tree)):
            for field, old in ast.iter_fields(node):
                if field == "func":  # nothing else can be called
                    continue
                for place, item in enumerate(old) if isinstance(old, list) else [(None, old)]:
                    if not isinstance(item, ast.expr) or isinstance(getattr(item, "ctx", None), ast.Store | ast.Del):
                        continue
                    for new in _parts(item):
                        _put(node, field, place, new)
                        yield
                    _put(node, field, place, item)

    return _texts(tree, changes())


def _put(node: ast.AST, field: str, place: int | None, new: ast.expr) -> None:
    if place is None:
        setattr(node, field, new)
    else:
        getattr(node, field)[place] = new


def _parts(item: ast.expr) -> Iterator[ast.expr]:
    if isinstance(item, ast.Constant):
        if item.value not in (0, 1, 1.0, True):
            yield ast.Constant(1.0 if isinstance(item.value, float) else 1)
        return
    for child in ast.iter_child_nodes(item):
        if isinstance(child, ast.expr) and not isinstance(child, ast.Slice):
            yield copy.deepcopy(child)
    if not isinstance(item, ast.Slice):
        yield ast.Constant(1)
        yield ast.Constant(1.0)
