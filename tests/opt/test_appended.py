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


def tree(x: Any, n: int) -> Any:
    """A list that is shorter in each trip."""
    row = [x[i % len(x)] * i for i in range(n + 1)]
    for step in range(n, 0, -1):
        new = []
        for j in range(step):
            new.append(0.6 * row[j] + 0.5 * row[j + 1])
        row = new
    return row


def pascal(x: Any, n: int) -> Any:
    """A list that is longer in each trip, and to which is appended before a loop and after it."""
    row = [x[0]]
    for _ in range(n):
        new = []
        new.append(x[1])
        for j in range(len(row) - 1):
            new.append(row[j] + 0.5 * row[j + 1])
        new.append(row[-1] * x[2])
        row = new
    return row, len(row), row[-1]


def distance(x: Any, n: int) -> Any:
    """Lists of one length, filled in turns."""
    before = list(range(len(x) + 1))
    for i in range(1, n + 1):
        now = [i]
        for j in range(1, len(x) + 1):
            cost = 0 if x[(i - 1) % 4] == x[j - 1] else 1
            now.append(min(before[j] + 1, now[j - 1] + 1, before[j - 1] + cost))
        before = now
    return before[-1]


def until_small(x: Any, n: int) -> Any:
    now, trips = [v * 1.0 for v in x], 0
    while sum(now) > 0.5 and trips < n:
        last = now
        now = [0.5 * v * x[0] for v in last]
        now[trips % len(x)] *= 0.5
        trips += 1
        if now[0] > 1e6:
            break
    return now, trips


def one_of_two(x: Any, n: int) -> Any:
    """Of different lengths."""
    now = [x[0]] * 3
    for i in range(n):
        if now[0] > 0.35 * x[1]:
            now = [v * 0.4 for v in now]
        else:
            now = [x[j] + now[0] for j in range(i % 3 + 1)]
    return now


def zeros_first(x: Any, n: int) -> Any:
    ways = [0.0] * max(n, 1)
    for k in range(3):
        new = []
        for i in range(len(ways)):
            new.append(ways[i] + x[k] * (ways[i - 1] if i > 0 else 1.0))
        ways = new
        ways[0] += 1.0
    return ways


def one_kept(x: Any, n: int) -> Any:
    """The list before is still needed when the one after it is changed."""
    now = [x[i % 4] for i in range(len(x))]
    for _ in range(n):
        last = now
        now = [v * 0.5 for v in last]
        now[0] = last[1] + last[2]
        now[1] += last[0]
    return np.array(now), now[0]


def too_long(x: Any, n: int) -> Any:
    """Items that are not there."""
    row = [x[0], x[1], x[2]]
    for _ in range(n):
        new = []
        for j in range(2):
            new.append(row[j] - row[j + 1])
        row = new
    return row


