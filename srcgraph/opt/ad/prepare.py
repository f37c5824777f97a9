"""Before a graph is differentiated: loops say how often they ran, and why they stopped.

A `while`, and a `for` that may stop early, gets a carry that counts its trips; one that stops gets
the last value of each condition that implies stopping. The reverse sweep replays as many trips and
needs no record of a `break`: it was taken in the last trip, if at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Value, While
from srcgraph.ir.op import OPS, building
from srcgraph.ir.rebuild import Extra, Rebuild
from srcgraph.ir.types import PY_BOOL, PY_INT, ArrayType, ListType
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.activity import carries_derivative

Recall = Callable[[Value, Value], Value]
"""From (a trip is the last one, the condition's last value) to the condition in that trip."""


@dataclass(slots=True)
class LoopFacts:
    """What the reverse sweep of a loop knows of the forward one.

    Attributes
    ----------
    counter : Value or None
        Inside the body, how many trips came before; None for a plain `for`.
    trips : Value or None
        After the loop, how many trips there were.
    last : dict
        Conditions inside the body whose value follows from the trip: to (their last value after the
        loop, and how to find the value from it).
    """

    counter: Value | None = None
    trips: Value | None = None
    last: dict[Value, tuple[Value, Recall]] = field(default_factory=dict)


@dataclass(slots=True)
class Prepared:
    """An open graph and, by the name of each loop's body, the facts about the loop."""

    graph: Graph
    loops: dict[str, LoopFacts]
    lengths: dict[Value, Value] = field(default_factory=dict)
    """Of lists of floats, how long each is."""


def prepare(graph: Graph) -> Prepared:
    """Return the graph, opened, with counters; every inner graph and every function gets a name of its own."""
    work = _Prepare(graph.name)
    for node in graph.nodes:
        if isinstance(node, Define):
            work.functions[node.graph.name] = work.new_name(node.graph.name)
    with building(work.builder):
        work.params(graph.params)
        work.nodes(graph.nodes)
        opened = work.builder.open_graph(work.values(graph.results))
    return Prepared(opened, work.facts, work.lengths)


class _Prepare(Rebuild):
    def __init__(self, name: str):
        super().__init__(name)
        self.facts: dict[str, LoopFacts] = {}
        self.finished: list[LoopFacts] = []
        self.lengths: dict[Value, Value] = {}
        self.count = 0
        self.functions: dict[str, str] = {}

    def new_name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}@{self.count}"

    def bind(self, old: Value, new: Value) -> None:
        super().bind(old, new)
        self.sizes(new)

    def sizes(self, value: Value) -> None:
        """Let each size that only this array knows be a number of its own, so that it can be kept."""
        if isinstance(value.type, ListType) and carries_derivative(value.type):
            self.lengths[value] = OPS["list_len"](value)  # before the list changes
        if not isinstance(value.type, ArrayType) or len(self.builder.regions) == 1:
            return
        for axis, size in enumerate(value.type.shape):
            if size.symbol in self.builder.region.sizes:
                self.builder.apply(OPS["dim"], (value,), {"axis": axis})

    def body(self, graph: Graph) -> None:
        for param in graph.params:
            self.sizes(self.value(param))
        super().body(graph)

    def call(self, node: Call) -> Sequence[Value]:
        return super().call(replace(node, callee=self.functions.get(node.callee, node.callee)))

    def function(self, node: Define, region: Region) -> Define:
        made = super().function(node, region)
        return replace(made, graph=replace(made.graph, name=self.functions[node.graph.name]))

    def if_(self, node: If) -> Sequence[Value]:
        cond = self.value(node.cond)
        sides = []
        for graph, holds in ((node.then, True), (node.orelse, False)):
            region, results = self.branch(graph, node.captures, cond, holds)
            sides.append((region, results))
        names = [o.name for o in node.outputs]
        count = len(self.builder.region.nodes)
        outs = self.builder.if_(cond, sides[0], sides[1], names)
        if len(self.builder.region.nodes) > count:  # none where both sides give the same: the last is another's then
            self.rename_last("then", "orelse")
        return outs

    def rename_last(self, *kinds: str) -> str:
        """Give the graphs of the node just built names of their own; return the last one's."""
        nodes = self.builder.region.nodes
        node = nodes[-1] if nodes else None
        if not isinstance(node, If | For | While):
            return ""
        return name_graphs(nodes, len(nodes) - 1, [self.new_name(k) for k in kinds])

    def for_(self, node: For) -> Sequence[Value]:
        outs = super().for_(node)
        self.facts[self.rename_last("body")] = self.finished.pop()
        return outs

    def while_(self, node: While) -> Sequence[Value]:
        outs = super().while_(node)
        self.facts[self.rename_last("cond", "body")] = self.finished.pop()
        return outs

    def extra(self, node: For | While) -> Extra:
        fixed = isinstance(node, For) and not node.stops and self.value(node.step).type.value.const is not None
        return _Counted(self, counts=not fixed)


