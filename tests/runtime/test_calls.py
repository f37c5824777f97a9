"""Calls by machine code: whatever is passed, they answer what the longer way answers."""

import pickle
from typing import Any

import numpy as np
import pytest
from calling import by_machine, described, outcome, parts, plus, store, stored, total

import srcgraph as sg
from srcgraph.errors import SrcgraphError
from srcgraph.runtime.api import Compiled
from srcgraph.runtime.calls import LISTS, lists_of
from srcgraph.runtime.calls_code import MOST
from srcgraph.runtime.calls_layout import supported

FACTOR = "wide"

pytestmark = pytest.mark.skipif(not supported(), reason="Python's objects are elsewhere")


def unaligned() -> np.ndarray:
    return np.frombuffer(b"." + np.arange(4.0).tobytes(), np.uint8)[1:].view(np.float64)


class Own(np.ndarray):
    pass


def zoo() -> list[Any]:
    """Arguments of all kinds, many of them much alike."""
    grid, still = np.arange(16.0).reshape(4, 4), np.arange(4.0)
    still.flags.writeable = False
    return [
        1, True, 1.5, 2**62, 2**63 - 1, -(2**63), 2**63, 2**200, 1j, np.float64(1.5), np.float32(1.5), np.int64(2),
        np.int8(3), np.uint64(2**63), np.bool_(True), np.complex64(1j), np.longlong(4), float("nan"), -0.0,
        np.arange(4.0), np.arange(4), np.arange(8.0)[::2], np.arange(4.0)[::-1], grid, grid.T, grid[:, ::2], grid[1],
        np.asfortranarray(grid), still, np.arange(1.0), np.zeros(0), np.zeros((0, 4)), np.zeros((4, 1)), np.array(2.0),
        np.arange(4, dtype=np.float32), np.arange(4, dtype=">f8"), np.arange(4, dtype=np.longlong), unaligned(),
        np.arange(4.0).view(Own), np.ma.masked_array(np.ones(4), [0, 1, 0, 0]), np.ones(4, bool), np.ones(4) * 1j,
        pickle.loads(pickle.dumps(np.arange(4.0))), np.array([1, "a"], object), np.array("2020", "M8[D]"),
        np.zeros(2, [("a", float)]), None, "text", [1.0, 2.0], (1.0, 2.0), {"a": 1.0}, object, np.float64,
        np.broadcast_to(np.float64(2.0), 4), np.lib.stride_tricks.as_strided(np.arange(5.0), (3, 3), (8, 8)),
    ]  # fmt: skip


@pytest.mark.parametrize("function", [plus, total, store, stored, parts])
def test_all_kinds_of_arguments(function: Any) -> None:
    count = len(zoo())
    chosen = [k for k, x in enumerate(zoo()) if function in (plus, parts) or isinstance(x, np.ndarray | list | float)]
    quick, long = sg.compile(function), sg.compile(function)
    rng = np.random.default_rng(0)
    for k, m in rng.permutation([(k, m) for k in chosen for m in rng.choice(chosen, 2)]).tolist():
        pairs = [[zoo()[k], zoo()[m]] for _ in "ab"]
        for _ in range(3):
            got = outcome(lambda: quick(*pairs[0]))
            want = outcome(lambda: Compiled.__call__(long, *pairs[1]))
            assert repr(got) == repr(want), (k, m, count)
            assert repr(described(tuple(pairs[0]))) == repr(described(tuple(pairs[1])))
    assert lists_of(quick)


DTYPES = "?bBhHiIlLqQfdFD"


@pytest.mark.parametrize("code", DTYPES)
def test_numbers_of_every_type(code: str) -> None:
    dtype = np.dtype(code)
    made = sg.compile(lambda a, k: (a[k], a[k + 1]))
    one = sg.compile(lambda a: a[1])
    top = (
        [0, 1] if code == "?" else [np.iinfo(dtype).min, np.iinfo(dtype).max] if dtype.kind in "iu" else [0.1, -2.5e30]
    )
    for a in (np.array(top, dtype), np.array([1, 0, 1], dtype), np.array([3, 1, 2, 7], dtype)[::2]):
        for _ in range(4):
            assert described(made(a, 0)) == described((a[0], a[1]))
            assert described(one(a)) == described(a[1])
    if code not in "qQ":  # the same numbers as of "lL", of another type
        by_machine(made, np.ones(3, dtype), 0)
        by_machine(one, np.ones(3, dtype))


