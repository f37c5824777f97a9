"""Arrays that are read at a few shifts, and whose elements cost little, are computed where they are read.

``lap = 4 * u[1:-1] - (u[2:] + u[:-2])`` and then ``lap[1:] - lap[:-1]`` computes each element twice if no array is made
for ``lap``. That is quicker than to store it and to read it again, as a CPU adds and multiplies several numbers in the
time in which it gets one from a cache, and all becomes one loop. This comes when all derivatives are taken.

References
----------
Ragan-Kelley et al., Halide: a language and compiler for optimizing parallelism, locality, and recomputation in image
processing pipelines, PLDI 2013 (the trade between locality and recomputation).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from srcgraph.ir.closure import open_
from srcgraph.ir.dims import Dim, as_dim
from srcgraph.ir.graph import Apply, Graph, Value, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import View, split_operands
from srcgraph.ir.walk import all_nodes, taken_over
from srcgraph.opt.dce import dce

ARITHMETIC = ("add", "sub", "mul", "neg", "absolute", "sign", "square", "where", "maximum", "minimum", "cast")
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "unused")
LOGIC = ("logical_and", "logical_or", "logical_not")
QUICK = {**dict.fromkeys((*ARITHMETIC, *COMPARISONS, *LOGIC), 1), "div": 8, "sqrt": 8}
"""How long a CPU takes for ops, where it does several elements at once."""
POWER = 4
"""The highest power that counts as products."""
MADE = 16
"""How many such ops, or reads from a cache, an array takes that is stored and read again."""
MOST = 64
"""How many a loop may have."""

Shift: TypeAlias = tuple[Dim, ...]


def recomputed(graph: Graph) -> Graph:
    """Do without such arrays, at every depth."""
    opened = open_(graph)
    found = _Found(opened)
    return dce(_Shifting(graph.name, found).run(opened)) if found.elements else graph


@dataclass(frozen=True, slots=True)
class _Element:
    """What an element is computed by: results of ops, and what is read of arrays, each with how far it is shifted."""

    ops: frozenset[tuple[Apply, Shift]] = frozenset()
    reads: frozenset[tuple[Value, Shift]] = frozenset()

    def __or__(self, other: _Element) -> _Element:
        return _Element(self.ops | other.ops, self.reads | other.reads)

    def shifted(self, by: Shift) -> _Element:
        return _Element(
            frozenset((n, _sum(s, by)) for n, s in self.ops), frozenset((v, _sum(s, by)) for v, s in self.reads)
        )

    @property
    def cost(self) -> int:
        return len(self.reads) + sum(takes(n) or 0 for n, _ in self.ops)


def takes(node: Apply) -> int | None:
    """How long an op takes; None if that is too long."""
    if node.op.name == "ipow":
        return node.attrs["n"] - 1 if 1 < node.attrs["n"] <= POWER else None
    return QUICK.get(node.op.name)


def _sum(x: Shift, y: Shift) -> Shift:
    return tuple(a + b for a, b in zip(x, y, strict=True))


def _shift(node: Apply | None) -> Shift | None:
    """How far a part of an array that lies in it as it is by itself is shifted; None for what is no such part."""
    if node is None or node.op.name != "getitem":
        return None
    view = node.attrs["view"]
    if not set(view.axes) <= {":", 1} or view.order != tuple(range(len(view.axes))):
        return None
    own = split_operands(view, [v.type.value for v in node.inputs[1:]])
    return tuple(o[0] if o else as_dim(0) for o in own)


class _Found:
    """Which arrays are not made.

    Attributes
    ----------
    elements : dict
        By such an array.
    """

    def __init__(self, graph: Graph):
        self.elements: dict[Value, _Element] = {}
        self.readers: dict[Value, list[Apply | None]] = defaultdict(list)
        self.changed: set[Value] = set()
        self.home: dict[Value, Graph] = {}
        self._index(graph)
        nodes = [n for n in all_nodes(graph) if isinstance(n, Apply) and isinstance(n.outputs[0].type, ArrayType)]
        self.made = {n.outputs[0]: n for n in nodes if takes(n) is not None}
        self.views = {n.outputs[0]: n for n in nodes if _shift(n) is not None}
        self.delayed = {n.outputs[0] for n in nodes if n.op.kind in ("elementwise", "structural")}
        for value in self.made:
            element = self._chosen(value)
            if element is not None:
                self.elements[value] = element

    def _index(self, graph: Graph) -> None:
        """Who reads each value: None is what is no op, or is in another block."""
        self.home |= dict.fromkeys(graph.params, graph)
        for node in graph.nodes:
            for value in node_inputs(node):
                here = isinstance(node, Apply) and self.home.get(value) is graph
                self.readers[value].append(node if here else None)  # type: ignore[arg-type]
            self.home |= dict.fromkeys(node.outputs, graph)
            self.changed.update(taken_over(node))
            for inner in node_graphs(node):
                self._index(inner)
        for value in graph.results:
            self.readers[value].append(None)

    def _chosen(self, value: Value) -> _Element | None:
        """What an element is computed by, if that takes no longer at each place where it is read than to make it."""
        readers = self.readers[value]
        shifts = {None if r is None or r.inputs[0] is not value else _shift(r) for r in readers}
        if len(readers) < 2 or None in shifts:
            return None
        if not all(self._is_read_by_loops(r.outputs[0]) for r in readers if r is not None):
            return None
        element = self.element(value)
        if element is None:
            return None
        everywhere = _Element()
        for shift in shifts:
            everywhere |= element.shifted(shift)  # type: ignore[arg-type]
        limit = min(element.cost + len(shifts) + MADE, MOST)
        return element if everywhere.cost <= limit else None

    def _is_read_by_loops(self, part: Value) -> bool:
        """Whether the elements of a part are read one by one, so that it is not made either."""
        kinds = ("elementwise", "reduction", "update")
        return part not in self.changed and all(r is not None and r.op.kind in kinds for r in self.readers[part])

    def element(self, whole: Value) -> _Element | None:
        """What an element of an array is computed by; None if that reads what is not in memory, or is changed."""
        ops: dict[Value, Apply] = {}
        none = (as_dim(0),) * whole.type.ndim
        todo, found = [whole], _Element()
        while todo:
            value = todo.pop()
            if value in ops or not isinstance(value.type, ArrayType):
                continue
            if value.type.shape != whole.type.shape or len(ops) > MOST:
                return None
            if value in self.made:
                ops[value] = self.made[value]
                todo += ops[value].inputs
                continue
            base, shift = self._base(value)
            more = self.elements[base].shifted(shift) if base in self.elements else self._read(base, shift)
            if more is None:
                return None
            found |= more
        inside = set(ops.values())
        alone = all(r in inside for v in ops if v is not whole for r in self.readers[v])
        return found | _Element(frozenset((n, none) for n in inside)) if alone else None

    def _base(self, value: Value) -> tuple[Value, Shift]:
        """The array that a value is a part of, and how far that is shifted; by default itself."""
        node = self.views.get(value)
        return (value, (as_dim(0),) * value.type.ndim) if node is None else (node.inputs[0], _shift(node) or ())

    def _read(self, base: Value, shift: Shift) -> _Element | None:
        if base in self.delayed or base in self.changed:
            return None
        return _Element(reads=frozenset(((base, shift),)))


@dataclass(frozen=True, slots=True)
class _Part:
    """What is read of an array: where that starts, and its shape."""

    starts: Shift
    shape: Shift

    @staticmethod
    def of(view: View, operands: Sequence[Value], shape: Shift) -> _Part:
        own = split_operands(view, [v.type.value for v in operands])
        starts = tuple(o[0] if o else as_dim(0) for o in own)
        return _Part(starts, tuple(o[1] if o else d for o, d in zip(own, shape, strict=True)))


class _Shifting(Rebuild):
    """Builds a graph anew; parts of some arrays are computed from parts of what these are computed from."""

    def __init__(self, name: str, found: _Found):
        super().__init__(name)
        self.found = found

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        base = node.inputs[0] if node.outputs[0] in self.found.views else None
        if base is None or base not in self.found.elements:
            return super().apply(node, inputs)
        return (self.part(base, _Part.of(node.attrs["view"], inputs[1:], inputs[0].type.shape), {}),)

    def part(self, value: Value, part: _Part, known: dict[Value, Value]) -> Value:
        """A part of an array; ``known`` are the same parts of others."""
        if not isinstance(value.type, ArrayType):
            return self.value(value)
        if value not in known:
            known[value] = self.computed(value, part, known)
        return known[value]

    def computed(self, value: Value, part: _Part, known: dict[Value, Value]) -> Value:
        node = self.found.made.get(value)
        if node is not None:
            inputs = tuple(self.part(v, part, known) for v in node.inputs)
            with self.builder.at(origin=node.origin):
                return self.builder.apply(node.op, inputs, dict(node.attrs), name=value.name)
        if value in self.found.views:
            node = self.found.views[value]
            inner = _Part.of(node.attrs["view"], self.values(node.inputs[1:]), self.value(node.inputs[0]).type.shape)
            value, part = node.inputs[0], _Part(_sum(inner.starts, part.starts), part.shape)
            if value in self.found.elements:
                return self.part(value, part, {})
        return self.read(self.value(value), part)

    def read(self, array: Value, part: _Part) -> Value:
        """A part of an array in memory."""
        axes: list[str | int] = []
        operands: list[Value] = []
        for start, length, size in zip(part.starts, part.shape, array.type.shape, strict=True):
            whole = start == 0 and length == size
            axes.append(":" if whole else 1)
            operands += () if whole else map(self.builder.dim_value, (start, length))
        return self.builder.apply(
            OPS["getitem"], (array, *operands), {"view": View(tuple(axes), tuple(range(len(axes))))}
        )
