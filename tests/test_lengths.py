"""Arrays that a loop makes longer or shorter: their lengths are known in each trip, and where they are not, read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

LENGTHS = 0, 1, 2, 7, 16


def by_trips(b, t):
    for _ in range(len(b) - 1):
        b = (1.0 - t) * b[:-1] + t * b[1:]
    return b


def by_a_counter(b, t):
    n = len(b)
    while n > 1:
        b = (1.0 - t) * b[:-1] + t * b[1:]
        n -= 1
    return b


def backwards(b, t):
    n = len(b)
    for i in range(n - 2, -1, -1):
        b = np.maximum(t * b[1:] + b[:-1], t * np.sqrt(np.arange(i + 1)))
    return b


def grown(b, t):
    c = np.ones(1)
    for i in range(len(b)):
        d = np.zeros(len(c) + 1)
        d[1:] += c * t
        d[:-1] -= b[i] * c
        c = d
    return c


def by_two(b, t):
    for _ in range(len(b) // 2):
        b = np.sin(b[2:]) + t
    return b


def stored_into(b, t):
    b = b.copy()
    for k in range(len(b) - 1):
        b[0] += t * k
        b = 0.5 * b[1:] + np.sin(b[0]) * b[:-1]
    return b


def left_early(b, t):
    for _ in range(len(b) - 1):
        b = (1.0 - t) * b[:-1] + t * b[1:]
        if b[0] > 0.6:
            break
    return b


def of_rows(b, t):
    m = np.outer(b, np.arange(3.0))
    for _ in range(len(b) - 1):
        m = m[1:] * t + m[:-1, ::-1]
    return m


def in_each_other(b, t):
    total = np.zeros(0)
    for i in range(len(b)):
        c = b[: i + 1]
        for _ in range(i):
            c = c[1:] - t * c[:-1]
        total = np.append(total, c)
    return total


def in_some_trips(b, t):
    """By how much is not known: as often as the numbers say."""
    for _ in range(len(b) - 1):
        if b[0] > 0.5:
            b = b[1:] * t
    return b


def unlike(b, t):
    """Not by as much in each trip."""
    for k in range(len(b) - 1):
        b = b[1:] * t if k % 2 else np.append(b, t)
    return b


def differences(b, t):
    n = len(b)
    while n > 2:
        b = np.sin(b[1:] - t * b[:-1])
        n -= 1
    return b


KNOWN = [by_trips, backwards, grown, by_two, stored_into, left_early, of_rows, in_each_other]
UNKNOWN = [by_a_counter, differences, in_some_trips, unlike]


@pytest.mark.parametrize("function", KNOWN + UNKNOWN)
def test_results_and_derivatives(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    compiled = sg.compile(function)
    # what is looked at is one number
    gradient = sg.grad(lambda b, t: np.sum(np.cos(function(b, t))), argnums=(0, 1))
    for n in LENGTHS:
        b = rng.uniform(0.1, 1.0, n)
        wanted = function(b, 0.3)
        found = compiled(b, 0.3)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
        along, h = rng.normal(size=n), 1e-6
        d_b, d_t = gradient(b, 0.3)
        ends = [np.sum(np.cos(function(b + s * h * along, 0.3 + s * h))) for s in (1, -1)]
        np.testing.assert_allclose(d_b @ along + d_t, (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("function", KNOWN)
def test_lengths_are_known_in_each_trip(function: Callable[..., Any]) -> None:
    """The text reads no length of an array that a trip makes, and stretches none."""
    b = np.linspace(0.1, 0.9, 7)
    for text in (sg.inspect(function, b, 0.3).cpu, sg.grad(lambda b, t: np.sum(function(b, t))).python(b, 0.3)):
        inside = [line for line in text.splitlines() if line.startswith(" " * 8)]
        assert not [line for line in inside if ".shape[0]" in line or "could not be broadcast" in line], text


def test_the_reverse_sweep_saves_no_lengths() -> None:
    b = np.linspace(0.1, 0.9, 7)
    text = sg.grad(lambda b, t: np.sum(by_trips(b, t))).python(b, 0.3)
    assert "saved" not in text and "two_sum" not in text, text


def test_a_wrong_guess_is_given_up() -> None:
    """What would be known to raise, were the lengths as guessed, is compiled as it is."""

    def f(b):
        for k in range(3):
            b = np.append(b, b[k + 2]) if k else b[1:]
        return b

    b = np.arange(6.0)
    np.testing.assert_array_equal(sg.compile(f)(b), f(b))
    with pytest.raises(IndexError):
        sg.compile(f)(b[:3])
