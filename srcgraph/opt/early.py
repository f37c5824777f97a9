"""Checks of sizes come before the work that they do not wait for, so that the loops after them can be one.

``a + b``, ``c + d`` of arrays whose lengths have to agree is two loops with a check between them; with both checks
first it is one loop. Nothing moves past what has an order: another check, an effect, a draw, a store that callers see.
But a check that fails only where a store is into no element moves past it: ``u[1:-1] = y`` before ``u[-2]``. And
lengths are compared before a loop that only gathers: ``x[columns] * y`` raises ValueError, whatever is in ``columns``,
where the lengths differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from srcgraph.ir import dims
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS, building
from srcgraph.ir.rebuild import Rebuild, substitute_type
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.view import split_operands
from srcgraph.ir.walk import all_nodes, has_order

MOST_STORES = 32
"""A check is not asked about more stores than these."""


def early(graph: Graph) -> Graph:
    """Checks of sizes first, and what they say of lengths known after them."""
    ordered = _checks_first(graph)
    return _OneLength(graph.name).run(ordered) if any(map(_says_equal, ordered.nodes)) else ordered


def _says_equal(node: Node) -> bool:
    """Whether two lengths are equal once a node has run."""
    return isinstance(node, Apply) and node.op.learn is OPS["equal_size"].learn


def _checks_first(graph: Graph) -> Graph:
    """In every block."""
    ordered: list[Node] = []
    run, given = _Run(), _Given(graph)
    for node in map(_inside, graph.nodes):
        if run.ends_with(node, given.is_changed_by(node)):
            ordered += run.in_order()
            run = _Run()
    ordered += run.in_order()
    return graph if tuple(ordered) == graph.nodes else replace(graph, nodes=tuple(ordered))


class _Given:
    """Arrays that a graph is given: whoever catches an exception sees what was stored into them before."""

    def __init__(self, graph: Graph):
        self.arrays = {p for p in graph.params if isinstance(p.type, ArrayType)}

    def is_changed_by(self, node: Node) -> bool:
        """Whether a node stores into one; what it makes of it is one, too, and what it may hand on as it is."""
        if isinstance(node, Apply):
            same = node.op.kind == "update" or node.op.name in ("with_shape", "assumed", "reshape_view")
            changes = same and node.inputs[0] in self.arrays
            self.arrays.update(node.outputs if changes else ())
            return changes and node.op.kind == "update"
        changed = node.carry if isinstance(node, For | While) else node_inputs(node)
        changes = not self.arrays.isdisjoint(changed) and any(map(_stores, _nodes_inside(node)))
        self.arrays.update(node.outputs if not self.arrays.isdisjoint(node_inputs(node)) else ())
        return changes


def _nodes_inside(node: Node) -> Iterator[Node]:
    return (n for g in node_graphs(node) for n in all_nodes(g))


def _stores(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.kind == "update"


def _only_gathers(node: Node) -> bool:
    """Whether a loop ends, and can raise for an index alone."""
    if not isinstance(node, For) or node.stops:
        return False
    inner = list(_nodes_inside(node))
    ordered = [n for n in inner if isinstance(n, Apply) and n.op.ordered]
    return all(isinstance(n, Apply | For | If) for n in inner) and all(n.op.name in _INDICES for n in ordered)


_INDICES = ("check_index", "check_upper")


class _Run:
    """Nodes of which only the last may have to stay where it is, if it has an order.

    Attributes
    ----------
    first : set of Node
        The checks that come first, and what they need.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.makers: dict[Value, Node] = {}
        self.first: set[Node] = set()
        self.stores: list[Apply | For] = []
        """Those that callers see, and loops that store what they see."""
        self.gathers = False
        """Whether one of the nodes is a loop that asks for indices."""

    def ends_with(self, node: Node, changes: bool) -> bool:
        """Add a node; whether nothing may move past it; ``changes`` says whether it changes what the caller sees."""
        self.nodes.append(node)
        self.makers.update(dict.fromkeys(node.outputs, node))
        if not has_order(node):
            self.stores += [node] if changes and isinstance(node, Apply | For) else []
            return changes and not isinstance(node, Apply | For)
        if changes:
            return True
        if _only_gathers(node):
            self.gathers = True
            return False
        needed = self.needed(node)
        few = len(self.stores) <= MOST_STORES
        if needed is None or not few or not all(self.fails_for_none(node, store) for store in self.stores):
            return True
        if self.gathers and not _says_equal(node):
            return True
        self.first |= needed
        return False

    def fails_for_none(self, check: Node, store: Apply | For) -> bool:
        """Whether a check can only fail where a store is into no element, or a loop has no trip."""
        failed = self.failed(check)
        if failed is None:
            return False
        if isinstance(store, For):
            start, stop, step = (v.type.value for v in (store.start, store.stop, store.step))
            lengths = [stop - start] if start is not None and stop is not None and step == 1 else []
        elif store.op.name in ("setitem", "add_at"):
            view, operands = store.attrs["view"], store.inputs[2:]
            own = zip(view.axes, split_operands(view, operands), store.inputs[0].type.shape, strict=True)
            lengths = [size if way == ":" else places[1].type.value for way, places, size in own if way != "i"]
        else:
            lengths = []
        return any(n is not None and dims.prove_nonnegative(-dims.unclamped(n), [failed]) for n in lengths)

    def failed(self, check: Node) -> Dim | None:
        """What is not negative where a check fails."""
        if not isinstance(check, Apply) or check.op.check is None:
            return None
        test = self.makers.get(check.inputs[0]) if check.op.name == "check_that" else check
        at_least = isinstance(test, Apply) and test.op.name == "greater_equal"
        if not isinstance(test, Apply) or not (at_least or check.op.check.fails == "x >= y"):
            return None
        x, y = (getattr(v.type, "value", None) for v in test.inputs)
        if x is None or y is None:
            return None
        return y - x - 1 if at_least else x - y

    def needed(self, check: Node) -> set[Node] | None:
        """A check and what it needs of the run, if that is only arithmetic of numbers."""
        found: set[Node] = set()
        stack = [check]
        while stack:
            node = stack.pop()
            if node in found or node in self.first:
                continue
            if not isinstance(node, Apply) or not _is_of_numbers(node):
                return None
            found.add(node)
            stack += [self.makers[v] for v in node.inputs if v in self.makers]
        return found

    def in_order(self) -> list[Node]:
        return [*(n for n in self.nodes if n in self.first), *(n for n in self.nodes if n not in self.first)]


