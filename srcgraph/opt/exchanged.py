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
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeGuard

import numpy as np

from srcgraph.ir.closure import open_
from srcgraph.ir.dims import Dim, as_dim, evaluate, symbol, unclamped
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import split_operands, whole
from srcgraph.ir.walk import all_nodes, has_order, taken_over
from srcgraph.opt.fuse import reads
from srcgraph.opt.private import carried

WIDEST = 4
"""So many elements at an end of an axis are few."""
MOST_AXES = 3
_STORES = ("setitem", "add_at")
_SAME = ("with_shape", "assumed", "reshape_view")
"""What says more of an array, or sees it in another way, and is in its memory."""


def exchanged(graph: Graph) -> Graph:
    """Let such loops fill new arrays, at every depth."""
    if not any(isinstance(n, For | While) and _copies(n.body) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    found = dict(_found(opened, _Memory(opened)))
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
    first : Apply or For
        The store, or loop that stores, which goes into a new array.
    within : int
        Which of its operands, or carries, the array is.
    width : int
        How far from the ends of axes there is what is copied into that; 0 if nothing is.
    seen : bool
        Whether others see the array afterwards, so that in the end its own memory has to have the elements.
    """

    carried: int
    copies: list[Apply]
    first: Apply | For
    within: int
    width: int
    seen: bool


Found = tuple[Node, list[_Exchange]]


class _Memory:
    """Whose memory arrays are in.

    Attributes
    ----------
    own : set of Value
        Arrays that nobody else sees, of those that have been met.
    handed : set of Value
        Those that others see afterwards, in the memory of something that they gave, and what such are made of.
    """

    def __init__(self, graph: Graph):
        self.own: set[Value] = set()
        nodes = list(all_nodes(graph))
        self.handed = {*graph.results, *(v for n in nodes if _is_keep(n) for v in n.inputs)}
        size = -1
        while size != len(self.handed):
            size = len(self.handed)
            for node in reversed(nodes):
                self.handed |= {v for out, v in same_memory(node) if out in self.handed}


def _is_keep(node: Node) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op.name == "keep"


def same_memory(node: Node) -> Iterator[tuple[Value, Value]]:
    """Pairs of arrays of which the first may be in the memory of the second."""
    match node:
        case Apply(op=op) if op.kind == "update" or op.changes or op.name in _SAME:
            yield node.outputs[0], node.inputs[0]
        case For() | While():
            params, results = node.body.params[isinstance(node, For) :], node.body.results
            for out, init, param, result in zip(node.outputs, node.carry, params, results, strict=False):
                yield from ((out, result), (out, init), (param, result), (param, init))
        case If(then=then, orelse=orelse):
            for out, x, y in zip(node.outputs, then.results, orelse.results, strict=True):
                yield from ((out, x), (out, y))


def _found(graph: Graph, memory: _Memory) -> Iterator[Found]:
    """The loops, with what is exchanged in each."""
    own = memory.own
    for node in graph.nodes:
        if isinstance(node, For | While):
            params = node.body.params[isinstance(node, For) :]
            own |= {p for p, init in zip(params, node.carry, strict=True) if init in own}
            exchanges = [e for k in range(len(node.carry)) if (e := _exchange(node, k, memory)) is not None]
            if exchanges:
                yield node, exchanges
        for inner in node_graphs(node):
            yield from _found(inner, memory)
        own |= _owned(node, own)


def _owned(node: Node, own: AbstractSet[Value]) -> set[Value]:
    """Those of a node's arrays that are in memory of the function's own."""
    match node:
        case Apply(op=op):
            same = op.kind == "update" or op.changes or op.name in _SAME
            return set(node.outputs) if not same or node.inputs[0] in own else set()
        case For() | While():
            return {out for out, init in zip(node.outputs, node.carry, strict=True) if init in own}
        case If(then=then, orelse=orelse):
            pairs = zip(node.outputs, then.results, orelse.results, strict=True)
            return {out for out, x, y in pairs if x in own and y in own}
    return set()


# -- one loop ----------------------------------------------------------------------------------------------


def _exchange(loop: For | While, k: int, memory: _Memory) -> _Exchange | None:
    body, param = loop.body, loop.body.params[k + isinstance(loop, For)]
    if not isinstance(param.type, ArrayType) or param.type.ndim > MOST_AXES:
        return None
    copies = [n for n in _copies(body) if n.inputs[0] is param]
    stores = _stores(body, param, body.results[k])
    width = _width(stores[0].part) if copies and stores else None
    if width is None or not _is_only_read(body, {param, *(n.outputs[0] for n in copies)}, stores[0].node):
        return None
    tests = loop.cond.nodes if isinstance(loop, While) else ()
    own = loop.carry[k] in memory.own
    if not own and (any(map(has_order, tests)) or _may_raise(body, stores[0].node)):
        return None
    if _States(body, stores).are_stored_first():
        width = 0
    first = stores[0].node
    within = first.carry.index(param) if isinstance(first, For) else 0
    return _Exchange(k, copies, first, within, width, not own and loop.outputs[k] in memory.handed)


def _copies(body: Graph) -> list[Apply]:
    return [n for n in body.nodes if isinstance(n, Apply) and n.op.name == "copy"]


def _is_only_read(body: Graph, values: AbstractSet[Value], first: Node) -> bool:
    """Whether nothing but the first store changes the memory of an array and its copies, or hands it on."""
    others = (v for n in body.nodes if n is not first for v in taken_over(n))
    return values.isdisjoint(body.results) and values.isdisjoint(others)


def _may_raise(body: Graph, first: Node) -> bool:
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


# -- parts of arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _End:
    """Where a part begins or ends on an axis: so many elements from its start, or from where it stops."""

    from_stop: bool
    offset: int

    def of(self, size: int) -> int:
        return self.offset + size * self.from_stop


Part = tuple[tuple[_End, _End], ...]
"""Where a part of an array begins and ends on each axis."""
Run = tuple[Dim, Dim]


def _ends(run: Run, size: Dim) -> tuple[_End, _End] | None:
    """Where a run of places begins and ends; None if that is not known for all sizes."""
    start, stop = run
    low, high = (
        next((_End(bool(k), d.const) for k, d in ways if d.const is not None), None)
        for ways in (((0, start), (1, start - size)), ((1, stop - size), (0, stop)))
    )
    return None if low is None or high is None else (low, high)


def _part(node: Apply, first: int, runs: Mapping[str, Run]) -> Part | None:
    """What a read takes, or a store changes; None if it is not known.

    Parameters
    ----------
    first : int
        Where the operands of its view begin.
    runs : mapping
        The indices of loops that it is in, each of which has to be that of one axis.
    """
    view, shape, left = node.attrs["view"], node.inputs[0].type.shape, dict(runs)
    found = []
    for way, operands, size in zip(view.axes, split_operands(view, node.inputs[first:]), shape, strict=True):
        places = [v.type.value for v in operands]
        if None in places or way not in (":", "i", 1):
            return None
        if way == ":":
            run = (as_dim(0), size)
        elif way == 1:
            run = (places[0], places[0] + unclamped(places[1]))
        else:
            moving = [s for s in left if s in places[0].symbols()]
            start, stop = left.pop(moving[0]) if len(moving) == 1 else (as_dim(0), as_dim(1))
            beside = places[0] - symbol(moving[0]) if len(moving) == 1 else places[0]
            run = (start + beside, stop + beside)
        ends = _ends(run, size)
        if ends is None:
            return None
        found.append(ends)
    return None if left else tuple(found)


def _width(part: Part | None) -> int | None:
    """How far from the ends of axes a part begins and ends; None if it is not in the middle."""
    if part is None or any(a.from_stop or not b.from_stop for a, b in part):
        return None
    widths = [0, *(w for a, b in part for w in (a.offset, -b.offset))]
    return max(widths) if min(widths) >= 0 and max(widths) <= WIDEST else None


# -- what is stored before it is read ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Store:
    """A store, or a loop that stores.

    Attributes
    ----------
    out : Value
        The array then.
    part : Part or None
        All that it stores; None if that is not known.
    reads : bool
        Whether it may read the array, too.
    """

    node: Apply | For
    out: Value
    part: Part | None
    reads: bool


def _stores(body: Graph, param: Value, result: Value) -> list[_Store]:
    """The stores that make what a trip leaves of what it begins with; none if it is not made by stores alone."""
    makers = {v: n for n in body.nodes for v in n.outputs}
    found: list[_Store] = []
    while result is not param:
        maker = makers.get(result)
        if isinstance(maker, Apply) and maker.op.name in _STORES:
            reads = maker.op.name == "add_at"
            found.append(_Store(maker, result, None if reads else _part(maker, 2, {}), reads))
            result = maker.inputs[0]
        elif isinstance(maker, For):
            k = maker.outputs.index(result)
            part = _filled(maker, k)
            found.append(_Store(maker, result, part, part is None))
            result = maker.carry[k]
        else:
            return []
    return found[::-1]


def _filled(loop: For, k: int) -> Part | None:
    """What of an array a loop, with those inside it, stores, if it reads none of it."""
    runs: dict[str, Run] = {}
    while True:
        index, (start, stop, step) = loop.body.params[0], (v.type.value for v in (loop.start, loop.stop, loop.step))
        if loop.stops or step != 1 or start is None or stop is None or not index.type.value.symbol:
            return None
        runs[index.type.value.symbol] = (start, stop)
        param, result = loop.body.params[k + 1], loop.body.results[k]
        users = [n for n in loop.body.nodes if param in reads(n) or result in reads(n)]
        if len(users) != 1 or result not in users[0].outputs or loop.body.results.count(result) > 1:
            return None
        (node,) = users
        if isinstance(node, Apply):
            stores = node.op.name == "setitem" and node.inputs.index(param) == 0 and param not in node.inputs[1:]
            return _part(node, 2, runs) if stores else None
        inner = carried(node, param)
        if not isinstance(node, For) or inner is None or node.outputs[inner] is not result:
            return None
        loop, k = node, inner


class _States:
    """An array of which nothing is known before the first store, and what a trip does with it.

    Attributes
    ----------
    events : list of tuple
        In order: a part, and whether it is stored; else it is read. A part that is not known is None.
    """

    def __init__(self, body: Graph, stores: Sequence[_Store]):
        self.shape = stores[0].out.type.shape
        self.events: list[tuple[Part | None, bool]] = []
        others: list[Node | None] = [s.node for s in stores[1:]]
        for store, after in zip(stores, [*others, None], strict=True):
            self.events += [(None, False)] if store.reads else []
            self.events += [(store.part, True)] if store.part is not None else []
            self.events += [(self.read(n), False) for n in body.nodes if n is not after and store.out in reads(n)]
            self.events += [(None, False)] if isinstance(after, Apply) and store.out in after.inputs[1:] else []
        whole = tuple((_End(False, 0), _End(True, 0)) for _ in self.shape)
        self.events.append((whole, False))

    @staticmethod
    def read(node: Node) -> Part | None:
        return _part(node, 1, {}) if isinstance(node, Apply) and node.op.name == "getitem" else None

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
        self.first: dict[Node, list[_Exchange]] = {}
        for e in exchanges:
            self.first.setdefault(e.first, []).append(e)

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node in self.dropped:
            return inputs[:1]
        for exchange in self.first.get(node, ()):
            inputs = (self.fresh(exchange, inputs[0]), *inputs[1:])
        return super().apply(node, inputs)

    def fresh(self, exchange: _Exchange, before: Value) -> Value:
        """The array that is filled."""
        if exchange.width:
            return self.builder.apply(OPS["edges"], (before,), {"width": exchange.width}, name=before.name)
        sizes = tuple(map(self.builder.dim_value, before.type.shape))
        return self.builder.apply(OPS["empty"], sizes, {"dtype": before.type.dtype}, name=before.name)

    def for_(self, node: For) -> Sequence[Value]:
        loop = node
        for exchange in self.first.get(node, ()):
            loop = self.filling(loop, exchange)
        return self.stored_back(node, super().for_(loop))

    def filling(self, loop: For, exchange: _Exchange) -> For:
        """A loop that stores, beginning with a new array."""
        before = loop.carry[exchange.within]
        own = Value(before.name, before.type)
        self.env[own] = self.fresh(exchange, self.value(before))
        return replace(loop, carry=tuple(own if k == exchange.within else v for k, v in enumerate(loop.carry)))

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
