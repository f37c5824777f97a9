"""Calls by machine code: whatever is passed, they answer what the longer way answers, and keep nothing."""

import cProfile
import gc
import io
import os
import pickle
import pstats
import sys
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import SrcgraphError
from srcgraph.runtime.api import Compiled
from srcgraph.runtime.calls import LISTS, lists_of
from srcgraph.runtime.calls_code import MOST
from srcgraph.runtime.calls_layout import ENTRY, supported

FACTOR = "wide"

pytestmark = pytest.mark.skipif(not supported(), reason="Python's objects are elsewhere")


def by_machine(made: Any, *args: Any, times: int = 3) -> Any:
    """A compiled function, called until it has a list for such arguments."""
    for _ in range(times):
        made(*args)
    assert type(made) is not made.general and lists_of(made)
    return made


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, so that it can be compared: values with their types, or what it raises."""
    try:
        return described(call())
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", []), type(error.__context__), error.__cause__


def described(x: Any) -> Any:
    if isinstance(x, tuple):
        return type(x), [described(item) for item in x]
    if isinstance(x, np.ndarray):
        return type(x), x.dtype, x.shape, x.strides, x.flags.writeable, x.tolist()
    return type(x), repr(x)


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


def plus(a, b):
    return a + b


def total(a, b):
    s = 0.0
    for k in range(len(a)):
        s += a[k] * b[k]
    return s


def store(a, b):
    a[0] = b[0] + 1.0


def stored(a, b):
    a[:2] += b[2:4]
    return a, len(b)


def parts(a, b):
    return a, 3, a * b, None, "text"


@pytest.mark.parametrize("function", [plus, total, store, stored, parts])
def test_all_kinds_of_arguments(function: Any) -> None:
    count = len(zoo())
    chosen = [k for k, x in enumerate(zoo()) if function in (plus, parts) or isinstance(x, np.ndarray | list | float)]
    quick, long = sg.compile(function), sg.compile(function)
    rng = np.random.default_rng(0)
    for k, m in rng.permutation([(k, m) for k in chosen for m in rng.choice(chosen, 5)]).tolist():
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


def test_what_is_read_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
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


# -- what is raised -----------------------------------------------------------------------------------------


def refuses(x):
    if x > 1.0:
        raise ValueError("too large")
    return x


def test_an_error_is_that_of_the_longer_way() -> None:
    made, long = by_machine(sg.compile(refuses), 0.5), sg.compile(refuses)
    assert outcome(lambda: made(2.0)) == outcome(lambda: Compiled.__call__(long, 2.0))
    with pytest.raises(ValueError, match="too large") as caught:
        made(2.0)
    trace = "".join(traceback.format_exception(caught.value))
    assert "<srcgraph refuses" in trace and "test_calls.py" in trace
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    try:
        raise KeyError("before")
    except KeyError as before:
        with pytest.raises(ValueError) as inside:
            made(2.0)
        assert inside.value.__context__ is before
    assert made(0.5) == 0.5


class Odd(io.StringIO):
    """A stream that does something when it is written to."""

    def __init__(self, action: Callable[[], Any]):
        super().__init__()
        self.action = action

    def write(self, text: str) -> int:
        self.action()
        return super().write(text)


def says(x):
    print("x is", x)
    return x + 1.0


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, ZeroDivisionError("by hand")])
def test_an_interrupt_passes(error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = sg.compile(says)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    by_machine(made, 1.0)

    def stop() -> None:
        raise error

    monkeypatch.setattr(sys, "stdout", Odd(stop))
    for _ in range(3):
        with pytest.raises(error if isinstance(error, type) else type(error)) as caught:
            made(1.0)
        assert not isinstance(error, Exception) or caught.value is error


def test_a_list_that_goes_while_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs is held, whatever else calls, or forgets, or edits the function meanwhile."""

    def talks(x):
        print("x is", x)
        return x + 1.0

    made = sg.compile(talks)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    by_machine(made, 1.0)
    depth = 0

    def action() -> None:
        nonlocal depth
        depth += 1
        if (own := depth) < 5:
            assert made(float(own)) == own + 1.0
            assert made(own) == own + 1.0
            made.begin()
            gc.collect()

    monkeypatch.setattr(sys, "stdout", Odd(action))
    assert made(1.0) == 2.0
    assert made(1.0) == made(1.0) == made(1.0) == 2.0


