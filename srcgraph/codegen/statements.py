"""The statements, the names and the nodes in a piece of a syntax tree, in less time than `ast.walk` takes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence, Set
from operator import attrgetter
from typing import Any


def defined(name: str, params: Sequence[str], body: list[ast.stmt], decorators: Sequence[ast.expr]) -> ast.FunctionDef:
    """A function of arguments by their names."""
    args = ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, [])
    # without `type_params`, nodes of Python 3.12 lack an attribute that 3.11 has not and 3.13 fills in
    return ast.FunctionDef(name, args, body, list(decorators), None, lineno=0, type_params=[])  # pyright: ignore[reportCallIssue]


def statements_in(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a block, and those inside it, in no particular order."""
    todo = list(block)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, ast.If | ast.For | ast.While):
            todo += node.body
            todo += node.orelse


_PURE = frozenset((
    "abs", "bool", "complex", "float", "int", "len", "max", "min", "range", "maximum", "minimum",
))  # fmt: skip


def target_name(s: ast.stmt) -> str:
    """The only name that a statement assigns to; "" if it is no such assignment."""
    match s:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


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
_SAID = frozenset(("arg", "attr", "id", "name", "op", "ops"))
"""Of these, what makes a difference."""


class _Getters(dict[type, Callable[[Any], tuple[Any, ...]] | None]):
    """By kind of node: what gets some of its fields; None for nodes without any."""

    def __init__(self, fields: Callable[[type], Sequence[str]]):
        self.fields = fields

    def __missing__(self, kind: type) -> Callable[[Any], tuple[Any, ...]] | None:
        names = self.fields(kind) if issubclass(kind, ast.AST) else ()
        getter = attrgetter(*names) if names else None
        self[kind] = found = (lambda node: (getter(node),)) if getter and len(names) == 1 else getter
        return found


def _inner(kind: type[ast.AST]) -> Sequence[str]:
    """The fields that may have nodes with names in them."""
    leaf = issubclass(kind, ast.Constant | ast.Name)
    return [] if leaf else [name for name in kind._fields if name not in _LEAVES]


_INNER = _Getters(_inner)
_OTHERS = _Getters(lambda kind: [name for name in kind._fields if name in _SAID])


def nodes_in(*trees: ast.AST) -> Iterator[ast.AST]:
    """Every statement and expression in these trees, in no particular order."""
    todo: list[Any] = list(trees)
    while todo:
        node = todo.pop()
        if node.__class__ is list:
            todo += node
        elif isinstance(node, ast.AST):
            yield node
            get = _INNER[node.__class__]
            if get is not None:
                todo += get(node)


def names_in(*trees: ast.AST) -> Iterator[ast.Name]:
    """Every use of a name in these trees, in no particular order."""
    todo: list[Any] = list(trees)
    while todo:
        node = todo.pop()
        kind = node.__class__
        get = _INNER[kind]
        if get is not None:
            todo += get(node)
        elif kind is list:
            todo += node
        elif isinstance(node, ast.Name):
            yield node


def form_of(*trees: ast.AST) -> tuple[Any, ...]:
    """The same for trees that are written in the same way, as `ast.dump` is, in less time."""
    todo: list[Any] = list(trees)
    out: list[Any] = []
    while todo:
        node = todo.pop()
        kind = node.__class__
        out.append(kind)
        if kind is list:
            out.append(len(node))
            todo += node
        elif issubclass(kind, ast.Constant):
            out += (node.value.__class__, repr(node.value))
        elif issubclass(kind, ast.AST):
            said = _OTHERS[kind]
            for value in said(node) if said is not None else ():
                out.append(value if isinstance(value, str) else _kinds(value))
            get = _INNER[kind]
            if get is not None:
                todo += get(node)
        elif node is not None:
            out.append(node)
    return tuple(out)


def _kinds(value: Any) -> Any:
    """An operator by its kind, or several."""
    return tuple(type(v) for v in value) if isinstance(value, list) else type(value)


def without(body: Sequence[ast.stmt], left_out: Set[ast.stmt]) -> list[ast.stmt]:
    """The statements, but for some; those that have others inside are new."""
    out: list[ast.stmt] = []
    for s in body:
        if s in left_out:
            continue
        inner = {part: without(getattr(s, part), left_out) for part in ("body", "orelse") if getattr(s, part, None)}
        if inner:
            s = copy.copy(s)
            for part, statements in inner.items():
                setattr(s, part, statements)
        out.append(s)
    return out
