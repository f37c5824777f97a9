"""Run a function one instruction at a time, without compiling it."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from srcgraph.runtime.api import Compiled, as_function, compile, method_of
from srcgraph.runtime.engines.eager import Eager


def run(function: Callable, /, *, trace: bool | Callable[[str], None] = False) -> Any:
    """Run a function one instruction of its graph at a time, with NumPy and without numba.

    Parameters
    ----------
    function : function or Compiled
        A plain function, or what `compile`, `grad` or the like made of one.
    trace : bool or callable
        Whether to print each instruction when it has run, in the form of `srcgraph.ir.instructions`, with its values
        behind a ``#``; or what to call with each such line, `breakpoint` among other things.

    Returns
    -------
    Compiled
        Called as the function is.

    Examples
    --------
    >>> run(lambda x: x * x + 1.0, trace=True)(3.0)
    1 new x1(ndim=0, dtype=float64, weak)  # 3.0
    2 mul x2(ndim=0, dtype=float64, weak) x1 x1  # 9.0
    3 const x3(ndim=0, dtype=float64, weak) value=1.0  # 1.0
    4 add x4(ndim=0, dtype=float64, weak) x2 x3  # 10.0
    5 return x4  # 10.0
    10.0
    """
    if (method := method_of(function)) is not None:
        return types.MethodType(run(method.__func__, trace=trace), method.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(run(function.func, trace=trace), *function.args, **function.keywords)
    compiled = compile(function)
    engine = Eager(print if trace is True else trace or None)
    options = replace(compiled.options, engine=engine)
    return Compiled(as_function(compiled), compiled.transforms, compiled.source, options)
