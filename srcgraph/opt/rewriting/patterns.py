"""Patterns: what an expression looks like, and what it becomes.

A pattern is written as a tuple, ``("div", ("mul", "x", "y"), "y")``, or as a function of its variables,
``lambda x, y: x * y / y``. Strings are variables, numbers are literals. A variable that stands twice stands for one
value. Operands of commutative ops match in either order. Checks, which pass on what they check, are not seen.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS, current_builder
from srcgraph.opt.rewriting.fgraph import FunctionGraph, passes_on
from srcgraph.opt.rewriting.local import LocalRewrite, RewriteError, op_name

Env: TypeAlias = dict[str, Any]
"""Variables to values, and ``op.attribute`` to attributes."""


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


Pattern: TypeAlias = Var | Number | Use

Condition = Callable[..., bool]

# -- writing them ---------------------------------------------------------------------------------


def as_pattern(written: Any, names: tuple[str, ...] = ()) -> Pattern:
    """A pattern from a tuple, a variable's name, a number, or a function of variables."""
    match written:
        case Var() | Number() | Use():
            return written
        case str():
            return Var(written)
        case tuple():
            op, *args = written
            attrs = args.pop() if args and isinstance(args[-1], dict) else {}
            return Use(op_name(op), tuple(as_pattern(a) for a in args), attrs)
        case _ if callable(written):
            names = names or tuple(inspect.signature(written).parameters)
            return _untraced(written(*(Traced(Var(n)) for n in names)))
    return Number(written)


