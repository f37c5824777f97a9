"""Derivatives inside compiled functions: ``x - f(x) / grad(f)(x)``.

What `grad` makes of a function is that function, to be called with transforms. A call lowers the function for its
arguments as if it were called from outside, transforms its graph, and calls the result.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import Parameter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from srcgraph.errors import ArgumentError, InferenceError
from srcgraph.frontend import structures
from srcgraph.frontend.entities import NONE, Closure, Const, Entity, Listing, Partial, Tup
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.numpy_calls import signature_of
from srcgraph.frontend.session import FunctionCode, prepare
from srcgraph.ir.text import is_name

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


Transform: TypeAlias = Hashable
"""What is made of a function before it is compiled, see `srcgraph.runtime.transforms`."""


class Inside:
    """A function that only compiled functions can call."""

    __slots__ = ()

    def lower(self, low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
        """What a call of it is."""
        raise NotImplementedError

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError("only compiled functions call it")


@dataclass(frozen=True, slots=True)
class Deriving(Inside):
    """Calls its first argument, transformed, with the others."""

    transforms: tuple[Transform, ...]

    def lower(self, low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
        return call(low, self.transforms, args, kwargs)


@dataclass(frozen=True, slots=True)
class Given:
    """A call's arguments in the text around a function.

    Attributes
    ----------
    names : tuple of str
        What the function calls its arguments by position.
    keywords : tuple of str
        Those given by keyword that it has no position for.
    """

    names: tuple[str, ...]
    keywords: tuple[str, ...] = ()

    def at(self, k: int) -> str:
        """The argument at a position, in the text: no other name there is like this."""
        return f"x{k}_"

    @property
    def inner(self) -> list[str]:
        """All arguments, in the text."""
        return [*(self.at(k) for k in range(len(self.names))), *(f"{name}_" for name in self.keywords)]

    def call(self, others: Mapping[int, str] = MappingProxyType({})) -> str:
        """A call of the function, some of the arguments others."""
        args = [others.get(k, self.at(k)) for k in range(len(self.names))]
        return f"primal({', '.join([*args, *(f'{name}={name}_' for name in self.keywords)])})"


@dataclass(frozen=True, slots=True)
class Written(Inside):
    """Calls what is written in Python around its first argument, with the others.

    Attributes
    ----------
    body : function
        The text of what is returned, by what is given besides the function.
    space : tuple of (name, value)
        What other names in the text mean.
    """

    body: Callable[[Given], str]
    space: tuple[tuple[str, Any], ...]

    def lower(self, low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
        return write(low, self, args, kwargs)


class Absent:
    """Stands for an argument that is not given."""


def present(args: Sequence[Entity], kwargs: dict[str, Entity]) -> tuple[list[Entity], dict[str, Entity]]:
    """The arguments that are given."""
    return [e for e in args if e != Const(Absent)], {k: e for k, e in kwargs.items() if e != Const(Absent)}


def maker_of(function: Any) -> Callable[..., Any] | None:
    """How a function such as `grad` makes a transform, or a `Written`, of its arguments after the first."""
    return getattr(function, "derives", None) if isinstance(function, types.FunctionType) else None


def make(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """``grad(f, ...)``: a function."""
    if not args:
        raise refuse(f"{function.__name__}() needs a function", low.loc, kind=InferenceError)
    options = [low.static(e, "an option") for e in args[1:]]
    named = {k: low.static(e, f"{k}=") for k, e in kwargs.items()}
    if isinstance(kwargs.get("wrt"), Listing):
        named["wrt"] = list(named["wrt"])
    if named.pop("verify", False):
        raise refuse_verifying(low)
    maker: Any = maker_of(function)
    known = inspect.signature(maker)
    if unknown := [k for k in named if k not in known.parameters]:
        hint = "how it is compiled is said where the function around is: sg.compile(f, ...)"
        raise refuse(f"{function.__name__}: {unknown[0]}= inside a compiled function is not supported", low.loc, hint)
    try:
        known.bind(*options, **named)
    except TypeError as error:
        raise refuse(f"{function.__name__}(): {error}", low.loc, kind=InferenceError) from None
    made = maker(*options, **named)
    return Partial(Const(made if isinstance(made, Written) else Deriving((made,))), (args[0],), ())


def refuse_verifying(low: Lowering) -> Exception:
    """A gradient is verified when it is called from outside: then all that it is made of is."""
    hint = "verify the gradient that is called from outside: sg.grad(f, verify=True)"
    return refuse("verify=True inside a compiled function", low.loc, hint)


def mode_of(function: Any) -> Callable[..., Entity] | None:
    """How a function such as `jvp`, which calls the function that it is given, is lowered."""
    mode = getattr(function, "mode", None) if isinstance(function, types.FunctionType) else None
    return None if mode is None else partial({"jvp": push, "vjp": pull, "hvp": curve}[mode.name], mode=mode)


@dataclass(frozen=True, slots=True)
class Mode:
    """What `jvp`, `vjp` and `hvp` are inside compiled functions: by name, and how their transforms are made."""

    name: str
    transforms: Callable[..., tuple[Transform, ...]]


def push(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity], mode: Mode) -> Entity:
    """``jvp(f, primals, tangents, has_aux=False)``."""
    function, primals, tangents, has_aux = _in_direction(low, args, kwargs, "jvp")
    return _moved(low, function, primals, tangents, mode.transforms(len(primals), has_aux))


def curve(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity], mode: Mode) -> Entity:
    """``hvp(f, primals, tangents, has_aux=False)``: how the gradient moves."""
    single = len(args) > 1 and not isinstance(args[1], Tup)
    args = [args[0], *(Tup((e,)) for e in args[1:])] if single else args
    function, primals, tangents, has_aux = _in_direction(low, args, kwargs, "hvp")
    moving = tuple(k for k, t in enumerate(tangents) if t != NONE)
    found = _moved(low, function, primals, tangents, mode.transforms(len(primals), moving, has_aux))
    assert isinstance(found, Tup) and isinstance(found.items[1], Tup)
    moved = iter(found.items[1].items)
    product = tuple(next(moved) if k in moving else NONE for k in range(len(primals)))
    out = product[0] if single else Tup(product)
    return Tup((out, found.items[2])) if has_aux else out


def pull(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity], mode: Mode) -> Entity:
    """``vjp(f, *primals, has_aux=False)``."""
    if not args or not kwargs.keys() <= {"has_aux"}:
        raise refuse("vjp() takes a function and its arguments, and has_aux", low.loc, kind=InferenceError)
    function, *primals = args
    names = names_of(function, len(primals))
    transforms = mode.transforms(len(primals), _flag(low, kwargs))
    made = _called(low, function, names, len(names), primals, transforms)
    assert isinstance(made, Tup)
    value, pulled, *aux = made.items
    assert isinstance(pulled, Partial) and isinstance(pulled.function, Const)
    lengths = pulled.function.value.measured(low, value)
    return Tup((value, replace(pulled, args=(*lengths, *pulled.args)), *aux))


def _flag(low: Lowering, kwargs: dict[str, Entity]) -> bool:
    return bool(low.static(kwargs["has_aux"], "has_aux=")) if "has_aux" in kwargs else False


def _in_direction(
    low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity], name: str
) -> tuple[Entity, Sequence[Entity], Sequence[Entity], bool]:
    """The arguments of ``jvp`` and ``hvp``."""
    given = dict(zip(("function", "primals", "tangents"), args, strict=False))
    given |= {k: e for k, e in kwargs.items() if k != "has_aux"}
    if len(args) > 3 or given.keys() != {"function", "primals", "tangents"}:
        raise refuse(f"{name}() takes a function, primals, tangents and has_aux", low.loc, kind=InferenceError)
    found = []
    for what in ("primals", "tangents"):
        items = structures.parts(low, given[what], what) if isinstance(given[what], Tup | Listing) else None
        if items is None:
            raise refuse(f"{name}() takes a function, a tuple of primals and one of tangents", low.loc,
                         kind=InferenceError)  # fmt: skip
        found.append([e for _, e in items])
    if len(found[0]) != len(found[1]):
        counts = f"{len(found[0])} primals, but {len(found[1])} tangents"
        raise refuse(f"{name}: {counts}", low.loc, kind=InferenceError)
    return given["function"], found[0], found[1], _flag(low, kwargs)


def _moved(
    low: Lowering, function: Entity, primals: Sequence[Entity], tangents: Sequence[Entity], transforms: tuple[Any, ...]
) -> Entity:
    names = names_of(function, len(primals))
    given = [*primals, *tangents]
    return _called(low, function, [*names, *(f"d_{n}" for n in names)], len(names), given, transforms)


def call(low: Lowering, transforms: Sequence[Transform], args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call a function, the first argument, transformed."""
    names, given = _given(low, args, kwargs)
    counted = tuple(_counted(low, t, _name(args[0]), len(names)) for t in transforms)
    return _called(low, args[0], names, len(names), given, counted)


