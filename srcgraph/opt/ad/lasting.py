"""What stays in an array: the reverse sweep reads it there, after the loops that store into the array.

``x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]`` reads of ``x`` what earlier trips stored, and no later trip changes.
So it is with factorizations in place, with sequences that are computed from their last elements, and with what a trip
stores where none stores again. What is read, and every store that may come after it, in the same trip or in later ones
of each loop around, must be apart along an axis, which is proved from the bounds of the loops.

References
----------
L. Hascoët, U. Naumann, V. Pascual, "'To be recorded' analysis in reverse-mode automatic differentiation", Future
Generation Computer Systems 21 (2005); here for parts of arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from srcgraph.ir.dims import Dim, prove_nonnegative, substitute, symbol
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.index import selected_type
from srcgraph.ir.types import ArrayType, type_symbols
from srcgraph.ir.view import View, split_operands
from srcgraph.opt.ad.activity import loop_params

STORES = ("setitem", "add_at")
MOST = 64
"""An array that a loop stores into at more places is not looked at."""
SAME = ("with_shape", "assumed")
"""Ops that give the array that they are given."""

Bounds: TypeAlias = tuple[Dim, Dim] | None
"""The first and the last place along an axis; None if they may be anywhere."""


@dataclass(frozen=True, slots=True)
class Site:
    """The loops around a read or store, outermost first, and where it is along each axis."""

    loops: tuple[For | While, ...]
    part: tuple[Bounds, ...]

    def facts(self) -> list[Dim]:
        """What is not negative there."""
        return [f for loop in self.loops for f in _facts(loop)]

    def dims(self) -> list[Dim]:
        return [*self.facts(), *(d for bounds in self.part for d in bounds or ())]


@dataclass(eq=False, slots=True)
class Chain:
    """An array in one region: what it is there, one after the other, and the nodes that make each of the one before."""

    owner: Node
    """The loop or branch that the region is of."""
    parent: Chain | None = None
    """The array in the region around; None for a loop of the outermost one."""
    at: int = 0
    """Which step of the array around the owner is."""
    versions: list[Value] = field(default_factory=list)
    steps: list[Node] = field(default_factory=list)
    inner: dict[Node, list[Chain]] = field(default_factory=dict)
    """The array in each step that is a loop or a branch."""


def lasting(graph: Graph, loops: Iterable[For | While]) -> dict[Value, Node]:
    """For each value that stays in an array until its loop, of the outermost region, is left: how it is read there."""
    found: dict[Value, Node] = {}
    for loop in loops:
        work = _Loop(graph, loop)
        for k, out in enumerate(loop.outputs[: len(loop.carry)]):
            if isinstance(out.type, ArrayType):
                found |= work.kept(k)
    return found


class _Loop:
    """A loop of the outermost region.

    Attributes
    ----------
    known : dict
        By each loop in it: the symbols that are known before it starts, and so the same in all its trips.
    around : dict
        By each node: the loops around it, outermost first.
    region, made : dict
        By what an operation gives: where that is, and the operation.
    sizes : set of str
        The symbols that are lengths, which are not negative.
    """

    def __init__(self, graph: Graph, loop: For | While):
        self.loop = loop
        self.known: dict[Node, frozenset[str]] = {}
        self.around: dict[Node, tuple[For | While, ...]] = {}
        self.region: dict[Value, Graph] = {}
        self.made: dict[Value, Apply] = {}
        self.sites: dict[Apply, Site] = {}
        self.proved: dict[tuple[Site, Site, For | While | None], bool] = {}
        self.sizes: set[str] = set()
        before = [*graph.params, *(v for n in graph.nodes[: graph.nodes.index(loop)] for v in n.outputs)]
        self.enter(loop, (), self.noted(before))

    def noted(self, values: Iterable[Value]) -> set[str]:
        found = set[str]()
        for v in values:
            found |= type_symbols(v.type)
            if isinstance(v.type, ArrayType):
                self.sizes.update(d.symbol for d in v.type.shape if d.symbol)
        return found

    def enter(self, node: Node, loops: tuple[For | While, ...], seen: set[str]) -> None:
        if isinstance(node, For | While):
            self.known[node] = frozenset(seen)
            loops = (*loops, node)
        for inner in node_graphs(node):
            there = seen | self.noted(inner.params)
            for n in inner.nodes:
                self.around[n] = loops
                if isinstance(n, Apply):
                    self.region.update(dict.fromkeys(n.outputs, inner))
                    self.made.update(dict.fromkeys(n.outputs, n))
                if node_graphs(n):
                    self.enter(n, loops, there)
                there |= self.noted(n.outputs)

    # -- the array ----------------------------------------------------------------------------------

    def kept(self, k: int) -> dict[Value, Node]:
        """What stays in the array that the loop carries at a position."""
        place: dict[Value, tuple[Chain, int]] = {}
        chain = _chain(self.loop, self.loop.body, loop_params(self.loop)[k], self.loop.body.results[k], place)
        whole = self.loop.outputs[k]
        if chain is None or sum(1 for step in chain.steps for _ in _stores(chain, step)) > MOST:
            return {}
        found: dict[Value, Node] = {}
        for node in self.around:
            if not isinstance(node, Apply) or not node.inputs or node.inputs[0] not in place:
                continue
            if node.inputs[0].type != whole.type:
                continue
            if node.op.name == "getitem" and self.stays(*place[node.inputs[0]], self.site(node)):
                found[node.outputs[0]] = replace(node, inputs=(whole, *node.inputs[1:]))
            elif node.op.name == "setitem" and node.outputs[0] in place:
                value, *operands = node.inputs[1:]
                kind = selected_type(whole.type, node.attrs["view"], tuple(v.type for v in operands))
                follows = self.is_here(value, node) and all(self.follows(v, node) for v in operands)
                if follows and value.type == kind and self.stays(*place[node.outputs[0]], self.site(node)):
                    found[value] = replace(node, op=OPS["getitem"], inputs=(whole, *operands), outputs=(value,))
                    found |= self.negative(value)
        return found

    def negative(self, value: Value) -> dict[Value, Node]:
        """What a value is the negative of, from the value; nothing else can be told from a result without rounding."""
        made = self.made[value]
        of = made.inputs[0] if made.op.name == "neg" else None
        if of is None or self.region.get(of) is not self.region[value] or of.type != value.type:
            return {}
        return {of: replace(made, inputs=(value,), outputs=(of,))}

    def is_here(self, value: Value, store: Apply) -> bool:
        """Whether a value is computed where it is stored: once for each store, and whenever there is one."""
        return value in self.region and self.region[value] is self.region[store.outputs[0]]

    def follows(self, value: Value, node: Apply) -> bool:
        """Whether a place is told by indices of loops, and what is known before them: not by what is stored there."""
        dim = _dim(value)
        indices = (loop.body.params[0] for loop in self.around[node] if isinstance(loop, For))
        told = self.known[self.loop].union(*(type_symbols(v.type) for v in indices))
        return dim is not None and dim.symbols() <= told

    def stays(self, chain: Chain, version: int, site: Site) -> bool:
        """Whether no store after a version of the array can meet a site."""
        if all(b is None for b in site.part):
            return False
        above: Chain | None = chain
        while above is not None:
            after = dict.fromkeys(self.site(s) for step in above.steps[version:] for s in _stores(above, step))
            if not all(self.apart(site, store, None) for store in after):
                return False
            if isinstance(loop := above.owner, For | While):
                every = dict.fromkeys(self.site(s) for step in above.steps for s in _stores(above, step))
                if not all(self.apart(site, store, loop) for store in every):
                    return False
            version, above = above.at + 1, above.parent
        return True

    def site(self, node: Apply) -> Site:
        """Where a node reads or stores."""
        if node not in self.sites:
            operands = node.inputs[1 if node.op.name == "getitem" else 2 :]
            self.sites[node] = Site(self.around[node], tuple(_part(node.attrs["view"], operands)))
        return self.sites[node]

    def apart(self, site: Site, store: Site, loop: For | While | None) -> bool:
        """Whether a store, in the same trip or in a later one of a loop, is certainly elsewhere."""
        key = site, store, loop
        if key not in self.proved:
            self.proved[key] = self._apart(*key)
        return self.proved[key]

    def _apart(self, site: Site, store: Site, loop: For | While | None) -> bool:
        later: dict[str, Dim] = {}
        if loop is not None:
            own = {s for d in store.dims() for s in d.symbols()} - self.known[loop]
            later = {s: symbol(f"{s}'") for s in own}
        facts = [*site.facts(), *(substitute(f, later) for f in store.facts()), *_after(loop, later)]
        for one, other in zip(site.part, store.part, strict=True):
            if one is None or other is None:
                continue
            first, last = (substitute(d, later) for d in other)
            if self.proves(first - one[1] - 1, facts) or self.proves(one[0] - last - 1, facts):
                return True
        return False

    def proves(self, dim: Dim, facts: Sequence[Dim]) -> bool:
        near = dim.symbols().union(*(f.symbols() for f in facts))
        return prove_nonnegative(dim, [*facts, *(symbol(s) for s in near if s in self.sizes)])


def _chain(
    owner: Node, graph: Graph, first: Value | None, last: Value, place: dict[Value, tuple[Chain, int]]
) -> Chain | None:
    """An array in a region, from its end back to ``first``, or to what is from outside; None if that is lost."""
    made = {v: n for n in graph.nodes for v in n.outputs}
    chain, at = Chain(owner), last
    chain.versions.append(at)
    while at is not first and at in made:
        node = made[at]
        before = _before(node, at)
        if before is None:
            return None
        chain.steps.append(node)
        chain.versions.append(before)
        at = before
    if first is not None and at is not first:
        return None
    chain.versions.reverse()
    chain.steps.reverse()
    for k, version in enumerate(chain.versions):
        place.setdefault(version, (chain, k))
    return chain if all(_entered(chain, k, place) for k in range(len(chain.steps))) else None


def _before(node: Node, value: Value) -> Value | None:
    """The array that a node makes another version of."""
    match node:
        case Apply() if node.op.name in (*STORES, *SAME):
            return node.inputs[0]
        case For() | While():
            return node.carry[node.outputs.index(value)] if value in node.outputs[: len(node.carry)] else None
        case If():
            k = node.outputs.index(value)
            ends = {_origin(g, g.results[k]) for g in (node.then, node.orelse)}
            return ends.pop() if len(ends) == 1 else None
    return None


def _origin(graph: Graph, value: Value) -> Value | None:
    """The array from outside a branch that one of its results is a version of."""
    made = {v: n for n in graph.nodes for v in n.outputs}
    at: Value | None = value
    while at is not None and at in made:
        at = _before(made[at], at)
    return at


def _entered(chain: Chain, k: int, place: dict[Value, tuple[Chain, int]]) -> bool:
    """Follow the array into a step that is a loop or a branch."""
    step, made = chain.steps[k], chain.versions[k + 1]
    inner: list[Chain | None] = []
    if isinstance(step, For | While):
        j = step.outputs.index(made)
        inner = [_chain(step, step.body, loop_params(step)[j], step.body.results[j], place)]
    elif isinstance(step, If):
        j = step.outputs.index(made)
        inner = [_chain(step, g, None, g.results[j], place) for g in (step.then, step.orelse)]
    found = [c for c in inner if c is not None]
    for c in found:
        c.parent, c.at = chain, k
    chain.inner[step] = found
    return len(found) == len(inner)


def _stores(chain: Chain, step: Node) -> Iterator[Apply]:
    """The stores of a step into the array."""
    if isinstance(step, Apply):
        if step.op.name in STORES:
            yield step
        return
    for inner in chain.inner[step]:
        for s in inner.steps:
            yield from _stores(inner, s)


def _part(view: View, operands: Sequence[Value]) -> Iterator[Bounds]:
    """Where a read or store is along each axis."""
    for selector, own in zip(view.axes, split_operands(view, operands), strict=True):
        yield _bounds(selector, [_dim(v) for v in own])


def _bounds(selector: str | int, own: Sequence[Dim | None]) -> Bounds:
    if selector in (":", "s") or None in own:
        return None
    if selector == "i":
        return own[0], own[0]  # type: ignore[return-value]
    start, count = own
    end = start + (count - 1) * int(selector)  # type: ignore[operator]
    return (start, end) if int(selector) > 0 else (end, start)  # type: ignore[return-value]


def _dim(value: Value) -> Dim | None:
    return getattr(value.type, "value", None)


def _facts(loop: For | While) -> list[Dim]:
    """What is not negative in every trip of a loop."""
    if not isinstance(loop, For):
        return []
    at, start, stop, step = map(_dim, (loop.body.params[0], loop.start, loop.stop, loop.step))
    if at is None or step is None or step.const is None:
        return []
    up = step.const > 0
    first = [] if start is None else [at - start if up else start - at]
    last = [] if stop is None else [stop - 1 - at if up else at - stop - 1]
    return [*first, *last]


def _after(loop: For | While | None, later: Mapping[str, Dim]) -> list[Dim]:
    """What is not negative of the indices of a trip and of a later one."""
    if not isinstance(loop, For):
        return []
    at, step = _dim(loop.body.params[0]), _dim(loop.step)
    if at is None or step is None or not step.const:
        return []
    then = substitute(at, later)
    return [then - at - step if step.const > 0 else at - then + step]
