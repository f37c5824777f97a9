"""Arrays of which a loop needs two neighbouring elements at a time are carried as one number.

``t[i] = 0.5 * t[i - 1] + x[i]`` needs the element of the trip before. If nobody reads the array afterwards, that number
is carried and there is no array. In the reverse sweep of a recurrence it is the array of cotangents that goes.

References
----------
D. Callahan, S. Carr, K. Kennedy, "Improving register allocation for subscripted variables", PLDI 1990: scalar
replacement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Extra, Rebuild
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_graphs, all_nodes
from srcgraph.opt.dce import dce


def states(graph: Graph) -> Graph:
    """Carry numbers in place of arrays, and drop these."""
    if not any(isinstance(n, For) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    found = _found(opened)
    return dce(_States(graph.name, found).run(opened)) if found else graph


@dataclass(frozen=True, slots=True)
class State:
    """An array that a loop can carry as one number.

    Attributes
    ----------
    position : int
        Among what the loop carries.
    first : int
        Which element a trip has from the one before: so many steps after the loop's index.
    at : dict
        For each node that reads or changes the array: which element, counted so.
    before : Value
        What the first trip has; for arrays that start with equal elements it is that.
    fill : Value or None
        What the other element is before it is stored, if the array starts with equal elements.
    """

    position: int
    first: int
    at: dict[Node, int]
    before: Value
    fill: Value | None


def _found(graph: Graph) -> dict[For, list[State]]:
    read = {v for g in all_graphs(graph) for v in (*g.results, *(v for n in g.nodes for v in node_inputs(n)))}
    makers = {v: n for n in all_nodes(graph) for v in n.outputs}
    out: dict[For, list[State]] = {}
    for loop in all_nodes(graph):
        if isinstance(loop, For) and not loop.stops and (step := _literal(loop.step)) in (1, -1):
            unread = [k for k, v in enumerate(loop.outputs) if v not in read and _is_vector(v)]
            states = [s for k in unread if (s := _state(loop, k, step, makers)) is not None]
            if states:
                out[loop] = states
    return out


def _literal(value: Value) -> int | None:
    known = getattr(value.type, "value", None)
    return None if known is None else known.const


def _is_vector(value: Value) -> bool:
    return isinstance(value.type, ArrayType) and value.type.ndim == 1


def _state(loop: For, k: int, step: int, makers: dict[Value, Node]) -> State | None:
    uses = _uses(loop, k)
    if uses is None:
        return None
    index = loop.body.params[0].type.value
    at: dict[Node, int] = {}
    for node in uses:
        place = getattr(node.inputs[-1].type, "value", None)
        away = None if place is None else (place - index).const
        if away is None:
            return None
        at[node] = away * step
    if not at or max(at.values()) - min(at.values()) != 1:
        return None
    first = min(at.values())
    content = _content(loop, k, makers, first, step)
    if content is None or (content[1] is None and not _stored_first(uses, at, first + 1)):
        return None
    return State(k, first, at, *content)


def _uses(loop: For, k: int) -> list[Apply] | None:
    """The nodes that read or change one element of an array, in order; None if anything else is done with it."""
    current, out = loop.body.params[k + 1], []
    every = {current}
    for node in loop.body.nodes:
        mine = [v for v in node_inputs(node) if v in every]
        if any(v in every for g in node_graphs(node) for v in _all_read(g)):
            return None
        if not mine:
            continue
        if not isinstance(node, Apply) or mine != [current] or node.inputs[0] is not current:
            return None
        if node.op.name not in ("getitem", "setitem", "add_at") or node.attrs["view"] != element(1):
            return None
        out.append(node)
        if node.op.kind == "update":
            current = node.outputs[0]
            every.add(current)
    return out if loop.body.results.count(current) == 1 and loop.body.results[k] is current else None


def _all_read(graph: Graph) -> Iterator[Value]:
    for inner in all_graphs(graph):
        yield from inner.results
        for node in inner.nodes:
            yield from node_inputs(node)


def _stored_first(uses: Sequence[Apply], at: dict[Node, int], place: int) -> bool:
    """Whether the first use of an element is a store."""
    return next((n.op.name == "setitem" for n in uses if at[n] == place), True)


def _content(loop: For, k: int, makers: dict[Value, Node], first: int, step: int) -> tuple[Value, Value | None] | None:
    """What the element is that the first trip has from before, and what all others are, if they are equal."""
    start, node = loop.start.type.value, makers.get(loop.carry[k])
    before: Value | None = None
    while isinstance(node, Apply) and node.op.name == "setitem" and node.attrs["view"] == element(1) and step == 1:
        place, begin = _literal(node.inputs[2]), None if start is None else start.const
        if place is None or begin is None or place > begin + first:
            return None
        before = node.inputs[1] if before is None and place == begin + first else before
        node = makers.get(node.inputs[0])
    if not isinstance(node, Apply) or node.op.name not in ("full", "empty"):
        return None
    fill = node.inputs[0] if node.op.name == "full" else None
    before = fill if before is None else before
    wanted = ScalarType(loop.carry[k].type.dtype)
    return (
        None
        if before is None or before.type != wanted or (fill is not None and fill.type != wanted)
        else (before, fill)
    )


class _Carried(Extra):
    """The number that is carried in place of an array."""

    def __init__(self, work: _States, loop: For, state: State):
        super().__init__()
        self.work, self.state = work, state
        name = loop.carry[state.position].name
        self.names = [name]
        self.inits = [work.value(state.before)]
        self.elements: dict[int, Value] = {}
        """What the elements are at this point of the trip."""

    def enter(self) -> None:
        kind = self.inits[0].type
        param = self.work.builder.fresh(self.names[0], kind)
        self.params = [param]
        self.elements = {self.state.first: param}
        if self.state.fill is not None:
            self.elements[self.state.first + 1] = self.work.value(self.state.fill)

    def finish(self, nodes: Sequence[Node], stop: Value | None) -> None:
        last = self.elements.get(self.state.first + 1)
        self.results = [self.params[0] if last is None else last]

    def run(self, node: Apply, stored: Value | None) -> Value:
        """What a node reads, or stores, adding to what is there."""
        place = self.state.at[node]
        if stored is not None:
            stored = self.work.builder.cast(stored, self.inits[0].type.dtype)
            before = self.elements.get(place)
            adds = node.op.name == "add_at" and before is not None
            self.elements[place] = OPS["add"](before, stored) if adds else stored
        return self.elements[place]


class _Several(Extra):
    """The carries of all the arrays of a loop."""

    def __init__(self, parts: Sequence[_Carried]):
        super().__init__()
        self.parts = parts
        self.names = [n for p in parts for n in p.names]
        self.inits = [v for p in parts for v in p.inits]

    def enter(self) -> None:
        for part in self.parts:
            part.enter()
        self.params = [v for p in self.parts for v in p.params]

    def finish(self, nodes: Sequence[Node], stop: Value | None) -> None:
        for part in self.parts:
            part.finish(nodes, stop)
        self.results = [v for p in self.parts for v in p.results]


class _States(Rebuild):
    """Builds the loops with numbers in place of arrays; the arrays are carried on, unread."""

    def __init__(self, name: str, found: dict[For, list[State]]):
        super().__init__(name)
        self.found = found
        self.carried: dict[Node, _Carried] = {}

    def extra(self, node: For | While) -> Extra:
        parts = [_Carried(self, node, s) for s in self.found.get(node, ())] if isinstance(node, For) else []
        self.carried.update((n, part) for part in parts for n in part.state.at)
        return _Several(parts) if parts else Extra()

    def node(self, node: Node) -> Sequence[Value]:
        part = self.carried.get(node)
        if part is None or not isinstance(node, Apply):
            return super().node(node)
        if node.op.name == "getitem":
            return (part.run(node, None),)
        made = super().node(node)
        part.run(node, self.value(node.inputs[1]))
        return made
