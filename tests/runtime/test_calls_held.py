"""Calls by machine code: what they raise, and hold, and what other threads do meanwhile."""

import cProfile
import gc
import io
import os
import pstats
import sys
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calling import by_machine, outcome, parts, plus, store, stored, total

import srcgraph as sg
from srcgraph.runtime.api import Compiled
from srcgraph.runtime.calls import lists_of
from srcgraph.runtime.calls_layout import ENTRY, supported

RATE: Any = 2.0

pytestmark = pytest.mark.skipif(not supported(), reason="Python's objects are elsewhere")


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
    assert "<srcgraph refuses" in trace and "test_calls_held.py" in trace
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


def rated(a, b=1.0):
    return a * RATE + b


def counts(objects: list[Any]) -> list[int]:
    return [sys.getrefcount(x) for x in objects]


@pytest.mark.parametrize("function", [plus, total, store, stored, parts, refuses, rated])
def test_no_reference_is_lost_or_kept(function: Any) -> None:
    a, b, x = np.arange(6.0), np.arange(6.0) + 300.0, 0.25
    args = (x,) if function is refuses else (a, b)
    made = by_machine(sg.compile(function), *args)
    for _ in range(3 if args[-1] is b else 0):
        made(a, b=b)
        made(b=b, a=a)
    inside = [x for known in lists_of(made) for x in known if x is not np.ndarray]  # numba keeps one at each call
    watched = [*args, made, type(made), np.dtype(float), np.float64, None, "text", *inside, made.py_func]
    failing = (2.0,) if function is refuses else (a[:0], b)

    def calls() -> None:
        for k in range(2000):
            made(*args)
            if function is not refuses:
                made(a, b=b)
                made(b=b, a=a)
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
