"""`sg.save`: what the program says to save is saved, where the reverse sweep needs it, and nothing else changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

BACKWARD = sg.opt.FAST_RUN.excluding("forward")

X = np.linspace(0.3, 1.1, 5)


def plain(x, steps):
    total = 0.0
    for k in range(steps):
        y = x * x + k
        x = x + 0.1 * y * y
        total += y * x
    return total


def marked(x, steps):
    total = 0.0
    for k in range(steps):
        y = sg.save(x * x + k)
        x = x + 0.1 * y * y
        total += y * x
    return total


def plain_rows(u, steps):
    total = 0.0
    for _ in range(steps):
        v = u * u + 1.0
        total += np.sum(v * v * u)
        u = 0.5 * u
    return total


def marked_rows(u, steps):
    total = 0.0
    for _ in range(steps):
        v = u * u + 1.0
        sg.save((v, 2.0))
        total += np.sum(v * v * u)
        u = 0.5 * u
    return total


def plain_while(x):
    y = x
    while y < 10.0:
        z = y * y + x
        if z > 2.0:
            y = y + z * z * x
        else:
            y = 1.1 * y + z * z
    return y


def marked_while(x):
    y = x
    while y < 10.0:
        z = y * y + x
        if z > 2.0:
            y = y + sg.save(z * z) * x
        else:
            y = 1.1 * y + sg.save(z) * z
    return y


def plain_store(x, w):
    for i in range(len(x)):
        x[i] = x[i] * x[i] + w
        w = w * x[i] * x[i]
    return w


def marked_store(x, w):
    for i in range(len(x)):
        x[i] = sg.save(x[i] * x[i]) + w
        w = w * x[i] * x[i]
    return w


PAIRS: list[tuple[Callable, Callable, tuple[Any, ...], tuple[int, ...]]] = [
    (plain, marked, (0.4, 6), (0,)),
    (plain_rows, marked_rows, (X, 4), (0,)),
    (plain_while, marked_while, (0.7,), (0,)),
    (plain_store, marked_store, (X, 0.5), (0, 1)),
]


def saved(function: Callable, *args: Any, argnums: Any = 0) -> dict[str, str]:
    tape = sg.inspect(sg.grad(function, argnums=argnums, mode=BACKWARD), *args).tape
    return {row.variable: row.reason for row in tape if row.bytes}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p[0].__name__)
def test_same_numbers_to_the_last_bit(pair: tuple) -> None:
    without, with_mark, args, argnums = pair
    given = lambda: [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]  # noqa: E731
    assert with_mark(*given()) == without(*given())
    assert sg.compile(with_mark)(*given()) == sg.compile(without)(*given())
    for got, want in zip(*(sg.grad(f, argnums, mode=BACKWARD)(*args) for f in (with_mark, without)), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p[0].__name__)
def test_the_code_of_the_function_itself_is_the_same(pair: tuple) -> None:
    without, with_mark, args, _ = pair
    code = [re.sub(r" *#.*|def .*|(?<=t_)\d+", "", sg.compile(f).python(*args)) for f in (without, with_mark)]
    assert code[0] == code[1]


def test_what_is_cheap_is_recomputed_unless_the_program_says_so() -> None:
    assert saved(plain, 0.4, 6) == {"x": "the next trip overwrites it"}
    assert saved(marked, 0.4, 6) == {"x": "the next trip overwrites it", "y": "the program says so"}
    assert "the program says so" in saved(marked_rows, X, 4).values()
    assert saved(marked_rows, X, 4)["v"] == "the program says so"
    assert saved(marked_while, 0.7)["z"] == "the program says so"


def test_what_is_not_needed_is_not_saved() -> None:
    def linear(x, steps):
        for _ in range(steps):
            y = sg.save(2.0 * x)
            x = x + y
        return x

    def outside(x):
        y = sg.save(np.sin(x))
        return y * y

    assert saved(linear, 1.0, 4) == {}
    assert saved(outside, 1.0) == {}
    assert sg.grad(linear)(1.0, 4) == 81.0


def test_an_array_that_is_changed_later() -> None:
    """The array itself, not a copy: the caller sees what is stored; saved is what it holds at that time."""

    def smoothed(u, steps):
        for _ in range(steps):
            u = sg.save(u)
            for i in range(1, len(u) - 1):
                u[i] = 0.5 * u[i] * (u[i - 1] + u[i + 1])
        return np.sum(u * u)

    x, y = X.copy(), X.copy()
    assert sg.compile(smoothed)(x, 3) == smoothed(y, 3)
    np.testing.assert_array_equal(x, y)
    assert not np.array_equal(x, X)
    got = sg.grad(smoothed)(X, 3)
    for k in range(len(X)):
        step = np.eye(len(X))[k] * 1e-6
        slope = (smoothed(X + step, 3) - smoothed(X - step, 3)) / 2e-6
        assert got[k] == pytest.approx(slope, rel=1e-7)


def test_other_modes() -> None:
    value, moved = sg.jvp(marked, (0.4, 6), (1.0, None))
    assert value == marked(0.4, 6) and moved == pytest.approx(sg.grad(plain)(0.4, 6), rel=1e-13)
    assert sg.hessian(marked)(0.4, 6) == pytest.approx(sg.hessian(plain)(0.4, 6), rel=1e-13)
    twice = sg.grad(sg.grad(marked))
    assert twice(0.4, 6) == pytest.approx(sg.grad(sg.grad(plain))(0.4, 6), rel=1e-13)
    assert "the program says so" in {row.reason for row in sg.inspect(twice, 0.4, 6).tape}
    rows = sg.vmap(sg.grad(marked), in_axes=(0, None))(np.array([0.4, 0.5]), 6)
    np.testing.assert_array_equal(rows, [sg.grad(marked)(a, 6) for a in (0.4, 0.5)])


def test_inside_a_rule_and_recursion() -> None:
    @sg.custom_jvp
    def root(x):
        return np.sqrt(x)

    def rule(primals, tangents):
        out = np.sqrt(primals[0])
        return out, sg.save(tangents[0] / (2.0 * sg.save(out)))

    root.defjvp(rule)

    def power(x, n):
        if n == 0:
            return 1.0
        y = sg.save(x * x)
        return y * y * power(x, n - 1)

    assert sg.grad(lambda x: root(x) * x)(4.0) == pytest.approx(3.0)
    assert sg.grad(power)(1.1, 3) == pytest.approx(12 * 1.1**11)


def test_refusals() -> None:
    def of_text(x):
        return sg.save(("y", x))[1]

    with pytest.raises(sg.errors.SrcgraphError, match="save takes numbers, arrays and tuples of these"):
        sg.compile(of_text)(1.0)
