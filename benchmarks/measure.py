"""One peer's side of the suite: a process that builds programs, runs them, and times them when asked.

A process per peer, because JAX, torch and numba each bring threads and memory of their own. The other end is
`workers.py`.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import os
import shutil
import statistics
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

ROUND_SECONDS = 0.01  # a round of a quick program is this long, to be above the clock's noise


def one_thread() -> bool:
    return os.environ.get("OMP_NUM_THREADS") == "1"


clock = time.process_time if one_thread() else time.perf_counter
"""With one thread a process's own seconds are read: what else the machine does at the time does not count."""


def spent() -> float:
    """Seconds of this process and of compilers it has started, or of the clock."""
    if not one_thread():
        return time.perf_counter()
    used = os.times()
    return time.process_time() + used.children_user + used.children_system


def folder_for_now() -> Path:
    """A new folder, which goes when the process ends."""
    made = Path(tempfile.mkdtemp(prefix="srcgraph-bench-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


class Absent(Exception):
    """A peer has no version of a case, or cannot run it; the message says why."""


@dataclass(frozen=True, slots=True)
class Program:
    """A case as one peer runs it.

    Attributes
    ----------
    prepare : function
        Gives the function to be called; timed together with its first call.
    arguments : tuple
        Of that function. Arrays which it changes are copied before each call, outside the time.
    results : function
        ``results(result, arguments)``: the arrays to be compared with other peers'.
    wait : function
        Called on the result before the clock is read, for peers that compute asynchronously.
    seconds : function, optional
        The seconds of a call, for programs that read a clock themselves.
    """

    prepare: Callable[[], Callable]
    arguments: tuple[Any, ...]
    results: Callable[[Any, tuple[Any, ...]], list[np.ndarray]]
    wait: Callable[[Any], Any] | None = None
    seconds: Callable[[], float] | None = None


@dataclass(slots=True)
class Running:
    """A program that was called once, and what that showed."""

    program: Program
    call: Callable
    changed: list[int]
    first: float
    once: float
    memory: int | None
    results: list[np.ndarray] = field(default_factory=list)

    def arguments(self) -> tuple[Any, ...]:
        """The arguments, those that are changed anew."""
        given = list(self.program.arguments)
        for k in self.changed:
            given[k] = given[k].copy()
        return tuple(given)

    def timed(self) -> float:
        """Seconds of one call."""
        given, call, wait = self.arguments(), self.call, self.program.wait
        if wait is None:
            start = clock()
            call(*given)
            return clock() - start
        start = clock()
        wait(call(*given))
        return clock() - start

    def looped(self, count: int) -> float:
        """Seconds of a call, from a loop of many: for calls as short as reading the clock."""
        names = ", ".join(f"a{k}" for k in range(len(self.program.arguments)))
        called = f"f({names})" if self.program.wait is None else f"wait(f({names}))"
        text = f"def loop(f, wait, n, {names}):\n    for _ in range(n):\n        {called}\n"
        space: dict[str, Any] = {}
        exec(text, space)
        start = clock()
        space["loop"](self.call, self.program.wait, count, *self.program.arguments)
        return (clock() - start) / count

    def round(self) -> float:
        """Median seconds of a call in one round."""
        if self.program.seconds is not None:
            return self.program.seconds()
        if not self.changed and self.once < 1e-5:
            return self.looped(int(ROUND_SECONDS / max(self.once, 1e-8)))
        count = max(1, min(100, int(ROUND_SECONDS / max(self.once, 1e-7))))
        return statistics.median(self.timed() for _ in range(count))


def started(program: Program) -> Running:
    """Prepare and call a program: twice, the second time for its memory."""
    kept = program.arguments
    given = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in kept)
    wait = program.wait or (lambda x: x)
    start = spent()
    call = program.prepare()
    result = wait(call(*given))
    first = spent() - start
    changed = [k for k, (a, b) in enumerate(zip(given, kept, strict=True)) if differ(a, b)]
    running = Running(program, call, changed, first, 0.0, None, program.results(result, given))
    del result, given
    gc.collect()
    before = reset_peak()
    running.once = running.timed()
    after = peak()
    running.memory = None if before is None or after is None else max(0, after - before)
    if running.once < 10 * ROUND_SECONDS:  # the second call may have loaded something
        running.once = min(running.timed() for _ in range(5))
    return running


def differ(x: Any, y: Any) -> bool:
    return isinstance(x, np.ndarray) and not np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")


def reset_peak() -> int | None:
    """Forget the highest memory of this process, and give what it has now; None where Linux does not tell."""
    try:
        ctypes.CDLL(None).malloc_trim(0)  # else the call fills what the first one left
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError):
        return None
    return peak()


def peak() -> int | None:
    """Bytes, the highest resident memory since `reset_peak`."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), None)


def serve(connection: Connection, peer: str) -> None:
    """Answer the runner: build programs and time them, until it is gone."""
    running: Running | None = None
    try:
        while True:
            kind, *given = connection.recv()
            running = running if kind == "time" else None  # what ran before is freed first
            running, answer = answered(running, peer, kind, given)
            connection.send(answer)
    except (EOFError, ConnectionError):
        return


def answered(running: Running | None, peer: str, kind: str, given: list[Any]) -> tuple[Running | None, tuple[str, Any]]:
    """What is running from now on, and the answer."""
    try:
        if kind == "time":
            assert running is not None
            return running, ("done", running.round())
        gc.collect()
        suite, case, what, size = given
        made = started(importlib.import_module(f"suites.{suite}").program(case, what, peer, size))
        return made, ("done", (made.first, made.once, made.memory, made.results))
    except Absent as absent:
        return None, ("absent", str(absent))
    except Exception as error:
        return None, ("failed", (f"{type(error).__name__}: {error}", traceback.format_exc()))
