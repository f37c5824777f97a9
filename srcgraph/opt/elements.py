"""Loops over elements that have loops of the same steps: which of them can be exchanged with these, see `abreast`."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from srcgraph.ir.closure import free_values
from srcgraph.ir.dims import coefficient
from srcgraph.ir.graph import Apply, For, Graph, Node, Value
from srcgraph.ir.types import ArrayType, type_symbols
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.chains import FEW, MOST, Chain, is_number
from srcgraph.opt.fuse import reads
from srcgraph.opt.interchanged import Access, access, place_of
from srcgraph.opt.licm import is_pure
from srcgraph.opt.masked import LANES
from srcgraph.opt.modes import current_mode, current_target
from srcgraph.opt.tables import goes_by_ones, is_float_number, is_sum, passes_divisor, steps_of
from srcgraph.opt.together import added_states

WIDE = 512
"""Of so many elements steps are taken together that wait for nothing: long rows are quicker to read."""
MANY = 64
"""LLVM does not write out so many terms of a sum one after the other."""
TILES = 6
"""So many elements of arrays that lie apart are fetched, or stored, in a step, at most."""
TAPES = ("getitem", "setitem")
OWN = ("getitem", "setitem", "add_at")


class Body:
    """What the body of a loop over elements does.

    Attributes
    ----------
    chains : dict
        The loops in it, and what their steps read.
    tapes : set of Value
        Arrays that a step makes for itself, as they are made and changed.
    own : dict
        Arrays that are handed on and of which each step uses elements of its own alone, and what becomes of each.
    sums : set of Value
        Numbers handed on that loops add to, as their bodies' are.
    far : dict
        What loops read of arrays, and store, that does not lie beside that of the next element.
    before : dict
        What is done, before a loop and after the one before it, with elements of arrays that loops change.
    """

    def __init__(self, loop: For, turned: Container[Value]):
        self.loop, self.turned = loop, turned
        self.index, *self.carry = loop.body.params
        self.chains: dict[For, Chain] = {}
        self.tapes: set[Value] = set()
        self.own: dict[Value, set[Value]] = {}
        self.far: dict[For, list[Apply]] = {}
        self.sums: set[Value] = set()
        self.free: list[Apply] = []
        self.before: dict[For, list[Apply]] = {}

    def fits(self) -> bool:
        """Whether its loops can be exchanged with it, and whether that pays."""
        loop = self.loop
        if loop.stops or not goes_by_ones(loop) or (steps_of(loop) or FEW + 1) <= FEW:
            return False
        if not any(isinstance(n, For) for n in loop.body.nodes):
            return False
        for param, result in zip(self.carry, loop.body.results, strict=False):
            if isinstance(param.type, ArrayType):
                states = _versions(loop.body, param, OWN, self.index) or _used_far(loop.body, param, self.index)
                if states is not None and result in states:
                    self.own[param] = states
        return self._is_read_in_order() and self._pays()

    def _is_read_in_order(self) -> bool:
        """Go through the body; whether all loops in it wait for nothing but each other."""
        waiting = {p for p in self.carry if p not in self.own}
        varying = {self.index, *self.carry}
        between = _Between(self._changed())
        for node in self.loop.body.nodes:
            if isinstance(node, For):
                chain = Chain(self.loop, node, list(self.free), set(varying))
                if not self._is_exchanged(chain, node, waiting) or not between.ends(node):
                    return False
                self.chains[node], self.before[node] = chain, between.nodes
                self.far[node] = list(self._far(chain))
                between = _Between(between.changed, between.before | between.made)
                varying.update(node.outputs)
                waiting.update(o for k, o in enumerate(node.outputs) if self.kind(node, k) == "sum")
                continue
            if not isinstance(node, Apply) or (between.changed and has_order(node)):
                return False
            if self._makes_tape(node, varying):
                continue
            if not between.before.isdisjoint(reads(node)):
                return False
            if between.has(node):
                between.take(node, waiting)
                varying.update(node.outputs)
                continue
            if node.op.kind == "update" and node.inputs[0] in self.tapes:
                return False
            if (is_pure(node) or passes_divisor(node)) and waiting.isdisjoint(reads(node)):
                self.free.append(node)
            else:
                waiting.update(node.outputs)
            if not varying.isdisjoint(node.inputs) or node.outputs[0] in waiting:
                varying.update(node.outputs)
        return bool(self.chains)

    def _changed(self) -> set[Value]:
        """The arrays of the elements that loops change, and all that they are meanwhile."""
        carried = {v for n in self.loop.body.nodes if isinstance(n, For) for v in n.carry}
        return set().union(*(s for s in self.own.values() if not s.isdisjoint(carried)))

    def _makes_tape(self, node: Apply, varying: set[Value]) -> bool:
        if node.op.name != "empty" or not varying.isdisjoint(node.inputs):
            return False
        states = _versions(self.loop.body, node.outputs[0], TAPES, None)
        if states is None or not states.isdisjoint(self.loop.body.results):
            return False
        self.tapes |= states
        return True

    def kind(self, inner: For, k: int) -> str:
        """What a loop hands on: a "number", a "sum", a "tape", or elements of an array that are an element's "own"."""
        init = inner.carry[k]
        if init in self.tapes:
            return "tape"
        if isinstance(init.type, ArrayType):
            return "own"
        return "sum" if inner.body.params[k + 1] in self.sums else "number"

    def _is_exchanged(self, chain: Chain, inner: For, waiting: set[Value]) -> bool:
        """Whether the steps of a loop in it can be taken for many elements."""
        if inner.stops or has_order(inner) or not chain.has_same_steps():
            return False
        for k, init in enumerate(inner.carry):
            if init in waiting and self._is_added_up(chain, k):
                self.sums.update((inner.body.params[k + 1], chain.params[k]))
            elif init in waiting or (self.kind(inner, k) == "own" and not any(init in s for s in self.own.values())):
                return False
        numbers = [v for k, v in enumerate(inner.carry) if self.kind(inner, k) in ("number", "sum")]
        if len(numbers) > MOST or not all(map(is_number, (*numbers, *chain.own, *chain.same))):
            return False
        arrays = self.tapes.union(*self.own.values())
        return waiting.isdisjoint(reads(inner) - set(inner.carry)) and chain.are_lanes(arrays, along=True)

    def _is_added_up(self, chain: Chain, k: int) -> bool:
        """Whether a loop only adds to a number that it hands on, which may be done in any order."""
        inner, param, result = chain.levels[-1], chain.params[k], chain.results[k]
        if not is_float_number(param) or param is result or any(result in reads(n) for n in inner.body.nodes):
            return False
        if "reassoc" in current_mode().fastmath and is_sum(inner, param, result):
            return True
        return added_states(inner.body, param, result) is not None

    @property
    def width(self) -> int:
        """Of how many elements the steps are taken together: few, where that leaves parts for all cores."""
        return LANES if self._waits() or current_target().parallel else WIDE

    def _far(self, chain: Chain) -> Iterator[Apply]:
        """What a loop reads, and stores, that does not lie beside that of the next element."""
        along = self.index.type.value.symbol
        own = set().union(*self.own.values())
        for node in chain.levels[-1].body.nodes:
            if not isinstance(node, Apply) or node.op.name not in OWN or node in chain.there:
                continue
            array, places = node.inputs[0], place_of(node)
            in_row = any(map(chain.is_in_row, places))
            use = self._use(node) if in_row and array not in self.tapes else None
            if use is not None and use.is_far(along) and (array in own or node.op.name == "getitem"):
                yield node

    def _is_another_each(self, chain: Chain, node: Apply) -> bool:
        """Whether each step uses another element of an array that is stored into."""
        last = chain.levels[-1]
        index = last.body.params[0].type.value
        same = frozenset().union(*(type_symbols(v.type) for v in free_values(last.body))) - {index.symbol}
        for place in (v.type.value for v in place_of(node)):
            rate = coefficient(place, index.symbol)
            if rate and (place - index * rate).symbols() <= same:
                return True
        return False

    def _pays(self) -> bool:
        """Whether the steps of some loop wait for each other, or what they read is nearer in the next loop."""
        if any(self.far.values()):  # what lies apart has to be fetched first
            own = set().union(*self.own.values())
            used = ((self.chains[loop], n) for loop, far in self.far.items() for n in far if n.inputs[0] in own)
            if not all(self._is_another_each(chain, n) for chain, n in used):
                return False
            return all(c.slow() and _arrays(self.far[n]) <= TILES for n, c in self.chains.items() if self.far[n])
        return self._waits() or any(self._goes_down(c) or self._adds_along(c) for c in self.chains.values())

    def _goes_down(self, chain: Chain) -> bool:
        """Whether most of what a loop reads and stores lies beside that of the next element, not of its next step."""
        index, along = (v.type.value.symbol for v in (chain.levels[-1].body.params[0], self.index))
        if index is None or along is None:
            return False
        uses = [u for n in _inside(chain) if (u := self._use(n)) is not None]
        return sum(u.is_far(index) for u in uses) > sum(u.is_far(along) for u in uses)

    def _adds_along(self, chain: Chain) -> bool:
        """Whether a loop adds up in its order, more than a few terms, and what it reads lies beside that of the next
        element."""
        along = self.index.type.value.symbol
        if along is None or "reassoc" in current_mode().fastmath:
            return False
        steps = [steps_of(level) or MANY for level in chain.levels]
        if math.prod(steps) < MANY or max(steps) <= FEW:
            return False
        numbers = [p for p, r in self._handed(chain) if is_sum(chain.levels[-1], p, r)]
        nodes = [n for n in _inside(chain) if isinstance(n, Apply) and n.op.name in OWN]
        uses = [self._use(n) for n in nodes]
        return bool(numbers) and all(u is not None and not u.is_far(along) for u in uses)

    def _use(self, node: Node) -> Access | None:
        return access(node, self.turned) if isinstance(node, Apply) and node.op.name in OWN else None

    def _waits(self) -> bool:
        """Whether the steps of some loop wait for each other."""
        return any(not is_sum(c.levels[-1], p, r) for c in self.chains.values() for p, r in self._handed(c))

    def _handed(self, chain: Chain) -> Iterator[tuple[Value, Value]]:
        """The floats that the steps of a loop hand on in their order, as a step gets and leaves them."""
        handed = zip(chain.params, chain.results, strict=False)
        return ((p, r) for p, r in handed if is_float_number(p) and p not in self.sums)


