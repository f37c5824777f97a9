"""Where the time of compiling goes, which checks are left, what is copied and stored: `explain`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numba import typeof
from numba.core.dispatcher import Dispatcher

from srcgraph.errors import ArgumentError, Loc, Problem
from srcgraph.infer.signature import Column, Leaves
from srcgraph.ir.graph import Apply, For, Graph, While, node_graphs
from srcgraph.runtime.api import compile
from srcgraph.runtime.inspection import Table, tape_table
from srcgraph.runtime.specialized import Specialization


@dataclass(frozen=True, slots=True)
class StageRow:
    """A stage of compiling, and its milliseconds."""

    name: str
    ms: float


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A check that is done when running, as what it ensures could not be proved.

    Attributes
    ----------
    place : str
        Its line, as ``model.py:12``.
    error : str
        What it raises.
    check : str
        What it looks at.
    often : str
        ``once`` a call, or in which loop, by its line, at each step.
    """

    place: str
    error: str
    check: str
    often: str


@dataclass(frozen=True, slots=True)
class CopyRow:
    """An array that is copied, where, and why."""

    name: str
    place: str
    why: str


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What compiling a function took, and what is left to do when it runs.

    Attributes
    ----------
    name : str
        Of the generated function.
    stages : Table of StageRow
        Milliseconds; ``machine code`` is numba's part, and missing where an entry of the cache had it.
    checks : Table of CheckRow
        What could not be proved, those in loops first.
    copies : Table of CopyRow
    tape : Table
        As `Inspection.tape`.
    """

    name: str
    stages: Table
    checks: Table
    copies: Table
    tape: Table
    entry: Any = None

    @property
    def llvm(self) -> str:
        """LLVM's instructions, optimised."""
        return "\n".join(self.compiled.inspect_llvm().values())

    @property
    def asm(self) -> str:
        """The machine's instructions."""
        return "\n".join(self.compiled.inspect_asm().values())

    @property
    def compiled(self) -> Any:
        """What numba compiled for the CPU."""
        if not isinstance(self.entry, Dispatcher):
            why = f"{self.name} is compiled for CUDA: its kernels are, when they are launched"
            raise ArgumentError(Problem(why, hint='use target="cpu"'))
        return self.entry

    def __repr__(self) -> str:
        parts = [self.name, f"stages\n{self.stages!r}"]
        named = ("checks", self.checks), ("copies", self.copies), ("tape", self.tape)
        parts += [f"{name}\n{found!r}" if found else f"{name}\nnone" for name, found in named]
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        tables = ("stages", self.stages), ("checks", self.checks), ("copies", self.copies), ("tape", self.tape)
        return "".join(f"<h4>{name}</h4>{found._repr_html_()}" for name, found in tables if found)


def explain(function: Callable, /, *args: Any, **kwargs: Any) -> Explanation:
    """What compiling a function took, stage by stage, and which checks, copies and stores are left; it is not called.

    Parameters
    ----------
    function : function or Compiled
        A plain function, or what `compile` or a derivative made of one.
    *args, **kwargs
        Arguments such as it will be called with.

    Returns
    -------
    Explanation
        Printed, tables as text. ``llvm`` and ``asm`` are the instructions.

    Examples
    --------
    >>> def gathered(x, places):
    ...     total = 0.0
    ...     for k in range(len(places)):
    ...         total += x[places[k]]
    ...     return total
    >>> explain(gathered, np.ones(3), np.array([0, 2])).checks[0].error
    'IndexError'
    """
    compiled = compile(function)
    version, leaves = compiled.version(compiled.bound(args, kwargs))
    seconds = dict(version.report.stages)
    seconds["rewriting"] = sum(r.seconds for r in version.report.records)
    seconds["machine code"] = _machine_code(version, leaves)
    stages = tuple(StageRow(name, 1e3 * s) for name in _STAGES if (s := seconds.get(name, 0.0)))
    copies = tuple(CopyRow(c.name, _place(c.origin.loc), c.why) for c in version.generated.copies)
    checks = sorted(_checks(version.graph, ""), key=lambda row: row.often == "once")
    return Explanation(
        name=version.generated.name,
        stages=Table({"name": "stage", "ms": "ms"}, stages),
        checks=Table({"place": "line", "error": "raises", "check": "check", "often": "how often"}, tuple(checks)),
        copies=Table({"name": "array", "place": "line", "why": "why"}, copies),
        tape=tape_table(version),
        entry=version.entry,
    )


_STAGES = ("reading", "rewriting", "differentiating", "writing", "machine code")


def _machine_code(version: Specialization, leaves: Leaves) -> float:
    """Seconds of numba's, now or before; 0 where there was nothing to do."""
    entry = version.entry
    if not isinstance(entry, Dispatcher) or version.hidden or version.generated.frame:
        return 0.0
    types = tuple(typeof(v.array() if isinstance(v, Column) else v) for v in leaves.values)
    if types not in entry.overloads:
        started = time.perf_counter()
        entry.compile(types)
        return time.perf_counter() - started
    timers = entry.overloads[types].metadata or {}
    return float(timers.get("timers", {}).get("compiler_lock", 0.0))


def _checks(graph: Graph, loop: str) -> Iterator[CheckRow]:
    for node in graph.nodes:
        if isinstance(node, Apply) and node.op.check is not None:
            error = node.op.check.error.format_map({"error": node.attrs.get("error", "")})
            yield CheckRow(_place(node.origin.loc), error, _said(node), loop or "once")
        inside = f"each step of line {node.origin.loc.line}" if node.origin.loc else "each step"
        for inner in node_graphs(node):
            yield from _checks(inner, inside if isinstance(node, For | While) else loop)


_WHAT = {
    "check_index": "an index is in range",
    "check_upper": "an index is below the length",
    "check_item": "an index of a list is in range",
    "check_item_upper": "an index of a list is below its length",
    "check_nonzero": "a divisor is not zero",
    "check_fits": "what is stored has the length of the place, or 1",
}


def _said(node: Apply) -> str:
    """What a check looks at."""
    if node.op.name in _WHAT:
        return _WHAT[node.op.name]
    message = node.attrs.get("message", "")
    return str(message) if message else "lengths are the same"


def _place(loc: Loc | None) -> str:
    return f"{Path(loc.file).name}:{loc.line}" if loc is not None else ""
