"""What a trip stores and the next one reads is handed on as a number, beside what is stored.

``s[t + 1] = s[t] * exp(z[t])`` waits for one number, and the functions for nothing: those of many trips are computed at
once then, see `srcgraph.opt.strips`. Where there are none the machine-code compiler does the same.

References
----------
D. Callahan, S. Carr, K. Kennedy, "Improving register allocation for subscripted variables", PLDI 1990: scalar
replacement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srcgraph.ir.closure import free_values, open_
from srcgraph.ir.dims import Dim, substitute
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, While, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import chosen
from srcgraph.ir.rebuild import Extra, Rebuild
from srcgraph.ir.types import ScalarType, type_symbols
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import reads
from srcgraph.opt.interchanged import place_of
from srcgraph.opt.tables import free_nodes, is_dear, is_plain


def forwarded(graph: Graph) -> Graph:
    """Hand on such numbers, at every depth."""
    if not any(isinstance(n, For) and _has_functions(n) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    loops = [n for n in all_nodes(opened) if isinstance(n, For) and not n.stops and _has_functions(n)]
    found = {loop: numbers for loop in loops if (numbers := _numbers(loop))}
    return dce(_Forwarded(graph.name, found).run(opened)) if found else graph


def _has_functions(loop: For) -> bool:
    """Whether a loop's steps wait for each other, but not all functions for them."""
    return is_plain(loop) and any(map(is_dear, loop.body.nodes)) and any(map(is_dear, free_nodes(loop)))


@dataclass(frozen=True, slots=True)
class Number:
    """An element that a trip stores and the next one reads.

    Attributes
    ----------
    position : int
        Of the array, among what the loop carries.
    read, store : Apply
    places : tuple of Dim
        Which element is read.
    """

    position: int
    read: Apply
    store: Apply
    places: tuple[Dim, ...]


def _numbers(loop: For) -> list[Number]:
    index, *params = loop.body.params
    if index.type.value is None or index.type.value.symbol is None:
        return []
    found = (_number(loop, k, p, r) for k, (p, r) in enumerate(zip(params, loop.body.results, strict=False)))
    return [n for n in found if n is not None]


def _number(loop: For, k: int, array: Value, result: Value) -> Number | None:
    """An element of an array that nothing but one store changes, where the next trip reads it."""
    store = next((n for n in loop.body.nodes if result in n.outputs), None)
    if not isinstance(store, Apply) or store.op.name != "setitem" or store.inputs[0] is not array:
        return None
    if not isinstance(store.inputs[1].type, ScalarType) or any(
        n is not store and _changes(n, array) for n in loop.body.nodes
    ):
        return None
    index = loop.body.params[0].type.value
    next_trip = {index.symbol: index + loop.step.type.value}
    outside = frozenset({index.symbol}).union(*(type_symbols(v.type) for v in free_values(loop.body)))
    stored = _places(store)
    for node in loop.body.nodes:
        read = isinstance(node, Apply) and node.op.name == "getitem" and node.inputs[0] is array
        places = _places(node) if read else None  # type: ignore[arg-type]
        if places is not None and all(p.symbols() <= outside for p in places):
            if tuple(substitute(p, next_trip) for p in places) == stored:
                return Number(k, node, store, places)  # type: ignore[arg-type]
    return None


def _places(node: Apply) -> tuple[Dim, ...] | None:
    """Which element a node reads or stores; None if that is not known, or it is none."""
    known = tuple(v.type.value for v in place_of(node))
    is_element = node.attrs["view"] == element(node.inputs[0].type.ndim)
    return known if is_element and None not in known else None


def _changes(node: Node, array: Value) -> bool:
    """Whether a node may store into an array."""
    if isinstance(node, Apply):
        return node.op.kind == "update" and node.inputs[0] is array
    return array in reads(node) and bool(node_graphs(node))


# -- what becomes of them ----------------------------------------------------------------------------------


class _Carried(Extra):
    """The numbers that a loop hands on."""

    def __init__(self, work: _Forwarded, loop: For, numbers: Sequence[Number]):
        super().__init__()
        self.work, self.numbers = work, numbers
        self.names = [f"{loop.carry[n.position].name}_now" for n in numbers]
        self.inits = [work.first(loop, n) for n in numbers]

    def enter(self) -> None:
        self.params = [self.work.builder.fresh(n, v.type) for n, v in zip(self.names, self.inits, strict=True)]
        self.work.now.update({n.read: p for n, p in zip(self.numbers, self.params, strict=True)})

    def finish(self, nodes: Sequence[Node], stop: Value | None) -> None:
        stored = ((self.work.value(n.store.inputs[1]), p.type) for n, p in zip(self.numbers, self.params, strict=True))
        self.results = [self.work.builder.cast(v, t.dtype, weak=False) for v, t in stored]


class _Forwarded(Rebuild):
    """A graph in which such numbers are handed on."""

    def __init__(self, name: str, found: dict[For, list[Number]]):
        super().__init__(name)
        self.found = found
        self.now: dict[Node, Value] = {}

    def extra(self, node: For | While) -> Extra:
        numbers = self.found.get(node) if isinstance(node, For) else None
        return _Carried(self, node, numbers) if numbers else Extra()  # type: ignore[arg-type]

    def node(self, node: Node) -> Sequence[Value]:
        return (self.now[node],) if node in self.now else super().node(node)

    def first(self, loop: For, number: Number) -> Value:
        """What the first trip reads, if there is one."""
        b, array = self.builder, self.value(loop.carry[number.position])
        index = loop.body.params[0].type.value.symbol
        start, stop, step = (self.value(v) for v in (loop.start, loop.stop, loop.step))
        known = {**self.symbols, index: start.type.value}
        places = [substitute(p, known) for p in number.places]

        def read() -> Sequence[Value]:
            return (OPS["getitem"](array, *map(b.dim_value, places), view=element(array.type.ndim)),)

        def nothing() -> Sequence[Value]:
            return (b.const(array.type.dtype.type(0)),)

        if all(b.proves(p) and b.proves(d - p - 1) for p, d in zip(places, array.type.shape, strict=True)):
            return read()[0]
        some = OPS["less"](*((start, stop) if step.type.value.const > 0 else (stop, start)))
        return chosen(some, read, nothing, [number.read.outputs[0].name])[0]
