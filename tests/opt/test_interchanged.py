"""Loops in each other, in the order in which what they read and store lies side by side."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("interchanged", "abreast")


def scaled(a: Any, b: Any, x: Any) -> None:
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            b[i, j] = 2.0 * a[i, j] + x[j]


def smoothed(a: Any, b: Any, x: Any) -> None:
    for j in range(1, a.shape[1] - 1):
        for i in range(1, a.shape[0] - 1):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def swept(a: Any, b: Any, x: Any) -> None:
    """Each element waits for the one above and the one before: it does in both orders."""
    for j in range(1, a.shape[1]):
        for i in range(1, a.shape[0]):
            b[i, j] = 0.5 * (b[i - 1, j] + b[i, j - 1]) + a[i, j]


def swept_up(a: Any, b: Any, x: Any) -> None:
    for j in range(a.shape[1] - 2, -1, -1):
        for i in range(a.shape[0] - 2, -1, -1):
            b[i, j] += 0.5 * b[i + 1, j + 1] - a[i, j]


def in_branches(a: Any, b: Any, x: Any) -> None:
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            if a[i, j] > 0.0:
                b[i, j] += a[i, j]
            elif i > j:
                b[i, j] = -a[i, j]


def by_columns(a: Any, b: Any, x: Any) -> None:
    """Another element of the row is stored; the column of what is read is another one."""
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            b[i, 0] += a[i, j] * x[j]


def eliminated(a: Any, b: Any, x: Any) -> None:
    for k in range(a.shape[0] - 1):
        for j in range(k + 1, a.shape[1]):
            for i in range(k + 1, a.shape[0]):
                b[i, j] -= a[i, k] * b[k, j]


def products(a: Any, b: Any, x: Any) -> None:
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                b[i, j] += a[i, k] * a[k, j]


TURNED = [scaled, smoothed, swept, swept_up, in_branches, by_columns, eliminated]


def up_and_down(a: Any, b: Any, x: Any) -> None:
    """An element waits for one that the other order stores later."""
    for j in range(1, a.shape[1]):
        for i in range(a.shape[0] - 1):
            b[i, j] = 0.5 * b[i + 1, j - 1] + a[i, j]


def by_rows(a: Any, b: Any, x: Any) -> None:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = 2.0 * a[i, j]


def triangle(a: Any, b: Any, x: Any) -> None:
    for j in range(a.shape[1]):
        for i in range(j):
            b[i, j] = a[i, j]


def total(a: Any, b: Any, x: Any) -> Any:
    """Sums are rounded as Python does."""
    s = 0.0
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            s += a[i, j]
    return s


LEFT = [up_and_down, by_rows, triangle, total]


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def args(rows: int = 20, order: str = "C") -> list[Any]:
    make = np.random.default_rng(rows)
    return [
        np.asarray(make.uniform(-1.0, 1.0, (rows, rows)), order=order),  # type: ignore[call-overload]
        np.asarray(make.uniform(-1.0, 1.0, (rows, rows)), order=order),  # type: ignore[call-overload]
        make.uniform(-1.0, 1.0, rows),
    ]


def copies(given: list[Any]) -> list[Any]:
    return [x.copy(order="K") for x in given]


def loops(program: Callable[..., Any], given: list[Any], **options: Any) -> list[str]:
    """The variables of the loops of the text, from outside."""
    return re.findall(r"for (\w+) in", sg.compile(program, **options).python(*given))


@pytest.mark.parametrize("program", TURNED, ids=name)
def test_loops_go_along_rows(program: Callable[..., Any]) -> None:
    assert loops(program, args())[-2:] == ["i", "j"]
    assert loops(program, args(), mode=PLAIN)[-2:] == ["j", "i"]


@pytest.mark.parametrize("program", [scaled, smoothed, swept], ids=name)
def test_loops_stay_where_arrays_lie_in_fortran_order(program: Callable[..., Any]) -> None:
    assert loops(program, args(order="F")) == ["j", "i"]


def test_loops_over_rows_go_down_columns_in_fortran_order() -> None:
    assert loops(by_rows, args(order="F")) == ["j", "i"]
    assert loops(by_rows, args()) == ["i", "j"]


@pytest.mark.parametrize("program", LEFT, ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    assert sg.compile(program).python(*args()) == sg.compile(program, mode=PLAIN).python(*args())


def test_three_loops() -> None:
    """The innermost goes along rows of two of the arrays; the outermost along none."""
    assert loops(products, args()) == ["i", "k", "j"]


def test_sums_whose_rounding_may_change() -> None:
    assert loops(total, args(), fastmath=True)[-2:] == ["i", "j"]
    np.testing.assert_allclose(sg.compile(total, fastmath=True)(*args()), total(*args()), rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("program", [*TURNED, *LEFT, products], ids=name)
@pytest.mark.parametrize("options", [{}, {"parallel": "always"}], ids=["", "parallel"])
def test_values(program: Callable[..., Any], options: Any, order: str) -> None:
    made = sg.compile(program, **options)
    for rows in (0, 1, 2, 9, 40):
        ours, theirs = (copies(args(rows, order)) for _ in range(2))
        got, want = made(*ours), program(*theirs)
        assert got == want if not options or want is None else np.isclose(got, want, rtol=1e-12)
        for x, y in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("program", [*TURNED, *LEFT, products], ids=name)
def test_gradients(program: Callable[..., Any]) -> None:
    def loss(a: Any, b: Any, x: Any) -> Any:
        c = b.copy()
        program(a, c, x)
        return np.sum(c * c)

    made, plain = (sg.grad(loss, argnums=(0, 1, 2), mode=m) for m in (sg.opt.FAST_RUN, PLAIN))
    for rows in (0, 1, 9, 40):
        for got, want in zip(made(*args(rows)), plain(*args(rows)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


def test_trips_on_several_cores_stay_apart() -> None:
    """The columns may be computed on several cores; the rows wait for each other."""

    def down(a: Any, b: Any, x: Any) -> None:
        for j in range(a.shape[1]):
            for i in range(1, a.shape[0]):
                b[i, j] = b[i - 1, j] + a[i, j]

    assert loops(down, args()) == ["i", "j"]
    assert loops(down, args(), parallel=True)[0] == "trip"
