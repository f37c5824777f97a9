"""Where something is computed and not used, its cotangent is 0, and 0 times an infinite derivative must not be NaN.

``np.where`` chooses, a store replaces, an index reads a part, a branch is not taken, a loop makes no trip: what is left
out of ``np.sqrt(x)``, say where ``x`` is 0, gets a cotangent of exactly 0. A walk from the results to the inputs finds
the nodes whose contributions are asked for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from srcgraph.ir.builder import Builder
from srcgraph.ir.closure import free_values
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Value, While, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.activity import functions_of, loop_params

_PASSING = frozenset({"structural", "update", "elementwise", "list", "check"})
_LISTS = frozenset({"list_get", "list_set", "list_pop", "list_take"})


class Unused:
    """Finds the nodes of a forward graph that may get a cotangent of 0 beside an infinite derivative.

    Parameters
    ----------
    graph : Graph
        Open.
    active : frozenset of Value
        What has a cotangent.

    Attributes
    ----------
    guarded : set of Node
        Where the cotangent is 0, what they contribute is 0.
    tests : Tests
    """

    def __init__(self, graph: Graph, active: frozenset[Value]):
        self.active = active
        self.chosen: set[Value] = set()
        """Values that reach a result through `where`: what it did not choose may be anything."""
        self.parts: set[Value] = set()
        """What may be left out: arrays and lists in part, and what only a branch or a loop reads."""
        self.guarded: set[Node] = set()
        self.tests = Tests()
        for node in all_nodes(graph):
            self.tests.note(node)
        checks = (n for n in all_nodes(graph) if isinstance(n, Apply) and n.op.kind == "check")
        self._checked = {v for n in checks for v in n.outputs}
        self._inside = {g: free_values(g) for n in all_nodes(graph) for g in node_graphs(n)}
        self._factors = {n.outputs[0] for n in all_nodes(graph) if _is_factor(n)}
        """Literals that neither vanish nor are infinite."""
        self._infinite: set[Value] = set()
        """Computed, element by element, from what may have an infinite derivative."""
        for node in all_nodes(graph):
            if isinstance(node, Apply) and node.op.kind in _PASSING and self._is_singular(node):
                self._infinite.update(node.outputs)
        self._functions = functions_of(graph)
        before = -1
        while before != (before := self._found()):
            self._graph(graph)
            if not self._functions:
                break

    def _found(self) -> int:
        return len(self.chosen) + len(self.parts)

    def _graph(self, graph: Graph) -> None:
        for node in reversed(graph.nodes):
            match node:
                case Apply():
                    self._apply(node)
                case If():
                    for side in (node.then, node.orelse):
                        self.parts.update(self._inside[side])
                        self._same(node.outputs, side.results)
                        self._graph(side)
                case For() | While():
                    self._loop(node)
                case Call(callee=callee) if callee in self._functions:
                    self._same(node.outputs, self._functions[callee].results)
                    self._same(self._functions[callee].params, node.inputs)
                case Define():
                    self._graph(node.graph)

    def _loop(self, node: For | While) -> None:
        params, results = loop_params(node), node.body.results[: len(node.carry)]
        self.parts.update(self._inside[node.body])
        self._same(node.outputs, results)
        before = -1
        while before != (before := self._found()):
            self._graph(node.body)
            self._same(params, results)
        self._same(params, node.carry)

    def _same(self, outer: Sequence[Value], inner: Sequence[Value]) -> None:
        for kind in (self.chosen, self.parts):
            kind.update(y for x, y in zip(outer, inner, strict=True) if x in kind)

    def _apply(self, node: Apply) -> None:
        if self.active.isdisjoint(node.outputs):
            return
        own = node.op.kind == "elementwise" and not node.op.linear and not self._is_scaled(node)
        if node.op.name == "where":
            self.chosen.update(node.inputs[1:])
        elif not self.chosen.isdisjoint(node.outputs):
            self.chosen.update(node.inputs)
            self.guarded.update([node] if own else [])
        if not self.parts.isdisjoint(node.outputs) and node.op.kind in _PASSING:
            self.parts.update(node.inputs)
            self.guarded.update([node] if own and self._is_singular(node) else [])
        if node.op.name in _LISTS or (node.op.name in ("setitem", "getitem") and not _is_whole(node)):
            self.parts.add(node.inputs[0])

    def _is_scaled(self, node: Apply) -> bool:
        """Whether a node multiplies by a literal."""
        return node.op.name == "mul" and not self._factors.isdisjoint(node.inputs)

    def _is_singular(self, node: Apply) -> bool:
        """Whether a derivative of a node may be infinite, or what it is of."""
        if not self._infinite.isdisjoint(node.inputs):
            return True
        not_zero = node.op.name == "div" and node.inputs[1] in self._factors | self._checked
        return node.op.singular and not not_zero and node.attrs.get("n", -1) < 0


class Tests:
    """Where an earlier derivative chose 0 beside a cotangent of 0: ``where(unused(ct), 0, x)``."""

    def __init__(self) -> None:
        self.made: dict[Value, Apply] = {}

    def note(self, node: Node) -> None:
        """Nodes are noted before what reads them."""
        if isinstance(node, Apply) and node.op.name in _TOLD:
            self.made[node.outputs[0]] = node

    def chooses(self, node: Apply) -> bool:
        if node.op.name != "where":
            return False
        test = self.made.get(node.inputs[0])
        return test is not None and test.op.name == "unused" and self._is_zero(node.inputs[1])

    def _is_zero(self, value: Value) -> bool:
        node = self.made.get(value)
        while node is not None and node.op.name in ("cast", "broadcast_to"):
            node = self.made.get(node.inputs[0])
        return node is not None and node.op.name == "const" and node.attrs["value"] == 0


_TOLD = ("unused", "const", "cast", "broadcast_to")


def chosen_again(test: Value, right: Value, moved: Value) -> Value:
    """What becomes of ``moved`` beside ``where(unused(ct), 0, x)``: it is 0 only where the cotangent made ``x`` so.

    Where the cotangent is 0 for another reason, as that of ``np.log(y)`` in ``x * np.log(y)`` is where ``x`` is 0, the
    derivative of what it contributes is that of a product, and not that of 0.

    Parameters
    ----------
    test : Value
        ``unused(ct)``.
    right : Value
        What is NaN where the cotangent made it 0: ``x``, or in forward mode its tangent.
    moved : Value
        The cotangent, or tangent, of ``x``.
    """
    return OPS["where"](OPS["logical_and"](test, OPS["isnan"](right)), 0.0, moved)


def is_number_beside(builder: Builder, value: Value, test: Value, given: AbstractSet[Value]) -> bool:
    """Whether a value is no NaN where ``test``, `unused` of a cotangent, holds.

    It is made of that cotangent, literals and ``given``, which are numbers, and is 0 there, or a sum with literals.
    """
    asked = builder.definition(test)
    fine = {asked.inputs[0], *given} if asked is not None else {*given}
    if asked is not None and (whole := builder.definition(asked.inputs[0])) and whole.op.name == "broadcast_to":
        fine.add(whole.inputs[0])
    stack = [value]
    while stack:
        value = stack.pop()
        node = builder.definition(value)
        if value in fine or (node is not None and node.op.name == "const" and abs(node.attrs["value"]) < 1e9):
            continue
        if node is None or node.op.name not in _PLAIN | _ELEMENTS:
            return False
        stack += node.inputs[:1] if node.op.name in _ELEMENTS else node.inputs
    return True


_PLAIN = frozenset(("mul", "add", "sub", "neg", "square"))
_ELEMENTS = frozenset(("getitem", "broadcast_to", "with_shape", "reshape", "full", "cast"))


def _is_factor(node: Node) -> bool:
    if not isinstance(node, Apply) or node.op.name != "const" or node.outputs[0].type.dtype.kind not in "iufc":
        return False
    return bool(np.isfinite(node.attrs["value"])) and node.attrs["value"] != 0


def _is_whole(node: Apply) -> bool:
    """Whether an index leaves nothing out."""
    return all(a == ":" for a in node.attrs["view"].axes)
