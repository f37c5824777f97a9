"""Where forward mode stands in for reverse mode: which tangents are 0 because something else was chosen.

In ``np.sqrt(np.maximum(x, 0.0))`` nothing of a negative ``x`` counts. Backwards that is so by itself: the infinite
derivative of the root comes first, and is then not chosen. Forwards the tangent 0 comes first, and 0 times infinity
must be 0 for a gradient not to depend on the way it is computed.
"""

from __future__ import annotations

from collections.abc import Set

from srcgraph.ir.graph import Apply, For, Graph, If, Value, While
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.activity import loop_params

_CHOOSES = frozenset(("where", "maximum", "minimum", "fmax", "fmin"))
_PASSING = frozenset(("structural", "update", "elementwise", "list", "check"))


class Vanishing:
    """Which nodes of an open graph may multiply such a tangent by an infinite derivative.

    Parameters
    ----------
    graph : Graph
    active : set of Value
        What has a tangent.

    Attributes
    ----------
    guarded : set of Apply
    """

    def __init__(self, graph: Graph, active: Set[Value]):
        self.active = active
        self.found: set[Value] = set()
        self.certain = {v for n in all_nodes(graph) if isinstance(n, Apply) and _is_certain(n) for v in n.outputs}
        """Divisors that are known not to be 0."""
        self.guarded: set[Apply] = set()
        self._graph(graph)

    def _graph(self, graph: Graph) -> None:
        for node in graph.nodes:
            match node:
                case Apply():
                    self._apply(node)
                case If():
                    self._graph(node.then)
                    self._graph(node.orelse)
                    sides = zip(node.outputs, node.then.results, node.orelse.results, strict=True)
                    self.found.update(out for out, *both in sides if out in self.active and any(map(self._may, both)))
                case For() | While():
                    self._loop(node)

    def _may(self, result: Value) -> bool:
        """Whether a branch's result may have a tangent of 0, or has none."""
        return result in self.found or result not in self.active

    def _loop(self, node: For | While) -> None:
        handed = list(zip(node.carry, loop_params(node), node.body.results, node.outputs, strict=False))
        self.found.update(p for init, p, _, _ in handed if init in self.found)
        before = -1
        while before != (before := len(self.found)):
            self._graph(node.body)
            for _, param, result, out in handed:
                if result in self.found:
                    self.found.update((param, out))

    def _apply(self, node: Apply) -> None:
        if self.active.isdisjoint(node.outputs):
            return
        passed = not self.found.isdisjoint(node.inputs)
        if passed and node.op.singular and not (node.op.name == "div" and node.inputs[1] in self.certain):
            self.guarded.add(node)
        if node.op.name in _CHOOSES or (passed and node.op.kind in _PASSING):
            self.found.update(node.outputs)


def _is_certain(node: Apply) -> bool:
    return node.op.kind == "check" or (node.op.name == "const" and node.attrs["value"] != 0)
