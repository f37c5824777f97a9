"""The cases of the benchmark suite, small: what is plain, compiled and written by hand gives the same numbers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))

from aims import NPBENCH_SLOPES, judged  # noqa: E402
from cases import CASES  # noqa: E402
from cases.record import Case  # noqa: E402
from report import line, page  # noqa: E402
from runner import Outcome, Plan, Row, difference, run  # noqa: E402
from suites import own  # noqa: E402
from workers import INTERPRETERS, Failure, Workers  # noqa: E402


def check(found: Any, wanted: Any, what: str) -> None:
    found, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, wanted))
    assert len(found) == len(wanted), what
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12, err_msg=what)


def slope(case: Case, gradient: tuple[Any, ...]) -> None:
    """A difference quotient of the plain program, in a random direction."""
    random = np.random.default_rng(0)
    loss, given = case.loss or case.plain, case.arguments(True)
    ways = [random.normal(size=np.shape(given[k])) for k in case.argnums]

    def at(step: float) -> float:
        moved = list(case.arguments(True))
        for k, way in zip(case.argnums, ways, strict=True):
            moved[k] = moved[k] + step * way
        return loss(*moved)

    quotient = (at(1e-5) - at(-1e-5)) / 2e-5
    along = sum(np.sum(g * w) for g, w in zip(gradient, ways, strict=True))
    np.testing.assert_allclose(along, quotient, rtol=1e-5, err_msg="difference quotient")


@pytest.mark.plainly
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_case(case: Case) -> None:
    wanted = case.plain(*case.arguments(True))
    check(sg.compile(case.plain)(*case.arguments(True)), wanted, "compiled")
    check(case.hand(*case.arguments(True)), wanted, "by hand")
    if not case.argnums:
        return
    gradient = sg.grad(case.loss or case.plain, argnums=case.argnums)(*case.arguments(True))
    assert case.hand_gradient
    check(case.hand_gradient(*case.arguments(True)), gradient, "gradient by hand")
    if case.python_gradient:
        check(case.python_gradient(*case.arguments(True)), gradient, "gradient in Python")
    slope(case, gradient)


def test_runner() -> None:
    """A process per peer; what a peer lacks is absent, and the others are timed."""
    workers = Workers(limit=100)
    try:
        rows = list(run(workers, own, "call, 1 float", "small", ["srcgraph", "hand", "numexpr"], Plan(1, 1, 1.0)))
    finally:
        workers.close()
    assert [row.what for row in rows] == ["value", "gradient"]
    for row in rows:
        states = {peer: outcome.status for peer, outcome in row.outcomes.items()}
        assert states == {"srcgraph": "right", "hand": "right", "numexpr": "absent"}
        assert row.ratio(["hand"]) and row.case in line(row)
    assert "call, 1 float" in page(rows)


def test_other_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer whose environment is not there is absent."""
    monkeypatch.setitem(INTERPRETERS, "dace", tmp_path / "python")
    with pytest.raises(Failure, match="dace is not installed") as failure:
        Workers(limit=1).ask("dace", "time")
    assert failure.value.absent


def test_best_gradient() -> None:
    """Where a peer is wrong, the other is the one to beat."""
    seconds = {"srcgraph": ("right", 2.0), "jax": ("right", 4.0), "dace": ("wrong", 1.0)}
    outcomes = {peer: Outcome(status, first=1.0, seconds=time) for peer, (status, time) in seconds.items()}
    assert Row("npbench", "gemm", "gradient", outcomes).ratio(NPBENCH_SLOPES) == 0.5
    outcomes["dace"].status = "right"
    row = Row("npbench", "gemm", "gradient", outcomes)
    assert row.ratio(NPBENCH_SLOPES) == 2.0
    assert any("no NPBench gradient slower" in aim.line() and "gemm 2.00" in aim.line() for aim in judged([row]))
    assert "| gemm | 2000 |" in page([row, Row("npbench", "gemm", "value", {"srcgraph": outcomes["srcgraph"]})])


def test_differences() -> None:
    """What is not the reference's is named, whatever it is."""
    x = np.arange(3.0)
    assert difference([x], [x + 1e-12], 1e-9) is None
    assert "shape" in str(difference([x], [x[:2]], 1e-9))
    assert "relative difference" in str(difference([x], [x + 1e-3], 1e-9))
    assert "relative difference" in str(difference([x * np.nan], [x], 1e-9))


def test_aims() -> None:
    """A case above the limit is named; what was not measured is said."""
    outcomes = {"srcgraph": Outcome("right", seconds=3.0), "hand": Outcome("right", seconds=2.0)}
    reached = judged([Row("own", "GARCH(1,1), 1e6", "value", outcomes)])
    texts = [aim.line() for aim in reached]
    assert any(t.startswith("NOT reached: recurrences") and "GARCH(1,1), 1e6 1.50" in t for t in texts)
    assert sum(t.startswith("not measured") for t in texts) == len(texts) - 1
