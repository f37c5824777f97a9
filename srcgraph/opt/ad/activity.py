"""Which values matter: those that depend on what is differentiated and influence the result.

Forward, a value is varied if it depends on an input of interest; backward, useful if a wanted result
depends on it. Everything else costs nothing in the derivative. Both are fixpoints over loops.
"""

from __future__ import annotations

from collections.abc import Iterable

from srcgraph.ir.graph import Apply, Call, For, Graph, If, Node, Value, While
from srcgraph.ir.op import ZERO, NoDerivative
from srcgraph.ir.types import ListType, Type, is_complex, is_inexact


def carries_derivative(type: Type) -> bool:
    return is_inexact(type.item if isinstance(type, ListType) else type)


def active_values(graph: Graph, inputs: Iterable[Value], results: Iterable[Value]) -> frozenset[Value]:
    """Values of an open graph that are varied by ``inputs`` and useful to ``results``."""
    varied = set(inputs)
    _until_stable(varied, lambda: _forward(graph, varied))
    useful = {v for v in results if carries_derivative(v.type)}
    _until_stable(useful, lambda: _backward(graph, useful))
    return frozenset(varied & useful)


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


def _forward(graph: Graph, varied: set[Value]) -> None:
    for node in graph.nodes:
        match node:
            case Apply():
                if differentiable(node) and not varied.isdisjoint(node.inputs):
                    varied.update(v for v in node.outputs if carries_derivative(v.type))
            case Call():
                if not varied.isdisjoint(node.inputs):
                    varied.update(v for v in node.outputs if carries_derivative(v.type))
            case If():
                _forward(node.then, varied)
                _forward(node.orelse, varied)
                for out, x, y in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
                    if x in varied or y in varied:
                        varied.add(out)
            case For() | While():
                _forward_loop(node, varied)


def _forward_loop(node: For | While, varied: set[Value]) -> None:
    params = loop_params(node)
    while True:
        before = len(varied)
        for init, param, result, out in zip(node.carry, params, node.body.results, node.outputs, strict=False):
            if carries_derivative(param.type) and (init in varied or result in varied):
                varied.update((param, out))
        _forward(node.body, varied)
        if len(varied) == before:
            return


def _backward(graph: Graph, useful: set[Value]) -> None:
    for node in reversed(graph.nodes):
        match node:
            case Apply():
                if differentiable(node) and not useful.isdisjoint(node.outputs):
                    useful.update(v for v in node.inputs if carries_derivative(v.type))
            case Call():
                if not useful.isdisjoint(node.outputs):
                    useful.update(v for v in node.inputs if carries_derivative(v.type))
            case If():
                for out, x, y in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
                    if out in useful:
                        useful.update((x, y))
                _backward(node.then, useful)
                _backward(node.orelse, useful)
            case For() | While():
                _backward_loop(node, useful)


def _backward_loop(node: For | While, useful: set[Value]) -> None:
    params = loop_params(node)
    while True:
        before = len(useful)
        for init, param, result, out in zip(node.carry, params, node.body.results, node.outputs, strict=False):
            if out in useful or param in useful:
                useful.update((result, init, param))
        _backward(node.body, useful)
        if len(useful) == before:
            return


def loop_params(node: For | While) -> tuple[Value, ...]:
    """The parameters of a loop's body that are its carry."""
    first = 1 if isinstance(node, For) else 0
    return node.body.params[first : first + len(node.carry)]


def owned(node: Node) -> bool:
    return isinstance(node, If | For | While)
