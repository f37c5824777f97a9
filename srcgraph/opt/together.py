"""Loops of derivatives that go back over independent trips become one with the loop that they go back over.

Where no trip depends on another, as in ``for i in range(n): total += root_of(x[i])``, the derivative of a trip can be
taken right after the trip: what it needs is still at hand, and nothing has to be kept for all trips. So the loop that
goes back is turned round, and fused, see `srcgraph.opt.fuse`; a tape then holds what one trip has put on it. Where
there is no tape, as the derivative computes anew what it needs, one loop computes it for both.

Only sums of derivatives, whose rounding is nobody's, are added up in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from srcgraph.ir.closure import close, free_values, open_
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.types import ArrayType, ListType, is_float, is_integer
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import Pair, inner_blocks, reads, reads_at_index, stores_at_index
from srcgraph.opt.licm import is_costly, is_pure
from srcgraph.opt.simplify import simplify


def together(graph: Graph) -> Graph:
    """Fuse such loops, at every depth."""
    if sum(isinstance(n, For) for n in all_nodes(graph)) < 2:
        return graph
    opened = open_(graph)
    fused = _block(opened)
    return graph if fused is opened else dce(simplify(close(fused)))


def _block(graph: Graph) -> Graph:
    graph = inner_blocks(graph, _block)
    while (nodes := _fused(graph)) is not None:
        graph = replace(graph, nodes=tuple(nodes))
    return graph


def _fused(graph: Graph) -> list[Node] | None:
    """The nodes of a block with a loop and the one that goes back over it as one."""
    nodes = graph.nodes
    makers = {v: k for k, n in enumerate(nodes) for v in n.outputs}
    for j, second in enumerate(nodes):
        if not isinstance(second, For) or has_order(second):
            continue
        read = {makers[v] for v in reads(second) if v in makers}
        alike = {i for i in range(j) if isinstance(first := nodes[i], For) and _do_the_same(first, second)}
        for i in sorted(read | alike, reverse=True):
            first = nodes[i]
            if isinstance(first, For) and _goes_back(first, second) and _is_independent(second, first):
                turned = replace(second, start=first.start, stop=first.stop, step=first.step)
                found = _Back([*nodes[:j], turned, *nodes[j + 1 :]], graph.results, i, j).fused()
                if found is not None:
                    return found
    return None


Readers: TypeAlias = Callable[[Value], Sequence[Node]]


class _Back(Pair):
    """A loop, and the one that goes back over it, turned round."""

    calm = True

    def passed_list(self, k: int) -> int | None:
        """Which carry of the second loop a list is that the first one has filled, if each trip takes back what it put
        there."""
        first, second, out = self.first, self.second, self.first.outputs[k]
        own = [j for j, v in enumerate(second.carry) if v is out]
        if len(own) != 1 or sum(out in reads(n) for n in self.nodes) != 1 or out in self.results:
            return None
        (j,) = own
        makers = {v: n for n in self.nodes for v in n.outputs}
        start = makers.get(first.carry[k])
        new = isinstance(start, Apply) and start.op.name == "list_new" and not start.inputs
        unread = not any(second.outputs[j] in reads(n) for n in self.nodes) and second.outputs[j] not in self.results
        if not new or not unread or out in free_values(second.body):
            return None
        there = _moves(first.body, first.body.params[k + 1], first.body.results[k], _Counts(first, None))
        back = _moves(second.body, second.body.params[j + 1], second.body.results[j], _Counts(first, second))
        return j if there is not None and back == _mirrored(there) else None


# -- which loops ------------------------------------------------------------------------------------


def _goes_back(first: For, second: For) -> bool:
    """Whether a loop has the indices of another one, from the last to the first."""
    if first.stops or second.stops or _known(first.step) != 1 or _known(second.step) != -1:
        return False
    bounds = [v.type.value for v in (first.start, first.stop, second.start, second.stop)]
    if any(b is None for b in bounds):
        return False
    start, stop, last, before = bounds
    return last == stop - 1 and before == start - 1


def _do_the_same(first: For, second: For) -> bool:
    """Whether both compute some costly number of their index and of what is there before: one could do it for both."""
    names = {n.op.name for n in second.body.nodes if isinstance(n, Apply) and _is_dear(n)}
    if not any(isinstance(n, Apply) and n.op.name in names and _is_dear(n) for n in first.body.nodes):
        return False
    numbers: dict[Any, int] = {}
    return not _costly(first, numbers).isdisjoint(_costly(second, numbers))


def _costly(loop: For, numbers: dict[Any, int]) -> set[int]:
    """Numbers of what a loop computes so; what is computed alike has one number."""
    known: dict[Value, Any] = {loop.body.params[0]: "index"}
    found: set[int] = set()
    for node in loop.body.nodes:
        if isinstance(node, Apply) and is_pure(node) and len(node.outputs) == 1:
            key = node.op.name, repr(sorted(node.attrs.items())), *(known.get(v, v) for v in node.inputs)
            known[node.outputs[0]] = number = numbers.setdefault(key, len(numbers))
            if _is_dear(node):
                found.add(number)
    return found


def _is_dear(node: Apply) -> bool:
    return node.op.kind == "elementwise" and is_costly(node) and is_float(node.outputs[0].type)


def _known(value: Value) -> Any:
    return value.type.value.const if is_integer(value.type) and value.type.value is not None else None


def _is_independent(loop: For, first: For) -> bool:
    """Whether the trips of a loop may come in the order of a first one, up to the rounding of derivatives."""
    index = loop.body.params[0]
    for k, (param, result) in enumerate(zip(loop.body.params[1:], loop.body.results, strict=False)):
        if isinstance(param.type, ListType):
            if loop.carry[k] in first.outputs:
                continue  # see `_Back.passed_list`
            return False  # filled elsewhere, in that loop's order
        if isinstance(param.type, ArrayType):
            alone = stores_at_index(loop, k) and reads_at_index(loop.body, param, index)
            if not alone and not _is_added_to(loop.body, param, result):
                return False
        elif not _is_added_to(loop.body, param, result):
            return False
    return True


def _is_added_to(graph: Graph, value: Value, result: Value) -> bool:
    """Whether all that a block does with a value is to add to it."""
    return not _is_read(graph, value, result) and added_states(graph, value, result) is not None


def _is_read(graph: Graph, value: Value, result: Value) -> bool:
    """Whether a block reads what it has made of a value, which is its sum so far."""
    return value is not result and (graph.results.count(result) > 1 or any(result in reads(n) for n in graph.nodes))


def added_states(graph: Graph, value: Value, result: Value, readers: Readers | None = None) -> set[Value] | None:
    """The states of a number, or an array, if all that a graph does with it is to add to it, in arithmetic of
    derivatives; ``readers`` gives the nodes that read a value, if that is known."""
    if not is_float(value.type):
        return None
    found = {value}
    while value is not result:
        users = [n for n in graph.nodes if value in reads(n)] if readers is None else readers(value)
        if len(users) != 1 or value in graph.results:
            return None
        (node,) = users
        match node:
            case Apply(op=op, inputs=inputs) if op.name in ("add", "sub", "add_at") and node.origin.by:
                if inputs.count(value) != 1 or (op.name != "add" and inputs[0] is not value):
                    return None
                if (op.name == "add_at") != bool(value.type.ndim):
                    return None
                value = node.outputs[0]
            case For(carry=carry, stops=False) if carry.count(value) == 1 and value not in free_values(node.body):
                k = carry.index(value)
                if value in (node.start, node.stop, node.step):
                    return None
                param, last = node.body.params[k + 1], node.body.results[k]
                inner = added_states(node.body, param, last)
                if inner is None or _is_read(node.body, param, last):
                    return None
                found |= inner
                value = node.outputs[k]
            case _:
                return None
        found.add(value)
    return found


# -- what is put on a tape and taken off ------------------------------------------------------------

Moves = tuple[Any, ...]
"""What happens to a list, in order: "push", "pop", or a number of trips and what happens in each."""


def _mirrored(moves: Moves) -> Moves:
    other = {"push": "pop", "pop": "push"}
    return tuple(other[m] if isinstance(m, str) else (m[0], _mirrored(m[1])) for m in reversed(moves))


class _Counts:
    """Numbers of trips, told apart by where they come from: those that the first loop has stored are what it stored."""

    def __init__(self, first: For, second: For | None):
        self.first, self.second = first, second
        bodies = [loop.body for loop in (first, second) if loop is not None]
        self.made = {v: n for g in bodies for n in all_nodes(g) for v in n.outputs}

    def key(self, value: Value) -> Any:
        value = self.bare(value)
        node = self.applied(value)
        if node is not None and node.op.name == "getitem" and node.inputs[0] in self.first.outputs:
            stored = self._stored(self.first.outputs.index(node.inputs[0]))
            index = None if self.second is None else self.second.body.params[0]
            if stored is not None and len(node.inputs) == 2 and node.inputs[1] is index:
                value = self.bare(stored)
        known = value.type.value if is_integer(value.type) else None
        return value if known is None or (known.const is None and value in self.made) else known

    def applied(self, value: Value, *names: str) -> Apply | None:
        """The use of an op, one of these if any are named, that makes a value."""
        node = self.made.get(value)
        return node if isinstance(node, Apply) and (not names or node.op.name in names) else None

    def bare(self, value: Value) -> Value:
        while (node := self.applied(value, "cast")) is not None:
            value = node.inputs[0]
        return value

    def _stored(self, k: int) -> Value | None:
        """What each trip of the first loop stores at its index, once."""
        body = self.first.body
        node = self.applied(body.results[k], "setitem")
        if node is None or node.inputs[0] is not body.params[k + 1] or node.attrs["view"].axes != ("i",):
            return None
        return node.inputs[1] if node.inputs[2] is body.params[0] else None

    def trips(self, node: For | While) -> Any:
        """How many trips an inner loop makes; None if that is not told."""
        if isinstance(node, While):
            return self._counted(node)
        if node.stops:
            return None
        if _known(node.start) == 0 and _known(node.step) == 1:
            return self.key(node.stop)
        if _known(node.stop) == -1 and _known(node.step) == -1:
            less = self.applied(node.start, "sub")
            if less is not None and _known(less.inputs[1]) == 1:
                return self.key(less.inputs[0])
        return None

    def _counted(self, loop: While) -> Any:
        """The carry that counts the trips of a loop."""
        if loop.stops:
            return None
        for k, (start, param) in enumerate(zip(loop.carry, loop.body.params, strict=False)):
            node = self.applied(loop.body.results[k], "add")
            if node is None or node.inputs[0] is not param or _known(node.inputs[1]) != 1:
                continue
            if _known(start) == 0:
                return self.key(loop.outputs[k])
        return None


def _moves(graph: Graph, value: Value, result: Value, counts: _Counts) -> Moves | None:
    """What happens to a list from one value to another; None if that is not told."""
    found: list[Any] = []
    while value is not result:
        users = [n for n in graph.nodes if value in reads(n)]
        if len(users) != 1 or value in graph.results:
            return None
        (node,) = users
        match node:
            case Apply(op=op, inputs=inputs) if op.name in ("list_push", "list_pop") and inputs[0] is value:
                if value in inputs[1:]:
                    return None
                found.append(op.name.removeprefix("list_"))
                value = node.outputs[0]
            case For() | While():
                if node.carry.count(value) != 1 or any(value in free_values(g) for g in node_graphs(node)):
                    return None
                k, trips = node.carry.index(value), counts.trips(node)
                if isinstance(node, While) and node.cond.params[k] in _read_in(node.cond):
                    return None
                param = node.body.params[k + isinstance(node, For)]
                inner = _moves(node.body, param, node.body.results[k], counts)
                if trips is None or inner is None:
                    return None
                found.append((trips, inner))
                value = node.outputs[k]
            case _:
                return None
    return tuple(found)


def _read_in(graph: Graph) -> Sequence[Value]:
    return [*graph.results, *(v for n in all_nodes(graph) for v in node_inputs(n))]
