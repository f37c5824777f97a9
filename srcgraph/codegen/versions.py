"""Lists and arguments that change while something still needs what they were: copied first.

A list is a value; the code generator lets a changed list be the same object. That is right where nothing reads the old
one afterwards, which is so for a user's lists, as these are objects, but for what rewriting made of them. An array that
the caller sees is stored into where it is, so that an exception leaves what it should: ``old = +u`` is read of a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from srcgraph.codegen.uses import Place, Use, Uses, analyse, carry_params, changes_first, is_repeated
from srcgraph.ir.closure import with_graphs, with_inputs
from srcgraph.ir.graph import Apply, Call, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ArrayType, ListType
from srcgraph.ir.view import whole
from srcgraph.ir.walk import all_graphs, all_nodes, has_order


def with_copies(graph: Graph, changed: Mapping[int, int]) -> Graph:
    """An open graph in which a list changes where nothing needs what it was, and so do arrays that callers see.

    ``changed`` are the positions of these among the parameters, and of what they are at the end among the results.
    """
    ends = [graph.results[k] for k in changed.values()]
    graph = _gone_apart(graph, ends)
    seen = _needed_later(graph, contents(graph, ends))
    if seen or any(isinstance(n, Apply) and n.op.kind == "list" for n in all_nodes(graph)):
        raises = any(map(has_order, all_nodes(graph)))
        while (copied := _one_copied(graph, seen, raises)) is not None:
            graph = copied
    return graph


def _gone_apart(graph: Graph, ends: Iterable[Value]) -> Graph:
    """Where what callers see, and another array, go on from one content, the other one goes on from a copy.

    Where nothing can raise, callers see arrays at the end only: whichever is first may have the memory.
    """
    seen = contents(graph, ends)
    if not seen or not any(map(has_order, all_nodes(graph))):
        return graph
    while (found := next((f for block in all_graphs(graph) for f in _leaving(block, seen)), None)) is not None:
        node, taken, first = found
        value = node_inputs(node)[taken]
        graph = _Copy(value, Value(value.name, value.type), first, {node: [taken]}).into(graph)
    return graph


def contents(graph: Graph, ends: Iterable[Value]) -> set[Value]:
    """What arrays are, one after the other, that callers see in the end as some results, or after an exception."""
    kept = (n.inputs[1] for n in all_nodes(graph) if isinstance(n, Apply) and n.op.name == "keep")
    seen = {v for v in (*ends, *kept) if isinstance(v.type, ArrayType)}
    if seen:
        _before(graph, seen)
    return seen


def _before(graph: Graph, seen: set[Value]) -> None:
    """Add what the arrays were before whatever changed them."""
    for node in reversed(graph.nodes):
        held = [k for k, out in enumerate(node.outputs) if out in seen]
        if held and isinstance(node, Apply) and (changes_first(node) or node.op.name == "reshape_view"):
            seen.add(node.inputs[0])
        elif held and isinstance(node, Call):
            seen.update(node.inputs[i] for i, k in node.changes if k in held)
        elif held and isinstance(node, If):
            seen.update(g.results[k] for g in node_graphs(node) for k in held)
        elif held and isinstance(node, For | While):
            params = carry_params(node)
            seen.update(v for k in held for v in (node.carry[k], params[k], node.body.results[k]))
        for inner in node_graphs(node):
            _before(inner, seen)


def _leaving(block: Graph, seen: AbstractSet[Value]) -> Iterator[tuple[Node, int, Node]]:
    """The nodes of a block that make another array of one of which callers see what becomes of it, which input that is,
    and the first node of the block that changes it.

    What is stored over as a whole in the end, as what loops exchange is, needs nothing of what it was.
    """
    replaced = {n.inputs[0] for n in block.nodes if isinstance(n, Apply) and _fills(n)}
    first: dict[Value, Node] = {}
    for node in block.nodes:
        for value in _taken_in(node):
            first.setdefault(value, node)
        match node:
            case Apply() if changes_first(node) and node.outputs[0] not in seen and node.inputs[0] in seen:
                yield node, 0, first[node.inputs[0]]
            case For() | While():
                skipped = 3 if isinstance(node, For) else 0
                ends = zip(node.carry, carry_params(node), node.body.results, node.outputs, strict=False)
                for k, (value, param, result, out) in enumerate(ends):
                    if value in seen and value not in replaced and out not in seen and result is not param:
                        yield node, skipped + k, first[value]


def _taken_in(node: Node) -> Iterator[Value]:
    """The arrays that a node, or one inside it, may change."""
    if isinstance(node, Apply) and changes_first(node):
        yield node.inputs[0]
    if isinstance(node, For | While):
        yield from node.carry
    for graph in node_graphs(node):
        for inner in graph.nodes:
            yield from _taken_in(inner)


def _fills(node: Apply) -> bool:
    """Whether a node stores over a whole array."""
    return node.op.name == "setitem" and node.attrs["view"] == whole(node.inputs[0].type.ndim)


def _needed_later(graph: Graph, seen: AbstractSet[Value]) -> set[Value]:
    """Those arrays that callers see which something reads once they are changed, outside of loops."""
    taken, found = set[Value](), set[Value]()
    for node in graph.nodes:
        if isinstance(node, If):
            found |= _needed_later(node.then, seen) | _needed_later(node.orelse, seen)
        found |= taken & set(_read_by(node))
        changed = set(_changed(node, seen))
        if isinstance(node, For | While):
            found |= changed & {v for g in node_graphs(node) for v in (*g.results, *_read_in(g))}
        taken |= changed
    return found | (taken & {*graph.results})


def _changed(node: Node, seen: AbstractSet[Value]) -> Iterator[Value]:
    """Those arrays that a node may store into."""
    match node:
        case For() | While():
            ends = zip(node.carry, carry_params(node), node.body.results, strict=False)
            yield from (v for v, param, result in ends if v in seen and result is not param)
        case Apply() | If():
            yield from (v for v in _taken_in(node) if v in seen)


_NOT_ELEMENTS = ("dim", "keep")
"""What asks for lengths, and what names the memory."""


def _read_by(node: Node) -> Iterator[Value]:
    """The values whose elements a node reads, or hands on, by graphs of its own too."""
    if not isinstance(node, Apply) or node.op.name not in _NOT_ELEMENTS:
        yield from node_inputs(node)
    for graph in node_graphs(node):
        yield from graph.results
        yield from _read_in(graph)


def _read_in(graph: Graph) -> Iterator[Value]:
    return (v for node in graph.nodes for v in _read_by(node))


def _one_copied(graph: Graph, arrays: AbstractSet[Value], raises: bool) -> Graph | None:
    """The graph with one more copy; None if it needs none.

    Where nothing ``raises``, an array that a branch alone changes is copied there, when its memory is known.
    """
    uses = analyse(graph)
    for value in [v for v in uses.reads if v in uses.consumed and (isinstance(v.type, ListType) or v in arrays)]:
        home = uses.defined_at[value].graph
        for use in uses.reads[value]:
            taken = _taken(uses, use.node, value)
            if use.node is None or not taken:
                continue
            repeated = is_repeated(use.place, home)
            if value in arrays and use.place.graph is not home and (repeated or not raises):
                continue
            copy = _Copy(value, Value(value.name, value.type))
            if repeated:
                copy.before = use.node
                copy.inputs[use.node] = taken
            else:
                _read_after(copy, uses, use, taken[0])
                near = copy.is_of(uses, use.place.graph)
                at = next(p for p in _outward(use.place) if p.graph is home)
                copy.before = use.node if near else home.nodes[at.position]
            if copy.inputs or copy.results:
                return copy.into(graph)
    return None


def _read_after(copy: _Copy, uses: Uses, use: Use, taken: int) -> None:
    """Let what is read once a list has been changed be read of a copy."""
    for other in uses.reads[copy.old]:
        if isinstance(other.node, Apply) and other.node.op.name in _NOT_ELEMENTS:
            continue
        if other.node is None:
            if _is_after(other.place, use.place) or _is_inside(other.place, use.node):
                copy.results.add(other.place.graph)
        elif other.node is use.node or _is_after(other.place, use.place) or _is_inside(other.place, use.node):
            places = [k for k, v in enumerate(node_inputs(other.node)) if v is copy.old]
            left = [k for k in places if other.node is not use.node or k != taken]
            if left:
                copy.inputs[other.node] = left


def _taken(uses: Uses, node: Node | None, value: Value) -> list[int]:
    """Which of a node's inputs are the list, to be changed."""
    match node:
        case Apply():
            return [0] if changes_first(node) and node.inputs[0] is value else []
        case Call():
            return [i for i, _ in node.changes if node.inputs[i] is value]
        case For() | While():
            first = 3 if isinstance(node, For) else 0
            pairs = zip(node.carry, carry_params(node), strict=True)
            return [first + k for k, (c, p) in enumerate(pairs) if c is value and p in uses.consumed]
    return []


