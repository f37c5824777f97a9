"""The statements, the names and the nodes in a piece of a syntax tree, in less time than `ast.walk` takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any


def statements_in(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a block, and those inside it, in no particular order."""
    todo = list(block)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, ast.If | ast.For | ast.While):
            todo += node.body
            todo += node.orelse


_PURE = frozenset(("abs", "bool", "complex", "float", "int", "len", "max", "min", "range"))


def is_pure(node: ast.AST) -> bool:
    """Whether all that is called in a statement are functions of numbers, which neither change nor draw anything."""
    return all(_is_function(n.func) for n in ast.walk(node) if isinstance(n, ast.Call))


def _is_function(called: ast.expr) -> bool:
    match called:
        case ast.Name(id=name):
            return name in _PURE
        case ast.Attribute(value=ast.Name(id="np" | "math")):
            return True
    return False


_LEAVES = frozenset(("arg", "attr", "ctx", "id", "kind", "n", "name", "op", "ops", "type_comment"))


class _Fields(dict[type, tuple[str, ...]]):
    """By kind of node: the fields that may have nodes with names in them."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        inner = issubclass(kind, ast.AST) and not issubclass(kind, ast.Constant | ast.Name)
        self[kind] = found = tuple(name for name in kind._fields if name not in _LEAVES) if inner else ()
        return found


_FIELDS = _Fields()


def nodes_in(*trees: ast.AST) -> Iterator[ast.AST]:
    """Every statement and expression in these trees, in no particular order."""
    todo: list[Any] = list(trees)
    while todo:
        node = todo.pop()
        if node.__class__ is list:
            todo += node
        elif isinstance(node, ast.AST):
            yield node
            todo += [getattr(node, name) for name in _FIELDS[node.__class__]]


def names_in(*trees: ast.AST) -> Iterator[ast.Name]:
    """Every use of a name in these trees, in no particular order."""
    todo: list[Any] = list(trees)
    while todo:
        node = todo.pop()
        kind = node.__class__
        fields = _FIELDS[kind]
        if fields:
            todo += [getattr(node, name) for name in fields]
        elif kind is list:
            todo += node
        elif isinstance(node, ast.Name):
            yield node
