"""What is known of integers and conditions where code is being built: the regions, and the facts of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from srcgraph.ir.dims import Dim, as_dim, prove_nonnegative, symbol
from srcgraph.ir.graph import Apply, Graph, Node, Value


@dataclass(eq=False, slots=True)
class Region:
    """Nodes under construction, and what is known and named inside them."""

    params: tuple[Value, ...] = ()
    nodes: list[Node] = field(default_factory=list)
    merged: dict[Any, tuple[Value, ...]] = field(default_factory=dict)
    integers: dict[Any, Value] = field(default_factory=dict)
    sizes: dict[str, tuple[Value, int]] = field(default_factory=dict)
    known: list[Dim] = field(default_factory=list)
    born: set[str] = field(default_factory=set)
    truths: dict[Value, bool] = field(default_factory=dict)
    """Conditions that are known to hold here, or not to."""
    promised: dict[Value, Value] = field(default_factory=dict)
    """What stands for a value of which the user promises facts."""

    def take_last(self) -> Node:
        """Remove the last node and return it; no later node is merged with it."""
        node = self.nodes.pop()
        for key in [k for k, outputs in self.merged.items() if outputs == node.outputs]:
            del self.merged[key]
        return node

    def graph(self, name: str, results: Sequence[Value]) -> Graph:
        return Graph(name, self.params, tuple(self.nodes), tuple(results))


class Facts:
    """Regions inside each other, and what is known in the innermost."""

    def __init__(self) -> None:
        self.regions = [Region()]
        self.sizes_not_one: set[Dim] = set()
        self.implied: dict[Value, tuple[Value, bool]] = {}
        """Tests that are ``a and b``, or ``a or b``, by the ``a`` that decides, and which of the two."""
        self._definitions: dict[Value, Apply] = {}
        self._blocks: dict[Value, Node] = {}

    @property
    def region(self) -> Region:
        return self.regions[-1]

    def definition(self, value: Value) -> Apply | None:
        """The node built here that defines ``value``."""
        return self._definitions.get(value)

    def block_of(self, value: Value) -> Node | None:
        """The loop, branch or call built here that gives ``value``."""
        return self._blocks.get(value)

    def proves(self, dim: Dim) -> bool:
        """Whether ``dim >= 0`` is known to hold in the current region."""
        return prove_nonnegative(dim, [k for r in self.regions for k in r.known])

    def same(self, x: Dim, y: Dim) -> bool:
        """Whether two sizes are known to be equal in the current region."""
        return x == y or (self.proves(x - y) and self.proves(y - x))

    def proves_below(self, dim: Dim, bound: int) -> bool:
        """Whether ``-bound < dim < bound`` is known; every size is below ``bound``, which memory does not hold."""
        sizes = [bound - symbol(name) for r in self.regions for name in r.sizes]
        known = [*sizes, *(k for r in self.regions for k in r.known)]
        return prove_nonnegative(bound - 1 - dim, known) and prove_nonnegative(dim + bound - 1, known)

    def learn(self, *dims: Dim) -> None:
        """Record that each of ``dims`` is nonnegative from here on in this region."""
        self.region.known.extend(dims)

    def learn_from(self, node: Apply) -> None:
        """Record what is known once a node has run."""
        if node.op.learn:
            self.learn(*node.op.learn(node.outputs[0], *node.inputs))
        for k in node.op.ensures:
            self.learn_condition(node.inputs[k], True)

    def learn_condition(self, cond: Value, holds: bool) -> None:
        """Record that a condition is known to hold, or not to, and what comparisons of integers say then."""
        if self.region.truths.get(cond) is holds:
            return  # a condition may imply itself
        self.region.truths[cond] = holds
        first = self.implied.get(cond)
        if first is not None and first[1] is holds:
            self.learn_condition(first[0], holds)
        node = self.definition(cond)
        if node is None:
            return
        name = node.op.name
        if name == "cast" and node.inputs[0].type.dtype.kind == "b":
            self.learn_condition(node.inputs[0], holds)
        elif name == "logical_not":
            self.learn_condition(node.inputs[0], not holds)
        elif name == ("logical_and" if holds else "logical_or"):
            for operand in node.inputs:
                self.learn_condition(operand, holds)
        elif name in COMPARISONS:
            x, y = (getattr(v.type, "value", None) for v in node.inputs)
            if x is not None and y is not None:
                self.learn(*COMPARISONS[name if holds else OPPOSITE[name]](x, y))
                if name == ("not_equal" if holds else "equal"):
                    self.learn_apart(x, y)

    def known_truth(self, cond: Value) -> bool | None:
        """Whether a condition is known to hold here; None if that is not known."""
        return next((r.truths[cond] for r in reversed(self.regions) if cond in r.truths), None)

    def compares(self, name: str, x: Value, y: Value) -> bool | None:
        """How a comparison of integers comes out; None if that is not known here."""
        a, b = (getattr(v.type, "value", None) for v in (x, y))
        if a is None or b is None:
            return None
        for asked, holds in ((name, True), (OPPOSITE[name], False)):
            if asked == "not_equal":
                known = self.proves(a - b - 1) or self.proves(b - a - 1)
            else:
                known = all(map(self.proves, COMPARISONS[asked](a, b)))
            if known:
                return holds
        return None

    def promised(self, value: Value) -> Value:
        """A value as it is known here: with the facts that the user promises of it."""
        return next((r.promised[value] for r in reversed(self.regions) if value in r.promised), value)

    def learn_apart(self, x: Dim, y: Dim) -> None:
        """Record that two integers differ, where it is known which is not the smaller."""
        for more, less in ((x, y), (y, x)):
            if self.proves(more - less):
                self.learn(more - less - 1)

    def learn_joined(self, out: Dim, ways: Sequence[tuple[Dim, Region]]) -> None:
        """Record what limits an integer that has one value or another, each of them where another region ends."""
        born = frozenset[str]().union(*(region.born for _, region in ways))
        here = [k for r in self.regions for k in r.known]
        for sign in (1, -1):
            limits = {as_dim(0): None, **{m: None for value, region in ways for m in _limits(value, region, sign)}}
            for limit in limits:
                if limit.symbols().isdisjoint(born) and all(
                    prove_nonnegative((value - limit) * sign, [*here, *region.known]) for value, region in ways
                ):
                    self.learn((out - limit) * sign)

    def not_one(self, dim: Dim) -> bool:
        """Whether a size is known not to be 1, so that it cannot be stretched."""
        if dim.const is not None:
            return dim.const != 1
        return dim in self.sizes_not_one or self.proves(dim - 2)


def _limits(value: Dim, region: Region, sign: int) -> list[Dim]:
    """Some integers that a value is not below, or not above, by what is known where a region ends."""
    found = [value - fact * sign for fact in region.known]
    return [value, *(limit for limit in found if not value.symbols() <= limit.symbols())]


COMPARISONS = {
    "less": lambda x, y: [y - x - 1],
    "less_equal": lambda x, y: [y - x],
    "greater": lambda x, y: [x - y - 1],
    "greater_equal": lambda x, y: [x - y],
    "equal": lambda x, y: [x - y, y - x],
    "not_equal": lambda x, y: [],
}
OPPOSITE = {
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
    "equal": "not_equal",
    "not_equal": "equal",
}
