"""Loops that compute numbers, each step of those of the one before: those that each step of another loop has, and which
of these could take their steps together."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence, Set
from typing import TypeAlias

from srcgraph.ir.closure import free_values
from srcgraph.ir.dims import coefficient
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.types import ScalarType, is_complex, is_integer
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.fuse import reads
from srcgraph.opt.licm import is_costly, is_pure
from srcgraph.opt.tables import free_nodes, goes_by_ones, is_dear, is_float_number, is_sum, steps_of

FEW = 8
"""So few elements, or steps, are not worth it."""
MOST = 24
"""So many numbers of an element are handed on, at most."""
SLOW = 10
"""A step that waits for so many of the CPU's cycles is slow."""
SHORT, SLOW_OF_FEW = 16, 25
"""Where there are so few steps, those of the next element begin before they end: so many cycles."""
OTHERS = frozenset(("sqrt", "floor", "ceil", "trunc", "rint", "copysign", "fabs", "ndtr", "expit", "log_expit"))
"""What the machine, or `srcgraph.runtime.vector`, computes for several numbers, besides `SEVERAL`."""
CHECKS = ("check_that", "check_nonzero")
"""What may raise in a step; the second passes on what it checks."""
Inner: TypeAlias = For | While


def chains_in(loop: For) -> Iterator[Chain]:
    """Those in a loop that its steps do not wait for each other with."""
    if loop.stops or not goes_by_ones(loop) or (steps_of(loop) or FEW + 1) <= FEW:
        return
    inner = [n for n in loop.body.nodes if isinstance(n, For | While)]
    if inner:
        free = free_nodes(loop, divisors=True)
        own = set(loop.body.params)
        for node in loop.body.nodes:
            if node not in free or not own.isdisjoint(node.inputs):
                own.update(node.outputs)
        there = {v for n in free for v in n.outputs} | {loop.body.params[0]}
        for node in inner:
            chain = Chain(loop, node, free, own)
            if (chain.asks_for() & own) <= there and chain.fits():
                yield chain


