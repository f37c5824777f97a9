"""Lists that a loop appends to in every trip are arrays, and do whatever else Python's lists do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.opt import FAST_RUN

PLAIN = FAST_RUN.excluding("appended")


def recurrence(x: Any, n: int) -> Any:
    out = [x[0], x[1]]
    for i in range(n):
        out.append(0.5 * out[-1] - 0.25 * out[-2] + x[i % len(x)])
    return out


def backwards(x: Any, n: int) -> Any:
    out = []
    for i in range(n, 0, -2):
        out.append(x[i % len(x)] * i)
    return np.array(out), len(out)


def by_threes(x: Any, n: int) -> Any:
    out = []
    for i in range(0, n, 3):
        out.append(i * i)
    return out, sum(out), np.array(out)


def in_a_loop(x: Any, n: int) -> Any:
    rows = 0.0
    for j in range(3):
        out = [x[j]]
        for i in range(n):
            out.append(out[i] * 0.9 + j)
        rows += sum(out) + out[-1]
    return rows


def looped_over(x: Any, n: int) -> Any:
    """What is there so far is read by a loop inside."""
    out = [x[0]]
    for i in range(n):
        s = x[0] * 0.0
        for v in out:
            s += v * x[i % len(x)]
        out.append(np.tanh(s))
    return out


def changed(x: Any, n: int) -> Any:
    out = [x[0]]
    for i in range(n):
        out.append(x[i % len(x)])
        out[-1] *= 2.0
        out[0] += out[-1]
    return out


def several(x: Any, n: int) -> Any:
    over, counts, pairs = [], [0], []
    for i in range(n):
        over.append(x[i % len(x)] > 0.5)
        counts.append(counts[-1] + (1 if over[-1] else 0))
        pairs.append((x[i % len(x)], i))
    return over, counts, pairs


def in_a_dict(x: Any, n: int) -> Any:
    history: dict[str, list] = {"s": [], "squares": []}
    s = x[0] * 0.0
    for i in range(n):
        s = 0.3 * s + x[i % len(x)]
        history["s"].append(s)
        history["squares"].append(s * s)
    return history


def used_up(x: Any, n: int) -> Any:
    """Arrays of a list are of their own."""
    out = []
    for i in range(n):
        out.append(x[i % len(x)])
    y, z = np.array(out), np.array(out)
    if n > 0:
        y[0] = 5.0
    return y, z, out, out[::2], sorted(out)


def asked(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        out.append(out[-1] * x[i % len(x)] if out else x[0])
    return out, out[n // 2 : n]


def too_early(x: Any, n: int) -> Any:
    """Items that are not there yet."""
    out = []
    for i in range(n):
        out.append(out[3] if i > 2 else x[0])
    return out


def short_floats(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        out.append(np.float32(x[i % len(x)]))
    return out


MADE = [
    recurrence, backwards, by_threes, in_a_loop, looped_over, changed, several, in_a_dict, used_up, asked, too_early,
    short_floats,
]  # fmt: skip


def appended_again(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        out.append(x[i % len(x)])
    for i in range(n):
        out.append(x[0] * i)
    return out


def some(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        if x[i % len(x)] > 0.5:
            out.append(x[i % len(x)])
    return out


def left(x: Any, n: int) -> Any:
    out = [x[0]]
    for i in range(n):
        out.append(out[-1] + x[i % len(x)])
        if out[-1] > 3.0:
            break
    return out


def twice(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        out.append(x[i % len(x)])
        out.append(x[0])
    return out


def taken_out(x: Any, n: int) -> Any:
    out = [x[0], x[1]]
    for i in range(n):
        out.append(x[i % len(x)] + out.pop())
        out.append(x[0])
    return out


def changed_in_a_branch(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        out.append(x[i % 3])
        if i > 2 and out[i - 3] > out[i]:
            out[i] = -x[0]
    return out


def whole_in_a_trip(x: Any, n: int) -> Any:
    """What is there so far, as an array."""
    out, means = [x[1]], []
    for i in range(n):
        out.append(x[i % len(x)])
        means.append(np.mean(out) + np.sum(np.array(out) * np.arange(len(out))))
    return means


KEPT = [whole_in_a_trip, appended_again, some, left, twice, taken_out, changed_in_a_branch]
X = np.array([0.3, 0.9, 1.7, 0.1])


def answer(f: Callable[..., Any], n: int) -> Any:
    try:
        return plain(f(X.copy(), n))
    except (IndexError, ValueError) as error:
        return type(error), str(error)


def plain(found: Any) -> Any:
    match found:
        case dict():
            return {k: plain(v) for k, v in found.items()}
        case list() | tuple():
            return type(found), [plain(v) for v in found]
        case np.ndarray():
            return np.ndarray, [plain(v) for v in found]
    return type(found), round(float(found), 12)


@pytest.mark.parametrize("f", MADE + KEPT)
def test_values(f: Callable[..., Any]) -> None:
    made, before = sg.compile(f), sg.compile(f, mode=PLAIN)
    for n in (0, 1, 2, 3, 4, 7, 20, -3):
        assert answer(made, n) == answer(f, n), n
        assert answer(before, n) == answer(f, n), n
    assert (".append(" in made.python(X, 3)) == (f in KEPT)
    assert ".append(" in before.python(X, 3)


@pytest.mark.parametrize("f", [f for f in MADE + KEPT if f not in (by_threes, several, short_floats, in_a_dict)])
def test_gradients(f: Callable[..., Any]) -> None:
    def loss(x: Any, n: int) -> Any:
        found = f(x, n)
        if isinstance(found, tuple):
            return np.sum(np.sin(np.array(found[0])))
        if isinstance(found, list):
            return np.sum(np.sin(np.array(found)))
        return found

    made, step = sg.grad(loss), 1e-6
    for n in (1, 3, 8):
        if f is too_early and n > 3:
            continue
        near = [(loss(X + step * e, n) - loss(X - step * e, n)) / (2 * step) for e in np.eye(4)]
        np.testing.assert_allclose(made(X, n), near, rtol=1e-6, atol=1e-8)


def test_no_list_is_left_on_the_way_back() -> None:
    def loss(x: Any) -> Any:
        out = [x[0]]
        for i in range(1, len(x)):
            out.append(0.9 * out[-1] * out[i - 1] + x[i])
        return sum(out)

    text = sg.grad(loss).python(X)
    assert ".append(" not in text and ".pop(" not in text and "IndexError('list" not in text
