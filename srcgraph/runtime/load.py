"""Generated text to a function, so that tracebacks, pdb and profilers show the text."""

from __future__ import annotations

import hashlib
import linecache
import sys
import types
from collections.abc import Callable
from typing import Any


def load(text: str, name: str) -> tuple[Callable[..., Any], str]:
    """Execute a generated module and return the function in it, and the file name of its text."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    file = f"<srcgraph {name} {digest}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = types.ModuleType(f"srcgraph_generated_{digest}")
    sys.modules[module.__name__] = module  # where numba looks for functions that call themselves
    exec(compile(text, file, "exec"), module.__dict__)
    return getattr(module, name), file
