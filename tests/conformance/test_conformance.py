"""Recorded graphs give the recorded results, or are refused: see the package's docstring."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.building import plainly
from conformance.judging import BETTER, WAYS, Outcome, differences, judge
from conformance.records import VARIABLE, Kind, NodeRecord, Record, records

EVERY = 25
"""One graph of so many is tried."""
TRIED = [w for w in WAYS if w.engine in ("interp", "vm")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "record" not in metafunc.fixturenames:
        return
    found = [pytest.param(r, id=r.key[:8]) for r in records()[::EVERY]]
    missing = pytest.mark.skip(reason=f"{VARIABLE} is not set")
    metafunc.parametrize("record", found or [pytest.param(None, marks=missing, id="none")])


def test_right_or_refused(record: Record) -> None:
    outcomes = judge(record, TRIED)
    bad = {w.name: o.reason for w, o in outcomes.items() if o.kind in ("wrong", "defect")}
    assert not bad


# -- the judge itself -------------------------------------------------------------------------------

X = np.array([0.5, -1.0, 2.0])
PAIR = Kind("float64", (3,))


def of_nodes(*nodes: NodeRecord, results: np.ndarray) -> Record:
    return Record("0" * 32, (PAIR,), nodes, (nodes[-1].outputs[0][0],), (X,), (results,))


def elementwise(scalar: str, *inputs: str, to: str, dtype: str = "float64") -> NodeRecord:
    return NodeRecord("Elemwise", scalar, {}, inputs, ((to, Kind(dtype, (3,))),))


SQUARED = (elementwise("Mul", "i0", "i0", to="v1"), elementwise("Neg", "v1", to="v2"))


def kinds(record: Record) -> set[str]:
    return {o.kind for o in judge(record, TRIED).values()}


def test_the_judge_accepts_what_is_right() -> None:
    assert kinds(of_nodes(*SQUARED, results=-X * X)) == {"right"}


def test_the_judge_knows_what_numpy_makes_of_it() -> None:
    record = of_nodes(*SQUARED, results=X)
    assert kinds(record) == {"plain"}
    assert not differences(plainly(record), [-X * X])


def test_the_judge_sees_a_wrong_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.judging.plainly", lambda record: [X])
    assert kinds(of_nodes(*SQUARED, results=X)) == {"wrong"}


def test_the_judge_sees_a_dtype_that_was_not_recorded() -> None:
    found = judge(of_nodes(elementwise("Abs", "i0", to="v1"), results=np.abs(X).astype("float32")), TRIED)
    assert set(found.values()) == {Outcome("plain", "dtype float64, not float32")}


def test_an_op_without_a_builder_is_unsupported() -> None:
    record = of_nodes(NodeRecord("Scan", None, {}, ("i0",), (("v1", PAIR),)), results=X)
    assert judge(record, TRIED) == dict.fromkeys(TRIED, Outcome("unsupported", "Scan"))


@pytest.mark.parametrize(
    ("got", "want"), [(1.0, 1), (np.ones(2), np.ones(3)), (np.ones(2, np.float32), np.ones(2)), (1.0, 1.0 + 1e-6)]
)
def test_differences(got: object, want: object) -> None:
    assert differences([got], [want])
    assert not differences([want], [want])


def test_nan_equals_nan() -> None:
    assert not differences([np.array([np.nan, np.inf])], [np.array([np.nan, np.inf])])
    assert all(len(key) == 8 for key in BETTER)
