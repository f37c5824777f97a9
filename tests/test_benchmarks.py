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

from cases import CASES  # noqa: E402
from cases.record import Case  # noqa: E402


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
