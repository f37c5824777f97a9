"""What loops do that can be undone exactly: the reverse sweep needs no record of it.

An integer to which something is added, a change of sign, ``not``, elements or variables that change places, an array
read backwards: from what a variable is after the last trip the reverse loop finds what it was before each. Sums of
floating-point numbers are not undone, since ``(x + c) - c`` is not ``x``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While
from srcgraph.ir.op import OPS, current_builder
from srcgraph.ir.types import BOOL, INT, ArrayType, ScalarType
from srcgraph.opt.ad.activity import loop_params

Look: TypeAlias = Callable[[Value], Value]
"""What stands for a forward value in the reverse sweep."""
Undo: TypeAlias = Callable[[Look, Value], Value]
"""From a result to the operand it was made from."""
Step: TypeAlias = tuple[Value, Undo, tuple[Value, ...]]
"""The operand, the way back to it, and the other operands that this needs."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way back from a value to ``start``, which it was made from; ``needs`` are read on it."""

    start: Value
    steps: tuple[Undo, ...] = ()
    needs: tuple[Value, ...] = ()

    def back(self, look: Look, value: Value) -> Value:
        for step in self.steps:
            value = step(look, value)
        return value


@dataclass(frozen=True, eq=False, slots=True)
class Cycle:
    """Variables of a loop of which those before a trip follow from those after it.

    Attributes
    ----------
    ways : dict
        By the number of a carry: from what it is after a trip to what some carry was before it.
    """

    loop: For | While
    ways: dict[int, Way]

    @property
    def before(self) -> list[Value]:
        params = loop_params(self.loop)
        return [params[k] for k in self.ways]

    @property
    def after(self) -> list[Value]:
        return [self.loop.body.results[k] for k in self.ways]

    @property
    def last(self) -> list[Value]:
        """After the loop."""
        return [self.loop.outputs[k] for k in self.ways]

    @property
    def back(self) -> list[tuple[Way, Value]]:
        """The ways, each from a value after a trip."""
        return list(zip(self.ways.values(), self.after, strict=True))

    @property
    def needs(self) -> list[Value]:
        """What the ways back need, besides the last values."""
        return list(dict.fromkeys(v for way in self.ways.values() for v in way.needs))


def cycles(loop: For | While, outside: frozenset[str]) -> list[Cycle]:
    """The variables of a loop that can be undone; sizes of arrays must be among ``outside``, known before it."""
    params, body = loop_params(loop), loop.body
    number, made = {p: k for k, p in enumerate(params)}, _made(body)
    found: dict[int, Way] = {}
    for k, param in enumerate(params):
        if _is_steady([param, body.results[k], loop.outputs[k]], outside):
            found_ways = (w for w in ways(body.results[k], made) if w.start in number)
            way = next((w for w in found_ways if w.steps or w.start is not param), None)
            if way is not None:
                found[k] = way
    out, seen = [], set[int]()
    for k in found:
        circle, at = [], k
        while at in found and at not in circle and at not in seen:
            circle.append(at)
            at = number[found[at].start]
        if circle and at == k:
            out.append(Cycle(loop, {j: found[j] for j in circle}))
            seen.update(circle)
    return out


def _made(graph: Graph) -> dict[Value, Node]:
    return {out: n for n in graph.nodes for out in n.outputs}


def _is_steady(values: list[Value], outside: frozenset[str]) -> bool:
    """Whether these are numbers of one kind, or arrays of one shape that is known outside the loop."""
    types = [v.type for v in values]
    if all(isinstance(t, ScalarType) for t in types):
        return len({(t.dtype, t.weak) for t in types}) == 1
    shaped = all(isinstance(t, ArrayType) and t == types[0] for t in types)
    return shaped and all(d.symbols() <= outside for d in types[0].shape)


def ways(value: Value, made: Mapping[Value, Node]) -> Iterator[Way]:
    """The ways back from a value to those that are not ``made`` in its region."""
    node = made.get(value)
    if node is None:
        yield Way(value)
        return
    for before, undo, needs in _steps(node, value, made):
        for way in ways(before, made):
            yield Way(way.start, (undo, *way.steps), (*needs, *way.needs))


def _steps(node: Node, value: Value, made: Mapping[Value, Node]) -> Iterator[Step]:
    match node:
        case If():
            yield from _through_branches(node, node.outputs.index(value))
        case Apply() if node.op.name in ("add", "sub") and value.type.dtype == INT:
            yield from _sums(node)
        case Apply() if node.op.name == "neg" or (node.op.name == "logical_not" and value.type.dtype == BOOL):
            yield node.inputs[0], lambda look, v, op=node.op: op(v), ()
        case Apply() if node.op.name == "copy":
            yield node.inputs[0], lambda look, v: v, ()
        case Apply() if node.op.name == "getitem" and _reads_backwards(node):
            again = {"view": node.attrs["view"]}
            yield (
                node.inputs[0],
                lambda look, v: current_builder().apply(node.op, (v, *map(look, node.inputs[1:])), again),
                node.inputs[1:],
            )
        case Apply() if node.op.name == "setitem":
            yield from _stores(node, made)
            yield from _overwritten(node, made)


