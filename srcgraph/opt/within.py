"""What derivatives make of a number that is 0 unless a branch is taken is done in that branch.

Where ``if r2 < cut: e += f(r2)`` is all that is made of a squared distance, its cotangent is 0 for all pairs further
apart, and so is what would be added to the derivatives by positions: loops that add it run where it is not 0.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from srcgraph.ir.closure import close, free_values, open_, rename_node, renamed, with_graphs
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, node_graphs, node_inputs
from srcgraph.ir.types import is_float
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.licm import is_pure


def within(graph: Graph) -> Graph:
    """Move loops of derivatives that do nothing but add what is 0 otherwise into the branches where it is not."""
    if not any(isinstance(n, If) and n.origin.by and _has_number(n) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    zeros = {
        n.outputs[0]
        for n in all_nodes(opened)
        if isinstance(n, Apply) and n.op.name == "const" and n.attrs["value"] == 0
    }
    work = _Within(zeros)
    made = work.graph(opened)
    return close(made) if work.count else graph


def _has_number(branch: If) -> bool:
    return any(is_float(v.type) and not v.type.ndim for v in branch.outputs)


def _reads(node: Node) -> set[Value]:
    return {*node_inputs(node), *(v for g in node_graphs(node) for v in free_values(g))}


@dataclass(slots=True)
class _Cluster:
    """Nodes that give nothing but additions of zeros where some numbers are 0.

    Attributes
    ----------
    zero : set of Value
        The numbers, and what is 0 with them.
    before : dict
        Arrays and sums that something is added to, and what they are if that is 0.
    """

    zero: set[Value]
    before: dict[Value, Value] = field(default_factory=dict)

    def takes(self, node: Node, zeros: AbstractSet[Value]) -> bool:
        """Whether a node that reads such a number is one of them."""
        match node:
            case Apply():
                return self.computes(node, zeros)
            case For(stops=False, carry=carry) if self.zero.isdisjoint(carry):
                return self.repeats(node, zeros)
        return False

    def computes(self, node: Apply, zeros: AbstractSet[Value]) -> bool:
        name, out = node.op.name, node.outputs[0]
        mine = [v in self.zero for v in node.inputs]
        match name:
            case "mul" | "neg" | "cast" | "equal" | "unused":
                self.zero.add(out)
            case "div" if mine == [True, False]:
                self.zero.add(out)
            case "where" if all(v in self.zero or v in zeros for v in node.inputs[1:]):
                self.zero.add(out)
            case "add" | "sub" if all(mine):
                self.zero.add(out)
            case "add" | "sub" if not out.type.ndim and (name == "add" or mine == [False, True]):
                self.before[out] = node.inputs[mine.index(False)]
            case "add_at" if node.origin.by and mine[1] and sum(mine) == 1:
                self.before[out] = node.inputs[0]
            case _:
                return False
        return True

    def repeats(self, loop: For, zeros: AbstractSet[Value]) -> bool:
        """Whether all that a loop hands on is what such nodes in it add to."""
        if loop.lanes or has_order(loop):
            return False
        for node in loop.body.nodes:
            if not self.zero.isdisjoint(_reads(node)):
                if not self.takes(node, zeros):
                    return False
            elif not isinstance(node, Apply) or not is_pure(node):
                return False
        params = loop.body.params[1 : 1 + len(loop.carry)]
        if any(self.origin(r) is not p for r, p in zip(loop.body.results, params, strict=True)):
            return False
        self.before.update(zip(loop.outputs, loop.carry, strict=True))
        return True

    def origin(self, value: Value) -> Value:
        while value in self.before:
            value = self.before[value]
        return value


class _Within:
    """Moves such nodes into branches; ``count`` says how often.

    Parameters
    ----------
    zeros : set of Value
        Literals.
    """

    def __init__(self, zeros: AbstractSet[Value]):
        self.zeros = zeros
        self.count = 0

    def graph(self, graph: Graph) -> Graph:
        nodes = tuple(with_graphs(n, [self.graph(g) for g in gs]) if (gs := node_graphs(n)) else n for n in graph.nodes)
        graph = replace(graph, nodes=nodes)
        for node in nodes:
            if isinstance(node, If) and node.origin.by:
                graph = self.one(graph, node)
        return graph

    def one(self, graph: Graph, branch: If) -> Graph:
        """A block, with what follows from a branch's numbers in the branch."""
        at = graph.nodes.index(branch)
        for side in (0, 1):
            other = node_graphs(branch)[1 - side].results
            ends = zip(branch.outputs, other, strict=True)
            found = self.parts(graph, at, {out for out, end in ends if is_float(out.type) and end in self.zeros})
            if found is not None:
                self.count += 1
                return found.moved(graph, at, side)
        return graph

    def parts(self, graph: Graph, at: int, numbers: set[Value]) -> _Parts | None:
        """What follows a branch, in parts; None if not all that reads its numbers can go into it, or no loop does."""
        parts, late = _Parts(_Cluster(set(numbers))), {*graph.nodes[at].outputs}
        zero, before = parts.cluster.zero, parts.cluster.before
        for node in graph.nodes[at + 1 :]:
            read = _reads(node)
            if zero.isdisjoint(read):
                first = (
                    isinstance(node, Apply)
                    and is_pure(node)
                    and late.isdisjoint(read)
                    and before.keys().isdisjoint(read)
                )
                (parts.first if first else parts.last).append(node)
                late.update(() if first else node.outputs)
            elif not (read - zero).isdisjoint(late) or has_order(node) or not parts.cluster.takes(node, self.zeros):
                return None
            else:
                parts.inside.append(node)
        loops = any(isinstance(n, For) for n in parts.inside)
        return parts if loops and zero.isdisjoint(graph.results) else None


@dataclass(slots=True)
class _Parts:
    """The nodes after a branch: what can stand before it, what goes into it, and what follows it."""

    cluster: _Cluster
    first: list[Node] = field(default_factory=list)
    inside: list[Node] = field(default_factory=list)
    last: list[Node] = field(default_factory=list)

    def moved(self, graph: Graph, at: int, side: int) -> Graph:
        """The block with the nodes in the branch, on a side."""
        branch = graph.nodes[at]
        assert isinstance(branch, If)
        made = [v for n in self.inside for v in n.outputs if v in self.cluster.before]
        outs = [Value(v.name, v.type) for v in made]
        sides = list(node_graphs(branch))
        env = dict(zip(branch.outputs, sides[side].results, strict=True))
        own = (*sides[side].nodes, *(rename_node(n, env) for n in self.inside))
        ends = made, [self.cluster.origin(v) for v in made]
        sides[side] = replace(sides[side], nodes=own, results=(*sides[side].results, *ends[0]))
        sides[1 - side] = replace(sides[1 - side], results=(*sides[1 - side].results, *ends[1]))
        then, orelse = sides
        branch = replace(branch, then=then, orelse=orelse, outputs=(*branch.outputs, *outs))
        rest = renamed(replace(graph, nodes=tuple(self.last)), dict(zip(made, outs, strict=True)))
        return replace(rest, nodes=(*graph.nodes[:at], *self.first, branch, *rest.nodes))
