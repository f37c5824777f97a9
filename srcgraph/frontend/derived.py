"""Derivatives inside compiled functions: ``x - f(x) / grad(f)(x)``.

What `grad` makes of a function is that function, to be called with transforms. A call lowers the function for its
arguments as if it were called from outside, transforms its graph, and calls the result.
"""

from __future__ import annotations

import keyword
import types
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypeAlias

from srcgraph.errors import InferenceError
from srcgraph.frontend.entities import Closure, Const, Entity, Partial, Tup
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.session import FunctionCode, prepare

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


Transform: TypeAlias = Hashable
"""What is made of a function before it is compiled, see `srcgraph.runtime.transforms`."""


@dataclass(frozen=True, slots=True)
class Deriving:
    """Calls its first argument, transformed, with the others."""

    transforms: tuple[Transform, ...]

    def __call__(self, function: Any, *args: Any) -> Any:
        raise NotImplementedError("only compiled functions call it")


@dataclass(frozen=True, slots=True)
class Written:
    """Calls what is written in Python around its first argument, with the others.

    Attributes
    ----------
    body : function
        The text of what is returned, by the names of the other arguments; it calls the first ``primal``.
    space : tuple of (name, value)
        What other names in the text mean.
    """

    body: Callable[[list[str]], str]
    space: tuple[tuple[str, Any], ...]

    def __call__(self, function: Any, *args: Any) -> Any:
        raise NotImplementedError("only compiled functions call it")


def maker_of(function: Any) -> Callable[..., Any] | None:
    """How a function such as `grad` makes a transform, or a `Written`, of its arguments after the first."""
    return getattr(function, "derives", None) if isinstance(function, types.FunctionType) else None


def make(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """``grad(f, ...)``: a function."""
    if not args:
        raise refuse(f"{function.__name__}() needs a function", low.loc, kind=InferenceError)
    options = [low.static(e, "an option") for e in args[1:]]
    made = maker_of(function)(*options, **{k: low.static(e, f"{k}=") for k, e in kwargs.items()})  # type: ignore[misc]
    return Partial(Const(made if isinstance(made, Written) else Deriving((made,))), (args[0],), ())


def push(low: Lowering, transform: Callable[[int], Transform], args: Sequence[Entity]) -> Entity:
    """``jvp(f, primals, tangents)``."""
    match args:
        case [function, Tup() as primals, Tup() as tangents]:
            pass
        case _:
            what = "jvp() takes a function, a tuple of primals and one of tangents"
            raise refuse(what, low.loc, kind=InferenceError)
    if len(primals.items) != len(tangents.items):
        counts = f"{len(primals.items)} primals, but {len(tangents.items)} tangents"
        raise refuse(f"jvp: {counts}", low.loc, kind=InferenceError)
    names = names_of(function, len(primals.items))
    given = [*primals.items, *tangents.items]
    return _called(low, function, [*names, *(f"d_{n}" for n in names)], len(names), given, (transform(len(names)),))


def call(low: Lowering, transforms: Sequence[Transform], args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call a function, the first argument, transformed."""
    names, given = _given(low, args, kwargs)
    return _called(low, args[0], names, len(names), given, tuple(transforms))


def write(low: Lowering, made: Written, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call what is written around a function, the first argument."""
    names, given = _given(low, args, kwargs)
    inner = [f"x{k}_" for k in range(len(names))]  # no name in the text is one of these
    wrapper = _function(_name(args[0]), f"{', '.join([*inner, 'primal'])}", made.body(inner), made.space)
    code = low.session.codes.setdefault(wrapper, _prepared(wrapper))
    return low.session.lower_callee(low, code, dict(zip([*inner, "primal"], [*given, args[0]], strict=True)), {})


def _given(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity]) -> tuple[list[str], list[Entity]]:
    """Names and values of the arguments behind the first one, a function."""
    function, *given = args
    names = names_of(function, len(given) + len(kwargs))
    for name in names[len(given) :]:
        if name not in kwargs:
            raise refuse("these keyword arguments of a derivative", low.loc, "pass arguments by position")
        given.append(kwargs[name])
    return names, given


def _called(
    low: Lowering, function: Entity, names: list[str], count: int, args: Sequence[Entity], transforms: tuple[Any, ...]
) -> Entity:
    """Call a function of that name and of these arguments, and the function itself, which calls it."""
    made = _wrapper(_name(function), tuple(names), count)
    code = low.session.codes.setdefault(made, _prepared(made))
    given = dict(zip([*names, "function"], [*args, function], strict=True))
    return low.session.lower_callee(low, code, given, {}, derive=transforms)


@cache
def _wrapper(name: str, names: tuple[str, ...], count: int) -> types.FunctionType:
    return _function(name, ", ".join([*names, "function"]), f"function({', '.join(names[:count])})", ())


@cache
def _function(name: str, parameters: str, body: str, space_: tuple[tuple[str, Any], ...]) -> types.FunctionType:
    text = f"def {name}({parameters}):\n    return {body}\n"
    space = {"__name__": __name__, **dict(space_)}
    exec(compile(text, f"<derivative of {name}>", "exec"), space)
    _TEXTS[space[name]] = text
    return space[name]


_TEXTS: dict[types.FunctionType, str] = {}


@cache
def _prepared(function: types.FunctionType) -> FunctionCode:
    return prepare(function, _TEXTS[function])


def _name(function: Entity) -> str:
    name = function.name if isinstance(function, Closure) else ""
    name = getattr(function.value, "__name__", "") if isinstance(function, Const) else name
    return name if name.isidentifier() and not keyword.iskeyword(name) else "function"


def names_of(function: Entity, count: int) -> list[str]:
    """What a function calls its first arguments."""
    found: list[str] = []
    if isinstance(function, Closure):
        found = [a.id for a in function.node.args.args]
    elif isinstance(function, Const) and callable(function.value):
        kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        found = [p.name for p in signature(function.value).parameters.values() if p.kind in kinds]
    found = [f"{n}_" if n == "function" else n for n in found[:count]]
    return found + [f"x_{k}" for k in range(len(found), count)]
