"""Reverse mode of the eager engine: what has run is written down, use by use, and gone through backwards.

Each use of an op is differentiated by itself, for the sizes it met, with the rules of `srcgraph.opt.ad`. So loops and
branches need nothing of their own, and what comes out can be held against the gradients made of source. Functions with
derivative rules of their own are differentiated as what they compute. What only another use leaves out, as ``np.where``
does, is not known here: 0 times an infinite derivative is NaN, where gradients made of source give 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcgraph.errors import DerivativeError, InternalError, Problem
from srcgraph.ir.dims import as_dim
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Program, Value, While
from srcgraph.ir.interp import applied, conform, conformed, interpret
from srcgraph.ir.types import INT, ArrayType, ListType, ScalarType, Type, is_inexact
from srcgraph.opt.ad.vjp import pullback


@dataclass(eq=False, slots=True)
class Var:
    """A value that was computed; ``moving`` if it depends on what is differentiated with respect to."""

    value: Any
    moving: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One use of an op."""

    node: Apply
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]


def gradient_by_tape(program: Program, args: Sequence[Any], inputs: Sequence[int], output: int = 0) -> list[Any]:
    """Return the gradient of a result, one number, with respect to some of the arguments.

    Raises
    ------
    DerivativeError
        It depends on them by what has no derivative, through a list, or through random numbers.
    """
    recorder = _Recorder(program.graphs)
    given = [Var(a, k in inputs) for k, a in enumerate(conformed(args, program.main))]
    result = recorder.graph(program.main, given)[output]
    cotangents: dict[Var, Any] = {result: type(result.value)(1)} if result.moving else {}
    steps: dict[Any, Graph] = {}
    for entry in reversed(recorder.tape):
        found = [cotangents.get(out) for out in entry.outputs]
        if any(ct is not None for ct in found):
            _sweep(entry, found, cotangents, steps)
    return [cotangents.get(given[k], _zero(given[k].value)) for k in inputs]


class _Recorder:
    """Runs a program on variables."""

    def __init__(self, graphs: Mapping[str, Graph]):
        self.graphs = graphs
        self.tape: list[Entry] = []

    def graph(self, graph: Graph, args: Sequence[Var]) -> list[Var]:
        env = dict(zip(graph.params, args, strict=True))
        for node in graph.nodes:
            env.update(zip(node.outputs, self.node(node, env), strict=True))
        return [env[r] for r in graph.results]

    def node(self, node: Node, env: dict[Value, Var]) -> Sequence[Var]:
        match node:
            case Apply():
                return self.apply(node, tuple(env[v] for v in node.inputs))
            case If():
                return self.graph(node.then if env[node.cond].value else node.orelse, [env[v] for v in node.captures])
            case While() | For():
                return self.loop(node, env)
            case Call():
                return self.graph(self.graphs[node.callee], [env[v] for v in node.inputs])
            case Define():
                raise InternalError("a graph under differentiation cannot be run")

    def apply(self, node: Apply, inputs: tuple[Var, ...]) -> Sequence[Var]:
        moving = any(v.moving for v in inputs)
        values = applied(node, [v.value for v in inputs])
        outputs = tuple(
            Var(conform(x, o.type), moving and (isinstance(o.type, ListType) or is_inexact(o.type)))
            for x, o in zip(values, node.outputs, strict=True)
        )
        if any(v.moving for v in outputs):
            self.tape.append(Entry(node, inputs, outputs))
        return outputs

    def loop(self, node: While | For, env: dict[Value, Var]) -> list[Var]:
        carry, captures = [env[v] for v in node.carry], [env[v] for v in node.captures]
        trips = (
            iter(range(*(env[v].value for v in (node.start, node.stop, node.step)))) if isinstance(node, For) else None
        )
        while True:
            if isinstance(node, While):
                index, more = [], self.graph(node.cond, carry + captures)[0].value
            else:
                assert trips is not None
                index = [Var(k) for k in [next(trips, None)] if k is not None]
                more = bool(index)
            if not more:
                return carry
            carry = self.graph(node.body, [*index, *carry, *captures])
            if node.stops and carry.pop().value:
                return carry


def _sweep(entry: Entry, found: Sequence[Any], cotangents: dict[Var, Any], steps: dict[Any, Graph]) -> None:
    """Add to the cotangents of the inputs of one use."""
    node = entry.node
    if any(isinstance(v.type, ListType) for v in (*node.inputs, *node.outputs)):
        why = "the eager engine does not differentiate through lists"
        raise DerivativeError(Problem(why, node.origin.loc, hint="use sg.grad, which does"))
    if node.op.kind == "draw":  # a step is run again, and would draw other numbers
        why = "the eager engine does not differentiate through random numbers"
        raise DerivativeError(Problem(why, node.origin.loc, hint="use sg.grad, which does"))
    moving = [k for k, v in enumerate(entry.inputs) if v.moving]
    outputs = [k for k, ct in enumerate(found) if ct is not None]
    types = [actual_type(v.value, x.type) for v, x in zip(entry.inputs, node.inputs, strict=True)]
    attrs = [(k, type(v).__name__, repr(v)) for k, v in node.attrs.items()]
    key = (node.op.name, tuple(types), tuple(attrs), tuple(moving), tuple(outputs))
    if key not in steps:
        made = [actual_type(v.value, x.type) for v, x in zip(entry.outputs, node.outputs, strict=True)]
        steps[key] = _step(node, types, made, moving, outputs)
    grads = interpret(steps[key], [*(v.value for v in entry.inputs), *(found[k] for k in outputs)])
    for k, grad in zip(moving, grads, strict=True):
        var = entry.inputs[k]
        cotangents[var] = grad if var not in cotangents else cotangents[var] + grad


def _step(node: Apply, types: list[Type], made: list[Type], moving: list[int], outputs: list[int]) -> Graph:
    """The graph from the operands of one use, and cotangents of some results, to those of the operands that move."""
    params = tuple(Value(f"x{k}", t) for k, t in enumerate(types))
    results = tuple(Value(f"y{k}", t) for k, t in enumerate(made))
    graph = Graph("step", params, (Apply(node.op, params, results, node.attrs, node.origin),), results)
    return pullback(graph, outputs, moving).graph


def actual_type(value: Any, type: Type) -> Type:
    """The type with all sizes, and an integer, as they are."""
    if isinstance(type, ArrayType):
        return ArrayType(type.dtype, tuple(map(as_dim, value.shape)))
    if isinstance(type, ScalarType) and type.dtype == INT:
        return ScalarType(INT, type.weak, as_dim(int(value)) if type.weak else None)
    return type


def _zero(value: Any) -> Any:
    return np.zeros_like(value) if isinstance(value, np.ndarray) else type(value)(0)
