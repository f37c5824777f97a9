"""Lists that loops append one item to in every trip, as arrays: ``out.append(f(x[i], out[-1]))``.

How long such a list will be is known before the loop, and where each item goes. Loops over arrays are what everything
after this knows best: derivatives store and add without lists of their own, and steps are computed several at a time.
What other loops hand on, as ``row = new``, are arrays then, too: of lengths that may differ from trip to trip.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from srcgraph.ir import dims
from srcgraph.ir.closure import open_
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, For, Graph, Value, While
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType, ListType, Type
from srcgraph.ir.view import part
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.states import plain, trips
from srcgraph.opt.dce import dce
from srcgraph.opt.list_uses import Appended, ListUses, has_arrays, is_list


def appended(graph: Graph) -> Graph:
    """Make arrays of such lists, at every depth."""
    if not any(isinstance(n, For) and any(map(is_list, n.carry)) for n in all_nodes(graph)):
        return graph
    opened, excluded = open_(graph), set[Value]()
    while (found := ListUses(opened, excluded)).appended:
        try:
            return _with_arrays(graph.name, opened, found)
        except _OtherShapeError as other:
            excluded.add(other.list)
    return graph


def _with_arrays(name: str, opened: Graph, found: ListUses) -> Graph:
    made = _Arrays(name, found).run(opened)
    lengths_follow = found.handed_on or any(has_arrays(one.made.outputs[0]) for one in found.appended)
    return dce(_of_steady_lengths(made) if lengths_follow else made)


class _OtherShapeError(Exception):
    """An array that is put on a list is not known to be of the shape of the others."""

    def __init__(self, list_: Value):
        super().__init__(list_.name)
        self.list = list_


class _Arrays(Rebuild):
    """A graph with arrays in place of such lists."""

    def __init__(self, name: str, lists: ListUses):
        super().__init__(name)
        self.lists = lists
        self.found: dict[For, list[Appended]] = defaultdict(list)
        self.inside: dict[Value, tuple[Appended, int]] = {}
        """What such a list is in a trip, and how many items have been appended in it."""
        self.sizes: dict[Value, Value] = {}
        """How long it is after the loop."""
        self.given: set[Value] = set()
        """Those that have been made an array of their own."""
        for one in lists.appended:
            self.found[one.loop].append(one)
            self.inside |= dict.fromkeys(one.before, (one, 0)) | dict.fromkeys(one.after, (one, 1))

    def for_(self, node: For) -> Sequence[Value]:
        bounds = (self.value(node.start), self.value(node.stop), self.value(node.step))
        inits = list(self.values(node.carry))
        for one in self.found[node]:
            length = OPS["add"](trips(self.builder, *bounds), len(one.made.inputs))
            inits[one.position] = self.begun(one, OPS["add"](length, len(one.pushes)))
            self.sizes[node.outputs[one.position]] = length
        return self.for_over(node, bounds, inits)

    def begun(self, one: Appended, size: Value) -> Value:
        """The array as it is before the loop."""
        at, self.builder.origin = self.builder.origin, one.made.origin
        array = self.of_items(one.made, size)
        self.builder.origin = at
        return array

    def of_items(self, made: Apply, size: Value) -> Value:
        """An array of this size that begins with the items of a list."""
        item, b = made.outputs[0].type.item, self.builder
        sizes = [b.dim_value(dims.substitute(d, self.symbols)) for d in self.lists.shape(made.outputs[0])]
        array = b.apply(OPS["empty"], (size, *sizes), {"dtype": item.dtype}, name=made.outputs[0].name)
        for k, value in enumerate(self.values(made.inputs)):
            array = self.stored(made.outputs[0], array, b.const(k), value)
        return array

    def stored(self, old: Value, array: Value, place: Value, item: Value) -> Value:
        """The array in which an item is put; ``old`` is the list."""
        b, inner = self.builder, array.type.shape[1:]
        if item.type.shape != inner:
            raise _OtherShapeError(old)
        item = item if inner else b.cast(plain(b, item), array.type.dtype, False)
        return OPS["setitem"](array, item, place, view=part(1, len(inner)))

    def retyped(self, old: Value, before: Type, init: Type, sizes: dict[Dim, Dim]) -> Type:
        if not isinstance(old.type, ListType) or not isinstance(init, ArrayType):
            return super().retyped(old, before, init, sizes)
        return init if old in self.inside else replace(init, shape=(self.builder.new_size(), *init.shape[1:]))

    def length(self, old: Value, array: Value) -> Value:
        """How many items a list has."""
        if old in self.sizes:
            return self.sizes[old]
        if old not in self.inside:
            return self.builder.call_named("dim", array, axis=0)
        one, more = self.inside[old]
        index, start, step = (self.value(v) for v in (one.loop.body.params[0], one.loop.start, one.loop.step))
        past = OPS["sub"](index, start)
        if step.type.value.const != 1:
            past = OPS["floordiv"](past, step)
        return OPS["add"](past, len(one.made.inputs) + more)

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.outputs[0] in self.lists.members and node.op.name in ("list_new", "list_full", "list_of"):
            return (self.made(node, inputs),)
        old = node.inputs[0] if node.inputs else None
        if old is None or (old not in self.inside and old not in self.lists.members):
            return super().apply(node, inputs)
        array, *operands = inputs
        match node.op.name:
            case "list_len":
                return (self.length(old, array),)
            case "list_get":
                item = node.outputs[0].type
                found = OPS["getitem"](array, *operands, view=part(1, array.type.ndim - 1))
                return (found if found.type.ndim else self.builder.cast(found, item.dtype, item.weak),)
            case "list_push":
                length = self.length(old, array)
                if old not in self.inside:
                    self.sizes[node.outputs[0]] = OPS["add"](length, 1)
                return (self.stored(old, array, length, operands[0]),)
            case "list_set":
                return (self.stored(old, array, *operands),)
            case "list_copy":
                return (array,)
        return (self.array(node, array),)

    def made(self, node: Apply, inputs: tuple[Value, ...]) -> Value:
        """The array of a list that is made otherwise."""
        b, item = self.builder, node.outputs[0].type.item
        match node.op.name:
            case "list_new":
                return self.of_items(node, b.const(len(inputs)))
            case "list_full":
                count, x = inputs
                return OPS["full"](b.cast(plain(b, x), item.dtype, False), OPS["maximum"](count, 0))
        return b.cast(inputs[0], item.dtype, False)

    def array(self, node: Apply, array: Value) -> Value:
        """A list's numbers as an array of its own: what has been the list may be the first of these."""
        if array.type.dtype != node.attrs["dtype"]:
            return self.builder.cast(array, node.attrs["dtype"], False)
        if array in self.given:
            return self.builder.call_named("copy", array)
        self.given.add(array)
        return array


