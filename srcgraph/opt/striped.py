"""Loops over strips of another loop's steps: strip mining.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, section 5.12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import ranged
from srcgraph.ir.types import is_integer
from srcgraph.ir.view import element
from srcgraph.opt.moving import Moving
from srcgraph.opt.tables import passes_divisor, steps_of

Bounds: TypeAlias = tuple[Value, Value, Value]
Make: TypeAlias = Callable[[Bounds, Sequence[Value]], "Sequence[Value] | None"]
"""From the bounds of a strip and the carry to the next carry; None if that cannot be built."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Some steps of a loop of the old graph, between bounds, of which numbers are kept in arrays of a size."""

    index: Value
    bounds: Bounds
    size: int
    up: bool

    @classmethod
    def of(cls, loop: For, bounds: Bounds, most: int) -> Strip:
        size = min(steps_of(loop) or most, most)
        return cls(loop.body.params[0], bounds, size, loop.step.type.value.const == 1)

    def place(self, number: Value) -> Value:
        """Where the number of a step is in the arrays."""
        first, *_ = self.bounds
        return OPS["sub"](number, first) if self.up else OPS["sub"](first, number)


class Striped(Moving):
    """Divides loops into strips, before each of which numbers are computed for all of its steps."""

    def __init__(self, name: str):
        super().__init__(name)
        self.ahead: dict[Value, tuple[Value, Strip]] = {}
        """The numbers that are computed ahead, and the arrays they are in."""
        self.early = False
        """Whether what is built is computed before it is asked for: nothing raises there."""
        self.there: Set[Node] = frozenset()
        """The nodes of a step that is built whose outputs are there before it."""

    def node(self, node: Node) -> Sequence[Value]:
        if self.early and passes_divisor(node):
            return self.values(node.inputs[:1])
        if len(node.outputs) != 1 or node.outputs[0] not in self.ahead:
            return super().node(node)
        array, strip = self.ahead[node.outputs[0]]
        return (self.read(array, strip.place(self.value(strip.index)), node.outputs[0]),)

    def divided(self, loop: For, most: int, make: Make) -> Sequence[Value] | None:
        """A loop as strips of so many steps; None, and nothing is built, if they cannot be made."""
        before = dict(self.env), dict(self.symbols), dict(self.ahead)
        region = self.builder.new_region()
        with self.builder.inside(region):
            outs = self.strips(loop, most, make)
        if outs is None:
            self.env, self.symbols, self.ahead = before
        else:
            self.builder.splice(region)
        return outs

    def strips(self, loop: For, most: int, make: Make) -> Sequence[Value] | None:
        start, stop, step = self.values((loop.start, loop.stop, loop.step))
        sign, count = loop.step.type.value.const, steps_of(loop)
        inits = self.values(loop.carry)
        if count is not None and count <= most:
            return make((start, stop, step), inits)
        done: list[bool] = []

        def body(first: Value, *carry: Value) -> Sequence[Value]:
            after = OPS["add"](first, self.builder.const(most * sign))
            end = self.builder.apply(OPS["minimum" if sign > 0 else "maximum"], (after, stop), {}, name="end")
            made = make((first, end, step), carry)
            done.append(made is not None)
            return carry if made is None else made

        names = [v.name for v in loop.outputs]
        outs = ranged((start, stop, self.builder.const(most * sign)), inits, body, names, index="first")
        return outs if all(done) else None

    def keep_ahead(self, strip: Strip, values: Sequence[Value], nodes: Sequence[Apply]) -> None:
        """Compute values of a loop for all steps of a strip, which read them then."""

        def fill(number: Value, *arrays: Value) -> Sequence[Value]:
            self.bind(strip.index, number)
            self.nodes(nodes)
            return self.kept(arrays, values, strip.place(number))

        arrays = self.over(strip, self.rooms(strip, values), fill, [v.name for v in values])
        self.ahead.update({v: (a, strip) for v, a in zip(values, arrays, strict=True)})

    def rooms(self, strip: Strip, values: Sequence[Value]) -> list[Value]:
        """Arrays for such values."""
        size = self.builder.const(strip.size)
        return [OPS["empty"](size, dtype=v.type.dtype) for v in values]

    def over(
        self, strip: Strip, inits: Sequence[Value], body: Callable[..., Sequence[Value]], names: Sequence[str]
    ) -> tuple[Value, ...]:
        """A loop over the steps of a strip; what is bound in it is forgotten after it."""
        with self.aside(), self.before_asked():
            return ranged(strip.bounds, inits, body, names, index=strip.index.name)

    @contextmanager
    def before_asked(self) -> Iterator[None]:
        """What is built meanwhile is computed before it is asked for."""
        before, self.early = self.early, True
        yield
        self.early = before

    def nodes_early(self, nodes: Sequence[Node]) -> None:
        with self.before_asked():
            self.nodes(nodes)

    def chosen(self, cond: Value, x: Value, y: Value, like: Value) -> Value:
        """``x if cond else y`` of the kind that a number of the old graph has."""
        out = OPS["where"](cond, x, y)
        return self.builder.cast(out, like.type.dtype, weak=like.type.weak)

    def state(self, array: Value, at: Value, param: Value, name: str) -> Value:
        """A number that a loop hands on, as its last step left it.

        Integers are NumPy's here: none becomes large, see `srcgraph.opt.chains`, and Python's would be watched.
        """
        found = self.builder.apply(OPS["getitem"], (array, at), {"view": element(1)}, name=name)
        weak = param.type.weak and not is_integer(param.type)
        return self.builder.cast(found, found.type.dtype, weak=True) if weak else found

    def moving(self, graph: Graph) -> None:
        """The nodes of a step that are not there before it."""
        self.nodes([n for n in graph.nodes if n not in self.there])

    def both(self, node: If) -> Sequence[Value]:
        """The results of both branches, and which of them count."""
        self.moving(node.then)
        self.moving(node.orelse)
        sides = zip(node.then.results, node.orelse.results, node.outputs, strict=True)
        return [self.chosen(self.value(node.cond), self.value(a), self.value(b), out) for a, b, out in sides]
