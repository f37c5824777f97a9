"""Which lists of a graph could as well be arrays: how long each is, is known where it is made.

They come from loops that append one item in every trip, and all that is done with them is done with arrays, too: items
are read and changed, and loops and ways hand them on. Such lists belong together: either all are arrays or none. Items
that are arrays are all of one shape, known of the arguments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, Call, For, Graph, If, Node, Value, While, node_graphs
from srcgraph.ir.types import ArrayType, ListType, type_symbols

_READS = ("list_len", "list_get", "list_array")
_MAKERS = ("list_new", "list_full", "list_of")
_CHANGES = ("list_set", "list_copy")


def is_list(value: Value) -> bool:
    return isinstance(value.type, ListType)


def has_arrays(value: Value) -> bool:
    """Whether a list is one of arrays."""
    return is_list(value) and isinstance(value.type.item, ArrayType)


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
    pushes : tuple of Apply
        What is appended once the loop is over.
    """

    loop: For
    position: int
    made: Apply
    before: tuple[Value, ...]
    after: tuple[Value, ...]
    pushes: tuple[Apply, ...] = ()

    @property
    def left(self) -> list[Value]:
        """What it is after the loop, in the end complete."""
        return [self.loop.outputs[self.position], *(push.outputs[0] for push in self.pushes)]


