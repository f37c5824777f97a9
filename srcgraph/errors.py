"""Where something is in the user's source, and how a mistake there is reported.

This module imports nothing of the package. Every user mistake is a `SrcgraphError` holding one or
more `Problem` records; each prints the place, the line with a caret, what is known, and a hint.
"""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in source text: 1-based lines, 0-based columns, end exclusive, as in `ast`."""

    file: str
    line: int
    col: int = 0
    end_line: int | None = None
    end_col: int | None = None

    def __str__(self) -> str:
        return f"{short_path(self.file)}:{self.line}:{self.col + 1}"


def short_path(path: str) -> str:
    """Return ``path`` relative to the working directory where it lies below it."""
    if path.startswith("<"):
        return path
    if os.path.basename(os.path.dirname(path)).startswith("ipykernel_"):  # a notebook's cell
        return "cell"
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # another drive
        return path
    return path if relative.startswith("..") else relative


def excerpt(loc: Loc) -> str:
    """Return the source line of ``loc`` with carets below the part it covers, or ''."""
    text = linecache.getline(loc.file, loc.line).rstrip("\n")
    if not text.strip():
        return ""
    start = _char_column(text, loc.col)
    one_line = loc.end_col is not None and loc.end_line == loc.line
    stop = _char_column(text, loc.end_col) if one_line and loc.end_col is not None else len(text)
    carets = "^" * max(1, stop - start)
    return f"{loc.line:6d} | {text}\n       | {' ' * start}{carets}"


def _char_column(text: str, byte_column: int) -> int:
    """Python counts columns in UTF-8 bytes; carets need characters."""
    return len(text.encode()[:byte_column].decode(errors="ignore"))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong at one place.

    Parameters
    ----------
    message : str
        What is wrong, in the user's words.
    loc : Loc or None
        Where; None when the problem is with a call, not with a line.
    notes : tuple of str
        What was inferred, and from where.
    hint : str
        What to write instead; may be empty.
    kind : type
        The error class that reports it.
    """

    message: str
    loc: Loc | None = None
    notes: tuple[str, ...] = ()
    hint: str = ""
    kind: type[SrcgraphError] | None = field(default=None, compare=False)

    def render(self) -> str:
        lines = [f"{self.loc}: {self.message}" if self.loc else self.message]
        if self.loc and (shown := excerpt(self.loc)):
            lines.append(shown)
        lines += [f"note: {note}" for note in self.notes]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class SrcgraphError(Exception):
    """Base of all errors a user of the package can cause; ``problems`` lists each one."""

    def __init__(self, problems: Problem | list[Problem] | str):
        if isinstance(problems, str):
            problems = [Problem(problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems = list(problems)
        super().__init__("\n".join(problem.render() for problem in self.problems))

    def __reduce__(self):
        return type(self), (self.problems,)


class UnsupportedError(SrcgraphError, NotImplementedError):
    """A construct of the language or of NumPy that is not supported; the message names its line."""


class InferenceError(SrcgraphError, TypeError):
    """Types that do not fit, found while compiling."""


class ShapeError(SrcgraphError, ValueError):
    """Shapes that can never fit, found while compiling."""


class ArgumentError(SrcgraphError, TypeError):
    """An argument of a call that cannot be used; the message names the argument."""


class OverlapError(SrcgraphError, ValueError):
    """Two array arguments share memory in part and one of them is written to."""


class DerivativeError(SrcgraphError, TypeError):
    """Something that has no derivative, with the reason."""


class VerificationError(SrcgraphError, ArithmeticError):
    """A derivative is not what differences give, or a kernel does not give what its function does.

    The message names the first statement that makes it so, or the kernel.
    """


class SourceError(SrcgraphError, OSError):
    """The source of a function cannot be found, or is not what is running."""


class TextError(SrcgraphError, ValueError):
    """A text, or a document, that is no graph; the message names the line or the place."""


class InternalError(SrcgraphError, AssertionError):
    """A defect of srcgraph itself, found by its own checks. Please report it."""


def raise_all(problems: list[Problem]) -> None:
    """Raise one error that lists all ``problems`` in source order; its class is the first one's."""
    if not problems:
        return
    ordered = sorted(dict.fromkeys(problems), key=_source_order)
    raise (ordered[0].kind or UnsupportedError)(ordered)


def _source_order(problem: Problem) -> tuple[str, int, int]:
    loc = problem.loc
    return (loc.file, loc.line, loc.col) if loc else ("", 0, 0)
