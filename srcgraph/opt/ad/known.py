"""What derivative rules compute of forward values, read where the forward sweep has computed it.

The derivative of ``sin(x)`` is ``cos(x)``: where the function has computed that too, `residuals` decides whether it is
saved or computed again, once for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from srcgraph.ir.closure import rename_node, with_graphs
from srcgraph.ir.graph import Apply, Graph, Node, Value, While, node_graphs
from srcgraph.opt.ad.residuals import is_reverse
from srcgraph.opt.licm import is_costly

Known: TypeAlias = Mapping[Any, tuple[Value, ...]]


def with_known(graph: Graph) -> Graph:
    """Return an open graph of both sweeps in which the reverse one reads functions of forward values where they are."""
    return _Sharing().graph(graph, {}, False)


class _Sharing:
    def __init__(self) -> None:
        self.env: dict[Value, Value] = {}
        self.forward: dict[str, Known] = {}
        """What there is in each region of the forward sweep, by its name."""

    def graph(self, graph: Graph, known: Known, reverse: bool) -> Graph:
        nodes: list[Node] = []
        own = dict(known)
        for before in graph.nodes:
            node = rename_node(before, self.env)
            key = _key(node)
            if reverse and key in own:
                self.env.update(zip(node.outputs, own[key], strict=True))
                continue
            if key is not None and not reverse:
                own[key] = node.outputs
            nodes.append(with_graphs(node, [self.inner(g, own, reverse) for g in node_graphs(node)]))
            if not reverse:
                self.forward.update({g.name: {} for g in node_graphs(node)[:1] if isinstance(node, While)})
        if not reverse:
            self.forward[graph.name] = {key: made for key, made in own.items() if key not in known}
        return replace(graph, nodes=tuple(nodes), results=tuple(self.env.get(v, v) for v in graph.results))

    def inner(self, graph: Graph, known: Known, reverse: bool) -> Graph:
        if is_reverse(graph):
            return self.graph(graph, {**known, **self.forward.get(graph.name.removesuffix("r"), {})}, True)
        return self.graph(graph, known, reverse)


def _key(node: Node) -> Any:
    """The same for uses of one function of the same values."""
    if not isinstance(node, Apply) or node.op.kind != "elementwise" or not is_costly(node):
        return None
    return node.op.name, node.inputs, tuple(sorted(node.attrs.items(), key=lambda a: a[0]))
