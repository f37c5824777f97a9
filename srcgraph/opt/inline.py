"""Put the graphs of called functions in place of the calls; recursive ones stay, and those with a rule of their own.

Of functions that call each other in a circle, those stay that have a way to return without another
call within the circle, since the machine-code compiler finds the types of their results there. Calls
that lead to one with a way to return are put in place of the others.

Where all that would be too long, functions that are called in several places stay functions: one that calls the next
one twice, and that the one after, doubles with each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType

from srcgraph.ir.graph import Call, Graph, If, Node, Program, Value
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.walk import calls, rule_graphs, size


def inline(program: Program, rules: bool = True, natives: bool = False) -> Program:
    """Return the entry, and the graphs it needs, with every other call replaced by nodes.

    Calls of recursive functions stay, with ``rules`` those that have a rule for derivatives, and with ``natives`` those
    that a kernel may stand for. Sizes are worked out anew.
    """
    reached = {name: _reached(program.graphs, graph) for name, graph in program.graphs.items()}
    circles = {n: frozenset(m for m in reached[n] if n in reached[m]) for n in program.graphs if n in reached[n]}
    ranks = {n: rank for circle in set(circles.values()) for n, rank in _ranks(program.graphs, circle).items()}
    several = _several(program, circles)
    graphs: dict[str, Graph] = {}
    todo = [program.entry]
    while todo:
        name = todo.pop()
        if name not in graphs:
            graphs[name] = _Inline(name, program.graphs, circles, ranks, rules, several, natives).run(
                program.graphs[name]
            )
            todo += [n for c in calls(graphs[name]) for n in (c.callee, *rule_graphs(c))]
    entry = graphs.pop(program.entry)
    return Program({**dict(sorted(graphs.items())), program.entry: entry}, program.entry)


LONG = 5000
"""A function of more nodes than this has calls in it."""


def _several(program: Program, circles: Mapping[str, Set[str]]) -> frozenset[str]:
    """The functions called in several places, where the entry would be too long with all calls replaced."""
    sites = {name: Counter(c.callee for c in calls(graph)) for name, graph in program.graphs.items()}
    sizes: dict[str, int] = {}

    def measure(name: str) -> int:
        if name not in sizes:
            sizes[name] = 0  # of one that is being measured, in a circle, the call stays
            inner = sum(count * measure(n) for n, count in sites[name].items() if n in sites and n not in circles)
            sizes[name] = size(program.graphs[name]) + inner
        return sizes[name]

    if measure(program.entry) <= LONG:
        return frozenset()
    total = sum(sites.values(), Counter[str]())
    return frozenset(n for n, count in total.items() if count > 1 and n not in circles)


def put_in(graph: Graph, graphs: Mapping[str, Graph]) -> Graph:
    """Return a graph with calls of these graphs replaced by nodes."""
    return _Inline(graph.name, graphs).run(graph)


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
        circles: Mapping[str, frozenset[str]] = MappingProxyType({}),
        ranks: Mapping[str, int] = MappingProxyType({}),
        rules: bool = True,
        several: Set[str] = frozenset(),
        natives: bool = True,
    ):
        super().__init__(name)
        self.graphs = graphs
        self.circles = circles
        self.ranks = ranks
        self.rules = rules
        self.several = several
        self.natives = natives
        self.inside = name
        """The graph whose nodes are being put here."""

    def stays(self, call: Call) -> bool:
        """Whether a call remains one: of a recursive graph, unless it has a shorter way to return than its caller."""
        callee = call.callee
        if self.natives and call.native is not None:
            return True
        if callee not in self.graphs or callee in self.several or (self.rules and call.rule is not None):
            return True
        if callee not in self.circles:
            return False
        together = self.inside in self.circles[callee]
        return not together or self.ranks.get(callee, 0) >= self.ranks.get(self.inside, 0)

    def call(self, node: Call) -> Sequence[Value]:
        if self.stays(node):
            return super().call(
                replace(
                    node,
                    rule=node.rule if self.rules else None,
                    native=node.native if self.natives else None,
                )
            )
        outer, self.inside = self.inside, node.callee
        results = self.put(self.graphs[node.callee], self.values(node.inputs))
        self.inside = outer
        return results
