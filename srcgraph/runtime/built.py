"""Gradients of numbers built of variables: what `sg.grad` and `sg.value_and_grad` give where there is no function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from srcgraph.errors import ArgumentError, Problem
from srcgraph.ir.ancestry import ancestors
from srcgraph.ir.graph import Step, Value
from srcgraph.ir.shared import Kind, SharedVariable
from srcgraph.ir.symbolic import variable_of, variables_of
from srcgraph.ir.types import ArrayType, is_float
from srcgraph.runtime.symbolic import gradients
from srcgraph.runtime.wrt import Unsaid


def is_built(x: Any) -> TypeGuard[Value | SharedVariable]:
    """Whether something is a variable, or built of variables, and no function."""
    return isinstance(x, Value | SharedVariable)


def of_built(cost: Value | SharedVariable, wrt: Any, order: str, options: Mapping[str, Any]) -> Any:
    """The gradients of a number built of variables, as variables, in the structure of ``wrt``.

    Parameters
    ----------
    cost : Value or SharedVariable
    wrt : Value or SharedVariable, or list or tuple of them
    order : {"gradient", "gradient, value", "value, gradient"}
        What is returned.
    options : mapping
        What else was given; all of that is for functions.

    Raises
    ------
    ArgumentError
        The cost is not one float, or not made of what it is differentiated with respect to; or that is no variable of
        floats.
    """
    number = _variable(cost)
    _refuse_options(options)
    _check_cost(number)
    several = isinstance(wrt, list | tuple)
    chosen = [_checked(number, v) for v in (wrt if several else [wrt])]
    if not chosen:
        raise ArgumentError("wrt is a variable, or a list or tuple of them: there is none")
    found = _gradients(number, chosen)
    made = [found[v] for v in chosen] if isinstance(wrt, list) else tuple(found[v] for v in chosen)
    made = made if several else found[chosen[0]]
    return {"gradient": made, "gradient, value": (made, number), "value, gradient": (number, made)}[order]


def _variable(x: Any) -> Any:
    return variable_of(x) if isinstance(x, SharedVariable) else x


def _refuse_options(options: Mapping[str, Any]) -> None:
    given = [n for n, v in options.items() if v is not None and v is not False and not isinstance(v, Unsaid)]
    if given:
        why = f"{given[0]} is given with a number built of variables: it is for functions"
        hints = {"argnums": "use wrt=", "mode": "give it to sg.function(...)"}
        raise ArgumentError(Problem(why, hint=hints.get(given[0], "leave it out")))


def _check_cost(cost: Value) -> None:
    if cost.type.ndim:
        why = f"the gradient is of one float, and {_named(cost)} is {_said(cost)}"
        raise ArgumentError(Problem(why, hint="make one number of it, such as its sum: sg.grad(y.sum(), wrt=...)"))
    if not is_float(cost.type):
        why = f"the gradient is of one float, and {_named(cost)} is {_said(cost)}, which has none"
        raise ArgumentError(Problem(why, hint="build it of floats: what integers are cast to has no gradient either"))


def _checked(cost: Value, variable: Any) -> Value:
    """One of ``wrt``."""
    known = [v for v in variables_of([cost]) if is_float(v.type)]
    listed = ", ".join(v.name for v in known) or "no variable of floats"
    if variable is None:
        why = "the gradient of a number built of variables needs wrt=, with respect to which of them"
        raise ArgumentError(Problem(why, hint=f"the number is made of {listed}"))
    if not is_built(variable):
        raise ArgumentError(
            Problem(f"wrt has {variable!r}, which is no variable", hint=f"the number is made of {listed}")
        )
    value = _variable(variable)
    if not is_float(value.type):
        raise ArgumentError(f"wrt has {_named(value)}, of {_said(value)}: there is no gradient with respect to it")
    if value not in ancestors([cost]):
        same = "another variable of that name is; " if any(v.name == value.name for v in known) else ""
        hint = f"{same}the number is made of {listed}"
        raise ArgumentError(Problem(f"wrt has {_named(value)}, of which the number is not made", hint=hint))
    return value


def _named(value: Value) -> str:
    return f"the variable {value.name!r}" if value.name and not isinstance(value.owner, Step) else "what was built"


def _said(value: Value) -> str:
    own = value.type
    return str(Kind(own.dtype, own.ndim if isinstance(own, ArrayType) else None, getattr(own, "weak", False)))


def _gradients(cost: Value, wrt: Sequence[Value]) -> dict[Value, Value]:
    """The gradient with respect to each of some values, through the others that are made of it, too."""
    groups: list[list[Value]] = []  # none of one group is made of another one, since a sweep ends at what is given
    above = {v: set(ancestors([v])) for v in wrt}
    for v in above:
        apart = (g for g in groups if not any(v in above[u] or u in above[v] for u in g))
        group = next(apart, None)
        if group is None:
            groups.append(group := [])
        group.append(v)
    return {v: slope for g in groups for v, slope in zip(g, gradients(cost, g), strict=True)}
