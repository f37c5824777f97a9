"""What the reverse sweep needs of the forward one, and the cheapest way to have it.

Values of the outermost region are there anyway. For a value inside loops there are five ways: it
follows from the trip (indices, why a loop stopped), it is still in an array after the loops (see
`srcgraph.opt.ad.lasting`), it is recomputed from others, it follows from what it is after the trip (see
`srcgraph.opt.ad.inverse`), or it is saved. The saved set is the vertex cut with the fewest bytes per
loop entry between what must be saved and what is needed, over the whole nest at once; among equal ones,
the cut nearest to the needs, which recomputes least.

References
----------
Min-cut rematerialisation as in He and Yu, "Transcending runtime-memory tradeoffs in checkpointing by
being fusion aware", MLSys 2023; here over nested loops, weighted by trips.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from srcgraph.errors import Loc
from srcgraph.ir.closure import free_values
from srcgraph.ir.dims import Dim, as_dim, evaluate, unclamped
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.types import ArrayType, ListType, ScalarType
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.again import arrays_of, gathers, is_cheap_again
from srcgraph.opt.ad.inverse import Cycle, cycles
from srcgraph.opt.ad.lasting import lasting
from srcgraph.opt.ad.mincut import INFINITE, sink_side
from srcgraph.opt.licm import is_costly
from srcgraph.opt.marks import is_mark
from srcgraph.opt.modes import current_mode

GUESS = 16
"""What an unknown size or number of trips is taken to be when costs are compared."""
NO_BYTES = as_dim(0)
FEW = 4
"""So many elements are few."""


@dataclass(frozen=True, eq=False, slots=True)
class Home:
    """A region of the forward graph: the node that owns it, its graph, and the region around it."""

    graph: Graph
    node: Node | None
    parent: Home | None

    @property
    def name(self) -> str:
        return self.graph.name

    def chain(self) -> list[Home]:
        """This region and those around it, outermost first."""
        return [] if self.parent is None else [*self.parent.chain(), self]

    @property
    def loop(self) -> Node | None:
        """The nearest loop around."""
        inner = (h.node for h in reversed(self.chain()))
        return next((node for node in inner if isinstance(node, For | While)), None)

    @property
    def function(self) -> str:
        """The name of the function that this is part of; '' in the outermost graph."""
        chain = self.chain()
        return chain[0].name if chain and isinstance(chain[0].node, Define) else ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A row of the tape table: how the reverse sweep comes by a value of the forward one.

    Attributes
    ----------
    name : str
        The user's variable, or the expression as the user wrote it.
    loc : Loc or None
        Where it is computed.
    how : str
        ``variable``, ``array``, ``list`` or ``blocks`` (arrays on a list) if it is saved, ``states`` if it is so in
        some trips, ``recomputed``, ``undone``, ``nothing`` if it is there anyway, or ``forward`` where nothing goes
        back over it.
    reason : str
        Why, in the user's words.
    bytes : Dim
        What a trip of the innermost loop saves.
    trips : tuple of Dim
        How often each loop around it runs, outermost first; ``trips(line 22)`` where no size tells.
    """

    name: str
    loc: Loc | None
    how: str
    reason: str
    bytes: Dim = NO_BYTES
    trips: tuple[Dim, ...] = ()


@dataclass(slots=True)
class Residuals:
    """What to save and what to recompute.

    Attributes
    ----------
    homes : dict
        By region name.
    saved : list
        Values to save, in order of definition.
    wanted : dict
        By region name: the values of that region the reverse code must have, in order of definition.
    read : list
        The values that reverse code reads itself, in order of definition, those outside loops included.
    sources : dict
        What a value inside a loop is recomputed from there, where it can be.
    """

    homes: dict[str, Home]
    saved: list[Value]
    wanted: dict[str, list[Value]]
    home_of: dict[Value, Home] = field(default_factory=dict)
    definition: dict[Value, Apply | If] = field(default_factory=dict)
    read: list[Value] = field(default_factory=list)
    sources: dict[Value, Sequence[Value]] = field(default_factory=dict)
    calls: Mapping[Value, Call] = field(default_factory=dict)
    """By the first result of a reverse call, the forward one."""
    asked: frozenset[Value] = frozenset()
    """What the program says to save."""
    undone: dict[str, list[Cycle]] = field(default_factory=dict)
    """By the name of a loop's body: its variables that the reverse sweep finds from what they are after a trip."""

    def passed(self, function: str) -> list[int]:
        """The parameters of a function that its adjoint is given, too: by position."""
        home, wanted, saved = self.homes[function], self.wanted.get(function, ()), set(self.saved)
        return [k for k, p in enumerate(home.graph.params) if p in wanted and p not in saved]


def is_reverse(graph: Graph) -> bool:
    return graph.name.endswith("r") and "@" in graph.name


