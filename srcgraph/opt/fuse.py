"""Loops that go over the same range become one, where the second reads what the first stores at its own index.

``for i in range(n): a[i] = f(x[i])`` and then ``for i in range(n): s += a[i]`` become one loop, in which ``a[i]`` is
the number just computed; the array itself goes if nothing else reads it.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, section 6.2.5 (loop fusion)
and chapter 8 (scalar replacement).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from srcgraph.ir.closure import close, free_values, open_, renamed, with_graphs
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.types import ArrayType, ListType, is_integer
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.dce import dce
from srcgraph.opt.simplify import simplify


def fuse(graph: Graph) -> Graph:
    """Fuse loops, inner ones first, and drop the arrays that are no longer read."""
    if sum(isinstance(n, For) for n in all_nodes(graph)) < 2:
        return graph
    opened = open_(graph)
    fused = _block(opened)
    return graph if fused is opened else dce(simplify(close(fused)))


def _block(graph: Graph) -> Graph:
    """The graph with loops fused at every depth; the same object if there are none to fuse."""
    graph = inner_blocks(graph, _block)
    while (found := _fused(graph.nodes, graph.results)) is not None:
        graph = replace(graph, nodes=tuple(found))
    return graph


def inner_blocks(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """The graph with those of its loops and branches changed; the same object if none is."""
    nodes = [_inner(n, change) for n in graph.nodes]
    changed = any(new is not old for new, old in zip(nodes, graph.nodes, strict=True))
    return replace(graph, nodes=tuple(nodes)) if changed else graph


def _inner(node: Node, change: Callable[[Graph], Graph]) -> Node:
    if not isinstance(node, For | While | If):
        return node
    graphs = node_graphs(node)
    new = [change(g) for g in graphs]
    return node if all(a is b for a, b in zip(new, graphs, strict=True)) else with_graphs(node, new)


def _fused(nodes: Sequence[Node], results: Sequence[Value]) -> list[Node] | None:
    """The nodes of a block with the first two loops that can be fused as one."""
    makers = {v: k for k, n in enumerate(nodes) for v in n.outputs}
    for j, second in enumerate(nodes):
        if not isinstance(second, For):
            continue
        for i in sorted({makers[v] for v in reads(second) if v in makers}, reverse=True):
            first = nodes[i]
            if isinstance(first, For) and _same_range(first, second):
                found = Pair(nodes, results, i, j).fused()
                if found is not None:
                    return found
    return None


def reads(node: Node) -> set[Value]:
    """All that a node of an open graph reads, by graphs of its own too."""
    return {*node_inputs(node), *(v for g in node_graphs(node) for v in free_values(g))}


def _same_range(x: For, y: For) -> bool:
    if x.stops or y.stops:
        return False
    return all(map(_same_number, (x.start, x.stop, x.step), (y.start, y.stop, y.step)))


def _same_number(x: Value, y: Value) -> bool:
    known = x.type.value if is_integer(x.type) else None
    return x is y or (known is not None and known == getattr(y.type, "value", None))


def may_raise(node: Node) -> bool:
    """Whether a loop may raise: by checks, or by integers that overflow."""
    inner = (n for g in node_graphs(node) for n in all_nodes(g))
    return has_order(node) or any(isinstance(n, Apply) and n.op.grows and is_integer(n.outputs[0].type) for n in inner)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two loops of a block over one range."""

    calm: ClassVar[bool] = False
    """Whether the integers of the second loop are known to fit."""

    nodes: Sequence[Node]
    results: Sequence[Value]
    i: int
    j: int

    @property
    def first(self) -> For:
        loop = self.nodes[self.i]
        assert isinstance(loop, For)
        return loop

    @property
    def second(self) -> For:
        loop = self.nodes[self.j]
        assert isinstance(loop, For)
        return loop

    def fused(self) -> list[Node] | None:
        between = self._between()
        passed = self._passed() if between is not None else None
        if between is None or passed is None:
            return None
        earlier, later = between
        return [*self.nodes[: self.i], *earlier, self._loop(passed), *later, *self.nodes[self.j + 1 :]]

    def _between(self) -> tuple[list[Node], list[Node]] | None:
        """What stands between: what the second loop needs goes before the first one, the rest after the second."""
        first, second = self.first, self.second
        needed, made, earlier, later = reads(second), set(first.outputs), list[Node](), list[Node]()
        for node in reversed(self.nodes[self.i + 1 : self.j]):
            before = not needed.isdisjoint(node.outputs)
            (earlier if before else later).insert(0, node)
            needed |= reads(node) if before else set()
        if any(not made.isdisjoint(reads(n)) for n in earlier) or not self._in_order(earlier, later):
            return None
        if self._is_seen_halfway([*earlier, *later, first, second]):
            return None
        apart = _stored_into([*earlier, second]).isdisjoint(reads(first))
        return (earlier, later) if apart and self._later_is_apart(later) else None

    def _in_order(self, earlier: Sequence[Node], later: Sequence[Node]) -> bool:
        """Whether what raises first still does."""
        first, second = self.first, self.second
        raises = may_raise(second) and not self.calm
        if has_order(first) and (raises or any(map(may_raise, earlier))):
            return False
        if has_order(second) and (may_raise(first) or any(map(may_raise, [*earlier, *later]))):
            return False
        return not (raises and any(map(has_order, later)))

    def _is_seen_halfway(self, nodes: Sequence[Node]) -> bool:
        """Whether one of these may raise while arrays that the caller may have are changed in another order."""
        makers = {v: n for n in self.nodes for v in n.outputs}
        arrays = [v for loop in (self.first, self.second) for v in loop.carry if isinstance(v.type, ArrayType)]
        return any(map(may_raise, nodes)) and not all(_is_new(v, makers) for v in arrays)

    def _later_is_apart(self, later: Sequence[Node]) -> bool:
        """Whether what is moved behind the second loop reads nothing that this stores into."""
        stored = _stored_into([self.second])
        return all(stored.isdisjoint(reads(n)) for n in later)

    def _passed(self) -> dict[int, int | None] | None:
        """The carries of the first loop that the second one reads, and which of its own each is; None if that may not
        be."""
        first, second = self.first, self.second
        passed: dict[int, int | None] = {}
        for k, out in enumerate(first.outputs):
            if out not in reads(second):
                continue
            if isinstance(out.type, ListType):
                passed[k] = self.passed_list(k)
                if passed[k] is None:
                    return None
                continue
            if not isinstance(out.type, ArrayType) or not stores_at_index(first, k):
                return None
            own = [j for j, v in enumerate(second.carry) if v is out]
            if own and not self._goes_on(k, own):
                return None
            if not reads_at_index(second.body, out, second.body.params[0]):
                return None
            passed[k] = own[0] if own else None
        return passed

    def passed_list(self, k: int) -> int | None:
        """Which carry of the second loop a list of the first one is."""
        return None

    def _goes_on(self, k: int, own: Sequence[int]) -> bool:
        """Whether the second loop changes the very array, which nobody else reads, at its index only."""
        first, second, out = self.first, self.second, self.first.outputs[k]
        others = [n for n in self.nodes if n is not second and out in reads(n)]
        if len(own) > 1 or others or out in self.results or out in free_values(second.body):
            return False
        params = first.body.params[k + 1], second.body.params[own[0] + 1]
        return stores_at_index(second, own[0]) and all(
            reads_at_index(loop.body, p, loop.body.params[0]) for loop, p in zip((first, second), params, strict=True)
        )

    def _loop(self, passed: dict[int, int | None]) -> For:
        first, second = self.first, self.second
        env = {second.body.params[0]: first.body.params[0]}
        for k, own in passed.items():
            now = first.body.results[k]
            env[first.outputs[k] if own is None else second.body.params[own + 1]] = now
        body = renamed(second.body, env)
        merged = {own: k for k, own in passed.items() if own is not None}
        kept = [j for j in range(len(second.carry)) if j not in merged]
        results, outputs = list(first.body.results), list(first.outputs)
        for j, k in merged.items():
            results[k], outputs[k] = body.results[j], second.outputs[j]
        pick = lambda values, offset=0: tuple(values[j + offset] for j in kept)  # noqa: E731
        whole = Graph(
            first.body.name,
            (*first.body.params, *pick(second.body.params, 1)),
            (*first.body.nodes, *body.nodes),
            (*results, *pick(body.results)),
        )
        return replace(
            first,
            carry=(*first.carry, *pick(second.carry)),
            body=whole,
            outputs=(*outputs, *pick(second.outputs)),
            lanes=first.lanes and second.lanes,
        )


