"""Generated text to a function, so that tracebacks, pdb and profilers show the text."""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

_lock = threading.RLock()


def _unlock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)  # a thread that held it is not in the child


def load(text: str, name: str) -> tuple[Callable[..., Any], str]:
    """Execute a generated module and return the function in it, and the file name of its text.

    A text is executed once, so that what is compiled of it, or read from disk, is in a process once.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = f"<srcgraph {name} {digest[:12]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    with _lock:  # of several threads the first makes it
        module = sys.modules.get(f"srcgraph_generated_{digest}")
        if module is None:
            module = types.ModuleType(f"srcgraph_generated_{digest}")
            sys.modules[module.__name__] = module  # where numba looks for functions that call themselves
            exec(compile(text, file, "exec"), module.__dict__)
    return getattr(module, name), file