def _is_after(later: Place, place: Place) -> bool:
    around = {p.graph: p.position for p in _outward(place)}
    return next(p.position > around[p.graph] for p in _outward(later) if p.graph in around)


def _is_inside(place: Place, node: Node | None) -> bool:
    graphs = () if node is None else node_graphs(node)
    return any(p.graph in graphs for p in _outward(place))


def _outward(place: Place | None) -> Iterator[Place]:
    while place is not None:
        yield place
        place = place.parent


@dataclass(slots=True)
class _Copy:
    """A copy of a list, or an array: before which node it is made, and by what it is read, at which places."""

    old: Value
    new: Value
    before: Node | None = None
    inputs: dict[Node, list[int]] = field(default_factory=dict)
    results: set[Graph] = field(default_factory=set)

    def is_of(self, uses: Uses, graph: Graph) -> bool:
        """Whether all that reads it stands in a block, or inside it."""
        places = [
            use.place for use in uses.reads[self.old] if use.node in self.inputs or use.place.graph in self.results
        ]
        return all(any(p.graph is graph for p in _outward(place)) for place in places)

    def into(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        for node in graph.nodes:
            if node is self.before:
                copied = OPS["list_copy" if isinstance(self.old.type, ListType) else "copy"]
                nodes.append(Apply(copied, (self.old,), (self.new,), {}, node.origin))
            inner = node_graphs(node)
            new = with_graphs(node, [self.into(g) for g in inner]) if inner else node
            if node in self.inputs:
                given: Sequence[Value] = node_inputs(new)
                new = with_inputs(new, [self.new if k in self.inputs[node] else v for k, v in enumerate(given)])
            nodes.append(new)
        results = graph.results
        if graph in self.results:
            results = tuple(self.new if v is self.old else v for v in results)
        return replace(graph, nodes=tuple(nodes), results=results)
