"""Results as lines, as a page with tables and plots, and as a file to which later runs add."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
from collections import Counter
from pathlib import Path

import aims
from aims import geometric_mean
from cases import CASES
from runner import Row, row_of

HERE = Path(__file__).parent
KEPT = HERE / "results.json"
DOCS = HERE.parent / "docs"
LIBRARIES = ("numpy", "numba", "jax", "torch", "autograd", "numexpr", "scipy")
NPBENCH_ORDER = ("numpy", "numba", "numba parallel", "pythran", "jax")


def milliseconds(seconds: float | None) -> str:
    """Three digits."""
    if seconds is None:
        return ""
    ms = 1e3 * seconds
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.3g}"


def line(row: Row) -> str:
    """A row for the terminal: srcgraph, then the others as multiples of it."""
    ours = row.outcomes["srcgraph"]
    label = f"{row.case}{', gradient' if row.what == 'gradient' else ''}"
    if ours.status != "right":
        return f"{label:48s} {ours.status.upper()}: {ours.message.splitlines()[0] if ours.message else ''}"
    others = []
    for peer, outcome in row.outcomes.items():
        if peer == "srcgraph" or outcome.status == "absent":
            continue
        t = row.seconds(peer)
        others.append(f"{peer} {t / ours.seconds:.3g}" if t and ours.seconds else f"{peer} {outcome.status}")
    return f"{label:48s} {milliseconds(ours.seconds):>9s} ms, first {ours.first or 0:5.1f} s; {', '.join(others)}"


class Results:
    """All rows known: those of this run, and those kept of runs before."""

    def __init__(self) -> None:
        self.new: list[Row] = []
        self.kept: dict[tuple[str, str, str], Row] = {}
        if KEPT.exists():
            rows = [row_of(r) for r in json.loads(KEPT.read_text())]
            self.kept = {(r.suite, r.case, r.what): r for r in rows}

    def add(self, row: Row, keep: bool) -> None:
        self.new.append(row)
        if keep:
            self.kept[row.suite, row.case, row.what] = row
            rows = (json.dumps(r.as_json()) for r in self.kept.values())
            KEPT.write_text("[\n" + ",\n".join(rows) + "\n]\n")

    def aims_reached(self) -> str:
        return "\n".join(reached.line() for reached in aims.judged(self.new) if reached.found)

    def write(self) -> None:
        """Write docs/benchmarks.md and its plots."""
        rows = list(self.kept.values())
        (DOCS / "benchmarks.md").write_text(page(rows))
        importlib.import_module("plots").draw(rows, DOCS)


def page(rows: list[Row]) -> str:
    parts = [
        "# Benchmarks\n",
        "Written by `make bench`; do not edit. Numbers are ratios of medians; for each row the peers, a process "
        "each, took turns;\nall results were compared before they were timed. Every peer had one thread, and times are "
        "CPU seconds of its process, so that\nother work on the machine does not count; so is the first call, with the "
        "compilers it starts.\n",
        machines(rows),
        "## Aims\n",
        *[f"- {bold(reached.line())}" for reached in aims.judged(rows)],
        "\n![srcgraph over the best other, own cases](benchmarks_own.svg)",
        "\n![srcgraph over the best other, NPBench](benchmarks_npbench.svg)\n",
        "## Own cases\n",
        "The programs are in `benchmarks/cases`. `hand` is numba written by hand, for gradients the adjoint. It and "
        "srcgraph have\n`fastmath={'contract', 'reassoc'}`, which is what JAX and torch.compile do; `exact` is "
        "srcgraph without, which rounds as\nPython does. Numbers of peers are multiples of srcgraph's time: above 1, "
        "srcgraph is quicker. Memory is what a call adds.\n",
        own_table([r for r in rows if r.suite == "own"]),
        "\n## NPBench\n",
        "Kernels of [NPBench](https://github.com/spcl/npbench), preset S, their NumPy versions compiled as they are; "
        "the others are NPBench's own\nversions. Numbers of peers are multiples of srcgraph's time; a peer is wrong "
        "where its result is not NumPy's, or its gradient not\nwhat differences give. Geometric means are over what "
        "ran.\n",
        npbench_table([r for r in rows if r.suite == "npbench"]),
        "\nGradients of the sum of all float results with respect to all float arrays, checked by differences of the "
        "NumPy version; by\nDaCe, of NPBench's versions for it, the quickest of three ways to optimise that gives what "
        "differences give:\n",
        npbench_gradients(rows),
        "\n## GradBench\n",
        "The evals in `benchmarks/gradbench` at GradBench's sizes, against derivatives by hand: for numba, and the "
        "suite's own in C++\n(`manual`, compiled for this machine, without threads).\n",
        gradbench_table([r for r in rows if r.suite == "gradbench"]),
    ]
    return "\n".join(parts)


def bold(text: str) -> str:
    state, _, rest = text.partition(":")
    return f"**{state}**:{rest}"


def machines(rows: list[Row]) -> str:
    """What rows were measured on, and the versions here, without names."""
    suites: dict[str, Counter[str]] = {}
    for row in rows:
        suites.setdefault(row.suite, Counter())[row.processor] += 1
    on = [
        f"- {suite}: " + ", ".join(f"{n} rows on {p}" for p, n in found.most_common())
        for suite, found in suites.items()
    ]
    versions = []
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} not installed")
    last = f"{os.cpu_count()} cores, {platform.system()}; Python {platform.python_version()}, {', '.join(versions)}."
    return "\n".join((*on, "", last, ""))


def table(head: list[str], body: list[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def multiple(row: Row, peer: str) -> str:
    """A peer's time over srcgraph's, or what became of it."""
    outcome, ours, theirs = row.outcomes.get(peer), row.seconds("srcgraph"), row.seconds(peer)
    if outcome is None or outcome.status == "absent":
        return ""
    if theirs is None:
        return outcome.status
    return f"{theirs / ours:.2f}" if ours else milliseconds(theirs) + " ms"


def ours(row: Row) -> list[str]:
    """srcgraph's milliseconds and seconds of the first call."""
    outcome = row.outcomes["srcgraph"]
    if outcome.status != "right":
        return [outcome.status, ""]
    return [milliseconds(outcome.seconds), f"{outcome.first:.1f}"]


