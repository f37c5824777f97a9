"""Local rewrites by patterns: what an expression looks like, and what it becomes.

How patterns are written is in `srcgraph.opt.rewriting.writing`. A variable that stands twice stands for one value.
Operands of commutative ops match in either order. Checks, which pass on what they check, are not seen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS, current_builder
from srcgraph.ir.ops.reductions import normalized
from srcgraph.opt.rewriting.fgraph import FunctionGraph, passes_on
from srcgraph.opt.rewriting.local import LocalRewrite, RewriteError
from srcgraph.opt.rewriting.writing import (
    Axes,
    Called,
    Number,
    Pattern,
    Use,
    Var,
    Whole,
    as_before,
    as_pattern,
    mapped,
    op,
    text,
    variables,
)

Env: TypeAlias = dict[str, Any]
"""Variables to values, and ``op.attribute`` to attributes."""


Condition = Callable[..., bool]

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


def _may_match(fgraph: FunctionGraph, pattern: Use, node: Apply) -> bool:
    """Whether the operands a pattern has are among a node's, in whatever order: what mostly fails is seen at once."""
    for arg in pattern.args:
        if isinstance(arg, Use) and not any(fgraph.definition(v, arg.op) for v in node.inputs):
            return False
        if isinstance(arg, Number) and all(number_of(fgraph, v) is None for v in node.inputs):
            return False
    return True


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
    for k, v in pattern.attrs.items():
        own = node.attrs.get(k)
        if not (v.fits(own, node.inputs[0].type.ndim) if isinstance(v, Axes) else own == v):
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
            return value if isinstance(value, np.ndarray) else current_builder().value(value)
        case Use(op=name, args=args, attrs=attrs):
            own = {k.split(".", 1)[1]: v for k, v in env.items() if k.startswith(f"{name}.")}
            return OPS[name](*(built(a, env) for a in args), **{**own, **attrs})
        case Called(function=function, args=args, kwargs=kwargs):
            if function in (np.max, np.min) and len(args) == 1 and set(kwargs) <= {"axis"}:
                return _extreme(function.__name__, built(args[0], env), kwargs.get("axis"))
            build = functools.partial(_given, env=env)
            return function(*mapped(build, args), **{k: mapped(build, v) for k, v in kwargs.items()})
        case Whole(function=function, names=names):
            return function(*(env[n] for n in names))


def _extreme(name: str, x: Value, axis: Any) -> Value:
    """A maximum or minimum; the check that there is anything stays where it stands."""
    return OPS[name](x, axes=normalized(axis, x.type.ndim))


def _given(pattern: Pattern, env: Env) -> Any:
    """What stands in a call: numbers as they are, since some have to be known."""
    return pattern.value if isinstance(pattern, Number) else built(pattern, env)


def PatternSub(
    before: Any, after: Any, *, where: Condition | None = None, name: str = "", shared: bool = False
) -> LocalRewrite:
    """A local rewrite from a pattern to another one.

    Parameters
    ----------
    before, after : tuple, str, number or function
        Patterns; variables of ``after`` are among those of ``before``. If ``after`` is a function, it may do with them
        whatever can be done with variables.
    where : callable, optional
        ``where(fgraph, x=..., y=...)``, the values of all variables: whether it applies.
    name : str, optional
        The two formulas by default.
    shared : bool
        Whether it applies where others read what is inside the pattern, which is then computed as before, too.

    Raises
    ------
    RewriteError
        ``before`` is no use of an op, or has what is not one op; or ``after`` has a variable that it lacks.

    Examples
    --------
    >>> PatternSub(("div", ("mul", "x", "y"), "y"), "x").doc
    'x * y / y -> x'
    >>> PatternSub(lambda x: np.log(1 + x), lambda x: np.log1p(x)).doc
    'log(1 + x) -> log1p(x)'
    """
    first, second = as_before(before), as_pattern(after)
    missing = variables(second) - variables(first)
    if missing:
        raise RewriteError(f"{text(second)} has variables that {text(first)} lacks: {', '.join(sorted(missing))}")

    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        if not _may_match(fgraph, first, node):
            return None
        for env, inner in matches(fgraph, first, node.outputs[0], {}):
            if not shared and any(fgraph.uses(v) > 1 for v in inner if v is not node.outputs[0]):
                continue
            if where is None or where(fgraph, **{k: v for k, v in env.items() if "." not in k}):
                return built(second, env)
        return None

    formula = f"{text(first)} -> {text(second)}"
    return LocalRewrite(name or formula, (first.op,), transform, formula)


__all__ = ["PatternSub", "as_before", "as_pattern", "bare", "built", "matches", "number_of", "op", "text", "variables"]
