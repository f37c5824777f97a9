"""Steps of derivatives by one factor: what a step makes of ``d`` is ``d * factor + rest``, both known before ``d`` is.

A derivative of a recurrence depends on the one of the step after it by sums and products, ``d * a - d * b * c``, in
which each operation waits for the one before. The operations are made with the factors of ``d`` in their place, which
wait for nothing, and ``d`` is multiplied once. Likewise what is added to sums: tangents by several numbers are
multiplied by one factor, which is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TypeAlias

from srcgraph.ir.closure import free_values
from srcgraph.ir.graph import Apply, Graph, Node, Value, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.types import FLOAT, ScalarType

LONG = 3
"""So many operations that wait for each other are worth it."""
MORE = 2
"""So many operations more it may take than there were."""

IsDerived: TypeAlias = Callable[[Node], bool]


@dataclass(frozen=True, slots=True)
class _Form:
    """A value that is ``carried * factor + rest``, and in how many operations after each other it is made so far.

    Attributes
    ----------
    factor, rest : _Term or None
        None for 1, and for 0.
    """

    carried: Value
    factor: _Term | None
    rest: _Term | None
    depth: int


@dataclass(frozen=True, eq=False, slots=True)
class _Made:
    """A number that is not there yet: an operation on such, or on values."""

    op: str
    args: tuple[_Term | None, ...]
    node: Apply


_Term: TypeAlias = Value | _Made


def factored(graph: Graph, carried: AbstractSet[Value], moving: AbstractSet[Value], is_derived: IsDerived) -> Graph:
    """A region in which such steps are by one factor.

    Parameters
    ----------
    carried : set of Value
        Numbers that a step gets from the one before.
    moving : set of Value
        Those of them that are of a derivative.
    is_derived : callable
        Whether a node is arithmetic whose rounding is nobody's.
    """
    if not carried:
        return graph
    early, tangents = _forms(graph, carried, is_derived), _forms(graph, moving, is_derived)
    asked = {v: tangents.get(v) for v in _added(graph, moving, tangents)} | {v: early.get(v) for v in graph.results}
    found = {v: f for v, f in asked.items() if f is not None and f.factor is not None and f.depth >= LONG}
    chosen: dict[Value, _Writing] = {}
    there: dict[_Key, Value] = {}
    for node, value in ((n, v) for n in graph.nodes for v in n.outputs if v in found):
        written = _Writing(node, found[value], there)
        more = MORE if value in graph.results else 0  # what no step waits for is only written with fewer
        if len(written.nodes) <= _unneeded(graph, value) + more:
            chosen[value] = written
            there |= written.made
    nodes: list[Node] = []
    for node in graph.nodes:
        own = next((chosen[v].nodes for v in node.outputs if v in chosen), None)
        nodes += [node] if own is None else own
    return replace(graph, nodes=tuple(nodes)) if chosen else graph


def _added(graph: Graph, moving: AbstractSet[Value], forms: Mapping[Value, _Form]) -> Iterator[Value]:
    """The values with a form that are added to a number that is carried, which is not what they are multiples of."""
    for node in graph.nodes:
        if isinstance(node, Apply) and node.op.name in ("add", "sub"):
            own = moving & set(node.inputs)
            yield from (v for v in node.inputs if own and v in forms and v not in own and forms[v].carried not in own)


def _unneeded(graph: Graph, value: Value) -> int:
    """How many operations nobody needs if a value is made in another way."""
    inner = {v for n in graph.nodes for g in node_graphs(n) for v in free_values(g)}
    read = {v for v in graph.results if v is not value} | inner
    count = 0
    for node in reversed(graph.nodes):
        if isinstance(node, Apply) and read.isdisjoint(node.outputs) and not node.op.ordered:
            count += 1
        else:
            read.update(v for v in node_inputs(node) if v is not value)
    return count


def _forms(graph: Graph, carried: AbstractSet[Value], is_derived: IsDerived) -> dict[Value, _Form]:
    forms = {p: _Form(p, None, None, 0) for p in carried}
    waiting = set(carried)
    for node in graph.nodes:
        if waiting.isdisjoint(node_inputs(node)):
            continue
        waiting.update(node.outputs)
        if isinstance(node, Apply) and is_derived(node):
            found = _form(node, forms, waiting)
            if found is not None:
                forms[node.outputs[0]] = found
    return forms


def _form(node: Apply, forms: dict[Value, _Form], waiting: set[Value]) -> _Form | None:
    if any(v in waiting and v not in forms for v in node.inputs):
        return None
    parts = [forms.get(v, v) for v in node.inputs]
    match node.op.name, parts:
        case "cast", [_Form() as x] if _is_same_kind(node):
            return x
        case "neg", [_Form() as x]:
            return _Form(x.carried, _made("neg", node, x.factor), _negated(node, x.rest), x.depth + 1)
        case "mul", [_Form() as x, Value() as y]:
            return _scaled("mul", node, x, y)
        case "mul", [Value() as y, _Form() as x]:
            return _scaled("mul", node, x, y)
        case "div", [_Form() as x, Value() as y]:
            return _scaled("div", node, x, y)
        case "add" | "sub" as op, [_Form() as x, _Form() as y]:
            return _both(op, node, x, y)
        case "add" | "sub" as op, [_Form() as x, Value() as y]:
            rest = _made(op, node, x.rest, y) if x.rest is not None else y if op == "add" else _made("neg", node, y)
            return _Form(x.carried, x.factor, rest, x.depth + 1)
        case "add" | "sub" as op, [Value() as x, _Form() as y]:
            factor = y.factor if op == "add" else _made("neg", node, y.factor)
            return _Form(y.carried, factor, x if y.rest is None else _made(op, node, x, y.rest), y.depth + 1)
    return None


def _is_same_kind(node: Apply) -> bool:
    return node.inputs[0].type.dtype == node.outputs[0].type.dtype


def _made(op: str, node: Apply, *args: _Term | None) -> _Term:
    return _Made(op, args, node)


def _negated(node: Apply, rest: _Term | None) -> _Term | None:
    return None if rest is None else _made("neg", node, rest)


def _scaled(op: str, node: Apply, x: _Form, y: Value) -> _Form:
    factor = y if x.factor is None and op == "mul" else _made(op, node, x.factor, y)
    return _Form(x.carried, factor, None if x.rest is None else _made(op, node, x.rest, y), x.depth + 1)


def _both(op: str, node: Apply, x: _Form, y: _Form) -> _Form | None:
    """The sum, or difference, of two numbers that are multiples of one."""
    if x.carried is not y.carried:
        return None
    rest = x.rest
    if y.rest is not None:
        rest = (
            _made(op, node, x.rest, y.rest) if x.rest is not None else y.rest if op == "add" else _negated(node, y.rest)
        )
    return _Form(x.carried, _made(op, node, x.factor, y.factor), rest, max(x.depth, y.depth) + 1)


_Key: TypeAlias = tuple[str, tuple[Value, ...]]


class _Writing:
    """The nodes that make a value of its form.

    Parameters
    ----------
    node : Node
        What made it.
    form : _Form
    there : mapping
        What is made before, by the op and what that is of: several values may have one factor.
    """

    def __init__(self, node: Node, form: _Form, there: Mapping[_Key, Value]):
        self.nodes: list[Node] = []
        self.known: dict[int, Value] = {}
        self.there = there
        self.made: dict[_Key, Value] = {}
        assert isinstance(node, Apply)
        self.node = node
        factor = self.value(form.factor, form.carried)
        rest = None if form.rest is None else self.value(form.rest, form.carried)
        out = self.append("mul", (form.carried, factor), node)
        if rest is not None:
            out = self.append("add", (out, rest), node)
        last = self.nodes[-1]
        assert isinstance(last, Apply)
        want, (got,) = node.outputs[0], last.outputs
        if got.type == want.type:
            self.nodes[-1] = replace(last, outputs=(want,))
        else:
            attrs = {"dtype": want.type.dtype, "weak": want.type.weak}
            self.nodes.append(Apply(OPS["cast"], (got,), (want,), attrs, node.origin))

    def value(self, term: _Term | None, like: Value) -> Value:
        if isinstance(term, Value):
            return term
        if term is None:
            return self.one()
        if id(term) not in self.known:
            self.known[id(term)] = self.apply(term.op, tuple(self.value(a, like) for a in term.args), term.node)
        return self.known[id(term)]

    def one(self) -> Value:
        out = Value("", ScalarType(FLOAT, True))
        self.nodes.append(Apply(OPS["const"], (), (out,), {"value": 1.0}, self.node.origin))
        return out

    def apply(self, op: str, args: tuple[Value, ...], node: Apply) -> Value:
        found = self.there.get((op, args)) or self.made.get((op, args))
        if found is None:
            found = self.made[op, args] = self.append(op, args, node)
        return found

    def append(self, op: str, args: tuple[Value, ...], node: Apply) -> Value:
        out = Value("", OPS[op].infer(*(a.type for a in args)))
        self.nodes.append(Apply(OPS[op], args, (out,), {}, node.origin))
        return out
