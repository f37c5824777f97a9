"""Gradients with respect to shared variables: those of a function that is given their values, and assigns them first.

A derivative commits nothing, so that assigning the variables changes what the function reads, and nothing else.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter, signature
from typing import Any

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend import library
from srcgraph.frontend.derived import Given, Written
from srcgraph.ir.graph import Value
from srcgraph.ir.shared import Kind, SharedVariable, describe
from srcgraph.runtime.api import MADE_BY, Compiled, as_function, derived_method, method_of, refuse_verified
from srcgraph.runtime.options import options_of
from srcgraph.runtime.texts import function_of
from srcgraph.runtime.written import around, by_position


class Unsaid(int):
    """What ``argnums`` is where it is not given: the first argument, unless ``wrt`` says something else."""


FIRST = Unsaid(0)


def refuse_both(argnums: Any) -> None:
    """``argnums`` has no meaning beside ``wrt``, whatever it is."""
    if not isinstance(argnums, Unsaid):
        why = "both argnums and wrt are given: the gradient is with respect to one of them"
        raise ArgumentError(Problem(why, hint="leave one of them out; for both, take two gradients"))


def checked(wrt: Any) -> tuple[SharedVariable, ...]:
    """The variables of ``wrt=``: one, or those of a list or a tuple.

    Raises
    ------
    ArgumentError
        One of them is no shared variable, is not of floats, or there is none.
    """
    variables = tuple(wrt) if isinstance(wrt, list | tuple) else (wrt,)
    if not variables:
        raise ArgumentError("wrt is a shared variable, or a list or tuple of them: there is none")
    for variable in variables:
        if not isinstance(variable, SharedVariable):
            hint = "use argnums for arguments; make others shared: sg.shared(...)"
            if isinstance(variable, Value):
                hint = "give the number that is built of it, not a function: sg.grad(f(x), wrt=x)"
            raise ArgumentError(Problem(f"wrt has {variable!r}, which is no shared variable", hint=hint))
        kind, name = variable.kind, describe(variable.name)
        if not isinstance(kind, Kind) or kind.dtype.kind != "f":
            hint = "let it hold floats, such as sg.shared(1.0)"
            raise ArgumentError(Problem(f"{name} holds {kind}, which has no gradient", hint=hint))
        if variable.frozen:
            raise ArgumentError(Problem(f"{name} is frozen, which has no gradient", hint="make it with frozen=False"))
        if sum(v.container is variable.container for v in variables) > 1:
            raise ArgumentError(f"wrt has {name} twice")
    return variables


def inside(wrt: Any, derivative: Callable, options: Mapping[str, Any]) -> Written:
    """What ``grad(f, wrt=...)`` is inside compiled functions."""
    refuse_both(options.get("argnums", FIRST))
    given = tuple((key, value) for key, value in options.items() if value)
    made = _function(checked(wrt), type(wrt) if isinstance(wrt, list | tuple) else None, derivative, given)
    return Written(_body, (("gradient_", made),))


def _body(given: Given) -> str:
    return given.call().replace("primal(", "gradient_(primal, ", 1)


@lru_cache(256)
def _function(
    variables: tuple[SharedVariable, ...], kind: type | None, derivative: Callable, options: tuple[tuple[str, Any], ...]
) -> Any:
    """Calls its first argument, a function, with the others, and differentiates that."""
    space = {f"w{k}_": variable for k, variable in enumerate(variables)}
    items = "".join(f"{name}.value, " for name in space)
    values = {None: "w0_.value", list: f"[{items}]"}.get(kind, f"({items})")
    chosen = "".join(f", {key}={value!r}" for key, value in options)
    text = (
        "def gradient_(primal, *args, **kwargs):\n"
        "    def moved(values, *args):\n"
        f"        {values} = values\n"
        "        return primal(*args, **kwargs)\n\n"
        f"    return derivative(moved{chosen})({values}, *args)\n"
    )
    names = {"derivative": derivative, "__name__": library.__name__}  # whose lines are those of the user's call
    return function_of(text, "gradient_", "gradient by shared variables", {**space, **names})


def by_shared(function: Any, wrt: Any, derivative: Callable, options: dict[str, Any]) -> Any:
    """``derivative(function, wrt=...)``: called as the function is."""
    refuse_both(options["argnums"])
    if function is None:
        return lambda f: by_shared(f, wrt, derivative, options)
    if (method := method_of(function)) is not None:
        return derived_method(by_shared(method.__func__, wrt, derivative, options), method.__self__)
    if isinstance(function, functools.partial):
        made = by_shared(function.func, wrt, derivative, options)
        return functools.partial(made, *function.args, **function.keywords)
    refuse_verified(function)
    given = {key: options[key] for key in ("error_model", "mode", "parallel", "fastmath") if key in options}
    chosen = options_of(function, **given)
    inner = {key: options[key] for key in options if key not in (*given, "argnums", "verify")}
    primal = function if isinstance(function, Compiled) else as_function(function)
    made_by = (_again, (derivative, primal, _Globals(primal, wrt), inner))
    if options["verify"]:
        return _verified(primal, wrt, derivative, {**inner, "verify": True}, made_by)
    count = sum(p.default is Parameter.empty for p in by_position(primal))
    made = around(primal, inside(wrt, derivative, inner), count, chosen)
    vars(made.py_func)[MADE_BY] = made_by
    return made


def _again(derivative: Callable, function: Any, wrt: Any, options: Mapping[str, Any]) -> Any:
    """What was pickled."""
    return derivative(function, wrt=wrt, **options)


class _Globals:
    """Shared variables that are pickled by their names in a function's module, which are what the function reads."""

    def __init__(self, function: Any, wrt: Any):
        self.function = function
        self.wrt = wrt

    def __reduce__(self) -> Any:
        names = [self.name_of(v) for v in checked(self.wrt)]
        kind = type(self.wrt) if isinstance(self.wrt, list | tuple) else None
        return _found, (self.function.__module__, names, kind)

    def name_of(self, variable: SharedVariable) -> str:
        module = self.function.__module__
        for name, value in vars(sys.modules[module]).items():
            if isinstance(value, SharedVariable) and value.container is variable.container:
                return name
        name, what = self.function.__name__, describe(variable.name)
        why = f"the gradient of {name} by {what} cannot be pickled: {name} is pickled by name, and that is no global"
        hint = f"make it a global of the module {module}, or make the gradient where it is called"
        raise ArgumentError(Problem(why, hint=hint))


