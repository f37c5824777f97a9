"""How rewrites of whole graphs run, one after the other.

A pass is a function from a valid graph to a valid graph; it returns the same object when nothing
changed. `run_passes` times each rewriter, verifies after it when asked, prints those named in
``SRCGRAPH_PRINT_AFTER`` (comma-separated, or ``all``; ``SRCGRAPH_PRINT_BEFORE`` likewise), and adds its
name to whatever escapes.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from srcgraph.ir.graph import Graph
from srcgraph.ir.printer import format_graph
from srcgraph.ir.verify import verify
from srcgraph.ir.walk import size
from srcgraph.opt.modes import current_args, current_mode
from srcgraph.opt.rewriting.debugging import Reevaluation
from srcgraph.opt.rewriting.features import Profiler, Validation
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.walkers import GraphPass, Rewriter
from srcgraph.opt.rules import CANONICALIZE, SPECIALIZE, STABILIZE

Pass = GraphPass
STABLE = frozenset(r.name for r in (*CANONICALIZE, *STABILIZE, *SPECIALIZE) if "stability" in r.tags)
"""The rules that may make a number of an infinity: that is what they are for."""


@dataclass(slots=True)
class Record:
    """What one rewriter did: seconds, nodes before and after, and how often each of its rules was applied."""

    name: str
    seconds: float
    before: int
    after: int
    rules: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Report:
    """The rewriters that ran, in order, with the graph after each, and what failed.

    ``failed`` are rewrites that raised an error, and were then left out.
    """

    records: list[Record] = field(default_factory=list)
    graphs: list[tuple[str, Graph]] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    """Seconds of what is not a rewriter's."""
    sized: tuple[Graph, int] | None = None
    """The last graph that was counted: most rewriters leave it as it is."""

    def size_of(self, graph: Graph) -> int:
        """How many nodes a graph has."""
        if self.sized is None or self.sized[0] is not graph:
            self.sized = graph, size(graph)
        return self.sized[1]

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time that something takes to a stage."""
        started = time.perf_counter()
        yield
        self.stages[stage] = self.stages.get(stage, 0.0) + time.perf_counter() - started


def run_passes(graph: Graph, passes: Iterable[Rewriter], *, check: bool = False, report: Report | None = None) -> Graph:
    """Run rewriters in order.

    Parameters
    ----------
    graph : Graph
    passes : iterable of Rewriter
    check : bool
        Verify the graph after each that changed it.
    report : Report, optional
        Collects what happened.
    """
    fgraph = FunctionGraph(graph)
    mode = current_mode()
    if mode.check:
        fgraph.attach(Validation())
        fgraph.attach(Reevaluation(current_args(), STABLE))
    for item in passes:
        _run(item, fgraph, check or mode.check, report)
    return fgraph.graph()


def _run(item: Rewriter, fgraph: FunctionGraph, check: bool, report: Report | None) -> None:
    _show("SRCGRAPH_PRINT_BEFORE", "before", item.name, fgraph)
    graph, started = fgraph.graph(), time.perf_counter()
    profiler = Profiler()
    fgraph.attach(profiler)
    try:
        item.rewrite(fgraph)
        if check and fgraph.graph() is not graph:
            verify(fgraph.graph())
    except Exception as error:
        error.add_note(f"in pass {item.name!r}")
        raise
    finally:
        fgraph.detach(profiler)
    _show("SRCGRAPH_PRINT_AFTER", "after", item.name, fgraph)
    if report is not None:
        seconds = time.perf_counter() - started
        after = fgraph.graph()
        rules = {name: count for name, count in profiler.applied.items() if name != item.name}
        before = report.size_of(graph)
        report.records.append(Record(item.name, seconds, before, report.size_of(after), rules))
        report.graphs.append((item.name, after))
        report.failed.update({name: repr(error) for name, error in profiler.errors.items()})


def _show(variable: str, when: str, name: str, fgraph: FunctionGraph) -> None:
    wanted = os.environ.get(variable, "").split(",")
    if name in wanted or "all" in wanted:
        print(f"# {when} {name}\n{format_graph(fgraph.graph(), locs=True)}\n", file=sys.stderr)