def choose(graph: Graph, calls: Mapping[Value, Call] = MappingProxyType({})) -> Residuals:
    """Decide, for an open graph that holds both sweeps, how each value the reverse one reads is had.

    ``calls`` are the forward calls that are reversed, by the first result of the reverse one.
    """
    work = _Work(graph, calls)
    read = work.read_in_reverse()
    needed = {v for v in (*read, *graph.results) if work.nested(v)}
    saved = work.cut(needed)
    return work.finished(read, needed, saved)


class _Work:
    def __init__(self, graph: Graph, calls: Mapping[Value, Call]):
        self.graph = graph
        self.calls = calls
        self.given: dict[Value, list[Value]] = {}
        """For a parameter of a function: what reversed calls pass for it."""
        self.homes: dict[str, Home] = {}
        self.home_of: dict[Value, Home] = {}
        self.definition: dict[Value, Node] = {}
        self.free: set[Value] = set()
        self.asked: set[Value] = set()
        """What the program says to save, rather than to compute again."""
        self.order: dict[Value, int] = {}
        self.uses = Counter(v for n in all_nodes(graph) for v in node_inputs(n))
        self.filled: set[Value] = set()
        """New arrays, and what they are after stores, where nothing else has read them in between."""
        self.top = top_symbols(graph)
        self.index(graph, None, None)
        self.asked -= self.free
        self.cycles: dict[Value, Cycle] = {}
        """For a loop's variable, before or after a trip: how it can be undone."""
        self.first: dict[Cycle, list[Value]] = {}
        """What the reverse sweep must have in order to undo."""
        self.stand_ins: dict[Value, Value] = {}
        """For what cannot be recomputed where something is undone that it depends on: to the value."""
        self.find_cycles()
        for call in calls.values():
            for param, value in zip(self.homes[call.callee].graph.params, call.inputs, strict=True):
                self.given.setdefault(param, []).append(value)

    # -- the forward graph ------------------------------------------------------------------------

    def index(self, graph: Graph, node: Node | None, parent: Home | None) -> None:
        home = Home(graph, node, parent)
        self.homes[graph.name] = home
        for value in graph.params:
            self.place(value, home)
        if isinstance(node, For):
            self.free.add(graph.params[0])
        for inner in graph.nodes:
            for value in inner.outputs:
                self.place(value, home)
                self.definition[value] = inner
            if self.fills(inner):
                self.filled.update(inner.outputs)
            if is_mark(inner):
                self.asked.update(inner.inputs)
            for g in node_graphs(inner):
                if not is_reverse(g):
                    self.index(g, inner, home)
            if parent is None and isinstance(inner, For | While):
                self.definition.update(lasting(graph, [inner]))

    def place(self, value: Value, home: Home) -> None:
        self.home_of[value] = home
        self.order[value] = len(self.order)

    def fills(self, node: Node) -> bool:
        """Whether a node makes an array, or stores into one that is only being filled."""
        if not isinstance(node, Apply) or node.op.name != "setitem":
            return isinstance(node, Apply) and node.op.name == "empty"
        return node.inputs[0] in self.filled and self.uses[node.inputs[0]] == 1

    def nested(self, value: Value) -> bool:
        """Whether a value is inside a loop or branch of the forward sweep."""
        home = self.home_of.get(value)
        return home is not None and home.parent is not None

    def is_literal(self, value: Value) -> bool:
        node = self.definition.get(value)
        return isinstance(node, Apply) and node.op.name == "const"

    def read_in_reverse(self) -> set[Value]:
        """The forward values that reverse code reads from outside itself."""
        graphs = (g for node in all_nodes(self.graph) for g in node_graphs(node) if is_reverse(g))
        return {v for g in graphs for v in free_values(g) if v in self.home_of and not self.is_literal(v)}

    # -- undoing ------------------------------------------------------------------------------------

    def find_cycles(self) -> None:
        reversed_ = {g.name for n in all_nodes(self.graph) for g in node_graphs(n) if is_reverse(g)}
        found = [
            cycle
            for home in self.homes.values()
            if isinstance(home.node, For | While) and home.graph is home.node.body and f"{home.name}r" in reversed_
            for cycle in cycles(home.node, self.top)
        ]
        for cycle in found:
            self.cycles.update((v, cycle) for v in (*cycle.before, *cycle.after))
        for cycle in found:
            needs = [self.kept(v) if self.on_cycle(v) else v for v in self.nested_among(cycle.needs)]
            self.first[cycle] = [*needs, *self.nested_among(cycle.last)]

    def on_cycle(self, value: Value) -> bool:
        """Whether a value is computed from what is undone: it has to be there before."""
        seen, stack = {value}, [value]
        while stack:
            at = stack.pop()
            if at in self.cycles:
                return True
            for source in self.plain_sources(at) or ():
                if source not in seen:
                    seen.add(source)
                    stack.append(source)
        return False

    def kept(self, value: Value) -> Value:
        """What stands for a value that must be saved if something is to be undone by it."""
        stand_in = Value(value.name, value.type)
        self.place(stand_in, self.home_of[value])
        self.stand_ins[stand_in] = value
        return stand_in

    # -- recomputing ------------------------------------------------------------------------------

    def sources(self, value: Value) -> Sequence[Value] | None:
        """The nested values a value can be recomputed from; None if it must be saved."""
        found = self.plain_sources(value)
        if found is None and value in self.cycles and value not in self.asked:
            return self.first[self.cycles[value]]
        return found

    def plain_sources(self, value: Value) -> Sequence[Value] | None:
        """Those it is computed from, nothing undone."""
        if value in self.asked:
            return None
        if value in self.free or self.follows(value):
            return []
        if value in self.given:
            return self.nested_among(self.given[value])
        node = self.definition.get(value)
        match node:
            case Apply() if value in self.filled:
                return self.nested_among(node.inputs)
            case Apply():
                if not is_cheap_again(node) or decides(node) or is_slow_again(node, self.home_of[value].loop):
                    return None
                return self.nested_among(node.inputs)
            case If():
                inner = [n for g in node_graphs(node) for n in g.nodes]
                if not all(map(_cheap_scalar, inner)) or any(map(decides, inner)):
                    return None
                outer = [node.cond, *(v for g in node_graphs(node) for v in free_values(g))]
                if any(isinstance(v.type, ListType) for v in outer):
                    return None
                return self.nested_among(outer)
            case For() if gathers(node, self.definition) and not any(map(decides, node.body.nodes)):
                sizes = (v for made in arrays_of(node, self.definition) for v in made.inputs)
                return self.nested_among([*sizes, *node_inputs(node)[:3], *node.captures, *free_values(node.body)])
        return None

    def nested_among(self, values: Iterable[Value]) -> list[Value]:
        return [v for v in dict.fromkeys(values) if self.nested(v) and not self.is_literal(v)]

    def follows(self, value: Value) -> bool:
        """Whether a value is an integer that outer sizes and the loops' indices tell."""
        known = getattr(value.type, "value", None)
        if known is None:
            return False
        loops = (h for h in self.home_of[value].chain() if isinstance(h.node, For))
        return known.symbols() <= self.top.union(h.graph.params[0].type.value.symbol for h in loops)

    # -- the cut ----------------------------------------------------------------------------------

    def cost(self, value: Value) -> int:
        """Bytes saved per entry of the outermost loop."""
        home = self.home_of[value]
        trips = 1
        for level in home.chain():
            if isinstance(level.node, For | While | Define):
                trips *= self.trips(level.node)
        node = self.definition.get(value)
        size = max(_bytes(value), _bytes(node.inputs[0]) if _is_nearly_all(node) else 0)  # type: ignore[union-attr]
        return 4 * min(size * trips, 2**24) + self.dislike(value)

    def dislike(self, value: Value) -> int:
        """Between equal costs, save what the user named."""
        node = self.definition.get(value)
        if isinstance(node, Apply) and node.op.kind == "check":
            return 2
        return 0 if value.name else 1

    def trips(self, node: For | While | Define) -> int:
        if isinstance(node, For):
            known = [getattr(v.type, "value", None) for v in (node.start, node.stop, node.step)]
            consts = [k.const if k is not None else None for k in known]
            if None not in consts:
                return max(1, min(len(range(*consts)), 64))  # type: ignore[arg-type]
        return GUESS

    def cut(self, needed: set[Value]) -> set[Value]:
        """The cheapest set of values to save from which all the needed ones follow."""
        reached = self.reachable(needed)
        if not reached:
            return set()
        needed = needed | self.asked.intersection(reached)
        number = {v: 2 + 2 * k for k, v in enumerate(reached)}
        edges: list[tuple[int, int, int]] = []
        for value in reached:
            at = number[value]
            if value in self.free:
                continue
            edges.append((at, at + 1, self.cost(value)))
            sources = self.sources(value)
            if sources is None:
                edges.append((0, at, INFINITE))
            for source in sources or ():
                if source not in self.free:
                    edges.append((number[source] + 1, at, INFINITE))
            if value in needed:
                edges.append((at + 1, 1, INFINITE))
        reaching = sink_side(edges, 2 + 2 * len(reached))
        found = (v for v in reached if v not in self.free and number[v] + 1 in reaching and number[v] not in reaching)
        return {self.stand_ins.get(v, v) for v in found}

    def reachable(self, needed: set[Value]) -> list[Value]:
        """Everything the needed values can be recomputed from, in order of definition."""
        seen, stack = set(needed), list(needed)
        while stack:
            for source in self.sources(stack.pop()) or ():
                if source not in seen:
                    seen.add(source)
                    stack.append(source)
        return sorted(seen, key=self.order.__getitem__)

    def finished(self, read: set[Value], needed: set[Value], saved: set[Value]) -> Residuals:
        wanted, stack = set(needed), [v for v in needed if v not in saved]
        while stack:
            for source in self.sources(stack.pop()) or ():
                source = self.stand_ins.get(source, source)
                if source not in wanted:
                    wanted.add(source)
                    if source not in saved:
                        stack.append(source)
        undone: dict[str, list[Cycle]] = {}
        for cycle in dict.fromkeys(self.cycles[v] for v in self.order if v in self.cycles):
            if any(
                v in wanted and v not in saved and self.plain_sources(v) is None for v in (*cycle.before, *cycle.after)
            ):
                undone.setdefault(cycle.loop.body.name, []).append(cycle)
        by_region: dict[str, list[Value]] = {}
        for value in self.in_order(wanted, saved):
            by_region.setdefault(self.home_of[value].name, []).append(value)
        kept = sorted(saved & wanted, key=self.order.__getitem__)
        ordered = sorted(read, key=self.order.__getitem__)
        sources = {v: found for v in self.reachable(needed) if (found := self.sources(v)) is not None}
        homes, definition, asked = self.homes, self.definition, frozenset(self.asked)
        return Residuals(homes, kept, by_region, self.home_of, definition, ordered, sources, self.calls, asked, undone)  # type: ignore[arg-type]

    def in_order(self, wanted: set[Value], saved: set[Value]) -> Iterable[Value]:
        """Each after what it is computed from, else as they are defined: places may come after what is stored there.

        What a function that calls itself is given may go round in a circle, from call to call.
        """
        out: dict[Value, None] = {}
        for value in sorted(wanted, key=self.order.__getitem__):
            stack, begun = [value], set[Value]()
            while stack:
                at = stack[-1]
                sources = () if at in saved or at in begun else self.sources(at) or ()
                begun.add(at)
                missing = [s for s in sources if s in wanted and s not in out and s not in begun]
                stack += missing
                if not missing:
                    out[stack.pop()] = None
        return out


