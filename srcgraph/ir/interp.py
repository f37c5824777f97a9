"""Run a graph node by node with NumPy: its reference meaning, and the oracle of every backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np

from srcgraph.errors import ArgumentError, InternalError, Problem, UnsupportedError
from srcgraph.ir.exceptions import TOO_LARGE
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Program, Value, While
from srcgraph.ir.op import Op, no_meaning
from srcgraph.ir.types import INT, PYTHON_TYPE, ArrayType, ListType, ScalarType, Type


def interpret(graph: Graph | Program, args: Sequence[Any], effects: bool = True) -> list[Any]:
    """Run a closed graph on ``args`` and return its results.

    Arrays are never modified: a store makes a new array. Without ``effects`` nothing is written, nor warned of.

    Raises
    ------
    InternalError
        An op's result is not of the type its rule promised.
    ArgumentError
        ``args`` are not what the parameters of the graph are.
    """
    program = graph if isinstance(graph, Program) else Program({graph.name: graph}, graph.name)
    return Run(program.graphs, effects).graph(program.main, conformed(args, program.main))


def conformed(args: Sequence[Any], graph: Graph) -> list[Any]:
    """The arguments of a call from outside, as the parameters of the graph want them.

    Raises
    ------
    ArgumentError
        One is of another type, or there are more or fewer; names it.
    """
    if len(args) != len(graph.params):
        names = ", ".join(p.name or str(p.type) for p in graph.params)
        raise ArgumentError(f"{graph.name!r} takes {len(graph.params)} values ({names}), not {len(args)}")
    out = []
    for k, (arg, param) in enumerate(zip(args, graph.params, strict=True)):
        try:
            out.append(conform(arg, param.type))
        except InternalError:
            called = repr(param.name) if param.name else f"number {k + 1}"
            raise ArgumentError(f"argument {called} must be {param.type}, not {describe(arg)}") from None
    return out


class Run:
    def __init__(self, graphs: Mapping[str, Graph], effects: bool):
        self.graphs = graphs
        self.effects = effects

    def graph(self, graph: Graph, args: Sequence[Any]) -> list[Any]:
        env: dict[Value, Any] = {}
        if len(args) != len(graph.params):
            raise InternalError(f"{graph.name} takes {len(graph.params)} values, got {len(args)}")
        for param, arg in zip(graph.params, args, strict=True):
            env[param] = conform(arg, param.type)
        for node in graph.nodes:
            outputs = self.node(node, env)
            for value, out in zip(node.outputs, outputs, strict=True):
                env[value] = conform(out, value.type)
        return [env[r] for r in graph.results]

    def node(self, node: Node, env: dict[Value, Any]) -> Sequence[Any]:
        match node:
            case Apply(op=op) if op.kind == "effect" and not self.effects:
                return (True,)
            case Apply():
                return applied(node, [env[v] for v in node.inputs])
            case If():
                branch = node.then if env[node.cond] else node.orelse
                return self.graph(branch, [env[v] for v in node.captures])
            case While():
                return self.while_(node, env)
            case For():
                return self.for_(node, env)
            case Call():
                return self.call(node, env)
            case Define():
                raise InternalError("a graph under differentiation cannot be run")
            case _:
                assert_never(node)

    def while_(self, node: While, env: dict[Value, Any]) -> list[Any]:
        carry, captures = [env[v] for v in node.carry], [env[v] for v in node.captures]
        while self.graph(node.cond, carry + captures)[0]:
            carry = self.graph(node.body, carry + captures)
            if node.stops and carry.pop():
                break
        return carry

    def for_(self, node: For, env: dict[Value, Any]) -> list[Any]:
        carry, captures = [env[v] for v in node.carry], [env[v] for v in node.captures]
        for i in range(env[node.start], env[node.stop], env[node.step]):
            carry = self.graph(node.body, [i, *carry, *captures])
            if node.stops and carry.pop():
                break
        return carry

    def call(self, node: Call, env: dict[Value, Any]) -> list[Any]:
        return self.graph(self.graphs[node.callee], [env[v] for v in node.inputs])


def applied(node: Apply, args: Sequence[Any]) -> Sequence[Any]:
    """What a use of an op gives, one value for each of its outputs.

    Raises
    ------
    UnsupportedError
        The op says what it is, and not what it computes.
    """
    if node.op.numpy is no_meaning:
        why = f"the op {node.op.name!r} cannot be run: its record has no numpy="
        raise UnsupportedError(Problem(why, node.origin.loc, hint="give it a function of NumPy's numbers and arrays"))
    if node.op.grows and is_python_integer(node.outputs[0].type):
        return (exact(node.op, args, node.attrs),)
    with np.errstate(all="ignore"):
        out = node.op.numpy(*args, **node.attrs)
    return out if len(node.outputs) > 1 else (out,)


def is_python_integer(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.weak and type.dtype == INT


def exact(op: Op, args: Sequence[Any], attrs: Mapping[str, Any]) -> int:
    """What an op gives of Python's integers.

    Raises
    ------
    OverflowError
        It needs more than 64 bits.
    """
    if op.name == "floordiv":
        out = int(args[0]) // int(args[1]) if args[1] else 0
    else:
        out = int(op.numpy(*(np.array(int(a), object) for a in args), **attrs))
    if not -(2**63) <= out < 2**63:
        raise OverflowError(TOO_LARGE)
    return out


def conform(x: Any, type: Type) -> Any:
    """``x`` as a value of ``type``: Python numbers for weak scalars, NumPy's for the others.

    Raises
    ------
    InternalError
        The dtype, or the number of axes, is another.
    """
    match type:
        case ListType():
            return x
        case ArrayType():
            if not isinstance(x, np.ndarray) or x.dtype != type.dtype or x.ndim != type.ndim:
                raise InternalError(f"expected {type}, got {describe(x)}")
            return x
        case ScalarType():
            kind = PYTHON_TYPE[type.dtype] if type.weak else type.dtype.type
            if x.__class__ is kind:
                return x
            if np.ndim(x) or np.asarray(x).dtype != type.dtype:
                raise InternalError(f"expected {type}, got {describe(x)}")
            return kind(x)


def describe(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"an array of {x.dtype} with shape {x.shape}"
    return f"{x!r} ({type(x).__name__})"
