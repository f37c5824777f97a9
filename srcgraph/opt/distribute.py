"""Costly work of inner loops that is the same in all trips of an outer one is done before that, into an array.

``for t in range(steps): for i in range(n): x[i] *= exp(-k[i])`` takes ``exp(-k[i])`` once for each ``i``: only what is
computed from an array that has an element for each trip of the inner loops, so that the new array is no larger.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, sections 5.3 (scalar
expansion) and 6.2.1 (loop distribution).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, While, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import ranged
from srcgraph.ir.rebuild import substitute_type
from srcgraph.ir.types import is_integer
from srcgraph.ir.view import part
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.fuse import reads
from srcgraph.opt.licm import is_costly, is_pure
from srcgraph.opt.moving import Moving

FEW = 2
"""A loop of so many trips, known to be so few, is left as it is."""


def distribute(graph: Graph) -> Graph:
    """Take such work out of loops, as far as it can go."""
    nodes = list(all_nodes(graph))
    if sum(isinstance(n, For | While) for n in nodes) < 2 or not any(map(_is_worth_it, nodes)):
        return graph
    work = _Before(graph.name)
    made = work.run(open_(graph))
    return made if work.tables else graph


def _is_worth_it(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.kind in ("elementwise", "reduction") and is_costly(node)


def _is_cheap(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.kind == "elementwise"


# -- what is the same in all trips ---------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class _Same:
    """A value that is the same in all trips of a loop, for each of the trips of loops inside it.

    Attributes
    ----------
    value : Value
    loops : list of For
        The inner loops, from outside.
    levels : list of list of Apply
        What it is computed by: before the inner loops, in the first of them, and so on.
    """

    value: Value
    loops: list[For]
    levels: list[list[Apply]]

    @property
    def origin(self) -> Any:
        """Where it is computed in the source."""
        return next(n.origin for nodes in self.levels for n in nodes if self.value in n.outputs)


@dataclass(slots=True)
class _Nest:
    """A loop, and the loops inside it."""

    varying: set[Value]
    """What may differ from trip to trip of the loop, for the same trips of those inside it."""
    loops: dict[Value, For] = field(default_factory=dict)
    """The inner loops, by their indices."""
    made: dict[Value, Apply] = field(default_factory=dict)
    """What computes that which is the same, in order."""
    indices: dict[Value, frozenset[Value]] = field(default_factory=dict)
    """The indices that it depends on."""
    costly: set[Value] = field(default_factory=set)
    """What of it depends on indices, and takes costly work."""
    needed: set[Value] = field(default_factory=set)
    """What the rest needs of it."""

    def enter(self, graph: Graph) -> None:
        """Look at the nodes of a body, and of the loops in it."""
        for node in graph.nodes:
            if isinstance(node, Apply) and self.is_same(node):
                self.add(node)
            elif not isinstance(node, For) or not self.is_entered(node):
                self.needed |= reads(node)
                self.varying.update(node.outputs)
        self.needed.update(graph.results)

    def add(self, node: Apply) -> None:
        own = self.depends(node.inputs)
        self.made.update((v, node) for v in node.outputs)
        self.indices.update((v, own) for v in node.outputs)
        if own and (_is_worth_it(node) or not self.costly.isdisjoint(node.inputs)):
            self.costly.update(node.outputs)

    def depends(self, values: Iterable[Value]) -> frozenset[Value]:
        return frozenset().union(*(self.indices.get(v, ()) for v in values))

    def is_same(self, node: Apply) -> bool:
        if not is_pure(node) or not self.varying.isdisjoint(node.inputs):
            return False
        return not (node.op.grows and is_integer(node.outputs[0].type))

    def is_entered(self, loop: For) -> bool:
        """Whether an inner loop's trips are always the same; what is in it is looked at then."""
        bounds = (loop.start, loop.stop, loop.step)
        if loop.stops or not _counts_up(loop) or not self.varying.isdisjoint(bounds):
            return False
        index = loop.body.params[0]
        self.loops[index], self.indices[index] = loop, frozenset({index})
        self.needed.update(node_inputs(loop))
        self.varying.update((*loop.body.params[1:], *loop.outputs))
        self.enter(loop.body)
        return True

    def found(self) -> Iterator[_Same]:
        """What is worth an array: the costly values that are needed otherwise than for others of these."""
        for node in reversed(dict.fromkeys(self.made.values())):
            if self.needed.isdisjoint(node.outputs):
                continue
            worth_it = _is_worth_it(node) or (_is_cheap(node) and sum(v in self.costly for v in node.inputs) > 1)
            same = self.same(node) if worth_it else None
            if same is None:
                self.needed.update(node.inputs)
            else:
                yield same

    def same(self, node: Apply) -> _Same | None:
        """How a value is computed, if an array that it is computed from has as many elements."""
        (value,) = node.outputs
        loops = [loop for index, loop in self.loops.items() if index in self.indices[value]]
        bounds = [v for loop in loops for v in (loop.start, loop.stop, loop.step)]
        used = self.used([value, *bounds])
        if self.depends(bounds) or not any(self.has_as_many(n, value) for n in used):
            return None
        levels: list[list[Apply]] = [[] for _ in range(len(loops) + 1)]
        for n in used:
            own = self.indices[n.outputs[0]]
            levels[max((k for k, loop in enumerate(loops, 1) if loop.body.params[0] in own), default=0)].append(n)
        return _Same(value, loops, levels)

    def used(self, values: Iterable[Value]) -> list[Apply]:
        """All that computes values, in order."""
        used, todo = set[Apply](), list(values)
        while todo:
            node = self.made.get(todo.pop())
            if node is not None and node not in used:
                used.add(node)
                todo += node.inputs
        return [n for n in dict.fromkeys(self.made.values()) if n in used]

    def has_as_many(self, node: Apply, value: Value) -> bool:
        """Whether a node reads what belongs to the indices of a value, of an array with a place for each."""
        if node.op.name != "getitem" or node.inputs[0] in self.made or not self.indices[value]:
            return False
        same_row = set(getattr(value.type, "shape", ())) <= {*node.inputs[0].type.shape}
        return same_row and self.indices[value] <= {*node.inputs[1:]} and value.type.ndim <= node.outputs[0].type.ndim


