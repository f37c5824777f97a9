"""Which functions are worth a table: those that loops ask for again, or could have computed several at a time."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from srcgraph.ir import dims
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, For, Node, Value, While
from srcgraph.ir.types import ArrayType, ScalarType, is_float, is_integer
from srcgraph.opt.fuse import reads
from srcgraph.opt.licm import is_costly, is_pure
from srcgraph.opt.scalars import LIMIT

SEVERAL = frozenset((
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2",
    "hypot", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "erf", "erfc", "power",
))  # fmt: skip
"""What there is for several numbers at a time."""
WIDEST = 2
"""A table may have so many times as many numbers as a loop has steps: ``u ** (2 * j - i)``."""
Ends: TypeAlias = "list[tuple[For, bool]]"
"""Loops inside each other, from outside, and whether each is at its highest number."""


def is_dear(node: Node) -> bool:
    """Whether a node is such a function of numbers."""
    return isinstance(node, Apply) and node.op.name in SEVERAL and is_costly(node) and is_float_number(node.outputs[0])


def is_float_number(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and is_float(value.type)


def is_sum(loop: For, param: Value, result: Value) -> bool:
    """Whether nothing is done with a number that is handed on but to add to it."""
    readers = [n for n in loop.body.nodes if isinstance(n, Apply) and param in n.inputs]
    added = len(readers) == 1 and readers[0].op.name in ("add", "sub") and readers[0].outputs[0] is result
    used = any(isinstance(n, Apply) and result in n.inputs for n in loop.body.nodes)
    return param is result or (added and readers[0].inputs.count(param) == 1 and not used)


def chains(loop: For | While, above: tuple[For, ...] = ()) -> Iterator[list[For]]:
    """The loops in a loop that compute such functions, each with those between, from outside."""
    for node in loop.body.nodes:
        if isinstance(node, For) and is_plain(node):
            if not node.stops and any(map(is_dear, node.body.nodes)):
                yield [*above, node]
            yield from chains(node, (*above, node))


def goes_by_ones(loop: For) -> bool:
    """Whether a loop goes by ones from one number to another."""
    step = loop.step.type.value
    known = loop.start.type.value is not None and loop.stop.type.value is not None
    return step is not None and step.const in (1, -1) and known


def is_plain(loop: For) -> bool:
    """Whether a loop does, and its steps wait for each other as far as is known."""
    return goes_by_ones(loop) and not loop.lanes


def steps_of(loop: For) -> int | None:
    """How many steps a loop that goes by ones has, if that is known."""
    return abs((loop.stop.type.value - loop.start.type.value).const or 0) or None


def free_nodes(loop: For, divisors: bool = False) -> list[Apply]:
    """The nodes of a loop's body that wait for nothing that is handed on, in order; with what passes on ``divisors``,
    if asked for."""
    waiting = set(loop.body.params[1 : 1 + len(loop.carry)])
    free: list[Apply] = []
    for node in loop.body.nodes:
        may_be = isinstance(node, Apply) and (is_pure(node) or (divisors and passes_divisor(node)))
        if isinstance(node, Apply) and may_be and waiting.isdisjoint(reads(node)):
            free.append(node)
        else:
            waiting.update(node.outputs)
    return free


def passes_divisor(node: Node) -> TypeGuard[Apply]:
    """Whether a node passes on a number that raises if it is zero, and would be divided by."""
    return isinstance(node, Apply) and node.op.name == "check_nonzero" and is_float_number(node.outputs[0])


def needed(values: Iterable[Value], free: Sequence[Apply]) -> list[Apply]:
    """The nodes that values are computed by, in order."""
    wanted = set(values)
    nodes: list[Apply] = []
    for node in reversed(free):
        if not wanted.isdisjoint(node.outputs):
            nodes.insert(0, node)
            wanted |= set(node.inputs)
    return nodes


@dataclass(frozen=True, slots=True)
class Table:
    """Functions of one number that a loop makes, and all that they are computed from, in order."""

    number: Value
    found: list[Apply]
    nodes: list[Apply]


class Nest:
    """Loops inside each other.

    Parameters
    ----------
    around : For or While
        The outermost one.
    loops : list of For
        Those inside it, from outside: the innermost computes the functions. It may be ``around`` itself.
    known : container of Value
        What is there before all of them.
    """

    def __init__(self, around: For | While, loops: list[For], known: Container[Value]):
        counts = isinstance(around, For) and around is not loops[0] and is_plain(around)
        self.loops = [around, *loops] if counts else loops
        self.inner, self.known = loops[-1], known
        bodies = dict.fromkeys((around, *loops))
        nodes = [n for b in bodies for n in b.body.nodes if isinstance(n, Apply) and is_pure(n)]
        self.makers = {v: n for n in nodes for v in n.outputs}
        self.place = {n: k for k, n in enumerate(nodes)}

    def tables(self, taken: Container[Value]) -> Iterator[Table]:
        """Functions of one number each, without those that are taken already."""
        if not self._is_long() or not self._goes_along():
            return
        dear = [n for n in self.inner.body.nodes if isinstance(n, Apply) and is_dear(n) and n.outputs[0] not in taken]
        for number in self._numbers():
            cones = {n: c for n in dear if (c := self.cone(n.outputs, self.known, number)) and _reads(c, number)}
            if cones:
                together = {n for c in cones.values() for n in c}
                yield Table(number, list(cones), sorted(together, key=self.place.__getitem__))
                dear = [n for n in dear if n not in cones]

    def cone(self, values: Sequence[Value], known: Container[Value], number: Value | None = None) -> list[Apply] | None:
        """What values are computed from, in order, by a number; None if that is not all that is not known."""
        found: set[Apply] = set()
        todo = list(values)
        while todo:
            if (value := todo.pop()) is number or value in known:
                continue
            if (maker := self.makers.get(value)) is None:
                return None
            if maker not in found:
                found.add(maker)
                todo += maker.inputs
        return sorted(found, key=self.place.__getitem__)

    def _is_long(self) -> bool:
        count = self.trips(self.inner).const
        return count is None or count > LIMIT

    def _goes_along(self) -> bool:
        """Whether the innermost loop has an array with an element for each of its steps."""
        reads = [n for n in self.inner.body.nodes if isinstance(n, Apply) and n.inputs]
        return any(isinstance(n.inputs[0].type, ArrayType) and any(map(self._steps, n.inputs[1:])) for n in reads)

    def _steps(self, value: Value, most: int = 1) -> bool:
        """Whether a number goes by ones, or by at most so many, from step to step of the innermost loop."""
        known = value.type.value if isinstance(value.type, ScalarType) and is_integer(value.type) else None
        by = None if known is None else slope(known, self.inner)
        return by is not None and 0 < abs(by) <= most

    def _numbers(self) -> Iterator[Value]:
        """The loop's number, and others that go with it."""
        index = self.inner.body.params[0]
        yield index
        for node in self.inner.body.nodes:
            if isinstance(node, Apply) and self._steps(value := node.outputs[0], WIDEST):
                if (value.type.dtype, value.type.weak) == (index.type.dtype, index.type.weak):
                    yield value

    # -- ends -----------------------------------------------------------------------------------

    @staticmethod
    def trips(loop: For) -> Dim:
        """How many steps a loop has."""
        low, high = numbers(loop)
        return high - low + 1

    @staticmethod
    def ends(loops: Sequence[For], dim: Dim, highest: bool, known: Container[str]) -> Ends | None:
        """Where the loops are when a number is lowest or highest; None if that is not known to be at ends of theirs."""
        found: Ends = []
        for loop in reversed(loops):
            if (by := slope(dim, loop)) is None:
                return None
            high = (by > 0) == highest
            found.insert(0, (loop, high))
            dim = dims.substitute(dim, {_symbol(loop): numbers(loop)[high]})
        return found if all(s in known for s in dim.symbols()) else None


def _reads(nodes: Sequence[Apply], number: Value) -> bool:
    return any(number in n.inputs for n in nodes)


def numbers(loop: For) -> tuple[Dim, Dim]:
    """The lowest and the highest number of a loop."""
    start, stop = loop.start.type.value, loop.stop.type.value
    return (start, stop - 1) if loop.step.type.value.const == 1 else (stop + 1, start)


def _symbol(loop: For) -> str:
    return loop.body.params[0].type.value.symbol


def slope(dim: Dim, loop: For) -> int | None:
    """By how much a number grows from each number of a loop to the next; None if that differs."""
    symbol = _symbol(loop)
    by = dict(dim.terms).get((symbol,), 0)
    return None if symbol in (dim - dims.symbol(symbol) * by).symbols() else by
