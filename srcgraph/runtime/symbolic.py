"""Python and NumPy of variables: what operators, indexing and functions of them make, where there is no other source.

`srcgraph.ir.symbolic` has the variables. A call is written as a small function, which is lowered as any other for the
types of the variables; its nodes are a step. So whatever is compiled can be built.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special

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
    ReshapeOf,
    Template,
    TupleOf,
)
from srcgraph.infer.signature import ArrayArg, ScalarArg, Skeleton
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Graph, Value, set_operator
from srcgraph.ir.op import OPS, building, current_builder
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.shared import SharedVariable
from srcgraph.ir.symbolic import graph_of, step, variable_of, variables_of
from srcgraph.ir.types import ArrayType, ScalarType, is_float
from srcgraph.ir.view import View
from srcgraph.opt.ad.vjp import gradient
from srcgraph.opt.inline import inline
from srcgraph.runtime.texts import function_of


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
    >>> call(lambda x: x[1:] - x[:-1], vector("x"))
    <sub: f64[n - 1]>
    """
    return step(functools.partial(_called, function), args, {}, lazy)


def _called(function: Callable[..., Any], *args: Any) -> Any:
    builder = current_builder()
    values = [builder.value(a) for a in args]
    code = prepare(function, None)
    sizes: dict[Dim, str] = {}
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    skeletons = {n: _skeleton(v, k, sizes) for k, (n, v) in enumerate(zip(names, values, strict=True))}
    try:
        found = lower_entry(code, skeletons, private=True)
    except NeedStatic as need:  # of a variable, which has no value yet
        problem = need.refusal.problem
        raise (problem.kind or UnsupportedError)(problem) from None
    graph = _alone(found)
    results = _Put(builder).put(graph, values)
    after = {k: results[out] for k, out in found.summary.changed}  # arrays that it stores into
    return _results(found.summary.template, results, [after.get(k, v) for k, v in enumerate(values)])


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
            return current_builder().value(value)
        case TupleOf(items=items):
            return tuple(_results(t, results, given) for t in items)
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


def gradients(cost: Value, wrt: Sequence[Value]) -> list[Value]:
    """How a number moves with some of the values that it is made of: the reverse sweep, as values.

    Parameters
    ----------
    cost : Value
        One float.
    wrt : sequence of Value
        Variables, or what was made of them; floats and arrays of floats.

    Raises
    ------
    ArgumentError
        The cost is no float.
    """
    if cost.type.ndim or not is_float(cost.type):
        raise ArgumentError(f"gradients are of one float, not of {cost.type}")
    others = [v for v in variables_of([cost], wrt) if v not in wrt]
    graph = graph_of([*wrt, *others], [cost], "cost")
    derived = gradient(graph, 0, tuple(range(len(wrt)))).graph
    return list(step(lambda *given: _Put(current_builder()).put(derived, given), [*wrt, *others], {}))


# -- operators, indexing and NumPy's functions ------------------------------------------------------


def written(text: str, args: Sequence[Any], lazy: bool = False) -> Any:
    """What an expression of ``a0``, ``a1``, ... gives of variables; other arguments are written into it."""
    places = {f"a{k}": a for k, a in enumerate(args)}
    names = ", ".join(n for n, a in places.items() if isinstance(a, Value))
    fixed = {n: a for n, a in places.items() if not isinstance(a, Value)}
    return call(
        _made(names, text.format(*(n if n not in fixed else _text(fixed[n]) for n in places))),
        *(a for a in args if isinstance(a, Value)),
        lazy=lazy,
    )


@functools.lru_cache(maxsize=4096)
def _made(names: str, text: str) -> types.FunctionType:
    return function_of(f"def step({names}):\n    return {text}\n", "step", "step of variables", _SPACE)


_SPACE = {"np": np, "special": special}


def _text(x: Any) -> str:
    """A literal as source text."""
    match x:
        case tuple():
            return f"({', '.join(map(_text, x))}{',' if len(x) == 1 else ''})"
        case list():
            return f"[{', '.join(map(_text, x))}]"
        case slice():
            return f"slice({_text(x.start)}, {_text(x.stop)}, {_text(x.step)})"
        case np.dtype():
            return f"np.{x.name}"
        case type() if issubclass(x, np.generic):
            return f"np.{x.__name__}"
        case np.generic():
            return f"np.{x.dtype.name}({_text(x.item())})"
        case np.ndarray():
            return f"np.array({_text(x.tolist())}, dtype=np.{x.dtype.name})"
        case complex() if not np.isfinite(x):
            return f"complex({_text(x.real)}, {_text(x.imag)})"
        case _ if x is Ellipsis:
            return "..."
    text = repr(x)
    return {
        "inf": "np.inf",
        "-inf": "-np.inf",
        "nan": "np.nan",
        "<class 'float'>": "float",
        "<class 'int'>": "int",
    }.get(text, text)


