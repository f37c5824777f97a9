"""Arrays that are read at a few shifts, computed where they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.ir.op import OPS
from srcgraph.opt import recomputed

RNG = np.random.default_rng(8)
WITHOUT = sg.opt.FAST_RUN.excluding("recomputed")


def flux(u, c):
    f = 0.5 * u * u
    between = 0.5 * (f[1:] + f[:-1]) - c * (u[1:] - u[:-1])
    out = u.copy()
    out[1:-1] = u[1:-1] - 0.1 * (between[1:] - between[:-1])
    return out


def limited(u):
    lap = 4.0 * u[1:-1, 1:-1] - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    res = lap[1:, 1:-1] - lap[:-1, 1:-1]
    fx = np.where(res * (u[2:-1, 2:-2] - u[1:-2, 2:-2]) > 0, 0, res)
    res = lap[1:-1, 1:] - lap[1:-1, :-1]
    fy = np.where(res * (u[2:-2, 2:-1] - u[2:-2, 1:-2]) > 0, 0, res)
    return u[2:-2, 2:-2] - 0.1 * (fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1])


def parts_of_parts(u, k):
    s = u[::2] * u[1::2]
    inner = s[k:]
    return inner[1:] - inner[:-1]


def fourth(x):
    return np.diff(x, n=4)


def summed(u):
    p = u * u + 1.0
    return np.sum(p[1:] * p[:-1])


def in_a_loop(u, n):
    for _ in range(n):
        f = u * u
        u = u.copy()
        u[1:-1] += 0.01 * (f[2:] - f[:-2])
    return u


def smoothed(u):
    a = 0.2 * (u[1:-1, 1:-1] + u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return 0.2 * (a[1:-1, 1:-1] + a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2])


def dear(u):
    e = np.exp(u)
    return e[1:] - e[:-1]


def dear_inside(u):
    e = np.exp(u) * u
    return e[1:] - e[:-1]


def given_back(u):
    p = u * u
    return p, p[1:] - p[:-1]


def upwind(u, c):
    f = 0.5 * u**2
    a = np.maximum(np.abs(u[1:]), np.abs(u[:-1]))
    h = 0.5 * (f[1:] + f[:-1]) - 0.5 * a * (u[1:] - u[:-1])
    out = u.copy()
    out[1:-1] = u[1:-1] - c * (h[1:] - h[:-1])
    return out


def read_beside(u):
    p = u * u
    return np.sum(u - p) + np.sum((p[1:] - p[:-1]) ** 2)


def multiplied(u):
    p = u * u
    return p[1:] @ p[:-1].T


def read_in_a_loop(u, n):
    p = u * u
    x, y, total = p[1:], p[:-1], 0.0
    for k in range(n):
        total += np.sum(x * y) * k
    return total


def changed(u):
    p = u * u
    a = p[1:]
    a[0] = 7.0
    return a - p[:-1]


def changed_operand(u):
    u = u + 1.0
    p = 2.0 * u
    u[0] = 5.0
    return p[1:] - p[:-1] + u[1:]


U, UU = RNG.uniform(-1.0, 1.0, 12), RNG.uniform(-1.0, 1.0, (9, 8))
PROGRAMS: list[tuple[Callable, tuple[Any, ...], int]] = [
    # program, arguments, how many arrays there are fewer
    (flux, (U, 0.3), 1), (limited, (UU,), 3), (parts_of_parts, (U, 1), 0), (fourth, (U,), 0), (summed, (U,), 0),
    (in_a_loop, (U, 3), 0), (smoothed, (UU,), 0), (dear, (U,), 0), (dear_inside, (U,), 0), (given_back, (U,), 0),
    (upwind, (U, 0.1), 2), (read_beside, (U,), 0), (multiplied, (UU,), 0), (read_in_a_loop, (U, 3), 0),
    (changed, (U,), 0), (changed_operand, (U,), 0),
]  # fmt: skip


def test_the_ops_are_there() -> None:
    assert recomputed.QUICK.keys() <= OPS.keys()


def arrays(text: str) -> int:
    return text.count("empty(") + text.count("copy(")


@pytest.mark.parametrize(("program", "args", "fewer"), PROGRAMS, ids=lambda x: getattr(x, "__name__", None))
def test_fewer_arrays_and_the_same_numbers(program: Callable, args: tuple[Any, ...], fewer: int) -> None:
    with_it, without = (sg.compile(program, mode=mode) for mode in (sg.opt.FAST_RUN, WITHOUT))
    assert arrays(sg.inspect(without, *args).cpu) - arrays(sg.inspect(with_it, *args).cpu) == fewer
    for size in (len(args[0]), 5, 2, 1, 0):
        given = (np.ascontiguousarray(args[0][:size]), *args[1:])
        new, old, plain = (outcome(f, given) for f in (with_it, without, program))
        assert str(new) == str(old)
        if isinstance(plain, str):
            assert new == plain
        else:
            np.testing.assert_allclose(new, plain, rtol=1e-13, atol=1e-15)


def outcome(function: Callable, args: tuple[Any, ...]) -> Any:
    """The numbers a function gives, one after the other; or the exception it raises."""
    try:
        found = function(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
    except (ValueError, IndexError) as error:
        return type(error).__name__
    return [x for each in (found if isinstance(found, tuple) else (found,)) for x in np.ravel(each).tolist()]


@pytest.mark.parametrize("program", [flux, limited, fourth, summed], ids=lambda p: p.__name__)
def test_gradients_stay_the_same(program: Callable) -> None:
    args = next(a for p, a, _ in PROGRAMS if p is program)

    def loss(u):
        return np.sum(np.sin(program(u, *args[1:])))

    with_it, without = (sg.grad(loss, mode=mode)(args[0]) for mode in (sg.opt.FAST_RUN, WITHOUT))
    np.testing.assert_allclose(with_it, without, rtol=1e-12, atol=1e-14)
