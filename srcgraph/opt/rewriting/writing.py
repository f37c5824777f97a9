"""How patterns are written and shown.

A pattern is written as a tuple, ``("div", ("mul", "x", "y"), "y")``, or as a function of its variables,
``lambda x, y: x * y / y``. Strings are variables, numbers are literals. In tuples, attributes of an op that are not
given may be any; NumPy functions in functions mean what NumPy means, so that ``np.sum(x)`` is over all axes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from srcgraph.errors import InferenceError, Problem
from srcgraph.ir.op import COMPOSITES, OPS
from srcgraph.ir.ops.reductions import normalized
from srcgraph.opt.rewriting.local import RewriteError, op_name


@dataclass(frozen=True, slots=True)
class Var:
    """Any value; the same one wherever the variable stands."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A literal, or an array filled with it."""

    value: Any


@dataclass(frozen=True, slots=True)
class Use:
    """A use of an op. Attributes that are not given may be any, and are those of the same op in what it becomes."""

    op: str
    args: tuple[Pattern, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a NumPy function: its arguments, among which patterns may be in lists and tuples."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Whole:
    """What a function gives of the values themselves, where it is more than NumPy's functions of them."""

    function: Callable[..., Any]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of a reduction, as NumPy's ``axis`` says them."""

    axis: Any = None

    def fits(self, axes: Any, ndim: int) -> bool:
        try:
            return normalized(self.axis, ndim) == tuple(axes)
        except InferenceError:  # it has fewer
            return False


Pattern: TypeAlias = Var | Number | Use | Called | Whole

# -- writing them ---------------------------------------------------------------------------------


def as_pattern(written: Any, names: tuple[str, ...] = ()) -> Pattern:
    """A pattern from a tuple, a variable's name, a number, or a function of variables."""
    match written:
        case Var() | Number() | Use() | Called() | Whole():
            return written
        case str():
            return Var(written)
        case tuple():
            op, *args = written
            attrs = args.pop() if args and isinstance(args[-1], dict) else {}
            return Use(op_name(op), tuple(as_pattern(a) for a in args), attrs)
        case _ if callable(written):
            names = names or tuple(inspect.signature(written).parameters)
            try:
                return _untraced(written(*(Traced(Var(n)) for n in names)))
            except (TypeError, AttributeError):  # it does more with them than NumPy's functions
                return Whole(written, names)
    return Number(written)


def as_before(written: Any) -> Use:
    """The pattern that is looked for.

    Raises
    ------
    RewriteError
        It is no use of an op, or has what is not one op.
    """
    found = _looked_for(as_pattern(written))
    if not isinstance(found, Use):
        raise RewriteError(f"the pattern {text(found)} is no use of an op")
    return found


def _looked_for(pattern: Pattern) -> Pattern:
    match pattern:
        case Use(op=op, args=args, attrs=attrs):
            return Use(op, tuple(map(_looked_for, args)), attrs)
        case Called():
            return _use(pattern)
        case Whole(function=function, names=names):
            try:
                function(*(Traced(Var(n)) for n in names))
            except (TypeError, AttributeError) as error:
                raise RewriteError(Problem(f"the pattern cannot be read: {error}", hint=_PATTERNS)) from error
        case Number(value=np.ndarray()):
            raise RewriteError(Problem("a pattern has an array in it", hint=_PATTERNS))
    return pattern


_PATTERNS = (
    "patterns are made of numbers, operators, ufuncs, and reductions such as np.sum; or written as tuples of ops"
)


def _use(call: Called) -> Use:
    """The use of an op that a call is: of a ufunc, of a function that is one op, or a reduction."""
    given = {**dict(zip(("axis",), call.args[1:], strict=False)), **call.kwargs}
    try:
        name = op_name(call.function)
        if any(call.function is f for f in OPS[name].python) or name == "where":
            return Use(name, tuple(_operand(a) for a in call.args), call.kwargs)
        if set(given) - {"axis"} or len(call.args) > 2 or _parts(given.get("axis")):
            raise RewriteError("only a known axis may be given in patterns")
        return Use(name, tuple(_operand(a) for a in call.args[:1]), {"axes": Axes(given.get("axis"))})
    except RewriteError as error:
        raise RewriteError(Problem(f"{text(call)}: {error.problems[0].message}", hint=_PATTERNS)) from None


def _operand(x: Any) -> Pattern:
    if not isinstance(x, Var | Number | Use | Called | int | float | complex):
        raise RewriteError(f"a {type(x).__name__} is no operand in a pattern")
    return _looked_for(x if isinstance(x, Var | Number | Use | Called) else Number(x))


def _parts(x: Any) -> set[str]:
    return variables(x) if x is not None else set()


def _untraced(x: Any) -> Any:
    return x.pattern if isinstance(x, Traced) else Number(x)


def _plain(x: Any) -> Any:
    """An argument of a call."""
    match x:
        case Traced():
            return x.pattern
        case list() | tuple():
            return type(x)(map(_plain, x))
    return x


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A variable of a pattern written as a function: operators and ufuncs make uses of ops, functions make calls."""

    def __init__(self, pattern: Pattern):
        self.pattern = pattern

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Traced:
        if method != "__call__" or kwargs:
            return NotImplemented
        if any(isinstance(a, np.ndarray) for a in args):
            return Traced(Called(ufunc, tuple(map(_plain, args))))
        exponent = args[1] if ufunc is np.power else None
        if isinstance(exponent, int | float) and abs(exponent) <= 16 and exponent == int(exponent):
            return Traced(Use("ipow", (_untraced(args[0]),), {"n": int(exponent)}))
        return Traced(Use(_OPERATORS.get(ufunc) or op_name(ufunc), tuple(map(_untraced, args))))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        return Traced(Called(function, tuple(map(_plain, args)), {k: _plain(v) for k, v in kwargs.items()}))

    def __getattr__(self, name: str) -> Any:
        method = next((c for c in COMPOSITES.values() if c.method == name and c.python), None)
        if method is None:
            raise AttributeError(f"a variable of a pattern has no {name!r}")
        return lambda *args, **kwargs: self.__array_function__(method.python[0], (), (self, *args), kwargs)

    def __bool__(self) -> bool:
        raise TypeError("a variable of a pattern has no truth value: give where=")

    __iter__ = None

    def __repr__(self) -> str:
        return text(self.pattern)


_OPERATORS = {np.true_divide: "div", np.negative: "neg", np.matmul: "matmul"}


def op(name: str, **attrs: Any) -> Callable[..., Traced]:
    """An op by its name, to be called in patterns written as functions."""
    return lambda *args: Traced(Use(op_name(name), tuple(map(_untraced, args)), attrs))


# -- reading them ---------------------------------------------------------------------------------

_INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2), "matmul": ("@", 2)}
_COMPARED = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "unused": "=="}


def text(pattern: Pattern, level: int = 0) -> str:
    """A pattern as a formula."""
    match pattern:
        case Var(name=name):
            return name
        case Number(value=value):
            return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        case Use(op="neg", args=(x,)):
            return f"-{text(x, 3)}"
        case Use(op="ipow", args=(x,), attrs={"n": n}):
            return f"{text(x, 4)}**{n}"
        case Use(op=name, args=(x, y)) if name in _INFIX or name in _COMPARED:
            sign, own = _INFIX.get(name) or (_COMPARED[name], 0)
            inner = f"{text(x, own)} {sign} {text(y, own + 1)}"
            return f"({inner})" if own < level else inner
        case Use(op=name, args=args, attrs=attrs):
            axis = attrs.get("axes")
            if isinstance(axis, Axes):
                attrs = {"axis": axis.axis} if axis.axis is not None else {}
            given = [*map(text, args), *(f"{k}={v!r}" for k, v in attrs.items())]
            return f"{name}({', '.join(given)})"
        case Called(function=function, args=args, kwargs=kwargs):
            given = [*map(_argument, args), *(f"{k}={_argument(v)}" for k, v in kwargs.items())]
            return f"{function.__name__}({', '.join(given)})"
        case Whole(function=function, names=names):
            name = function.__name__ if function.__name__ != "<lambda>" else "function"
            return f"{name}({', '.join(names)})"


def _argument(x: Any) -> str:
    if isinstance(x, list | tuple):
        inner = ", ".join(map(_argument, x))
        return f"[{inner}]" if isinstance(x, list) else f"({inner})"
    return text(x) if isinstance(x, Var | Number | Use | Called) else repr(x)


def variables(pattern: Any) -> set[str]:
    """The names of a pattern's variables."""
    match pattern:
        case Var(name=name):
            return {name}
        case Use(args=args):
            return set[str]().union(*map(variables, args))
        case Called(args=args, kwargs=kwargs):
            return set[str]().union(*map(variables, [*args, *kwargs.values()]))
        case list() | tuple():
            return set[str]().union(*map(variables, pattern))
        case Whole(names=names):
            return set(names)
    return set()


def mapped(function: Callable[[Pattern], Any], x: Any) -> Any:
    """An argument of a call, with what a function gives of each pattern in it."""
    if isinstance(x, list | tuple):
        return type(x)(mapped(function, v) for v in x)
    return function(x) if isinstance(x, Var | Number | Use | Called | Whole) else x
