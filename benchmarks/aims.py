"""What the suite is to reach, and what it reached: one line per aim, and what falls short."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from cases import CASES
from runner import Row

NPBENCH_PEERS = ("numpy", "numba", "pythran", "jax")
NPBENCH_SLOPES = ("jax", "dace")
ONE_CORE = ("jax", "torch.compile")


@dataclass(frozen=True, slots=True)
class Reached:
    """One aim.

    Attributes
    ----------
    text : str
        The aim.
    limit : float
        What a ratio may be.
    found : list of (ratio, case)
        For each case that could be measured.
    mean : bool
        Whether the geometric mean is meant, or each case.
    """

    text: str
    limit: float
    found: list[tuple[float, str]]
    mean: bool = False

    @property
    def value(self) -> float:
        """The ratio that counts: the mean or the worst."""
        ratios = [ratio for ratio, _ in self.found]
        return geometric_mean(ratios) if self.mean else max(ratios)

    @property
    def good(self) -> bool:
        return bool(self.found) and self.value <= self.limit

    @property
    def short(self) -> list[tuple[float, str]]:
        """The cases above the limit, worst first."""
        return sorted(((r, c) for r, c in self.found if r > self.limit), reverse=True)

    def line(self) -> str:
        if not self.found:
            return f"not measured: {self.text}"
        state = "reached" if self.good else "NOT reached"
        what = "geometric mean" if self.mean else "worst"
        text = f"{state}: {self.text}: {what} {self.value:.2f}, at most {self.limit:.2f} ({len(self.found)} measured)"
        if self.short and not self.mean:
            text += f"; above: {', '.join(f'{c} {r:.2f}' for r, c in self.short)}"
        return text


def geometric_mean(ratios: Iterable[float]) -> float:
    logs = [math.log(r) for r in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def ratios(rows: Iterable[Row], peers: tuple[str, ...]) -> list[tuple[float, str]]:
    """srcgraph's time over the best of the peers', where both ran."""
    return [(ratio, row.case) for row in rows if (ratio := row.ratio(peers)) is not None]


def over_value(rows: list[Row]) -> list[tuple[float, str]]:
    """The time of each gradient over that of its function, both compiled by srcgraph."""
    values = {(r.suite, r.case): t for r in rows if r.what == "value" and (t := r.seconds("srcgraph"))}
    return [
        (ours / values[row.suite, row.case], row.case)
        for row in rows
        if row.what == "gradient" and (row.suite, row.case) in values and (ours := row.seconds("srcgraph"))
    ]


def first_calls(rows: list[Row]) -> list[tuple[float, str]]:
    """The time of the first gradient over JAX's."""
    found = []
    for row in rows:
        ours, theirs = row.outcomes.get("srcgraph"), row.outcomes.get("jax")
        if ours and theirs and ours.first and theirs.first and theirs.status == "right":
            found.append((ours.first / theirs.first, row.case))
    return found


def call_cost(rows: list[Row]) -> list[tuple[float, str]]:
    """Nanoseconds that a call costs more than that of the numba function."""
    return [
        (1e9 * (ours - hand), row.case)
        for row in rows
        if (ours := row.seconds("srcgraph")) and (hand := row.seconds("hand"))
    ]


def judged(rows: list[Row]) -> list[Reached]:
    """All aims."""

    def own(what: str, *kinds: str) -> list[Row]:
        return [r for r in rows if r.suite == "own" and r.what == what and r.case in CASES and kind(r) in kinds]

    def kind(row: Row) -> str:
        return CASES[row.case].kind

    def of(suite: str, what: str) -> list[Row]:
        return [r for r in rows if r.suite == suite and r.what == what]

    loops, chains = ("recurrence",), ("recurrence", "n-body")
    every = ("recurrence", "elementwise", "n-body", "reduction", "stencil")
    kernels, slopes = of("npbench", "value"), of("npbench", "gradient")
    against = ratios(slopes, NPBENCH_SLOPES)
    gradients = [r for r in rows if r.what == "gradient"]
    return [
        Reached("NPBench over the best of NumPy, numba, pythran, JAX", 1.0, ratios(kernels, NPBENCH_PEERS), mean=True),
        Reached("no NPBench kernel slower than 1.5 times the best", 1.5, ratios(kernels, NPBENCH_PEERS)),
        Reached("recurrences and scalar loops over hand-written numba", 1.1, ratios(own("value", *loops), ("hand",))),
        Reached("elementwise over the best of JAX, torch.compile", 1.2, ratios(own("value", "elementwise"), ONE_CORE)),
        Reached("nanoseconds of a call above numba's", 150.0, call_cost(own("value", "call"))),
        Reached("gradients over hand-written adjoints", 1.25, ratios(own("gradient", *every), ("hand",))),
        Reached("gradients of recurrences and n-body over JAX's", 0.2, ratios(own("gradient", *chains), ("jax",))),
        Reached("NPBench gradients over the best of JAX, DaCe, in the mean", 1 / 3, against, mean=True),
        Reached("no NPBench gradient slower than the best of JAX, DaCe", 1.0, against),
        Reached("GradBench over derivatives by hand for numba", 1.5, ratios(of("gradbench", "gradient"), ("hand",))),
        Reached("GradBench over its own derivatives in C++", 1.5, ratios(of("gradbench", "gradient"), ("manual",))),
        Reached("a gradient over its function", 3.0, over_value(rows), mean=True),
        Reached("first gradient over JAX's first gradient", 1.0, first_calls(gradients), mean=True),
    ]
