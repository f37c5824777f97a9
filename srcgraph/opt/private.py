"""Arrays that each trip of a loop fills anew are each trip's own: no trip hands them to the next one.

``terms = np.empty(k)`` before ``for i in range(n):``, and all of ``terms`` stored in each trip before any of it is
read, is ``terms = np.empty(k)`` in the loop. Then trips depend on each other by what they do, not by where they keep
it: loops can be one, in any order, and derivatives need not save the array for every trip.

References
----------
P. Tu, D. Padua, "Automatic array privatization", Languages and Compilers for Parallel Computing, 1993, 500-521.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from srcgraph.ir.closure import close, free_values, open_
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, While, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import split_operands
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import reads
from srcgraph.opt.simplify import simplify
from srcgraph.opt.unread import own_axes, versions

Fill = tuple[For, int]
"""A loop that stores every element of one of the arrays that it carries, before it reads that."""


def private(graph: Graph) -> Graph:
    """Make such arrays anew in each trip."""
    if not any(isinstance(n, For) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    fills = list(_fills(opened))
    return dce(simplify(close(_Anew(graph.name, fills).run(opened)))) if fills else graph


def _fills(graph: Graph) -> Iterator[Fill]:
    """Where arrays are filled that loops of a block need not carry, and loops inside these."""
    dead = set[tuple[Node, int | None]]()
    for node in reversed(graph.nodes):
        found = list[Fill]()
        if isinstance(node, For | While):
            for k, out in enumerate(node.outputs):
                if isinstance(out.type, ArrayType) and not _is_read(graph, out, dead):
                    fill = _filled(node, k)
                    dead |= {(node, k)} if fill else set()
                    found += [fill] if fill else []
        yield from found
        for inner in node_graphs(node):
            yield from (fill for fill in _fills(inner) if fill not in found)


def _is_read(graph: Graph, value: Value, dead: Set[tuple[Node, int | None]]) -> bool:
    """Whether a value is read, otherwise than as what a loop begins with and does not look at."""
    return value in graph.results or any(value in reads(n) and (n, carried(n, value)) not in dead for n in graph.nodes)


def carried(node: Node, value: Value) -> int | None:
    """Which carry of a loop a value is, if the loop reads it as that alone."""
    if not isinstance(node, For | While) or node.carry.count(value) != 1:
        return None
    bounds = (node.start, node.stop, node.step) if isinstance(node, For) else ()
    if value in bounds or any(value in free_values(g) for g in node_graphs(node)):
        return None
    return node.carry.index(value)


def _filled(loop: For | While, k: int) -> Fill | None:
    """Where each trip of a loop fills one of its arrays before it reads it, if what a trip leaves is for no other."""
    param, body = loop.body.params[k + isinstance(loop, For)], loop.body
    if isinstance(loop, While) and loop.cond.params[k] in _all_read(loop.cond):
        return None
    readers = [n for n in body.nodes if param in reads(n)]
    if len(readers) != 1 or param in body.results or versions(body, param, body.results[k]) is None:
        return None  # where it is exchanged for another one, two arrays are enough
    (reader,) = readers
    j = carried(reader, param)
    if j is None:
        return None
    if isinstance(reader, For) and _is_fill(reader, j):
        return reader, j
    assert isinstance(reader, For | While)
    out = reader.outputs[j]
    others = any(out in reads(n) for n in body.nodes) or any(r is out for i, r in enumerate(body.results) if i != k)
    return None if others else _filled(reader, j)


def _all_read(graph: Graph) -> set[Value]:
    return {*graph.results, *(v for n in graph.nodes for v in reads(n))}


# -- whether a loop fills an array --------------------------------------------------------------------------


def _is_fill(loop: For, k: int) -> bool:
    """Whether a loop, with those inside it, stores every element of an array, and reads none before."""
    path, param = list[Fill](), loop.body.params[k + 1]
    node: Node = loop
    while isinstance(node, For) and not node.stops:
        path.append((node, k))
        param = node.body.params[k + 1]
        readers = [n for n in node.body.nodes if param in reads(n)]
        if len(readers) != 1 or param in node.body.results:
            return False
        (node,) = readers
        if isinstance(node, For):
            own = carried(node, param)
            if own is None:
                return False
            k = own
    if not isinstance(node, Apply) or node.op.name != "setitem" or node.inputs.index(param) or param in node.inputs[1:]:
        return False
    axes = _axes(node, [inner for inner, _ in path])
    return bool(axes) and all(axis in own_axes(*fill) for fill, axis in zip(path, axes, strict=True))


def _axes(store: Apply, loops: Sequence[For]) -> list[int]:
    """The axis that each of some loops goes along from one end to the other; none if not each does."""
    view, shape = store.attrs["view"], store.inputs[0].type.shape
    operands = split_operands(view, store.inputs[2:])
    places = {own[0]: axis for axis, (way, own) in enumerate(zip(view.axes, operands, strict=True)) if way == "i"}
    indices = [loop.body.params[0] for loop in loops]
    known = {*view.axes} <= {"i", ":"} and view.axes.count("i") == len(loops)
    if not known or places.keys() != {*indices}:
        return []
    axes = [places[index] for index in indices]
    return axes if all(_covers(loop, shape[axis]) for loop, axis in zip(loops, axes, strict=True)) else []


def _covers(loop: For, size: object) -> bool:
    """Whether the indices of a loop are all of an axis, in either direction."""
    start, stop, step = (getattr(v.type, "value", None) for v in (loop.start, loop.stop, loop.step))
    if start is None or stop is None or step is None:
        return False
    if step.const == 1:
        return start.const == 0 and stop == size
    return step.const == -1 and stop.const == -1 and start == size - 1  # type: ignore[operator]


class _Anew(Rebuild):
    """A graph in which loops fill new arrays."""

    def __init__(self, name: str, fills: Sequence[Fill]):
        super().__init__(name)
        self.filled = dict(fills)

    def for_(self, node: For) -> Sequence[Value]:
        return super().for_(self._anew(node) if node in self.filled else node)

    def _anew(self, loop: For) -> For:
        """The loop, beginning with a new array of as many elements."""
        k = self.filled[loop]
        before = loop.carry[k]
        own = Value(before.name, before.type)
        sizes = map(self.builder.dim_value, self.value(before).type.shape)
        self.env[own] = OPS["empty"](*sizes, dtype=before.type.dtype)
        return replace(loop, carry=tuple(own if i == k else v for i, v in enumerate(loop.carry)))
