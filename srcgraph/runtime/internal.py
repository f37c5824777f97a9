"""Compiled functions that compiled functions call: numba makes nothing for calls from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.dispatcher import Dispatcher

GENERATED = "srcgraph_generated_"
"""How the names of modules of generated text begin."""


def internal(function: Dispatcher) -> Dispatcher:
    """Let numba make neither wrapper of what it compiles of a function, which are a fifth of its work.

    A call from Python runs it as it is written; numba itself would jump to address 0.
    """

    def add_overload(compiled: Any) -> None:
        function.overloads[tuple(compiled.signature.args)] = compiled

    def as_written(*args: Any, **keywords: Any) -> Callable[..., Any]:
        return function.py_func

    function.targetoptions |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    function.add_overload = add_overload  # type: ignore[method-assign]
    function._compile_for_args = as_written  # type: ignore[attr-defined]
    return function
