"""What the derivative rule of one step makes of the cotangents of its results.

A rule is graph code, so a graph is built of it once for each node, by the code that builds the reverse sweep, and
interpreted for each step. Lists only move what is on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from srcgraph.ir.builder import Builder
from srcgraph.ir.dims import symbol
from srcgraph.ir.graph import Apply, Call, Graph, Program, Value
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import OPS, building
from srcgraph.ir.types import INT, ScalarType, is_complex, is_inexact, type_symbols
from srcgraph.opt.ad.activity import differentiable
from srcgraph.opt.ad.functions import Callees
from srcgraph.opt.ad.lists import ADJOINTS
from srcgraph.opt.ad.reverse import Reverse
from srcgraph.opt.ad.vjp import gradient
from srcgraph.runtime.verification.trace import Step

Cotangents = Sequence[Any]
"""One for each output or input; None is zero."""


class Pullbacks:
    """The rules of nodes, as graphs that can be run.

    Parameters
    ----------
    callees : mapping
        The recursive functions that rules may call.
    rules : mapping
        The functions with rules of their own, and the graphs of these rules.
    """

    def __init__(self, callees: Callees, rules: Mapping[str, Graph]):
        self.callees = callees
        self.rules = rules
        self.known: dict[Any, tuple[Program, list[int]]] = {}

    def __call__(self, step: Step, cts: Cotangents) -> list[Any]:
        """The cotangents that a step contributes to its inputs."""
        node = step.node
        if step.is_copy:
            return list(cts)
        if isinstance(node, Apply) and (node.op.name in ADJOINTS):
            return LISTS[node.op.name](cts, [ref.value for ref in step.inputs])
        if isinstance(node, Apply) and not differentiable(node):
            return [None] * len(step.inputs)
        present = tuple(k for k, ct in enumerate(cts) if ct is not None)
        varied = tuple(k for k, ref in enumerate(step.inputs) if ref.varied)
        key = node, present, varied
        if key not in self.known:
            assert isinstance(node, Apply | Call)
            self.known[key] = self.built(node, present, varied, step)
        program, places = self.known[key]
        given = [ref.value for ref in step.inputs]
        given += [ref.value for ref in step.outputs] if isinstance(node, Apply) else []
        found = interpret(program, [*given, *(cts[k] for k in present), *step.sizes.values()], effects=False)
        out: list[Any] = [None] * len(step.inputs)
        for k, ct in zip(places, found, strict=True):
            out[k] = np.asarray(ct) if isinstance(given[k], np.ndarray) else ct
        return out

    def built(
        self, node: Apply | Call, present: Sequence[int], varied: Sequence[int], step: Step
    ) -> tuple[Program, list[int]]:
        """A graph from inputs, results of an op, cotangents and sizes to contributions; which inputs have one."""
        b = Builder("pullback")
        outputs = node.outputs if isinstance(node, Apply) else ()
        cts = [node.outputs[k] for k in present]
        b.reserve(frozenset().union(*(type_symbols(v.type) for v in (*node.inputs, *node.outputs))))
        given = [b.param(v.name, v.type) for v in (*node.inputs, *outputs, *cts)]
        for name in step.sizes:
            b.param(name, ScalarType(INT, True, symbol(name)))
        first = len(node.inputs)
        inputs, weights = given[:first], given[first + len(outputs) :]
        if isinstance(node, Apply):
            return _of_op(
                b, node, inputs, given[first : first + len(outputs)], dict(zip(present, weights, strict=True)), varied
            )
        return self.of_call(b, node, inputs, weights, present, varied)

    def of_call(
        self,
        b: Builder,
        node: Call,
        inputs: Sequence[Value],
        weights: Sequence[Value],
        present: Sequence[int],
        varied: Sequence[int],
    ) -> tuple[Program, list[int]]:
        """The gradient of the results times their cotangents, by the rule."""
        assert node.rule is not None
        places = [k for k in varied if k in node.rule.moving]
        types, names = [v.type for v in node.outputs], [v.name for v in node.outputs]
        with building(b):
            outs = b.call_graph(node.callee, inputs, types, names, node.changes, node.rule)
            total: Any = 0.0
            for k, w in zip(present, weights, strict=True):
                total = OPS["add"](_inner(w, outs[k]), total) if isinstance(total, Value) else _inner(w, outs[k])
            graph = b.finish([b.cast(total, np.dtype(float), True)])
        derived = gradient(graph, 0, places, (), self.callees, self.rules)
        graphs = {**self.rules, **{n: g for n, (g, _) in derived.callees.items()}, derived.graph.name: derived.graph}
        return Program(graphs, derived.graph.name), places


def _of_op(
    b: Builder,
    node: Apply,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    cts: Mapping[int, Value],
    varied: Sequence[int],
) -> tuple[Program, list[int]]:
    """The rule of an op, as the reverse sweep applies it; where a cotangent is 0 nothing infinite comes in."""
    again = Apply(node.op, tuple(inputs), tuple(outputs), node.attrs, node.origin)
    guarded = [again] if node.op.kind == "elementwise" and not node.op.linear else []
    work = Reverse(b, frozenset(inputs[k] for k in varied), {}, unused=guarded)
    work.frames[-1].update((outputs[k], ct) for k, ct in cts.items())
    with b.at(origin=node.origin):
        work.apply(again)
        found = [(k, ct) for k in varied if (ct := work.ct(inputs[k])) is not None]
        graph = b.finish([ct for _, ct in found])
    return Program({graph.name: graph}, graph.name), [k for k, _ in found]


def _inner(w: Value, x: Value) -> Value:
    """The real inner product of a cotangent and a value."""
    w = OPS["conjugate"](w) if is_complex(w.type) else w
    found = OPS["mul"](w, x)
    found = OPS["sum"](found, axes=tuple(range(found.type.ndim))) if found.type.ndim else found
    return OPS["real"](found) if is_inexact(found.type) and is_complex(found.type) else found


# -- lists ------------------------------------------------------------------------------------------


def added(x: Any, y: Any) -> Any:
    """The sum of two cotangents, item by item for lists."""
    if x is None or y is None:
        return y if x is None else x
    if isinstance(x, list):
        return [added(a, b) for a, b in zip(x, y, strict=True)]
    return np.asarray(x + y) if isinstance(x, np.ndarray) else x + y


def _items(ct: Any, count: int) -> list[Any]:
    return [None] * count if ct is None else list(ct)


def _array(items: Sequence[Any], like: np.ndarray) -> np.ndarray:
    return np.array([0.0 if x is None else x for x in items], like.dtype)


def _total(items: Sequence[Any]) -> Any:
    total = None
    for x in items:
        total = added(total, x)
    return total


def _new(cts: Cotangents, inputs: Sequence[Any]) -> list[Any]:
    return _items(cts[0], len(inputs))


def _push(cts: Cotangents, inputs: Sequence[Any]) -> list[Any]:
    return [cts[0][:-1], cts[0][-1]]


def _pop(cts: Cotangents, inputs: Sequence[Any]) -> list[Any]:
    return [[*_items(cts[0], len(inputs[0]) - 1), cts[1]]]


def _insert(cts: Cotangents, inputs: Sequence[Any]) -> list[Any]:
    at = inputs[1]
    return [[*cts[0][:at], *cts[0][at + 1 :]], None, cts[0][at]]


def _take(cts: Cotangents, inputs: Sequence[Any]) -> list[Any]:
    xs, at = inputs
    rest = _items(cts[0], len(xs) - 1)
    return [[*rest[:at], cts[1], *rest[at:]], None]


def _set(cts: Cotangents, inputs: Sequence[Any]) -> list[Any]:
    at = inputs[1]
    return [[None if k == at else x for k, x in enumerate(cts[0])], None, cts[0][at]]


def _get(cts: Cotangents, inputs: Sequence[Any]) -> list[Any]:
    return [[cts[0] if k == inputs[1] else None for k in range(len(inputs[0]))], None]


LISTS: dict[str, Callable[[Cotangents, Sequence[Any]], list[Any]]] = {
    "list_new": _new,
    "list_full": lambda cts, inputs: [None, _total(cts[0])],
    "list_of": lambda cts, inputs: [_array(cts[0], inputs[0])],
    "list_push": _push,
    "list_pop": _pop,
    "list_insert": _insert,
    "list_take": _take,
    "list_set": _set,
    "list_get": _get,
    "list_array": lambda cts, inputs: [list(cts[0]), None],
}
"""What each op on lists makes of the cotangents of its outputs: a list has a list of them."""
