"""Arrays that a loop fills in turns, where a user makes a new one in each trip."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

RNG = np.random.default_rng(12)
X = RNG.normal(size=9)
M = RNG.uniform(0.1, 1.0, size=(5, 5))


def forward(m, x, n):
    """Of a hidden Markov model, without scales."""
    size = len(m)
    state = m[:, 0] * 0.5
    for _ in range(n):
        new = np.empty(size)
        for j in range(size):
            total = 0.0
            for i in range(size):
                total += state[i] * m[i, 0]
            new[j] = total * x[0]
        state = new
    return state


def neighbours(m, x, n):
    size = len(x)
    u = x.copy()
    for _ in range(n):
        new = np.zeros(size)
        for j in range(size):
            new[j] = u[j] + 0.1 * (u[(j + 1) % size] - u[j])
        u = new
    return u


def inside(m, x, n):
    """What is not stored is zero in each trip."""
    size = len(x)
    u = x.copy()
    for k in range(n):
        new = np.zeros(size)
        for j in range(1, size - 1 - k):
            new[j] = u[j - 1] + u[j + 1]
        u = new
    return u


def rows(m, x, n):
    a, b = m.shape
    u = m * 2.0
    for _ in range(n):
        new = np.empty((a, b))
        for i in range(a):
            for j in range(b):
                new[i, j] = 0.5 * (u[j, i] + u[i, 0])
        u = new
    return u


def until(m, x, n):
    size, k = len(x), 0
    u = x.copy()
    while True:
        new = np.empty(size)
        for j in range(size):
            new[j] = 0.5 * u[size - 1 - j]
        k += 1
        if k > n:
            break
        u = new
    return u, k


def best_of_each(m, x, n):
    """The place of the largest is in range, and that of a sum no array."""
    size = len(m)
    state, kept = m[:, 0] * 0.5, np.zeros((n, size), np.int64)
    for t in range(n):
        new = np.empty(size)
        for j in range(size):
            sums = state + m[j, j] * m[:, 0]
            k = np.argmax(sums)
            kept[t, j] = k
            new[j] = sums[k]
        state = new
    return state, kept


def kept_too(m, x, n):
    u, before = x * 2.0, x * 3.0
    for _ in range(n):
        new = np.empty(len(x))
        for j in range(len(x)):
            new[j] = 0.5 * u[len(x) - 1 - j]
        before = u
        u = new
    return u, before


def three_in_turns(m, x, n):
    before, u = x * 0.5, x * 2.0
    for _ in range(n):
        new = np.empty(len(x))
        for j in range(len(x)):
            new[j] = 0.5 * u[len(x) - 1 - j] - 0.3 * before[j]
        before = u
        u = new
    return u


def arguments_in_turns(before, u, n):
    for _ in range(n):
        new = np.zeros_like(u)
        new[1:-1] = 2 * u[1:-1] - before[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before = u
        u = new
    return before, u


def of_two_arguments(m, x, n):
    u, before = arguments_in_turns(m[1], m[2], n)
    return u, before


def one_array_twice(m, x, n):
    u = x * 2.0
    before = u
    while np.sum(u * u) > 1e-3 and n > 0:
        new = np.empty(len(x))
        for j in range(len(x)):
            new[j] = 0.5 * u[len(x) - 1 - j] - 0.3 * before[j]
        before = u
        u = new
        n -= 1
    return u, before


def again_and_again(m, x, n):
    """The inner loop begins with what it left."""
    u = x * 1.0
    total = 0.0
    for k in range(3):
        before = u
        for _ in range(n):
            new = np.empty(len(x))
            for j in range(len(x)):
                new[j] = 0.5 * u[len(x) - 1 - j] - 0.3 * before[j]
            before = u
            u = new
        total += u[k] * before[k + 1]
    return total


def edges_stored_later(m, x, n):
    """What is zero in each new array is not in those that the loop had."""
    u = x
    for k in range(n):
        new = np.zeros(len(x))
        for j in range(1, len(x) - 1):
            new[j] = u[j - 1] + 0.5 * u[j + 1]
        u = new
        u[0] = k + 1.0
    return u


def more_or_less(m, x, n):
    """The places that are stored into depend on the trip."""
    u = x
    for k in range(n):
        new = np.zeros(len(x))
        for j in range(k + 1, len(x) - 1):
            new[j] = u[j - 1] + 0.5 * u[j + 1]
        u = new
    return u


def some_of_them(m, x, n):
    u = x
    for k in range(n):
        new = np.ones(len(x))
        for j in range(len(x)):
            if u[j] > 0.1 * k:
                new[j] = u[j] * 0.9
        u = new
    return u


def left_early(m, x, n):
    u = x
    for k in range(n):
        new = np.zeros(len(x))
        for j in range(len(x)):
            if u[j] > 0.5 + k:
                break
            new[j] = u[j] + 0.5
        u = new
    return u


def the_best(m, x, n):
    """What is kept is known by another name."""
    u, best, least = x, x, np.inf
    for k in range(n):
        new = np.empty(len(x))
        for j in range(len(x)):
            new[j] = 1.5 * u[len(x) - 1 - j] * np.cos(k + x[j])
        u = new
        size = np.sum(u * u)
        if size < least:
            best, least = u, size
    return best


def a_row_of_the_last(m, x, n):
    u, row, total = m, m[0], 0.0
    for k in range(n):
        new = np.empty_like(m)
        for i in range(len(m)):
            for j in range(len(m)):
                new[i, j] = 0.5 * u[j, i] + 0.1 * k
        total += row[1]
        row = u[1]
        u = new
    return total


def by_products(m, x, n):
    v = m[0]
    for _ in range(n):
        new = m @ v
        new /= np.sqrt(np.sum(new * new))
        v = new
    return v


def shrinking(m, x, n):
    u = x * 2.0
    for k in range(n):
        new = np.empty(len(x) - k - 1)
        for j in range(len(x) - k - 1):
            new[j] = u[j] + u[j + 1]
        u = new
    return u


def used_later(m, x, n):
    u, new = x * 2.0, x * 4.0
    for _ in range(n):
        new = np.empty(len(x))
        for j in range(len(x)):
            new[j] = 0.5 * u[len(x) - 1 - j]
        u = new
    return u, new


def of_the_argument(m, x, n):
    for _ in range(n):
        new = np.empty(len(x))
        for j in range(len(x)):
            new[j] = 0.5 * x[len(x) - 1 - j]
        x = new
    return x


def edges_copied(m, x, n):
    """The edges are copied again in each trip; the rest is stored."""
    for _ in range(n):
        new = m.copy()
        new[1:-1, 1:-1] = 0.25 * (m[2:, 1:-1] + m[:-2, 1:-1]) + 0.5 * m[1:-1, 1:-1]
        m = new
        m[0] *= 1.5
    return m + np.sum(x)


def edges_of_the_last_but_one(m, x, n):
    before = x
    for _ in range(n):
        new = x.copy()
        new[2:-2] = 1.5 * x[2:-2] - 0.5 * before[2:-2] + 0.1 * x[4:]
        before, x = x, new
    return np.sum(x * before) + x


def edges_of_another(m, x, n):
    """What the edges are copied of is handed on by another name: an array is made in each trip."""
    y = x + 1.0
    for _ in range(n):
        new = y.copy()
        new[1:-1] = x[1:-1] * 0.5
        x, y = new, x
    return x - y


def in_a_list(m, x, n):
    u, kept = x * 2.0, []
    for _ in range(n):
        new = np.empty(len(x))
        for j in range(len(x)):
            new[j] = 0.5 * u[len(x) - 1 - j]
        u = new
        if len(kept) < 2:
            kept.append(u)
    return kept[0], u


SWAPPED = [forward, neighbours, inside, rows, until, best_of_each]
IN_A_RING = [
    edges_copied,
    edges_of_the_last_but_one,
    kept_too,
    of_the_argument,
    of_two_arguments,
    one_array_twice,
    again_and_again,
    edges_stored_later,
    more_or_less,
    some_of_them,
    left_early,
    a_row_of_the_last,
]
LEFT = [shrinking, used_later, in_a_list, the_best]
PROGRAMS = [*SWAPPED, three_in_turns, *IN_A_RING, *LEFT, by_products, edges_of_another]


def parts(found: Any) -> tuple:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_values(program: Callable[..., Any]) -> None:
    compiled = sg.compile(program)
    for n in (1, 2, 3, 6):
        m, x = M.copy(), X.copy()
        for found, expected in zip(parts(compiled(m, x, n)), parts(program(M, X, n)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)
        np.testing.assert_array_equal(m, M)
        np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    def total(m, x, n):
        found = program(m, x, n)
        return np.sum(np.cos(parts(found)[0]))

    is_one = not isinstance(program(M, X, 3), tuple)

    def of_one(m, x, n):
        return np.sum(np.cos(program(m, x, n)))

    def of_two(m, x, n):
        found, _ = program(m, x, n)
        return np.sum(np.cos(found))

    gradients = sg.grad(of_one if is_one else of_two, argnums=(0, 1))(M, X, 3)
    slopes, h = (np.sin(np.arange(25.0)).reshape(5, 5), np.cos(np.arange(9.0))), 1e-6
    there, back = ((M + s * h * slopes[0], X + s * h * slopes[1]) for s in (1, -1))
    along = (total(*there, 3) - total(*back, 3)) / (2 * h)
    assert sum(np.sum(g * s) for g, s in zip(gradients, slopes, strict=True)) == pytest.approx(
        along, rel=1e-6, abs=1e-9
    )


@pytest.mark.parametrize("program", [p for p in SWAPPED if p is not until], ids=lambda p: p.__name__)
def test_texts(program: Callable[..., Any]) -> None:
    text = sg.compile(program).python(M, X, 3)
    loop = text[re.search(r"for \w+ in range\(n\)", text).start() :]  # type: ignore[union-attr]
    assert not re.search(r"empty|zeros|copy", loop), text
    assert re.search(r"(\w+), (\w+) = \2, \1", loop), text


@pytest.mark.parametrize("program", IN_A_RING, ids=lambda p: p.__name__)
def test_texts_of_rings(program: Callable[..., Any]) -> None:
    text = sg.compile(program).python(M, X, 3)
    loop = text[re.search(r"for \w+ in range\(\w+\)|while ", text).start() :]  # type: ignore[union-attr]
    assert re.search(r"(\w+), (\w+(?:, \w+)?) = \2, \1 ", loop), text
    assert not re.search(r"np\.empty|np\.zeros|np\.ones", loop) or program is again_and_again, text


def test_arrays_that_take_three_turns() -> None:
    text = sg.compile(three_in_turns).python(M, X, 3)
    assert "u, before, new = new, u, before" in text


def test_zeros_that_stay() -> None:
    assert "fill(" not in sg.compile(of_two_arguments).python(M, X, 3)
    assert "fill(" not in sg.compile(edges_stored_later).python(M, X, 3)
    for program in (more_or_less, some_of_them, left_early):
        assert "fill(" in sg.compile(program).python(M, X, 3), program


def test_an_argument_twice_and_one_of_two_parts() -> None:
    compiled = sg.compile(arguments_in_turns)
    for n in range(5):
        x = X.copy()
        for found, expected in zip(compiled(x, x, n), arguments_in_turns(X, X, n), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)
        for found, expected in zip(compiled(x[1:], x[:-1], n), arguments_in_turns(X[1:], X[:-1], n), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)
        np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("program", LEFT, ids=lambda p: p.__name__)
def test_texts_left(program: Callable[..., Any]) -> None:
    assert not re.search(r"(\w+), (\w+) = \2, \1", sg.compile(program).python(M, X, 3))


def test_the_place_of_the_largest_is_in_range() -> None:
    text = sg.compile(best_of_each).python(M, X, 3)
    assert "sums" not in text
    assert not re.search(r"IndexError.*axis 0 with size", text[text.index("for t in") :]), text


def test_a_user_s_place_of_the_largest() -> None:
    def largest(x, y):
        best = 0
        for i in range(1, len(x)):
            if x[i] > x[best]:
                best = i
        return y[best] if len(y) == len(x) else y[0]

    compiled = sg.compile(largest)
    for size in (1, 2, 5):
        assert compiled(X[:size], X[:size] * 2.0) == largest(X[:size], X[:size] * 2.0)
    assert compiled(X[:5], X[:2]) == X[0]
    with pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 with size 0"):
        compiled(X[:0], X[:0])


def a_length_that_changes(x, k, n):
    u = x
    for _ in range(n):
        new = np.zeros(len(x))
        for i in range(k[0]):
            new[i] = u[i] * 0.5 + 1
        k[0] -= 1
        u = new
    return u


def a_number_that_changes(x, k, n):
    u, v = x, 1.0
    for _ in range(n):
        new = np.full(len(x), v)
        new[1:] = 0.5 * u[:-1]
        u = new
        v = 2.0 * v
    return u


def a_number_of_the_trip(x, k, n):
    u = x
    for t in range(n):
        new = np.full(len(x), t + 0.5)
        new[0] = u[1]
        u = new
    return u


@pytest.mark.parametrize("program", [a_length_that_changes, a_number_that_changes, a_number_of_the_trip])
def test_what_is_not_stored_may_change(program: Callable[..., Any]) -> None:
    for n in range(4):
        found, expected = sg.compile(program)(X, np.array([3, 1]), n), program(X, np.array([3, 1]), n)
        np.testing.assert_array_equal(found, expected)
