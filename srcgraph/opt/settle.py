"""What never changes is not carried: loop carries handed on as they are, and branches that agree.

A carry whose body returns it unchanged, or what the loop began with, is the initial value; an output of an ``if`` that
is the same value on both sides is that value. Both appear where derivatives are built, one carry per capture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from srcgraph.ir.closure import close, open_, renamed
from srcgraph.ir.graph import For, Graph, If, Node, Value, While


def settle(graph: Graph) -> Graph:
    """Return the graph without such carries and outputs, innermost first."""
    work = _Settle()
    out = work.graph(open_(graph))
    return close(out) if work.count else graph


class _Settle:
    def __init__(self) -> None:
        self.count = 0

    def graph(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        same: dict[Value, Value] = {}
        for node in graph.nodes:
            current = self.node(_reading(node, same), same)
            if current is not None:
                nodes.append(current)
        return replace(graph, nodes=tuple(nodes), results=tuple(same.get(v, v) for v in graph.results))

    def node(self, node: Node, same: dict[Value, Value]) -> Node | None:
        """The node without what does not change; what stands for its lost outputs goes into ``same``."""
        match node:
            case If():
                return self.branch(node, same)
            case For() | While():
                return self.loop(node, same)
        return node

    def branch(self, node: If, same: dict[Value, Value]) -> If:
        then, orelse = self.graph(node.then), self.graph(node.orelse)
        kept = []
        for k, (out, x, y) in enumerate(zip(node.outputs, then.results, orelse.results, strict=True)):
            if x is y and x.type == out.type:
                same[out] = x
                self.count += 1
            else:
                kept.append(k)
        return replace(
            node, then=_with_results(then, kept), orelse=_with_results(orelse, kept), outputs=_of(node.outputs, kept)
        )

    def loop(self, node: For | While, same: dict[Value, Value]) -> For | While:
        node = replace(node, body=self.graph(node.body))
        if isinstance(node, While):
            node = replace(node, cond=self.graph(node.cond))
        first = 1 if isinstance(node, For) else 0
        params = node.body.params[first : first + len(node.carry)]
        inside: dict[Value, Value] = {}
        kept = []
        for k, (init, param, out) in enumerate(zip(node.carry, params, node.outputs, strict=True)):
            unchanged = node.body.results[k] in (param, init)
            if unchanged and init.type == param.type == out.type:
                inside[param] = same[out] = init
                if isinstance(node, While):
                    inside[node.cond.params[k]] = init
            else:
                kept.append(k)
        if not inside:
            return node
        self.count += 1
        return _without(node, kept, inside, first)


def _without(node: For | While, kept: Sequence[int], inside: dict[Value, Value], first: int) -> For | While:
    """The loop with only the carries ``kept``; the others are read from outside."""
    last = list(range(len(node.carry), len(node.body.results)))
    body = renamed(_with_params(node.body, kept, first), inside)
    changes: dict[str, Any] = {
        "carry": _of(node.carry, kept),
        "outputs": _of(node.outputs, kept),
        "body": _with_results(body, [*kept, *last]),
    }
    if isinstance(node, While):
        changes["cond"] = renamed(_with_params(node.cond, kept, 0), inside)
    return replace(node, **changes)


def _with_params(graph: Graph, kept: Sequence[int], first: int) -> Graph:
    return replace(graph, params=graph.params[:first] + tuple(graph.params[first + k] for k in kept))


def _with_results(graph: Graph, kept: Sequence[int]) -> Graph:
    return replace(graph, results=_of(graph.results, kept))


def _of(values: tuple[Value, ...], kept: Sequence[int]) -> tuple[Value, ...]:
    return tuple(values[k] for k in kept)


def _reading(node: Node, env: dict[Value, Value]) -> Node:
    """The node reading ``env[v]`` wherever it read ``v``."""
    return renamed(Graph("", (), (node,), ()), env).nodes[0] if env else node