# -- lengths that stay -----------------------------------------------------------------------------------------


def _of_steady_lengths(graph: Graph) -> Graph:
    """The graph in which loops know of arrays that they hand on that each is as long as the one before."""
    opened = open_(graph)
    found: dict[str, Dim] = {}
    loops = [n for n in all_nodes(opened) if isinstance(n, For | While)]
    for loop in reversed(loops):  # inner ones first: what they leave is as long, too
        found |= _steady(loop, found)
    return _Steady(graph.name, found).run(opened) if found else graph


def _steady(loop: For | While, known: Mapping[str, Dim]) -> dict[str, Dim]:
    """What the lengths are that a loop's parameters, and its outputs, have symbols for; but for those ``known``."""
    params = loop.body.params[isinstance(loop, For) :]
    found: dict[str, Dim] = {}
    axes: list[tuple[str, Dim, Dim]] = []
    for init, param, result, out in zip(loop.carry, params, loop.body.results, loop.outputs, strict=False):
        if isinstance(param.type, ArrayType) and isinstance(result.type, ArrayType):
            for before, p, after, left in zip(*(v.type.shape for v in (init, param, result, out)), strict=True):
                if p.symbol and p != before:
                    found |= {symbol: before for symbol in (p.symbol, left.symbol) if symbol}
                    axes.append((p.symbol, before, after))
    wrong = {""}
    while wrong:
        wrong = {p for p, before, after in axes if p in found and not _is_equal(after, before, {**known, **found})}
        found = {symbol: dim for symbol, dim in found.items() if symbol not in wrong}
    return found


def _is_equal(after: Dim, before: Dim, known: Mapping[str, Dim]) -> bool:
    for _ in range(4):
        if after == before:
            return True
        after, before = dims.substitute(after, known), dims.substitute(before, known)
    return False


class _Steady(Rebuild):
    def __init__(self, name: str, found: Mapping[str, Dim]):
        super().__init__(name)
        self.found = found

    def retyped(self, old: Value, before: Type, init: Type, sizes: dict[Dim, Dim]) -> Type:
        made = super().retyped(old, before, init, sizes)
        if not isinstance(made, ArrayType) or not isinstance(init, ArrayType):
            return made
        assert isinstance(old.type, ArrayType)
        shapes = zip(old.type.shape, made.shape, init.shape, strict=True)
        return replace(made, shape=tuple(first if p.symbol in self.found else m for p, m, first in shapes))
