"""Functions that a kernel stands for where their values are computed."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from numba.core.dispatcher import Dispatcher

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.custom import Custom
from srcgraph.runtime.custom import CustomFunction
from srcgraph.runtime.kernel_types import is_off


class NativeFunction(CustomFunction):
    """What `native` makes of a function.

    Attributes
    ----------
    kernel : Dispatcher
        What generated code calls.
    """

    kind = "native"

    def __init__(self, function: Callable, kernel: Any):
        super().__init__(function)
        self.kernel = kernel
        self.custom = Custom(self.custom.name, self.custom.functions, self.reverse, kernel=kernel)


def native(kernel: Any) -> Callable[[Callable], NativeFunction]:
    """Let a function of your own, compiled by numba, run where generated code calls a function.

    Parameters
    ----------
    kernel : Dispatcher
        What ``@numba.njit`` makes of a function, without a signature. It takes the arguments of the function by
        position, numbers, arrays, tuples of these and literals, and returns what that returns, in new arrays.

    Returns
    -------
    callable
        A decorator for the function, plain Python that says what the kernel computes.

    Raises
    ------
    ArgumentError
        ``kernel`` is not a function compiled by ``@numba.njit``, or compiled for the types of a signature only.

    Notes
    -----
    A derivative is that of the function: where it passes through a call, the function is compiled as it is written,
    and the kernel is called for values alone. `checkpoint` of it calls the kernel in the forward sweep, too.
    ``mode=FAST_RUN.excluding("native")`` leaves kernels out. ``mode="DEBUG"`` and ``verify=True`` compare what they
    give with what the functions give, and name the one that differs. Called from Python it is the function itself.

    The types of what a kernel returns are compared with the function's when a call is compiled, and lengths when it
    runs. Arrays reach it in C order, copied if they lie otherwise. One that stores into arguments, or returns them, is
    refused where numba's types tell, and found by ``DEBUG`` else. A function is refused that stores into its
    arguments, prints, draws random numbers, or reads from outside what may change. What raises in the function, such as
    an index out of range, the kernel has to check itself.

    Examples
    --------
    >>> @numba.njit
    ... def fast_norm(x):
    ...     total = 0.0
    ...     for item in x:
    ...         total += item * item
    ...     return np.sqrt(total)
    >>> @native(fast_norm)
    ... def norm(x):
    ...     return np.sqrt(np.sum(x * x))
    >>> grad(norm)(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    if is_off() and isinstance(kernel, types.FunctionType):  # nothing is compiled then: the function is called
        return lambda function: NativeFunction(function, kernel)
    if not isinstance(kernel, Dispatcher) or not kernel.targetoptions.get("nopython"):
        hint = "decorate it with @numba.njit" if callable(kernel) else "@sg.native(kernel) takes the kernel first"
        raise ArgumentError(Problem(f"native takes a function compiled by @numba.njit, not {kernel!r}", hint=hint))
    if not getattr(kernel, "_can_compile", True):
        why = f"native: {kernel.__name__} is compiled for the types of a signature only"
        raise ArgumentError(Problem(why, hint="leave it out: @numba.njit"))
    return lambda function: NativeFunction(function, kernel)
