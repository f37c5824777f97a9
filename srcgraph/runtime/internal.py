"""Compiled functions that only compiled functions call: numba makes nothing for calls from Python."""

from __future__ import annotations

from typing import Any, NoReturn

from numba.core.dispatcher import Dispatcher


def internal(function: Dispatcher) -> Dispatcher:
    """Let numba make neither wrapper of what it compiles of a function, which are a fifth of its work.

    A call from Python is refused; numba itself would jump to address 0.
    """

    def add_overload(compiled: Any) -> None:
        function.overloads[tuple(compiled.signature.args)] = compiled

    def refuse(*args: Any, **keywords: Any) -> NoReturn:
        raise TypeError(f"{function.__name__} is called by generated code only; call its py_func")

    function.targetoptions |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    function.add_overload = add_overload  # type: ignore[method-assign]
    function._compile_for_args = refuse  # type: ignore[attr-defined]
    return function