def _is_new(value: Value, makers: dict[Value, Node]) -> bool:
    """Whether an array was made here, or is one that a loop or a store here made of such."""
    node = makers.get(value)
    while isinstance(node, For) or (isinstance(node, Apply) and node.op.kind == "update"):
        value = node.inputs[0] if isinstance(node, Apply) else node.carry[node.outputs.index(value)]
        node = makers.get(value)
    if not isinstance(node, Apply):
        return False
    filled = node.op.name == "broadcast_to" and not node.inputs[0].type.ndim
    return node.op.fresh or node.op.kind == "elementwise" or filled


def _stored_into(nodes: Sequence[Node]) -> set[Value]:
    """The arrays that nodes change in their own memory, if that can be had."""
    out: set[Value] = set()
    for node in nodes:
        match node:
            case Apply() if node.op.kind == "update":
                out.add(node.inputs[0])
            case For() | While():
                out.update(v for v in node.carry if isinstance(v.type, ArrayType))
    return out


def stores_at_index(loop: For, k: int) -> bool:
    """Whether a loop changes one of its arrays at its own index only."""
    return _is_stored_at(loop.body, loop.body.params[k + 1], loop.body.results[k], loop.body.params[0])


def _is_stored_at(graph: Graph, param: Value, value: Value, index: Value) -> bool:
    """Whether one array is another one with changes at an index only, in inner loops, too."""
    makers = {v: n for n in graph.nodes for v in n.outputs}
    while value is not param:
        node = makers.get(value)
        match node:
            case Apply(op=op) if op.name in ("setitem", "add_at") and _is_at(node, 2, index):
                value = node.inputs[0]
            case For() | While():
                k = node.outputs.index(value)
                inner = node.body.params[k + isinstance(node, For)]
                if not _is_stored_at(node.body, inner, node.body.results[k], index):
                    return False
                value = node.carry[k]
            case _:
                return False
    return True


