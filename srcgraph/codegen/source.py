"""Text: the generated module, its line map, and the comments that name the user's lines."""

from __future__ import annotations

import ast
import io
import os
from dataclasses import dataclass
from typing import Any

import astunparse

from srcgraph.errors import Loc

INDENT = "    "


_SIMPLE = (ast.Assign, ast.AugAssign, ast.Return, ast.Raise, ast.Expr)
"""Statements of one line: the standard library writes ``u, v = v, u`` without parentheses."""


def simple_text(node: ast.stmt) -> str:
    """A one-line statement; tuples at the top level without parentheses."""
    match node:
        case ast.Assign(targets=[target], value=value):
            return f"{bare(target)} = {bare(value)}"
        case ast.Return(value=value) if value is not None:
            return f"return {bare(value)}"
        case ast.Expr(value=ast.Constant(value=str(text))):
            return f'"""{text}"""'
    return ast.unparse(node)


def bare(node: ast.expr) -> str:
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return ", ".join(map(ast.unparse, node.elts))
    return ast.unparse(node)


class Emitter(astunparse.Unparser):
    """Statements by astunparse, expressions by the standard library.

    astunparse prints ``a[:, 0]`` wrongly and adds many parentheses; `ast.unparse` has no public hook
    for statements. ``map`` collects (line of the text, line the statement came from).
    """

    def __init__(self, tree: ast.AST):
        self.line = 0
        self.map: list[tuple[int, int]] = []
        self.buffer = io.StringIO()
        super().__init__(tree, file=self.buffer)

    def fill(self, text: str = "") -> None:
        self.write("\n" + INDENT * self._indent + text)

    def write(self, text: str) -> None:
        self.line += text.count("\n")
        self.f.write(text)

    def dispatch(self, tree: Any) -> None:
        if isinstance(tree, ast.expr):
            self.write(ast.unparse(tree))
            return
        tree = _plain(tree)
        at = self.line + 1
        if isinstance(tree, _SIMPLE):
            self.fill(simple_text(tree))
        else:
            super().dispatch(tree)
        if isinstance(tree, ast.stmt) and getattr(tree, "lineno", 0):
            self.map.append((at, tree.lineno))


def _plain(tree: Any) -> Any:
    """A statement of Python's own, where it is of a class made from one: classes are found by name."""
    if not isinstance(tree, ast.stmt) or type(tree).__module__ == ast.stmt.__module__:
        return tree
    own = next(c for c in type(tree).__mro__ if c.__module__ == ast.stmt.__module__)
    return ast.copy_location(own(**dict(ast.iter_fields(tree))), tree)


class Places:
    """Numbers for the user's places, carried by statements in their ``lineno``; 0 is nowhere."""

    def __init__(self) -> None:
        self.known: list[Loc] = []
        self.numbers: dict[Loc, int] = {}

    def number(self, loc: Loc | None) -> int:
        if loc is None:
            return 0
        if loc not in self.numbers:
            self.known.append(loc)
            self.numbers[loc] = len(self.known)
        return self.numbers[loc]

    def __getitem__(self, number: int) -> Loc:
        return self.known[number - 1]


@dataclass(frozen=True, slots=True)
class Text:
    """Generated text.

    Attributes
    ----------
    text : str
    lines : dict
        Line of the text to the user's place it comes from.
    """

    text: str
    lines: dict[int, Loc]


def emit(module: ast.Module, places: Places) -> Text:
    """Write a module; each line ends in a comment that names the user's line it comes from."""
    emitter = Emitter(module)
    raw = emitter.buffer.getvalue().split("\n")
    start = next((k for k, line in enumerate(raw) if line.strip()), 0)
    came: dict[int, Loc] = {}
    for at, number in emitter.map:
        came.setdefault(at - start, places[number])
    out: list[str] = []
    lines: dict[int, Loc] = {}
    for k, line in enumerate(raw[start:]):
        if line.startswith("@"):
            out.append("")
        loc = came.get(k)
        out.append(line + _comment(line, loc) if loc is not None and line.strip() else line)
        if loc is not None:
            lines[len(out)] = loc
    return Text("\n".join(out).rstrip() + "\n", lines)


def _comment(line: str, loc: Loc) -> str:
    pad = max(2, 60 - len(line))
    return f"{' ' * pad}# {os.path.basename(loc.file)}:{loc.line}"
