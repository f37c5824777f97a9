"""Loops that copy an array in order to change it fill another array instead.

``old = u.copy()`` and ``u[1:-1] = f(old)`` in each trip of a loop is one more pass over memory than it takes to fill a
new ``u`` from the old one. What the stores of a trip leave as it was is copied: the elements near the ends of the axes,
or none, where these are stored, too, before they are read.

Whether they are depends on lengths. Where stores and reads begin and end is so many elements from an end of an axis:
then what holds for all lengths up to twice that holds for longer ones, which only have more elements in the middle.

References
----------
P. Feautrier, "Array expansion", International Conference on Supercomputing 1988, 429-441: what two versions of an array
cost and give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import product

import numpy as np

from srcgraph.ir.closure import free_values, open_
from srcgraph.ir.dims import Dim, evaluate, unclamped
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import split_operands, whole
from srcgraph.ir.walk import all_nodes, has_order, taken_over

WIDEST = 4
"""So many elements at an end of an axis are few."""
MOST_AXES = 3
_STORES = ("setitem", "add_at")
_SAME = ("with_shape", "assumed")
"""What says more of an array, and is that array."""


def exchanged(graph: Graph) -> Graph:
    """Let such loops fill new arrays, at every depth."""
    if not any(isinstance(n, For | While) and _copies(n.body) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    found = dict(_found(opened, set()))
    return _Exchanged(graph.name, found).run(opened) if found else graph


@dataclass(frozen=True, slots=True)
class _Exchange:
    """An array that a loop carries.

    Attributes
    ----------
    carried : int
        Which carry it is.
    copies : list of Apply
        What copies it.
    first : Apply
        The store that goes into a new array.
    width : int
        How far from the ends of axes there is what is copied into that; 0 if nothing is.
    seen : bool
        Whether others see the array, so that in the end its own memory has to have the elements.
    """

    carried: int
    copies: list[Apply]
    first: Apply
    width: int
    seen: bool


Found = tuple[Node, list[_Exchange]]


def _found(graph: Graph, own: set[Value]) -> Iterator[Found]:
    """The loops, with what is exchanged in each; ``own`` are arrays that nobody else sees."""
    for node in graph.nodes:
        if isinstance(node, For | While):
            params = node.body.params[isinstance(node, For) :]
            own |= {p for p, init in zip(params, node.carry, strict=True) if init in own}
            exchanges = [e for k in range(len(node.carry)) if (e := _exchange(node, k, own)) is not None]
            if exchanges:
                yield node, exchanges
        for inner in node_graphs(node):
            yield from _found(inner, own)
        own |= _owned(node, own)


def _owned(node: Node, own: AbstractSet[Value]) -> set[Value]:
    """Those of a node's arrays that are in memory of the function's own."""
    match node:
        case Apply(op=op):
            same = op.kind == "update" or op.changes or op.name in _SAME or op.name == "reshape_view"
            return set(node.outputs) if not same or node.inputs[0] in own else set()
        case For() | While():
            return {out for out, init in zip(node.outputs, node.carry, strict=True) if init in own}
        case If(then=then, orelse=orelse):
            pairs = zip(node.outputs, then.results, orelse.results, strict=True)
            return {out for out, x, y in pairs if x in own and y in own}
    return set()


# -- one loop ----------------------------------------------------------------------------------------------


def _exchange(loop: For | While, k: int, own: AbstractSet[Value]) -> _Exchange | None:
    body, param = loop.body, loop.body.params[k + isinstance(loop, For)]
    if not isinstance(param.type, ArrayType) or param.type.ndim > MOST_AXES:
        return None
    copies = [n for n in _copies(body) if n.inputs[0] is param]
    stores = _stores(body, param, body.results[k])
    width = _width(stores[0]) if copies and stores else None
    if width is None or not _is_only_read(body, {param, *(n.outputs[0] for n in copies)}, stores[0]):
        return None
    if loop.carry[k] not in own and _may_raise(body, stores[0]):
        return None
    if _States(body, stores).are_stored_first():
        width = 0
    return _Exchange(k, copies, stores[0], width, loop.carry[k] not in own)


def _copies(body: Graph) -> list[Apply]:
    return [n for n in body.nodes if isinstance(n, Apply) and n.op.name == "copy"]


def _stores(body: Graph, param: Value, result: Value) -> list[Apply]:
    """The stores that make what a trip leaves of what it begins with; none if it is not made by stores alone."""
    makers = {v: n for n in body.nodes for v in n.outputs}
    found: list[Apply] = []
    while result is not param:
        maker = makers.get(result)
        if not isinstance(maker, Apply) or maker.op.name not in _STORES:
            return []
        found.append(maker)
        result = maker.inputs[0]
    return found[::-1]


def _is_only_read(body: Graph, values: AbstractSet[Value], first: Apply) -> bool:
    """Whether nothing but the first store changes the memory of an array and its copies, or hands it on."""
    others = (v for n in body.nodes if n is not first for v in taken_over(n))
    return values.isdisjoint(body.results) and values.isdisjoint(others)


def _width(store: Apply) -> int | None:
    """How far from the ends of axes the part begins and ends that a store fills; None if it is not in the middle."""
    view, shape = store.attrs["view"], store.inputs[0].type.shape
    if store.op.name != "setitem" or view.order != tuple(range(len(shape))):
        return None
    widths: list[int | None] = [0]
    for selector, operands, size in zip(view.axes, split_operands(view, store.inputs[2:]), shape, strict=True):
        if selector == 1:
            start, length = (v.type.value for v in operands)
            if start is None or length is None:
                return None
            widths += [start.const, (size - start - unclamped(length)).const]
        elif selector != ":":
            return None
    few = [w for w in widths if w is not None and 0 <= w <= WIDEST]
    return max(few) if len(few) == len(widths) else None


def _may_raise(body: Graph, first: Apply) -> bool:
    """Whether a trip may raise when others could have seen what a trip stored: checks of lengths fail at once."""
    changing, stored = set(body.params), False
    for node in body.nodes:
        stored = stored or node is first
        steady = isinstance(node, Apply) and (node.op.name == "dim" or changing.isdisjoint(node.inputs))
        fails_at_once = steady and not stored and isinstance(node, Apply) and node.op.kind == "check"
        if has_order(node) and not fails_at_once:
            return True
        if not steady:
            changing.update(node.outputs)
    return False


# -- what is stored before it is read ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _End:
    """Where a part begins or ends on an axis: so many elements from its start, or from where it stops."""

    from_stop: bool
    offset: int

    def __add__(self, count: int) -> _End:
        return _End(self.from_stop, self.offset + count)

    def of(self, size: int) -> int:
        return self.offset + size * self.from_stop


Part = tuple[tuple[_End, _End], ...]
"""Where a part of an array begins and ends on each axis."""


def _part(node: Node, first: int) -> Part | None:
    """What a read takes, or a store changes; None if it is not known. Their operands begin at ``first``."""
    if not isinstance(node, Apply) or node.op.name not in ("getitem", *_STORES):
        return None
    view, shape = node.attrs["view"], node.inputs[0].type.shape
    found = []
    for selector, operands, size in zip(view.axes, split_operands(view, node.inputs[first:]), shape, strict=True):
        values = [v.type.value for v in operands]
        start = _End(False, 0) if selector == ":" else _end(values[0], size)
        stop = _End(True, 0) if selector == ":" else start and start + 1
        if selector == 1:
            stop = _end(None if None in values else values[0] + unclamped(values[1]), size)
        if start is None or stop is None or selector not in (":", "i", 1):
            return None
        found.append((start, stop))
    return tuple(found)


def _end(place: Dim | None, size: Dim) -> _End | None:
    for from_stop, offset in enumerate((place, None if place is None else place - size)):
        if offset is not None and offset.const is not None:
            return _End(bool(from_stop), offset.const)
    return None


class _States:
    """An array of which nothing is known before the first store, and what a trip does with it.

    Attributes
    ----------
    events : list of tuple
        In order: a part, and whether it is stored; else it is read. A part that is not known is None.
    """

    def __init__(self, body: Graph, stores: Sequence[Apply]):
        self.shape = stores[0].inputs[0].type.shape
        self.events: list[tuple[Part | None, bool]] = []
        reads = [(n, {*node_inputs(n), *(v for g in node_graphs(n) for v in free_values(g))}) for n in body.nodes]
        for store, after in zip(stores, [*stores[1:], None], strict=True):
            part, state = _part(store, 2), store.outputs[0]
            self.events += [(part, False)] if store.op.name == "add_at" else []
            self.events += [(part, True)] if part is not None else []
            self.events += [
                (_part(n, 1) if n is not after else None, False)
                for n, read in reads
                if state in (read if n is not after else node_inputs(n)[1:])
            ]
        self.events.append((((_End(False, 0), _End(True, 0)),) * len(self.shape), False))

    def are_stored_first(self) -> bool:
        """Whether each element is stored before it is read, and when the trip ends, whatever the lengths are."""
        if any(d.const is None and d.symbol is None for d in self.shape):
            return False
        symbols = sorted(set().union(*(d.symbols() for d in self.shape)))
        reach = max(abs(end.offset) for part, _ in self.events for ends in part or () for end in ends)
        every = product(range(2 * reach + 2), repeat=len(symbols))
        return reach <= WIDEST and all(self.are_for(dict(zip(symbols, n, strict=True))) for n in every)

    def are_for(self, lengths: Mapping[str, int]) -> bool:
        """For these lengths; where an index is outside, an exception came before."""
        sizes = tuple(evaluate(d, lengths) for d in self.shape)
        known = np.zeros(sizes, bool)
        for part, is_stored in self.events:
            places = [(a.of(n), b.of(n)) for (a, b), n in zip(part or (), sizes, strict=part is not None)]
            if any(a < 0 or (b == a + 1 > n) for (a, b), n in zip(places, sizes, strict=False)):
                return True
            at = tuple(slice(a, max(a, b)) for a, b in places)
            if is_stored:
                known[at] = True
            elif not known[at].all():
                return False
        return True


class _Exchanged(Rebuild):
    """A graph in which loops fill new arrays."""

    def __init__(self, name: str, found: Mapping[Node, Sequence[_Exchange]]):
        super().__init__(name)
        self.found = found
        exchanges = [e for each in found.values() for e in each]
        self.dropped = {n for e in exchanges for n in e.copies}
        self.first = {e.first: e for e in exchanges}

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node in self.dropped:
            return inputs[:1]
        exchange = self.first.get(node)
        if exchange is None:
            return super().apply(node, inputs)
        before = inputs[0]
        if exchange.width:
            fresh = self.builder.apply(OPS["edges"], (before,), {"width": exchange.width}, name=before.name)
        else:
            sizes = tuple(map(self.builder.dim_value, before.type.shape))
            fresh = self.builder.apply(OPS["empty"], sizes, {"dtype": before.type.dtype}, name=before.name)
        return super().apply(node, (fresh, *inputs[1:]))

    def for_(self, node: For) -> Sequence[Value]:
        return self.stored_back(node, super().for_(node))

    def while_(self, node: While) -> Sequence[Value]:
        return self.stored_back(node, super().while_(node))

    def stored_back(self, loop: For | While, outputs: Sequence[Value]) -> Sequence[Value]:
        """What a loop gives, in the memory that it began with where others see that."""
        made = list(outputs)
        for exchange in self.found.get(loop, ()):
            k = exchange.carried
            if exchange.seen:
                home = self.value(loop.carry[k])
                made[k] = OPS["setitem"](home, made[k], view=whole(home.type.ndim))
        return made