def _inside(node: Node) -> Node:
    """The node, its own graphs in the new order."""
    match node:
        case If():
            then, orelse = _checks_first(node.then), _checks_first(node.orelse)
            return node if (then, orelse) == (node.then, node.orelse) else replace(node, then=then, orelse=orelse)
        case For():
            body = _checks_first(node.body)
            return node if body is node.body else replace(node, body=body)
        case While():
            cond, body = _checks_first(node.cond), _checks_first(node.body)
            return node if (cond, body) == (node.cond, node.body) else replace(node, cond=cond, body=body)
    return node


def _is_of_numbers(node: Apply) -> bool:
    """Whether a node is a check of numbers, or computes an integer or a truth value at no cost."""
    if node.op.kind == "check":
        return all(isinstance(v.type, ScalarType) for v in node.inputs)
    out = node.outputs[0].type
    cheap = node.op.kind == "elementwise" or node.op.name in ("const", "dim")
    return cheap and isinstance(out, ScalarType) and out.dtype.kind in "ib"


class _OneLength(Rebuild):
    """Gives lengths that a function has checked to be equal one name.

    Attributes
    ----------
    same : dict
        What stands for a length from where its check is: a symbol of the parameters that come first, or a number.
    """

    def __init__(self, name: str):
        super().__init__(name)
        self.same: dict[str, Dim] = {}
        self.arrays: list[Value] = []
        """The arrays given that loops read: they get the name where the check is, not in each trip."""

    def run(self, graph: Graph) -> Graph:
        with building(self.builder):
            self.params(graph.params)
            read = {v for n in graph.nodes if not isinstance(n, Apply) for v in node_inputs(n)}
            self.arrays = [p for p in graph.params if isinstance(p.type, ArrayType) and p in read]
            self.nodes(graph.nodes)
            return self.builder.finish([self.env[r] for r in graph.results])

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        made = super().apply(node, inputs)
        if len(self.builder.regions) == 1 and _says_equal(node):
            self.learn(*(v.type.value for v in inputs))
        return made

    def learn(self, x: Dim, y: Dim) -> None:
        """``y`` is ``x``, or the other way round, if one is no more than a symbol."""
        if not y.symbol or y.symbol in x.symbols():
            x, y = y, x
        if y.symbol and y.symbol not in x.symbols():
            one = {y.symbol: x}
            self.same = {name: dims.substitute(d, one) for name, d in self.same.items()} | one
            self.env.update({p: self.value(p) for p in self.arrays})

    def value(self, old: Value) -> Value:
        new = super().value(old)
        kind = substitute_type(new.type, self.same) if self.same else new.type
        if kind == new.type:
            return new
        if isinstance(kind, ArrayType):
            return self.builder.retype(new, kind.shape)
        return (isinstance(kind, ScalarType) and self.builder.known_integer(kind)) or new
