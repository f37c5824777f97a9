"""What is added to a derivative's array, or a part of it, is added there, not in an array of its own first.

The derivative of ``row = l[j]``, of which loops read ``row[k]``, adds up in an array of zeros, as long as the row, and
adds that to ``d_l[j]``. Added to ``d_l[j, k]`` at once, neither zeros nor sums of whole rows are needed. The same holds
for ``old = u.copy()``: what reads of ``old`` add up is added to ``d_u``. Only sums of derivatives, whose rounding is
nobody's, are added up in another order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeGuard

from srcgraph.ir.closure import close, open_, renamed
from srcgraph.ir.graph import Apply, For, Graph, Node, Value
from srcgraph.ir.types import ArrayType, Type, is_float
from srcgraph.ir.view import View, whole
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import inner_blocks, reads
from srcgraph.opt.restated import Restated
from srcgraph.opt.scalars import LIMIT
from srcgraph.opt.simplify import simplify
from srcgraph.opt.together import added_states


def accumulate(graph: Graph) -> Graph:
    """Add to arrays where it belongs, at every depth."""
    if not any(_adds(n) or _is_of_derivatives(n, "add_at") for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    literals = (n for n in all_nodes(opened) if isinstance(n, Apply) and n.op.name == "const")
    nothing = {n.outputs[0] for n in literals if n.attrs["value"] == 0}
    changed = _block(opened, nothing)
    return graph if changed is opened else dce(simplify(close(changed)))


def _block(graph: Graph, nothing: Set[Value]) -> Graph:
    """A block changed, where some values are known to be 0."""
    while chains := _chains(graph, nothing):
        graph = _There(chains).block(graph)
    graph = _given_back(graph, nothing)
    return inner_blocks(graph, lambda inner: _block(inner, nothing))


@dataclass(frozen=True, slots=True)
class _Chain:
    """What is added up from zeros, and then added to something else.

    Attributes
    ----------
    zeros, part : Value
        Where it begins, and what it is in the end.
    states : set of Value
        All that it is between.
    base : Value
        What it is added to.
    node : Apply
        What adds it.
    """

    zeros: Value
    part: Value
    states: Set[Value]
    base: Value
    node: Apply

    @property
    def own(self) -> set[Value]:
        return {self.zeros, self.part, *self.states}

    @property
    def at(self) -> tuple[Value, ...]:
        """Where in the base it is added."""
        return self.node.inputs[2:]


def _chains(graph: Graph, nothing: Set[Value]) -> list[_Chain]:
    """Such chains of a block, of which none is in the way of another."""
    candidates = [n for n in graph.nodes if _adds(n)]
    found: list[_Chain] = []
    own, others = set[Value](), set[Value]()
    uses = _Uses(graph) if candidates else None
    for node in candidates:
        chain = uses.chain(node, nothing) if uses is not None else None
        if chain is None:
            continue
        outside = {chain.base, *chain.at, chain.node.outputs[0]}
        if own.isdisjoint(chain.own | outside) and others.isdisjoint(chain.own):
            found.append(chain)
            own |= chain.own
            others |= outside
    return found


class _Uses:
    """Where the values of a block are made and read."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.made = {v: (k, n) for k, n in enumerate(graph.nodes) for v in n.outputs}
        self.read: defaultdict[Value, list[int]] = defaultdict(list)
        for k, node in enumerate(graph.nodes):
            for value in reads(node):
                self.read[value].append(k)

    def readers(self, value: Value) -> list[Node]:
        return [self.graph.nodes[k] for k in self.read[value]]

    def chain(self, node: Apply, nothing: Set[Value]) -> _Chain | None:
        """What a node adds, and has been added up from zeros, if it can be added up where it belongs."""
        x, y, *at = node.inputs
        if len({x, y, *at}) < len(node.inputs) or any(
            self.readers(v) != [node] or v in self.graph.results for v in (x, y)
        ):
            return None
        for base, part in [(x, y), (y, x)] if _adds_whole(node) else [(x, y)]:
            zeros = self.zeros(part, nothing)
            if zeros is None or not self.read[zeros] or zeros in self.graph.results:
                continue
            first = self.read[zeros][0]
            if all(self.made[v][0] < first for v in (base, *at) if v in self.made):
                states = added_states(self.graph, zeros, part, self.readers)
                if states is not None:
                    return _Chain(zeros, part, states, base, node)
        return None

    def maker(self, value: Value, name: str) -> Apply | None:
        """The use of an op that makes a value."""
        node = self.made[value][1] if value in self.made else None
        return node if isinstance(node, Apply) and node.op.name == name else None

    def store_before(self, node: Apply, nothing: Set[Value]) -> Apply | None:
        """What stored 0 at the place that a node adds to, if all that comes between adds to the array, too."""
        value, place = node.inputs[0], (node.attrs["view"], node.inputs[2:])
        while len(self.read[value]) == 1 and value not in self.graph.results:
            added, store = self.maker(value, "add_at"), self.maker(value, "setitem")
            if added is not None and added.origin.by:
                value = added.inputs[0]
                continue
            if store is None or not store.origin.by or store.inputs[1] not in nothing:
                return None
            return store if (store.attrs["view"], store.inputs[2:]) == place else None
        return None

    def is_taken(self, node: Apply, store: Apply) -> bool:
        """Whether what a node adds was read at its place before 0 was stored there."""
        read = self.maker(node.inputs[1], "getitem")
        if read is None or read.attrs["view"] != node.attrs["view"]:
            return False
        return read.inputs == (store.inputs[0], *node.inputs[2:])

    def zeros(self, part: Value, nothing: Set[Value]) -> Value | None:
        """The zeros that stores, and loops that store, have made something of."""
        value = part
        while value in self.made:
            node = self.made[value][1]
            if isinstance(node, Apply) and node.op.name == "add_at":
                value = node.inputs[0]
            elif isinstance(node, For):
                value = node.carry[node.outputs.index(value)]
            else:
                is_zeros = isinstance(node, Apply) and node.op.name == "full" and node.inputs[0] in nothing
                return value if is_zeros and value is not part and value.type == part.type else None
        return None


