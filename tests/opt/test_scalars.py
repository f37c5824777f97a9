"""Small arrays become numbers; `tests/programs/small_arrays.py` has programs that are right with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import small_arrays as programs

import srcgraph as sg
from srcgraph.ir.types import ArrayType
from srcgraph.ir.walk import all_nodes

BACKWARD = sg.opt.FAST_RUN.excluding("forward")
"""Tapes, also where few numbers matter."""

X = np.array([0.3, 1.2, -0.5])
WITHOUT: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (programs.point, (0.7, 1.3)),
    (programs.runge_kutta, (0.7, 1.3, 3)),
    (programs.means_until, (0.7, 1.3)),
    (programs.turned_about, (0.7, 1.3)),
    (programs.stored_in_a_branch, (0.7, 1.3, 3)),
    (programs.two_names, (0.7, 1.3)),
    (programs.overlapping, (0.7, 1.3)),
    (programs.rotated, (0.7, X, X)),
    (programs.never_stored, (2, 0.5)),
    (programs.two_lanes, (X, 0.5)),
    (programs.stored_by_a_helper, (0.7, 1.3)),
    (programs.compared, (0.7, 1.3)),
]


def arrays(code: str) -> int:
    """How many arrays generated code makes."""
    return sum(code.count(f"{name}(") for name in ("empty", "zeros", "full"))


@pytest.mark.parametrize(("program", "args"), WITHOUT, ids=lambda v: getattr(v, "__name__", ""))
def test_no_array_is_made(program: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert arrays(sg.inspect(program, *args).cpu) == 0
    assert sg.compile(program)(*args) == pytest.approx(program(*args), rel=1e-14)
    of_arrays = [n for n in all_nodes(sg.compile(program).graph(*args)) if isinstance(n.outputs[0].type, ArrayType)]
    assert not [n for n in of_arrays if n.op.name in ("empty", "setitem", "full")]


def test_the_gradient_keeps_numbers() -> None:
    """What a loop keeps for the way back is one array for each state, and no array is made on a trip."""
    code = sg.inspect(sg.grad(programs.runge_kutta, mode=BACKWARD), 0.7, 1.3, 3).cpu
    assert arrays(code) == 2 and "for j in" not in code


def test_only_what_is_asked_for_is_an_array() -> None:
    assert arrays(sg.inspect(programs.into_rows, X).cpu) == 1
    assert arrays(sg.inspect(programs.returned_after_all, 0.7, 1.3).cpu) == 1
    assert arrays(sg.inspect(programs.at_a_place_known_late, 0.7, 1.3, 1).cpu) == 1


def seventeen(x: float) -> float:
    p = np.zeros(17)
    p[3] = x
    return p[3] + p[4]


def long_code(x: float) -> float:
    """More elements than are written out."""
    p = np.zeros(16)
    p[3] = x
    p = np.sin(p + 1.0) * np.cos(p * 2.0) - np.tanh(p - x)
    p = np.sin(p + 2.0) * np.cos(p * 3.0) - np.tanh(p + x)
    p = np.sin(p + 3.0) * np.cos(p * 4.0) - np.tanh(p * x)
    p = np.sin(p + 4.0) * np.cos(p * 5.0) - np.tanh(p / x)
    return p[3] + p[4]


@pytest.mark.parametrize("program", [seventeen, long_code])
def test_large_arrays_stay(program: Callable[..., Any]) -> None:
    assert arrays(sg.inspect(program, 0.4).cpu) >= 1
    assert sg.compile(program)(0.4) == pytest.approx(program(0.4), rel=1e-13)


def test_it_can_be_left_out() -> None:
    mode = sg.opt.FAST_RUN.excluding("scalars")
    assert arrays(sg.inspect(sg.compile(programs.point, mode=mode), 0.7, 1.3).cpu) == 1


def shares(x: np.ndarray) -> float:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    y = e / np.sum(e, axis=-1, keepdims=True)
    return np.sum(y * y)


def test_arrays_whose_elements_nobody_asks_for_stay() -> None:
    """Of eight rows, what is the same in each is computed in a loop over them, not eight times."""
    x = np.random.default_rng(0).normal(size=(8, 100))
    slopes = sg.grad(shares)
    assert not re.search(r"\[[0-7], 0\] = ", slopes.python(x))
    y = np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True)
    wanted = 2.0 * y * (y - np.sum(y * y, axis=1, keepdims=True))
    np.testing.assert_allclose(slopes(x), wanted, rtol=1e-12, atol=1e-16)
