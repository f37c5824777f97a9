"""Loops of a few trips over a small array are written out, so that the array's elements can be numbers.

``for k in range(3): a[k] -= g * r[k]`` reads and stores at known places then, see `srcgraph.opt.scalars`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from srcgraph.ir.graph import Apply, For, Graph, If, Value, While, node_graphs
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.walk import all_nodes, size
from srcgraph.opt.dce import dce
from srcgraph.opt.scalars import is_small
from srcgraph.opt.simplify import Simplify

TRIPS = 4
"""A loop of more trips stays one."""
BUDGET = 160
"""So many nodes are written at most for one loop."""


def unroll(graph: Graph) -> Graph:
    """Write such loops out."""
    nodes = list(all_nodes(graph))
    if not any(isinstance(n, For) for n in nodes) or not any(is_small(v) for n in nodes for v in n.outputs):
        return graph
    work = _Unroll(graph.name, frozenset(graph.params))
    made = work.run(graph)
    return dce(made) if work.count else graph


class _Unroll(Simplify):
    def __init__(self, name: str, given: frozenset[Value]):
        super().__init__(name)
        self.given = given
        self.count = 0

    def for_(self, node: For) -> Sequence[Value]:
        bounds = [literal(self.builder, self.value(v)) for v in (node.start, node.stop, node.step)]
        if None in bounds or not self.is_short(node, range(*bounds)):
            return super().for_(node)
        self.count += 1
        values, symbols = self.values(node.carry), self.symbols
        index, *params = node.body.params
        for k in range(*bounds):
            self.symbols = dict(symbols)  # what is known of sizes in one trip is not in the next
            self.bind(index, self.builder.const(k))
            for param, value in zip(params, values, strict=False):
                self.bind(param, value)
            self.capture(params[len(values) :], node.captures)
            self.body(node.body)
            values = self.values(node.body.results)
        self.symbols = symbols
        return values

    def is_short(self, node: For, trips: range) -> bool:
        if node.stops or node.lanes or not 0 < len(trips) <= TRIPS or size(node.body) * len(trips) > BUDGET:
            return False
        return any(is_small(v) and v not in self.given for v in _indexed(node.body, node.body.params[0]))


def _indexed(graph: Graph, index: Value) -> Iterator[Value]:
    """What operations read, or store into, at an index, in inner graphs too."""
    for node in graph.nodes:
        if isinstance(node, Apply) and index in node.inputs:
            yield node.inputs[0]
        captures = node.captures if isinstance(node, If | For | While) else ()
        for inner in node_graphs(node) if index in captures else ():
            yield from _indexed(inner, inner.params[len(inner.params) - len(captures) + captures.index(index)])