# -- how it is done before -----------------------------------------------------------------------------------


class _Before(Moving):
    """A graph in which that is done before loops."""

    def __init__(self, name: str):
        super().__init__(name)
        self.tables: dict[Value, tuple[Value, list[For]]] = {}

    def for_(self, node: For) -> Sequence[Value]:
        self.begin(node)
        return super().for_(node)

    def while_(self, node: While) -> Sequence[Value]:
        self.begin(node)
        return super().while_(node)

    def node(self, node: Node) -> Sequence[Value]:
        if len(node.outputs) != 1 or node.outputs[0] not in self.tables:
            return super().node(node)
        table, loops = self.tables[node.outputs[0]]
        at = self.values([loop.body.params[0] for loop in loops])
        return (OPS["getitem"](table, *at, view=part(len(loops), table.type.ndim - len(loops))),)

    def begin(self, loop: For | While) -> None:
        """Do before a loop what is the same in all its trips."""
        if _trips(loop) <= FEW:
            return
        nest = _Nest(set(loop.body.params))
        nest.enter(loop.body)
        for same in nest.found():
            if same.value not in self.tables:
                self.fill(same)

    def fill(self, same: _Same) -> None:
        """Build an array of a value before a loop, unless something of it may raise there."""
        before = dict(self.env), dict(self.symbols)
        region = self.builder.new_region()
        with self.builder.inside(region), self.builder.at(origin=same.origin):
            table = self.filled(same)
        self.env, self.symbols = before
        if table is not None:
            self.builder.splice(region)
            self.tables[same.value] = (table, same.loops)

    def filled(self, same: _Same) -> Value | None:
        self.stands = True
        self.nodes(same.levels[0])
        lengths = [loop.stop for loop in same.loops]
        row: Any = substitute_type(same.value.type, self.symbols)
        sizes = (*self.values(lengths), *map(self.builder.dim_value, getattr(row, "shape", ())))
        self.stands = self.stands and self.builder.stands(OPS["empty"], sizes, {"dtype": row.dtype})
        (table,) = self.nest(same, 0, [OPS["empty"](*sizes, dtype=row.dtype)])
        return table if self.stands else None

    def nest(self, same: _Same, depth: int, arrays: Sequence[Value]) -> Sequence[Value]:
        """The loops from one on, which store into an array."""
        if depth == len(same.loops):
            at = self.values([loop.body.params[0] for loop in same.loops])
            view = part(depth, same.value.type.ndim)
            return [OPS["setitem"](*arrays, self.value(same.value), *at, view=view)]
        loop = same.loops[depth]

        def body(index: Value, *arrays: Value) -> Sequence[Value]:
            self.bind(loop.body.params[0], index)
            self.nodes(same.levels[depth + 1])
            return self.nest(same, depth + 1, arrays)

        bounds = self.value(loop.start), self.value(loop.stop), self.value(loop.step)
        return ranged(bounds, arrays, body, [same.value.name])


def _trips(loop: For | While) -> float:
    """How many trips a loop has; infinitely many if that is not known."""
    if isinstance(loop, While) or not _counts_up(loop):
        return math.inf
    count = loop.stop.type.value - loop.start.type.value
    return math.inf if count.const is None else count.const / loop.step.type.value.const


def _counts_up(loop: For) -> bool:
    """Whether the indices of a loop are no less than 0, each larger than the one before."""
    start, stop, step = (v.type.value for v in (loop.start, loop.stop, loop.step))
    if stop is None or any(v is None or v.const is None for v in (start, step)):
        return False
    return start.const >= 0 and step.const > 0
