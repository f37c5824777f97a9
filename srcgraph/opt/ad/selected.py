"""Loops that keep the best of what they try: the derivative goes to the one trip that this is from.

``if c < best: best = c`` leaves what ``c`` was in the last trip that took it, or what ``best`` was before the loop. A
loop says which trip that was, and the derivative is that of its ``c`` alone, made again there::

    for k in range(n):                      for k in range(n):
        c = f(x[k])                             c = f(x[k])
        if c < best:             is             if c < best:
            best = c                                best, which = c, k
                                            best = that of (f(x[which]) if which != -1 else what it was before)

The sweep back runs through one trip instead of all, and a tape holds ``which`` alone. `settled` leaves no trace of it
in the sweep forward.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

from srcgraph.ir.builder import Builder, index_facts
from srcgraph.ir.closure import free_values, rename_node, with_graphs
from srcgraph.ir.dims import Dim, coefficient, maximum, substitute
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS, building
from srcgraph.ir.rebuild import Extra, Rebuild
from srcgraph.ir.types import PY_BOOL, PY_INT, ArrayType, ScalarType, type_symbols, without_value
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.activity import DERIVATIVE, active_values, carries_derivative

LEVELS = 3
"""Loops around each other that are looked at."""
_MADE_AGAIN = ("elementwise", "structural", "reduction", "update", "check")


def selected(graph: Graph, inputs: Sequence[int], outputs: Sequence[int]) -> Graph:
    """The closed graph, its results differentiated by some parameters, with such loops saying which trip it was."""
    for _ in range(LEVELS):
        opened = _Opened(graph.name).run(graph)
        wanted, results = ([vs[k] for k in ks] for vs, ks in ((opened.params, inputs), (opened.results, outputs)))
        active = active_values(opened, wanted, results)
        found = {node: own for node in all_nodes(opened) if isinstance(node, For) and (own := _chains(node, active))}
        if not found:
            break
        makers = {out: node for node in all_nodes(opened) for out in node.outputs}
        graph = _Selected(graph.name, found, makers).run(opened)
    return graph


def settled(graph: Graph) -> Graph:
    """An open graph of both sweeps in which such numbers are what the loops give."""
    return _settled(graph, {})


def _settled(graph: Graph, env: dict[Value, Value]) -> Graph:
    nodes: list[Node] = []
    for before in graph.nodes:
        node = rename_node(before, env)
        if isinstance(node, Apply) and node.op.name == "stands_for":
            env[before.outputs[0]] = node.inputs[0]
            continue
        nodes.append(with_graphs(node, [_settled(g, env) for g in node_graphs(node)]))
    return replace(graph, nodes=tuple(nodes), results=tuple(env.get(v, v) for v in graph.results))


class _Opened(Rebuild):
    def run(self, graph: Graph) -> Graph:
        with building(self.builder):
            self.params(graph.params)
            self.nodes(graph.nodes)
            return self.builder.open_graph(self.values(graph.results))


# -- which loops -------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class _Chain:
    """Numbers that a loop takes over in the same trips.

    Attributes
    ----------
    root : If or Apply
        What takes them over, or leaves them.
    taken : dict
        For each, by its place among what is carried, what is taken.
    path : tuple of Graph
        The branches in which that is, from the outermost.
    index : Value
        The number of the trip.
    steps : list
        For the body, and each of the branches, the nodes that make it.
    known : list of Value
        Integers and truth values that these read, and that only this trip knows.
    """

    root: If | Apply
    taken: dict[int, Value]
    path: tuple[Graph, ...]
    index: Value
    steps: list[list[Node]] = field(default_factory=list)
    known: list[Value] = field(default_factory=list)

    def inside(self, graph: Graph) -> If | None:
        """The `if` in one of the branches that the next one is of."""
        after = self.path.index(graph) + 1 if graph in self.path else len(self.path)
        branch = self.path[after] if after < len(self.path) else None
        ifs = (node for node in graph.nodes if isinstance(node, If))
        return next((node for node in ifs if branch in (node.then, node.orelse)), None)


def _chains(loop: For, active: frozenset[Value]) -> list[_Chain]:
    """The chains of a loop of an open graph whose numbers matter to a derivative."""
    makers = {out: node for node in loop.body.nodes for out in node.outputs}
    by_root: dict[tuple[Node, tuple[Graph, ...]], _Chain] = {}
    for place, param in enumerate(loop.body.params[1:]):
        result = loop.body.results[place]
        while isinstance(root := makers.get(result), Apply) and root.op.name == "stands_for":
            result = root.inputs[1]
        if param in active and isinstance(root, If | Apply):
            for path, value in _taken(root, result, param):
                chain = by_root.setdefault((root, path), _Chain(root, {}, path, loop.body.params[0]))
                chain.taken[place] = value
    return [chain for chain in by_root.values() if _only_passes(loop, chain) and _Slice(loop, chain).found()]


def _taken(root: If | Apply, result: Value, param: Value) -> Iterator[tuple[tuple[Graph, ...], Value]]:
    """What is taken over for a number that else stays, and the branches that it is in, if it is one thing."""
    if isinstance(root, Apply):
        if root.op.name == "where" and isinstance(root.inputs[0].type, ScalarType) and param in root.inputs[1:]:
            _, then, orelse = root.inputs
            if then is not orelse and then.type == root.outputs[0].type == orelse.type:
                yield (), orelse if then is param else then
        return
    found = list(_leaves(root, root.outputs.index(result), param))
    if len(found) == 1:
        yield found[0]


def _leaves(node: If, k: int, param: Value) -> Iterator[tuple[tuple[Graph, ...], Value]]:
    for graph in (node.then, node.orelse):
        value = graph.results[k]
        inner = next((n for n in graph.nodes if value in n.outputs), None)
        if isinstance(inner, If):
            yield from (((graph, *path), taken) for path, taken in _leaves(inner, inner.outputs.index(value), param))
        elif value is not param:
            yield (graph,), value


def _only_passes(loop: For, chain: _Chain) -> bool:
    """Whether no derivative goes from these numbers anywhere but to themselves in the next trip."""
    varied = {loop.body.params[1 + place] for place in chain.taken}
    DERIVATIVE.spread(loop.body, varied, {})
    others = [r for place, r in enumerate(loop.body.results) if place not in chain.taken]
    return varied.isdisjoint((*chain.taken.values(), *others))


class _Slice:
    """Looks for the nodes of a trip that make what it takes over, from the index alone and what is there outside."""

    def __init__(self, loop: For, chain: _Chain):
        self.loop = loop
        self.chain = chain
        self.graphs = (loop.body, *chain.path)
        self.makers = {out: node for graph in self.graphs for node in graph.nodes for out in node.outputs}
        self.needed: dict[Node, None] = {}
        self.known: dict[Value, None] = {}

    def found(self) -> bool:
        """Whether there are such."""
        if not all(map(self.needs, self.chain.taken.values())):
            return False
        self.chain.steps = [[n for n in graph.nodes if n in self.needed] for graph in self.graphs]
        self.chain.known = list(self.known)
        return True

    def needs(self, value: Value) -> bool:
        index, *carried = self.loop.body.params
        if value is index or value in self.known:
            return True
        node = self.makers.get(value)
        if node is not None:
            before = dict(self.needed), dict(self.known)
            if self.makes_again(node):
                return True
            self.needed, self.known = before
        elif value not in carried:
            return True
        if isinstance(value.type, ScalarType) and not carries_derivative(value.type):
            self.known[value] = None
            return True
        return False

    def makes_again(self, node: Node) -> bool:
        if node in self.needed:
            return True
        self.needed[node] = None
        inner = (v for graph in node_graphs(node) for v in free_values(graph))
        return _is_pure(node) and all(map(self.needs, dict.fromkeys((*node_inputs(node), *inner))))


def _is_pure(node: Node) -> bool:
    if isinstance(node, Apply):
        return node.op.kind in _MADE_AGAIN and not node.op.fresh
    return isinstance(node, If | For) and all(_is_pure(n) for graph in node_graphs(node) for n in graph.nodes)


@dataclass(frozen=True, eq=False, slots=True)
class _Table:
    """An array that a loop fills, element after element, with what it computes of the index and of what is outside."""

    loop: For
    at: Dim
    """Where in the array a trip's element is."""
    value: Value
    steps: list[Node]


