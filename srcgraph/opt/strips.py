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

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import reads
from srcgraph.opt.modes import current_mode
from srcgraph.opt.striped import Bounds, Strip, Striped
from srcgraph.opt.tables import free_nodes, is_dear, is_float_number, is_plain, is_sum, needed, steps_of

STRIP = 128
"""So many steps are a strip."""
FEW = 8
"""So many steps are not: they are written out, and those of the loop around them taken several at a time."""
MOST = 6
"""Up to so many terms are computed ahead; where there are more, the functions alone may be fewer."""


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


def _is_short(loop: For) -> bool:
    return (steps_of(loop) or FEW + 1) <= FEW


def ahead(loop: For) -> tuple[list[Apply], list[Apply]]:
    """What to compute ahead of a loop's steps, and all nodes that takes, in order.

    These are the functions, or what they are used for where that is no more: the terms of a sum.
    """
    free = free_nodes(loop)
    dear = [n for n in free if is_dear(n)]
    terms: dict[Value, Apply] = {}
    for node in free:
        if is_float_number(node.outputs[0]) and (is_dear(node) or not terms.keys().isdisjoint(node.inputs)):
            terms[node.outputs[0]] = node
    few = _read_outside(dear, needed(_outputs(dear), free), loop)
    ends = _read_outside(terms.values(), list(terms.values()), loop)
    found = ends if len(ends) <= max(len(few), MOST) else few
    return found, needed(_outputs(found), free)


def _read_outside(found: Iterable[Apply], inside: Sequence[Apply], loop: For) -> list[Apply]:
    """Those that are read by others than some nodes."""
    within = set(inside)
    read = {v for n in loop.body.nodes if n not in within for v in reads(n)} | set(loop.body.results)
    return [n for n in found if not read.isdisjoint(n.outputs)]


def _outputs(nodes: Iterable[Node]) -> list[Value]:
    return [v for n in nodes for v in n.outputs]


class _Strips(Striped):
    """A graph, such loops divided; ``count`` says how many."""

    count = 0

    def for_(self, node: For) -> Sequence[Value]:
        found, nodes = ahead(node) if waits(node) else ([], [])
        outs = None
        if found:
            with self.builder.at(origin=found[0].origin):
                outs = self.divided(node, STRIP, lambda bounds, carry: self.strip(node, found, nodes, bounds, carry))
        if outs is None:
            return super().for_(node)
        self.count += 1
        return outs

    def strip(
        self, loop: For, found: Sequence[Apply], nodes: Sequence[Apply], bounds: Bounds, carry: Sequence[Value]
    ) -> Sequence[Value] | None:
        """The steps of a loop between bounds, before them what is computed ahead."""
        strip = Strip.of(loop, bounds, STRIP)
        self.stands = True
        self.keep_ahead(strip, _outputs(found), nodes)
        return self.for_over(loop, bounds, list(carry)) if self.stands else None