def test_numbers_as_arguments() -> None:
    twice = sg.compile(lambda x: x + x)
    for x in (1.5, 2, True, 1j, np.float32(2), np.float64(2), np.int8(100), np.uint64(2**63), np.bool_(True)):
        for _ in range(4):
            assert described(twice(x)) == described(Compiled.__call__(twice, x))
    assert len(lists_of(twice)) > 6


def test_what_is_returned_is_the_argument_itself() -> None:
    made = sg.compile(parts)
    a, b = np.arange(3.0), np.arange(3.0)
    for _ in range(4):
        got = made(a, b)
        assert got[0] is a and got[1] == 3 and got[3] is None and got[4] == "text"
    by_machine(made, a, b)


def test_arrays_that_are_changed() -> None:
    """They must be apart from others, and writable."""
    made = by_machine(sg.compile(stored), np.arange(6.0), np.arange(6.0))
    whole = np.arange(20.0)
    same = whole[:6]
    assert described(made(same, same)) == described(stored(np.arange(6.0), np.arange(6.0)))
    for a, b in ((whole[:6], whole[4:10]), (whole[2:8], whole[:6]), (whole[:12:2], whole[1:13:2])):
        kept, long = whole.copy(), sg.compile(stored)
        got, whole[:] = outcome(lambda: made(a, b)), kept
        want, whole[:] = outcome(lambda: Compiled.__call__(long, a, b)), kept
        assert repr(got) == repr(want)
    for a, b in ((whole[:6], whole[6:12]), (whole[5::-1], whole[11:5:-1]), (whole[6:12], whole[:6])):
        kept = whole.copy()
        for _ in range(3):
            made(a, b)
        got, whole[:] = whole.copy(), kept
        for _ in range(3):
            stored(a, b)
        np.testing.assert_array_equal(got, whole)
    still = np.arange(6.0)
    still.flags.writeable = False
    for _ in range(3):
        with pytest.raises(ValueError, match="read-only"):
            made(still, whole)
    assert still[0] == 0.0


def test_lengths_that_go_together() -> None:
    def summed(a, n):
        s = 0.0
        for k in range(n):
            s += a[k]
        return s

    made, rng = sg.compile(summed), np.random.default_rng(3)
    for _ in range(400):
        size, n = rng.integers(0, 9, 2).tolist()
        a = np.arange(float(size))
        assert repr(outcome(lambda: made(a, n))) == repr(outcome(lambda: Compiled.__call__(made, a, n)))
    for n in (2**63, -(2**63), -(2**200)):
        assert outcome(lambda: made(np.ones(3), n)) == outcome(lambda: Compiled.__call__(made, np.ones(3), n))


def test_lengths_of_one_are_stretched() -> None:
    made, rng = sg.compile(plus), np.random.default_rng(6)
    for _ in range(400):
        x, y = (np.ones(rng.integers(1, 4, size=rng.integers(1, 3))) for _ in "xy")
        try:
            want = plus(x, y)
        except ValueError:
            with pytest.raises(ValueError):
                made(x, y)
        else:
            assert described(made(x, y)) == described(want)


def test_a_dtype_of_its_own_object() -> None:
    """As that of an array that was pickled."""
    other = pickle.loads(pickle.dumps(np.arange(4.0)))
    assert other.dtype is not np.dtype(float)
    made = by_machine(sg.compile(plus), other, np.arange(4.0))
    known = lists_of(made)
    assert described(made(np.arange(4.0), other)) == described(np.arange(4.0) + other)
    assert lists_of(made) is known
    swapped = np.arange(4.0).astype(">f8")
    with pytest.raises(SrcgraphError):
        made(swapped, other)


def test_many_arguments() -> None:
    for count in (1, MOST, MOST + 1):
        names = [f"x{k}" for k in range(count)]
        space: dict[str, Any] = {}
        text = f"def f({', '.join(names)}):\n    return {' + '.join(names)}\n"
        exec(text, space)
        made = sg.compile(space["f"], source=text)
        for _ in range(3):
            assert made(*range(count)) == sum(range(count))
        assert bool(lists_of(made)) is (count <= MOST)


def test_ways_to_pass_arguments() -> None:
    made = by_machine(sg.compile(plus), 1.0, 2.0)
    args, none = (1.0, 2.0), dict[str, Any]()
    assert made(*args, **none) == made.__call__(*args) == made(1.0, b=2.0) == made(a=1.0, b=2.0) == 3.0
    for given, named in (((), {}), ((1.0,), {}), ((1.0,) * 3, {}), ((1.0, 2.0), {"b": 1.0}), ((1.0,), {"c": 1.0})):
        fresh = sg.compile(plus)
        assert outcome(lambda: made(*given, **named)) == outcome(lambda: fresh(*given, **named))
    assert type(made) is not made.general
    many = tuple(range(100_000))
    with pytest.raises(TypeError):
        made(*many)


