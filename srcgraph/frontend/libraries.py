"""Functions of installed packages are compiled from their source; what is wrong in it is told where the user calls."""

from __future__ import annotations

import functools
import os
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager

from srcgraph.errors import Loc, Problem, excerpt
from srcgraph.frontend.memory import Refusal
from srcgraph.frontend.session import FunctionCode

_HOMES = ("stdlib", "platstdlib", "purelib", "platlib")


@functools.cache
def is_installed(file: str) -> bool:
    """Whether a file is in the folder of an installed package, or in Python's own."""
    path = os.path.realpath(file)
    return any(path.startswith(os.path.realpath(sysconfig.get_path(home)) + os.sep) for home in _HOMES)


@contextmanager
def told_at_call(caller: FunctionCode, code: FunctionCode, loc: Loc | None, problems: list[Problem]) -> Iterator[None]:
    """While a function is lowered that is called at ``loc``: what is wrong in a package's is told to the user there."""
    if code.is_library or not is_installed(code.file) or is_installed(caller.file):
        yield
        return
    known = len(problems)
    try:
        yield
    except Refusal as refusal:
        del problems[known:]
        raise Refusal(_of_call(code, loc, refusal.problem)) from None
    if len(problems) > known:
        problems[known:] = [_of_call(code, loc, problems[known])]


def _of_call(code: FunctionCode, loc: Loc | None, problem: Problem) -> Problem:
    """A problem in a package's function, for whoever called it and can change nothing there."""
    package = str(code.globals.get("__name__", "")).split(".")[0]
    shown = excerpt(problem.loc) if problem.loc else ""
    note = f"{problem.loc}: {problem.message}" if problem.loc else problem.message
    return Problem(
        f"{code.name}() of {package} cannot be compiled from its source",
        loc,
        (f"{note}\n{shown}" if shown else note,),
        "call it outside, and pass what it gives",
        problem.kind,
    )
