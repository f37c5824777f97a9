"""Arrays that a loop computes anew of themselves, element by element, are stored into.

``x = 0.9 * x + s[k]`` makes an array in each trip, which takes longer than to compute it. Nobody needs an element of
the old one once that of the new one is known: it is ``x[:] = 0.9 * x + s[k]``. What is read of the old array at other
places, as ``A @ x``, is computed before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.view import whole
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.exchanged import same_memory
from srcgraph.opt.fuse import reads


def renewed(graph: Graph) -> Graph:
    """Let loops store into such arrays, at every depth."""
    if not any(isinstance(n, For | While) and any(_carried(n)) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    found = dict(_found(opened))
    return _Renewed(graph.name, found, _given(opened, frozenset(found.values()))).run(opened) if found else graph


def _given(graph: Graph, stored: Set[Value]) -> Set[Value]:
    """What may be in the memory of what is given, where loops begin with ``stored`` arrays of their own."""
    nodes, given = list(all_nodes(graph)), {*graph.params}
    count = 0
    while count < len(given):
        count = len(given)
        for node in nodes:
            own: set[Value] = set()
            if isinstance(node, For | While):
                params = node.body.params[isinstance(node, For) :]
                own = {v for p, out in zip(params, node.outputs, strict=False) if p in stored for v in (p, out)}
            given |= {out for out, v in same_memory(node) if v in given and out not in own}
    return given


class _Renewed(Rebuild):
    """A graph in which new arrays are stored into old ones, ``old`` by new, and into copies of what is ``given``."""

    def __init__(self, name: str, old: dict[Value, Value], given: Set[Value]):
        super().__init__(name)
        self.old, self.given, self.stored = old, given, frozenset(old.values())

    def for_over(
        self, node: For, bounds: tuple[Value, Value, Value], inits: list[Value], number: Value | None = None
    ) -> Sequence[Value]:
        return super().for_over(node, bounds, self.own(node, inits), number)

    def while_over(self, node: While, inits: list[Value]) -> Sequence[Value]:
        return super().while_over(node, self.own(node, inits))

    def own(self, loop: For | While, inits: list[Value]) -> list[Value]:
        """What a loop begins with, in memory that is its own."""
        params = loop.body.params[isinstance(loop, For) :]
        found = zip(loop.carry, params, inits, strict=False)
        with self.builder.at(origin=loop.origin):
            return [OPS["copy"](v) if old in self.given and p in self.stored else v for old, p, v in found]

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        made = super().apply(node, inputs)
        array = self.old.get(node.outputs[0])
        if array is None:
            return made
        return (OPS["setitem"](self.value(array), *made, view=whole(array.type.ndim)),)


def _carried(loop: For | While) -> Iterator[tuple[Value, Value]]:
    """The arrays that a loop carries and makes anew: as a trip gets them, and leaves them."""
    for param, result in zip(loop.body.params[isinstance(loop, For) :], loop.body.results, strict=False):
        if isinstance(param.type, ArrayType) and param.type.ndim and param is not result:
            if result.type == param.type:
                yield param, result


def _found(graph: Graph) -> Iterator[tuple[Value, Value]]:
    """New arrays and the old ones they may be stored into."""
    nodes = list(all_nodes(graph))
    uses = Counter(v for n in nodes for v in node_inputs(n)) + Counter(graph.results)
    uses += Counter(r for n in nodes for g in node_graphs(n) for r in g.results)
    for loop in nodes:
        if isinstance(loop, For | While) and not (isinstance(loop, For) and loop.lanes) and any(_carried(loop)):
            yield from _Body(loop.body, uses).renewals(loop)


class _Body:
    """What a trip of a loop does.

    Attributes
    ----------
    made : dict
        What is computed element by element, and where.
    places : dict
        The nodes, by where they stand.
    readers : dict
        By value: the nodes that read it.
    """

    def __init__(self, body: Graph, uses: Counter[Value]):
        self.body, self.uses = body, uses
        by_element = (n for n in body.nodes if isinstance(n, Apply) and n.op.kind == "elementwise")
        self.made = {v: n for n in by_element for v in n.outputs}
        self.places = {n: k for k, n in enumerate(body.nodes)}
        self.readers: dict[Value, list[Node]] = defaultdict(list)
        for node in body.nodes:
            for value in dict.fromkeys(reads(node)):
                self.readers[value].append(node)

    def renewals(self, loop: For | While) -> Iterator[tuple[Value, Value]]:
        """New arrays and old ones, in the order in which they are made."""
        handed = Counter(self.body.results)
        found = [(p, r) for p, r in _carried(loop) if r in self.made and handed[r] == 1 and not handed[p]]
        done: set[Node] = set()
        for param, result in sorted(found, key=lambda each: self.places[self.made[each[1]]]):
            own, place = self.own(self.made[result]), self.places[self.made[result]]
            others = (n for n in self.readers[param] if n not in own and n not in done and not _is_length(n))
            if all(self.is_done(n, param, place) for n in others):
                done.update(own)
                yield result, param

    def own(self, node: Apply) -> dict[Node, None]:
        """The nodes that are computed for elements of one array alone, that of ``node`` the first."""
        found: dict[Node, None] = {node: None}
        todo = [node]
        for each in todo:
            for value in dict.fromkeys(each.inputs):
                maker = self.made.get(value)
                if maker is not None and maker not in found and self.uses[value] == each.inputs.count(value):
                    found[maker] = None
                    todo.append(maker)
        return found

    def is_done(self, node: Node, array: Value, place: int) -> bool:
        """Whether a node that reads an array is over before a place, and leaves nothing that is in its memory."""
        todo: list[tuple[Node, Value]] = [(node, array)]
        for each, value in todo:
            if self.places[each] >= place:
                return False
            match each:
                case Apply(op=op, outputs=(out,)) if op.kind == "elementwise" and isinstance(out.type, ArrayType):
                    todo += [(n, out) for n in self.readers[out]]
                case Apply(op=op, outputs=outputs):
                    if op.name != "matmul" and not all(isinstance(v.type, ScalarType) for v in outputs):
                        return False
                case For() | While():
                    if value in each.carry:
                        return False
                case _:
                    return False
        return True


def _is_length(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.name == "dim"