def megabytes(row: Row) -> str:
    memory = row.outcomes["srcgraph"].memory
    return "" if memory is None else f"{memory / 1e6:.0f}"


def used(rows: list[Row], order: tuple[str, ...]) -> list[str]:
    """The peers that ran at least once."""
    return [p for p in order if any(r.outcomes.get(p) and r.outcomes[p].status != "absent" for r in rows)]


def own_table(rows: list[Row]) -> str:
    peers = used(rows, ("exact", "hand", "python", "jax", "torch", "torch.compile", "autograd", "numexpr", "pythran"))
    body = []
    for row in rows:
        label = row.case if row.what == "value" else "… gradient"
        body.append([label, *ours(row), megabytes(row), *(multiple(row, p) for p in peers)])
    return "\n".join(
        [table(["case", "ms", "first, s", "MB", *peers], body), "", "What a peer cannot do:\n", *refusals()]
    )


def refusals() -> list[str]:
    """Why peers have no program for a case."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for case in CASES.values():
        for peer, reason in case.refused.items():
            reasons.setdefault((peer, reason), []).append(case.name.split(", ")[0])
    return [f"- {peer}: {reason} ({', '.join(cases)})" for (peer, reason), cases in sorted(reasons.items())]


def slowest_first(rows: list[Row], peers: tuple[str, ...]) -> list[Row]:
    return sorted(rows, key=lambda r: -(r.ratio(peers) or 1e9))


def npbench_table(rows: list[Row]) -> str:
    values = [r for r in rows if r.what == "value"]
    peers = used(values, NPBENCH_ORDER)
    body = []
    for row in slowest_first(values, aims.NPBENCH_PEERS):
        ratio = row.ratio(aims.NPBENCH_PEERS)
        body.append([row.case, *ours(row), f"{ratio:.2f}" if ratio else "", *(multiple(row, p) for p in peers)])
    means = []
    for peer in peers:
        found = [1 / q for q in (r.ratio((peer,)) for r in values) if q]
        means.append(f"**{geometric_mean(found):.2f}** ({len(found)})")
    best = [q for q in (r.ratio(aims.NPBENCH_PEERS) for r in values) if q]
    body.append(["**geometric mean**", "", "", f"**{geometric_mean(best):.2f}**", *means])
    refused = [f"- {r.case}: {first_line(r)}" for r in values if r.outcomes["srcgraph"].status != "right"]
    return "\n".join([table(["kernel", "ms", "first, s", "over the best", *peers], body), "", *refused])


def first_line(row: Row) -> str:
    message = row.outcomes["srcgraph"].message
    return " ".join(message.split())[:200]


def npbench_gradients(rows: list[Row]) -> str:
    slopes = [r for r in rows if r.suite == "npbench" and r.what == "gradient"]
    slopes = [r for r in slopes if r.outcomes["srcgraph"].status != "absent"]
    over = {c: q for q, c in aims.over_value([r for r in rows if r.suite == "npbench"])}
    peers, body = used(slopes, aims.NPBENCH_SLOPES), []
    for row in slowest_first(slopes, aims.NPBENCH_SLOPES):
        own = f"{over[row.case]:.1f}" if row.case in over else ""
        ratio = row.ratio(aims.NPBENCH_SLOPES)
        best = f"{ratio:.2f}" if ratio else ""
        body.append([row.case, *ours(row), megabytes(row), own, best, *(multiple(row, p) for p in peers)])
    best = [q for q in (r.ratio(aims.NPBENCH_SLOPES) for r in slopes) if q]
    means = [f"**{geometric_mean(over.values()):.2f}**", f"**{geometric_mean(best):.2f}** ({len(best)})"]
    for peer in peers:
        found = [1 / q for q in (r.ratio((peer,)) for r in slopes) if q]
        means.append(f"**{geometric_mean(found):.2f}** ({len(found)})")
    body.append(["**geometric mean**", "", "", "", *means])
    refused = [f"- {r.case}: {first_line(r)}" for r in slopes if r.outcomes["srcgraph"].status != "right"]
    head = ["kernel", "ms", "first, s", "MB", "over its value", "over the best", *peers]
    return "\n".join([table(head, body), "", *refused])


def gradbench_table(rows: list[Row]) -> str:
    body = []
    over = {c: q for q, c in aims.over_value(rows)}
    for row in rows:
        if row.what == "gradient":
            own = f"{over[row.case]:.1f}" if row.case in over else ""
            by_hand = [multiple(row, peer) for peer in ("hand", "manual")]
            body.append([row.case, *ours(row), megabytes(row), own, *by_hand])
    return table(["eval", "ms", "first, s", "MB", "over its value", "hand", "manual"], body)