def scaled(x, factor=2.0, *, shift=1, how=None, name="sum"):
    if name == "sum":
        return x * factor + shift if how is None else x * factor - how
    return x


def test_arguments_by_name_and_left_out() -> None:
    made, rng = sg.compile(scaled), np.random.default_rng(4)
    values: list[Any] = [1.5, 2, np.arange(4.0), np.float32(3), np.arange(1.0), np.array(2.5), 2**70, [1.0]]
    other = "".join(["s", "um"])
    for _ in range(100):
        args = [values[k] for k in rng.integers(len(values), size=rng.integers(1, 3))]
        named: dict[str, Any] = {n: values[rng.integers(len(values))] for n in ("shift", "how") if rng.random() < 0.3}
        named |= {"name": ["sum", other, "x", None, 3.0][rng.integers(5)]} if rng.random() < 0.3 else {}
        named |= {"factor": 3.0} if len(args) < 2 and rng.random() < 0.3 else {}
        fresh = sg.compile(scaled)
        for _ in range(2):
            assert repr(outcome(lambda: made(*args, **named))) == repr(outcome(lambda: fresh(*args, **named)))
    for call in (
        lambda f: f(1.5),
        lambda f: f(1.5, shift=3),
        lambda f: f(x=1.5, factor=3.0),
        lambda f: f(2.0, how=None),
    ):
        known, fresh = sg.compile(scaled), sg.compile(scaled)
        for _ in range(3):
            assert described(call(known)) == described(call(scaled))
        assert lists_of(known)
        before = lists_of(known)
        assert described(call(known)) == described(call(fresh)) and lists_of(known) is before


def test_defaults_that_change() -> None:
    def own(x, y=2.0, *, z=3.0):
        return x * y + z

    made = sg.compile(own)

    def check() -> None:
        for _ in range(3):
            assert described(made(2.0)) == described(own(2.0))
            assert described(made(2.0, z=1.0)) == described(own(2.0, z=1.0))
            assert described(made(2.0, 1.0)) == described(own(2.0, 1.0))

    check()
    own.__defaults__ = (5.0,)
    check()
    own.__defaults__ = (np.arange(3.0),)
    check()
    own.__kwdefaults__["z"] = 4.0
    check()
    own.__defaults__ = ()
    for _ in range(3):
        with pytest.raises(TypeError, match="missing"):
            made(2.0)


RATE: Any = 2.0
WEIGHTS: Any = np.arange(4.0)


