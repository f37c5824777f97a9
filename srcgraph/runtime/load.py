"""Generated text to a function, so that tracebacks, pdb and profilers show the text."""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable
from typing import Any


def load(text: str, name: str) -> tuple[Callable[..., Any], str]:
    """Execute a generated module and return the function in it, and the file name of its text."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    file = f"<srcgraph {name} {digest}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": f"srcgraph_generated_{digest}"}
    exec(compile(text, file, "exec"), namespace)
    return namespace[name], file
