"""Loops that keep the best of what they try: the sweep back goes through the trip that this is from, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def nearest(x, p):
    """The distance is made by a loop of its own; one row is left out; a second number is taken over with the first."""
    best, weight = 1e9, 0.0
    for k in range(len(x)):
        if k != 1:
            d = 0.0
            for q in range(len(p)):
                d += (x[k, q] - p[q]) ** 2
            if d < best:
                best, weight = d, x[k, 0]
    return best * weight


def least_item(x):
    return min(v * v + 1.0 for v in x)


def farthest_pair(x):
    best = -1.0
    for i in range(len(x)):
        for j in range(i):
            d = abs(x[i] * x[i] - x[j])
            if d > best:
                best = d
    return best


def best_path(v, a, steps):
    n = len(v)
    for _ in range(steps):
        new = np.empty(n)
        for j in range(n):
            m = v[0] + a[0, j]
            for i in range(1, n):
                s = v[i] * a[i, j]
                if s > m:
                    m = s
            new[j] = m
        v = new
    return np.sum(v * v)


def chain_of_products(p):
    n = len(p) - 1
    m = [[0.0] * n for _ in range(n)]
    for size in range(2, n + 1):
        for i in range(n - size + 1):
            j = i + size - 1
            m[i][j] = min(m[i][k] + m[k + 1][j] + p[i] * p[k + 1] * p[j + 1] for k in range(i, j))
    return m[0][n - 1]


def last_that_counts(x, limit):
    """What a trip takes over may depend on how many came before, which is known of it; and the loop may stop."""
    taken, count = 0.0, 0
    for k in range(len(x) - 1, -1, -2):
        if x[k] > limit:
            count += 1
            if count > 3:
                break
            taken = x[k] * count
    return taken * taken


def kept_row(m, p):
    """An array is taken over."""
    best, row = -1e9, m[0] * 2.0
    for k in range(len(m)):
        s = np.dot(m[k], p)
        best, row = (s, m[k] * s) if s >= best else (best, row)
    return np.sum(row) + best


def draw_down(x):
    """The largest so far counts in each trip."""
    peak, worst = x[0], 0.0
    for v in x:
        peak = max(peak, v)
        worst = max(worst, peak - v)
    return worst


def runner_up(x):
    first = second = -1e9
    for v in x:
        if v > first:
            second, first = first, v
        elif v > second:
            second = v
    return first * second


R = np.random.default_rng(4)
X, M, P, A = R.uniform(-1.0, 1.0, 7), R.uniform(-1.0, 1.0, (6, 3)), R.uniform(-1.0, 1.0, 3), R.uniform(0.2, 1.0, (7, 7))
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (nearest, (M, P)), (least_item, (X,)), (farthest_pair, (X,)), (best_path, (X + 2.0, A, 3)),
    (chain_of_products, (A[0],)), (last_that_counts, (X, -0.5)), (kept_row, (M, P)), (draw_down, (X,)),
    (runner_up, (X,)),
]  # fmt: skip


def moved(f: Callable[..., Any], args: tuple[Any, ...], k: int) -> np.ndarray:
    out = np.zeros_like(args[k])
    for at in np.ndindex(out.shape):
        ends = []
        for step in (1e-6, -1e-6):
            own = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
            own[k][at] += step
            ends.append(f(*own))
        out[at] = (ends[0] - ends[1]) / 2e-6
    return out


@pytest.mark.parametrize(("f", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_as_by_differences(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    wrt = tuple(k for k, a in enumerate(args) if isinstance(a, np.ndarray))
    value, found = sg.value_and_grad(f, argnums=wrt)(*args)
    assert value == pytest.approx(f(*args), rel=1e-14)
    for k, own in zip(wrt, found, strict=True):
        np.testing.assert_allclose(own, moved(f, args, k), rtol=1e-6, atol=1e-8)


def sweep_back(f: Callable[..., Any], *args: Any) -> list[str]:
    """The lines of the gradient that come after what the function itself computes."""
    text = [line.split("#")[0].rstrip() for line in sg.inspect(sg.grad(f), *args).cpu.splitlines()]
    first = next(k for k, line in enumerate(text) if line.strip().startswith("d_"))
    return text[first:]


def test_one_trip_of_one_loop() -> None:
    assert not any("for " in line for line in sweep_back(least_item, X))
    assert not any("for " in line for line in sweep_back(farthest_pair, X))


def test_the_tape_holds_which_trip() -> None:
    text = sg.inspect(sg.grad(best_path), X + 2.0, A, 3).cpu
    assert text.count("_saved = ") == 1 and "which_saved = empty((max(steps, 0), n), np.int64)" in text
    back = sweep_back(best_path, X + 2.0, A, 3)
    assert sum("for " in line for line in back) == 3, "the sum, the steps, and the places; no loop over what was tried"


def test_as_long_as_the_function() -> None:
    """The sweep back through a table of least costs takes two loops, the function three."""
    assert max(len(line) - len(line.lstrip()) for line in sweep_back(chain_of_products, A[0]) if "for " in line) == 8


def test_what_counts_in_each_trip_stays() -> None:
    assert "which" not in sg.inspect(sg.grad(draw_down), X).cpu


@pytest.mark.parametrize("size", [0, 1, 2])
def test_few_trips(size: int) -> None:
    np.testing.assert_allclose(sg.grad(farthest_pair)(X[:size]), moved(farthest_pair, (X[:size],), 0), atol=1e-8)
    found = sg.grad(last_that_counts)(X[:size], -2.0)
    np.testing.assert_allclose(found, moved(last_that_counts, (X[:size], -2.0), 0), atol=1e-8)


def test_the_value_is_the_loops_own() -> None:
    """Nothing of what is made again is left where only the value is needed."""
    text = sg.inspect(sg.value_and_grad(farthest_pair), X).cpu
    assert "return best, d_x" in text or "return (best, d_x)" in text
