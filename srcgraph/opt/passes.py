"""What a pass is and how passes run.

A pass is a function from a valid graph to a valid graph; it returns the same object when nothing
changed. `run_passes` times each, verifies after it when asked, prints those named in
``SRCGRAPH_PRINT_AFTER`` (comma-separated, or ``all``; ``SRCGRAPH_PRINT_BEFORE`` likewise), and adds the
pass's name to whatever escapes.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from srcgraph.ir.graph import Graph
from srcgraph.ir.printer import format_graph
from srcgraph.ir.verify import verify
from srcgraph.ir.walk import size

GraphPass = Callable[[Graph], Graph]


@dataclass(frozen=True, slots=True)
class Pass:
    """A named pass."""

    name: str
    run: GraphPass


@dataclass(slots=True)
class Record:
    """What one pass did: seconds, and nodes before and after."""

    name: str
    seconds: float
    before: int
    after: int


@dataclass(slots=True)
class Report:
    """The passes that ran, in order, with the graph after each."""

    records: list[Record] = field(default_factory=list)
    graphs: list[tuple[str, Graph]] = field(default_factory=list)


def run_passes(graph: Graph, passes: Iterable[Pass], *, check: bool = False, report: Report | None = None) -> Graph:
    """Run passes in order.

    Parameters
    ----------
    graph : Graph
    passes : iterable of Pass
    check : bool
        Verify the graph after each pass that changed it.
    report : Report, optional
        Collects what happened.
    """
    for item in passes:
        _show("SRCGRAPH_PRINT_BEFORE", "before", item.name, graph)
        before, started = size(graph), time.perf_counter()
        try:
            changed = item.run(graph)
            if check and changed is not graph:
                verify(changed)
            graph = changed
        except Exception as error:
            error.add_note(f"in pass {item.name!r}")
            raise
        _show("SRCGRAPH_PRINT_AFTER", "after", item.name, graph)
        if report is not None:
            report.records.append(Record(item.name, time.perf_counter() - started, before, size(graph)))
            report.graphs.append((item.name, graph))
    return graph


def _show(variable: str, when: str, name: str, graph: Graph) -> None:
    wanted = os.environ.get(variable, "").split(",")
    if name in wanted or "all" in wanted:
        print(f"# {when} {name}\n{format_graph(graph, locs=True)}\n", file=sys.stderr)
