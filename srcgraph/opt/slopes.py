"""The arithmetic of derivatives, whose rounding is nobody's, in as little time as it takes.

Several quotients by one number are products with its reciprocal. In a loop, what an addition gets from earlier steps
comes last, so that a step waits for the one before it as briefly as it can. What a program computes itself, and what
its tests depend on, stays as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from srcgraph.ir.closure import with_graphs
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.types import FLOAT, ArrayType, ScalarType, is_float
from srcgraph.opt.factored import factored
from srcgraph.opt.modes import current_mode
from srcgraph.opt.rotated import rotated

Sign = bool
"""Whether a term is subtracted."""


def slopes(graph: Graph) -> Graph:
    """A closed graph with such arithmetic rewritten."""
    if not any(_is_derived(n) or _is_derived_array(n) for n in _everything(graph)):
        return graph
    return _region(graph, NO_NUMBERS, NO_NUMBERS)


def _everything(graph: Graph) -> Iterable[Node]:
    for node in graph.nodes:
        yield node
        for inner in node_graphs(node):
            yield from _everything(inner)


def _is_derived(node: Node) -> bool:
    """Whether it computes a number of a derivative."""
    if not isinstance(node, Apply) or not node.origin.by or len(node.outputs) != 1:
        return False
    out = node.outputs[0].type
    return isinstance(out, ScalarType) and not out.ndim and is_float(out)


def _is_derived_array(node: Node) -> bool:
    return isinstance(node, Apply) and bool(node.origin.by) and is_float(node.outputs[0].type)


_FACTORS = ("mul", "neg", "with_shape")


Numbers: TypeAlias = frozenset[Value]
NO_NUMBERS: Numbers = frozenset()


def _region(graph: Graph, carried: Numbers, moving: Numbers) -> Graph:
    """A region; ``carried`` are the numbers that a step gets from the one before, ``moving`` those of a derivative."""
    nodes = list[Node]()
    for node in map(_inside, graph.nodes):
        if isinstance(node, For) and "contract" in current_mode().fastmath:
            nodes += rotated(node, nodes, _is_derived)
        else:
            nodes.append(node)
    work = _Region(replace(graph, nodes=tuple(nodes)), carried)
    work = work.reciprocals()
    return _Region(factored(work.graph, carried, moving, _is_derived), carried).carried_last().graph


def _inside(node: Node) -> Node:
    graphs = node_graphs(node)
    if not graphs:
        return node
    made = []
    for g in graphs:
        numbers: dict[Value, Value] = {}
        if isinstance(node, For | While) and g is node.body:
            params = g.params[isinstance(node, For) :]
            both = zip(params[: len(node.carry)], g.results, strict=False)
            numbers = {p: r for p, r in both if isinstance(p.type, ScalarType) and is_float(p.type)}
        derived = {v for n in g.nodes if _is_derived(n) for v in n.outputs}
        moving = frozenset(p for p, r in numbers.items() if r in derived)
        made.append(_region(g, frozenset(numbers), moving))
    return node if all(x is y for x, y in zip(made, graphs, strict=True)) else with_graphs(node, made)


class _Region:
    """The nodes of one region, and who reads what."""

    def __init__(self, graph: Graph, carried: Numbers):
        self.graph = graph
        self.carried = carried
        self.made = {v: n for n in graph.nodes if isinstance(n, Apply) for v in n.outputs}
        self.readers: dict[Value, list[Node | None]] = defaultdict(list)
        for node in graph.nodes:
            for value in node_inputs(node):
                self.readers[value].append(node)
        for value in graph.results:
            self.readers[value].append(None)

    def changed(self, nodes: Sequence[Node]) -> _Region:
        return _Region(replace(self.graph, nodes=tuple(nodes)), self.carried)

    # -- quotients ------------------------------------------------------------------------------------------

    def reciprocals(self) -> _Region:
        """With products in place of quotients, where several have one divisor: arrays, if they are in one product."""
        groups: dict[tuple[Value, Value | None], list[Apply]] = defaultdict(list)
        for node in self.graph.nodes:
            if isinstance(node, Apply) and node.op.name == "div" and self.is_free(node):
                whole = self.wholes[node.outputs[0]] if node.outputs[0].type.ndim else None
                groups[self.number(node.inputs[1]), whole].append(node)
        several = {k: group for k, group in groups.items() if len(group) > 1 and self.literal(k[0]) is None}
        replaced = {id(node): key for key, group in several.items() for node in group}
        over: dict[tuple[Value, Value | None], Value] = {}
        out: list[Node] = []
        for node in self.graph.nodes:
            if not isinstance(node, Apply) or id(node) not in replaced:
                out.append(node)
                continue
            key = replaced[id(node)]
            if key not in over:
                over[key] = _reciprocal(key[0], node, out)
            out += self.product(node, over[key])
        return self.changed(out) if several else self

    @cached_property
    def wholes(self) -> dict[Value, Value]:
        """The product that an array is a factor of, once or more often, and of nothing else; or itself."""
        found: dict[Value, Value] = {}
        for node in reversed(self.graph.nodes):
            for value in (v for v in node.outputs if isinstance(v.type, ArrayType)):
                readers = self.readers[value]
                factors = [r for r in readers if isinstance(r, Apply) and r.op.name in _FACTORS and r.origin.by]
                products = {found[r.outputs[0]] for r in factors} if len(factors) == len(readers) else set()
                found[value] = products.pop() if len(products) == 1 else value
        return found

    def product(self, node: Apply, over: Value) -> Iterable[Node]:
        """What a quotient is, given the reciprocal of its divisor."""
        x, kind = node.inputs[0], node.inputs[1].type
        if isinstance(kind, ScalarType) and over.type != kind:
            own = Value("", replace(kind, value=None))
            yield _as_kind(over, own, node)
            over = own
        if not kind.ndim and self.literal(x) == 1.0 and node.outputs[0].type.dtype == over.type.dtype:
            yield _as_kind(over, node.outputs[0], node)
        else:
            yield Apply(OPS["mul"], (x, over), node.outputs, {}, node.origin)

    def number(self, value: Value) -> Value:
        """A value that may have been taken for Python's float, or NumPy's; an array, before its shape was known."""
        node = self.made.get(value)
        while node is not None and (
            (node.op.name == "cast" and node.inputs[0].type.dtype == value.type.dtype)
            or (node.op.name == "with_shape" and node.inputs[0].type == value.type)
        ):
            value = node.inputs[0]
            node = self.made.get(value)
        return value

    def literal(self, value: Value) -> float | None:
        node = self.made.get(self.number(value))
        return float(node.attrs["value"]) if node is not None and node.op.name == "const" else None

    def is_free(self, node: Apply) -> bool:
        """Whether how a node rounds matters to nothing but derivatives."""
        out = node.outputs[0]
        if not is_float(out.type) or (out.type.ndim and out.type.shape != node.inputs[1].type.shape):
            return False
        readers = self.readers[out]
        derived = _is_derived if not out.type.ndim else _is_derived_array
        return derived(node) or (bool(readers) and all(r is not None and derived(r) for r in readers))

    # -- sums -----------------------------------------------------------------------------------------------

    def carried_last(self) -> _Region:
        if not self.carried:
            return self
        waiting = self.dependent()
        made = {v: n for v, n in self.made.items() if _is_sum(n)}
        inner = {v for n in made.values() for v in n.inputs if v in made and len(self.readers[v]) == 1}
        out: list[Node] = []
        for node in self.graph.nodes:
            if _is_sum(node) and node.outputs[0] not in inner:
                assert isinstance(node, Apply)
                terms = list(_terms(node, made, inner))
                early = [t for t in terms if t[1] not in waiting]
                if len(early) > 1 and len(early) < len(terms) and _alike(terms):
                    out += _added(node, early, [t for t in terms if t[1] in waiting])
                    continue
            out.append(node)
        return self if len(out) == len(self.graph.nodes) and out == list(self.graph.nodes) else self.changed(out)

    def dependent(self) -> set[Value]:
        """What depends on numbers that a step gets from the one before."""
        found = set(self.carried)
        for node in self.graph.nodes:
            if not found.isdisjoint(node_inputs(node)):
                found.update(node.outputs)
        return found


def _reciprocal(divisor: Value, node: Apply, out: list[Node]) -> Value:
    """``1 / divisor``, appended to ``out``."""
    one = Value("", ScalarType(FLOAT, True))
    made = Value("", OPS["div"].infer(one.type, divisor.type))
    out.append(Apply(OPS["const"], (), (one,), {"value": 1.0}, node.origin))
    out.append(Apply(OPS["div"], (one, divisor), (made,), {}, node.origin))
    return made


def _as_kind(x: Value, out: Value, node: Apply) -> Node:
    """A number as Python's float or as NumPy's, as ``out`` is."""
    assert isinstance(out.type, ScalarType)
    return Apply(OPS["cast"], (x,), (out,), {"dtype": out.type.dtype, "weak": out.type.weak}, node.origin)


def _is_sum(node: Node) -> bool:
    return _is_derived(node) and isinstance(node, Apply) and node.op.name in ("add", "sub")


def _terms(
    node: Apply, made: dict[Value, Apply], inner: set[Value], negative: Sign = False
) -> Iterable[tuple[Sign, Value]]:
    """What a sum is of, its parts that are sums of their own taken apart."""
    for k, value in enumerate(node.inputs):
        sign = negative != (k == 1 and node.op.name == "sub")
        part = made.get(value)
        if value in inner and part is not None:
            yield from _terms(part, made, inner, sign)
        else:
            yield sign, value


def _alike(terms: Sequence[tuple[Sign, Value]]) -> bool:
    """Whether all terms are numbers of one dtype."""
    kinds = {v.type.dtype for _, v in terms if isinstance(v.type, ScalarType)}
    return len(kinds) == 1 and all(isinstance(v.type, ScalarType) for _, v in terms)


def _added(node: Apply, early: list[tuple[Sign, Value]], late: list[tuple[Sign, Value]]) -> list[Node]:
    """The sum of what is there early, and then of what is late, for the sum that a node is."""
    out: list[Node] = []
    turned = all(sign for sign, _ in early)
    ordered = sorted(early, key=lambda t: t[0] != turned)
    total = ordered[0][1]
    rest = [(sign != turned, v) for sign, v in ordered[1:]]
    for sign, value in rest:
        total = _combined("sub" if sign else "add", total, value, node, out)
    terms = [(turned, total), *late]
    first = next((k for k, (sign, _) in enumerate(terms) if not sign), None)
    if first is None:
        return [node]
    total = terms.pop(first)[1]
    for sign, value in terms:
        total = _combined("sub" if sign else "add", total, value, node, out)
    last = out[-1]
    assert isinstance(last, Apply)
    out[-1] = replace(last, outputs=node.outputs)
    return out


def _combined(name: str, x: Value, y: Value, node: Apply, out: list[Node]) -> Value:
    made = Value("", OPS[name].infer(x.type, y.type))
    out.append(Apply(OPS[name], (x, y), (made,), {}, node.origin))
    return made
