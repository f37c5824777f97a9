"""Arguments in Fortran's order, read as transposes of arrays in C order.

The memory is the same. Everything else knows arrays in C order alone: which axis is the inner loop's, what a product
passes to a library as it lies, along which axes a sum is made row by row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from srcgraph.ir.graph import Graph, Value
from srcgraph.ir.op import OPS, building
from srcgraph.ir.ops.linalg import transpose
from srcgraph.ir.rebuild import Rebuild
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import bare
from srcgraph.opt.rules.turned import order_of


def as_transposes(graph: Graph, positions: Collection[int]) -> Graph:
    """Read the parameters at some positions so."""
    return _Transposes(graph.name, frozenset(positions)).run(graph)


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


class _Transposes(Rebuild):
    def __init__(self, name: str, positions: frozenset[int]):
        super().__init__(name)
        self.positions = positions

    def params(self, params: Sequence[Value]) -> None:
        super().params(params)
        for k, param in enumerate(params):
            if k in self.positions:
                turned = self.builder.apply(OPS["turned"], (self.env[param],), {}, name=f"{param.name}_T")
                self.env[param] = transpose(turned)
