"""Stores into an array that nobody reads any more are left out.

The derivative of ``y[i] = f(x[i])`` takes ``d_y[i]`` and leaves 0.0 there, for what was in ``y`` before. Where each
trip of a loop reads and stores at a place of its own, and nothing reads the array after the loop, what a trip stores
last is read by nobody.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from srcgraph.ir.closure import close, free_values, open_, renamed
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs, node_inputs
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import split_operands
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import inner_blocks, reads
from srcgraph.opt.settle import settle
from srcgraph.opt.simplify import simplify

STORES = ("setitem", "add_at")


def unread(graph: Graph) -> Graph:
    """Leave such stores out, at every depth."""
    if not any(isinstance(n, For) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    changed = _block(opened, frozenset())
    return graph if changed is opened else dce(settle(simplify(close(changed))))


def _block(graph: Graph, lost: Set[Value]) -> Graph:
    """A block in which what loops leave in arrays is read by nobody, or is ``lost`` as a result."""
    graph = inner_blocks(graph, lambda g: _block(g, frozenset()))
    nodes = list(graph.nodes)
    kept = [r for r in graph.results if r not in lost]
    for at, node in enumerate(nodes):
        if isinstance(node, For) and not node.stops:
            nodes[at] = _loop(node, nodes, kept)
    changed = any(a is not b for a, b in zip(nodes, graph.nodes, strict=True))
    return replace(graph, nodes=tuple(nodes)) if changed else graph


def _loop(loop: For, nodes: list[Node], kept: list[Value]) -> For:
    """A loop of a block without its last stores into arrays that are not read after it."""
    for k, out in enumerate(loop.outputs):
        if not isinstance(out.type, ArrayType) or out in kept or any(out in reads(n) for n in nodes):
            continue
        if own_axes(loop, k):
            loop = _without_last(loop, k)
    return loop


def _without_last(loop: For, k: int) -> For:
    """The loop, whose trips do not store at the end of a trip what none reads."""
    param, body = loop.body.params[k + 1], loop.body
    while (result := body.results[k]) is not param:
        maker = next(n for n in body.nodes if result in n.outputs)
        others = [n for n in body.nodes if result in reads(n)]
        if others or body.results.count(result) > 1:
            break
        if isinstance(maker, Apply):
            body = renamed(body, {result: maker.inputs[0]})
            body = replace(body, nodes=tuple(n for n in body.nodes if result not in n.outputs))
            continue
        inner = _block(body, frozenset({result}))
        if inner is body:
            break
        body = inner
        break
    if body.results[k] is param:  # it is the same array in all trips
        body = renamed(body, {param: loop.carry[k]})
    return loop if body is loop.body else replace(loop, body=body)


def own_axes(loop: For, k: int) -> frozenset[int]:
    """The axes along which each trip reads an array, and stores into it, at its own index alone."""
    body, index = loop.body, loop.body.params[0]
    chain = versions(body, body.params[k + 1], body.results[k])
    if chain is None or {loop.outputs[k], loop.carry[k]} & set(free_values(body)):
        return frozenset()
    if any(r in chain for j, r in enumerate(body.results) if j != k):
        return frozenset()
    axes: frozenset[int] | None = None
    for node in all_nodes(body):
        if any(v in chain for v in node_inputs(node)):
            if isinstance(node, For) and _only_carries(node, chain):
                continue
            here = _axes_at(node, chain, index)
            axes = here if axes is None else axes & here
        elif isinstance(node, If | While) and any(r in chain for g in node_graphs(node) for r in g.results):
            return frozenset()
    return axes or frozenset()


def versions(graph: Graph, param: Value, result: Value) -> set[Value] | None:
    """An array of a loop's body in all its states, those in inner loops included."""
    makers = {v: n for n in graph.nodes for v in n.outputs}
    found, value = {result, param}, result
    while value is not param:
        node = makers.get(value)
        match node:
            case Apply(op=op) if op.name in STORES:
                value = node.inputs[0]
            case For(stops=False):
                j = node.outputs.index(value)
                inner = versions(node.body, node.body.params[j + 1], node.body.results[j])
                if inner is None:
                    return None
                found |= inner
                value = node.carry[j]
            case _:
                return None
        found.add(value)
    return found


def _only_carries(loop: For, chain: Set[Value]) -> bool:
    """Whether an inner loop has states of the array as what one of its carries is, and nowhere else."""
    if not chain.isdisjoint((loop.start, loop.stop, loop.step)):
        return False
    carries = zip(loop.carry, loop.body.params[1:], loop.body.results, strict=False)
    return all(len({v in chain for v in values}) == 1 for values in carries)


def _axes_at(node: Node, chain: Set[Value], index: Value) -> frozenset[int]:
    """The axes on which a node reads an array, or stores into it, at an index only."""
    if not isinstance(node, Apply) or node.op.name not in ("getitem", *STORES):
        return frozenset()
    if sum(v in chain for v in node.inputs) != 1 or node.inputs[0] not in chain:
        return frozenset()
    view = node.attrs["view"]
    operands = split_operands(view, node.inputs[1 if node.op.name == "getitem" else 2 :])
    pairs = enumerate(zip(view.axes, operands, strict=True))
    return frozenset(axis for axis, (selector, own) in pairs if selector == "i" and own[0] is index)
