"""One instruction at a time, each shown when it has run, as the line of `srcgraph.ir.instructions` and its values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srcgraph.errors import excerpt
from srcgraph.ir.document import REGIONS, Document, document
from srcgraph.ir.graph import Apply, Define, Graph, Node, Program, Value, node_graphs
from srcgraph.ir.interp import Run as Interpreter
from srcgraph.ir.interp import conformed
from srcgraph.ir.listing import document_lines, graph_lines, numbered
from srcgraph.runtime.engines.kernels import applied, by_kernels
from srcgraph.runtime.engines.registry import Run


class Eager:
    """Runs a program node by node with NumPy, and the kernels of compiled code, in the order in which it stands.

    Parameters
    ----------
    show : callable, optional
        Given each instruction when it has run, with its values behind a ``#``.
    """

    name = "eager"

    def __init__(self, show: Callable[[str], None] | None = None):
        self.show = show

    def compile(self, program: Program) -> Run:
        listing = Listing() if self.show is None else listed(program)

        def run(args: Sequence[Any]) -> list[Any]:
            return _Traced(program.graphs, self.show, listing).graph(program.main, conformed(args, program.main))

        return run


@dataclass(slots=True)
class Listing:
    """The lines of a program: those that announce a graph, of its parameters and its ``return``; those of nodes."""

    heads: dict[Graph, str] = field(default_factory=dict)
    params: dict[Value, str] = field(default_factory=dict)
    returns: dict[Graph, str] = field(default_factory=dict)
    nodes: dict[Node, str] = field(default_factory=dict)


def listed(program: Program) -> Listing:
    """What each part of a program is in its listing, without hints; a program of one graph is listed as that."""
    out = Listing()
    data = document(program.main if len(program.graphs) == 1 else program, hints=False)
    lines = iter(numbered(list(document_lines(data))).splitlines())
    if "graphs" not in data:
        _list_graph(out, program.main, data["graph"], next(lines) if "name" in data else "", lines)
        return out
    next(lines)  # the program's own
    for graph, record in zip(program.graphs.values(), data["graphs"], strict=True):
        _list_graph(out, graph, record, next(lines), lines)
    return out


def _list_graph(out: Listing, graph: Graph, record: Document, head: str, lines: Iterator[str]) -> None:
    out.heads[graph] = head
    out.params.update({param: next(lines) for param in graph.params})
    for node, inner in zip(graph.nodes, record["nodes"], strict=True):
        out.nodes[node] = next(lines)
        for region, own in zip(REGIONS.get(inner["op"], ()), node_graphs(node), strict=False):
            _list_graph(out, own, inner[region], next(lines), lines)
        if isinstance(node, Define):
            for _ in graph_lines(inner["graph"], 0):
                next(lines)
    out.returns[graph] = next(lines)


class _Traced(Interpreter):
    """The interpreter, showing what it does."""

    def __init__(self, graphs: Mapping[str, Graph], show: Callable[[str], None] | None, listing: Listing):
        super().__init__(graphs, True)
        self.show, self.listing = show, listing

    def graph(self, graph: Graph, args: Sequence[Any]) -> list[Any]:
        if self.show is None:
            return super().graph(graph, args)
        if self.listing.heads[graph]:
            self.show(self.listing.heads[graph])
        for param, arg in zip(graph.params, args, strict=False):
            self.show(self.listing.params[param] + comment([arg]))
        results = super().graph(graph, args)
        self.show(self.listing.returns[graph] + comment(results))
        return results

    def node(self, node: Node, env: dict[Value, Any]) -> Sequence[Any]:
        if self.show is not None and not isinstance(node, Apply):
            self.show(self.listing.nodes[node])
        try:
            if isinstance(node, Apply) and by_kernels(node):
                outputs = applied(node, [env[v] for v in node.inputs])
            else:
                outputs = super().node(node, env)
        except Exception as error:
            self.raised(node, error)
            raise
        if self.show is not None and isinstance(node, Apply):
            self.show(self.listing.nodes[node] + comment(outputs))
        return outputs

    def raised(self, node: Node, error: Exception) -> None:
        """Show what raises, and add the user's line to the innermost node's."""
        if self.show is not None and isinstance(node, Apply):
            self.show(f"{self.listing.nodes[node]}  # raises {type(error).__name__}: {error}")
        loc = node.origin.loc
        if loc is not None and not getattr(error, "__notes__", None):
            error.add_note(f"at {loc}\n{excerpt(loc)}".rstrip())


def comment(values: Sequence[Any]) -> str:
    """Values as a comment behind a line: long arrays in part."""
    return "  # " + ", ".join(map(_shown, values)) if values else ""


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        text = np.array2string(value, separator=", ", threshold=12, edgeitems=2, precision=6)
        return " ".join(text.split())
    return str(value)
