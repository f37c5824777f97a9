"""Functions of what a recurrence does not change, computed before it, into an array.

``for t in range(n): s *= np.exp(z[t])`` waits in each step for the step before, and computes one exponential at a
time. None of these waits for anything: a loop over them alone takes several at a time, four times as quickly, and the
recurrence reads what it needs. Only what is computed from an array with an element for each step is, so that no loop
needs more memory than what it reads.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, sections 5.3 (scalar
expansion) and 2.4.2 (loop distribution).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, For, Graph, Node, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import ranged
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ScalarType, is_float
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import reads
from srcgraph.opt.licm import is_costly, is_pure
from srcgraph.opt.scalars import LIMIT

SEVERAL = frozenset((
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2",
    "hypot", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "erf", "erfc", "pow",
))  # fmt: skip
"""What there is for several numbers at a time."""


def tabulated(graph: Graph) -> Graph:
    """Compute such functions before the loops that wait."""
    if not any(isinstance(n, For) and _waits(n) for n in all_nodes(graph)):
        return graph
    work = _Tabulated(graph.name)
    made = work.run(open_(graph))
    return dce(made) if work.count else graph


def _is_dear(node: Node) -> bool:
    """Whether a node is such a function of numbers."""
    return isinstance(node, Apply) and node.op.name in SEVERAL and is_costly(node) and _is_number(node.outputs[0])


def _is_number(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and is_float(value.type)


def _waits(loop: For) -> bool:
    """Whether a loop computes such functions, and hands on a number that is more than a sum."""
    step = loop.step.type.value if isinstance(loop.step.type, ScalarType) else None
    if step is None or step.const not in (1, -1) or loop.lanes or not any(map(_is_dear, loop.body.nodes)):
        return False
    if any(not isinstance(n, Apply) for n in loop.body.nodes) or loop.stops:
        return False
    params = loop.body.params[1 : 1 + len(loop.carry)]
    return any(_is_number(p) and not _is_sum(loop, p, r) for p, r in zip(params, loop.body.results, strict=False))


def _is_sum(loop: For, param: Value, result: Value) -> bool:
    """Whether nothing is done with a number that is handed on but to add to it."""
    readers = [n for n in loop.body.nodes if isinstance(n, Apply) and param in n.inputs]
    added = len(readers) == 1 and readers[0].op.name in ("add", "sub") and readers[0].outputs[0] is result
    used = any(isinstance(n, Apply) and result in n.inputs for n in loop.body.nodes)
    return param is result or (added and readers[0].inputs.count(param) == 1 and not used)


@dataclass(frozen=True, slots=True)
class _Table:
    """The functions of a loop that do not wait, and all that they are computed from, in order."""

    found: list[Apply]
    nodes: list[Apply]

    @classmethod
    def of(cls, loop: For) -> _Table | None:
        """None if the loop is short, or has none."""
        start, stop = loop.start.type.value, loop.stop.type.value
        count = None if start is None or stop is None else (stop - start).const
        if start is None or stop is None or (count is not None and abs(count) <= LIMIT):
            return None
        waiting = set(loop.body.params[1 : 1 + len(loop.carry)])
        for node in loop.body.nodes:
            if not isinstance(node, Apply) or not is_pure(node) or not waiting.isdisjoint(reads(node)):
                waiting.update(node.outputs)
        free = [n for n in loop.body.nodes if isinstance(n, Apply) and waiting.isdisjoint(n.outputs)]
        found = [n for n in free if _is_dear(n)]
        needed = {v for n in found for v in n.outputs}
        nodes: list[Apply] = []
        for node in reversed(free):
            if not needed.isdisjoint(node.outputs):
                nodes.insert(0, node)
                needed |= set(node.inputs)
        return cls(found, nodes) if found and any(_goes_along(n, loop) for n in nodes) else None


def _goes_along(node: Apply, loop: For) -> bool:
    """Whether a node reads an array that has an element for each step, so that a table is no larger."""
    index = loop.body.params[0].type.value
    if node.op.name != "getitem" or index is None or index.symbol is None:
        return False
    places = [v.type.value for v in node.inputs[1:] if v.type.value is not None]
    return any(index.symbol not in d.symbols() for p in places for d in (p - index, p + index))


class _Tabulated(Rebuild):
    """A graph, such functions before loops that wait; ``count`` says of how many loops."""

    def __init__(self, name: str):
        super().__init__(name)
        self.count = 0
        self.tables: dict[Value, tuple[Value, Value, Value]] = {}
        """The numbers that are read from arrays: which, by which loop's number, and the lowest of these."""
        self.stands = True

    def for_(self, node: For) -> Sequence[Value]:
        table = _Table.of(node) if _waits(node) else None
        if table is not None:
            self.fill(node, table)
        return super().for_(node)

    def node(self, node: Node) -> Sequence[Value]:
        if len(node.outputs) != 1 or node.outputs[0] not in self.tables:
            return super().node(node)
        array, index, first = self.tables[node.outputs[0]]
        read = OPS["getitem"](array, OPS["sub"](self.value(index), first), view=element(1))
        return (self.builder.cast(read, read.type.dtype, weak=True) if node.outputs[0].type.weak else read,)

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        self.stands = self.stands and self.builder.stands(node.op, inputs, node.attrs)
        return super().apply(node, inputs)

    def fill(self, loop: For, table: _Table) -> None:
        """Build the arrays before a loop, unless something may not be there."""
        before, self.stands = (dict(self.env), dict(self.symbols)), True
        region = self.builder.new_region()
        with self.builder.inside(region), self.builder.at(origin=table.found[0].origin):
            first, arrays = self.filled(loop, table)
        self.env, self.symbols = before
        if self.stands:
            self.count += 1
            self.builder.splice(region)
            index = loop.body.params[0]
            for node, array in zip(table.found, arrays, strict=True):
                self.tables[node.outputs[0]] = array, index, first

    def filled(self, loop: For, table: _Table) -> tuple[Value, Sequence[Value]]:
        """The lowest number of a loop, and the arrays."""
        start, stop, step = self.value(loop.start), self.value(loop.stop), self.value(loop.step)
        plus, minus, number = OPS["add"], OPS["sub"], self.builder.const
        first, after = (start, stop) if step.type.value.const == 1 else (plus(stop, number(1)), plus(start, number(1)))
        count = minus(after, first)
        if not self.builder.proves(count.type.value):
            count = OPS["maximum"](count, number(0))
        values = [n.outputs[0] for n in table.found]

        def body(index: Value, *arrays: Value) -> Sequence[Value]:
            self.bind(loop.body.params[0], index)
            self.nodes(table.nodes)
            at = minus(index, first)
            numbers = [self.builder.cast(self.value(v), v.type.dtype, weak=False) for v in values]
            return [OPS["setitem"](a, v, at, view=element(1)) for a, v in zip(arrays, numbers, strict=True)]

        inits = [OPS["empty"](count, dtype=v.type.dtype) for v in values]
        return first, ranged((first, after, number(1)), inits, body, [v.name for v in values])