def reads_at_index(graph: Graph, array: Value, index: Value) -> bool:
    """Whether all that a graph reads of an array, as it is or changed, is at an index, or is changed there."""
    if any(v is array for v in graph.results):
        return False
    states = {array}
    for node in graph.nodes:
        if isinstance(node, Apply) and node.op.kind == "update" and node.inputs[0] in states:
            states.add(node.outputs[0])
    return all(_is_at(node, at, index) for state in states for node, at in _readings(graph, state))


def _readings(graph: Graph, array: Value) -> Iterator[tuple[Node, int]]:
    """Each node that reads an array, at any depth, and where an index would stand among its operands."""
    for node in all_nodes(graph):
        if array in node_inputs(node):
            update = isinstance(node, Apply) and node.op.kind == "update"
            yield node, 2 if update else 1
        for inner in node_graphs(node):
            if array in inner.results:
                yield node, 1


def _is_at(node: Node, at: int, index: Value) -> bool:
    """Whether a node reads, or stores into, the part of its first operand at an index of the first axis."""
    if not isinstance(node, Apply) or node.op.name not in ("getitem", "setitem", "add_at"):
        return False
    if node.inputs.count(node.inputs[0]) > 1:
        return False
    axes = node.attrs["view"].axes
    return bool(axes) and axes[0] == "i" and node.inputs[at] is index
