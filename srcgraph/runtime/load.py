"""Generated text to a function, so that tracebacks, pdb and profilers show the text."""

from __future__ import annotations

import hashlib
import linecache
import sys
import types
from collections.abc import Callable
from typing import Any


def load(text: str, name: str) -> tuple[Callable[..., Any], str]:
    """Execute a generated module and return the function in it, and the file name of its text.

    A text is executed once, so that what is compiled of it, or read from disk, is in a process once.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = f"<srcgraph {name} {digest[:12]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    known = sys.modules.get(f"srcgraph_generated_{digest}")
    if known is not None:
        return getattr(known, name), file
    module = types.ModuleType(f"srcgraph_generated_{digest}")
    sys.modules[module.__name__] = module  # where numba looks for functions that call themselves
    exec(compile(text, file, "exec"), module.__dict__)
    return getattr(module, name), file