def _counted(low: Lowering, transform: Any, name: str, count: int) -> Transform:
    """A transform by arguments of a function, these counted from the front: behind them comes the function itself."""
    argnums = getattr(transform, "argnums", None)
    if argnums is None:
        return transform
    several = argnums if isinstance(argnums, tuple) else (argnums,)
    if (beyond := [k for k in several if not -count <= k < count]) and count:
        why = f"argnums={beyond[0]}, but {name} is given {count} argument{'s' if count > 1 else ''}"
        raise refuse(why, low.loc, kind=ArgumentError)
    front = tuple(k % count if count else k for k in several)
    return replace(transform, argnums=front if isinstance(argnums, tuple) else front[0])


def write(low: Lowering, made: Written, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call what is written around a function, the first argument."""
    args, kwargs = present(args, kwargs)
    names, values, rest = _by_position(args, kwargs)
    given = Given(tuple(names), tuple(rest))
    wrapper = _function(_name(args[0]), f"{', '.join([*given.inner, 'primal'])}", made.body(given), made.space)
    code = low.session.codes.setdefault(wrapper, _prepared(wrapper))
    entities = [*values, *rest.values(), args[0]]
    return low.session.lower_callee(low, code, dict(zip([*given.inner, "primal"], entities, strict=True)), {})


def _given(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity]) -> tuple[list[str], list[Entity]]:
    """Names and values of the arguments behind the first one, a function."""
    names, given, rest = _by_position(args, kwargs)
    if rest:
        raise refuse("these keyword arguments of a derivative", low.loc, "pass arguments by position")
    return names, given


def _by_position(
    args: Sequence[Entity], kwargs: dict[str, Entity]
) -> tuple[list[str], list[Entity], dict[str, Entity]]:
    """Names and values of the arguments behind the first one, and those that have no position next to them."""
    function, *given = args
    rest = dict(kwargs)
    names = names_of(function, len(given) + len(kwargs))
    while len(given) < len(names) and names[len(given)] in rest:
        given.append(rest.pop(names[len(given)]))
    return names[: len(given)], given, rest


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
    return name if is_name(name) else "function"


def names_of(function: Entity, count: int) -> list[str]:
    """What a function calls its first arguments."""
    found: list[str] = []
    if isinstance(function, Closure):
        found = [a.id for a in function.node.args.args]
    elif isinstance(function, Const) and callable(function.value):
        kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        found = [p.name for p in signature_of(function.value).values() if p.kind in kinds]
    found = [f"{n}_" if n == "function" else n for n in found[:count]]
    return found + [f"x_{k}" for k in range(len(found), count)]
