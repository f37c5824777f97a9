"""Loop-invariant code motion: what a loop's body computes the same each time leaves the loop.

Checks and effects stay, so a node leaves only if what checks ensure for it is proved before the loop too: an element
read where the loop may not run, or before the check of its index, may not be there. Whole `for` loops leave too; a
`while` may never end, where it is not reached.
"""

from __future__ import annotations

from collections.abc import Sequence

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs
from srcgraph.ir.types import is_integer
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.fuse import may_raise, reads
from srcgraph.opt.moving import Moving
from srcgraph.opt.simplify import simplify


def licm(graph: Graph) -> Graph:
    """Move invariant nodes out of loops, as far as they can go."""
    opened = open_(graph)
    loops = (n for n in all_nodes(opened) if isinstance(n, For | While))
    if all(_is_literal(n) for loop in loops for n in _leaving(loop)):
        return graph
    motion = _Motion(graph.name)
    moved = motion.run(opened)
    return simplify(moved) if motion.lifted else moved


class _Motion(Moving):
    """Builds what leaves a loop before the loop; in the loop it is there already."""

    lifted = False
    """Whether a loop has left another; there may be an equal one where it is now."""

    def for_(self, node: For) -> Sequence[Value]:
        self.lift(node)
        return super().for_(node)

    def while_(self, node: While) -> Sequence[Value]:
        self.lift(node)
        return super().while_(node)

    def node(self, node: Node) -> Sequence[Value]:
        if node.outputs and all(v in self.env for v in node.outputs):
            return self.values(node.outputs)
        return super().node(node)

    def lift(self, loop: For | While) -> None:
        for node in _leaving(loop):
            if not all(v in self.env for v in reads(node)):
                continue
            if isinstance(node, For):
                self.lift_loop(node)
            elif self.builder.stands(node.op, self.values(node.inputs), node.attrs):
                self.nodes([node])

    def lift_loop(self, node: For) -> None:
        """Build a loop here if all in it stands here."""
        before = dict(self.env), dict(self.symbols), self.stands
        region = self.builder.new_region()
        with self.builder.inside(region):
            self.stands = True
            self.nodes([node])
        if self.stands:
            self.lifted = True
            self.builder.splice(region)
        else:
            self.env, self.symbols, _ = before
        self.stands = before[2]


def _leaving(loop: For | While) -> list[Apply | For]:
    """Nodes worth moving of a loop and those inside it that read nothing the loop changes, in order."""
    graphs = node_graphs(loop)
    inside = {v for g in graphs for v in g.params}
    candidates: list[Apply | For] = []
    for node in (n for g in graphs for n in g.nodes):
        if isinstance(node, For) and not may_raise(node) and is_pure_loop(node):
            candidates += [*_filled_by(node, graphs), node]
        if isinstance(node, For | While):
            candidates += _leaving(node)
        elif isinstance(node, Apply) and is_pure(node):
            candidates.append(node)
        inside.update(node.outputs)
    inside.update(v for n in candidates for v in n.outputs)
    invariant = []
    for node in candidates:
        if inside.isdisjoint(reads(node)):
            invariant.append(node)
            inside.difference_update(node.outputs)
    moved = _worth_moving(invariant)
    return [n for n in invariant if n in moved]


def _filled_by(loop: For, graphs: Sequence[Graph]) -> list[Apply]:
    """The new arrays that a loop is entered with and nothing else reads: they leave with it."""
    given = {v for v in loop.carry if loop.carry.count(v) == 1}
    makers = [n for g in graphs for n in g.nodes if isinstance(n, Apply) and makes_array(n) and n.outputs[0] in given]
    if makers:
        others = (n for g in graphs for n in g.nodes if n is not loop)
        given.difference_update(*(g.results for g in graphs), *map(reads, others))
    return [n for n in makers if n.outputs[0] in given]


def _worth_moving(invariant: Sequence[Apply | For]) -> set[Apply | For]:
    """The costly ones, and the cheap ones they are computed from."""
    moved: set[Apply | For] = set()
    wanted: set[Value] = set()
    for node in reversed(invariant):
        if isinstance(node, For) or is_costly(node) or _divides(node) or not wanted.isdisjoint(node.outputs):
            moved.add(node)
            wanted |= reads(node)
    return moved | {n for n in invariant if _is_literal(n)}


def _divides(node: Apply) -> bool:
    """Whether a node divides integers by one that is not a literal; the compiler does not move what it has to ask."""
    return (
        node.op.name in ("mod", "floordiv")
        and all(is_integer(v.type) for v in node.inputs)
        and _is_varied(node.inputs[1])
    )


def _is_varied(value: Value) -> bool:
    known = value.type.value
    return known is not None and known.const is None


def is_pure_loop(node: For) -> bool:
    """Whether a loop ends, and nothing is seen of it but what it computes."""
    inner = [n for g in node_graphs(node) for n in all_nodes(g)]
    return all(isinstance(n, If | For) or (isinstance(n, Apply) and (is_pure(n) or is_update(n))) for n in inner)


def is_update(node: Apply) -> bool:
    return node.op.kind == "update"


def makes_array(node: Apply) -> bool:
    return node.op.fresh and node.op.kind == "structural"


def is_pure(node: Apply) -> bool:
    return not node.op.ordered and not node.op.fresh and node.op.kind not in ("list", "update")


def _is_literal(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.name == "const"


def is_costly(node: Apply) -> bool:
    """Whether a node is worth a variable before the loop.

    The machine-code compiler moves cheap scalar work itself, and text reads better with it in place.
    """
    if node.op.kind in ("reduction", "library"):
        return True
    return node.op.kind == "elementwise" and not node.op.linear and node.op.name not in CHEAP


CHEAP = frozenset(
    {
        *("add", "sub", "mul", "div", "neg", "cast", "ipow", "square", "floordiv", "mod", "absolute", "sign"),
        *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "unused"),
        *("isnan", "isinf", "isfinite"),
        *("logical_and", "logical_or", "logical_not", "where", "maximum", "minimum"),
    }
)
