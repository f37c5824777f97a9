"""The evals of GradBench, at small sizes, against what its own tool gives."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))

from gradbench import inputs, tool  # noqa: E402

import srcgraph as sg  # noqa: E402

EXPECTED = json.loads((BENCHMARKS / "gradbench" / "data" / "expected.json").read_text())


def check(got: Any, want: Any, what: str) -> None:
    """The same structure, lengths and kinds of numbers, and the same numbers."""
    if isinstance(want, dict):
        assert got.keys() == want.keys(), what
        for key in want:
            check(got[key], want[key], f"{what}[{key!r}]")
    elif isinstance(want, list) and want and isinstance(want[0], list):
        assert len(got) == len(want), what
        for k, (g, w) in enumerate(zip(got, want, strict=True)):
            check(g, w, f"{what}[{k}]")
    else:
        assert np.shape(got) == np.shape(want), what
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10, err_msg=what)


@pytest.mark.plainly
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", inputs.SMALL)
def test_eval(name: str) -> None:
    """Every function at every size; each is compiled once."""
    functions = importlib.import_module(f"gradbench.{name}").FUNCTIONS
    for sizes, want in zip(inputs.SMALL[name], EXPECTED[name], strict=True):
        assert functions.keys() == want.keys()
        given = inputs.made(name, sizes)
        for function in functions:
            check(functions[function](given), want[function], f"{function} at {sizes}")


def test_tool() -> None:
    """What GradBench's runner would see."""
    given = {"x": [0.5, 2.0], "min_runs": 2, "min_seconds": 0}
    messages = [
        {"id": 0, "kind": "start", "eval": "lse"},
        {"id": 1, "kind": "define", "module": "lse"},
        {"id": 2, "kind": "evaluate", "module": "lse", "function": "primal", "input": given},
        {"id": 3, "kind": "evaluate", "module": "lse", "function": "nothing", "input": given},
        {"id": 4, "kind": "analysis", "of": 2, "valid": True},
    ]
    started, defined, evaluated, failed, analysed = [tool.response(m) for m in messages]
    assert (started, defined, analysed) == ({"tool": "srcgraph"}, {"success": True}, {})
    np.testing.assert_allclose(evaluated["output"], np.log(np.exp(0.5) + np.exp(2.0)))
    assert [t["name"] for t in evaluated["timings"]] == ["compile", "evaluate", "evaluate"]
    assert not failed["success"] and "nothing" in failed["error"]


def test_what_calls_leave_for_the_way_back_is_not_copied() -> None:
    """Each call of a determinant adds to lists that hold what all calls before it have added."""
    det = importlib.import_module("gradbench.det")
    text = sg.grad(det.determinant).python(np.eye(4))
    calls, rest = text[text.index("def minor_forward") :].split("def determinant_grad")
    assert ".append(" in calls and "copy(" not in calls and "copy(after)" in rest
