"""Threads that run the parts of loops of compiled code, side by side with the thread that calls it.

The code (`workers_code`) is one module, in a process once. A caller who finds the threads at work for another one, or
is one of them, runs its parts itself, in order, so that nobody ever waits for somebody else's loop. Threads are made
when they are first needed, and anew in a process that was forked: its number is not the one noted. They look for work
for 50 microseconds and then sleep; they know nothing of Python, take no signals, and call nothing of Python's.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
from functools import cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from srcgraph.runtime.kernels.machine import functions
from srcgraph.runtime.workers_code import PLACES, WORDS, text

PREFIX = "srcgraph_threads_"
RUN = f"{PREFIX}run"
"""The symbol of what compiled code calls: ``void run(function, context, int64 parts, int64 first, int64 stride)``."""
PARTS = f"{PREFIX}parts"
"""``int64 parts(int64 trips, double work, int64 size, int64 spread)``."""
SUPPORTED = hasattr(os, "fork") and sys.maxsize > 2**32
"""Whether the system's threads are POSIX's; elsewhere the caller runs all parts."""
GRAIN = 40_000
"""How many operations a part has at least; they take some ten microseconds."""
LEAST = 4
"""A loop that has not the work of so many parts is not divided: other threads would come too late."""


class State(ctypes.Structure):
    """What the code and Python share.

    Attributes
    ----------
    words : array
        `PLACES` says which is which.
    """

    _fields_ = (("before", ctypes.c_int64 * 8), ("words", ctypes.c_int64 * WORDS))

    def __getitem__(self, name: str) -> int:
        return self.words[PLACES[name]]

    def __setitem__(self, name: str, value: int) -> None:
        self.words[PLACES[name]] = value


STATE = State()
STATE["GRAIN"], STATE["LEAST"], STATE["THREADS"] = GRAIN, LEAST, 1


class _Module(NamedTuple):
    """What `functions` compiles."""

    module: str
    needs: frozenset[tuple[str, str]] = frozenset()
    loops: bool = False


@cache
def enter() -> None:
    """Let compiled code find the threads of this process."""
    llvm.add_symbol(f"{PREFIX}state", ctypes.addressof(STATE.words))
    symbols = [RUN, PARTS, f"{PREFIX}close"]
    addresses = functions(symbols, lambda: _Module(text()), optimised=False)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(STATE))  # threads may look at it after Python's modules have gone
    atexit.register(ctypes.CFUNCTYPE(None)(addresses[-1]))


def parts_of(trips: int, work: float, size: int, spread: int) -> int:
    """As compiled code finds it."""
    enter()
    kinds: Any = (ctypes.c_int64, ctypes.c_double, ctypes.c_int64, ctypes.c_int64)
    address = llvm.address_of_symbol(PARTS)
    return ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(address)(trips, work, size, spread)
