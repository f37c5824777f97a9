"""Arrays that are computed of themselves, stored some rows later, of every distance and size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def heat(u, k):
    u[1:-1, 1:-1] += k * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])
    return u


def from_above(u, k):
    u[1:, :] = np.sin(u[:-1, :]) + k * u[1:, :]
    return u


def from_below(u, k):
    u[:-1, 1:] = u[1:, :-1] * k + u[:-1, 1:]
    return u


def far_above(u, k):
    u[3:, :] = u[:-3, :] * u[3:, :] + k * u[1:-2, :]
    return u


def farther(u, k):
    u[6:, :] = u[:-6, :] * k + u[3:-3, :]
    return u


def wide(u, k):
    u[2:-2, 2:-2] = u[4:, 2:-2] - u[:-4, 2:-2] + k * (u[2:-2, 4:] * u[2:-2, :-4])
    return u


def twice(u, k):
    for _ in range(3):
        u[1:-1, 1:-1] = 0.5 * (u[:-2, 1:-1] + u[2:, 1:-1]) + k * u[1:-1, 1:-1]
        u[1:-1, :-2] = u[1:-1, 2:] * k + u[:-2, :-2]
    return u


def upside_down(u, k):
    u[:, :] = u[::-1, :] * k + u[:, :]
    return u


def solid(v, k):
    v[1:-1, 1:-1, 1:-1] = v[:-2, 1:-1, 1:-1] + k * v[2:, 1:-1, 1:-1] * v[1:-1, :-2, 1:-1] - v[1:-1, 1:-1, 2:]
    return v


def two_arrays(u, k):
    w = u * 2.0
    for _ in range(2):
        u[1:-1, 1:-1] = w[:-2, 1:-1] + k * (u[2:, 1:-1] + u[:-2, 1:-1])
        w[1:, :] = w[:-1, :] * k + u[1:, :]
    return u, w


def transposed(u, k):
    t = u.T
    t[1:-1, 1:-1] = t[:-2, 1:-1] + k * t[2:, 1:-1]
    return u


def with_a_sum(u, k):
    total = 0.0
    for _ in range(2):
        total += u.sum()
        u[1:, :] = u[:-1, :] * k + u[1:, :] * total
    return total


PROGRAMS = [heat, from_above, from_below, far_above, farther, wide, twice, upside_down, solid, two_arrays, transposed,
            with_a_sum]  # fmt: skip
SIZES = [(0, 3), (1, 1), (2, 5), (3, 3), (4, 4), (5, 6), (6, 5), (7, 9), (12, 7)]


def array(program: Any, size: tuple[int, int]) -> np.ndarray:
    rng = np.random.default_rng(sum(size))
    return rng.uniform(0.2, 1.5, (*size, 5) if program is solid else size)


def outcome(call: Any, u: np.ndarray) -> Any:
    u = u.copy()
    try:
        return call(u, 0.3), u
    except ValueError:
        return "ValueError", u


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_values(program: Any) -> None:
    compiled = sg.compile(program)
    for size in SIZES:
        u = array(program, size)
        (got, changed), (wanted, plainly) = outcome(compiled, u), outcome(program, u)
        if isinstance(wanted, str):
            assert got == wanted
            continue
        np.testing.assert_allclose(changed, plainly, rtol=1e-14)
        for x, y in zip(got if isinstance(got, tuple) else (got,), wanted if isinstance(wanted, tuple) else (wanted,),
                        strict=True):  # fmt: skip
            np.testing.assert_allclose(x, y, rtol=1e-13)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients(program: Any) -> None:
    u = array(program, (7, 9))
    direction = np.sin(np.arange(u.size)).reshape(u.shape)
    slopes = sg.grad(_weighted(program), argnums=(0, 1))(u.copy(), 0.3)
    f = _weighted(program)
    by_u = (f(u + 1e-6 * direction, 0.3) - f(u - 1e-6 * direction, 0.3)) / 2e-6
    by_k = (f(u.copy(), 0.3 + 1e-6) - f(u.copy(), 0.3 - 1e-6)) / 2e-6
    assert np.sum(slopes[0] * direction) == pytest.approx(by_u, rel=1e-6, abs=1e-8)
    assert slopes[1] == pytest.approx(by_k, rel=1e-6, abs=1e-8)


def _of_both(u, k):
    first, second = two_arrays(u.copy(), k)
    return np.sum(first * second)


def _of_sum(u, k):
    return with_a_sum(u.copy(), k)


def _weighted(program: Any) -> Any:
    def weighted(u, k):
        return np.sum(np.sin(program(u.copy(), k)))

    return {two_arrays: _of_both, with_a_sum: _of_sum}.get(program, weighted)


def test_a_few_rows_are_kept() -> None:
    for program, rows in ((heat, 2), (from_above, 2), (far_above, 4)):
        text = sg.inspect(program, np.ones((9, 9)), 0.3).cpu
        assert f"empty(({rows}, " in text, text
    for program in (farther, upside_down):
        text = sg.inspect(program, np.ones((9, 9)), 0.3).cpu
        assert " % " not in text, text
