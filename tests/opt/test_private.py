"""Arrays that each trip of a loop fills anew, or has a part of its own of; sums that are added up where they belong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(8)
X, W = RNG.normal(size=(6, 5)), RNG.normal(size=(4, 5))
PASSES = ("private", "contract", "accumulate")
PLAIN = sg.opt.FAST_RUN.excluding(*PASSES)


def filled(x, w):
    terms, total = np.empty(w.shape[0]), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            terms[j] = np.sin(np.sum(x[i] * w[j]))
        for j in range(w.shape[0]):
            total += np.exp(terms[j]) * terms[w.shape[0] - 1 - j]
    return total


def filled_downwards(x, w):
    terms, total = np.zeros(w.shape[0]), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0] - 1, -1, -1):
            terms[j] = x[i, j] * w[j, 0]
            terms[j] *= terms[j]
        total += np.max(terms) + np.sum(np.cos(terms))
    return total


def filled_by_rows(x, w):
    out, total = np.empty(w.shape), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            out[j] = np.tanh(x[i] * w[j])
        total += np.sum(out[:, 1:] * out[:, :-1])
    return total


def filled_twice_as_deep(x, w):
    out, total = np.empty(w.shape), 0.0
    for r in range(2):
        for i in range(x.shape[0]):
            for j in range(w.shape[0]):
                for k in range(w.shape[1]):
                    out[j, k] = np.exp(-((x[i, k] - w[j, k]) ** 2)) + r
            for j in range(w.shape[0]):
                total += np.prod(out[j])
    return total


def filled_in_while(x, w):
    terms, total, i = np.empty(w.shape[0]), 0.0, 0
    while total < 50.0 and i < 40:
        for j in range(w.shape[0]):
            terms[j] = np.exp(np.sin(total * 0.1 + w[j, 0]))
        for j in range(w.shape[0]):
            total += terms[j] * terms[j] * x[0, 0] ** 2
        i += 1
    return total


def one_after_the_other(x, w):
    terms, total = np.empty(w.shape[0]), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            terms[j] = x[i, j] * w[j, 1]
        total += np.sum(np.exp(terms))
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            terms[j] = np.cos(x[i, 0]) * w[j, 2]
        total += np.prod(terms)
    return total


def all_but_one(x, w):
    terms, total = np.zeros(w.shape[0]), 0.0
    for i in range(x.shape[0]):
        for j in range(1, w.shape[0]):
            terms[j] = x[i, j] * w[j, 0] + terms[0]
        terms[0] = terms[1] * 0.5
        total += np.sum(np.sin(terms))
    return total


def read_before(x, w):
    terms, total = np.ones(w.shape[0]), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            terms[j] = np.sin(terms[j] + x[i, j])
        total += np.sum(terms)
    return total


def read_ahead(x, w):
    terms, total = np.ones(w.shape[0]), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            terms[j] = x[i, j] * w[j, 0]
            total += terms[j] * terms[j - 1]
    return total


def last_one_given_back(x, w):
    terms, total = np.zeros(w.shape[0]), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            terms[j] = np.sin(x[i, j] * w[j, 0])
        total += np.sum(terms**2)
    return total + np.prod(terms)


def sometimes_filled(x, w):
    terms, total = np.ones(w.shape[0]), 0.0
    for i in range(x.shape[0]):
        if x[i, 0] > 0.0:
            for j in range(w.shape[0]):
                terms[j] = np.sin(x[i, j])
        total += np.sum(terms * w[:, 0])
    return total


def left_early(x, w):
    terms, total = np.ones(w.shape[0]), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            if x[i, j] > 1.0:
                break
            terms[j] = np.cos(x[i, j])
        total += np.sum(terms * w[:, 0])
    return total


def swapped(x, w):
    old, new, total = w[:, 0].copy(), np.zeros(w.shape[0]), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            new[j] = np.sin(old[j] * x[i, j])
        old, new = new, old
        total += np.sum(old * new)
    return total


def stale(x, w):
    """A row of its own in each trip, which the next one reads, too."""
    rows, total = np.zeros((x.shape[0], w.shape[0])), 0.0
    for i in range(1, x.shape[0]):
        for j in range(w.shape[0]):
            rows[i, j] = np.sin(x[i, j]) + rows[i - 1, j]
        total += np.sum(rows[i] ** 2)
    return total


def rows_of_its_own(x, w):
    rows, total = np.empty((x.shape[0], w.shape[0])), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            rows[i, j] = np.sin(np.sum(x[i] * w[j]))
        for j in range(w.shape[0]):
            total += rows[i, j] * rows[i, 0]
    return total


def columns_of_its_own(x, w):
    rows, total = np.empty((w.shape[0], x.shape[0], 2)), 0.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            rows[j, i, 0] = np.sin(x[i, j])
            rows[j, i, 1] = w[j, 0] * rows[j, i, 0]
        for j in range(w.shape[0]):
            total += rows[j, i, 1] * rows[0, i, 0] ** 2
    return total


def parts_read_by_index(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        row, k = x[i], 0
        for j in range(w.shape[0]):
            for m in range(j, w.shape[0]):
                total += np.sin(row[k % 5] * w[j, m]) * row[m]
                k += 1
    return total


def part_read_as_a_whole(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(w.shape[0]):
            total += np.sum(np.sin(row * w[j])) * row[j]
        total += np.sum(row**3)
    return total


def parts_of_planes(x, w):
    both = np.stack((w, w * x[:4]))
    total = 0.0
    for p in range(2):
        plane = both[p]
        for i in range(plane.shape[0]):
            row = plane[i]
            for j in range(plane.shape[1]):
                total += np.cos(row[j]) * plane[0, j] * row[j - 1]
    return total


ANEW = [filled, filled_downwards, filled_by_rows, filled_twice_as_deep, filled_in_while, one_after_the_other]
CARRIED = [all_but_one, read_before, read_ahead, sometimes_filled, left_early, swapped, stale]
OTHERS = [
    last_one_given_back,
    rows_of_its_own,
    columns_of_its_own,
    parts_read_by_index,
    part_read_as_a_whole,
    parts_of_planes,
]
SHAPES = [((6, 5), (4, 5)), ((0, 5), (4, 5)), ((1, 5), (4, 5)), ((7, 5), (4, 5))]


def name(f: Any) -> str:
    return f.__name__


@pytest.mark.parametrize("program", ANEW + CARRIED + OTHERS, ids=name)
@pytest.mark.parametrize("rows", [0, 6])
def test_the_same_numbers(program: Callable[..., Any], rows: int) -> None:
    if program is parts_of_planes and rows < 6:
        return
    x = X[:rows]
    if program is filled_in_while:
        x = X
    np.testing.assert_allclose(sg.compile(program)(x, W), program(x, W), rtol=1e-12)
    for mine, plain in zip(sg.grad(program, (0, 1))(x, W), sg.grad(program, (0, 1), mode=PLAIN)(x, W), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("program", ANEW + CARRIED + OTHERS, ids=name)
def test_derivatives_are_slopes(program: Callable[..., Any]) -> None:
    found, along = sg.grad(program, (0, 1))(X, W), (np.cos(np.arange(30.0)), np.sin(np.arange(20.0)))
    dx, dw = along[0].reshape(X.shape), along[1].reshape(W.shape)
    h = 1e-6
    slope = (program(X + h * dx, W + h * dw) - program(X - h * dx, W - h * dw)) / (2.0 * h)
    np.testing.assert_allclose(np.sum(found[0] * dx) + np.sum(found[1] * dw), slope, rtol=2e-6)


@pytest.mark.parametrize("program", ANEW, ids=name)
def test_arrays_made_anew_are_not_carried(program: Callable[..., Any]) -> None:
    assert carried_arrays(program, sg.opt.FAST_RUN) < carried_arrays(program, PLAIN)


@pytest.mark.parametrize("program", [*CARRIED, last_one_given_back], ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    assert carried_arrays(program, sg.opt.FAST_RUN) == carried_arrays(program, PLAIN)


def carried_arrays(program: Callable[..., Any], mode: Any) -> int:
    """How many arrays the outermost loops carry."""
    graph = sg.compile(program, mode=mode).graph(X, W)
    loops = [n for n in graph.nodes if hasattr(n, "carry")]
    return sum(bool(getattr(v.type, "ndim", 0)) for loop in loops for v in loop.carry)


@pytest.mark.parametrize("program", [filled, filled_by_rows], ids=name)
def test_forward_and_reverse_are_one_loop(program: Callable[..., Any]) -> None:
    text = sg.inspect(sg.grad(program, (0, 1)), X, W).cpu
    assert "saved = empty((" not in text and text.count("    for i in range(") == text.count("\n    for i in range(")
    assert text.count("\n    for i in range(") == 1, text


@pytest.mark.parametrize("program", [rows_of_its_own, columns_of_its_own], ids=name)
def test_the_axis_of_the_loop_goes(program: Callable[..., Any]) -> None:
    made = [s for s in sg.inspect(program, X, W).cpu.splitlines() if "rows = " in s]
    assert [s.count(",") for s in made] == [program is columns_of_its_own], made


def test_sums_are_added_where_they_belong() -> None:
    text = sg.inspect(sg.grad(parts_read_by_index), X, W).cpu
    assert "d_x[i, " in text and ".fill(0)" not in text, text