def _subscript(x: Value, index: Any) -> Any:
    """``x[index]``: an index is made of integers, slices, None, an ellipsis and variables."""
    args: list[Any] = [x]

    def place(part: Any) -> str:
        if isinstance(part, slice):
            ends = ["" if e is None else place(e) for e in (part.start, part.stop, part.step)]
            return ":".join(ends)
        args.append(part)
        return "{" + str(len(args) - 1) + "}"

    parts = index if isinstance(index, tuple) else (index,)
    text = ", ".join(map(place, parts)) + ("," if isinstance(index, tuple) and len(parts) == 1 else "")
    return written("{0}[" + text + "]", args)


def _function(name: str) -> Callable[..., Any]:
    """A function by its name in the text, called on variables and literals."""

    def called(*args: Any, **kwargs: Any) -> Any:
        every: list[Any] = []
        given = [_placed(a, every) for a in args] + [f"{k}={_placed(a, every)}" for k, a in kwargs.items()]
        return written(f"{name}({', '.join(given)})", every)

    return called


def _placed(x: Any, every: list[Any]) -> str:
    """The text of an argument; what goes into it is appended. Tuples and lists may have variables inside."""
    if isinstance(x, tuple | list) and _has_variables(x):
        inner = "".join(f"{_placed(v, every)}, " for v in x)
        return f"[{inner}]" if isinstance(x, list) else f"({inner})"
    every.append(x)
    return f"{{{len(every) - 1}}}"


def _has_variables(x: Any) -> bool:
    return isinstance(x, Value) or (isinstance(x, tuple | list) and any(map(_has_variables, x)))


def _method(name: str) -> Callable[..., Any]:
    def called(x: Value, *args: Any, **kwargs: Any) -> Any:
        return _function(f"np.{name}")(x, *args, **kwargs)

    return called


def _shape(x: Value) -> tuple[Any, ...]:
    """The lengths of the axes: integers where they are known, else variables that stand for them."""
    if isinstance(x.type, ScalarType):
        return ()
    return tuple(d.const if d.const is not None else OPS["dim"](x, axis=k) for k, d in enumerate(x.type.shape))


def _numpy_function(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    home = "special" if getattr(special, function.__name__, None) is function else "np"
    module = getattr(function, "__module__", "") or ""
    inner = ".linalg" if module.startswith("numpy.linalg") else ".fft" if module.startswith("numpy.fft") else ""
    return _function(f"{home}{inner}.{function.__name__}")(*args, **kwargs)


def _of_shared(name: str) -> Callable[..., Any]:
    """An operator on a shared variable: on the variable that stands for what it holds."""

    def operator(self: SharedVariable, *others: Any) -> Any:
        given = [variable_of(v) if isinstance(v, SharedVariable) else v for v in others]
        return getattr(variable_of(self), name)(*given)

    return operator


setattr(SharedVariable, "variable", property(variable_of))  # noqa: B010
for _name in (
    *(f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "matmul", "pow") for side in ("", "r")),
    *(f"__{side}{name}__" for name in ("floordiv", "mod", "and", "or", "xor") for side in ("", "r")),
    *("__neg__", "__abs__", "__invert__", "__getitem__", "__array_ufunc__", "__array_function__"),
):
    if hasattr(Value, _name):
        setattr(SharedVariable, _name, _of_shared(_name))

set_operator("getitem", _subscript)
set_operator("numpy", _numpy_function)
for _name in (
    "sum",
    "prod",
    "mean",
    "std",
    "var",
    "max",
    "min",
    "argmax",
    "argmin",
    "reshape",
    "cumsum",
    "dot",
    "any",
    "all",
):
    set_operator(_name, _method(_name))
set_operator("T", lambda x: written("{0}.T", [x]))
set_operator("shape", _shape)
set_operator("ndim", lambda x: x.type.ndim)
set_operator("dtype", lambda x: x.type.dtype)
set_operator("size", lambda x: math.prod(_shape(x)))
set_operator("abs", lambda x: written("abs({0})", [x]))
set_operator("invert", lambda x: written("~{0}", [x]))
set_operator("astype", lambda x, dtype: written("{0}.astype({1})", [x, np.dtype(dtype)]))
for _name, _sign in {
    "matmul": "@", "floordiv": "//", "mod": "%", "pow": "**", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "and": "&", "or": "|", "xor": "^",
}.items():  # fmt: skip
    set_operator(_name, lambda x, y, sign=_sign: written("{0} " + sign + " {1}", [x, y]))
