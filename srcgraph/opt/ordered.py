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


def turned_results(graph: Graph, positions: Collection[int]) -> tuple[Graph, dict[int, int]]:
    """Give the transposes of results that are computed of arrays in Fortran's order, element by element.

    Returns
    -------
    Graph
    dict
        The positions of such results, and how many axes they have.
    """
    fgraph = FunctionGraph(graph)
    found = {}
    for k in positions:
        value = graph.results[k]
        made = fgraph.definition(bare(fgraph, value))
        if made is not None and made.op.kind == "elementwise" and value.type.ndim > 1:
            if order_of(fgraph, value) == tuple(range(value.type.ndim))[::-1]:
                found[k] = value.type.ndim
    return (_Turned(graph.name, frozenset(found)).run(graph) if found else graph), found


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
                made = self.builder.definition(results[k])
                with self.builder.at(origin=made and made.origin):
                    results[k] = self.builder.apply(OPS["in_c_order"], (results[k],), {}, name=results[k].name)
            return self.builder.finish(tuple(results))


class _Transposes(Rebuild):
    def __init__(self, name: str, positions: frozenset[int]):
        super().__init__(name)
        self.positions = positions

    def params(self, params: Sequence[Value]) -> None:
        super().params(params)
        for k, param in enumerate(params):
            if k in self.positions:
                turned = self.builder.apply(OPS["in_c_order"], (self.env[param],), {}, name=f"{param.name}_T")
                self.env[param] = transpose(turned)