class _Counted(Extra):
    """The trip counter, and the last values of conditions that stop the loop."""

    def __init__(self, work: _Prepare, counts: bool):
        super().__init__()
        self.work = work
        self.builder = work.builder
        self.facts = LoopFacts()
        self.counts = counts
        self.recalls: list[tuple[Value, Recall]] = []

    def add(self, name: str, init: Value, param: Value) -> None:
        self.names.append(name)
        self.inits.append(init)
        self.params.append(param)

    def enter(self) -> None:
        if self.counts:
            param = self.builder.fresh("_trip", PY_INT)
            self.builder.learn(param.type.value)
            self.facts.counter = param
            self.add("_trips", self.builder.const(0), param)

    def finish(self, nodes: Sequence[Node], stop: Value | None) -> None:
        if self.counts:
            self.results.append(OPS["add"](self.params[0], 1))
        if stop is None:
            return
        for cond, last, recall in conditions_that_stop(self.builder.region.nodes, stop):
            self.add("_stopped", self.builder.const(False), self.builder.fresh("_stopped", PY_BOOL))
            self.results.append(last)
            self.recalls.append((cond, recall))

    def leave(self, outputs: Sequence[Value]) -> None:
        more = iter(outputs)
        if self.counts:
            self.facts.trips = next(more)
        for cond, recall in self.recalls:
            self.facts.last[cond] = (next(more), recall)
        self.work.finished.append(self.facts)


def conditions_that_stop(nodes: Sequence[Node], stop: Value) -> list[tuple[Value, Value, Recall]]:
    """Conditions of `if`s whose value in each trip follows from the last trip's.

    Gives (condition, value to remember, how to recall it). A condition that is the stop flag held in
    the last trip only, and there if the loop stopped. One whose branch always stops likewise, with
    its own last value. In a branch only those of its own: what is known outside it holds in other trips, too.
    """
    found: list[tuple[Value, Value, Recall]] = []
    definitions = {out: n for n in nodes for out in n.outputs}
    flag = definitions.get(stop)
    conds = {n.cond for n in nodes if isinstance(n, If)}
    if stop in conds:
        found.append((stop, stop, lambda is_last, last: _and(is_last, last)))
    if isinstance(flag, Apply) and flag.op.name == "logical_not" and flag.inputs[0] in conds:
        found.append((flag.inputs[0], flag.inputs[0], lambda is_last, last: _or(_not(is_last), last)))
    if isinstance(flag, If):
        k = flag.outputs.index(stop)
        always = [_is_true(g, g.results[k]) for g in (flag.then, flag.orelse)]
        if always[0]:
            found.append((flag.cond, flag.cond, lambda is_last, last: _and(is_last, last)))
        elif always[1]:
            found.append((flag.cond, flag.cond, lambda is_last, last: _or(_not(is_last), last)))
        for inner, sure in zip((flag.then, flag.orelse), always, strict=True):
            if not sure:
                flags, own = inner.results[k], {out for n in all_nodes(inner) for out in n.outputs}
                more = conditions_that_stop(inner.nodes, flags)
                found += [(c, stop, recall) for c, last, recall in more if last is flags and c in own]
    return found


def _is_true(graph: Graph, value: Value) -> bool:
    node = next((n for n in graph.nodes if value in n.outputs), None)
    return isinstance(node, Apply) and node.op.name == "const" and node.attrs["value"] is True


def _and(x: Value, y: Value) -> Value:
    return OPS["logical_and"](x, y)


def _or(x: Value, y: Value) -> Value:
    return OPS["logical_or"](x, y)


def _not(x: Value) -> Value:
    return OPS["logical_not"](x)


def name_graphs(nodes: list, position: int, names: Sequence[str]) -> str:
    """Replace a node's graphs by renamed ones; return the last name."""
    node = nodes[position]
    match node:
        case If():
            then, orelse = (replace(g, name=n) for g, n in zip((node.then, node.orelse), names, strict=True))
            nodes[position] = replace(node, then=then, orelse=orelse)
        case For():
            nodes[position] = replace(node, body=replace(node.body, name=names[0]))
        case While():
            cond, body = (replace(g, name=n) for g, n in zip((node.cond, node.body), names, strict=True))
            nodes[position] = replace(node, cond=cond, body=body)
    return names[-1]
