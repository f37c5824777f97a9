"""Python's limit of recursion, raised while something that needs it is compiled: for all threads, as Python has it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_wanted: list[int] = []
"""The limits that are needed now."""
_usual = _set = 0
"""The limit before the first of them was asked for, and the one that was set last."""


@contextmanager
def room(limit: int) -> Iterator[None]:
    """At least that many calls inside each other; the last that needs more than usual puts the limit back.

    A limit that somebody else has set meanwhile stays.
    """
    _enter(limit)
    try:
        yield
    finally:
        _leave(limit)


def _enter(limit: int) -> None:
    global _usual, _set
    with _lock:
        if not _wanted or sys.getrecursionlimit() != _set:
            _usual = sys.getrecursionlimit()
        _wanted.append(limit)
        _put(max(_usual, *_wanted))


def _leave(limit: int) -> None:
    with _lock:
        _wanted.remove(limit)
        if sys.getrecursionlimit() == _set:
            _put(max([_usual, *_wanted]))


def _put(limit: int) -> None:
    global _set
    sys.setrecursionlimit(limit)
    _set = limit
