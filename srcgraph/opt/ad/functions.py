"""Recursive functions under differentiation: part of the graph that calls them, and a table again afterwards.

Forward, a function that a derivative passes through keeps what its adjoint reads on lists that are handed from call
to call; each call puts its own there last, so that the adjoint, which runs in opposite order, finds it on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from srcgraph.ir.graph import Call, Define, Graph, Value, node_graphs
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.walk import calling, calls, values_in
from srcgraph.opt.ad.residuals import is_reverse

Changes = tuple[tuple[int, int], ...]
Callees = Mapping[str, tuple[Graph, Changes]]
"""Functions by name, with the pairs of a parameter and the result that is this array afterwards."""

NO_CALLEES: Callees = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a derivative passes through.

    Attributes
    ----------
    inputs, outputs : tuple of int
        The parameters and results that have a derivative.
    changed : mapping
        The parameter, by the result that is this array afterwards.
    """

    node: Define
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def changed(self) -> dict[int, int]:
        return {k: i for i, k in self.node.changes if k in self.outputs and i in self.inputs}


def active_functions(graph: Graph, active: frozenset[Value]) -> dict[str, Function]:
    """The functions defined in an open graph that a derivative passes through, by name."""
    found = {}
    for node in graph.nodes:
        if isinstance(node, Define):
            inputs = tuple(k for k, p in enumerate(node.graph.params) if p in active)
            outputs = tuple(k for k, r in enumerate(node.graph.results) if r in active)
            if inputs and outputs:
                found[node.graph.name] = Function(node, inputs, outputs)
    return found


def with_functions(graph: Graph, callees: Callees, rules: Mapping[str, Graph] = MappingProxyType({})) -> Graph:
    """The graph, the functions that it, or a rule, may call among its nodes."""
    todo, names = [graph, *rules.values()], dict[str, None]()
    while todo:
        called = dict.fromkeys(c.callee for c in calls(todo.pop()) if c.callee in callees)
        todo += [callees[name][0] for name in called if name not in names]
        names |= called
    own = set(values_in(graph)) if names else set()
    return replace(graph, nodes=(*(Define(*_apart(*callees[name], own)) for name in names), *graph.nodes))


def _apart(graph: Graph, changes: Changes, others: set[Value]) -> tuple[Graph, Changes]:
    """A function whose values are its own: one that calls itself may be the graph that calls it."""
    shared = not others.isdisjoint(values_in(graph))
    return Rebuild(graph.name).run(graph) if shared else graph, changes


def divided(
    graph: Graph, rename: Callable[[str], str], callees: Callees
) -> tuple[Graph, dict[str, tuple[Graph, Changes]]]:
    """A closed graph without the functions among its nodes, and all that it calls.

    ``rename`` gives the names that functions shall have; names of ``callees`` remain those.
    """
    defined = [n for n in graph.nodes if isinstance(n, Define)]
    names: dict[str, str] = {}
    for node in defined:
        names[node.graph.name] = _unlike(rename(node.graph.name), {*callees, *names.values()})
    found = dict(callees)
    for node in defined:
        name = names[node.graph.name]
        found[name] = (replace(calling(node.graph, names), name=name), node.changes)
    main = replace(graph, nodes=tuple(n for n in graph.nodes if not isinstance(n, Define)))
    main = calling(main, names)
    return main, {
        n.graph.name: (n.graph, n.changes) for n in with_functions(main, found).nodes if isinstance(n, Define)
    }


def _unlike(name: str, taken: set[str]) -> str:
    return name if name not in taken else next(n for k in range(2, len(taken) + 3) if (n := f"{name}_{k}") not in taken)


def called_in(graph: Graph) -> dict[str, frozenset[str]]:
    """For each forward function, loop and branch: the functions called in it."""
    found: dict[str, frozenset[str]] = {}

    def visit(g: Graph) -> frozenset[str]:
        names = {n.callee for n in g.nodes if isinstance(n, Call)}
        for inner in (inner for n in g.nodes for inner in node_graphs(n)):
            if not is_reverse(inner):
                names |= visit(inner)
        found[g.name] = frozenset(names)
        return found[g.name]

    visit(graph)
    return found


def reached(start: Iterable[str], called: Mapping[str, frozenset[str]]) -> set[str]:
    """The functions that calls of some lead to, these included."""
    found, todo = set(start), list(start)
    while todo:
        for name in called.get(todo.pop(), ()):
            if name not in found:
                found.add(name)
                todo.append(name)
    return found
