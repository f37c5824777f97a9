"""What is computed of all pairs of points reads the coordinates of the inner loop's points one after the other.

``x[:, None, :] - x[None, :, :]`` of n points with three coordinates goes over the points n times, and a CPU that takes
several of them at once has to pick each coordinate from every third place. So a transposed copy of the points is made
before, in which these lie side by side; it costs as much as one of the n times. This comes when all derivatives are
taken.

References
----------
Intel 64 and IA-32 Architectures Optimization Reference Manual, section 5.5.1 (arrays of structures and structures of
arrays).
"""

from __future__ import annotations

from collections.abc import Sequence

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, Graph, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import View, transposed
from srcgraph.ir.walk import all_nodes, taken_over
from srcgraph.opt.dce import dce

FEW = 4
"""The most coordinates."""


def coordinates(graph: Graph) -> Graph:
    """Read points so, at every depth."""
    opened = open_(graph)
    chosen = _chosen(opened)
    return dce(_Apart(graph.name, chosen).run(opened)) if chosen else graph


def _chosen(graph: Graph) -> set[Apply]:
    """The views of points that stand for those of the inner loop."""
    nodes = [n for n in all_nodes(graph) if isinstance(n, Apply)]
    views = {n.outputs[0]: n for n in nodes if n.op.name == "getitem" and _is_of_points(n)}
    changed = {v for n in all_nodes(graph) for v in taken_over(n)}
    found = set()
    for node in nodes:
        if node.op.kind == "elementwise" and _is_of_pairs(node.outputs[0]):
            found |= {views[v] for v in node.inputs if v in views and views[v].inputs[0] not in changed}
    return found


def _is_of_pairs(value: Value) -> bool:
    """Whether an array has a few numbers for each pair of points."""
    if not isinstance(value.type, ArrayType) or value.type.ndim != 3:
        return False
    first, second, count = value.type.shape
    return first == second and first.const is None and count.const is not None and 1 < count.const <= FEW


def _is_of_points(view: Apply) -> bool:
    """Whether a view is ``x[None, :, :]`` of numbers that lie there by points."""
    return view.inputs[0].type.ndim == 2 and view.attrs["view"] == View((":", ":"), (None, 0, 1))


class _Apart(Rebuild):
    """Builds a graph anew; some views are of a transposed copy."""

    def __init__(self, name: str, chosen: set[Apply]):
        super().__init__(name)
        self.chosen = chosen

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node not in self.chosen:
            return super().apply(node, inputs)
        points = inputs[0]
        turned = OPS["getitem"](points, view=transposed(2, (1, 0)))
        copied = self.builder.apply(OPS["copy"], (turned,), {}, name=f"{self.name_of(points)}_T")
        return (OPS["getitem"](copied, view=View((":", ":"), (None, 1, 0))),)

    def name_of(self, array: Value) -> str:
        """The user's name of an array, of which more may be known by now."""
        node = self.builder.definition(array)
        while node is not None and node.op.name in ("with_shape", "assumed"):
            array = node.inputs[0]
            node = self.builder.definition(array)
        return array.name or "points"