def _untraced(x: Any) -> Pattern:
    return x.pattern if isinstance(x, Traced) else Number(x)


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A variable of a pattern written as a function: operators and NumPy functions of it are uses of ops."""

    def __init__(self, pattern: Pattern):
        self.pattern = pattern

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Traced:
        if method != "__call__" or kwargs:
            return NotImplemented
        if ufunc is np.power and args[1] == 2:
            return Traced(Use("ipow", (_untraced(args[0]),), {"n": 2}))
        return Traced(Use(_OPERATORS.get(ufunc) or op_name(ufunc), tuple(map(_untraced, args))))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        name = _FUNCTIONS.get(function) or op_name(function)
        return Traced(Use(name, tuple(map(_untraced, args)), kwargs))

    def __repr__(self) -> str:
        return text(self.pattern)


_OPERATORS = {np.true_divide: "div", np.negative: "neg", np.matmul: "matmul"}
_FUNCTIONS = {np.sum: "sum", np.max: "max", np.min: "min", np.prod: "prod", np.where: "where"}


def op(name: str, **attrs: Any) -> Callable[..., Traced]:
    """An op by its name, to be called in patterns written as functions."""
    return lambda *args: Traced(Use(op_name(name), tuple(map(_untraced, args)), attrs))


# -- reading them ---------------------------------------------------------------------------------

_INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2), "matmul": ("@", 2)}
_COMPARED = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "=="}


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
            given = [*map(text, args), *(f"{k}={v!r}" for k, v in attrs.items())]
            return f"{name}({', '.join(given)})"


# -- matching them --------------------------------------------------------------------------------


def matches(fgraph: FunctionGraph, pattern: Pattern, value: Value, env: Env, inner: tuple[Value, ...] = ()) -> Any:
    """Every way in which a value matches, as variables to values; ``inner`` collects what else is read on the way."""
    match pattern:
        case Var(name=name):
            bound = env.get(name)
            if bound is None:
                yield {**env, name: value}, inner
            elif bound is value or bare(fgraph, bound) is bare(fgraph, value) or _one_number(fgraph, bound, value):
                yield env, inner
        case Number(value=number):
            found = number_of(fgraph, value)
            if found is not None and _is_truth(found) == _is_truth(number) and found == number:
                yield env, inner
        case Use():
            node = fgraph.definition(value, pattern.op)
            if node is not None and len(node.inputs) == len(pattern.args):
                own = _with_attrs(env, pattern, node)
                if own is not None:
                    yield from _operands(fgraph, pattern, node, own, (*inner, node.outputs[0]))


def _operands(fgraph: FunctionGraph, pattern: Use, node: Apply, env: Env, inner: tuple[Value, ...]) -> Any:
    orders = [pattern.args]
    if node.op.commutative and len(pattern.args) == 2 and pattern.args[0] != pattern.args[1]:
        orders.append(pattern.args[::-1])
    for args in orders:
        found: Iterator[Any] = iter([(env, inner)])
        for arg, value in zip(args, node.inputs, strict=True):
            found = _each(fgraph, arg, value, found)
        yield from found


def _each(fgraph: FunctionGraph, pattern: Pattern, value: Value, before: Iterator[Any]) -> Iterator[Any]:
    for env, inner in before:
        yield from matches(fgraph, pattern, value, env, inner)


def _with_attrs(env: Env, pattern: Use, node: Apply) -> Env | None:
    if any(node.attrs.get(k) != v for k, v in pattern.attrs.items()):
        return None
    open_attrs = {f"{pattern.op}.{k}": v for k, v in node.attrs.items() if k not in pattern.attrs}
    if any(k in env and env[k] != v for k, v in open_attrs.items()):
        return None
    return {**env, **open_attrs}


def bare(fgraph: FunctionGraph, value: Value) -> Value:
    """What checks and changes of kind pass on."""
    while True:
        node = fgraph.definition(value)
        if node is None or not passes_on(node):
            return value
        value = node.inputs[0]


def number_of(fgraph: FunctionGraph, value: Value) -> Any:
    """The number that a value is, or that an array is filled with; None if that is not known."""
    while True:
        node = fgraph.definition(value)
        if node is None:
            return None
        if node.op.name == "const":
            return node.attrs["value"]
        if node.op.name not in ("broadcast_to", "full") and not passes_on(node):
            return None
        value = node.inputs[0]


def _is_truth(x: Any) -> bool:
    return isinstance(x, bool | np.bool_)


def _one_number(fgraph: FunctionGraph, x: Value, y: Value) -> bool:
    a, b = number_of(fgraph, x), number_of(fgraph, y)
    return a is not None and type(a) is type(b) and repr(a) == repr(b)


# -- rewriting with them --------------------------------------------------------------------------


def built(pattern: Pattern, env: Env) -> Any:
    """What a pattern stands for, built where the current builder is."""
    match pattern:
        case Var(name=name):
            return env[name]
        case Number(value=value):
            return current_builder().value(value)
        case Use(op=name, args=args, attrs=attrs):
            own = {k.split(".", 1)[1]: v for k, v in env.items() if k.startswith(f"{name}.")}
            return OPS[name](*(built(a, env) for a in args), **{**own, **attrs})


def PatternSub(
    before: Any, after: Any, *, where: Condition | None = None, name: str = "", shared: bool = False
) -> LocalRewrite:
    """A local rewrite from a pattern to another one.

    Parameters
    ----------
    before, after : tuple, str, number or function
        Patterns; variables of ``after`` are among those of ``before``.
    where : callable, optional
        ``where(fgraph, x=..., y=...)``, the values of all variables: whether it applies.
    name : str, optional
        The two formulas by default.
    shared : bool
        Whether it applies where others read what is inside the pattern, which is then computed as before, too.

    Raises
    ------
    RewriteError
        ``before`` is no use of an op, or ``after`` has a variable that it lacks.

    Examples
    --------
    >>> PatternSub(("div", ("mul", "x", "y"), "y"), "x").doc
    'x * y / y -> x'
    >>> PatternSub(lambda x: np.log(1 + x), lambda x: np.log1p(x)).doc
    'log(1 + x) -> log1p(x)'
    """
    first = as_pattern(before)
    second = as_pattern(after)
    if not isinstance(first, Use):
        raise RewriteError(f"the pattern {text(first)} is no use of an op")
    missing = variables(second) - variables(first)
    if missing:
        raise RewriteError(f"{text(second)} has variables that {text(first)} lacks: {', '.join(sorted(missing))}")

    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        for env, inner in matches(fgraph, first, node.outputs[0], {}):
            if not shared and any(fgraph.uses(v) > 1 for v in inner if v is not node.outputs[0]):
                continue
            if where is None or where(fgraph, **{k: v for k, v in env.items() if "." not in k}):
                return built(second, env)
        return None

    formula = f"{text(first)} -> {text(second)}"
    return LocalRewrite(name or formula, (first.op,), transform, formula)


def variables(pattern: Pattern) -> set[str]:
    """The names of a pattern's variables."""
    match pattern:
        case Var(name=name):
            return {name}
        case Use(args=args):
            return set[str]().union(*map(variables, args))
    return set()