def test_profilers_are_told() -> None:
    made = by_machine(sg.compile(plus), 1.0, 2.0)
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(5):
        assert made(1.0, 2.0) == 3.0
    profile.disable()
    text = io.StringIO()
    pstats.Stats(profile, stream=text).print_stats()
    assert "<srcgraph plus" in text.getvalue() or sys.version_info >= (3, 12)
    assert made(1.0, 2.0) == 3.0


# -- memory -------------------------------------------------------------------------------------------------


def counts(objects: list[Any]) -> list[int]:
    return [sys.getrefcount(x) for x in objects]


@pytest.mark.parametrize("function", [plus, total, store, stored, parts, refuses])
def test_no_reference_is_lost_or_kept(function: Any) -> None:
    a, b, x = np.arange(6.0), np.arange(6.0) + 300.0, 0.25
    args = (x,) if function is refuses else (a, b)
    made = by_machine(sg.compile(function), *args)
    inside = [x for known in lists_of(made) for x in known if x is not np.ndarray]  # numba keeps one at each call
    watched = [*args, made, type(made), np.dtype(float), np.float64, None, "text", *inside, made.py_func]
    failing = (2.0,) if function is refuses else (a[:0], b)

    def calls() -> None:
        for k in range(2000):
            made(*args)
            if k % 50 == 0:
                outcome(lambda: made(*failing))
                outcome(lambda: made("text"))

    calls()
    gc.collect()
    before, blocks = counts(watched), sys.getallocatedblocks()
    calls()
    gc.collect()
    assert all(abs(now - then) < 20 for now, then in zip(counts(watched), before, strict=True))
    assert abs(sys.getallocatedblocks() - blocks) < 500


def test_a_function_goes_with_its_lists() -> None:
    made = by_machine(sg.compile(lambda x: x * 2.0), 1.0)
    seen = weakref.ref(made)
    call = made.__call__
    del made
    gc.collect()
    assert call(2.0) == 4.0
    del call
    gc.collect()
    assert seen() is None


def test_what_is_in_the_slot_is_out_of_reach() -> None:
    made = by_machine(sg.compile(plus), 1.0, 2.0)
    with pytest.raises(AttributeError):
        made.entry  # noqa: B018
    assert "entry" not in vars(made) and not hasattr(type(made), "entry")
    ENTRY.__delete__(made)
    assert made(1.0, 2.0) == 3.0
    assert by_machine(made, 1.0, 2.0)(1.0, 5.0) == 6.0


# -- threads and processes ----------------------------------------------------------------------------------


def test_threads_that_call_and_change() -> None:
    """Without Python's lock, while others put lists in the place of those that run."""
    made, wrong = sg.compile(total), list[Any]()
    kinds = [np.arange(2000.0), np.arange(2000), np.arange(4000.0)[::2], np.arange(2000, dtype=np.float32)]
    wanted = {(j, k): total(kinds[j], kinds[k]) for j in range(4) for k in range(4)}
    stop = threading.Event()

    def calls(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(300):
            j, k = rng.integers(4, size=2).tolist()
            got = made(kinds[j], kinds[k])
            if not np.isclose(got, wanted[j, k]) or type(got) is not type(wanted[j, k]):
                wrong.append((j, k, got))

    def changes() -> None:
        while not stop.wait(0.01):
            ENTRY.__set__(made, lists_of(made)[1:])

    threads = [threading.Thread(target=calls, args=(k,)) for k in range(6)]
    other = threading.Thread(target=changes)
    for thread in (*threads, other):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    other.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_goes_on() -> None:
    made = by_machine(sg.compile(plus), 1.0, 2.0)
    child = os.fork()
    if child == 0:
        fine = made(1.0, 2.0) == 3.0 and made(np.ones(2), 1.0).sum() == 4.0
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