def _arrays(far: Sequence[Apply]) -> int:
    """How many tiles elements that lie apart need, at most."""
    return sum(n.op.name == "getitem" for n in far) + len({place_of(n) for n in far if n.op.name != "getitem"})


def _inside(chain: Chain) -> Iterator[Node]:
    """The nodes of a step, at every depth."""
    return all_nodes(chain.levels[-1].body)


@dataclass(slots=True)
class _Between:
    """What is done with elements of the arrays that loops change between two loops.

    Attributes
    ----------
    changed : set of Value
        These arrays, and all that they are meanwhile.
    before : set of Value
        Numbers that were computed of their elements before an earlier loop; these are not kept.
    nodes : list of Apply
    made : set of Value
        The numbers that are computed of such elements.
    last : bool
        Whether no loop may follow.
    """

    changed: set[Value]
    before: set[Value] = field(default_factory=set)
    nodes: list[Apply] = field(default_factory=list)
    made: set[Value] = field(default_factory=set)
    last: bool = False

    def has(self, node: Apply) -> bool:
        return not (self.changed | self.made).isdisjoint(reads(node))

    def take(self, node: Apply, waiting: set[Value]) -> None:
        stores = node.op.name in OWN and node.inputs[0] in self.changed
        self.last = self.last or not (stores or is_pure(node)) or not waiting.isdisjoint(reads(node))
        self.nodes.append(node)
        self.made.update(v for v in node.outputs if v not in self.changed)

    def ends(self, loop: For) -> bool:
        """Whether a loop may follow."""
        return not self.last and (self.before | self.made).isdisjoint(reads(loop))


