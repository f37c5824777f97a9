"""Replay a graph: literals fold, equal nodes merge, proved checks vanish, and what is decided is taken.

A branch on a condition that is a literal is one of its sides; a loop whose first test fails, or
whose range is empty, is what it was entered with.
"""

from __future__ import annotations

from collections.abc import Sequence

from srcgraph.ir.graph import For, Graph, If, Value, While
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.rebuild import Rebuild


def simplify(graph: Graph) -> Graph:
    """Return the graph replayed."""
    return _Simplify(graph.name).run(graph)


class _Simplify(Rebuild):
    def if_(self, node: If) -> Sequence[Value]:
        known = literal(self.builder, self.value(node.cond))
        if known is None:
            return super().if_(node)
        side = node.then if known else node.orelse
        self.capture(side.params, node.captures)
        self.body(side)
        return self.values(side.results)

    def while_(self, node: While) -> Sequence[Value]:
        inits = self.values(node.carry)
        return inits if self.fails_at_once(node, inits) else super().while_(node)

    def fails_at_once(self, node: While, inits: Sequence[Value]) -> bool:
        """Whether the test is false when the loop is reached; then it is evaluated there, for it may raise."""
        count, test = len(inits), self.builder.new_region()
        with self.builder.inside(test):
            for param, init in zip(node.cond.params[:count], inits, strict=True):
                self.bind(param, init)
            self.capture(node.cond.params[count:], node.captures)
            self.body(node.cond)
            known = literal(self.builder, self.value(node.cond.results[0]))
        if known is None or known:
            return False
        self.builder.splice(test)
        return True

    def for_(self, node: For) -> Sequence[Value]:
        bounds = [literal(self.builder, self.value(v)) for v in (node.start, node.stop, node.step)]
        if None in bounds or len(range(*bounds)) > 0:
            return super().for_(node)
        return self.values(node.carry)