class ListUses:
    """Who uses each list of an open graph, and makes it.

    Attributes
    ----------
    appended : list of Appended
        Those that are to be arrays.
    members : set of Value
        All lists that are to be arrays, but for what these are in a trip that appends.
    handed_on : bool
        Whether a loop hands one of them on.
    """

    def __init__(self, graph: Graph, excluded: Collection[Value] = ()):
        self.excluded = excluded
        """Lists of arrays that turned out to have some of other shapes."""
        self.users: dict[Value, list[Node | None]] = defaultdict(list)
        """None is for being a result."""
        self.makers: dict[Value, Apply] = {}
        self.blocks: dict[Node, Graph] = {}
        self.nodes: list[Node] = []
        work = [graph]
        while work:
            inner = work.pop()
            for value in inner.results:
                self.users[value].append(None)
            for node in inner.nodes:
                work += node_graphs(node)
                self.blocks[node] = inner
                self.note(node)
        self.families = _Families()
        self.known = frozenset().union(*(type_symbols(p.type) for p in graph.params))
        self.shapes: dict[Value, tuple[Dim, ...] | None] = {}
        """The shape of the items of each family of lists of arrays; None if they differ."""
        self.choose(graph)

    def note(self, node: Node) -> None:
        self.nodes.append(node)
        for value in _used(node):
            self.users[value].append(node)
        if isinstance(node, Apply):
            self.makers.update(dict.fromkeys(node.outputs, node))

    def choose(self, graph: Graph) -> None:
        found = [one for node in self.nodes if isinstance(node, For) for one in self.lists(node)]
        inside = {v for one in found for v in (*one.before, *one.after, *one.made.outputs)}
        links = [link for node in self.nodes for link in self.links(node, inside)]
        for made, given in links:
            for other in (*made, *given):
                self.families.join(made[0], other)
        self.whole = {v: one.left[-1] for one in found for v in (*one.before, *one.after, *one.left, *one.made.outputs)}
        self.note_shapes()
        explained = {v for made, _ in links for v in made} | {one.left[-1] for one in found}
        parts = {v for one in found for v in one.left[:-1]}
        lists = {v for v in (*self.users, *explained) if is_list(v)} - inside - parts
        bad = {self.families.of(v) for v in lists if not self.is_fine(v, explained)}
        bad |= {self.families.of(v) for v in (*graph.params, *graph.results) if is_list(v)}
        bad |= {family for family in map(self.family, filter(has_arrays, lists)) if not self.shapes.get(family)}
        bad |= {*map(self.family, self.excluded)}
        self.appended = [one for one in found if self.families.of(one.left[-1]) not in bad]
        wanted = {self.families.of(one.left[-1]) for one in self.appended}
        self.members = {v for v in lists if self.families.of(v) in wanted} | {
            v for one in self.appended for v in one.left
        }
        self.handed_on = any(
            v in self.members for node in self.nodes if isinstance(node, For | While) for v in node.carry
        )

    def family(self, value: Value) -> Value:
        """Stands for the family of a list, or of what it is in a trip that appends."""
        return self.families.of(self.whole.get(value, value))

    def note_shapes(self) -> None:
        """Note what arrays are put on each family of lists."""
        for node in self.nodes:
            if isinstance(node, Apply) and node.outputs and has_arrays(node.outputs[0]):
                items = node.inputs if node.op.name == "list_new" else node.inputs[-1:]
                known = _is(node, "list_new", "list_push", "list_set", "list_copy")
                for item in items if node.op.name != "list_copy" else ():
                    self.note_shape(self.family(node.outputs[0]), item.type.shape if known else None)

    def note_shape(self, family: Value, shape: tuple[Dim, ...] | None) -> None:
        if shape is None:
            self.shapes[family] = None
        elif all(d.symbols() <= self.known for d in shape):  # else it is seen once the others are what they will be
            self.shapes[family] = shape if self.shapes.get(family, shape) == shape else None

    def shape(self, value: Value) -> tuple[Dim, ...]:
        """The shape of the items of a list that is to be an array."""
        return self.shapes.get(self.family(value)) or ()

    def is_fine(self, value: Value, explained: set[Value]) -> bool:
        """Whether a list is made, and used, as arrays may be."""
        made = self.makers.get(value)
        if value not in explained and (made is None or made.op.name not in _MAKERS):
            return False
        return all(not isinstance(u, Apply | Call) or self.takes(u, value) for u in self.users[value])

    def takes(self, user: Node, value: Value) -> bool:
        return _is(user, *_READS, *_CHANGES) and [*user.inputs].count(value) == 1 and user.inputs[0] is value

    def links(self, node: Node, inside: set[Value]) -> Iterator[tuple[Sequence[Value], Sequence[Value]]]:
        """The lists that are one variable: those that a node makes, and those that it makes them of."""
        match node:
            case Apply() if node.op.name in _CHANGES and node.outputs[0] not in inside:
                yield node.outputs, node.inputs[:1]
            case If():
                for out, *ways in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
                    if is_list(out):
                        yield [out], ways
            case For() | While():
                params = node.body.params[isinstance(node, For) :]
                for k, first in enumerate(node.carry):
                    if is_list(first) and params[k] not in inside:
                        test = [node.cond.params[k]] if isinstance(node, While) else []
                        yield [params[k], node.outputs[k], *test], [first, node.body.results[k]]

    # -- what loops append to ----------------------------------------------------------------------------------

    def lists(self, loop: For) -> Iterator[Appended]:
        step = loop.step.type.value
        if not loop.stops and not loop.lanes and step is not None and step.const is not None:
            for k, first in enumerate(loop.carry):
                if is_list(first) and (found := self.list(loop, k)) is not None:
                    yield replace(found, pushes=tuple(self.pushes(loop, k)))

    def list(self, loop: For, k: int) -> Appended | None:
        made, versions = self.makers.get(loop.carry[k]), self.versions(loop, k)
        if made is None or made.op.name != "list_new" or self.users[loop.carry[k]] != [loop] or versions is None:
            return None
        # an array of all items is the list's own only after the loop: in a trip it has fewer
        inside = [u for v in (*versions[0], *versions[1]) for u in self.users[v] if not _is(u, "list_len", "list_get")]
        known = {None, *(self.makers[v] for v in (*versions[0][1:], *versions[1]))}
        if not known.issuperset(inside) or inside.count(None) != 1:
            return None
        return Appended(loop, k, made, *versions)

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

    def pushes(self, loop: For, k: int) -> Iterator[Apply]:
        """What is appended after the loop and before anything else is done, but that items are read."""
        current = loop.outputs[k]
        while True:
            others = [u for u in self.users[current] if not _is(u, "list_len", "list_get")]
            if len(others) != 1 or not _is(others[0], "list_push") or self.blocks[others[0]] is not self.blocks[loop]:
                return
            push = others[0]
            if push.inputs[0] is not current:
                return
            yield push
            current = push.outputs[0]


class _Families:
    """Sets of values that grow together."""

    def __init__(self) -> None:
        self.parents: dict[Value, Value] = {}

    def of(self, value: Value) -> Value:
        while (parent := self.parents.get(value, value)) is not value:
            self.parents[value] = self.parents.get(parent, parent)
            value = parent
        return value

    def join(self, one: Value, other: Value) -> None:
        self.parents[self.of(one)] = self.of(other)


def _is(node: Node | None, *names: str) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op.name in names


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