def _versions(graph: Graph, array: Value, ops: Sequence[str], index: Value | None) -> set[Value] | None:
    """An array as it is and changed, at every depth; None if more is done with it than to use elements of it, at an
    index if there is one: on the last axis, as what is done along others takes longer than what is gained."""
    states = {array}

    def walk(graph: Graph) -> bool:
        for node in graph.nodes:
            if isinstance(node, For):
                for k, init in enumerate(node.carry):
                    if init in states:
                        states.add(node.body.params[k + 1])
                if not walk(node.body):
                    return False
                for k, init in enumerate(node.carry):
                    if (init in states) != (node.body.results[k] in states):
                        return False
                    if init in states:
                        states.add(node.outputs[k])
            elif not states.isdisjoint(reads(node)):
                if not isinstance(node, Apply) or node.op.name not in ops or not _is_element(node, states, index):
                    return False
                if node.op.name != "getitem":
                    states.add(node.outputs[0])
        return True

    return states if walk(graph) else None


def _used_far(graph: Graph, array: Value, index: Value) -> set[Value] | None:
    """As `_versions`, of an array whose elements are used at an index on another axis, one in each step of a loop."""
    states = _versions(graph, array, OWN, None)
    if states is None:
        return None
    axes: set[int] = set()

    def walk(graph: Graph, is_loop: bool) -> bool:
        places: set[tuple[Value, ...]] = set()
        for node in graph.nodes:
            if isinstance(node, For) and not walk(node.body, True):
                return False
            if isinstance(node, Apply) and node.inputs and node.inputs[0] in states:
                places.add(place := place_of(node))
                if place.count(index) != 1:
                    return False
                axes.add(place.index(index))
        return len(places) <= 1 or not is_loop

    return states if walk(graph, False) and len(axes) == 1 else None


def _is_element(node: Apply, states: set[Value], index: Value | None) -> bool:
    array, *others = node.inputs
    if array not in states or not states.isdisjoint(others) or node.attrs["view"] != element(array.type.ndim):
        return False
    places = others if node.op.name == "getitem" else others[1:]
    return index is None or places[-1] is index