def whole_numbers(x: Any, n: int) -> Any:
    row = [i * i for i in range(max(n, 1))]
    for k in range(n):
        row = [v // 2 + k for v in row]
    return row, np.array(row, dtype=np.float64)


def of_an_array(x: Any, n: int) -> Any:
    row = list(x)
    for k in range(n):
        row = [v * x[0] + k for v in row]
    return row


HANDED_ON = [
    tree, pascal, distance, until_small, one_of_two, zeros_first, one_kept, too_long, whole_numbers, of_an_array,
]  # fmt: skip


def passed_to_a_function(x: Any, n: int) -> Any:
    def halves(row: Any) -> Any:
        return [v * 0.5 for v in row]

    row = [v + 1.0 for v in x]
    for _ in range(n):
        row = halves(row)
    return row


def with_one_more(x: Any, n: int) -> Any:
    row = [v * 1.0 for v in x]
    for _ in range(n):
        row = [v * 0.5 for v in row]
        row.append(x[0])
        row.pop()
    return row


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
PROGRAMS = [*MADE, *HANDED_ON, passed_to_a_function, with_one_more, *KEPT]
OF_INTEGERS = [distance, whole_numbers]
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


@pytest.mark.parametrize("f", PROGRAMS)
def test_values(f: Callable[..., Any]) -> None:
    made, before = sg.compile(f), sg.compile(f, mode=PLAIN)
    for n in (0, 1, 2, 3, 4, 7, 20, -3):
        assert answer(made, n) == answer(f, n), n
        assert answer(before, n) == answer(f, n), n
    assert (".append(" in made.python(X, 3)) == (f in KEPT)
    assert ".append(" in before.python(X, 3)


@pytest.mark.parametrize(
    "f", [f for f in PROGRAMS if f not in (by_threes, several, short_floats, in_a_dict, *OF_INTEGERS)]
)
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
        if (f is too_early and n > 3) or (f is too_long and n > 1):
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


# -- lists of arrays -------------------------------------------------------------------------------------------


def smoothed(x: Any, n: int) -> Any:
    """Filtered states and covariances, read again on the way back."""
    turn, state, spread = np.array([[0.9, 0.2], [-0.1, 0.8]]), np.array([x[0], x[1]]), np.eye(2)
    states, spreads = [], []
    for k in range(n):
        state = turn @ state + x[k % len(x)]
        spread = turn @ spread @ turn.T + np.eye(2) * 0.1
        states.append(state)
        spreads.append(spread)
    total = 0.0
    for k in range(n - 2, -1, -1):
        gain = spreads[k] @ np.linalg.inv(spreads[k + 1])
        state = states[k] + gain @ (state - states[k + 1])
        total += np.sum(state * state)
    return total


def rows_changed(x: Any, n: int) -> Any:
    rows = [x * 2.0]
    for k in range(n):
        rows.append(rows[-1] * 0.5 + rows[k // 2] * k)
    if n > 1:
        rows[1] = x - rows[0]
    total = 0.0
    for k in range(len(rows)):
        total += np.sum(rows[k] * rows[len(rows) - 1 - k])
    return total


def rows_of_two_lengths(x: Any, n: int) -> Any:
    rows = []
    for k in range(n):
        rows.append(x if k % 2 else x[:2])
    return sum(np.sum(r * r) for r in rows)


def rows_of_their_own(x: Any, n: int) -> Any:
    """What is appended is changed afterwards, by another name: the list has what it was."""
    rows = []
    for k in range(n):
        row = np.zeros(len(x))
        row[k % len(x)] = x[0]
        rows.append(row.copy())
        row += 1.0
    return sum(np.sum(r) * (k + 1) for k, r in enumerate(rows))


OF_ARRAYS = [smoothed, rows_changed, rows_of_their_own]


@pytest.mark.parametrize("f", [*OF_ARRAYS, rows_of_two_lengths])
def test_lists_of_arrays(f: Callable[..., Any]) -> None:
    made, gradient = sg.compile(f), sg.grad(f)
    for n in (0, 1, 2, 3, 6):
        assert made(X, n) == pytest.approx(f(X, n), rel=1e-13)
        moved = [(f(X + d, n) - f(X - d, n)) / 2e-6 for d in 1e-6 * np.eye(len(X))]
        np.testing.assert_allclose(gradient(X, n), moved, rtol=1e-6, atol=1e-8)
    assert (".append(" in made.python(X, 3)) == (f is rows_of_two_lengths)


def test_the_shape_of_the_items_is_known() -> None:
    text = sg.compile(smoothed).python(X, 6)
    assert "states = empty((n, 2))" in text and "spreads = empty((n, 2, 2))" in text
    assert "broadcast" not in text and "lu_factor" not in text


def test_what_is_on_a_list_and_changed_in_a_loop() -> None:
    def grown(x: Any, n: int) -> Any:
        v = x * 1.5
        rows = [v, x]
        for _ in range(n):
            rows.append(x)
            v += 0.1
        return np.sum(rows[0])

    with pytest.raises(sg.errors.SrcgraphError, match="'v', which may be one of them, was changed"):
        sg.compile(grown)(X, 2)
