"""Arrays that loops compute anew of themselves are stored into, and small ones are numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("renewed", "scalars")


def damped(x: Any, a: Any, n: int) -> Any:
    for k in range(n):
        x = 0.9 * x + 0.1 * k
    return x


def descent(x: Any, a: Any, n: int) -> Any:
    """What is read elsewhere is computed before."""
    for _ in range(n):
        g = a @ x - 1.0
        x = x - 0.01 * g / (1.0 + np.sum(x * x))
    return x


def oscillators(x: Any, a: Any, n: int) -> Any:
    """One after the other, each of both as they are by then."""
    v, energy = np.zeros_like(x), 0.0
    while n > 0:
        v = v - 0.1 * x
        x = x + 0.1 * v
        energy += np.sum(v * v + x * x)
        n -= 1
    return energy + x


def momentum(x: Any, a: Any, n: int) -> Any:
    first, second = np.zeros_like(x), np.zeros_like(x)
    for k in range(1, n + 1):
        g = a @ x
        first = 0.9 * first + 0.1 * g
        second = 0.99 * second + 0.01 * g * g
        x = x - 0.1 * (first / (1.0 - 0.9**k)) / (np.sqrt(second / (1.0 - 0.99**k)) + 1e-8)
    return x


RENEWED = [damped, descent, oscillators, momentum]


def kept(x: Any, a: Any, n: int) -> Any:
    """The old one is needed afterwards."""
    total = np.zeros_like(x)
    for _ in range(n):
        y = 0.5 * x + 1.0
        total = total + x * y
        x = y - 0.1 * total
    return x + total


def previous(x: Any, a: Any, n: int) -> Any:
    old = x
    for _ in range(n):
        new = 2.0 * x - 0.9 * old
        old = x
        x = new
    return x - old


def shifted(x: Any, a: Any, n: int) -> Any:
    for _ in range(n):
        x = 0.5 * x + 0.5 * x[::-1]
    return x


def listed(x: Any, a: Any, n: int) -> Any:
    seen = []
    for _ in range(n):
        x = x * 0.5
        seen.append(x)
    return np.sum(seen[0]) + x if n > 0 else x


def swapped(x: Any, a: Any, n: int) -> Any:
    y = x + 1.0
    for _ in range(n):
        x, y = y * 0.5, x * 0.25
    return x - y


def both(x: Any, a: Any, n: int) -> Any:
    """Two names of one array."""
    y = x
    for _ in range(n):
        x = x * 0.5
        y = y + x
    return x + y


def chosen(x: Any, a: Any, n: int) -> Any:
    for k in range(n):
        y = x * 0.5 + a[k % 3, 0]
        if np.sum(y) > 0.1:
            x = y
    return 2.0 * x


def multiplied(x: Any, a: Any, n: int) -> Any:
    for _ in range(n):
        x = 0.4 * (a @ x)
        x = a @ x
    return x


def returned_early(x: Any, a: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5
        if np.sum(x * x) < 1e-3:
            return x
    return -x


def raising(x: Any, a: Any, n: int) -> Any:
    for k in range(n):
        x = x * 0.5
        if k == 5:
            raise ValueError(str(k))
    return x


def changed_before(x: Any, a: Any, n: int) -> Any:
    """The caller's array has what was stored into it before the loop."""
    x[-1] = 1.0
    for _ in range(n):
        x = 0.5 * x + a[0]
    return x


def rows(x: Any, a: Any, n: int) -> Any:
    """Each trip of a loop around begins anew."""
    total = np.zeros_like(x)
    for _ in range(3):
        y = x
        for k in range(n):
            y = 0.5 * y + k
        total = total + y * x
    return total


OTHERS = [
    kept, previous, shifted, listed, swapped, both, chosen, multiplied, returned_early, raising, changed_before, rows,
]  # fmt: skip


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def given(size: int, n: int = 4) -> tuple[Any, Any, int]:
    make = np.random.default_rng(size)
    return make.normal(size=size), make.normal(size=(size, size)) / size, n


@pytest.mark.parametrize("program", RENEWED, ids=name)
def test_no_array_is_made_in_the_loop(program: Callable[..., Any]) -> None:
    text = sg.compile(program).python(*given(40, 70))
    inside = [line for line in text.splitlines() if line.startswith(" " * 8)]
    assert not any("empty(n" in line for line in inside)


@pytest.mark.parametrize("size", [3, 5, 40])
@pytest.mark.parametrize("program", RENEWED + OTHERS, ids=name)
def test_values(program: Callable[..., Any], size: int) -> None:
    compiled = sg.compile(program)
    for n in (0, 1, 2, 5, 70) if program is not raising else (0, 5):
        (x, a, _), (y, _, _) = given(size), given(size)
        np.testing.assert_allclose(compiled(x, a, n), program(y, a, n), rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("program", RENEWED + OTHERS, ids=name)
def test_gradients(program: Callable[..., Any], size: int) -> None:
    def loss(x: Any, a: Any, n: int) -> Any:
        return np.sum(program(x, a, n) ** 2)

    made, plain = (sg.grad(loss, argnums=(0, 1), mode=m) for m in (sg.opt.FAST_RUN, PLAIN))
    for n in (1, 4):
        for x, y in zip(made(*given(size, n)), plain(*given(size, n)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


def test_small_arrays_that_are_chosen_are_numbers() -> None:
    for program in (chosen, multiplied):
        text = sg.compile(program).python(*given(3, 70))
        assert "x_0" in text
        assert "empty(" not in text[: text.rindex("    for ")]
    text = sg.compile(chosen).python(*given(40, 70))
    assert "x_0" not in text
