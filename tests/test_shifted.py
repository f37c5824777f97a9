"""Adjoints of stencils: each element of a row takes what it is due in one loop, whatever the sizes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from harness import slopes

import srcgraph as sg
from srcgraph.codegen.registers import Added, as_written
from srcgraph.codegen.shifted import gathered

pytestmark = pytest.mark.plainly


def heat(u, k):
    for _ in range(2):
        u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def burgers(u, k):
    for _ in range(2):
        old = u.copy()
        u[1:-1] = old[1:-1] - k * old[1:-1] * (old[2:] - old[:-2]) + 0.2 * np.sin(old[2:] - 2.0 * old[1:-1] + old[:-2])
    return np.sum(u**2)


def wide(u, k):
    v = np.cos(u)
    v[3:-2] -= k * (u[5:] * u[:-5] - 3.0 * u[4:-1] * u[1:-4] + 2.0 * u[2:-3])
    return np.sum(v * u)


def curvature(u, k):
    d = np.diff(u, 3)
    return np.sum(d**2) + k * np.sum(u[1:] * u[:-1])


def forwards(u, k):
    return np.sum(u[3:] * u[:-3] + k * u[1:-2] ** 3 - u[2:-1] * u[:-3])


def nine_points(u, k):
    for _ in range(2):
        o = u.copy()
        beside = o[1:-1, :-2] + o[1:-1, 2:] + o[:-2, 1:-1] + o[2:, 1:-1]
        across = o[:-2, :-2] + o[:-2, 2:] + o[2:, :-2] + o[2:, 2:]
        u[1:-1, 1:-1] = o[1:-1, 1:-1] * (1.0 - k) + np.sin(0.2 * beside) + 0.05 * across * o[1:-1, 2:]
    return np.sum(u**2)


def along_rows(u, k):
    flux = u[:, 2:] - 2.0 * k * u[:, 1:-1] + u[:, :-2]
    return np.sum(flux**2)


def with_literals(u, k):
    total = 0.0
    for i in range(2, len(u) - 1):
        total += k * u[i - 2] ** 2 - u[i] + u[i + 1]
    return total


LINES = [heat, burgers, wide, curvature, forwards, with_literals]
GRIDS = [nine_points, along_rows]


def values(*shape: int) -> np.ndarray:
    return np.cos(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)


def name(program: Callable[..., Any]) -> str:
    return program.__name__


@pytest.mark.parametrize("program", LINES, ids=name)
def test_lines(program: Callable[..., Any]) -> None:
    """All short lengths, at which the ends meet, and some longer ones."""
    for n in (*range(3 if program is forwards or program is wide else 2, 14), 40, 67):
        if program is wide and n < 5:
            continue
        wanted, found = slopes(program, values(n) * 0.8, 0.3)
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-7), n


@pytest.mark.parametrize("program", GRIDS, ids=name)
def test_grids(program: Callable[..., Any]) -> None:
    for shape in [(n, m) for n in range(2, 6) for m in range(2, 8)] + [(9, 20)]:
        wanted, found = slopes(program, values(*shape) * 0.8, 0.3)
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-7), shape


@pytest.mark.parametrize("program", [heat, burgers, nine_points], ids=name)
def test_one_loop_adds_all(program: Callable[..., Any]) -> None:
    shape = (9, 9) if program is nine_points else (9,)
    text = sg.inspect(sg.grad(program), values(*shape), 0.3).cpu
    sums = [line for line in text.splitlines() if "d_u[" in line and "+=" in line]
    assert any(line.count("0.2 *") + line.count("t_") >= 3 for line in sums)
    assert "range(min(2, " in text and "in range(max(" in text


def added(target: str, value: str, trips: str, *numbers: str) -> ast.For:
    """``for i in range(trips): target += value``, in any order."""
    text = f"for i in range({trips}):\n" + "".join(f"    {n}\n" for n in numbers)
    (loop,) = ast.parse(text + f"    {target} += {value}\n").body
    assert isinstance(loop, ast.For) and isinstance(loop.body[-1], ast.AugAssign)
    change = loop.body[-1]
    loop.body[-1] = ast.copy_location(Added(change.target, change.op, change.value), change)
    return loop


def run(statements: list[ast.stmt], n: int) -> list[float]:
    """What statements leave in an array of zeros."""
    x = [0.0] * 20
    exec(written(statements), {"x": x, "t": [float(k + 1) ** 2 for k in range(20)], "n": n, "w": 0.5})
    return x


def written(statements: list[ast.stmt]) -> str:
    return ast.unparse(ast.Module(as_written(copy.deepcopy(statements)), []))


def test_any_shifts() -> None:
    """Three shifts, other first numbers, all small lengths, subtraction, literals, numbers of the loops' own."""
    for first, value in ((0, "w * t[i]"), (1, "1.0"), (3, "-w")):
        for a, b, c in product(range(3), range(4), (0, 2, 5)):
            parts: list[ast.stmt] = [
                added(f"x[i + {a}]", value, f"{first}, n"),
                added(f"x[i + {b}]", "-q * 2.0", f"{first}, n", "p = t[i] + 1.0", "q = p * p"),
                added(f"x[i + {c}]", "q - t[i + 1]", f"{first}, n", "q = t[i] * w"),
            ]
            joined = gathered(copy.deepcopy(parts), set())
            assert written(joined) != written(parts) or a == b == c
            for n in range(9):
                np.testing.assert_allclose(run(joined, n), run(parts, n), rtol=1e-13)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (added("x[i + 2]", "x[i]", "n"), "reads what is added to"),
        (added("x[i + 2]", "t[i]", "n + 1"), "other numbers"),
        (added("x[2 * i]", "t[i]", "n"), "not one place further in each step"),
        (added("x[i + 20]", "t[i]", "n"), "far away"),
        (added("x[i + 2]", "q", "n", "q = q + t[i]"), "a sum over the steps"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_others_stay(other: ast.For, why: str) -> None:
    loops: list[ast.stmt] = [added("x[i]", "t[i]", "n"), other, added("x[i + 1]", "t[i]", "n")]
    assert written(gathered(copy.deepcopy(loops), set())) == written(loops)


def test_numbers_that_are_read_later_stay() -> None:
    after = ast.parse("last = q").body
    loops: list[ast.stmt] = [added(f"x[i + {k}]", "q", "n", "q = t[i]") for k in range(3)]
    assert len(gathered([*copy.deepcopy(loops), *after], set())) == 4
    assert len(gathered(loops, set())) > 3