def top_symbols(graph: Graph) -> frozenset[str]:
    """Size symbols that values of the outermost region know."""
    found: set[str] = set()
    values = [*graph.params, *(v for n in graph.nodes for v in n.outputs)]
    for value in values:
        type = value.type
        if isinstance(type, ArrayType):
            found.update(s for d in type.shape for s in d.symbols())
        elif isinstance(type, ScalarType) and type.value is not None:
            found.update(type.value.symbols())
    return frozenset(found)


def is_slow_again(node: Apply, loop: Node | None) -> bool:
    """Whether a function of a number is slower than memory: in a loop whose trips wait for each other, or in none."""
    if node.outputs[0].type.ndim or node.op.kind != "elementwise" or not is_costly(node):
        return False
    return loop is None or (isinstance(loop, While) and node.op.name not in QUICK)


QUICK = frozenset({"sqrt", "floor", "ceil", "trunc", "rint", "copysign"})
"""What the machine has an instruction for."""


def decides(node: Node) -> bool:
    """Whether floats rounded in another way might decide otherwise: what is pushed would not be what is popped."""
    rounds = current_mode().fastmath and any(map(is_discrete, node.outputs))
    return bool(rounds) and not all(map(is_discrete, node_inputs(node)))


def is_discrete(value: Value) -> bool:
    """Whether a value is made of integers or booleans."""
    return not isinstance(value.type, ArrayType | ScalarType) or value.type.dtype.kind in "biu"


def _cheap_scalar(node: Node) -> bool:
    return (
        isinstance(node, Apply) and is_cheap_again(node) and node.op.kind != "check" and node.outputs[0].type.ndim == 0
    )


def _bytes(value: Value) -> int:
    type = value.type
    if isinstance(type, ArrayType):
        count = 1
        for size in type.shape:
            count *= max(1, min(_guess(size), 64))
        return type.dtype.itemsize * count
    assert isinstance(type, ScalarType)
    return type.dtype.itemsize


def _is_nearly_all(node: Node | None) -> bool:
    """Whether a part of an array lacks a few elements only: it is not saved in place of the array."""
    if not isinstance(node, Apply) or node.op.name != "getitem" or not set(node.attrs["view"].axes) <= {":", 1}:
        return False
    whole, kept = node.inputs[0].type.shape, node.outputs[0].type.shape
    missing = [(size - unclamped(length)).const for size, length in zip(whole, kept, strict=False)]
    return len(kept) == len(whole) and all(k is not None and 0 <= k <= FEW for k in missing)


def _guess(size: Dim) -> int:
    return evaluate(size, dict.fromkeys(size.symbols(), GUESS))
