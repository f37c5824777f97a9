"""Integers of arrays wrap as NumPy's do, also where they are made of literals, counters and truths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def chosen(x: Any) -> Any:
    return np.where(x > 0.0, 8, 9) * (1 << 60), np.where(x > 0.0, 1, 0) * 2**62 * 4


def chosen_again(x: Any) -> Any:
    z = np.where(x > 0.0, 3037000500, 1)
    return np.maximum(z * z * 3, 5), (z * z * 3) // 2, (z * z * z) % 1000, np.abs(z * z * 3), -(z * z) * 2


def a_number(x: Any) -> Any:
    z = np.where(x[0] > 0.0, 3037000500, 1)
    w = z * z * 3
    for _ in range(3):
        w = w * z
    return w, z * z * 3 < 0, np.where(x[1] > 0.0, 8, 9) * (1 << 60)


def counted(x: Any) -> Any:
    k = np.arange(len(x))
    return k * 2**62 * 4, (k + 2**62) * 2, k**2 * 2**62, (k[1:] - 2**62) * 3, np.arange(3, 40, 4) * 2**61


def truths(x: Any) -> Any:
    b = x > 0.0
    return b * 2**62 * 4, b.astype(int) * 2**62 * 8, (b + 1) * 2**62 * 4, (b[:2] | b[1:3]) * 2**62 * 6


@pytest.mark.parametrize("program", [chosen, chosen_again, a_number, counted, truths])
def test_wraps(program: Callable[[Any], Any]) -> None:
    x = np.array([1.0, -1.0, 2.0, 0.5, -3.0])
    with np.errstate(over="ignore"):
        wanted = program(x)
    got = sg.compile(program)(x)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
        assert type(a) is type(b)


def test_pythons_raise() -> None:
    def f(x: Any) -> int:
        z = len(x) if x[0] > 0.0 else 9
        return z * (1 << 60)

    with pytest.raises(OverflowError):
        sg.compile(f)(np.ones(9))


def test_small_ones_are_written_as_they_are() -> None:
    def f(x: Any) -> Any:
        return np.where(x > 0.0, 8, 9) * 3 + np.arange(len(x)) * 2 + (x > 1.0) * 5

    made = sg.compile(f)
    assert "np.int64(" not in made.python(np.ones(3))
    np.testing.assert_array_equal(made(np.ones(3)), f(np.ones(3)))


# -- literals at the end of the range --------------------------------------------------------------

LEAST = -(2**63)


def in_branches(x: float) -> Any:
    z = 1 if x > 0.0 else -9
    return 4611686018427387904 * z


def added(x: float) -> Any:
    return (7 if x > 0.0 else -9) + 9223372036854775800


def subtracted(x: float) -> Any:
    return -9223372036854775808 - (7 if x > 0.0 else -9)


def shifted(x: float) -> Any:
    return (7 if x > 0.0 else 1) << 62


def size(x: float) -> Any:
    z = -9223372036854775808 if x > 0.0 else -9
    return abs(z)


def opposite(x: float) -> Any:
    z = -9223372036854775808 if x > 0.0 else -9
    return -z + 0 * int(x)


@pytest.mark.parametrize("program", [in_branches, added, subtracted, shifted, size, opposite])
def test_literals_at_the_end_of_the_range(program: Callable[[float], Any]) -> None:
    made = sg.compile(program)
    for x in (1.0, -1.0):
        wanted = program(x)
        if LEAST <= wanted < -LEAST:
            assert made(x) == wanted
        else:
            with pytest.raises(OverflowError):
                made(x)


# -- factors that are not known when compiling -----------------------------------------------------


def by_an_argument(p: int, a: Any) -> Any:
    return np.arange(len(a)) * p, np.sum(a > 1) * p, np.sum(a > 1) * (p + 1), ((a > 1) * p) * (2**63 - 1)


def of_functions(p: int, a: Any) -> Any:
    return np.gcd(a, 2) * p, np.argmax(a) * p, np.count_nonzero(a > 1) * p, np.searchsorted(a, 3) * p, np.max(a) * p


@pytest.mark.parametrize("program", [by_an_argument, of_functions])
@pytest.mark.parametrize("p", [3, 2**62, -(2**63), 2**63 - 2])
def test_products_with_an_argument_wrap(program: Callable[..., Any], p: int) -> None:
    a = np.array([2, 3, 5])
    with np.errstate(over="ignore"):
        wanted = program(p, a)
    for got, right in zip(sg.compile(program)(p, a), wanted, strict=True):
        np.testing.assert_array_equal(got, right)
        assert type(got) is type(right)


def test_powers_with_a_numpy_exponent_are_numpys() -> None:
    def f(q: int) -> Any:
        k = np.int64(5)
        return 1 / (2 ** np.int64(5) - 32), 1 // (2**k - 32), 2**k, True ** np.int64(3), q ** np.int64(2), 2.0**k

    with np.errstate(all="ignore"):
        wanted = f(3)
    got = sg.compile(f)(3)
    assert got == wanted and [type(v) for v in got] == [type(v) for v in wanted]
