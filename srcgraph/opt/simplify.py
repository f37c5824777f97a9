"""Replay a graph: literals fold, equal nodes, loops and branches merge, proved checks vanish, the decided is taken.

A branch on a condition that is a literal is one of its sides; a loop whose first test fails, or
whose range is empty, is what it was entered with.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from srcgraph.ir.builder import Builder
from srcgraph.ir.facts import COMPARISONS
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.straight import op_key
from srcgraph.ir.types import Type, is_integer
from srcgraph.opt.likeness import Likeness


def simplify(graph: Graph) -> Graph:
    """Return the graph replayed."""
    return Simplify(graph.name).run(graph)


def truth(builder: Builder, holds: bool, type: Type) -> Value:
    """A literal that is Python's or NumPy's, as a type says."""
    return builder.const(holds if getattr(type, "weak", False) else np.bool_(holds))


class Simplify(Rebuild):
    """Builds a graph anew, with what is decided taken."""

    def __init__(self, name: str):
        super().__init__(name)
        self.likeness = Likeness()

    def node(self, node: Node) -> Sequence[Value]:
        if not isinstance(node, If | While | For):
            return super().node(node)
        key = self.likeness.of(node, self.number)
        found = self.builder.merged(key)
        if found is None:
            found = tuple(super().node(node))
            if key is not None:
                self.builder.region.merged[key] = found
        return found

    def number(self, old: Value) -> Hashable:
        """What equal values have in common: which element a new array has before any is stored does not matter."""
        value = self.value(old)
        node = self.builder.definition(value)
        if node is None or node.op.name != "empty":
            return id(value)
        return op_key(node.op, [*map(id, node.inputs)], node.attrs)

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.op.name in COMPARISONS and all(is_integer(v.type) for v in inputs):
            known = self.builder.compares(node.op.name, *inputs)
            if known is not None:
                return (truth(self.builder, known, node.outputs[0].type),)
        return super().apply(node, inputs)

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
