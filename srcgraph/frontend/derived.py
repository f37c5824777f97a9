"""Derivatives inside compiled functions: ``x - f(x) / grad(f)(x)``.

What `grad` makes of a function is that function, to be called with transforms. A call lowers the function for its
arguments as if it were called from outside, transforms its graph, and calls the result.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Protocol

from srcgraph.errors import InferenceError
from srcgraph.frontend.entities import Closure, Const, Entity, Partial, Scalar, Tup
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.session import FunctionCode, prepare

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


class Transform(Hashable, Protocol):
    """What is made of a function before it is compiled, see `srcgraph.runtime.transforms`."""

    def behind(self, count: int) -> Transform:
        """The same for a function with one more argument, before its ``count`` ones."""
        ...


@dataclass(frozen=True, slots=True)
class Deriving:
    """Calls its first argument, transformed, with the others."""

    transforms: tuple[Transform, ...]

    def __call__(self, function: Any, *args: Any) -> Any:
        raise NotImplementedError("only compiled functions call it")


def maker_of(function: Any) -> Callable[..., Any] | None:
    """How a function such as `grad` makes a transform of its arguments after the first."""
    return getattr(function, "derives", None) if isinstance(function, types.FunctionType) else None


def make(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """``grad(f, ...)``: a function."""
    if not args:
        raise refuse(f"{function.__name__}() needs a function", low.loc, kind=InferenceError)
    options = [low.static(e, "an option") for e in args[1:]]
    transform = maker_of(function)(*options, **{k: low.static(e, f"{k}=") for k, e in kwargs.items()})  # type: ignore[misc]
    return Partial(Const(Deriving((transform,))), (args[0],), ())


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
    names = _names(function, len(primals.items))
    given = [function, *primals.items, *tangents.items]
    return _called(low, names, [f"d_{n}" for n in names], given, (transform(len(names)),))


def call(low: Lowering, transforms: Sequence[Transform], args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call a function, the first argument, transformed."""
    if kwargs:
        raise refuse("keyword arguments of a derivative are not supported here", low.loc, "pass them by position")
    names = _names(args[0], len(args) - 1)
    return _called(low, names, [], args, tuple(t.behind(len(names)) for t in transforms))


def _called(
    low: Lowering, names: Sequence[str], more: Sequence[str], args: Sequence[Entity], transforms: tuple[Transform, ...]
) -> Entity:
    wrapper = _wrapper(tuple(names), tuple(more))
    code = low.session.codes.setdefault(wrapper, prepared(wrapper, tuple(names), tuple(more)))
    moving = [args[0], *(_number(low, e) for e in args[1:])]
    given = dict(zip(["function", *names, *more], moving, strict=True))
    return low.session.lower_callee(low, code, given, {}, derive=transforms)


def _number(low: Lowering, entity: Entity) -> Entity:
    """A literal float as a number of run time, which can move."""
    match entity:
        case Const(value=float(value)):
            return Scalar(low.builder.const(value))
        case Tup(items=items, cls=cls):
            return Tup(tuple(_number(low, e) for e in items), cls)
    return entity


@cache
def _wrapper(names: tuple[str, ...], more: tuple[str, ...]) -> types.FunctionType:
    space: dict[str, Any] = {}
    exec(compile(_text(names, more), "<derivative>", "exec"), space)
    return space["derivative"]


@cache
def prepared(wrapper: types.FunctionType, names: tuple[str, ...], more: tuple[str, ...]) -> FunctionCode:
    return prepare(wrapper, _text(names, more))


def _text(names: tuple[str, ...], more: tuple[str, ...]) -> str:
    return f"def derivative({', '.join(['function', *names, *more])}):\n    return function({', '.join(names)})\n"


def _names(function: Entity, count: int) -> list[str]:
    """What a function calls its first arguments."""
    found: list[str] = []
    if isinstance(function, Closure):
        found = [a.id for a in function.node.args.args]
    elif isinstance(function, Const) and callable(function.value):
        kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        found = [p.name for p in signature(function.value).parameters.values() if p.kind in kinds]
    found = [f"{n}_" if n == "function" else n for n in found[:count]]
    return found + [f"x_{k}" for k in range(len(found), count)]
