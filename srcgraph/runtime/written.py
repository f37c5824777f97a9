"""Functions written around a user's: what derivatives of several kinds are compiled from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from srcgraph.frontend.derived import Absent, Inside
from srcgraph.ir.text import is_name
from srcgraph.runtime.api import Compiled, opaque, refuse_built
from srcgraph.runtime.options import USUAL, Options
from srcgraph.runtime.texts import function_of
from srcgraph.runtime.transforms import Transform

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def written(
    function: Any,
    parameters: Sequence[str],
    body: str,
    space: Mapping[str, Any],
    transforms: Sequence[Transform] = (),
    options: Options = USUAL,
) -> Compiled:
    """A compiled function, called as ``function`` is, that returns ``body``, in which ``space`` has the names."""
    refuse_built(function)
    name = getattr(function, "__name__", "")
    name = name if is_name(name) and name not in space else "function"
    text = f"def {name}({', '.join(parameters)}):\n    return {body}\n"
    made = function_of(text, name, f"around {name}", space, like=function)
    return Compiled(made, transforms, options=options)


def around(function: Any, made: Inside, count: int, options: Options) -> Compiled:
    """A function of the same parameters that calls ``made`` with ``function`` and what it is given.

    Those after the first ``count`` are given by keyword where they have a default, or are positional if there are more
    arguments; what is not given is `Absent`.
    """
    parameters = parameters_of(function)
    first = by_position(function)
    several = next((p.name for p in parameters if p.kind is Parameter.VAR_POSITIONAL), "")
    named = next((p.name for p in parameters if p.kind is Parameter.VAR_KEYWORD), "")
    by_name = [p for p in parameters if p in first[count:] or p.kind is Parameter.KEYWORD_ONLY]
    several = several or ("more_" if by_name else "")
    stars = [f"*{several}"] if several else []
    double = [f"**{named}"] if named else []
    optional = [f"{p.name}=Absent_" if p in first else _text(p) for p in by_name]
    texts = [*map(_text, first[:count]), *stars, *optional, *double]
    given = [*(p.name for p in first[:count]), *stars, *(f"{p.name}={p.name}" for p in by_name), *double]
    space = {"made_": made, "primal_": function, "Absent_": Absent}
    return written(function, texts, f"made_({', '.join(['primal_', *given])})", space, (), options)


def _text(parameter: Parameter) -> str:
    return parameter.name if parameter.default is Parameter.empty else f"{parameter.name}=Absent_"


def by_position(function: Any) -> list[Parameter]:
    """The parameters that take arguments by position, one each."""
    return [p for p in parameters_of(function) if p.kind in _POSITIONAL]


def takes_any_number(function: Any) -> bool:
    return any(p.kind is Parameter.VAR_POSITIONAL for p in parameters_of(function))


def parameters_of(function: Any) -> list[Parameter]:
    try:
        return list(signature(function).parameters.values())
    except ValueError:  # some of Python's own, such as max
        raise opaque(function) from None


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


def names_of(function: Any, count: int) -> list[str]:
    """What a function calls its first ``count`` arguments."""
    found = [p.name for p in by_position(function)][:count]
    more = (f"x_{k}" for k in range(len(found), count))
    return found + [n if n not in found else f"{n}_" for n in more]
