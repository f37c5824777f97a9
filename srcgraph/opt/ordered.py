"""Arguments in Fortran's order, read as transposes of arrays in C order.

The memory is the same. Everything else knows arrays in C order alone: which axis is the inner loop's, what a product
passes to a library as it lies, along which axes a sum is made row by row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from srcgraph.ir.graph import Apply, For, Graph, If, Value, While, node_graphs
from srcgraph.ir.op import OPS, building
from srcgraph.ir.ops.linalg import transpose
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.view import transposed
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import bare
from srcgraph.opt.rules.turned import order_of


def as_transposes(graph: Graph, positions: Collection[int]) -> Graph:
    """Read the parameters at some positions so."""
    made = _Transposes(graph, positions)
    return made.run(graph) if made.positions else graph


def turned_results(graph: Graph, positions: Collection[int]) -> Graph:
    """Let results that are computed of arrays in Fortran's order, element by element, lie in it, too."""
    fgraph = FunctionGraph(graph)
    found = frozenset(k for k in positions if _is_turned(fgraph, graph.results[k]))
    return _Turned(graph.name, found).run(graph) if found else graph


def _is_turned(fgraph: FunctionGraph, value: Value) -> bool:
    made = fgraph.definition(bare(fgraph, value))
    if made is None or made.op.kind != "elementwise" or value.type.ndim < 2:
        return False
    return order_of(fgraph, value) == tuple(range(value.type.ndim))[::-1]


class _Turned(Rebuild):
    def __init__(self, name: str, positions: frozenset[int]):
        super().__init__(name)
        self.positions = positions

    def run(self, graph: Graph) -> Graph:
        with building(self.builder):
            self.params(graph.params)
            self.nodes(graph.nodes)
            results = list(self.values(graph.results))
            for k in self.positions:
                results[k] = self.lying(results[k])
            return self.builder.finish(tuple(results))

    def lying(self, value: Value) -> Value:
        """A result as the transpose of its transpose, which is computed in C order."""
        made = self.builder.definition(value)
        with self.builder.at(origin=made and made.origin):
            return OPS["turned"](OPS["turned"](value))


def in_fortran_order(graph: Graph, positions: Collection[int]) -> set[Value]:
    """The arrays of an open graph that lie in Fortran's order: parameters at some positions, as they are, changed and
    carried by loops, and transposes of others."""
    found = {graph.params[k] for k in positions}

    def walk(graph: Graph) -> None:
        for node in graph.nodes:
            if isinstance(node, For | While):
                first = isinstance(node, For)
                kept = [k for k, init in enumerate(node.carry) if init in found]
                found.update(p for k in kept for p in (node.body.params[k + first], node.outputs[k]))
            for body in node_graphs(node):
                walk(body)
            if isinstance(node, If):
                sides = zip(node.outputs, node.then.results, node.orelse.results, strict=True)
                found.update(out for out, *both in sides if found.issuperset(both))
            elif isinstance(node, Apply) and _lies_turned(node, found):
                found.add(node.outputs[0])

    walk(graph)
    return found


def _lies_turned(node: Apply, found: Collection[Value]) -> bool:
    if node.op.name == "getitem" and node.attrs["view"] == transposed(2, (1, 0)):
        return node.inputs[0] not in found
    return node.op.name in _SAME_MEMORY and node.inputs[0] in found


_SAME_MEMORY = ("with_shape", "assumed", "setitem", "add_at")
"""What says more of an array, or changes it."""


class _Transposes(Rebuild):
    """Elementwise code and reductions read arguments as transposes; all else, and loops without those, as they are."""

    def __init__(self, graph: Graph, positions: Collection[int]):
        super().__init__(graph.name)
        self.whole = _read_whole(graph)
        self.positions = [k for k in positions if graph.params[k] in self.whole]
        self.given: dict[Value, Value] = {}

    def params(self, params: Sequence[Value]) -> None:
        super().params(params)
        for k in self.positions:
            given = self.env[params[k]]
            turned = self.builder.apply(OPS["turned"], (given,), {}, name=f"{given.name}_T")
            self.env[params[k]] = made = transpose(turned)
            self.given[made] = given

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.op.kind == "library":
            inputs = tuple(self.given.get(v, v) for v in inputs)
        return super().apply(node, inputs)

    def capture(self, params: Sequence[Value], captures: Sequence[Value]) -> None:
        super().capture(params, captures)
        for param in params:
            if param not in self.whole and self.env[param] in self.given:
                self.env[param] = self.given[self.env[param]]


def _read_whole(graph: Graph) -> set[Value]:
    """What elementwise code and reductions read, at any depth, and what that is another name or a transpose of."""
    found: set[Value] = set()
    names: list[tuple[Value, Value]] = []
    for node in all_nodes(graph):
        if isinstance(node, If | For | While):
            for body in node_graphs(node):
                names += zip(node.captures, body.params[len(body.params) - len(node.captures) :], strict=True)
        elif isinstance(node, Apply) and node.op.kind in ("elementwise", "reduction"):
            found.update(node.inputs)
        elif isinstance(node, Apply) and (node.op.name == "with_shape" or _is_transpose(node)):
            names.append((node.inputs[0], node.outputs[0]))
    for value, name in reversed(names):
        if name in found:
            found.add(value)
    return found


def _is_transpose(node: Apply) -> bool:
    return node.op.name == "getitem" and set(node.attrs["view"].axes) == {":"}
