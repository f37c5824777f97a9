"""Where what was made of variables stands: inside the branch that alone needs it.

Variables are values without a place. A conditional of variables (`srcgraph.ifelse`) is lazy: what only one of its sides
is made of, checks that may raise included, becomes the branch of that side. What both need, or others, stands before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from srcgraph.ir.closure import free_values, with_graphs
from srcgraph.ir.graph import If, Node, Step, Value, node_graphs, node_inputs
from srcgraph.ir.types import type_symbols

DEEPEST = 30
"""How many branches may be inside each other; Python reads no text that is indented a hundred times."""
Path: TypeAlias = tuple[tuple[If, int], ...]
"""The branches that something is in, from the outside, each with its side."""


def placed(steps: Sequence[Step], results: Sequence[Value], bound: set[Value]) -> list[Node]:
    """The nodes of some steps, which are in order, where they belong; those of values that are bound left out."""
    kept = {s: [n for n in s.nodes if bound.isdisjoint(n.outputs)] for s in steps}
    if not any(s.lazy for s in steps):
        return [n for nodes in kept.values() for n in nodes]
    paths = _paths(kept, results)
    inside: dict[Path, list[Node]] = {(): []}
    for step, nodes in kept.items():
        path = paths[step]
        done = [_filled(n, path, inside) if step.lazy and isinstance(n, If) else n for n in nodes]
        inside.setdefault(path, []).extend(done)
    return inside[()]


def _filled(node: If, path: Path, inside: dict[Path, list[Node]]) -> Node:
    """A branch with what belongs into its sides."""
    sides = [replace(g, nodes=(*inside.pop((*path, (node, k)), ()), *g.nodes)) for k, g in enumerate(node_graphs(node))]
    return with_graphs(node, sides)


def _paths(kept: dict[Step, list[Node]], results: Sequence[Value]) -> dict[Step, Path]:
    """The innermost place from which all that needs a step sees it."""
    uses: dict[Value, Path] = dict.fromkeys(results, ())
    paths: dict[Step, Path] = {}
    for step, nodes in reversed(kept.items()):
        outputs = [v for n in step.nodes for v in n.outputs]
        used = [uses[v] for v in outputs if v in uses]
        path = _visible(nodes, _common(used)[:DEEPEST])
        paths[step] = path
        for value, at in _reads(nodes, path, step.lazy):
            uses[value] = _common([at, uses[value]]) if value in uses else at
    return paths


def _common(paths: Sequence[Path]) -> Path:
    """The beginning that some places share."""
    shortest = min(paths, key=len, default=())
    for k, part in enumerate(shortest):
        if any(p[k] != part for p in paths):
            return shortest[:k]
    return shortest


def _visible(nodes: Sequence[Node], path: Path) -> Path:
    """As far inside as sizes that are first told by these nodes are not seen from outside."""
    known = {name for n in nodes for v in node_inputs(n) for name in type_symbols(v.type)}
    born = {name for n in nodes for v in n.outputs for name in type_symbols(v.type)} - known
    for k, (branch, _) in enumerate(path):
        if any(not born.isdisjoint(type_symbols(v.type)) for v in branch.outputs):
            return path[:k]
    return path


def _reads(nodes: Sequence[Node], path: Path, lazy: bool) -> Iterator[tuple[Value, Path]]:
    """The values that nodes at a place read, and where."""
    for node in nodes:
        yield from ((v, path) for v in node_inputs(node))
        for side, graph in enumerate(node_graphs(node)):
            at = (*path, (node, side)) if lazy and isinstance(node, If) else path
            yield from ((v, at) for v in free_values(graph))
