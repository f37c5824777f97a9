"""An index array beside a number that no axis has, and what callers see of arrays when something is raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

COLUMN = np.arange(3.0).reshape(3, 1)
ROWS = np.array([0, 2, 0])


def read(p, i):
    return p[i, 1]


def read_from_the_end(p, i):
    return p[i, -2]


def read_then_more(p, i):
    total = p[i, 0].sum()
    if total >= 0.0:
        total += p[i, 1].sum()
    return total


def of_known_length(p, i):
    table = np.arange(6.0).reshape(3, 2)
    return table[i, 2] + p[i, 0]


def by_mask(p, i):
    return p[p[:, 0] > 0.0, 1]


def behind_a_slice(p, i):
    return p.T[:, i][1:, 0] if len(i) > 9 else p[:, None][i, :, 3]


def stored(p, i):
    p[i, 1] = 3.0
    return p


def added(p, i):
    p[i, 1] += 3.0
    return p


def inside(p, i):
    return p[i, 0] + p[2, i * 0]


def outcome(program: Callable[..., Any], *args: Any) -> Any:
    try:
        return program(*(a.copy() for a in args))
    except IndexError as error:
        return str(error)


@pytest.mark.parametrize(
    "program",
    [read, read_from_the_end, read_then_more, of_known_length, by_mask, behind_a_slice, stored, added, inside],
    ids=lambda p: p.__name__,
)
def test_it_is_raised(program: Callable[..., Any]) -> None:
    for rows in (ROWS, ROWS[:0], ROWS + 5):
        found, expected = outcome(sg.compile(program), COLUMN, rows), outcome(program, COLUMN, rows)
        assert isinstance(found, str) == isinstance(expected, str), (found, expected)
        assert found == expected if isinstance(expected, str) else np.array_equal(found, expected)


def test_derivatives_raise_it() -> None:
    for made in (sg.grad(lambda p, i: np.sum(p[i, 1])), lambda p, i: sg.vjp(read, p, i)):
        with pytest.raises(IndexError, match="index 1 is out of bounds for axis 1 with size 1"):
            made(COLUMN, ROWS)


def cleared(w, x, i):
    w[:] = 0.0
    w += x[i]


def filled(w, x, i):
    w.fill(0.0)
    w -= x[i]


def cleared_in_part(w, x, i):
    part = w[1:]
    part[:] = 0.0
    part += x[i][1:]


def divided(w, x, i):
    w[:] = 0.0
    w += 1 // int(w[0])


def one_by_one(w, x, i):
    for k in range(len(w)):
        w[k] = 0.0
        w[k] += x[i[k]]


@pytest.mark.parametrize("program", [cleared, filled, cleared_in_part, divided, one_by_one], ids=lambda p: p.__name__)
def test_what_was_stored_before_stays(program: Callable[..., Any]) -> None:
    left = []
    for f in (program, sg.compile(program)):
        w = np.ones(3)
        with pytest.raises((IndexError, ZeroDivisionError)):
            f(w, np.full(2, 2.0), np.array([0, 1, 9]))
        left.append(w)
    np.testing.assert_array_equal(left[0], left[1])
