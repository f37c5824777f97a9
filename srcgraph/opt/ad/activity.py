"""Which values matter: those that depend on what is differentiated and influence the result.

Forward, a value is varied if it depends on an input of interest; backward, useful if a wanted result
depends on it. Everything else costs nothing in the derivative. Both are fixpoints over loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Value, While
from srcgraph.ir.op import ZERO, NoDerivative
from srcgraph.ir.types import ListType, Type, is_complex, is_inexact

Functions: TypeAlias = Mapping[str, Graph]


def carries_derivative(type: Type) -> bool:
    return is_inexact(type.item if isinstance(type, ListType) else type)


def active_values(graph: Graph, inputs: Iterable[Value], results: Iterable[Value]) -> frozenset[Value]:
    """Values of an open graph that are varied by ``inputs`` and useful to ``results``.

    What holds in one call of a function holds in all.
    """
    functions = functions_of(graph)
    varied = set(inputs)
    _until_stable(varied, lambda: _forward(graph, varied, functions))
    useful = {v for v in results if carries_derivative(v.type)}
    _until_stable(useful, lambda: _backward(graph, useful, functions))
    return frozenset(varied & useful)


def functions_of(graph: Graph) -> Functions:
    """The functions defined in an open graph, by name."""
    return {n.graph.name: n.graph for n in graph.nodes if isinstance(n, Define)}


def _until_stable(found: set[Value], step) -> None:
    while True:
        before = len(found)
        step()
        if len(found) == before:
            return


def differentiable(node: Apply) -> bool:
    """Whether a derivative may pass through a node: its rule is not zero everywhere."""
    rule = node.op.vjp
    return (
        node.op.vjp_into is not None or node.op.kind == "check" or not (isinstance(rule, NoDerivative) and rule is ZERO)
    )


def through_complex(node: Apply, active: frozenset[Value]) -> bool:
    """Whether a derivative passes through a node, and through complex numbers or a list of them on the way."""
    if active.isdisjoint(node.outputs) or node.op.kind == "check":
        return False
    return any(is_complex(getattr(v.type, "item", v.type)) and v in active for v in (*node.inputs, *node.outputs))


def _forward(graph: Graph, varied: set[Value], functions: Functions) -> None:
    for node in graph.nodes:
        match node:
            case Apply():
                if differentiable(node) and not varied.isdisjoint(node.inputs):
                    varied.update(v for v in node.outputs if carries_derivative(v.type))
            case Call():
                callee = functions.get(node.callee)
                if callee is None:  # a call with a rule of its own
                    found = () if varied.isdisjoint(node.inputs) else node.outputs
                    varied.update(v for v in found if carries_derivative(v.type))
                    continue
                varied.update(p for p, v in zip(callee.params, node.inputs, strict=True) if v in varied)
                varied.update(v for r, v in zip(callee.results, node.outputs, strict=True) if r in varied)
            case Define():
                _forward(node.graph, varied, functions)
            case If():
                _forward(node.then, varied, functions)
                _forward(node.orelse, varied, functions)
                for out, x, y in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
                    if x in varied or y in varied:
                        varied.add(out)
            case For() | While():
                _forward_loop(node, varied, functions)


def _forward_loop(node: For | While, varied: set[Value], functions: Functions) -> None:
    params = loop_params(node)
    while True:
        before = len(varied)
        for init, param, result, out in zip(node.carry, params, node.body.results, node.outputs, strict=False):
            if carries_derivative(param.type) and (init in varied or result in varied):
                varied.update((param, out))
        _forward(node.body, varied, functions)
        if len(varied) == before:
            return


def _backward(graph: Graph, useful: set[Value], functions: Functions) -> None:
    for node in reversed(graph.nodes):
        match node:
            case Apply():
                if differentiable(node) and not useful.isdisjoint(node.outputs):
                    useful.update(v for v in node.inputs if carries_derivative(v.type))
            case Call():
                callee = functions.get(node.callee)
                if callee is None:
                    found = () if useful.isdisjoint(node.outputs) else node.inputs
                    useful.update(v for v in found if carries_derivative(v.type))
                    continue
                useful.update(r for r, v in zip(callee.results, node.outputs, strict=True) if v in useful)
                useful.update(v for p, v in zip(callee.params, node.inputs, strict=True) if p in useful)
            case Define():
                _backward(node.graph, useful, functions)
            case If():
                for out, x, y in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
                    if out in useful:
                        useful.update((x, y))
                _backward(node.then, useful, functions)
                _backward(node.orelse, useful, functions)
            case For() | While():
                _backward_loop(node, useful, functions)


def _backward_loop(node: For | While, useful: set[Value], functions: Functions) -> None:
    params = loop_params(node)
    while True:
        before = len(useful)
        for init, param, result, out in zip(node.carry, params, node.body.results, node.outputs, strict=False):
            if out in useful or param in useful:
                useful.update((result, init, param))
        _backward(node.body, useful, functions)
        if len(useful) == before:
            return


def loop_params(node: For | While) -> tuple[Value, ...]:
    """The parameters of a loop's body that are its carry."""
    first = 1 if isinstance(node, For) else 0
    return node.body.params[first : first + len(node.carry)]


def owned(node: Node) -> bool:
    return isinstance(node, If | For | While)
