"""The user's functions that a graph comes from, as the parts of their files that hold them."""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from srcgraph.errors import Loc

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Whole lines of a file.

    Attributes
    ----------
    name : str
        Of the function they hold.
    file : str
    first : int
        Number of the first line.
    lines : tuple of str
    """

    name: str
    file: str
    first: int
    lines: tuple[str, ...]

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    def holds(self, other: Excerpt) -> bool:
        return self.file == other.file and self.first <= other.first and other.last <= self.last


def excerpts(main: Loc, places: Iterable[Loc]) -> list[Excerpt]:
    """The innermost function around each place, once, in order of first appearance.

    Parameters
    ----------
    main : Loc
        Where the function begins that comes first.
    places : iterable of Loc
    """
    trees: dict[str, list[FunctionNode]] = {}
    found: list[Excerpt] = []
    for loc in (main, *places):
        if any(e.file == loc.file and e.first <= loc.line <= e.last for e in found):
            continue
        if loc.file not in trees:
            trees[loc.file] = list(_functions(loc.file))
        found.append(_excerpt(_around(trees[loc.file], loc), loc))
    first, *rest = found
    return [first, *(e for e in rest if not any(o is not e and o.holds(e) for o in found))]


def _functions(file: str) -> Iterator[FunctionNode]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:  # gone, or edited since
        return
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode):
            yield node


def _around(functions: Iterable[FunctionNode], loc: Loc) -> FunctionNode | None:
    """The innermost function that holds a place."""
    inside = [f for f in functions if _start(f) <= (loc.line, loc.col) <= (f.end_lineno or 0, f.end_col_offset or 0)]
    return max(inside, key=_start, default=None)


def _start(node: FunctionNode) -> tuple[int, int]:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([(node.lineno, node.col_offset), *((d.lineno, 0) for d in decorators)])


def _excerpt(node: FunctionNode | None, loc: Loc) -> Excerpt:
    """A function's lines; the one line of the place where it is in no function."""
    name = "" if node is None else "lambda" if isinstance(node, ast.Lambda) else node.name
    first = loc.line if node is None else _start(node)[0]
    last = loc.line if node is None else node.end_lineno or loc.line
    lines = (linecache.getline(loc.file, k).rstrip("\r\n") for k in range(first, last + 1))
    return Excerpt(name, loc.file, first, tuple(lines))


def short_names(files: Iterable[str]) -> dict[str, str]:
    """Files to their base names; files of one base name are numbered."""
    names: dict[str, str] = {}
    for file in dict.fromkeys(files):
        base = os.path.basename(file)
        count = sum(os.path.basename(other) == base for other in names)
        names[file] = f"{base}#{count + 1}" if count else base
    return names
