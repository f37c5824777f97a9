"""Lists that a loop appends one item to in every trip, as arrays: ``out.append(f(x[i], out[-1]))``.

How long such a list will be is known before the loop, and where each item goes. Loops over arrays are what everything
after this knows best: derivatives store and add without lists of their own, and steps are computed several at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, Call, For, Graph, If, Node, Value, While, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType, ListType, ScalarType, Type
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.states import plain, trips
from srcgraph.opt.dce import dce

_READS = ("list_len", "list_get")


def appended(graph: Graph) -> Graph:
    """Make arrays of such lists, at every depth."""
    if not any(isinstance(n, For) and any(map(_is_list, n.carry)) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    found = list(_Search(opened).lists())
    return dce(_Arrays(graph.name, found).run(opened)) if found else graph


def _is_list(value: Value) -> bool:
    return isinstance(value.type, ListType) and isinstance(value.type.item, ScalarType)


@dataclass(frozen=True, slots=True)
class Appended:
    """A list that a loop carries, to which every trip appends.

    Attributes
    ----------
    loop : For
    position : int
        Of the list, among what the loop carries.
    made : Apply
        What makes it, before the loop.
    before, after : tuple of Value
        What it is in a trip before the item is appended, and after that.
    """

    loop: For
    position: int
    made: Apply
    before: tuple[Value, ...]
    after: tuple[Value, ...]


# -- which lists are such --------------------------------------------------------------------------------------


class _Search:
    """Who uses each value of a graph, and makes it."""

    def __init__(self, graph: Graph):
        self.users: dict[Value, list[Node | None]] = defaultdict(list)
        """None is for being a result."""
        self.makers: dict[Value, Apply] = {}
        self.loops: list[For] = []
        work = [graph]
        while work:
            inner = work.pop()
            for value in inner.results:
                self.users[value].append(None)
            for node in inner.nodes:
                work += node_graphs(node)
                self.note(node)

    def note(self, node: Node) -> None:
        for value in _used(node):
            self.users[value].append(node)
        if isinstance(node, Apply):
            self.makers.update(dict.fromkeys(node.outputs, node))
        elif isinstance(node, For):
            self.loops.append(node)

    def lists(self) -> Iterator[Appended]:
        for loop in self.loops:
            step = loop.step.type.value
            if loop.stops or loop.lanes or step is None or step.const is None:
                continue
            for k, first in enumerate(loop.carry):
                if _is_list(first) and (found := self.list(loop, k)) is not None:
                    yield found

    def list(self, loop: For, k: int) -> Appended | None:
        made, versions = self.makers.get(loop.carry[k]), self.versions(loop, k)
        if made is None or made.op.name != "list_new" or self.users[loop.carry[k]] != [loop] or versions is None:
            return None
        inside = [u for v in (*versions[0], *versions[1]) for u in self.users[v] if not _reads(u)]
        known = {None, *(self.makers[v] for v in (*versions[0][1:], *versions[1]))}
        if not known.issuperset(inside) or inside.count(None) != 1:
            return None
        # an array of all items is the list's own only after the loop: in a trip it has fewer
        after = all(_reads(u, *_READS, "list_array") for u in self.users[loop.outputs[k]])
        return Appended(loop, k, made, *versions) if after else None

    def versions(self, loop: For, k: int) -> tuple[tuple[Value, ...], tuple[Value, ...]] | None:
        """What the list is in a trip, one after the other; None if not just one item is appended in each."""
        way, current = [loop.body.results[k]], loop.body.params[k + 1]
        pushes = list[int]()
        while way[-1] is not current:
            made = self.makers.get(way[-1])
            if made is None or made.op.name not in ("list_push", "list_set") or made not in loop.body.nodes:
                return None
            if made.op.name == "list_push":
                pushes.append(len(way))
            way.append(made.inputs[0])
        if len(pushes) != 1:
            return None
        way, first = way[::-1], len(way) - pushes[0]
        return tuple(way[:first]), tuple(way[first:])


def _reads(node: Node | None, *names: str) -> bool:
    return isinstance(node, Apply) and node.op.name in (names or _READS)


def _used(node: Node) -> Sequence[Value]:
    match node:
        case Apply() | Call():
            return node.inputs
        case For():
            return (node.start, node.stop, node.step, *node.carry)
        case While():
            return node.carry
        case If():
            return (node.cond,)
    return ()


# -- what becomes of them --------------------------------------------------------------------------------------


class _Arrays(Rebuild):
    """A graph with arrays in place of such lists."""

    def __init__(self, name: str, found: Sequence[Appended]):
        super().__init__(name)
        self.found: dict[For, list[Appended]] = defaultdict(list)
        self.inside: dict[Value, tuple[Appended, int]] = {}
        """What such a list is in a trip, and how many items have been appended in it."""
        self.sizes: dict[Value, Value] = {}
        """How long it is after the loop."""
        self.given: set[Value] = set()
        """Those that have been made an array of their own."""
        for one in found:
            self.found[one.loop].append(one)
            self.inside |= dict.fromkeys(one.before, (one, 0)) | dict.fromkeys(one.after, (one, 1))

    def for_(self, node: For) -> Sequence[Value]:
        bounds = (self.value(node.start), self.value(node.stop), self.value(node.step))
        inits = list(self.values(node.carry))
        for one in self.found[node]:
            size = OPS["add"](trips(self.builder, *bounds), len(one.made.inputs))
            inits[one.position] = self.begun(one, size)
            self.sizes[node.outputs[one.position]] = size
        return self.for_over(node, bounds, inits)

    def begun(self, one: Appended, size: Value) -> Value:
        """The array as it is before the loop."""
        item, b = one.made.outputs[0].type.item, self.builder
        at, b.origin = b.origin, one.made.origin
        array = b.apply(OPS["empty"], (size,), {"dtype": item.dtype}, name=one.made.outputs[0].name)
        for k, value in enumerate(self.values(one.made.inputs)):
            array = self.stored(array, b.const(k), value)
        b.origin = at
        return array

    def stored(self, array: Value, place: Value, item: Value) -> Value:
        item = self.builder.cast(plain(self.builder, item), array.type.dtype, False)
        return OPS["setitem"](array, item, place, view=element(1))

    def retyped(self, param: Type, before: Type, init: Type, sizes: dict) -> Type:
        if isinstance(param, ListType) and isinstance(init, ArrayType):
            return init
        return super().retyped(param, before, init, sizes)

    def length(self, old: Value) -> Value:
        """How many items a list has."""
        if old in self.sizes:
            return self.sizes[old]
        one, more = self.inside[old]
        index, start, step = (self.value(v) for v in (one.loop.body.params[0], one.loop.start, one.loop.step))
        past = OPS["sub"](index, start)
        if step.type.value.const != 1:
            past = OPS["floordiv"](past, step)
        return OPS["add"](past, len(one.made.inputs) + more)

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        old = node.inputs[0] if node.inputs else None
        if old is None or (old not in self.sizes and old not in self.inside):
            return super().apply(node, inputs)
        array, *operands = inputs
        match node.op.name:
            case "list_len":
                return (self.length(old),)
            case "list_get":
                item = node.outputs[0].type
                found = OPS["getitem"](array, *operands, view=element(1))
                return (self.builder.cast(found, item.dtype, item.weak),)
            case "list_push":
                return (self.stored(array, self.length(old), operands[0]),)
            case "list_set":
                return (self.stored(array, *operands),)
        return (self.array(node, array),)

    def array(self, node: Apply, array: Value) -> Value:
        """A list's numbers as an array of its own: what has been the list may be the first of these."""
        if array.type.dtype != node.attrs["dtype"]:
            return self.builder.call_named("cast", array, dtype=node.attrs["dtype"])
        if array in self.given:
            return self.builder.call_named("copy", array)
        self.given.add(array)
        return array