class Chain:
    """A loop that each step of another one, which is an element's, has, and what its own steps read.

    Attributes
    ----------
    levels : list
        The loop if it is a `for`, and where it does nothing but to run another one, this, and so on.
    indices : set of Value
        The numbers of their steps.
    steps : list of Node
        What is done in each step of the last of them.
    params, results : sequence of Value
        The numbers that a step gets and hands on.
    left : list of bool
        Which of them its steps do not read.
    kept : list of int
        Which of them may differ, once a step is taken.
    known : list of Apply
        The nodes that compute what is there before its first step, in order.
    own, same : list of Value
        What its steps read of that: what each element has of its own, and what all have.
    again : list of Apply
        Elements of arrays, which are read in each step, and numbers beside the element's.
    asked : list of Apply
        The checks that can be made before its first step.
    """

    def __init__(self, loop: For, inner: Inner, free: list[Apply], own: set[Value]):
        self.loop, self.inner = loop, inner
        self.levels = _levels(inner) if isinstance(inner, For) else []
        last = self.levels[-1] if self.levels else inner
        self.graphs = node_graphs(last)
        self.between = [n for level in self.levels[:-1] for n in level.body.nodes if isinstance(n, Apply)]
        self.steps = [*self.between, *(n for g in self.graphs for n in g.nodes)]
        self.indices = {level.body.params[0] for level in self.levels}
        body = last.body
        self.params, self.results = (body.params if isinstance(inner, While) else body.params[1:]), body.results
        self.left = _left(last)
        literals = {v for n in body.nodes if isinstance(n, Apply) and n.op.name == "const" for v in n.outputs}
        self.kept = [k for k, p in enumerate(self.left) if not (p and self.results[k] in literals)]
        still = _still(self.graphs, {*self.indices, *(v for n in self.between for v in n.outputs)})
        self.known = [*free, *(n for n in self.between if n.op.name == "const"), *still]
        self.there = {n for n in still if n.op.name != "const"}
        self.varying = set(own)
        for node in still:
            if not self.varying.isdisjoint(node.inputs):
                self.varying.update(node.outputs)
        made = {n.outputs[0]: n for n in self.known if n.op.name != "const"}
        self.inside = {v for n in (loop, *all_nodes(loop.body)) for g in node_graphs(n) for v in g.params}
        self.inside.update(v for n in all_nodes(loop.body) for v in n.outputs)
        inside = [n for g in self.graphs for n in all_nodes(g) if n not in self.there] + self.between
        self.asked = [n for n in inside if isinstance(n, Apply) and _is_check(n) and n.inputs[0] in made]
        read = [v for n in inside if n not in self.asked or n.op.name != "check_that" for v in node_inputs(n)]
        read += [v for n in (last, *inside) for g in node_graphs(n) for v in g.results]
        found = [v for v in dict.fromkeys(read) if v in made]
        self.same = [v for v in found if v not in self.varying]
        self.again = [made[v] for v in found if v in self.varying and self._is_near(made[v], own)]
        again = {v for n in self.again for v in n.outputs}
        self.own = [v for v in found if v in self.varying and v not in again]

    def _is_near(self, node: Apply, own: Container[Value]) -> bool:
        """Whether a node is quicker to compute anew than to look up."""
        return self.is_in_row(node.outputs[0]) or self._is_element(node, own)

    def is_in_row(self, value: Value) -> bool:
        """Whether an integer is one more for the next element, or one less, and else the same in each step."""
        index, known = self.loop.body.params[0].type.value, is_integer(value.type) and value.type.value
        if not known or index is None or coefficient(known, index.symbol) not in (1, -1):
            return False
        numbers = (v.type.value for v in self.varying if is_integer(v.type))
        others = {n.symbol for n in numbers if n is not None} - {index.symbol}
        return others.isdisjoint(known.symbols())

    def _is_element(self, node: Apply, own: Container[Value]) -> bool:
        """Whether a node reads the next element of an array in each step of the loop around."""
        if node.op.name != "getitem" or node.attrs["view"] != element(len(node.inputs) - 1):
            return False
        array, *outer, last = node.inputs
        there = array not in self.inside and not any(v in own for v in outer)
        return there and last is self.loop.body.params[0]

    def asks_for(self) -> set[Value]:
        """What its steps read, at any depth, and where it begins, but for numbers that it only leaves."""
        inner = self.inner
        begins = {v for v, left in zip(inner.carry, self.left, strict=True) if not left}
        bounds = {inner.start, inner.stop, inner.step} if isinstance(inner, For) else set()
        return begins | bounds | {v for g in node_graphs(inner) for v in free_values(g)}

    # -- whether it can be done, and pays -------------------------------------------------------

    def fits(self) -> bool:
        """Whether several elements' steps can be taken at once, whichever of them go on, and whether that pays."""
        numbers = [*self.inner.carry, *self.own, *self.same, *(v for n in self.again for v in n.outputs)]
        if not self.inner.carry or len(self.inner.carry) > MOST or not all(map(is_number, numbers)):
            return False
        if len(self.levels) > 1:
            return False
        handed = zip(self.params, self.results, strict=False)
        if isinstance(self.inner, For):
            may_end = self.inner.stops or has_order(self.inner)  # else see `srcgraph.opt.abreast`
            if not may_end or not self.has_same_steps():
                return False
            handed = ((p, r) for p, r in handed if self.inner.stops or not is_sum(self.inner, p, r))
        return any(is_float_number(p) for p, _ in handed) and self.are_lanes()

    def has_same_steps(self) -> bool:
        """Whether all elements have the same steps of a `for`, and not few."""
        few = all((steps_of(level) or FEW + 1) <= FEW for level in self.levels)
        same = (goes_by_ones(n) and not (n.lanes or {n.start, n.stop} & self.varying) for n in self.levels)
        return not few and all(same)

    def are_lanes(self, arrays: Container[Value] = (), along: bool = False) -> bool:
        """Whether the nodes of a step can be computed for elements that do not ask for them.

        Parameters
        ----------
        arrays : container of Value
            Arrays whose elements each element has of its own.
        along : bool
            Whether it may read from arrays what is at its number on one of their axes.
        """
        same = set(self.indices)
        if any(v in arrays for n in self.there for v in n.inputs):
            return False
        for node in (n for n in self.steps if n not in self.there):
            if isinstance(node, Apply) and node.inputs and node.inputs[0] in arrays:
                continue
            if not self.is_lane(node) and not self._reads_the_same(node, same, along):
                return False
            if isinstance(node, Apply) and all(v in same or _is_known(v) or self._is_same(v) for v in node.inputs):
                same.update(node.outputs)
        return _counts(self, along)

    def _reads_the_same(self, node: Node, same: Container[Value], along: bool) -> bool:
        """Whether a node looks up an element that is the same for all that are taken together, or theirs in a row."""
        match node:
            case Apply(op=op, inputs=(array, *places)) if op.name == "getitem":
                number = is_number(node.outputs[0]) and array not in self.varying
                if along and (row := next((v for v in reversed(places) if self.is_in_row(v)), None)) is not None:
                    places = tuple(v for v in places if v is not row)
                return number and all(v in same or _is_known(v) or self._is_same(v) for v in places)
        return False

    def slow(self) -> bool:
        """Whether a step waits for the one before so long that several elements' are quicker together."""
        waits = {p: 0 for p in self.params if is_float_number(p)}

        def walk(graph: Graph) -> None:
            for node in graph.nodes:
                for inner in node_graphs(node):
                    walk(inner)
                found = [waits[v] for v in reads(node) if v in waits]
                found += [waits[v] for g in node_graphs(node) for v in g.results if v in waits]
                if found:
                    waits.update(dict.fromkeys(node.outputs, max(found) + cycles(node)))

        walk(self.levels[-1].body if self.levels else self.inner.body)
        few = (steps_of(self.levels[-1]) or SHORT + 1) <= SHORT if self.levels else False
        return any(waits.get(r, 0) >= (SLOW_OF_FEW if few else SLOW) for r in self.results)

    def _is_same(self, value: Value) -> bool:
        """Whether a value is there before the loop around, or one of those that are the same in all its steps."""
        return value in self.same or value not in self.inside

    def is_lane(self, node: Node) -> bool:
        if node in self.there:
            return True
        if isinstance(node, If):
            return not has_order(node) and all(self.is_lane(n) for g in node_graphs(node) for n in g.nodes)
        if not isinstance(node, Apply) or not all(map(is_number, (*node.inputs, *node.outputs))):
            return False
        if node.op.name == "const" or _is_check(node):
            return True
        if node.op.name in ("floordiv", "mod") and not is_float_number(node.outputs[0]):
            return _is_power_of_two(node.inputs[1])
        return node.op.kind == "elementwise" and (not is_costly(node) or node.op.name in OTHERS or is_dear(node))


