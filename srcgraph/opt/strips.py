"""Functions that a loop waits for nothing to compute, a strip of its steps at a time.

``for i in range(n): s += w[i] * np.exp(x[i])`` adds in its order, so that no step begins before the last has ended, and
an exponential is computed in each. The terms wait for nothing: those of a hundred steps are computed by a loop of their
own, several at a time, and added by the next, in the order they had. So it is with what may raise in each step, and
with what is computed before an `if`.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, sections 2.4.2 (loop
distribution), 5.3 (scalar expansion) and 5.12 (strip mining).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import ranged
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import reads
from srcgraph.opt.licm import is_pure
from srcgraph.opt.modes import current_mode
from srcgraph.opt.moving import Moving
from srcgraph.opt.tables import is_dear, is_float_number, is_plain, is_sum

STRIP = 128
"""So many steps are a strip."""
FEW = 8
"""So many steps are not: they are written out, and those of the loop around them taken several at a time."""
MOST = 6
"""Up to so many terms are computed ahead; where there are more, the functions alone may be fewer."""
Bounds: TypeAlias = tuple[Value, Value, Value]


def strips(graph: Graph) -> Graph:
    """Divide such loops, at every depth."""
    if not any(isinstance(n, For) and waits(n) for n in all_nodes(graph)):
        return graph
    work = _Strips(graph.name)
    made = work.run(open_(graph))
    return dce(made) if work.count else graph


def waits(loop: For) -> bool:
    """Whether a loop computes such functions, and its steps cannot be taken several at a time."""
    nodes = loop.body.nodes
    if not is_plain(loop) or loop.stops or not all(isinstance(n, Apply | If) for n in nodes):
        return False
    if not any(map(is_dear, nodes)) or _is_short(loop):
        return False
    params = loop.body.params[1 : 1 + len(loop.carry)]
    exact = "reassoc" not in current_mode().fastmath
    handed = (p for p, r in zip(params, loop.body.results, strict=False) if exact or not is_sum(loop, p, r))
    return any(map(is_float_number, handed)) or any(isinstance(n, If) or has_order(n) for n in nodes)


def _count(loop: For) -> int | None:
    """How many steps a loop has, if that is known."""
    return abs((loop.stop.type.value - loop.start.type.value).const or 0) or None


def _is_short(loop: For) -> bool:
    return (_count(loop) or FEW + 1) <= FEW


def ahead(loop: For) -> tuple[list[Apply], list[Apply]]:
    """What to compute ahead of a loop's steps, and all nodes that takes, in order.

    These are the functions, or what they are used for where that is no more: the terms of a sum.
    """
    waiting = set(loop.body.params[1 : 1 + len(loop.carry)])
    free: list[Apply] = []
    for node in loop.body.nodes:
        if isinstance(node, Apply) and is_pure(node) and waiting.isdisjoint(reads(node)):
            free.append(node)
        else:
            waiting.update(node.outputs)
    dear = [n for n in free if is_dear(n)]
    terms: dict[Value, Apply] = {}
    for node in free:
        if is_float_number(node.outputs[0]) and (is_dear(node) or not terms.keys().isdisjoint(node.inputs)):
            terms[node.outputs[0]] = node
    few = _read_outside(dear, _needed(dear, free), loop)
    ends = _read_outside(terms.values(), list(terms.values()), loop)
    found = ends if len(ends) <= max(len(few), MOST) else few
    return found, _needed(found, free)


def _needed(found: Sequence[Apply], free: Sequence[Apply]) -> list[Apply]:
    """The nodes that some are computed by, with them."""
    needed = {v for n in found for v in n.outputs}
    nodes: list[Apply] = []
    for node in reversed(free):
        if not needed.isdisjoint(node.outputs):
            nodes.insert(0, node)
            needed |= set(node.inputs)
    return nodes


def _read_outside(found: Iterable[Apply], inside: Sequence[Apply], loop: For) -> list[Apply]:
    """Those that are read by others than some nodes."""
    within = set(inside)
    read = {v for n in loop.body.nodes if n not in within for v in reads(n)} | set(loop.body.results)
    return [n for n in found if not read.isdisjoint(n.outputs)]


class _Strips(Moving):
    """A graph, such loops divided; ``count`` says how many."""

    def __init__(self, name: str):
        super().__init__(name)
        self.count = 0
        self.ahead: dict[Value, tuple[Value, Value, Value, bool]] = {}
        """The numbers that are computed ahead: the arrays they are in, by which loop's number, and its first there."""

    def node(self, node: Node) -> Sequence[Value]:
        if len(node.outputs) != 1 or node.outputs[0] not in self.ahead:
            return super().node(node)
        array, index, first, up = self.ahead[node.outputs[0]]
        return (self.read(array, _at(self.value(index), first, up), node.outputs[0]),)

    def for_(self, node: For) -> Sequence[Value]:
        found, nodes = ahead(node) if waits(node) else ([], [])
        before = dict(self.env), dict(self.symbols)
        region, outs = self.builder.new_region(), None
        if found:
            with self.builder.inside(region), self.builder.at(origin=found[0].origin):
                outs = self.divided(node, found, nodes)
        if outs is None:
            self.env, self.symbols = before
            return super().for_(node)
        self.count += 1
        self.builder.splice(region)
        return outs

    def divided(self, loop: For, found: Sequence[Apply], nodes: Sequence[Apply]) -> Sequence[Value] | None:
        """The loop over strips; None if something that it computes ahead may not be there."""
        start, stop, step = self.values((loop.start, loop.stop, loop.step))
        sign, count = loop.step.type.value.const, _count(loop)
        inits = self.values(loop.carry)
        if count is not None and count <= STRIP:
            return self.strip(loop, found, nodes, (start, stop, step), inits)
        done: list[bool] = []

        def body(first: Value, *carry: Value) -> Sequence[Value]:
            after = OPS["add"](first, self.builder.const(STRIP * sign))
            end = self.builder.apply(OPS["minimum" if sign > 0 else "maximum"], (after, stop), {}, name="end")
            made = self.strip(loop, found, nodes, (first, end, step), carry)
            done.append(made is not None)
            return carry if made is None else made

        names = [v.name for v in loop.outputs]
        outs = ranged((start, stop, self.builder.const(STRIP * sign)), inits, body, names, index="first")
        return outs if all(done) else None

    def strip(
        self, loop: For, found: Sequence[Apply], nodes: Sequence[Apply], bounds: Bounds, carry: Sequence[Value]
    ) -> Sequence[Value] | None:
        """The steps of a loop between bounds, before them what is computed ahead."""
        first, *_ = bounds
        values = [n.outputs[0] for n in found]
        index = loop.body.params[0]
        up = loop.step.type.value.const == 1

        def fill(number: Value, *arrays: Value) -> Sequence[Value]:
            self.bind(index, number)
            self.nodes(nodes)
            return self.kept(arrays, values, _at(number, first, up))

        self.stands = True
        size = self.builder.const(min(_count(loop) or STRIP, STRIP))
        inits = [OPS["empty"](size, dtype=v.type.dtype) for v in values]
        arrays = ranged(bounds, inits, fill, [v.name for v in values])
        if not self.stands:
            return None
        self.ahead.update({v: (a, index, first, up) for v, a in zip(values, arrays, strict=True)})
        return self.for_over(loop, bounds, list(carry))


def _at(number: Value, first: Value, up: bool) -> Value:
    """The place of a step in its strip."""
    return OPS["sub"](number, first) if up else OPS["sub"](first, number)
