"""Derivatives of what a solver finds, whatever it did to find it: by the implicit function theorem.

Where ``F(x, a) = 0``, ``F_x dx + F_a da = 0``: how ``x`` moves with ``a`` is the solution of a linear system at ``x``.

References
----------
Blondel et al., "Efficient and modular implicit differentiation", NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter
from typing import Any

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend import implicit
from srcgraph.runtime.api import compile as compiled
from srcgraph.runtime.custom import CustomJvp
from srcgraph.runtime.derivatives import jvp
from srcgraph.runtime.texts import function_of, place_of
from srcgraph.runtime.written import parameters_of

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_SPACE = {"along_": implicit.along, "newton_": implicit.newton, "iterated_": implicit.iterated, "jvp_": jvp}


def root(residual: Callable, solve: Callable | None = None, *, tolerance: float = 1e-12, steps: int = 100) -> Any:
    """A function that finds ``x`` with ``residual(x, *args) == 0``, and is differentiated through that equation.

    Parameters
    ----------
    residual : function
        ``residual(x, *args)``: as many floats as ``x`` has, a number or an array.
    solve : function, optional
        ``solve(x0, *args)`` finds a root, starting from ``x0``; its steps are not differentiated. Newton's method if
        there is none, until a step is shorter than ``tolerance`` times ``1 + max(abs(x))``.
    tolerance, steps : float, int
        When Newton's method ends, and after how many steps it raises RuntimeError.

    Returns
    -------
    function
        Called as ``solve`` is, from Python or inside compiled functions. Its derivatives, of any mode and order, are
        those of the root with respect to ``args``; that with respect to ``x0`` is 0. They are right where the root is
        one, and ``F_x``, a matrix with a row and a column for each number of ``x``, is not singular.

    Examples
    --------
    >>> cube_root = implicit.root(lambda x, a: x**3 - a)
    >>> round(float(cube_root(1.0, 8.0)), 9), round(float(grad(cube_root, argnums=1)(1.0, 8.0)), 9)
    (2.0, 0.083333333)
    """
    names = _names(residual, "residual")
    given, rest = ", ".join(names), "".join(f"{n}, " for n in names[1:])
    found: Any = solve
    if solve is None:
        space = {**_SPACE, "residual_": residual, "tolerance_": float(tolerance), "steps_": int(steps)}
        text = f"def newton({given}):\n    return newton_(residual_, {names[0]}, ({rest}), jvp_, tolerance_, steps_)\n"
        found = compiled(function_of(text, "newton", "Newton's method", space, like=residual))
    return _solution(residual, found, names, "root")


def fixed_point(step: Callable, solve: Callable | None = None, *, tolerance: float = 1e-12, steps: int = 10000) -> Any:
    """A function that finds ``x`` with ``step(x, *args) == x``, and is differentiated through that equation.

    Parameters
    ----------
    step : function
        ``step(x, *args)``: something like ``x``, a float or an array of floats.
    solve : function, optional
        ``solve(x0, *args)`` finds a fixed point, starting from ``x0``; its steps are not differentiated. If there is
        none, ``step`` is applied until ``x`` moves by less than ``tolerance`` times ``1 + max(abs(x))``.
    tolerance, steps : float, int
        When that ends, and after how many steps it raises RuntimeError.

    Returns
    -------
    function
        See `root`, which it is, of ``step(x, *args) - x``.

    Examples
    --------
    >>> square_root = implicit.fixed_point(lambda x, a: 0.5 * (x + a / x))
    >>> round(float(grad(square_root, argnums=1)(1.0, 4.0)), 9)
    0.25
    """
    names = _names(step, "step")
    given, rest = ", ".join(names), "".join(f"{n}, " for n in names[1:])
    text = f"def residual({given}):\n    return step_({given}) - {names[0]}\n"
    residual = function_of(text, "residual", "residual of", {"step_": step}, like=step)
    found: Any = solve
    if solve is None:
        space = {**_SPACE, "step_": step, "tolerance_": float(tolerance), "steps_": int(steps)}
        text = f"def iterated({given}):\n    return iterated_(step_, {names[0]}, ({rest}), tolerance_, steps_)\n"
        found = compiled(function_of(text, "iterated", "iteration of", space, like=step))
    return _solution(residual, found, names, "fixed_point")


def _solution(residual: Callable, solve: Callable, names: Sequence[str], name: str) -> CustomJvp:
    """``solve``, with a rule for derivatives."""
    given = ", ".join(names)
    text = f"def {name}({given}):\n    return solve_({given})\n"
    solution = CustomJvp(function_of(text, name, f"{name} of", {"solve_": solve}, like=solve))
    moving = "along_(residual_, x, primals[1:], tangents[1:], jvp_)" if len(names) > 1 else "None"
    text = f"def rule(primals, tangents):\n    x = solution_(*primals)\n    return x, {moving}\n"
    space = {**_SPACE, "residual_": residual, "solution_": solution}
    solution.defjvp(function_of(text, "rule", "derivative of", space, like=residual))
    return solution


def _names(function: Any, what: str) -> list[str]:
    """What a function calls its arguments: ``x`` and those the solution depends on."""
    if not callable(function):
        raise ArgumentError(f"implicit: the {what} is {function!r}, not a function")
    parameters = parameters_of(function)
    if not parameters or any(p.kind not in _POSITIONAL for p in parameters):
        hint = f"write it as a function of x and the arguments by position: def {what}(x, a, b)"
        raise ArgumentError(
            Problem(f"implicit: the {what} takes other than positional arguments", place_of(function), hint=hint)
        )
    return [p.name for p in parameters]
