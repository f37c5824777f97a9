"""Put the graphs of called functions in place of the calls; recursive ones stay.

Of functions that call each other in a circle, those stay that have a way to return without another
call within the circle, since the machine-code compiler finds the types of their results there. Calls
that lead to one with a way to return are put in place of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from srcgraph.ir.graph import Call, Graph, If, Node, Program, Value
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.walk import calls


def inline(program: Program) -> Program:
    """Return the entry, and the recursive graphs it needs, with every other call replaced by nodes.

    Sizes are worked out anew.
    """
    reached = {name: _reached(program.graphs, graph) for name, graph in program.graphs.items()}
    circles = {n: frozenset(m for m in reached[n] if n in reached[m]) for n in program.graphs if n in reached[n]}
    ranks = {n: rank for circle in set(circles.values()) for n, rank in _ranks(program.graphs, circle).items()}
    graphs: dict[str, Graph] = {}
    todo = [program.entry]
    while todo:
        name = todo.pop()
        if name not in graphs:
            graphs[name] = _Inline(name, program.graphs, circles, ranks).run(program.graphs[name])
            todo += [c.callee for c in calls(graphs[name])]
    entry = graphs.pop(program.entry)
    return Program({**dict(sorted(graphs.items())), program.entry: entry}, program.entry)


def _reached(graphs: Mapping[str, Graph], start: Graph) -> set[str]:
    """The names of the graphs that running ``start`` may call."""
    found: set[str] = set()
    todo = [start]
    while todo:
        for call in calls(todo.pop()):
            if call.callee not in found:
                found.add(call.callee)
                todo.append(graphs[call.callee])
    return found


def _ranks(graphs: Mapping[str, Graph], circle: Set[str]) -> dict[str, int]:
    """For each graph of a circle, how many calls within it its shortest way to return takes."""
    ranks: dict[str, int] = {}
    for rank in range(len(circle)):
        blocked = circle - set(ranks)
        ranks.update({n: rank for n in sorted(blocked) if not _must_call(graphs[n].nodes, blocked)})
    return ranks


def _must_call(nodes: Sequence[Node], names: Set[str]) -> bool:
    """Whether every way through the nodes calls one of these graphs; a loop may run no trip."""
    for node in nodes:
        if isinstance(node, Call) and node.callee in names:
            return True
        if isinstance(node, If) and _must_call(node.then.nodes, names) and _must_call(node.orelse.nodes, names):
            return True
    return False


class _Inline(Rebuild):
    def __init__(
        self,
        name: str,
        graphs: Mapping[str, Graph],
        circles: Mapping[str, frozenset[str]],
        ranks: Mapping[str, int],
    ):
        super().__init__(name)
        self.graphs = graphs
        self.circles = circles
        self.ranks = ranks
        self.inside = name
        """The graph whose nodes are being put here."""

    def stays(self, callee: str) -> bool:
        """Whether a call remains one: of a recursive graph, unless it has a shorter way to return than its caller."""
        if callee not in self.circles:
            return False
        together = self.inside in self.circles[callee]
        return not together or self.ranks.get(callee, 0) >= self.ranks.get(self.inside, 0)

    def call(self, node: Call) -> Sequence[Value]:
        if self.stays(node.callee):
            return super().call(node)
        callee = self.graphs[node.callee]
        outer = self.env, self.symbols, self.inside
        inputs = self.values(node.inputs)
        self.env, self.symbols, self.inside = {}, {}, node.callee
        for param, value in zip(callee.params, inputs, strict=True):
            self.bind(param, value)
        self.nodes(callee.nodes)
        results = self.values(callee.results)
        self.env, self.symbols, self.inside = outer
        return results
