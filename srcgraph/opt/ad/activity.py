"""Which values matter: those that depend on what is differentiated and influence the result.

Forward, a value is varied if it depends on an input of interest; backward, useful if a wanted result
depends on it. Everything else costs nothing in the derivative. Both are fixpoints over loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from srcgraph.ir.builder import Builder
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Value, While
from srcgraph.ir.op import OPS, ZERO, NoDerivative
from srcgraph.ir.types import ArrayType, ListType, ScalarType, Type, is_complex, is_float, is_inexact

Functions: TypeAlias = Mapping[str, Graph]


def carries_derivative(type: Type) -> bool:
    return is_inexact(type.item if isinstance(type, ListType) else type)


def active_values(graph: Graph, inputs: Iterable[Value], results: Iterable[Value]) -> frozenset[Value]:
    """Values of an open graph that are varied by ``inputs`` and useful to ``results``.

    What holds in one call of a function holds in all.
    """
    functions = functions_of(graph)
    varied = set(inputs)
    _walk(varied, functions, lambda: DERIVATIVE.spread(graph, varied, functions))
    useful = {v for v in results if carries_derivative(v.type)}
    _walk(useful, functions, lambda: _backward(graph, useful, functions))
    return frozenset(varied & useful)


def functions_of(graph: Graph) -> Functions:
    """The functions defined in an open graph, by name."""
    return {n.graph.name: n.graph for n in graph.nodes if isinstance(n, Define)}


def _walk(found: set[Value], functions: Functions, step: Callable[[], None]) -> None:
    """One walk, or with functions that call each other as many as find something."""
    before = -1
    while before != (before := len(found)):
        step()
        if not functions:
            return


def differentiable(node: Apply) -> bool:
    """Whether a derivative may pass through a node: its rule is not zero everywhere."""
    rule = node.op.vjp
    return (
        node.op.vjp_into is not None or node.op.kind == "check" or not (isinstance(rule, NoDerivative) and rule is ZERO)
    )


def moving(node: Apply) -> list[Value]:
    """The operands that a derivative may pass through to."""
    return [v for k, v in enumerate(node.inputs) if k not in node.op.constant]


def through_complex(node: Apply, active: frozenset[Value]) -> bool:
    """Whether a derivative passes through a node, and through complex numbers or a list of them on the way."""
    if active.isdisjoint(node.outputs) or node.op.kind == "check":
        return False
    return any(is_complex(getattr(v.type, "item", v.type)) and v in active for v in (*node.inputs, *node.outputs))


@dataclass(frozen=True, slots=True)
class Dependence:
    """How dependence spreads from operands to results.

    Attributes
    ----------
    through : callable
        Whether it passes through a node.
    carries : callable
        Whether values of a type have it.
    control : bool
        Whether what a condition chooses, or how often a loop runs, depends on the condition.
    """

    through: Callable[[Apply], bool]
    carries: Callable[[Type], bool]
    control: bool = False

    def spread(self, graph: Graph, varied: set[Value], functions: Functions) -> None:
        """One walk over a graph; loops are walked until nothing changes."""
        for node in graph.nodes:
            match node:
                case Apply():
                    if self.through(node) and not varied.isdisjoint(node.inputs if self.control else moving(node)):
                        varied.update(v for v in node.outputs if self.carries(v.type))
                case Call():
                    self._call(node, varied, functions.get(node.callee))
                case Define():
                    self.spread(node.graph, varied, functions)
                case If():
                    self.spread(node.then, varied, functions)
                    self.spread(node.orelse, varied, functions)
                    chosen = self.control and node.cond in varied
                    for out, x, y in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
                        if chosen or x in varied or y in varied:
                            varied.add(out)
                case For() | While():
                    self._loop(node, varied, functions)

    def _call(self, node: Call, varied: set[Value], callee: Graph | None) -> None:
        if callee is None:  # a call with a rule of its own
            found = () if varied.isdisjoint(node.inputs) else node.outputs
            varied.update(v for v in found if self.carries(v.type))
            return
        varied.update(p for p, v in zip(callee.params, node.inputs, strict=True) if v in varied)
        varied.update(v for r, v in zip(callee.results, node.outputs, strict=True) if r in varied)

    def _loop(self, node: For | While, varied: set[Value], functions: Functions) -> None:
        params = loop_params(node)
        self._carried(node, params, varied)
        while True:
            self.spread(node.body, varied, functions)
            if self.control:
                self._decided(node, params, varied, functions)
            if not self._carried(node, params, varied):
                return

    def _carried(self, node: For | While, params: Sequence[Value], varied: set[Value]) -> bool:
        """From one trip to the next; whether that finds something."""
        before = len(varied)
        for init, param, result, out in zip(node.carry, params, node.body.results, node.outputs, strict=False):
            if self.carries(param.type) and not varied.isdisjoint((init, result)):
                varied.update((param, out))
        return len(varied) > before

    def _decided(self, node: For | While, params: Sequence[Value], varied: set[Value], functions: Functions) -> None:
        """What a loop gives depends on what decides how often it runs."""
        decides = node.body.results[-1:] if node.stops else ()
        if isinstance(node, While):
            varied.update(p for p, q in zip(node.cond.params, params, strict=False) if q in varied)
            self.spread(node.cond, varied, functions)
            decides += node.cond.results
        else:
            decides += (node.start, node.stop, node.step)
        if not varied.isdisjoint(decides):
            varied.update(node.outputs)


DERIVATIVE = Dependence(differentiable, carries_derivative)
VALUE = Dependence(lambda node: node.op.name not in ("dim", "list_len"), lambda type: True, control=True)


def dependent(graph: Graph, values: Iterable[Value]) -> set[Value]:
    """All values of an open graph that depend on these; lengths do not."""
    varied, functions = set(values), functions_of(graph)
    _walk(varied, functions, lambda: VALUE.spread(graph, varied, functions))
    return varied


def _backward(graph: Graph, useful: set[Value], functions: Functions) -> None:
    for node in reversed(graph.nodes):
        match node:
            case Apply():
                if differentiable(node) and not useful.isdisjoint(node.outputs):
                    useful.update(v for v in moving(node) if carries_derivative(v.type))
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
    _carry_back(node, useful)
    while True:
        _backward(node.body, useful, functions)
        if not _carry_back(node, useful):
            return


def _carry_back(node: For | While, useful: set[Value]) -> bool:
    """From one trip to the one before it; whether that finds something."""
    before = len(useful)
    for init, param, result, out in zip(node.carry, loop_params(node), node.body.results, node.outputs, strict=False):
        if out in useful or param in useful:
            useful.update((result, init, param))
    return len(useful) > before


def converted(b: Builder, found: Value, like: Value) -> Value:
    """A tangent or cotangent, of the right shape, in the dtype and the kind of its value."""
    type = like.type
    if isinstance(type, ArrayType) and not type.ndim and found.type == type:
        return found
    found = OPS["real"](found) if is_float(type) else found
    found = b.cast(found, type.dtype, getattr(type, "weak", False))
    alone = isinstance(type, ArrayType) and isinstance(found.type, ScalarType)
    return b.call_named("full", found) if alone else found  # an array without axes, which may be stored into


def loop_params(node: For | While) -> tuple[Value, ...]:
    """The parameters of a loop's body that are its carry."""
    first = 1 if isinstance(node, For) else 0
    return node.body.params[first : first + len(node.carry)]
