"""Tables of what became of the cases of each suite."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from judging import Result, Verdict

from external import autograd_points, npbench_programs, numba_usecases, tangent_functions

SUITES: dict[str, ModuleType] = {
    "tangent": tangent_functions,
    "npbench": npbench_programs,
    "autograd": autograd_points,
    "numba": numba_usecases,
}


def place(suite: str) -> Path | None:
    """Where a suite is checked out, if it is."""
    found = os.environ.get(SUITES[suite].VARIABLE)
    return Path(found) if found else None


def counts(verdicts: Iterable[Verdict]) -> Counter[str]:
    return Counter("right" if v.kind == "kink" else v.kind for v in verdicts)


def table(results: list[Result]) -> list[str]:
    """Counts per group, as Markdown."""
    lines = [
        "| | cases | value right | refused | wrong | gradient right | refused | wrong |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for group in dict.fromkeys(r.group for r in results):
        own = [r for r in results if r.group == group]
        value, slope = counts(r.forward for r in own), counts(r.gradient for r in own)
        cells = [len(own)]
        for found in (value, slope):
            cells += [found["right"], found["refused"], found["wrong"] + found["defect"]]
        lines.append(f"| {group or 'all'} | " + " | ".join(map(str, cells)) + " |")
    return lines


def failures(results: list[Result]) -> list[str]:
    """One line per case that is not right, with the reason."""
    lines = []
    for r in results:
        for way, verdict in (("value", r.forward), ("gradient", r.gradient)):
            if verdict.kind in ("refused", "defect", "wrong"):
                if way == "gradient" and r.forward.kind == "refused" and verdict.kind == "refused":
                    continue
                reason = verdict.reason.replace("|", "\\|").replace("\n", " ")
                lines.append(f"| `{r.name}` | {way} {verdict.kind} | {reason[:300]} |")
    return ["| case | | reason |", "|---|---|---|", *lines] if lines else []