def _table(array: Value, loop: Node | None, makers: Mapping[Value, Node]) -> _Table | None:
    if not isinstance(loop, For) or loop.stops or loop.step.type.value != 1:
        return None
    k = loop.outputs.index(array)
    begun, stored = makers.get(loop.carry[k]), makers.get(loop.body.results[k])
    index, param = loop.body.params[0], loop.body.params[1 + k]
    if not (isinstance(begun, Apply) and begun.op.name == "empty" and isinstance(stored, Apply)):
        return None
    if stored not in loop.body.nodes or stored.op.name != "setitem" or stored.inputs[0] is not param:
        return None
    _, value, *places = stored.inputs
    if stored.attrs["view"] != element(1) or value.type.ndim or (at := places[0].type.value) is None:
        return None
    chain = _Chain(cast(Apply, stored), {k: value}, (), index)
    number, ends = index.type.value.symbol, [v.type.value for v in (loop.start, loop.stop)]
    first, last = (substitute(at, {number: end}) for end in ends)
    whole = first == 0 and array.type.shape[0] in (last, maximum(last, 0)) and coefficient(at, number) == 1
    made = whole and _Slice(loop, chain).found() and not chain.known
    return _Table(loop, at, value, chain.steps[0]) if made else None


# -- the loops anew ----------------------------------------------------------------------------------------


