"""Run cases: build every peer's program, compare results, then time them in turns."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from workers import Failure, Workers


@dataclass(slots=True)
class Outcome:
    """What one peer did.

    Attributes
    ----------
    status : str
        "right", "wrong" (its results are not the reference's), "refused" (it raised, died or hung) or "absent".
    message : str
        Why it is not "right".
    first, seconds, memory
        Seconds of the first call, compilation included; median seconds of a call; bytes that a call adds to the
        memory of the process at its highest.
    """

    status: str
    message: str = ""
    first: float | None = None
    seconds: float | None = None
    memory: int | None = None


@dataclass(slots=True)
class Row:
    """One case, or its gradient, by all peers."""

    suite: str
    case: str
    what: str
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    processor: str = field(default_factory=lambda: processor())

    def seconds(self, peer: str) -> float | None:
        found = self.outcomes.get(peer)
        return found.seconds if found and found.status == "right" else None

    def best(self, peers: Iterable[str]) -> tuple[float, str] | None:
        """Seconds and name of the quickest of these, if one of them ran."""
        found = [(t, p) for p in peers if (t := self.seconds(p)) is not None]
        return min(found) if found else None

    def ratio(self, peers: Iterable[str]) -> float | None:
        """How many times as long srcgraph takes as the best of these."""
        ours, best = self.seconds("srcgraph"), self.best(peers)
        return ours / best[0] if ours and best else None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def row_of(given: dict[str, Any]) -> Row:
    return Row(**{**given, "outcomes": {k: Outcome(**v) for k, v in given["outcomes"].items()}})


def processor() -> str:
    """What runs here."""
    model, path = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), model)


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure: rounds in turns, and seconds after which a slow peer leaves them."""

    rounds: int = 9
    at_least: int = 3
    seconds: float = 3.0


def run(workers: Workers, suite: ModuleType, case: str, size: str, peers: list[str], plan: Plan) -> Iterator[Row]:
    """The rows of a case."""
    for what in suite.asks(case):
        row = Row(suite.__name__.rpartition(".")[2], case, what)
        results = {}
        for peer in peers:
            row.outcomes[peer], found = build(workers, row, peer, size)
            if found is not None:
                results[peer] = found
        judge(suite, row, size, results)
        time_in_turns(workers, row, plan)
        yield row


def build(workers: Workers, row: Row, peer: str, size: str) -> tuple[Outcome, list[np.ndarray] | None]:
    try:
        first, once, memory, results = workers.ask(peer, "build", row.suite, row.case, row.what, size)
    except Failure as failure:
        return Outcome("absent" if failure.absent else "refused", str(failure)), None
    return Outcome("right", first=first, seconds=once, memory=memory), results


def judge(suite: ModuleType, row: Row, size: str, results: dict[str, list[np.ndarray]]) -> None:
    """Mark what differs from the reference; gradients without one are compared with difference quotients."""
    reference = suite.REFERENCE[row.what]
    if reference is None:
        for peer, found in results.items():
            error = suite.slope_error(row.case, size, found)
            if not error <= suite.SLOPE_TOLERANCE and not any(
                difference(found, other, suite.TOLERANCE) is None for p, other in results.items() if p != peer
            ):
                row.outcomes[peer].status = "wrong"
                row.outcomes[peer].message = f"differs from difference quotients by {error:.1g}"
        return
    if reference not in results:
        reference = next(iter(results), None)
    for peer, found in results.items():
        problem = difference(found, results[reference], suite.TOLERANCE)
        if problem and peer != "srcgraph" and reordered(found, results[reference], suite.TOLERANCE):
            problem = None
        if problem:
            row.outcomes[peer].status, row.outcomes[peer].message = "wrong", problem


def difference(found: list[np.ndarray], wanted: list[np.ndarray], tolerance: float) -> str | None:
    """How two lists of results differ, if they do; one that is shorter is compared as far as it goes."""
    for k, (x, y) in enumerate(zip(found, wanted, strict=False)):
        if x.size != y.size:
            return f"result {k}: shape {x.shape} and {y.shape}"
        x, y = np.ravel(x), np.ravel(y)
        if x.dtype.kind in "OSU" or np.allclose(x, y, rtol=tolerance, atol=1e-10, equal_nan=True):
            continue
        with np.errstate(all="ignore"):
            error = float(np.linalg.norm(x - y) / np.linalg.norm(y))
        if not error < tolerance:
            return f"result {k}: relative difference {error:.1g}"
    return None


def reordered(found: list[np.ndarray], wanted: list[np.ndarray], tolerance: float) -> bool:
    """Whether each result is somewhere among those wanted: NPBench's versions return them in orders of their own."""
    return all(any(difference([x], [y], tolerance) is None for y in wanted) for x in found)


def time_in_turns(workers: Workers, row: Row, plan: Plan) -> None:
    """Rounds in turns, so that a busy machine slows all peers alike."""
    times: dict[str, list[float]] = {p: [] for p, o in row.outcomes.items() if o.status == "right"}
    spent = dict.fromkeys(times, 0.0)
    for k in range(plan.rounds):
        for peer, found in times.items():
            if k >= plan.at_least and spent[peer] > plan.seconds:
                continue
            if k and spent[peer] > 5 * plan.seconds:
                continue
            try:
                found.append(workers.ask(peer, "time"))
            except Failure as failure:
                row.outcomes[peer].status, row.outcomes[peer].message = "refused", str(failure)
                spent[peer] = np.inf
                continue
            spent[peer] += found[-1]
    for peer, found in times.items():
        if found:
            row.outcomes[peer].seconds = statistics.median(found)
