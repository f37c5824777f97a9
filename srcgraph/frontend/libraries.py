"""Functions of installed packages are compiled from their source; what is wrong in it is told where the user calls."""

from __future__ import annotations

import functools
import os
import sysconfig
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from srcgraph.errors import Loc, Problem, SrcgraphError, excerpt
from srcgraph.frontend.memory import Refusal
from srcgraph.frontend.session import FunctionCode

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

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
        raise Refusal(_of_call(code.name, code.globals, loc, refusal.problem)) from None
    if len(problems) > known:
        problems[known:] = [_of_call(code.name, code.globals, loc, problems[known])]


def code_of(low: Lowering, function: types.FunctionType) -> FunctionCode:
    """What is lowered of a function; what cannot be of a package's is told to the user who calls it."""
    try:
        return low.session.code_of(function)
    except SrcgraphError as error:
        if not is_installed(function.__code__.co_filename) or is_installed(low.code.file):
            raise
        problem = _of_call(function.__name__, function.__globals__, low.loc, error.problems[0])
        raise Refusal(replace(problem, kind=type(error))) from None


def _of_call(name: str, names: Mapping[str, Any], loc: Loc | None, problem: Problem) -> Problem:
    """A problem in a package's function, for whoever called it and can change nothing there."""
    package = str(names.get("__name__", "")).split(".")[0]
    shown = excerpt(problem.loc) if problem.loc else ""
    note = f"{problem.loc}: {problem.message}" if problem.loc else problem.message
    return Problem(
        f"{name}() of {package} cannot be compiled from its source",
        loc,
        (f"{note}\n{shown}" if shown else note,),
        "call it outside, and pass what it gives",
        problem.kind,
    )
