"""Items put into lists and taken out of them anywhere: by the methods themselves, also in derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def sorted_as_they_come(x):
    q = []
    for v in x:
        k = 0
        while k < len(q) and q[k] < v:
            k += 1
        q.insert(k, v)
    total = 0.0
    for k in range(len(q)):
        total += q[k] * q[k] * k
    return total


def first_come(x):
    q, total = [0.5], 0.0
    for v in x:
        q.append(v * v)
        if len(q) > 3:
            total += q.pop(0) * v
    return total + len(q)


def from_the_back(x):
    """Places from the end, and beyond it."""
    q = [0.1, 0.2]
    for k in range(len(x)):
        q.insert(-1, x[k])
        q.insert(2 - k, x[k] * 2.0)
        q.insert(50, 0.5 * x[k])
        del q[-2]
    return q[0] * q[1] + q.pop(len(q) // 2) * q[-1]


def rows_of_different_lengths(x):
    rows = []
    for k in range(1, len(x)):
        rows.insert(0, x[:k] * 2.0)
    last = rows.pop(1)
    return np.sum(last * last) + np.sum(rows[0])


def pairs_in_a_queue(x):
    q = [(x[0], 0)]
    total = 0.0
    while len(q) > 0:
        v, depth = q.pop(0)
        total += v * (depth + 1)
        if 2 * depth + 2 < len(x):
            q.append((v * x[2 * depth + 1], 2 * depth + 1))
            q.insert(len(q) // 2, (v + x[2 * depth + 2], 2 * depth + 2))
    return total


X = np.random.default_rng(6).uniform(-1.0, 1.0, 7)
PROGRAMS = [sorted_as_they_come, first_come, from_the_back, rows_of_different_lengths, pairs_in_a_queue]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(f: Callable[..., Any]) -> None:
    value, found = sg.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    moved = [(f(X + d) - f(X - d)) / 2e-6 for d in 1e-6 * np.eye(len(X))]
    np.testing.assert_allclose(found, moved, rtol=1e-6, atol=1e-8)
    along = sg.jvp(f, (X,), (np.cos(X),))[1]
    assert along == pytest.approx(np.dot(moved, np.cos(X)), rel=1e-6)


def test_the_text_has_the_methods() -> None:
    assert "q.insert(" in sg.inspect(sorted_as_they_come, X).cpu
    text = sg.inspect(sg.grad(first_come), X).cpu
    assert "q.pop(0)" in text and "d_q.insert(0, " in text


@pytest.mark.parametrize(("k", "message"), [(3, "pop index out of range"), (-4, "pop index out of range")])
def test_errors(k: int, message: str) -> None:
    def taken(x, k):
        q = list(x)
        q.append(1.0)
        return q.pop(k)

    with pytest.raises(IndexError, match=message):
        sg.compile(taken)(X[:2], k)
    with pytest.raises(IndexError, match="pop from empty list"):
        sg.compile(emptied)(X[:2])
    with pytest.raises(IndexError, match="list assignment index out of range"):
        sg.compile(removed)(X[:2], 5)


def emptied(x):
    q = list(x)
    total = 0.0
    for _ in range(3):
        total += q.pop(0)
    return total


def removed(x, k):
    q = list(x)
    q.append(0.5)
    del q[k]
    return len(q)


def taken_back_at_times(x, p, k):
    """What is taken off again at once is a way on which the list is what it was: a number of it is not made again."""
    q, total, s = [p], 0.0, 0.0
    for v in x:
        q.append(v)
        if len(q) > k:
            total -= q.pop()
        s += total * p
    return s


def test_a_list_is_not_saved() -> None:
    found = sg.grad(taken_back_at_times, argnums=(0, 1))(X, 1.5, 2)
    step = 1e-6
    moved = [(taken_back_at_times(X + d, 1.5, 2) - taken_back_at_times(X - d, 1.5, 2)) / 2e-6 for d in step * np.eye(7)]
    np.testing.assert_allclose(found[0], moved, rtol=1e-6, atol=1e-8)
    along = (taken_back_at_times(X, 1.5 + step, 2) - taken_back_at_times(X, 1.5 - step, 2)) / (2 * step)
    assert found[1] == pytest.approx(along, rel=1e-6)


def queue_of_rows(x, k):
    """Rows are put in and taken out again and again."""
    rows, total = [x], 0.0
    for i in range(k):
        rows.append(x[: len(x) - i % 3] * 2.0)
        rows.insert(1, x + i)
        total += np.sum(rows[-1]) * rows[0][0]
        total += rows.pop(0)[0]
        if len(rows) > 4:
            del rows[2]
    return total


def test_references_are_counted() -> None:
    compiled, gradient = sg.compile(queue_of_rows), sg.grad(queue_of_rows)
    for _ in range(50):
        for k in (1, 3, 12):
            assert compiled(X, k) == pytest.approx(queue_of_rows(X, k), rel=1e-13)
            gradient(X, k)
