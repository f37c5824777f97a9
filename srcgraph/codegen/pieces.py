"""Pieces of statements that are written here, not taken from the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Set


def assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=0)


def call(function: str, args: Iterable[ast.expr]) -> ast.Call:
    return ast.Call(ast.Name(function, ast.Load()), list(args), [])


def loaded(names: Iterable[str]) -> list[ast.expr]:
    return [ast.Name(n, ast.Load()) for n in names]


def free_name(base: str, taken: Set[str]) -> str:
    """A name that is not taken: ``parts``, or ``parts_2``."""
    name, k = base, 1
    while name in taken:
        k += 1
        name = f"{base}_{k}"
    return name