def _through_branches(node: If, k: int) -> Iterator[Step]:
    """Both branches lead back to one value, by what is known outside them."""
    sides = []
    for graph in (node.then, node.orelse):
        local = _made(graph)
        sides.append([w for w in ways(graph.results[k], local) if local.keys().isdisjoint(w.needs)])
    for then in sides[0]:
        for orelse in sides[1]:
            if then.start is orelse.start:
                yield then.start, _branch(node.cond, then, orelse), (node.cond, *then.needs, *orelse.needs)


def _branch(cond: Value, then: Way, orelse: Way) -> Undo:
    def undo(look: Look, value: Value) -> Value:
        b = current_builder()
        sides = []
        for way in (then, orelse):
            region = b.new_region()
            with b.inside(region):
                sides.append((region, [way.back(look, value)]))
        return b.if_(look(cond), sides[0], sides[1], [then.start.name])[0]

    return undo


def _sums(node: Apply) -> Iterator[Step]:
    """``x + y``, ``x - y``: from either operand to the other."""
    x, y = node.inputs
    if node.op.name == "add":
        yield x, lambda look, v: OPS["sub"](v, look(y)), (y,)
        yield y, lambda look, v: OPS["sub"](v, look(x)), (x,)
    else:
        yield x, lambda look, v: OPS["add"](v, look(y)), (y,)
        yield y, lambda look, v: OPS["sub"](look(x), v), (x,)


def _reads_backwards(node: Apply) -> bool:
    """``x[::-1]``: the same again gives ``x``."""
    view, base = node.attrs["view"], node.inputs[0]
    if view.axes.count(-1) != 1 or view.order != tuple(range(base.type.ndim)):
        return False
    start, length = (v.type.value for v in node.inputs[1:])
    size = base.type.shape[view.axes.index(-1)]
    return set(view.axes) <= {-1, ":"} and length == size and start == size - 1


def _stores(node: Apply, made: Mapping[Value, Node]) -> Iterator[Step]:
    """``x[:] = y``, from which ``y`` is known; ``x[i], x[j] = x[j], x[i]``."""
    base, stored, *at = node.inputs
    view = node.attrs["view"]
    if set(view.axes) <= {":"} and view.order == tuple(range(base.type.ndim)) and stored.type == base.type:
        yield stored, lambda look, v: v, ()
    first = made.get(base)
    if not isinstance(first, Apply) or first.op is not node.op or first.attrs["view"] != view:
        return
    x, other, *elsewhere = first.inputs
    swapped = _is_part(other, x, view, at, made) and _is_part(stored, x, view, elsewhere, made)
    if swapped and set(view.axes) <= {":", "i"} and None not in view.order:
        yield x, lambda look, v: _swapped(node, look, v, at, elsewhere), (*at, *elsewhere)


def _overwritten(node: Apply, made: Mapping[Value, Node]) -> Iterator[Step]:
    """``x[i] = y``: the element that was there is put back, if it was read before."""
    base, _, *at = node.inputs
    view = node.attrs["view"]
    for old, reader in made.items():
        if isinstance(reader, Apply) and reader.op.name == "getitem" and reader.inputs == (base, *at):
            if reader.attrs["view"] == view:
                yield base, partial(_put_back, node, old, at), (old, *at)
                return


def _put_back(node: Apply, old: Value, at: list[Value], look: Look, value: Value) -> Value:
    inputs = (value, look(old), *map(look, at))
    return current_builder().apply(node.op, inputs, {"view": node.attrs["view"]}, name=node.outputs[0].name)


def _is_part(value: Value, x: Value, view: object, at: list[Value], made: Mapping[Value, Node]) -> bool:
    """Whether a value is the part of ``x`` at a place, or a copy of it."""
    node = made.get(value)
    while isinstance(node, Apply) and node.op.name == "copy":
        node = made.get(node.inputs[0])
    return (
        isinstance(node, Apply) and node.op.name == "getitem" and node.attrs["view"] == view and node.inputs == (x, *at)
    )


def _swapped(node: Apply, look: Look, x: Value, at: list[Value], elsewhere: list[Value]) -> Value:
    b, view = current_builder(), {"view": node.attrs["view"]}
    places = [tuple(map(look, p)) for p in (at, elsewhere)]
    parts = [b.apply(OPS["getitem"], (x, *p), view) for p in places]
    if parts[0].type.ndim:
        parts = [b.apply(OPS["copy"], (p,), {}) for p in parts]
    x = b.apply(node.op, (x, parts[0], *places[1]), view, name=node.outputs[0].name)
    return b.apply(node.op, (x, parts[1], *places[0]), view, name=node.outputs[0].name)
