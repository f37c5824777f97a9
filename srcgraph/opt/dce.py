"""Drop what nothing needs: nodes, outputs of branches, and carries of loops.

Marks backwards from the results and from everything ordered (checks that are not known to hold, effects), then keeps
what is marked. A carry is needed if its output is, or if its parameter feeds something needed in the body;
so a loop keeps only the variables that matter. Works on closed and on open graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Value, While, node_graphs
from srcgraph.ir.walk import all_nodes


def dce(graph: Graph) -> Graph:
    """Drop nodes, outputs and carries that neither the results nor anything ordered needs."""
    live = Marks(graph)
    out = _kept(graph, live, graph.results)
    return graph if _same_size(graph, out) else out


def _same_size(x: Graph, y: Graph) -> bool:
    count = lambda g: sum(1 + len(n.outputs) + _captures(n) for n in all_nodes(g))  # noqa: E731
    return count(x) == count(y)


def _captures(node: Node) -> int:
    return len(node.captures) if isinstance(node, If | For | While) else 0


class Marks:
    """Which values are needed, and which nodes have to run."""

    def __init__(self, graph: Graph, results: Sequence[Value] | None = None):
        self.values: set[Value] = set()
        self.nodes: set[Node] = set()
        self.owner: dict[Value, tuple[Node, int]] = {}
        self.origin: dict[Value, tuple[str, If | While | For, int]] = {}
        self.enclosing: dict[Node, Node | None] = {}
        self.todo: list[Value] = []
        self._index(graph, None)
        for node in list(self.enclosing):
            if isinstance(node, Call) or (isinstance(node, Apply) and node.op.ordered and not self._holds(node)):
                self.run(node)
                self.need(node.inputs)
            elif isinstance(node, Define):
                self.run(node)
                self.need(node.graph.results)
        self.need(graph.results if results is None else results)
        self._spread()

    def _holds(self, node: Apply) -> bool:
        """Whether a node checks what is a literal that holds."""
        maker = self.owner.get(node.inputs[0]) if node.op.name == "check_that" else None
        made = maker[0] if maker is not None else None
        return isinstance(made, Apply) and made.op.name == "const" and bool(made.attrs["value"])

    def _index(self, graph: Graph, parent: Node | None) -> None:
        for node in graph.nodes:
            self.enclosing[node] = parent
            for k, value in enumerate(node.outputs):
                self.owner[value] = (node, k)
            match node:
                case If():
                    for branch in (node.then, node.orelse):
                        self._params(branch.params, "capture", node, 0)
                case While():
                    for inner in (node.cond, node.body):
                        self._params(inner.params[: len(node.carry)], "carry", node, 0)
                        self._params(inner.params[len(node.carry) :], "capture", node, 0)
                case For():
                    params = node.body.params[1:]
                    self._params(params[: len(node.carry)], "carry", node, 0)
                    self._params(params[len(node.carry) :], "capture", node, 0)
            for inner in node_graphs(node):
                self._index(inner, node)

    def _params(self, params: Sequence[Value], kind: str, node: If | While | For, start: int) -> None:
        for k, value in enumerate(params, start):
            self.origin[value] = (kind, node, k)

    def need(self, values: Sequence[Value]) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self.todo.append(value)

    def run(self, node: Node | None) -> None:
        """``node`` has to run, and so does what encloses it."""
        while node is not None and node not in self.nodes:
            self.nodes.add(node)
            self._control(node)
            node = self.enclosing[node]

    def _control(self, node: Node) -> None:
        """What decides whether and how often the inside of a node runs."""
        match node:
            case If():
                self.need((node.cond,))
            case While():
                self.need(node.cond.results)
                if node.stops:
                    self.need(node.body.results[-1:])
            case For():
                self.need((node.start, node.stop, node.step))
                if node.stops:
                    self.need(node.body.results[-1:])

    def _spread(self) -> None:
        while self.todo:
            value = self.todo.pop()
            if value in self.owner:
                self._output(*self.owner[value])
            elif value in self.origin:
                kind, node, k = self.origin[value]
                if kind == "carry":
                    self.carry(node, k)
                else:
                    self.need((node.captures[k],))

    def _output(self, node: Node, k: int) -> None:
        self.run(node)
        match node:
            case Apply() | Call():
                self.need(node.inputs)
            case If():
                self.need((node.then.results[k], node.orelse.results[k]))
            case _:
                self.carry(node, k)

    def carry(self, node: Node, k: int) -> None:
        """Carry ``k`` of a loop is needed: all that passes through it is."""
        assert isinstance(node, For | While)
        graphs = [(node.body, 0)] if isinstance(node, While) else [(node.body, 1)]
        if isinstance(node, While):
            graphs.append((node.cond, 0))
        self.need((node.carry[k], node.body.results[k], node.outputs[k]))
        self.need([g.params[offset + k] for g, offset in graphs])


def _kept(graph: Graph, live: Marks, results: Sequence[Value]) -> Graph:
    nodes = tuple(_kept_node(n, live) for n in graph.nodes if n in live.nodes)
    return replace(graph, nodes=nodes, results=tuple(results))


def _kept_node(node: Node, live: Marks) -> Node:
    match node:
        case If():
            return _kept_if(node, live)
        case While() | For():
            return _kept_loop(node, live)
        case Define():
            return replace(node, graph=_kept(node.graph, live, node.graph.results))
    return node


def _kept_if(node: If, live: Marks) -> If:
    keep = [k for k, v in enumerate(node.outputs) if v in live.values]
    used = [k for k in range(len(node.captures)) if any(b.params[k] in live.values for b in (node.then, node.orelse))]

    def branch(graph: Graph) -> Graph:
        inner = _kept(graph, live, [graph.results[k] for k in keep])
        return replace(inner, params=tuple(graph.params[k] for k in used))

    return replace(
        node,
        captures=tuple(node.captures[k] for k in used),
        then=branch(node.then),
        orelse=branch(node.orelse),
        outputs=tuple(node.outputs[k] for k in keep),
    )


def _kept_loop(node: For | While, live: Marks) -> For | While:
    first = 1 if isinstance(node, For) else 0
    count = len(node.carry)
    keep = [k for k, v in enumerate(node.outputs) if v in live.values]
    graphs = [node.body] if isinstance(node, For) else [node.body, node.cond]
    offsets = [first if g is node.body else 0 for g in graphs]

    def captured(k: int) -> bool:
        return any(g.params[o + count + k] in live.values for g, o in zip(graphs, offsets, strict=True))

    used = [k for k in range(len(node.captures)) if captured(k)]

    def inner(graph: Graph, offset: int, results: Sequence[Value]) -> Graph:
        params = [*graph.params[:offset], *(graph.params[offset + k] for k in keep)]
        params += [graph.params[offset + count + k] for k in used]
        return replace(_kept(graph, live, results), params=tuple(params))

    results = [node.body.results[k] for k in keep]
    if node.stops:
        results.append(node.body.results[-1])
    changes = {
        "carry": tuple(node.carry[k] for k in keep),
        "captures": tuple(node.captures[k] for k in used),
        "body": inner(node.body, first, results),
        "outputs": tuple(node.outputs[k] for k in keep),
    }
    if isinstance(node, While):
        changes["cond"] = inner(node.cond, 0, node.cond.results)
    return replace(node, **changes)