class _Which(Extra):
    """Which trip took over the numbers of a chain last, and what that trip knew."""

    def __init__(self, work: _Selected, loop: For, chains: Sequence[_Chain]):
        super().__init__()
        self.work, self.chains = work, chains
        self.before = OPS["sub"](work.value(loop.start), work.value(loop.step))
        """What stands for no trip."""
        self.outputs: Sequence[Value] = ()

    def enter(self) -> None:
        b = self.work.builder
        for chain in self.chains:
            own = [("which", PY_INT, self.before)]
            own += [(v.name, without_value(v.type), _nothing(b, v.type)) for v in chain.known]  # type: ignore[arg-type]
            for name, type_, init in own:
                self.names.append(name)
                self.inits.append(init)
                self.params.append(b.fresh(name, type_))
            self.work.begin(chain, self.params[-len(own) :])

    def finish(self, nodes: Sequence[Node], stop: Value | None) -> None:
        for chain in self.chains:
            self.results += self.work.kept.pop(chain)

    def leave(self, outputs: Sequence[Value]) -> None:
        self.outputs = outputs


def _nothing(builder: Builder, type_: ScalarType) -> Value:
    zero = builder.const(False if type_.dtype.kind == "b" else 0)
    return builder.cast(zero, type_.dtype, type_.weak)


