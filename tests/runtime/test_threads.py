"""Threads of compiled loops among other threads, processes, exceptions and signals."""

from __future__ import annotations

import concurrent.futures
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import ArgumentError, OverlapError
from srcgraph.runtime.workers import STATE

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forked processes, nor threads of POSIX's")


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Three threads, however many cores there are."""
    before = sg.threads.limit()
    sg.threads.limit(3)
    yield
    sg.threads.limit(before)


def waves(x, n):
    out = np.zeros(len(x))
    total = 0.0
    for i in range(len(x)):
        a = x[i]
        for _ in range(n):
            a = math.sin(a + 0.5)
        out[i] = a
        total += a
    return out, total


def area(m, n):
    s = 0.0
    for _ in range(n):
        s += np.sum(np.exp(-m * m))
    return s


fast_waves = sg.compile(waves, parallel=True)
fast_area = sg.compile(area, parallel=True)
slope = sg.grad(area, parallel=True)
X, M = np.linspace(0.0, 3.0, 5000), np.linspace(0.0, 1.0, 90_000).reshape(300, 300)
N = 30


def expected() -> tuple[Any, ...]:
    return *sg.compile(waves)(X, N), sg.compile(area)(M, 5), sg.grad(area)(M, 5)


def found(_: Any = None) -> tuple[Any, ...]:
    return *fast_waves(X, N), fast_area(M, 5), slope(M, 5)


def assert_same(a: Any, b: Any) -> None:
    for p, q in zip(a, b, strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-12)


def assert_shared(before: int) -> None:
    assert STATE["REGIONS"] > before


def test_numbers_do_not_depend_on_threads() -> None:
    results = []
    for count in (1, 2, 3, 8):
        assert sg.threads.limit(count) == count
        results.append(found())
    for other in results[1:]:
        for p, q in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(p, q)
    assert_same(results[0], expected())


def test_limit_is_checked() -> None:
    for bad in (0, -1, 2.0, True, "2", 10**6):
        with pytest.raises(ArgumentError, match="limit takes a number of threads"):
            sg.threads.limit(bad)  # type: ignore[arg-type]
    assert sg.threads.limit() == 3


@pytest.mark.parametrize("given", ["3", "many", "0"])
def test_first_limit(given: str) -> None:
    """Of the environment, or the cores that there are; what is no number is said."""
    code = "import srcgraph as sg, os; print(sg.threads.limit(), len(os.sched_getaffinity(0)))"
    if not hasattr(os, "sched_getaffinity"):
        code = "import srcgraph as sg, os; print(sg.threads.limit(), os.cpu_count())"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "SRCGRAPH_NUM_THREADS": given}, capture_output=True, text=True
    )
    limit, cores = done.stdout.split()
    assert limit == ("3" if given == "3" else cores)
    assert ("not a number of threads" in done.stderr) == (given != "3")


@pytest.mark.parametrize("count", [2, 8])
def test_threads_that_call_at_once(count: int) -> None:
    """Those who find the threads busy run their loops themselves."""
    right, wrong = found(), []
    start = threading.Barrier(count)

    def work() -> None:
        start.wait()
        for _ in range(20):
            for p, q in zip(found(), right, strict=True):
                if not np.array_equal(p, q):
                    wrong.append((p, q))

    callers = [threading.Thread(target=work) for _ in range(count)]
    for t in callers:
        t.start()
    for t in callers:
        t.join()
    assert not wrong and STATE["BUSY"] == STATE["ACTIVE"] == 0


def test_without_the_lock_of_python() -> None:
    """A loop without ``parallel`` runs while another thread does."""
    alone = sg.compile(waves)
    alone(X, 1)
    begun, ticks = threading.Event(), 0

    def work() -> None:
        begun.set()
        alone(X, 20_000)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    began = time.perf_counter()
    while thread.is_alive():
        time.sleep(0.001)
        ticks += 1
    took = time.perf_counter() - began
    assert ticks > 20, f"{ticks} ticks in {took} s"


def test_small_loops_stay_with_their_caller() -> None:
    before = STATE["REGIONS"]
    fast_waves(X[:10], 3)
    fast_area(M[:3, :3], 2)
    assert STATE["REGIONS"] == before


@POSIX
def test_fork_after_use() -> None:
    right = found()
    before = STATE["REGIONS"]
    found()
    assert_shared(before)
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of the tests' own runner
            child = os.fork()
        if child == 0:
            try:
                began = STATE["REGIONS"]
                same = all(np.array_equal(p, q) for p, q in zip(found(), right, strict=True))
                os._exit(0 if same and STATE["REGIONS"] > began and STATE["STARTED"] == 2 else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
    assert_same(found(), right)


@POSIX
def test_fork_while_others_are_in_a_loop() -> None:
    """What they hold is nobody's in the child."""
    right, done = found(), threading.Event()

    def work() -> None:
        while not done.is_set():
            found()

    callers = [threading.Thread(target=work) for _ in range(2)]
    for t in callers:
        t.start()
    try:
        for _ in range(10):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                try:
                    same = all(np.array_equal(p, q) for p, q in zip(found(), right, strict=True))
                    os._exit(0 if same else 1)
                finally:
                    os._exit(2)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        for t in callers:
            t.join()


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes(method: str) -> None:
    right = found()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context = multiprocessing.get_context(method)
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            for other in pool.map(found, range(4)):
                for p, q in zip(other, right, strict=True):
                    np.testing.assert_array_equal(p, q)


