"""What does not matter costs nothing in a gradient's code, is not saved, and has no cotangent, not even zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import activity_programs as programs
import numpy as np
import pytest

import srcgraph as sg

X = np.linspace(0.5, 1.5, 6)
CASES: list[tuple[Callable, tuple[Any, ...], str, int, int]] = [
    # program, arguments, calls that its gradient has no use for, arrays of zeros and tapes that it needs
    (programs.unused_work, (X,), "exp", 0, 0),
    (programs.not_dependent, (X, X + 1.0), "d_", 0, 0),  # what the function itself fills
    (programs.parts_of_a_tuple, (X,), "exp cumsum", 0, 0),
    (programs.branch, (X, 1.0), "d_s d_t", 0, 0),
    (programs.inactive_carry, (X, X + 1.0, 3), "d_u cos", 1, 1),  # d_x
    (programs.overwritten, (X,), "y[ d_y", 0, 0),
    (programs.loop_fill, (X, 3), "", 2, 1),  # that the trips fill in turns
    (programs.carried, (X, 3), "", 2, 1),  # v, d_v
    (programs.elements, (X,), "", 1, 0),
    (programs.one_branch, (X, 1.0), "ones", 1, 0),  # the result, where nothing depends on x
    (programs.stacked, (X,), "", 1, 0),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_only_what_matters(case: tuple) -> None:
    function, args, absent, zeros, tapes = case
    seen = sg.inspect(sg.grad(function), *args)
    assert [word for word in absent.split() if word in seen.cpu] == []
    assert seen.cpu.count(" zeros(") == zeros, seen.cpu
    assert len([row for row in seen.tape if row.bytes]) == tapes


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_derivative(case: tuple) -> None:
    function, args = case[:2]
    along = np.cos(X)
    got = float(sg.grad(function)(*args) @ along)
    up, down = (function(X + h * along, *args[1:]) for h in (1e-6, -1e-6))
    assert got == pytest.approx((up - down) / 2e-6, rel=1e-7)


def test_aux_is_computed_and_not_differentiated() -> None:
    code = sg.grad(programs.with_aux, has_aux=True).python(X)
    assert "cos" not in code and "d_h" not in code and code.count(" zeros(") <= 1