def cycles(node: Node) -> int:
    """How long, about, what reads the result of a node waits for it."""
    if not isinstance(node, Apply) or node.op.name in ("cast", "neg", "where"):
        return 1
    if node.op.name in ("div", "sqrt"):
        return 14
    return 30 if is_costly(node) else 4


def _left(loop: Inner) -> list[bool]:
    """Which of the numbers that a `for` hands on its steps do not read."""
    if isinstance(loop, While):
        return [False] * len(loop.carry)
    read = {v for n in loop.body.nodes for v in reads(n)} | set(loop.body.results)
    return [p not in read for p in loop.body.params[1:]]


def _levels(inner: For) -> list[For]:
    """A loop, and those that are all that the one around them does, but to compute places."""
    found = [inner]
    while inner.body.nodes and isinstance(last := inner.body.nodes[-1], For) and _is_all(last, inner):
        found.append(inner := last)
    return found


def _is_all(last: For, inner: For) -> bool:
    """Whether the last node of a loop is a loop whose steps are known before both, and that hands on what it does."""
    handed = {*inner.body.params[1:]}
    if last.carry != inner.body.params[1:] or inner.body.results != last.outputs:
        return False
    if inner.stops or last.stops or not all(map(is_number, handed)):
        return False
    made = {*inner.body.params}
    for node in inner.body.nodes[:-1]:
        if not isinstance(node, Apply) or not is_pure(node) or not all(map(is_number, node.outputs)):
            return False
        if not handed.isdisjoint(node.inputs):
            return False
        made.update(() if node.op.name == "const" else node.outputs)
    return made.isdisjoint((last.start, last.stop, last.step))


