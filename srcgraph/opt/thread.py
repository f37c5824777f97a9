"""Branches on one condition that follow each other become one branch.

``if c: A else: B`` and then ``if c: C else: D`` is ``if c: A; C else: B; D``. Flags that say what happened in a branch
are asked this way, such as whether an exception was raised: what only one side needs is then known to be there.
"""

from __future__ import annotations

from collections.abc import Sequence

from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Apply, Graph, If, Node, Value, node_inputs
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType
from srcgraph.ir.walk import all_graphs


def thread(graph: Graph) -> Graph:
    """Return the graph with such branches joined."""
    if not any(_pair(g.nodes, k) for g in all_graphs(graph) for k, n in enumerate(g.nodes) if isinstance(n, If)):
        return graph
    return _Thread(graph.name).run(graph)


def _pair(nodes: Sequence[Node], at: int) -> tuple[int, bool] | None:
    """Where the next branch on the condition of the one at a position is, and whether it is on the same side."""
    first = nodes[at]
    assert isinstance(first, If)
    made: dict[Value, Apply] = {n.outputs[0]: n for n in nodes if isinstance(n, Apply) and n.op.name in _NEGATION}
    for k in range(at + 1, len(nodes)):
        node = nodes[k]
        if isinstance(node, If):
            side = _side(node.cond, first.cond, made)
            return None if side is None or _hands_on(node, first) else (k, side)
        if not isinstance(node, Apply) or node.op.ordered or not set(first.outputs).isdisjoint(node_inputs(node)):
            return None
    return None


def _hands_on(second: If, first: If) -> bool:
    """Whether an array of the first branch is a result of the second: joined, two results would be one memory."""
    for graph in (second.then, second.orelse):
        given = dict(zip(graph.params, second.captures, strict=True))
        if any(isinstance(r.type, ArrayType) and given.get(r) in first.outputs for r in graph.results):
            return True
    return False


_NEGATION = ("logical_not", "cast")


def _side(cond: Value, first: Value, made: dict[Value, Apply]) -> bool | None:
    """Whether one condition holds where the other does (True), or where it does not (False)."""
    same = True
    seen = {first: True}
    while first in made:  # the first one may itself be a negation
        same ^= made[first].op.name == "logical_not"
        first = made[first].inputs[0]
        seen[first] = same
    same = True
    while cond not in seen and cond in made:
        same ^= made[cond].op.name == "logical_not"
        cond = made[cond].inputs[0]
    return same is seen[cond] if cond in seen else None


class _Thread(Rebuild):
    def nodes(self, nodes: Sequence[Node]) -> None:
        k = 0
        while k < len(nodes):
            node = nodes[k]
            found = _pair(nodes, k) if isinstance(node, If) else None
            if found is None:
                super().nodes([node])
                k += 1
                continue
            at, same = found
            second = nodes[at]
            assert isinstance(node, If) and isinstance(second, If)
            super().nodes(nodes[k + 1 : at])
            self.both(node, second, same)
            k = at + 1

    def both(self, first: If, second: If, same: bool) -> None:
        """Replay two branches on one condition as one."""
        ifs = [(first, True), (second, same)]
        cond = self.value(first.cond)
        with self.builder.at(origin=first.origin):
            sides = [self.side(ifs, cond, holds) for holds in (True, False)]
            olds = (*first.outputs, *second.outputs)
            outs = self.builder.if_(cond, sides[0], sides[1], [o.name for o in olds])
        for old, new in zip(olds, outs, strict=True):
            self.bind(old, new)

    def side(self, ifs: Sequence[tuple[If, bool]], cond: Value, holds: bool) -> tuple[Region, tuple[Value, ...]]:
        """What all the branches do where the condition holds, or where it does not."""
        region, symbols = self.builder.new_region(), dict(self.symbols)
        results: list[Value] = []
        with self.builder.inside(region):
            self.builder.learn_condition(cond, holds)
            for node, same in ifs:
                graph = node.then if holds is same else node.orelse
                self.capture(graph.params, node.captures)
                self.body(graph)
                made = self.values(graph.results)
                results += made
                for old, new in zip(node.outputs, made, strict=True):
                    self.bind(old, new)
        self.symbols = symbols
        return region, tuple(results)