class _Selected(Rebuild):
    def __init__(self, name: str, chains: dict[For, list[_Chain]], makers: Mapping[Value, Node]):
        super().__init__(name)
        self.chains = chains
        self.makers = makers
        self.extras: dict[For, _Which] = {}
        self.at: dict[Node, list[_Chain]] = {}
        """The chains that a node may take over numbers of."""
        self.before: dict[_Chain, Sequence[Value]] = {}
        """Which trip it was at the start of a trip, and what that knew."""
        self.kept: dict[_Chain, Sequence[Value]] = {}
        """The same after the node that is in `at`."""
        self.again = False

    def begin(self, chain: _Chain, params: Sequence[Value]) -> None:
        self.before[chain] = params
        self.at.setdefault(chain.root, []).append(chain)

    def extra(self, node: For | While) -> Extra:
        chains = self.chains.get(node) if isinstance(node, For) else None
        if not chains:
            return super().extra(node)
        self.extras[node] = _Which(self, node, chains)  # type: ignore[index]
        return self.extras[node]  # type: ignore[index]

    def for_(self, node: For) -> Sequence[Value]:
        outs = list(super().for_(node))
        mine = self.extras.pop(node, None)
        first = 0
        for chain in mine.chains if mine is not None else ():
            assert mine is not None
            which, *known = mine.outputs[first : first + 1 + len(chain.known)]
            first += 1 + len(known)
            for place, value in zip(chain.taken, self.restated(node, chain, mine.before, which, known), strict=True):
                outs[place] = self.standing_for(outs[place], value)
        return outs

    def standing_for(self, out: Value, value: Value) -> Value:
        """What a loop gives, differentiated as another way to compute it."""
        b = self.builder
        value = b.retype(value, out.type.shape) if isinstance(out.type, ArrayType) else value
        return b.apply(OPS["stands_for"], (out, value), {}, name=out.name)

    def restated(
        self, loop: For, chain: _Chain, before: Value, which: Value, known: Sequence[Value]
    ) -> Sequence[Value]:
        """The numbers of a chain: those of one trip, made again, or what they were before the loop."""
        b = self.builder
        bounds = (self.value(loop.start), self.value(loop.stop), self.value(loop.step))
        then, orelse = b.new_region(), b.new_region()
        with b.inside(then):
            b.learn(*index_facts(which.type.value, bounds, b))
            made = self.made_again(loop, chain, which, known)
        with b.inside(orelse):
            inits = [self.from_a_table(loop.carry[place]) or self.value(loop.carry[place]) for place in chain.taken]
        names = [loop.outputs[place].name for place in chain.taken]
        return b.if_(OPS["not_equal"](which, before), (then, made), (orelse, inits), names)

    def made_again(self, loop: For, chain: _Chain, which: Value, known: Sequence[Value]) -> Sequence[Value]:
        index, steps = loop.body.params[0], [n for steps in chain.steps for n in steps]
        with self.anew(index, steps, chain.known):
            for old, new in zip((index, *chain.known), (which, *known), strict=True):
                self.bind(old, new)
            self.nodes(steps)
            return self.values([*chain.taken.values()])

    def from_a_table(self, value: Value) -> Value | None:
        """An element of an array, made again as the loop made it that filled the array."""
        node = self.makers.get(value)
        if not isinstance(node, Apply) or node.op.name != "getitem" or node.attrs["view"] != element(1):
            return None
        array, place = node.inputs
        table = _table(array, self.makers.get(array), self.makers)
        if table is None:
            return None
        index = table.loop.body.params[0]
        place = self.value(place)
        less = self.builder.dim_value(substitute(table.at - index.type.value, self.symbols))
        with self.anew(index, table.steps):
            self.bind(index, OPS["sub"](place, less))
            self.nodes(table.steps)
            return self.value(table.value)

    @contextmanager
    def anew(self, index: Value, steps: Sequence[Node], known: Sequence[Value] = ()) -> Iterator[None]:
        """What is built in here is what a trip has built, and nothing that comes after it."""
        outer = self.env, self.symbols, self.again
        own = (index, *known, *(v for n in steps for v in n.outputs))
        gone = frozenset().union(*(type_symbols(v.type) for v in own))
        self.env, self.again = dict(self.env), True
        self.symbols = {name: dim for name, dim in self.symbols.items() if name not in gone}
        try:
            yield
        finally:
            self.env, self.symbols, self.again = outer

    # -- what takes over -----------------------------------------------------------------------------------

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if self.again and node.op.kind == "check" and node.op.unchecked is not None:
            return (node.op.unchecked(*inputs, **node.attrs),)
        if self.again and (made := self.from_a_table(node.outputs[0])) is not None:
            return (made,)
        for chain in self.at.pop(node, ()):
            here, before = self.taken(chain), self.before[chain]
            (value,) = chain.taken.values()
            first, second = (here, before) if node.inputs[1] is value else (before, here)
            test = self.builder.cast(inputs[0], PY_BOOL.dtype, weak=True)
            self.kept[chain] = [OPS["where"](test, a, b) for a, b in zip(first, second, strict=True)]
        return super().apply(node, inputs)

    def taken(self, chain: _Chain) -> Sequence[Value]:
        """This trip, and what it knows."""
        return [self.value(chain.index), *self.values(chain.known)]

    def if_(self, node: If) -> Sequence[Value]:
        chains = self.at.pop(node, [])
        if not chains:
            return super().if_(node)
        cond, count = self.value(node.cond), len(node.outputs)
        then, orelse = (self.side(node, graph, chains) for graph in (node.then, node.orelse))
        names = [*self.branch_names(node), *(v.name for chain in chains for v in self.before[chain])]
        outs = self.builder.if_(cond, then, orelse, names)
        for chain in chains:
            size = len(self.before[chain])
            self.kept[chain] = outs[count : count + size]
            count += size
        return outs[: len(node.outputs)]

    def side(self, node: If, graph: Graph, chains: Sequence[_Chain]) -> tuple[Region, tuple[Value, ...]]:
        """One branch, which may take over numbers itself, or have a branch in it that does."""
        b, region = self.builder, self.builder.new_region()
        with b.inside(region):
            b.learn_condition(self.value(node.cond), graph is node.then)
            for chain in chains:
                inner = chain.inside(graph)
                if inner is not None:
                    self.at.setdefault(inner, []).append(chain)
            self.body(graph)
            more = []
            for chain in chains:
                if graph not in chain.path:
                    more += self.before[chain]
                elif graph is chain.path[-1]:
                    more += self.taken(chain)
                else:
                    more += self.kept.pop(chain)
            return region, (*self.values(graph.results), *more)