def test_thread_pools() -> None:
    right = found()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for other in pool.map(found, range(16)):
            for p, q in zip(other, right, strict=True):
                np.testing.assert_array_equal(p, q)


# -- exceptions --------------------------------------------------------------------------------------------


def roots(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] < 0.0:
            raise ValueError(f"{i} is negative")
        a = x[i]
        for _ in range(100):
            a = 0.5 * (a + 1.0)
        out[i] = math.sqrt(a)
    return out


def in_place(x, y):
    for i in range(len(x)):
        y[i] = 1.0 / math.sqrt(x[i])
    return y


def beyond(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 2.0


def solved(a, b):
    out = np.zeros((len(a), b.shape[1]))
    for i in range(len(a)):
        out[i] = np.linalg.solve(a[i], b[i])
    return out


def test_first_exception() -> None:
    """That of the first trip that fails, as in order, every time."""
    fast = sg.compile(roots, parallel=True)
    x = np.abs(np.sin(np.arange(50_000.0)))
    np.testing.assert_allclose(fast(x), roots(x))
    before = STATE["REGIONS"]
    x[[1234, 40_000, 49_999]] = -1.0
    for _ in range(20):
        with pytest.raises(ValueError) as caught:
            fast(x)
        assert str(caught.value) == "1234 is negative"
        assert any("raise ValueError" in note for note in caught.value.__notes__)
    assert_shared(before)
    x[1234] = 1.0
    with pytest.raises(ValueError, match="40000 is negative"):
        fast(x)


def test_what_was_stored_before_an_exception() -> None:
    """As in order: the trips before it, and none after it."""
    fast = sg.compile(in_place, parallel="always")
    x = np.linspace(1.0, 2.0, 5000)
    x[3000] = 0.0
    found, right = np.zeros(5000), np.zeros(5000)
    with pytest.raises(ZeroDivisionError):
        in_place(x.tolist(), right)
    with pytest.raises(ZeroDivisionError):
        fast(x, found)
    np.testing.assert_array_equal(found, right)


def test_an_array_that_is_too_short() -> None:
    """It is known before that nothing raises; where something will, the loop is in order."""
    fast = sg.compile(beyond, parallel="always")
    x, y = np.arange(1000.0), np.zeros(1000)
    before = STATE["REGIONS"]
    fast(x, y)
    assert_shared(before)
    np.testing.assert_array_equal(y, 2.0 * x)
    y = np.zeros(700)
    with pytest.raises(IndexError, match="700"):
        fast(x, y)
    np.testing.assert_array_equal(y, 2.0 * x[:700])


def test_exceptions_of_libraries() -> None:
    fast = sg.compile(solved, parallel="always")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((40, 3, 3)), rng.standard_normal((40, 3))
    before = STATE["REGIONS"]
    np.testing.assert_allclose(fast(a, b), solved(a, b))
    assert_shared(before)
    a[17] = 0.0
    with pytest.raises(np.linalg.LinAlgError):
        fast(a, b)
    np.testing.assert_allclose(fast(a[:17], b[:17]), solved(a[:17], b[:17]))


# -- arrays that overlap themselves ------------------------------------------------------------------------


def doubled(x):
    for i in range(len(x)):
        x[i] = x[i] * 2.0 + 1.0


def test_array_that_overlaps_itself() -> None:
    """Where elements are in the memory of others, nothing is stored."""
    fast = sg.compile(doubled, parallel="always")
    with pytest.raises(OverlapError):
        fast(np.lib.stride_tricks.as_strided(np.zeros(1), (400,), (0,)))
    for strides in ((8,), (16,), (-8,)):
        base, other = np.zeros(1001), np.zeros(1001)
        first = 500 if strides[0] < 0 else 0
        view = np.lib.stride_tricks.as_strided(base[first:], (400,), strides)
        right = np.lib.stride_tricks.as_strided(other[first:], (400,), strides)
        with np.errstate(all="ignore"):
            doubled(right)
        fast(view)
        np.testing.assert_array_equal(base, other)


# -- signals and the end -----------------------------------------------------------------------------------

INTERRUPTED = """
import _thread, signal, sys, threading, time
import numpy as np
sys.path.insert(0, {tests!r})
from runtime.test_threads import X, fast_waves, sg
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start what runs in the background without
sg.threads.limit(3)
fast_waves(X, 10)
done = threading.Event()
def interrupt():  # again, as the first may come where Python ignores exceptions
    while not done.wait(1.0):
        signal.raise_signal(signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    for _ in range(20_000):
        fast_waves(X, 150)
except KeyboardInterrupt:
    done.set()
    fast_waves(X, 10)
    print("interrupted")
"""


def run(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, timeout=120
    )


def test_interrupt() -> None:
    done = run(INTERRUPTED.format(tests=str(Path(__file__).parent.parent)))
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


ENDS = """
import sys, threading
sys.path.insert(0, {tests!r})
from runtime.test_threads import X, fast_waves, sg
sg.threads.limit(3)
fast_waves(X, 300)
def work():
    while True:
        fast_waves(X, 300)
if {daemon}:
    threading.Thread(target=work, daemon=True).start()
print("done")
"""


@pytest.mark.parametrize("daemon", [False, True])
def test_end_of_the_process(daemon: bool) -> None:
    for _ in range(2):
        done = run(ENDS.format(tests=str(Path(__file__).parent.parent), daemon=daemon))
        assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


@POSIX
def test_signals_are_left_to_others() -> None:
    """A thread of ours takes none, so that sleeping calls of Python's are woken by them."""
    found()
    status = [Path(f"/proc/self/task/{t}/status") for t in os.listdir("/proc/self/task")] if STATE["STARTED"] else []
    masks = [line.split()[1] for s in status for line in s.read_text().splitlines() if line.startswith("SigBlk")]
    if not masks:
        pytest.skip("the system does not say which signals threads take")
    interrupt = 1 << (signal.SIGINT - 1)
    assert sum(bool(int(m, 16) & interrupt) for m in masks) >= STATE["STARTED"]


# -- memory ------------------------------------------------------------------------------------------------


def temporaries(m, n):
    out = np.zeros(len(m))
    for i in range(len(m)):
        for k in range(n):
            row = m[i] * (1.0 + k)
            out[i] += np.sum(np.sqrt(row)) + np.max(np.sort(row))
    return out


def test_memory_from_several_threads() -> None:
    """Large arrays made in trips are blocks of the pool, taken and given back by several threads."""
    fast = sg.compile(temporaries, parallel="always")
    m = np.abs(np.random.default_rng(0).standard_normal((12, 40_000)))
    right = sg.compile(temporaries)(m, 3)
    before = STATE["REGIONS"]
    for _ in range(10):
        np.testing.assert_array_equal(fast(m, 3), right)
    assert_shared(before)
    sg.memory.release()
    assert sg.memory.held() == 0
