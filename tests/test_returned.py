"""What is returned from inside loops: only what differs between the returns is kept until the loop is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import SrcgraphError

pytestmark = pytest.mark.plainly


class Found(NamedTuple):
    value: float
    history: list
    steps: int = 0


@dataclass
class Record:
    value: float
    history: list


def with_a_list(x: Any) -> Any:
    history = []
    for v in x:
        history.append(v)
        if v > 2.0:
            return 1, history
    return 0, history


def two_lists(x: Any) -> Any:
    small, large = [], []
    for v in x:
        if v > 0.0:
            large.append(v)
        else:
            small.append(v)
        if v > 2.0:
            return small, large
    return small, large


def added_to(x: Any) -> Any:
    history = []
    for i in range(3):
        for v in x:
            history += [v]
            if v > 3.0:
                return i, (history, v)
    return 0, (history, 0.0 * x[0])


def changed_after(x: Any) -> Any:
    history = []
    for v in x:
        if v > 2.0:
            return 1, history
        history.append(v)
    history.append(-x[0])
    return 0, history


def in_a_dict(x: Any) -> Any:
    history = []
    for v in x:
        history.append(v * 2.0)
        if v > 2.0:
            return {"history": history, "steps": 1}
    return {"history": history, "steps": 0}


def named(x: Any) -> Any:
    history, total = [], 0.0
    for k in range(len(x)):
        total += x[k]
        history.append(total)
        if total > 2.0:
            return Found(total, history, steps=k)
        elif total < -5.0:
            return Found(-total, history, steps=-1)
    return Found(total, history)


def recorded(x: Any) -> Any:
    history, total = [], 0.0
    while True:
        total += x[len(history) % len(x)]
        history.append(total)
        if total > 2.0 or len(history) > 20:
            return Record(total, history)
        for v in history:
            if v < -3.0:
                return Record(v, history)


def exchanged(x: Any) -> Any:
    u, v = x.copy(), np.zeros_like(x)
    for _ in range(30):
        for i in range(1, len(x) - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        if np.sum(np.abs(u - v)) < 1e-3:
            return v
        u, v = v, u
    return u


def either_exchanged(x: Any) -> Any:
    u, v = x.copy(), np.zeros_like(x)
    for k in range(30):
        for i in range(1, len(x) - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        if np.sum(np.abs(u - v)) < 1e-3:
            return v, k
        if np.sum(np.abs(v)) > 8.0:
            return u, -k
        if v[0] > 100.0:
            return v, 0
        u, v = v, u
    return u, 30


@dataclass
class Walk:
    at: float
    log: list
    place: Any

    def step(self, by: float) -> None:
        self.at = self.at + by
        self.log.append(self.at)
        self.place = self.place + by

    def run(self, x: Any) -> Any:
        for v in x:
            self.step(v)
            if self.at > 2.0:
                return self.log
        return self.log


def in_a_field(x: Any) -> Any:
    walk = Walk(0.0, [], np.zeros(2))
    for v in x:
        walk.step(v)
        if v > 2.0:
            return walk.log, walk.place
        if v < -4.0:
            return walk.log, walk.place * v
    return walk.log, walk.place


def in_a_method(x: Any) -> Any:
    return Walk(1.0, [0.5], x).run(x)


def a_field_that_is_set(x: Any) -> Any:
    record = Record(1.0, [])
    for v in x:
        try:
            record.value *= v
            if v > 2.0:
                return record.value
        finally:
            record.value += 1.0
    return record.value


def finally_counts(x: Any) -> Any:
    """A number is returned as it is before ``finally`` changes it."""
    n = 0.0
    for k in range(len(x)):
        try:
            if x[k] > 2.0:
                return n, k
            n += x[k]
        finally:
            n += 100.0
    return n, -1


def counted_elsewhere(x: Any) -> Any:
    n = 0

    def step() -> int:
        nonlocal n
        n += 1
        return n

    for v in x:
        if v > 2.0:
            return n, step()
        if v < 0.0:
            step()
    return n, 0


def constants(x: Any) -> Any:
    for v in x:
        if v > 100.0:
            return -1
        if v > 2.0:
            return -1
    return 0


def branches(x: Any) -> Any:
    n = 0.0
    if x[0] > 0.0:
        n += 1.0
        if x[0] > 1.0:
            return n, 3
        n += 10.0
    else:
        if x[0] < -1.0:
            return n, 3
        n = 7.0
    return n + x[0], 4


PROGRAMS = [
    with_a_list, two_lists, added_to, changed_after, in_a_dict, named, recorded, exchanged, either_exchanged,
    in_a_field, in_a_method, a_field_that_is_set, finally_counts, counted_elsewhere, constants, branches,
]  # fmt: skip
POINTS = [[0.5, 1.0, 3.0, 4.0, 1.0], [-4.5, -4.0, -2.0, 0.5, 0.25], [0.1, 0.2], [2.5], [-0.5, 0.5, -2.0, 7.0]]


@pytest.mark.parametrize("program", PROGRAMS)
def test_returned(program: Callable[[Any], Any]) -> None:
    made = sg.compile(program)
    for point in POINTS:
        x = np.array(point)
        got, wanted = made(x), program(x.copy())
        assert type(got) is type(wanted)
        assert flat(got) == pytest.approx(flat(wanted))


def flat(value: Any) -> list[float]:
    match value:
        case Record():
            return [value.value, *value.history]
        case dict():
            return [v for k in value for v in flat(value[k])]
        case list() | tuple() | np.ndarray():
            return [v for part in value for v in flat(part)]
    return [float(value)]


def test_a_list_that_is_returned_is_one_list() -> None:
    def f(x: Any, out: list) -> Any:
        for v in x:
            out.append(v)
            if v > 1.0:
                return v, out
        return 0.0, out

    given = [5.0]
    value, found = sg.compile(f)(np.array([0.5, 2.0, 3.0]), given)
    assert found is given and given == [5.0, 0.5, 2.0] and value == 2.0


def test_derivatives() -> None:
    def f(x: Any) -> Any:
        steps, total = [], 1.0
        for v in x:
            total = total * v
            steps.append(total)
            if total > 4.0:
                return steps, total**2
        return steps, total

    def loss(x: Any) -> Any:
        steps, total = f(x)
        return total + steps[0] * steps[-1]

    x = np.array([1.5, 2.0, 1.6, 3.0])
    step = 1e-6
    near = [(loss(x + step * e) - loss(x - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(sg.grad(loss)(x), near, rtol=1e-6, atol=1e-6)


def test_what_is_refused_in_a_callee_is_said_once() -> None:
    def found(x: Any, n: int) -> Any:
        for _ in range(n):
            k = set(range(n))
            if k:
                return x * 2.0
        return None

    def asked(x: Any, n: int) -> Any:
        k = set(range(n))
        if k:
            return x * 2.0
        return x

    def f(x: Any, n: int) -> Any:
        y = found(x, n)
        z = asked(x, n)
        return y.sum() + z[0]

    with pytest.raises(SrcgraphError) as error:
        sg.compile(f)(np.ones(2), 3)
    assert [p.message for p in error.value.problems] == ["builtins.set is not supported"] * 2


# -- tuples of tuples, and recursion ---------------------------------------------------------------

MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


def test_tuples_of_tuples_by_an_index_of_run_time() -> None:
    def f(n: int, k: int) -> Any:
        named = (("up", (1.0, 2.0)), ("down", (3.0, 4.0)))
        at, total = [0, 0], 0.0
        for i in range(n):
            dx, dy = MOVES[i % 4]
            at[0] += dx
            at[1] += dy * i
            name, (a, b) = named[i % 2]
            total += a * b if name == "up" else a - b
        return at, total, MOVES[-k]

    made = sg.compile(f)
    for n, k in ((0, 1), (7, 4), (8, 2)):
        assert repr(made(n, k)) == repr(f(n, k))
    with pytest.raises(IndexError, match="tuple index out of range"):
        made(3, 5)


def test_lists_of_objects_are_refused_by_name() -> None:
    def f(n: int) -> Any:
        records = [Record(1.0, []), Record(2.0, [])]
        return records[n % 2].value

    def grown(n: int) -> Any:
        records = [Record(k * 1.0, []) for k in range(n)]
        return records[0].value

    for g in (f, grown):
        with pytest.raises(SrcgraphError, match="a list of Record objects whose length") as found:
            sg.compile(g)(3)
        assert "None" not in str(found.value)


def test_a_tree_of_calls_is_not_written_out() -> None:
    def filled(ids: Any, tree: Any, node: int) -> float:
        if node >= 64:
            return 0.0
        total = ids[node] + filled(ids, tree, 2 * node + 1) + filled(ids, tree, 2 * node + 2)
        tree[node] = total
        return total

    def f(ids: Any) -> Any:
        tree = np.zeros(64)
        filled(ids, tree, 0)
        return tree

    ids = np.arange(64.0)
    made = sg.compile(f)
    np.testing.assert_array_equal(made(ids), f(ids))
    assert made.python(ids).count("def ") < 25


# -- what is returned may share memory -------------------------------------------------------------


def a_row(n: int) -> Any:
    m = np.zeros(3)
    for i in range(n):
        if i == 1:
            return m[1:], m
    return m[:2], m


def twice(n: int) -> Any:
    m = np.ones(3) * n
    for i in range(n):
        if i == 1:
            return {"row": m[0:1], "all": m}
    return {"row": m[2:], "all": m}


def one_list(n: int) -> Any:
    found: list = []
    for i in range(n):
        found.append(i * 1.0)
        if i > 2:
            return found, found
    return found, found


def stores_into_a_row(n: int) -> Any:
    row, m = a_row(n)
    row[0] = 5.0
    return m


def stores_into_all(n: int) -> Any:
    found = twice(n)
    found["all"][0] = 7.0
    found["all"][2] = 8.0
    return found["row"] + 0.0


def appends(n: int) -> Any:
    first, second = one_list(n)
    first.append(100.0)
    return second


@pytest.mark.parametrize("program", [stores_into_a_row, stores_into_all, appends])
def test_parts_of_one_memory(program: Callable[[int], Any]) -> None:
    made = sg.compile(program)
    for n in (0, 1, 2, 5):
        assert flat(made(n)) == flat(program(n))


def test_derivatives_through_parts_of_one_memory() -> None:
    def split(x: Any, n: int) -> Any:
        y = x * 2.0
        for i in range(n):
            if i == 1:
                return y[1:], y
        return y[:2], y

    def loss(x: Any, n: int) -> Any:
        part, whole = split(x, n)
        part[0] = part[0] ** 3
        return np.sum(whole**2)

    x = np.array([0.5, 1.5, 2.0])
    for n in (0, 3):
        near = [(loss(x + 1e-6 * e, n) - loss(x - 1e-6 * e, n)) / 2e-6 for e in np.eye(3)]
        np.testing.assert_allclose(sg.grad(loss)(x, n), near, rtol=1e-6)


def test_a_list_that_may_be_an_argument_is_not_read_after_a_change() -> None:
    def either(given: list, n: int) -> list:
        if n > 3:
            given = [0.0]
        return given

    def f(n: int) -> Any:
        given = [1.0, 2.0]
        found = either(given, n)
        found.append(9.0)
        return given

    with pytest.raises(SrcgraphError, match="'given' may share memory with 'found', which was changed"):
        sg.compile(f)(1)


@dataclass
class Account:
    cash: float
    shares: int
    log: list

    def buy(self, price: float, count: int) -> bool:
        if count * price > self.cash:
            return False
        self.cash -= count * price
        self.shares += count
        self.log.append((count, price))
        return True


def test_lists_of_objects_that_a_trip_may_change() -> None:
    def f(prices: Any, cash: float) -> Any:
        account = Account(cash, 0, [])
        for t in range(len(prices)):
            if t > 2:
                account.buy(prices[t], int(account.cash // prices[t]))
            elif t == 1:
                account.log.append((1, prices[t]))
        return account.cash, account.shares, account.log

    made = sg.compile(f)
    for prices in ([1.0, 2.0, 3.0, 4.0, 3.0, 5.0, 4.0, 6.0], [1.0], []):
        got, wanted = made(np.array(prices), 10.0), f(np.array(prices), 10.0)
        assert flat(got) == flat(wanted) and len(got[2]) == len(wanted[2])


# -- what is returned more than once is one -------------------------------------------------------


def the_same_list(x: float) -> Any:
    items = [1.0, x]
    return items, items, [items]


def a_list_that_grew(x: float) -> Any:
    items = [1.0]
    for i in range(int(x)):
        items.append(i * x)
    return items, {"items": items}


def a_list_in_an_object(x: float) -> Any:
    record = Record(x, [x])
    record.history.append(2.0)
    return record, record.history, record.history[:]


def test_lists_returned_more_than_once_are_one() -> None:
    first, second, outer = sg.compile(the_same_list)(3.0)
    assert first is second and outer[0] is first and first == [1.0, 3.0]
    items, named = sg.compile(a_list_that_grew)(3.0)
    assert named["items"] is items and items == [1.0, 0.0, 3.0, 6.0]
    record, history, copied = sg.compile(a_list_in_an_object)(3.0)
    assert record.history is history and copied is not history and copied == history == [3.0, 2.0]


def test_values_and_derivatives_of_lists_are_different_ones() -> None:
    def f(x: list) -> Any:
        return x[0] * x[1], x

    def g(x: list) -> Any:
        items = [2.0 * x[0], x[1]]
        return items, items, x

    x = [2.0, 5.0]
    (value, given), slope = sg.value_and_grad(f, has_aux=True)(x)
    assert (value, given, slope) == (10.0, [2.0, 5.0], [5.0, 2.0]) and given is not slope
    (one, other, given), (d_one, d_other, d_given) = sg.jvp(g, (x,), ([1.0, 10.0],))
    assert one is other and one == [4.0, 5.0] and given == x
    assert d_one == d_other == [2.0, 10.0] and d_given == [1.0, 10.0]


def test_what_always_raises_after_it_appends() -> None:
    def f(x: Any, items: list) -> float:
        for _ in range(3):
            items.append(x[0])
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        sg.grad(f)(np.ones(3), [1.0])


def test_the_largest_of_nothing() -> None:
    def f(n: int) -> Any:
        out: list = []
        for _ in range(n):
            out.append(max(out))
        return out

    made = sg.compile(f)
    assert made(0) == []
    for g in (f, made):
        with pytest.raises(ValueError, match=r"max.. (arg is an empty sequence|iterable argument is empty)"):
            g(2)
