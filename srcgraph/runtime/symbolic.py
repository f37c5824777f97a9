"""Functions called on variables, which are lowered as any other for the types of the variables; and gradients.

`srcgraph.ir.symbolic` has the variables. The nodes of a call are a step, or go where a builder is, as in a rewrite. So
whatever is compiled can be built.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from srcgraph.errors import ArgumentError, Problem, UnsupportedError
from srcgraph.frontend.lower import NeedStatic
from srcgraph.frontend.session import prepare
from srcgraph.frontend.specialize import Lowered, lower_entry
from srcgraph.frontend.template import (
    ArgumentView,
    EitherOf,
    Fixed,
    Never,
    NewArray,
    Out,
    RecordOf,
    ReshapeOf,
    Template,
    TupleOf,
)
from srcgraph.infer.signature import ArrayArg, ScalarArg, Skeleton
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Graph, Value
from srcgraph.ir.op import OPS, building, current_builder, is_building
from srcgraph.ir.operators import Operators
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.symbolic import built_between, graph_of, step, variables_of
from srcgraph.ir.types import ArrayType, ScalarType, is_float
from srcgraph.ir.view import View
from srcgraph.ir.walk import has_order
from srcgraph.opt.ad.vjp import gradient
from srcgraph.opt.inline import inline


def call(function: Callable[..., Any], *args: Any, lazy: bool = False) -> Any:
    """What a Python function gives of variables: a value, or a tuple of values.

    Parameters
    ----------
    function : function
        Plain Python, as for `srcgraph.compile`. It is lowered for the types of its arguments, all of them variables.
    *args : Value or number
    lazy : bool
        Whether what only one side of a branch needs, checks included, is computed there.

    Examples
    --------
    >>> from srcgraph.ir.symbolic import vector
    >>> x = vector("x")
    >>> function([x], call(lambda x: x[1:] - x[:-1], x))(np.array([1.0, 4.0, 9.0]))
    array([3., 5.])
    """
    return placed(functools.partial(_called, functools.partial(_lowered, function)), _values(args), lazy)


def call_cached(function: types.FunctionType, args: Sequence[Value], lazy: bool = False) -> Any:
    """What a function that reads nothing but NumPy gives of variables, none of which it may store into.

    What is known, as ``x.ndim`` and lengths that are, is Python's integer or bool.
    """
    lower = functools.partial(_lowered_once, function)
    return placed(functools.partial(_called, lower, known=True), args, lazy)


def _known(found: Any) -> Any:
    if type(found) is tuple:
        return tuple(map(_known, found))
    node = current_builder().definition(found) if isinstance(found, Value) else None
    if node is None or node.op.name != "const" or type(node.attrs["value"]) not in (bool, int):
        return found
    return node.attrs["value"]


def _values(args: Sequence[Any]) -> list[Any]:
    return [a.variable if isinstance(a, Operators) else a for a in args]


def placed(called: Callable[..., Any], args: Sequence[Any], lazy: bool) -> Any:
    """What is built where a builder is, or as a step."""
    return called(*args) if is_building() else step(called, args, {}, lazy)


def _called(lower: Callable[..., Lowered], *args: Any, known: bool = False) -> Any:
    builder = current_builder()
    values = [builder.value(a) for a in args]
    sizes: dict[Dim, str] = {}
    skeletons = [_skeleton(v, k, sizes) for k, v in enumerate(values)]
    stretched = frozenset(name for dim, name in sizes.items() if not builder.not_one(dim))
    found = lower(stretched, *skeletons)
    graph = _alone(found)
    results = _Put(builder).put(graph, values)
    after = {k: results[out] for k, out in found.summary.changed}  # arrays that it stores into
    made = _results(found.summary.template, results, [after.get(k, v) for k, v in enumerate(values)])
    return _known(made) if known and not any(map(has_order, graph.nodes)) else made


def _lowered(function: types.FunctionType, maybe_one: frozenset[str], *skeletons: Skeleton) -> Lowered:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    args = dict(zip(names, skeletons, strict=True))
    try:
        return lower_entry(prepare(function, None), args, private=True, maybe_one=maybe_one)
    except NeedStatic as need:  # of a variable, which has no value yet
        problem = need.refusal.problem
        raise (problem.kind or UnsupportedError)(problem) from None


@functools.lru_cache(maxsize=4096)
def _lowered_once(function: types.FunctionType, maybe_one: frozenset[str], *skeletons: Skeleton) -> Lowered:
    found = _lowered(function, maybe_one, *skeletons)
    if found.summary.changed:
        raise ArgumentError(
            Problem("it stores into a variable, which never changes", hint="use a function that makes an array")
        )
    return found


class _Put(Rebuild):
    """Puts a graph where a builder is."""

    def __init__(self, builder: Any):
        super().__init__("step")
        self.builder = builder

    def put(self, graph: Graph, inputs: Sequence[Value]) -> Sequence[Value]:
        with building(self.builder):
            return super().put(graph, inputs)


def _skeleton(value: Value, number: int, sizes: dict[Dim, str]) -> Skeleton:
    match value.type:
        case ScalarType(dtype=dtype, weak=weak):
            return ScalarArg(dtype, weak)
        case ArrayType(dtype=dtype, shape=shape):
            own = [d.const if d.const is not None else sizes.setdefault(d, f"d{len(sizes)}") for d in shape]
            return ArrayArg(dtype, tuple(own), number)
    raise ArgumentError(f"a variable is a number or an array, not {value.type}")


def _alone(found: Lowered) -> Graph:
    if found.summary.hidden:
        names = ", ".join(h.name for h in found.summary.hidden)
        raise ArgumentError(Problem(f"what is called on variables reads {names}", hint="give it as an argument"))
    program = inline(found.program)
    if len(program.graphs) > 1:
        raise ArgumentError("a recursive function cannot be called on variables: compile it")
    return program.main


def _results(template: Template, results: Sequence[Value], given: Sequence[Value]) -> Any:
    """What a template says is returned, as values; a part of an array is the value of that part."""

    def part(array: Value, view: View | None, operands: Sequence[int]) -> Value:
        return array if view is None else OPS["getitem"](array, *(results[k] for k in operands), view=view)

    match template:
        case Out(index=k):
            return results[k]
        case NewArray(index=k, view=view, operands=operands):
            return part(results[k], view, operands)
        case ArgumentView(param=k, view=view, operands=operands):
            return part(given[k], view, operands)
        case ReshapeOf(array=array, dims=dims, view=view, operands=operands):
            shaped = OPS["reshape"](_results(array, results, given), *(results[k] for k in dims))
            return part(shaped, view, operands)
        case EitherOf(test=test, then=then, orelse=orelse):
            return either(results[test], [functools.partial(_results, t, results, given) for t in (then, orelse)])
        case Fixed(value=value):
            return value
        case TupleOf(items=items, cls=cls):
            made = [_results(t, results, given) for t in items]
            return cls(*made) if hasattr(cls, "_fields") else cls(made)
        case RecordOf(cls=cls, names=names, items=items) if hasattr(cls, "_fields") or cls is dict:
            made = [_results(t, results, given) for t in items]
            return cls(*made) if cls is not dict else dict(zip(names, made, strict=True))
        case Never():
            raise ArgumentError("a function of variables raises whatever they are")
    raise ArgumentError("a function of variables returns numbers, arrays and tuples of them")


def either(test: Value, sides: Sequence[Callable[[], Any]]) -> Value:
    """One of two arrays."""
    builder = current_builder()
    regions = [builder.new_region() for _ in sides]
    values = []
    for region, side in zip(regions, sides, strict=True):
        with builder.inside(region):
            values.append([side()])
    return builder.if_(test, (regions[0], values[0]), (regions[1], values[1]))[0]


def gradients(cost: Operators, wrt: Sequence[Operators]) -> list[Value]:
    """How a number moves with some of the values that it is made of: the reverse sweep, as values.

    Parameters
    ----------
    cost : Value
        One float.
    wrt : sequence of Value
        Variables, shared ones too, or what was made of them; floats and arrays of floats.

    Raises
    ------
    ArgumentError
        The cost is no float.
    """
    number, given = cost.variable, [v.variable for v in wrt]
    if number.type.ndim or not is_float(number.type):
        raise ArgumentError(f"gradients are of one float, not of {number.type}")
    others = [v for v in variables_of([number], given) if v not in given]
    graph = graph_of([*given, *others], [number], "cost")
    derived = gradient(graph, 0, tuple(range(len(given)))).graph
    between = built_between([number], [*given, *others])
    put = functools.partial(_put, derived)
    return list(step(put, [*given, *others], {}, through=between))


def _put(graph: Graph, *values: Value) -> Sequence[Value]:
    return _Put(current_builder()).put(graph, values)
