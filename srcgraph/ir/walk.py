"""Walking graphs: every node at every depth, sizes, and equality up to names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from srcgraph.ir.closure import open_, with_graphs
from srcgraph.ir.graph import Apply, Call, For, Graph, Node, Value, While, node_graphs
from srcgraph.ir.printer import format_graph


def all_nodes(graph: Graph) -> Iterator[Node]:
    """Every node of a graph and of the graphs its nodes own, outer before inner."""
    stack = [iter(graph.nodes)]
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
            continue
        yield node
        if not isinstance(node, Apply):
            stack.extend(iter(g.nodes) for g in reversed(node_graphs(node)))


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """The graph and every graph its nodes own."""
    yield graph
    for node in all_nodes(graph):
        yield from node_graphs(node)


def values_in(graph: Graph) -> Iterator[Value]:
    """Everything that is defined in a graph and in the graphs its nodes own: parameters, and what nodes give."""
    for part in all_graphs(graph):
        yield from part.params
        for node in part.nodes:
            yield from node.outputs


def size(graph: Graph) -> int:
    """How many nodes a graph has, literals not counted."""
    return sum(not (isinstance(n, Apply) and n.op.name == "const") for n in all_nodes(graph))


def has_order(node: Node) -> bool:
    """Whether a node, or one inside it, may raise or have an effect, so that it must stay where it is."""
    if isinstance(node, Apply):
        return node.op.ordered
    if isinstance(node, Call):
        return True
    return any(has_order(n) for g in node_graphs(node) for n in g.nodes)


def taken_over(node: Node) -> Iterator[Value]:
    """The arrays whose memory a node may change: those it stores into, and what a loop begins or goes on with."""
    match node:
        case Apply():
            yield from node.inputs[:1] if node.op.kind == "update" or node.op.changes else ()
        case Call():
            yield from (node.inputs[i] for i, _ in node.changes)
        case For() | While():
            yield from (*node.carry, *node.body.results)


def kept_params(graph: Graph) -> tuple[int, ...]:
    """The positions of parameters that get a content where something certainly raises."""
    if not any(isinstance(n, Apply) and n.op.name == "keep" for n in all_nodes(graph)):
        return ()
    nodes = all_nodes(open_(graph))
    kept = {n.inputs[0] for n in nodes if isinstance(n, Apply) and n.op.name == "keep"}
    return tuple(k for k, param in enumerate(graph.params) if param in kept)


def calls(graph: Graph) -> Iterator[Call]:
    """Every call in a graph, at every depth."""
    return (n for n in all_nodes(graph) if isinstance(n, Call))


def rule_graphs(call: Call) -> tuple[str, ...]:
    """The names of the graphs that a derivative of a call may run instead."""
    return () if call.rule is None else tuple(filter(None, (call.rule.forward, call.rule.backward)))


def calling(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with calls of other functions."""

    def node(n: Node) -> Node:
        if isinstance(n, Call):
            return replace(n, callee=names.get(n.callee, n.callee))
        return with_graphs(n, [calling(g, names) for g in node_graphs(n)])

    return replace(graph, nodes=tuple(map(node, graph.nodes)))


def definitions(graph: Graph) -> dict[Value, Node]:
    """The node that defines each value, at every depth; parameters are absent."""
    return {out: node for node in all_nodes(graph) for out in node.outputs}


def same_graph(x: Graph, y: Graph) -> bool:
    """Whether two graphs are equal up to the names of values."""
    return canonical_text(x) == canonical_text(y)


def canonical_text(graph: Graph) -> str:
    """The text of a graph with the hints for names dropped, so that equal graphs have equal text."""
    return format_graph(graph, hints=False)
