"""Loops that copy an array to change it fill another one; what a caller sees is as before, errors included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.ir.op import OPS
from srcgraph.runtime.edges import edges

PLAIN = sg.opt.FAST_RUN.excluding("exchanged")
Grid = Any


def fixed_ends(u: Grid, n: int) -> Grid:
    for _ in range(n):
        old = u.copy()
        u[1:-1, 1:-1] = 0.25 * (old[2:, 1:-1] + old[:-2, 1:-1] + old[1:-1, 2:] + old[1:-1, :-2])
    return np.sum(u * u)


def stored_ends(u: Grid, n: int) -> Grid:
    v = np.sin(u)
    for _ in range(n):
        old = v.copy()
        v[1:-1, 1:-1] = old[1:-1, 1:-1] * (0.5 - old[2:, 1:-1]) + np.cos(old[1:-1, :-2])
        v[:, 0] = v[:, -1] = 0.5
        v[0, :] = v[-1, :] = 1.5
    return v


def mirrored_ends(u: Grid, n: int) -> Grid:
    for _ in range(n):
        old = u.copy()
        u[1:-1, 1:-1] = old[1:-1, 1:-1] + 0.2 * (old[2:, 1:-1] - 2.0 * old[1:-1, 1:-1] + old[:-2, 1:-1])
        u[1:-1, 0] = u[1:-1, 1]
        u[1:-1, -1] = u[1:-1, -2]
        u[0, :] = u[1, :]
        u[-1, :] = u[-2, :]
    return np.sum(np.sin(u))


def round_ends(u: Grid, n: int) -> Grid:
    for _ in range(n):
        old = u.copy()
        u[1:-1] = 0.5 * (old[2:] + old[:-2]) + np.sin(old[1:-1])
        u[0] = 0.5 * (old[1] + old[-2])
        u[-1] = u[0]
    return np.sum(u**2)


def two_of_them(u: Grid, n: int) -> Grid:
    v, left = u * 0.5, 0.0
    while n > 0:
        old, vold = u.copy(), v.copy()
        u[1:-1] = old[1:-1] + 0.1 * vold[2:] * (old[2:] - old[:-2])
        v[1:-1] = vold[1:-1] - 0.1 * old[:-2]
        v[-1] = v[0] = left = left + np.sum(old[0]) * 0.01
        n -= 1
    return np.sum(v * u) + left


def everything(u: Grid, n: int) -> Grid:
    for _ in range(n):
        old = u.copy()
        u[:] = old[::-1] * 0.5 + 0.1 * np.sin(old)
    return np.sum(u**3)


def loops_in_loops(u: Grid, n: int) -> Grid:
    total = 0.0
    for k in range(2):
        for _ in range(n):
            old = u.copy()
            u[1:-1] = 0.5 * (old[2:] + old[:-2])
            u[0] = u[-1] = 0.25 * k
        u[1] += 0.5
        total += np.sum(u * u)
    return total


def read_too_early(u: Grid, n: int) -> Grid:
    """What is stored at the end is read before."""
    for _ in range(n):
        old = u.copy()
        u[2:-2] = old[1:-3] + old[3:-1]
        u[1] = u[-2] * 0.5
        u[0], u[-1] = u[1] + old[1], 1.0
        u[-2] = 0.1
    return np.sum(u * np.cos(u))


def added_to(u: Grid, n: int) -> Grid:
    for _ in range(n):
        old = u.copy()
        u[1:-1] = old[2:] * 0.3
        u[:-1] += old[1:] * 0.1
    return np.sum(u * u)


def element_by_element(u: Grid, n: int) -> Grid:
    for _ in range(n):
        old = u.copy()
        for i in range(1, len(u) - 1):
            for j in range(u.shape[1] - 2):
                u[i, j + 1] = old[i, j] + 0.2 * (old[i + 1, j + 2] - old[i - 1, j + 1])
        u[0] = 0.5
        for j in range(u.shape[1]):
            u[-1, j] = old[0, j]
    return np.sum(u * u)


def two_in_one_loop(u: Grid, n: int) -> Grid:
    u, v = u * 2.0, np.cos(u)
    for _ in range(n):
        old, vold = u.copy(), v.copy()
        for i in range(1, u.shape[0] - 1):
            u[i] = old[i - 1] - vold[i]
            v[i] = vold[i + 1] * old[i]
    return np.sum(u * v)


EXCHANGED = [
    fixed_ends, stored_ends, mirrored_ends, round_ends, two_of_them, everything, loops_in_loops, read_too_early,
    added_to, element_by_element, two_in_one_loop,
]  # fmt: skip


def raises_later(u: Grid, n: int) -> Grid:
    total = 0.0
    for k in range(n):
        old = u.copy()
        u[1:-1] = 0.5 * (old[2:] + old[:-2])
        total += np.sum(u[k])
    return total


def condition_raises(u: Grid, n: int) -> Grid:
    k = 0
    while u[k, 0] < 100.0:
        old = u.copy()
        u[1:-1] = 0.5 * (old[2:] + old[:-2])
        k += n
        if n == 0:
            break
    return k


def stores_before_it_raises(u: Grid, n: int) -> Grid:
    """With two rows, the second is stored before the third is looked for."""
    for _ in range(n):
        old = u.copy()
        u[1:-1] = 0.5 * (old[2:] + old[:-2])
        u[1] = u[0] * 0.5
        u[0] = old[2]
    return np.sum(u)


def from_what_is_new(u: Grid, n: int) -> Grid:
    for _ in range(n):
        old = u.copy()
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + old[i + 1])
    return np.sum(u)


def stored_sometimes(u: Grid, n: int) -> Grid:
    for _ in range(n):
        old = u.copy()
        for i in range(1, len(u) - 1):
            if old[i].sum() > 0.1:
                u[i] = old[i - 1] + old[i + 1]
    return np.sum(u)


def copy_is_changed(u: Grid, n: int) -> Grid:
    for _ in range(n):
        old = u.copy()
        u[1:-1] = 0.5 * (old[2:] + old[:-2])
        old[0] = 7.0
        u[0] = old[0] + old[1]
    return np.sum(u)


def copy_is_kept(u: Grid, n: int) -> Grid:
    first = u
    for _ in range(n):
        first = u.copy()
        u[1:-1] = 0.5 * (first[2:] + first[:-2])
    return np.sum(first) + np.sum(u) * 2.0


OTHERS = [
    raises_later, condition_raises, stores_before_it_raises, from_what_is_new, stored_sometimes, copy_is_changed,
    copy_is_kept,
]  # fmt: skip


def name(f: Any) -> str:
    return f.__name__


def grid(*shape: int) -> Grid:
    return np.cos(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)


def run(f: Callable[..., Any], u: Grid, n: int) -> tuple[Any, ...]:
    """What a function returns or raises, and what it leaves."""
    try:
        return f(u, n), u
    except (IndexError, ValueError) as error:
        return type(error).__name__, u


@pytest.mark.parametrize("program", [*EXCHANGED, *OTHERS], ids=name)
def test_as_numpy(program: Callable[..., Any]) -> None:
    """Of all lengths, those at which an index is outside included."""
    compiled = sg.compile(program)
    for rows in (0, 1, 2, 3, 6):
        for columns in (0, 1, 2, 5):
            for n in (0, 1, 4):
                (found, left), (wanted, plain) = (run(f, grid(rows, columns), n) for f in (compiled, program))
                if isinstance(wanted, str):
                    assert found == wanted
                else:
                    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)
                np.testing.assert_allclose(left, plain, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("program", [*EXCHANGED, *(p for p in OTHERS if p is not condition_raises)], ids=name)
def test_gradients(program: Callable[..., Any]) -> None:
    u, along, h = grid(6, 5) * 0.9, np.sin(np.arange(30.0)).reshape(6, 5), 1e-6

    def total(x: Grid) -> Any:
        return np.sum(program(x.copy(), 3) * 1.0)

    found = sg.grad(lambda x: np.sum(program(x.copy(), 3) * 1.0))(u)
    slope = (total(u + h * along) - total(u - h * along)) / (2 * h)
    np.testing.assert_allclose(np.sum(found * along), slope, rtol=3e-7)


@pytest.mark.parametrize("program", EXCHANGED, ids=name)
def test_nothing_is_copied_in_the_loop(program: Callable[..., Any]) -> None:
    def copies(mode: Any) -> int:
        return sg.inspect(sg.compile(program, mode=mode), grid(6, 5), 3).cpu.count("= copy(")

    assert copies(sg.opt.FAST_RUN) == 0 < copies(PLAIN)


@pytest.mark.parametrize("program", OTHERS, ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    own, plain = (sg.inspect(sg.compile(program, mode=m), grid(6, 5), 3).cpu for m in (sg.opt.FAST_RUN, PLAIN))
    assert own == plain and "edges" not in own


@pytest.mark.parametrize("program", [stored_ends, everything], ids=name)
def test_what_is_stored_is_not_copied(program: Callable[..., Any]) -> None:
    text = sg.inspect(sg.compile(program), grid(6, 5), 3).cpu
    assert "edges" not in text and "empty(" in text


def test_what_no_caller_sees_is_not_stored_back() -> None:
    """A gradient leaves its argument as it was: the loop's last array is what is read after it."""
    assert "u[i, j] =" in sg.inspect(fixed_ends, grid(6, 5), 3).cpu
    text = sg.inspect(sg.grad(fixed_ends), grid(6, 5), 3).cpu
    after = text[text.index("u = u_2") :]
    assert text.count("copy_edges(u_2, u, 1)") == 1 and "empty_like" not in after


def test_what_a_copy_is_due_is_added_at_once() -> None:
    """The derivative of a copy needs no array of its own."""
    text = sg.inspect(sg.grad(fixed_ends), grid(6, 5), 3).cpu
    apart = sg.inspect(sg.grad(fixed_ends, mode=sg.opt.FAST_RUN.excluding("accumulate")), grid(6, 5), 3).cpu
    assert "d_old" not in text and "d_old.fill(0)" in apart


SHAPES = [(n,) for n in range(8)] + [(n, m) for n in range(6) for m in range(6)] + [(3, 4, 5), (5, 1, 6), (0, 2, 2)]


@pytest.mark.parametrize("width", [1, 2, 3])
def test_edges(width: int) -> None:
    """All sizes, rows that lie in any order."""
    meaning, rng = OPS["edges"].numpy, np.random.default_rng(1)
    for shape in SHAPES:
        x, at = rng.normal(size=shape), np.ones(shape, bool)
        at[(slice(width, -width),) * x.ndim] = False
        for given in (x, x[::-1], x.T[::-1].T, np.asfortranarray(x)):
            for found in (edges(given, width), meaning(given, width=width)):
                assert found.shape == shape and np.array_equal(found[at], given[at])
