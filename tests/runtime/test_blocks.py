"""Sums over arrays: vectorised, and at least as accurate as NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.runtime.blocks import LENGTH, blocks, two_sum

RANDOM = np.random.default_rng(5)


def total(x):
    return np.sum(x)


def of_rows(x):
    return np.sum(np.log(np.sum(x, axis=1)))


def several(x, y):
    return np.sum(x * y), np.mean(np.exp(x)), np.var(y), np.max(x - y), np.min(x)


def extremes(x):
    return np.max(x), np.min(x), np.max(x, axis=0), np.ptp(x, axis=1)


def loops(x, n):
    out = np.zeros(n)
    for k in range(n):
        out[k] = np.sum(x[k:] * x[: x.shape[0] - k])
    return out


def written_out(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    return s


def taken(part, lost, blocks, plus):
    two_sum = np.sum(part * lost)
    block = np.sum(blocks)
    return two_sum + block * plus


def checked(f: Callable, *args: Any, rtol: float = 1e-14) -> Any:
    found, wanted = sg.compile(f)(*args), f(*args)
    for x, y in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
        np.testing.assert_allclose(x, y, rtol=rtol)
    return found


@pytest.mark.parametrize("n", [0, 1, 7, LENGTH - 1, LENGTH, LENGTH + 1, 5 * LENGTH + 3, 1_000_000])
def test_accurate(n: int) -> None:
    """The error is not larger than that of NumPy's pairwise sums, or than half of the last digit."""
    for _ in range(3):
        x = RANDOM.uniform(0.1, 1.0, n)
        exact = math.fsum(x)
        assert abs(sg.compile(total)(x) - exact) <= max(abs(np.sum(x) - exact), np.spacing(exact))


def test_cancelling() -> None:
    """What rounding takes is put back at the end."""
    x = np.tile(np.repeat([1e16, 1.0, -1e16], LENGTH), 50)
    assert sg.compile(total)(x) == math.fsum(x) == 50.0 * LENGTH


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.int64, np.int8, np.bool_])
def test_dtypes(dtype: Any) -> None:
    x = RANDOM.uniform(-3.0, 9.0, (40, 33)).astype(dtype)
    x = x * dtype(1 + 2j) if np.issubdtype(dtype, np.complexfloating) else x
    found = checked(total, x, rtol=1e-6 if np.dtype(dtype).itemsize < 8 or dtype == np.complex64 else 1e-14)
    assert type(found) is type(np.sum(x))


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (2, 700), (700, 2), (300, 300), (0, 4), (4, 0)])
def test_axes(shape: tuple[int, int]) -> None:
    x = RANDOM.uniform(0.5, 2.0, shape)
    with np.errstate(divide="ignore"):
        checked(of_rows, x)
    checked(lambda x: (x.sum(0), x.sum(1), x.mean(), np.linalg.norm(x)), x) if x.size else None
    checked(extremes, x) if x.size else None
    checked(total, x[::-1, ::2])
    checked(total, np.asfortranarray(x))


def test_several_in_one_loop() -> None:
    x, y = RANDOM.normal(size=(2, 10_000))
    checked(several, x, y)
    text = sg.inspect(several, x, y).cpu
    assert text.count("blocks(") == 3  # import line aside: the sums, and the variance, which needs the mean
    checked(loops, x[:2000], 7)


def test_special_values() -> None:
    for special in (np.inf, -np.inf, np.nan, 1.7e308):
        for at in (0, 3, LENGTH + 1, 999):
            x = np.ones(1000)
            x[at] = special
            with np.errstate(over="ignore"):
                checked(lambda x: (np.sum(x), np.max(x), np.min(x), np.sum(-x), np.sum(x[:, None] * [1.0, 0.5])), x)
    both = np.ones(1000)
    both[0], both[-1] = np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        checked(total, both)
    assert math.isnan(sg.compile(lambda x: np.max(x))(np.array([1.0, np.nan, 3.0])))


def test_overflow() -> None:
    """Partial sums that overflow give an infinity, as NumPy's, not NaN."""
    with np.errstate(over="ignore"):
        checked(total, np.full(5000, 1e308))
        checked(total, -np.full(5000, 1e308))


def test_what_the_user_wrote() -> None:
    """A loop is added up as it stands there."""
    x = RANDOM.normal(size=5000)
    assert sg.compile(written_out)(x) == written_out(x)
    assert "blocks(" not in sg.inspect(written_out, x).cpu


def test_names() -> None:
    x = RANDOM.normal(size=1000)
    checked(taken, x, x + 1.0, 2.0 * x, 3.0)


def test_few() -> None:
    """Loops of few steps, a number that is known, are not divided, those around are."""

    def few(x):
        m = x.reshape(-1, 4)
        return np.sum(m * m)

    x = RANDOM.normal(size=(1000, 16))
    checked(few, x)
    lines = [line.split("#")[0].strip() for line in sg.inspect(few, x).cpu.splitlines()]
    assert lines.index("for i in block:") + 1 == lines.index("for j in range(4):")


def test_one_element_in_a_loop() -> None:
    """A sum that has no loop of its own does not go on in the one around it."""

    def scaled(x, n):
        for _ in range(n):
            x = 2.0 * x / np.sqrt(np.sum(x * x))
        return x

    checked(scaled, np.array([3.0]), 4)
    checked(scaled, np.array([[3.0]]), 4)
    checked(scaled, RANDOM.normal(size=600), 4)


def test_plain_functions() -> None:
    """What compiled code calls can be called from Python."""
    assert [list(b) for b in blocks(LENGTH + 2)] == [list(range(LENGTH)), [LENGTH, LENGTH + 1]]
    assert two_sum(1e16, 1.0, 0.0) == (1e16, 1.0)
    assert two_sum(1e16 + 1j, 1.0 + 1e16j, 0j) == (1e16 + 1e16j, 1.0 + 1.0j)


def test_gradients() -> None:
    x, y = RANDOM.normal(size=(2, 3000))

    def f(x, y):
        return np.sum(np.exp(-x * x) * y) / np.sum(y * y)

    by_x, by_y = sg.grad(f, argnums=(0, 1))(x, y)
    e, s = np.exp(-x * x), np.sum(y * y)
    np.testing.assert_allclose(by_x, -2 * x * e * y / s, rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(by_y, e / s - 2 * y * np.sum(e * y) / s**2, rtol=1e-11, atol=1e-16)