def _adds(node: Node) -> TypeGuard[Apply]:
    """Whether a node may add to an array, in arithmetic of derivatives, what has been added up elsewhere."""
    return isinstance(node, Apply) and bool(node.origin.by) and (_adds_part(node) or _adds_whole(node))


def _adds_whole(node: Apply) -> bool:
    """Whether a node adds two arrays of the same sizes."""
    kind = node.outputs[0].type
    adds = node.op.name == "add" or (node.op.name == "add_at" and node.attrs["view"] == whole(kind.ndim))
    return adds and all(_is_large(v.type) and v.type == kind for v in node.inputs)


def _adds_part(node: Apply) -> bool:
    """Whether a node adds something of many elements, or of unknown many, to a part of an array."""
    if node.op.name != "add_at":
        return False
    part, view = node.inputs[1].type, node.attrs["view"]
    if not _is_large(part) or view.axes != ("i",) * view.axes.count("i") + (":",) * part.ndim:
        return False
    return "i" in view.axes and view.order == tuple(range(part.ndim))


def _is_large(kind: Type) -> bool:
    """Whether something is an array of floats that are many, or of unknown many."""
    if not isinstance(kind, ArrayType) or not is_float(kind) or not kind.ndim:
        return False
    sizes = [d.const for d in kind.shape]
    return None in sizes or math.prod(n for n in sizes if n is not None) > LIMIT


def _given_back(graph: Graph, nothing: Set[Value]) -> Graph:
    """A block that does not take elements away to add them again: ``t = d[a:b]; d[a:b] = 0; d[a:b] += t``."""
    candidates = [n for n in graph.nodes if _is_of_derivatives(n, "add_at")]
    uses = _Uses(graph) if candidates else None
    same: dict[Value, Value] = {}
    for node in candidates:
        assert uses is not None
        store = uses.store_before(node, nothing)
        if store is not None and store.outputs[0] not in same and uses.is_taken(node, store):
            same |= {store.outputs[0]: store.inputs[0], node.outputs[0]: node.inputs[0]}
    if not same:
        return graph
    last = {old: _end(old, same) for old in same}
    nodes = tuple(n for n in graph.nodes if last.keys().isdisjoint(n.outputs))
    return renamed(replace(graph, nodes=nodes), last)


def _end(value: Value, same: Mapping[Value, Value]) -> Value:
    while value in same:
        value = same[value]
    return value


def _is_of_derivatives(node: Node, name: str) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op.name == name and bool(node.origin.by)


class _There(Restated):
    """The states of such chains as those of what they are added to."""

    def __init__(self, chains: Sequence[_Chain]):
        self.chain = {state: c for c in chains for state in c.own}
        self.dropped: set[Node] = {c.node for c in chains}
        self.zeros = {c.zeros for c in chains}
        self.states = set().union(*(c.states for c in chains))
        self.now = {v: Value(v.name, self.chain[v].base.type) for v in self.states}
        self.now |= {c.zeros: c.base for c in chains} | {c.part: c.node.outputs[0] for c in chains}

    def block(self, graph: Graph) -> Graph:
        nodes = (n for n in graph.nodes if n not in self.dropped and self.zeros.isdisjoint(n.outputs))
        return replace(graph, nodes=tuple(map(self.node, nodes)))

    def access(self, node: Apply) -> Node:
        state, x, *at = node.inputs
        chain, view = self.chain[state], node.attrs["view"]
        if not _adds_whole(chain.node):
            around: View = chain.node.attrs["view"]
            view = View((*around.axes[: len(chain.at)], *view.axes), view.order)
        inputs = (self.now[state], x, *chain.at, *at)
        return replace(node, inputs=inputs, attrs={"view": view}, outputs=self.values(node.outputs))