def _still(graphs: Sequence[Graph], varying: Set[Value]) -> list[Apply]:
    """The nodes of a loop's steps that compute the same in each, at every depth."""
    changing = {*varying, *(v for g in graphs for v in g.params)}
    found: list[Apply] = []

    def walk(graph: Graph) -> None:
        for node in graph.nodes:
            if isinstance(node, If):
                walk(node.then)
                walk(node.orelse)
            if isinstance(node, Apply) and is_pure(node) and changing.isdisjoint(node.inputs):
                found.append(node)
            else:
                changing.update(node.outputs)

    for graph in graphs:
        walk(graph)
    return found


# -- integers ---------------------------------------------------------------------------------------

_LARGE = 2**53
"""What is counted up to before anything ends: Python's integers would raise where they need more than 64 bits."""
_PICKED = frozenset(("where", "minimum", "maximum", "cast", "sign", "floordiv", "mod"))


def _counts(chain: Chain, places: bool) -> bool:
    """Whether the steps of a loop do no more with Python's integers than to count by ones, or by other literals.

    ``places``: or to compute what is known to be a place, where all elements have all steps.
    """
    inner, kept = chain.inner, set(chain.kept)
    small = {
        p
        for k, p in enumerate(chain.params)
        if _is_int(p) and (k not in kept or chain.left[k] or _is_small(inner.carry[k]))
    }
    small |= chain.indices
    if isinstance(inner, While):
        small |= {q for p, q in zip(inner.body.params, inner.cond.params, strict=True) if p in small}
    steps = (n for n in chain.steps if n not in chain.there)
    if not all(_keeps_small(n, small) or (places and _is_place(n)) for n in steps):
        return False
    handed = zip(chain.params, chain.results, strict=False)
    return all(r in small or _is_small(r) for p, r in handed if p in small)


def _keeps_small(node: Node, small: set[Value]) -> bool:
    """Whether a node computes no integer that may be large of others; ``small`` gets those that are not."""
    if isinstance(node, If):
        if not all(_keeps_small(n, small) for g in node_graphs(node) for n in g.nodes):
            return False
        for out, *sides in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
            if all(v in small or _is_small(v) for v in sides):
                small.add(out)
        return True
    if not isinstance(node, Apply) or not _is_int(node.outputs[0]):
        return True
    numbers = [v for v in node.inputs if is_integer(v.type)]
    fits = all(v in small or _is_small(v) for v in numbers)
    if node.op.name in ("add", "sub"):
        fits = fits and any(map(_is_small, numbers))
    elif node.op.name not in _PICKED and node.op.name != "const":
        return False
    if fits:
        small.update(node.outputs)
    return fits or node.op.name not in ("add", "sub")


def _is_place(node: Node) -> bool:
    """Whether a node computes an integer that is a sum of lengths and numbers of loops."""
    return isinstance(node, Apply) and len(node.outputs) == 1 and node.outputs[0].type.value is not None


def _is_int(value: Value) -> bool:
    """Whether a value is one of Python's integers."""
    return isinstance(value.type, ScalarType) and is_integer(value.type) and value.type.weak


def _is_small(value: Value) -> bool:
    return _is_known(value) and abs(value.type.value.const) < _LARGE


# -- what nodes are ---------------------------------------------------------------------------------


def _is_check(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.name in CHECKS


def _is_known(value: Value) -> bool:
    return is_integer(value.type) and value.type.value is not None and value.type.value.const is not None


def _is_power_of_two(value: Value) -> bool:
    return _is_known(value) and value.type.value.const > 0 and value.type.value.const.bit_count() == 1


def is_number(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and not is_complex(value.type)
