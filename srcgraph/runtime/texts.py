"""Functions made of text, whose source can be found."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from srcgraph.errors import Loc
from srcgraph.frontend.session import PLACE


def function_of(text: str, name: str, about: str, space: Mapping[str, Any], like: Any = None) -> FunctionType:
    """The function ``name`` that ``text`` defines, in which ``space`` has the names.

    Parameters
    ----------
    about : str
        What the function is, for tracebacks.
    like : function, optional
        The user's, of which it takes over the name, the docstring and the place.
    """
    file = f"<{about} {hashlib.sha256(text.encode()).hexdigest()[:6]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = dict(space)
    exec(compile(text, file, "exec"), scope)
    made = scope[name]
    if like is not None:
        for kept in ("__module__", "__qualname__", "__doc__"):
            setattr(made, kept, getattr(like, kept, None) or getattr(made, kept))
        vars(made)[PLACE] = place_of(like)
    return made


def place_of(function: Any) -> Loc | None:
    """Where a user's function begins."""
    inner = getattr(function, "py_func", getattr(function, "func", function))
    known = getattr(inner, PLACE, None)
    code = getattr(inner, "__code__", None)
    return known or (Loc(code.co_filename, code.co_firstlineno) if code is not None else None)


def unlike(name: str, taken: Any) -> str:
    """A name that is not taken."""
    while name in taken:
        name += "_"
    return name
