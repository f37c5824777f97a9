"""The saving policy, part by part: what is saved, and that the derivative is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import policy_programs as programs
import pytest

import srcgraph as sg

BACKWARD = sg.opt.FAST_RUN.excluding("forward")
"""Tapes, also where few numbers matter."""
X = np.linspace(0.5, 1.5, 6)
Y = np.cos(np.arange(6.0))
ORDER = np.array([0, 2, 1, 3, 5, 4])
M = np.cos(np.arange(12.0)).reshape(4, 3)
UNSORTED = np.array([0.4, 1.5, 0.2, 0.9, 0.7, 0.1])
CASES: list[tuple[Callable, tuple[Any, ...], tuple[int, ...], dict[str, str], set[str]]] = [
    # program, arguments, argnums, what is saved: bytes, what is undone
    (programs.linear, (1.0, 2.0, 4), (0, 1), {}, set()),
    (programs.invariant, (1.0, Y, 4), (0, 1), {"x": "8"}, set()),
    (programs.cheap, (1.0, 4), (0,), {"x": "8"}, set()),
    (programs.reads, (1.0, X, ORDER, 4), (0, 1), {}, set()),
    (programs.counted, (X, 2.0), (0,), {}, {"i"}),
    (programs.stopped, (X, 2.0), (0,), {}, {"k"}),
    (programs.compacted, (X, np.zeros(9), 0.8), (0,), {}, {"c"}),
    (programs.wandering, (X, 5, ORDER), (0,), {}, {"k"}),
    (programs.swapped, (X, 5), (0,), {}, {"x"}),
    (programs.rows_swapped, (M, Y[:3], 7), (0, 1), {}, {"m"}),
    (programs.exchanged, (1.0, 2.0, 3.0, 5), (0, 1, 2), {}, {"a", "b", "c"}),
    (programs.signs, (X, Y, 3), (0, 1), {}, {"x", "plus"}),
    (programs.backwards, (X, Y, 3), (0, 1), {}, {"x"}),
    (programs.turned_in_turn, (X, Y, 3), (0, 1), {"y": "8 * n"}, {"y"}),
    (programs.floats_stay, (1.0, 3), (0,), {"x": "8"}, set()),
    (programs.solved, (1.0, 0.3), (0, 1), {"np.sin(x)": "8", "np.cos(x)": "8", "change": "8"}, set()),
    (programs.rooted, (0.7,), (0,), {"y": "8"}, set()),
    (programs.filled, (X, 4), (0,), {"y": "8 * n"}, set()),
    (programs.filled_in_a_branch, (X, 4), (0,), {"y": "8 * n", "z": "8 * n"}, set()),
    (programs.read_in_between, (X, 4), (0,), {"y": "8 * n", "z": "8 * n"}, set()),
]


def copied(args: tuple[Any, ...]) -> list[Any]:
    return [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_what_is_saved(case: tuple) -> None:
    function, args, argnums, saved, undone = case
    tape = sg.inspect(sg.grad(function, argnums=argnums, mode=BACKWARD), *args).tape
    assert {row.variable: row.bytes for row in tape if row.bytes} == saved
    assert {row.variable for row in tape if row.choice == "undone"} == undone


OTHERS = [
    (programs.in_a_branch, (0.7, 1.2), (0, 1)),
    (programs.in_a_branch, (1.7, 1.2), (0, 1)),
    (programs.a_row_in_a_branch, (X, 0.8), (0, 1)),
    (programs.a_row_in_a_branch, (X, -0.8), (0, 1)),
    (programs.sorted_by_insertion, (UNSORTED, Y), (0, 1)),
    (programs.invariant_backwards, (0.5, 2.0, 3), (0, 1)),
]


def test_what_a_branch_saves() -> None:
    made = sg.inspect(sg.grad(programs.in_a_branch, argnums=(0, 1), mode=BACKWARD), 0.7, 1.2)
    kept = {row.variable: row.choice for row in made.tape if row.bytes}
    assert kept == {"s": "list", "trips of the loop": "variable", "np.exp(x * y)": "variable"}
    made = sg.inspect(sg.grad(programs.a_row_in_a_branch, argnums=(0, 1), mode=BACKWARD), X, 0.8)
    assert "variable" in {row.choice for row in made.tape if row.bytes}
    assert "[]" not in made.cpu


@pytest.mark.parametrize("case", [*CASES, *OTHERS], ids=lambda c: c[0].__name__)
def test_derivative(case: tuple) -> None:
    """Against differences, for no trips too; and the second by both nestings."""
    function, args, argnums = case[:3]
    for given in (args, tuple(0 if type(a) is int else a for a in args)):
        along = [np.sin(1.0 + np.arange(np.size(given[k]))).reshape(np.shape(given[k])) for k in argnums]
        cts = sg.grad(function, argnums=argnums, mode=BACKWARD)(*copied(given))
        plain = []
        for h in (1e-6, -1e-6):
            moved = copied(given)
            for k, d in zip(argnums, along, strict=True):
                moved[k] = moved[k] + h * (d if np.ndim(d) else float(d))
            plain.append(function(*moved))
        got = sum(float(np.sum(ct * d)) for ct, d in zip(cts, along, strict=True))
        assert got == pytest.approx((plain[0] - plain[1]) / 2e-6, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("case", CASES[4:], ids=lambda c: c[0].__name__)
def test_second_derivative(case: tuple) -> None:
    function, args, argnums = case[:3]
    k = argnums[0]
    slope = lambda *given: np.sum(sg.grad(function, argnums=k)(*given))  # noqa: E731
    by_reverse = sg.grad(slope, argnums=k)(*copied(args))
    unit = [np.ones(np.shape(a)) if j == k and np.ndim(a) else 1.0 if j == k else None for j, a in enumerate(args)]
    _, by_forward = sg.jvp(sg.grad(function, argnums=k), tuple(copied(args)), tuple(unit))
    np.testing.assert_allclose(by_reverse, by_forward, rtol=1e-12, atol=1e-12)
