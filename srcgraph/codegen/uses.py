"""Who reads and who overwrites each value of an open graph, by region and position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from srcgraph.ir.closure import free_values
from srcgraph.ir.graph import Apply, Call, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.types import ArrayType, ListType, ScalarType, type_symbols

CHANGES = ("list_push", "list_pop", "list_insert", "list_take", "list_set")
"""Ops that change the list that is their first operand."""


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """A position in a region; ``parent`` is where the node that owns the region stands."""

    graph: Graph
    position: int
    parent: Place | None

    def depth(self) -> int:
        return 0 if self.parent is None else 1 + self.parent.depth()


@dataclass(frozen=True, slots=True)
class Use:
    """One reading of a value: by ``node`` at ``place``; node None is the region's result."""

    node: Node | None
    place: Place
    role: str = "operand"


@dataclass(slots=True)
class Uses:
    """Definitions, readings and overwritings of every value.

    Attributes
    ----------
    consumed : set of Value
        Arrays whose memory something wants to take over and change.
    """

    definition: dict[Value, Apply] = field(default_factory=dict)
    defined_at: dict[Value, Place] = field(default_factory=dict)
    reads: dict[Value, list[Use]] = field(default_factory=lambda: defaultdict(list))
    consumed: set[Value] = field(default_factory=set)
    symbols: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    owners: dict[str, Value] = field(default_factory=dict)
    """The integer that introduced each symbol."""
    overwrites: dict[Graph, list[tuple[int, Value]]] = field(default_factory=lambda: defaultdict(list))

    def count(self, value: Value) -> int:
        return len(self.reads[value])


def changes_first(node: Apply) -> bool:
    """Whether the result has the memory of the first operand."""
    return node.op.kind == "update" or node.op.changes or node.op.name in CHANGES


def analyse(graph: Graph) -> Uses:
    """Index an open graph."""
    uses = Uses()
    _index(graph, None, uses)
    _spread_demand(graph, uses)
    _overwritten(graph, uses)
    return uses


def _index(graph: Graph, parent: Place | None, uses: Uses) -> None:
    start = Place(graph, -1, parent)
    for param in graph.params:
        uses.defined_at[param] = start
        _mention(param, uses)
    for position, node in enumerate(graph.nodes):
        place = Place(graph, position, parent)
        roles = _roles(node)
        for value, role in zip(node_inputs(node), roles, strict=True):
            uses.reads[value].append(Use(node, place, role))
        if isinstance(node, Apply) and changes_first(node):
            uses.consumed.add(node.inputs[0])
        if isinstance(node, Call):
            uses.consumed.update(node.inputs[i] for i, _ in node.changes)
        for value in node.outputs:
            uses.defined_at[value] = place
            _mention(value, uses)
            if isinstance(node, Apply):
                uses.definition[value] = node
        for inner in node_graphs(node):
            _index(inner, place, uses)
    end = Place(graph, len(graph.nodes), parent)
    for value in graph.results:
        uses.reads[value].append(Use(None, end, "result"))


def _roles(node: Node) -> list[str]:
    match node:
        case If():
            return ["condition"] + ["capture"] * len(node.captures)
        case For():
            return ["bound"] * 3 + ["carry"] * len(node.carry) + ["capture"] * len(node.captures)
        case While():
            return ["carry"] * len(node.carry) + ["capture"] * len(node.captures)
    return ["operand"] * len(node_inputs(node))


def _mention(value: Value, uses: Uses) -> None:
    for name in type_symbols(value.type):
        uses.symbols[name] += 1
    if isinstance(value.type, ScalarType) and value.type.value is not None and value.type.value.symbol:
        uses.owners.setdefault(value.type.value.symbol, value)


def in_memory(value: Value) -> bool:
    return isinstance(value.type, ArrayType | ListType)


def _spread_demand(graph: Graph, uses: Uses) -> None:
    """What is consumed inside a loop or branch is consumed by what flows into it."""
    while True:
        before = len(uses.consumed)
        _demand(graph, uses.consumed)
        if len(uses.consumed) == before:
            return


def _demand(graph: Graph, consumed: set[Value]) -> None:
    for node in reversed(graph.nodes):
        for inner in node_graphs(node):
            _demand(inner, consumed)
        match node:
            case Apply() if node.op.name == "reshape_view" and node.outputs[0] in consumed:
                consumed.add(node.inputs[0])
            case If():
                for out, x, y in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
                    if out in consumed and in_memory(out):
                        consumed.update((x, y))
            case For() | While():
                params = carry_params(node)
                for k, out in enumerate(node.outputs):
                    if in_memory(out) and (out in consumed or params[k] in consumed):
                        consumed.update((node.carry[k], node.body.results[k], params[k]))


def is_repeated(place: Place, home: Graph) -> bool:
    """Whether a loop stands between a place and the graph in which something is defined."""
    while place.graph is not home and place.parent is not None:
        place, inner = place.parent, place.graph
        node = place.graph.nodes[place.position]
        if isinstance(node, For | While) and inner in node_graphs(node):
            return True
    return False


def carry_params(node: For | While) -> tuple[Value, ...]:
    first = 1 if isinstance(node, For) else 0
    return node.body.params[first : first + len(node.carry)]


def pushed(uses: Uses, value: Value) -> bool:
    """Whether items are appended to this very list, or to what a loop begins with it."""
    for use in uses.reads[value]:
        match use.node:
            case Apply(op=op, inputs=inputs) if op.name == "list_push" and inputs[0] is value:
                return True
            case For() | While() as loop:
                pairs = zip(loop.carry, carry_params(loop), strict=True)
                if any(c is value and pushed(uses, p) for c, p in pairs):
                    return True
    return False


def _overwritten(graph: Graph, uses: Uses) -> set[Value]:
    """Record at which positions values are overwritten; return the outer ones among them."""
    own = set(graph.params)
    outer: set[Value] = set()
    for position, node in enumerate(graph.nodes):
        taken: set[Value] = set()
        match node:
            case Apply():
                if changes_first(node):
                    taken.add(node.inputs[0])
            case If():
                taken |= _overwritten(node.then, uses) | _overwritten(node.orelse, uses)
            case For() | While():
                for inner in node_graphs(node):
                    _overwritten(inner, uses)
                params = carry_params(node)
                taken |= {c for c, p in zip(node.carry, params, strict=True) if p in uses.consumed and in_memory(c)}
            case Call():
                taken.update(node.inputs[i] for i, _ in node.changes)
        uses.overwrites[graph].extend((position, v) for v in taken)
        own.update(node.outputs)
        outer |= taken - own
    return outer


def reads_from_outside(graphs: Sequence[Graph]) -> set[Value]:
    """The outer values inner graphs read."""
    return {v for g in graphs for v in free_values(g)}
