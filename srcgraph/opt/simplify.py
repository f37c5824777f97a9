"""Replay a graph: literals fold, equal nodes, loops and branches merge, proved checks vanish, the decided is taken.

A branch on a condition that is a literal is one of its sides; a loop whose first test fails, or
whose range is empty, is what it was entered with.
"""

from __future__ import annotations

from collections.abc import Sequence

from srcgraph.ir.graph import For, Graph, If, Node, Value, While
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.rebuild import Rebuild
from srcgraph.opt.likeness import Likeness


def simplify(graph: Graph) -> Graph:
    """Return the graph replayed."""
    return Simplify(graph.name).run(graph)


class Simplify(Rebuild):
    """Builds a graph anew, with what is decided taken."""

    def __init__(self, name: str):
        super().__init__(name)
        self.likeness = Likeness()

    def node(self, node: Node) -> Sequence[Value]:
        if not isinstance(node, If | While | For):
            return super().node(node)
        key = self.likeness.of(node, lambda v: id(self.value(v)))
        found = self.builder.merged(key)
        if found is None:
            found = tuple(super().node(node))
            if key is not None:
                self.builder.region.merged[key] = found
        return found

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
