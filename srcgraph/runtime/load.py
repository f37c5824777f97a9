"""Generated text to a function, so that tracebacks, pdb and profilers show the text.

Whether the function runs without Python's lock is decided here, too.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import re
import sys
import threading
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numba.core.compiler
from numba.core.dispatcher import Dispatcher
from numba.core.types import unliteral

from srcgraph.runtime.compiler import Compiler
from srcgraph.runtime.internal import GENERATED, internal

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
        module = sys.modules.get(GENERATED + digest)
        if module is None:
            module = types.ModuleType(GENERATED + digest)
            sys.modules[module.__name__] = module  # where numba looks for functions that call themselves
            exec(compile(text, file, "exec"), module.__dict__)
            made = _made(module)
            recursive = _recursive(made)
            if _releases(text, recursive):
                for function in made.values():  # numba knows functions that call each other by their options, too
                    function.targetoptions["nogil"] = True
            for function in made.values():
                _compiled_as_written(function)
            for function in () if _mutually(made) else made.values():
                if function is not getattr(module, name):
                    internal(function)  # called by the entry, or by itself
    return getattr(module, name), file


_LONG = re.compile(r"^ +(for|while) |^from srcgraph\.runtime\.(?!arrays|blocks|integers|known|vector)", re.MULTILINE)
"""Loops, or helpers that may have some. What is shorter is done before Python's lock is given up and taken again."""
_SHARING = re.compile(r"^from srcgraph\.runtime\.(random|natives) ", re.MULTILINE)
"""Draws change the state of a generator, which other threads may have too; kernels of the user's are the user's."""


def _releases(text: str, recursive: bool) -> bool:
    """Whether the function of a module runs without Python's lock, so that threads call it at once."""
    return (recursive or bool(_LONG.search(text))) and not _SHARING.search(text)


def _compiled_as_written(function: Dispatcher) -> None:
    """By `Compiler`, unless it names one of its own, and without what is for pointers to it, which nobody takes.

    It is compiled for types alone, also where it is called with a literal.
    """
    function.targetoptions["no_cfunc_wrapper"] = True
    made_by: Any = function._compiler  # type: ignore[attr-defined]
    made_by.fold_argument_types = partial(_of_any_value, made_by.fold_argument_types)
    if made_by.pipeline_class is numba.core.compiler.Compiler:
        made_by.pipeline_class = Compiler


def _of_any_value(usual: Callable[..., Any], args: Any, keywords: Any) -> Any:
    """The signature of a call and the types of its arguments, none of which is the type of one value."""
    signature, kinds = usual(args, keywords)
    return signature, tuple(map(unliteral, kinds))


def _made(module: types.ModuleType) -> dict[str, Dispatcher]:
    """The functions of a module that numba compiles, in their order."""
    return {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__
    }


def _recursive(made: dict[str, Dispatcher]) -> bool:
    """Whether functions call themselves, or each other."""
    return _mutually(made) or any(key in function.py_func.__code__.co_names for key, function in made.items())


def _mutually(made: dict[str, Dispatcher]) -> bool:
    """Whether functions call each other: numba looks for what comes later when both are machine code."""
    order = list(made)
    return any(not set(order[k + 1 :]).isdisjoint(made[key].py_func.__code__.co_names) for k, key in enumerate(order))
