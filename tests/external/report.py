"""Tables of what became of the cases of each suite."""

from __future__ import annotations

import os
import re
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


HEAD = """\
# Other projects' programs

What becomes of the programs and functions that other projects test themselves with. Each is run by Python and
compiled, on the arguments its own tests give it; values, dtypes, kinds, shapes, changed arguments and the types of
exceptions are compared. The gradient, by all float arguments, of the sums and half the sums of squares of all float
results and changed arguments is compared with differences along three directions. *Refused* is an error that names
the line and the construct; *wrong* is anything else, crashes included. Complex arguments are counted apart, and not
differentiated. Functions that themselves call the tools of the project they test are left out.

`make conformance` writes this page; it needs checkouts of the projects, named by environment variables
({variables}). Nothing of them is kept here.
"""


def merged(results: Iterable[Result]) -> list[Result]:
    """One result per group and name, the worst of each."""
    out: dict[tuple[str, str], Result] = {}
    for r in results:
        known = out.setdefault((r.group, r.name), r)
        known.forward = known.forward.worse(r.forward)
        known.gradient = known.gradient.worse(r.gradient)
    return list(out.values())


PLAINLY = """\
This time the generated text was run as plain Python, without numba (`--plainly`).
"""


def page(found: dict[str, list[Result]], plainly: bool = False) -> str:
    """The whole page, as Markdown."""
    text = [HEAD.format(variables=", ".join(f"`{m.VARIABLE}`" for m in SUITES.values()))]
    text += [PLAINLY] * plainly
    for suite, results in found.items():
        results = merged(results)
        text += [f"## {SUITES[suite].TITLE}", "", *table(results), "", *failures(results), ""]
    return "\n".join(text).rstrip() + "\n"


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
                lines.append(f"| `{r.name}` | {way} {verdict.kind} | {_reason(verdict)} |")
    return ["| case | | reason |", "|---|---|---|", *lines] if lines else []


def _reason(verdict: Verdict) -> str:
    """What was said, once, without what differs from run to run."""
    parts = dict.fromkeys(verdict.reason.replace("\n", " ").split("; "))
    text = re.sub(r"<([\w.]+) object at 0x[0-9a-f]+>", r"\1", "; ".join(parts))
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return text.replace("|", "\\|")[:200]
