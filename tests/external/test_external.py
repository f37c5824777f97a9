"""Other projects' programs give what Python gives, or are refused: see the package's docstring."""

from __future__ import annotations

import judging
import numpy as np
import pytest
from judging import Case, differs, run

from external.report import SUITES, place


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    found = []
    for suite, module in SUITES.items():
        where = place(suite)
        if where is None:
            missing = pytest.mark.skip(reason=f"{module.VARIABLE} is not set")
            found.append(pytest.param(None, marks=missing, id=suite))
        else:
            found += [pytest.param(c, id=f"{suite}-{c.name}") for c in module.cases(where)]
    metafunc.parametrize("case", found)


def test_right_or_refused(case: Case) -> None:
    result = run(case, plainly=True)
    assert result.forward.kind not in ("wrong", "defect"), result.forward.reason
    assert result.gradient.kind not in ("wrong", "defect"), result.gradient.reason


# -- the judge itself -------------------------------------------------------------------------------


def cube(x, w):
    return np.sum(x * x * x * w)


def kinked(x):
    return np.sum(np.where(x > 0.0, x, 0.0))


X = np.array([0.5, -1.0, 2.0])
ITSELF = Case("cube", cube, [(X, X + 1.0)])


def test_the_judge_accepts_what_is_right() -> None:
    result = run(ITSELF, plainly=True)
    assert (result.forward.kind, result.gradient.kind) == ("right", "right")


def scaled(value, by):
    return tuple(scaled(v, by) for v in value) if isinstance(value, tuple) else value * by


def test_the_judge_sees_a_wrong_value(monkeypatch: pytest.MonkeyPatch) -> None:
    right = judging.call_plainly

    def slightly_off(compiled, *args):
        value = right(compiled, *args)
        return value if compiled.transforms else scaled(value, 1.0 + 1e-7)

    monkeypatch.setattr(judging, "call_plainly", slightly_off)
    assert run(ITSELF, plainly=True).forward.kind == "wrong"


def test_the_judge_sees_a_wrong_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    right = judging.call_plainly

    def slightly_off(compiled, *args):
        value = right(compiled, *args)
        return scaled(value, 1.0 + 1e-4) if compiled.transforms else value

    monkeypatch.setattr(judging, "call_plainly", slightly_off)
    result = run(ITSELF, plainly=True)
    assert (result.forward.kind, result.gradient.kind) == ("right", "wrong")


def test_the_judge_knows_kinks() -> None:
    assert run(Case("kinked", kinked, [(np.array([0.0, 1.0]),)]), plainly=True).gradient.kind == "kink"


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (np.float64(1.0), 1),
        (np.ones(2), np.ones(3)),
        (np.ones(2, np.float32), np.ones(2)),
        ((1.0, 2.0), [1.0, 2.0]),
        ({"a": 1.0}, {"a": 2.0}),
        (1.0, 1.0 + 1e-6),
    ],
)
def test_differences(got: object, want: object) -> None:
    assert differs(got, want)
    assert not differs(want, want)


def test_an_error_of_another_type_is_wrong() -> None:
    raised = ZeroDivisionError("division by zero")
    assert judging._judge(None, IndexError(), (), None, raised, ()).kind == "wrong"
    assert judging._judge(None, raised, (), None, raised, ()).kind == "right"
    assert judging._judge(1.0, None, (), None, raised, ()).kind == "wrong"
