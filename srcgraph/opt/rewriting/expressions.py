"""Function graphs as expressions: ``add(z, mul(x, *1 -> div(z, x)))``, with marks for what is used more than once."""

from __future__ import annotations

from collections.abc import Sequence

from srcgraph.ir.graph import Apply, Graph, Node, Value
from srcgraph.ir.printer import format_attr, format_literal


def expressions(graph: Graph, results: Sequence[Value]) -> str:
    """Some values of a graph as expressions of its parameters; control flow and calls stand for themselves."""
    writer = _Writer(graph, results)
    return f"[{', '.join(writer.text(v) for v in results)}]"


class _Writer:
    def __init__(self, graph: Graph, results: Sequence[Value]):
        self.made: dict[Value, Node] = {v: n for n in graph.nodes for v in n.outputs}
        self.marks: dict[Value, int] = {}
        self.counts: dict[Value, int] = {}
        stack = list(results)
        while stack:
            value = stack.pop()
            self.counts[value] = self.counts.get(value, 0) + 1
            node = self.made.get(value)
            if self.counts[value] == 1 and isinstance(node, Apply):
                stack.extend(node.inputs)

    def text(self, value: Value) -> str:
        """Of a value; recursion as deep as people read."""
        node = self.made.get(value)
        if node is None:
            return value.name
        if isinstance(node, Apply) and node.op.name == "const":
            return format_literal(node.attrs["value"])
        if value in self.marks:
            return f"*{self.marks[value]}"
        mark = ""
        if self.counts[value] > 1:
            self.marks[value] = len(self.marks) + 1
            mark = f"*{self.marks[value]} -> "
        return mark + self.call(node)

    def call(self, node: Node) -> str:
        if not isinstance(node, Apply):
            return f"{type(node).__name__.lower()}(...)"
        attrs = [f"{k}={format_attr(v)}" for k, v in node.attrs.items()]
        return f"{node.op.name}({', '.join([*map(self.text, node.inputs), *attrs])})"