def test_numbers_and_arrays_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    level: Any = 1.0

    def moves(x):
        WEIGHTS[0] = x * RATE
        return WEIGHTS * level

    def set_level(x: Any) -> None:
        nonlocal level
        level = x

    made = sg.compile(moves)

    def check() -> None:
        kept = WEIGHTS.copy() if isinstance(WEIGHTS, np.ndarray) else None
        for _ in range(3):
            for x in (1.5, 2):
                got = outcome(lambda: made(x))
                after, WEIGHTS[:] = WEIGHTS.copy(), kept
                assert repr(got) == repr(outcome(lambda: Compiled.__call__(sg.compile(moves), x)))
                np.testing.assert_array_equal(after, WEIGHTS)
                WEIGHTS[:] = kept

    check()
    assert lists_of(made)
    for rate in (3.0, 3, np.float32(2.0), 2.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        check()
    for weights in (np.arange(5.0), np.arange(8.0)[::2], np.arange(1.0), np.arange(4), np.zeros((3, 2)), WEIGHTS):
        monkeypatch.setitem(globals(), "WEIGHTS", weights)
        check()
    for x in (2.0, 5, np.arange(4.0), 1.0):
        set_level(x)
        check()
    set_level(WEIGHTS)
    assert outcome(lambda: made(1.5)) == outcome(lambda: Compiled.__call__(sg.compile(moves), 1.5))
    set_level(1.0)
    check()
    monkeypatch.delitem(globals(), "RATE")
    with pytest.raises(NameError):
        made(1.5)


def test_one_array_as_several_arguments() -> None:
    def swaps(a, b, c):
        a[0] = b[1] + c[0]
        return b

    made, rng = sg.compile(swaps), np.random.default_rng(5)
    for _ in range(60):
        arrays = [np.arange(6.0), np.arange(6.0) + 9.0, np.arange(6.0) - 9.0]
        arrays.append(arrays[0][:])
        arrays.append(arrays[1][::-1])
        picked = rng.integers(5, size=3).tolist()
        args = [arrays[k] for k in picked]
        again = [x.copy() for x in arrays[:3]]
        again += [again[0][:], again[1][::-1]]
        twin = [again[k] for k in picked]
        for _ in range(2):
            got = outcome(lambda: made(*args))
            assert repr(got) == repr(outcome(lambda: Compiled.__call__(sg.compile(swaps), *twin)))
            assert repr(arrays) == repr(again)
    x = np.arange(4.0)
    for _ in range(3):
        assert made(x, x, x) is x
    before = lists_of(made)
    assert before and made(x, x, x) is x and lists_of(made) is before


def test_what_is_compiled_in_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    def outer(scale: Any) -> Any:
        def inner(x):
            return helper(x) * scale if FACTOR == "wide" else abs(x)

        def helper(x, y=2.0):
            return x + y

        def rebind(name: str, value: Any) -> None:
            nonlocal scale, helper
            if name == "scale":
                scale = value
            else:
                helper = value

        return inner, helper, rebind

    inner, helper, rebind = outer(max)
    rebind("scale", 3.0)
    made = sg.compile(inner)

    def check() -> None:
        for _ in range(3):
            for x in (1.0, -2.0):
                assert outcome(lambda: made(x)) == outcome(lambda: inner(x))

    check()
    rebind("helper", lambda x: x)
    check()
    rebind("helper", helper)
    check()
    helper.__defaults__ = (5.0,)
    check()
    helper.__code__ = (lambda x, y=2.0: x - y).__code__
    check()
    monkeypatch.setitem(globals(), "FACTOR", "narrow")
    check()
    monkeypatch.setitem(globals(), "abs", lambda x: x * 7.0)
    check()
    monkeypatch.delitem(globals(), "abs")
    check()
    monkeypatch.setitem(globals(), "FACTOR", "".join(["wi", "de"]))  # equal, but another object
    check()
    monkeypatch.delitem(globals(), "FACTOR")
    with pytest.raises(NameError):
        made(1.0)


def test_functions_that_are_called_with_names() -> None:
    def helper(x, *, y=2.0):
        return x * y

    made = by_machine(sg.compile(lambda x: helper(x)), 1.0)
    assert made(3.0) == 6.0
    helper.__kwdefaults__["y"] = 3.0
    assert made(3.0) == made(3.0) == made(3.0) == 9.0


def test_many_signatures_one_after_the_other() -> None:
    made, seen = sg.compile(plus), [*DTYPES]
    for _ in range(4):
        for code in seen:
            x, y = np.ones(3, code), np.ones(3, code)
            assert described(made(x, y)) == described(x + y)
    assert 1 < len(lists_of(made)) <= LISTS


def repeated(a, n):
    return a * n


def test_lists_longer_than_any_memory() -> None:
    times = sg.compile(repeated)
    assert times([1.0, 2.0], 3) == repeated([1.0, 2.0], 3)
    with pytest.raises(MemoryError):
        times([1.0, 2.0], 2**63 - 1)


def bound_anew(x, p, n):
    for _ in range(n):
        x = x * p
    return x


def left_early(x, p, n):
    if n > 3:
        return x
    return p.copy()


def in_a_tuple(x, p, n):
    y = x
    if n % 2:
        y = x + p
    return n * 2.0, y, p


def a_part(x, p, n):
    if n > 1:
        return x
    return p[1:].copy()


def one_of_the_two(x, p, n):
    return x if n > 1 else p


def both(x, p, n):
    if n > 1:
        return p, x
    return x, x


@pytest.mark.parametrize("function", [bound_anew, left_early, in_a_tuple, a_part, one_of_the_two, both])
def test_an_argument_or_what_is_new(function: Any) -> None:
    """An argument comes back as it is, and what is new in memory of its own."""
    made = sg.compile(function)
    x, p = np.arange(1.0, 5.0), np.arange(2.0, 6.0)
    for n in (0, 1, 2, 5) * 3:
        for given in ((x, p), (x, x), (x[::-1], p)):
            found, expected = made(*given, n), function(*given, n)
            found, expected = (r if isinstance(r, tuple) else (r,) for r in (found, expected))
            for got, want in zip(found, expected, strict=True):
                assert np.array_equal(got, want) and type(got) is type(want)
                for given_one in given if isinstance(want, np.ndarray) else ():
                    assert (got is given_one) == (want is given_one)
                    assert np.may_share_memory(got, given_one) == np.may_share_memory(want, given_one)
    assert lists_of(made)
