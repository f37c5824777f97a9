"""Several shifts round of one array are read from one copy of it that has at each end what comes round there.

``np.roll(u, 1, 0) + np.roll(u, -1, 0) - 2 * u`` copies ``u`` for each shift. A copy with one row more above and below
has all of them as parts of itself, which need no memory. An array that is shifted once is copied in two parts, unless
its elements are only computed with: then the copy is seldom made (`codegen/rounds`). What `numpy.pad` makes of an
array in one operation is made axis by axis for GPUs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, Graph, Node, Value, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.shaping import added_round, padded, shifted_round
from srcgraph.ir.ops.wraps import PADDED
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.view import View, whole
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import reads

WIDEST = 4
"""So many places at most are shifts that share a copy."""
MOST_AXES = 2


def copied_once(graph: Graph) -> Graph:
    """Read shifts from such copies, in every block."""
    if not any(map(_is_roll, all_nodes(graph))):
        return graph
    opened = open_(graph)
    found: dict[Node, _Group] = {node: group for group in _groups(opened) for node in group.nodes}
    return dce(_Rolls(graph.name, found).run(opened)) if found else graph


def in_parts(graph: Graph) -> Graph:
    """Copy what is shifted in two parts, or add these where it is added to a derivative."""
    if not any(map(_is_roll, all_nodes(graph))):
        return graph
    opened = open_(graph)
    return dce(_InParts(graph.name, dict(_added(opened))).run(opened))


def ends_in_parts(graph: Graph) -> Graph:
    """Fill what has more at its ends axis by axis: where generated code calls nothing that does it."""
    if not any(map(_is_padding, all_nodes(graph))):
        return graph
    return dce(_EndsInParts(graph.name).run(open_(graph)))


def _is_padding(node: Node) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op in PADDED.values()


def _is_roll(node: Node) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op.name == "rolled"


Shifts = Mapping[int, int]
"""How far an array is shifted along each axis."""


@dataclass(slots=True)
class _Group:
    """Shifts of one array in one block that share a copy, and the copy, once it is made."""

    base: Value
    nodes: dict[Apply, Shifts]
    copy: Value | None = None

    @property
    def width(self) -> int:
        """How much more the copy has at each end."""
        return max(abs(by) for shifts in self.nodes.values() for by in shifts.values())


def _groups(graph: Graph) -> Iterator[_Group]:
    found: defaultdict[Value, dict[Apply, Shifts]] = defaultdict(dict)
    of: dict[Value, tuple[Value, Shifts]] = {}
    added = {roll for _, roll in _added(graph)}
    for node in graph.nodes:
        if isinstance(node, Apply) and node.op.name == "copy":  # shifted by nothing
            of[node.outputs[0]] = of.get(node.inputs[0], (node.inputs[0], {}))
        if _is_roll(node) and node.inputs[0].type.ndim <= MOST_AXES:
            base, shifts = of.get(node.inputs[0], (node.inputs[0], {}))
            axis, by = node.attrs["axis"], node.attrs["shift"]
            together = {**shifts, axis: shifts.get(axis, 0) + by}
            base, together = (base, together) if _is_near(together) else (node.inputs[0], {axis: by})
            if _is_near(together):
                found[base][node] = together
                of[node.outputs[0]] = base, together
        for inner in node_graphs(node):
            yield from _groups(inner)
    for base, nodes in found.items():
        only = next(iter(nodes))
        if len(nodes) > 1 or (only not in added and _is_read_by_elements(graph, only.outputs[0])):
            yield _Group(base, nodes)


def _is_near(shifts: Shifts) -> bool:
    return max(map(abs, shifts.values()), default=0) <= WIDEST


def _is_read_by_elements(graph: Graph, value: Value) -> bool:
    """Whether a shift is only computed with, element by element: where it is, if its array stays (`rounds`)."""
    readers = [n for n in graph.nodes if value in reads(n)]
    by_elements = all(isinstance(n, Apply) and n.op.kind == "elementwise" for n in readers)
    return by_elements and value not in graph.results


def _added(graph: Graph) -> Iterator[tuple[Node, Apply]]:
    """What adds a shift, and nothing else reads that, in arithmetic of derivatives."""
    rolls = {n.outputs[0]: n for n in graph.nodes if _is_roll(n)}
    readers = Counter(v for n in graph.nodes for v in reads(n) if v in rolls)
    for node in graph.nodes:
        if _adds(node):
            own = [v for v in node.inputs if v in rolls and readers[v] == 1 and v not in graph.results]
            if own and len({*node.inputs}) == 2 and (node.op.name == "add" or own[0] is node.inputs[1]):
                yield node, rolls[own[0]]
        for inner in node_graphs(node):
            yield from _added(inner)


def _adds(node: Node) -> TypeGuard[Apply]:
    """Whether a node adds two arrays of the same sizes."""
    if not isinstance(node, Apply) or node.op.name not in ("add", "add_at") or not node.origin.by:
        return False
    kind = node.outputs[0].type
    same = len(node.inputs) == 2 and all(v.type == kind for v in node.inputs)
    return same and (node.op.name == "add" or node.attrs["view"] == whole(kind.ndim))


class _Rolls(Rebuild):
    """A graph, shifts as parts of wider copies."""

    def __init__(self, name: str, groups: Mapping[Node, _Group]):
        super().__init__(name)
        self.groups = groups

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node in self.groups:
            group = self.groups[node]
            return (self.of_copy(self.value(group.base), group.nodes[node], group),)
        return super().apply(node, inputs)

    def of_copy(self, x: Value, shifts: Shifts, group: _Group) -> Value:
        """The part of a wider copy that is ``x`` shifted."""
        if group.copy is None:
            group.copy = OPS["wrapped"](x, width=group.width)
        operands: list[Value] = []
        for k, size in enumerate(x.type.shape):
            operands += [self.builder.const(group.width - shifts.get(k, 0)), self.builder.dim_value(size)]
        ndim = x.type.ndim
        return OPS["getitem"](group.copy, *operands, view=View((1,) * ndim, tuple(range(ndim))))


class _InParts(Rebuild):
    """A graph, shifts as two parts; ``added`` says which are added, and by what."""

    def __init__(self, name: str, added: Mapping[Node, Apply]):
        super().__init__(name)
        self.added = added

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        roll = self.added.get(node)
        if roll is not None:
            other = next(x for v, x in zip(node.inputs, inputs, strict=True) if v not in roll.outputs)
            return (added_round(other, self.value(roll.inputs[0]), *self.way(roll)),)
        return (shifted_round(inputs[0], *self.way(node)),) if _is_roll(node) else super().apply(node, inputs)

    def way(self, roll: Apply) -> tuple[Value, int]:
        return self.builder.const(roll.attrs["shift"]), roll.attrs["axis"]


class _EndsInParts(Rebuild):
    """A graph in which arrays are padded axis by axis."""

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if not _is_padding(node):
            return super().apply(node, inputs)
        (x,) = inputs
        mode = next(mode for mode, op in PADDED.items() if op is node.op)
        width = self.builder.const(node.attrs["width"])
        for axis in range(x.type.ndim):
            x = padded(x, axis, width, width, mode)
        return (x,)
