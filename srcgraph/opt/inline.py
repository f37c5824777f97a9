"""Put the graphs of called functions in place of the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srcgraph.ir.graph import Call, Graph, Program, Value
from srcgraph.ir.rebuild import Rebuild


def inline(program: Program) -> Graph:
    """Return the entry with every call replaced by the callee's nodes; sizes are worked out anew."""
    return _Inline(program.entry, program.graphs).run(program.main)


class _Inline(Rebuild):
    def __init__(self, name: str, graphs: Mapping[str, Graph]):
        super().__init__(name)
        self.graphs = graphs

    def call(self, node: Call) -> Sequence[Value]:
        callee = self.graphs[node.callee]
        outer_env, outer_symbols = self.env, self.symbols
        inputs = self.values(node.inputs)
        self.env, self.symbols = {}, {}
        for param, value in zip(callee.params, inputs, strict=True):
            self.bind(param, value)
        self.nodes(callee.nodes)
        results = self.values(callee.results)
        self.env, self.symbols = outer_env, outer_symbols
        return results
