"""Functions written around a user's: what derivatives of several kinds are compiled from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from srcgraph.errors import ArgumentError
from srcgraph.runtime.api import Compiled
from srcgraph.runtime.texts import function_of
from srcgraph.runtime.transforms import Transform

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def written(
    function: Any,
    parameters: Sequence[str],
    body: str,
    space: Mapping[str, Any],
    transforms: Sequence[Transform] = (),
    error_model: str = "python",
) -> Compiled:
    """A compiled function, called as ``function`` is, that returns ``body``, in which ``space`` has the names."""
    name = getattr(function, "__name__", "")
    name = name if name.isidentifier() and name not in space else "function"
    text = f"def {name}({', '.join(parameters)}):\n    return {body}\n"
    made = function_of(text, name, f"around {name}", space, like=function)
    return Compiled(made, transforms, error_model=error_model)


_MADE = "_srcgraph_written"


def remembered(function: Any, key: Any, make: Callable[[], Compiled]) -> Compiled:
    """What was made of a function before, with the function itself, so that both are forgotten together."""
    if not hasattr(function, "__dict__"):
        return make()
    owner, known = vars(function).get(_MADE, (None, {}))
    if owner is not function:  # `functools.wraps` gave it what was made of another one
        known = {}
        vars(function)[_MADE] = (function, known)
    if key not in known:
        known[key] = make()
    return known[key]


def names_of(function: Any, count: int | None = None) -> list[str]:
    """What a function calls its first ``count`` arguments, or all of them.

    Raises
    ------
    ArgumentError
        All are asked for, and it takes any number of them.
    """
    parameters = list(signature(function).parameters.values())
    found = [p.name for p in parameters if p.kind in _POSITIONAL][:count]
    if count is None:
        if len(found) < len(parameters):
            raise ArgumentError(f"{function.__name__} takes arguments that are not positional")
        return found
    more = (f"x_{k}" for k in range(len(found), count))
    return found + [n if n not in found else f"{n}_" for n in more]
