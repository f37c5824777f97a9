"""Functions that loops inside loops compute again and again, computed before them, into an array.

``for j in range(i + 1): v[j] = max(v[j], k - s * u**j)`` asks for the same powers at each ``i``; they are computed
once, before the loop over ``i``, several at a time. No loop needs more memory for it than the arrays that it goes along
have.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, sections 5.3 (scalar
expansion) and 2.4.2 (loop distribution).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import For, Graph, Node, Value, While
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import ranged
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce
from srcgraph.opt.moving import Moving
from srcgraph.opt.tables import WIDEST, Ends, Nest, Table, chains, is_dear


def tabulated(graph: Graph) -> Graph:
    """Compute such functions before the loops that wait, and before those that ask again."""
    if not any(isinstance(n, For) and any(map(is_dear, n.body.nodes)) for n in all_nodes(graph)):
        return graph
    work = _Tabulated(graph.name)
    made = work.run(open_(graph))
    return dce(made) if work.count else graph


class _Tabulated(Moving):
    """A graph, such functions before its loops; ``count`` says how many arrays of them."""

    def __init__(self, name: str):
        super().__init__(name)
        self.count = 0
        self.tables: dict[Value, tuple[Value, Value, Value]] = {}
        """The numbers that are read from arrays: which, by which number, and the lowest of these."""

    def for_(self, node: For) -> Sequence[Value]:
        self.asked_again(node)
        return super().for_(node)

    def while_(self, node: While) -> Sequence[Value]:
        self.asked_again(node)
        return super().while_(node)

    def asked_again(self, node: For | While) -> None:
        """Build the arrays of what the loops in a loop ask for again in each of its steps."""
        for chain in chains(node):
            self.fill(Nest(node, chain, self.env))

    def node(self, node: Node) -> Sequence[Value]:
        if len(node.outputs) != 1 or node.outputs[0] not in self.tables:
            return super().node(node)
        array, number, first = self.tables[node.outputs[0]]
        return (self.read(array, OPS["sub"](self.value(number), first), node.outputs[0]),)

    # -- arrays ---------------------------------------------------------------------------------

    def fill(self, nest: Nest) -> None:
        """Build the arrays for the innermost of some loops, unless something may not be there before them."""
        for table in nest.tables(self.tables):
            region = self.builder.new_region()
            self.stands = True
            with self.builder.inside(region), self.builder.at(origin=table.found[0].origin):
                made = self.filled(nest, table)
            if self.stands and made is not None:
                self.count += 1
                self.builder.splice(region)
                first, arrays = made
                for node, array in zip(table.found, arrays, strict=True):
                    self.tables[node.outputs[0]] = array, table.number, first

    def filled(self, nest: Nest, table: Table) -> tuple[Value, Sequence[Value]] | None:
        """The lowest number that is asked for, and the arrays; None if these may be larger than others there are."""
        plus, minus, number = OPS["add"], OPS["sub"], self.builder.const
        known = table.number.type.value
        ends = [nest.ends(nest.loops, known, high, self.symbols) for high in (False, True)]
        first, last = (self.end(nest, e, lambda: self.computed(nest, table.number)) for e in ends)
        if first is None or last is None:
            return None
        after = plus(last, number(1))
        count = minus(after, first)
        if not self.is_small(nest, count):
            return None
        if not self.builder.proves(count.type.value):
            count = OPS["maximum"](count, number(0))
        values = [n.outputs[0] for n in table.found]

        def body(index: Value, *arrays: Value) -> Sequence[Value]:
            self.bind(table.number, index)
            self.nodes(table.nodes)
            return self.kept(arrays, values, minus(index, first))

        inits = [OPS["empty"](count, dtype=v.type.dtype) for v in values]
        with self.aside():
            arrays = ranged((first, after, number(1)), inits, body, [v.name for v in values])
        return first, arrays

    def is_small(self, nest: Nest, count: Value) -> bool:
        """Whether the innermost loop has as many steps as that, or half, in some step of the others."""
        *others, inner = nest.loops
        ends = nest.ends(others, nest.trips(inner), True, self.symbols)
        low, high = (self.end(nest, ends, lambda high=high: self.numbered(nest, inner, high)) for high in (False, True))
        if low is None or high is None:
            return False
        steps = high.type.value - low.type.value + 1
        return any(self.builder.proves(steps * k - count.type.value) for k in range(1, WIDEST + 1))

    # -- the ends of loops ----------------------------------------------------------------------

    def end(self, nest: Nest, ends: Ends | None, make: Callable[[], Value | None]) -> Value | None:
        """What is made where each loop is at its lowest or highest; None if it takes more than is there before them."""
        if ends is None:
            return None
        with self.aside():
            for loop, high in ends:
                if (number := self.numbered(nest, loop, high)) is not None:
                    self.bind(loop.body.params[0], number)
            return make()

    def numbered(self, nest: Nest, loop: For, high: bool) -> Value | None:
        """The lowest or highest number of a loop."""
        step = loop.step.type.value.const
        if (step == 1) != high:
            return self.computed(nest, loop.start)
        stop = self.computed(nest, loop.stop)
        return None if stop is None else OPS["sub"](stop, self.builder.const(step))

    def computed(self, nest: Nest, value: Value) -> Value | None:
        """A value of some loops, computed before them; None if it takes more than is there."""
        if (nodes := nest.cone([value], self.env)) is None:
            return None
        self.nodes(nodes)
        return self.value(value)