def _found(module: str, names: Sequence[str], kind: type | None) -> Any:
    """The variables of a module by their names."""
    variables = [getattr(sys.modules[module], name) for name in names]
    return variables[0] if kind is None else variables if kind is list else tuple(variables)


def _verified(function: Any, wrt: Any, derivative: Callable, options: dict[str, Any], made_by: Any) -> Compiled:
    """A gradient that is verified whenever it is called, which takes the variables' values with each call."""
    variables, several = checked(wrt), isinstance(wrt, list | tuple)
    space = {f"w{k}_": variable for k, variable in enumerate(variables)}
    targets = ", ".join(f"{name}.value" for name in space) + "," * several
    own = signature(function)
    given = ", ".join(_STARS.get(p.kind, "{0}").format(p.name) for p in own.parameters.values())
    text = (
        f"def moved({', '.join(['values_', *own.parameters])}):\n    {targets} = values_\n    return primal_({given})\n"
    )
    moved = function_of(text, "moved", f"around {function.__name__}", {**space, "primal_": function}, like=function)
    made = derivative(moved, **options)

    class WithValues(type(made)):
        """Called as the function is."""

        def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
            given = own.bind(*args, **kwargs)
            given.apply_defaults()
            values = type(wrt)(v.value for v in variables) if several else variables[0].value
            return super().__call__(values, *given.arguments.values())

        def __reduce__(self) -> Any:
            again, (*parts, inner) = made_by
            return again, (*parts, {**inner, "verify": True})

    made.__class__ = WithValues
    return made


_STARS = {Parameter.VAR_POSITIONAL: "*{0}", Parameter.VAR_KEYWORD: "**{0}", Parameter.KEYWORD_ONLY: "{0}={0}"}
"""How a parameter that is not given by position is handed on."""
