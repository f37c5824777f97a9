"""While something is compiled, Python looks for cycles of garbage less often.

Compiling makes many small objects, most of which stay until it ends. Python's collector, which goes through them each
time that some hundred more have been made, takes up to a tenth of the time and finds little.

References
----------
Python library reference, "gc", ``set_threshold``.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 100_000
"""So many objects more than were freed have to be made before the collector looks."""
_LOCK = threading.Lock()
_BEFORE: list[tuple[int, int, int]] = []
"""The thresholds before, if threads are compiling, and for each of them an entry."""


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Raise the collector's threshold for new objects; when the last thread leaves, it is what it was.

    A threshold that is higher, or 0 for never, stays, and so does one that was set meanwhile.
    """
    with _LOCK:
        now = gc.get_threshold()
        raised = (SELDOM, *now[1:])
        if not _BEFORE and 0 < now[0] < SELDOM:
            gc.set_threshold(*raised)
        _BEFORE.append(_BEFORE[0] if _BEFORE else now)
    try:
        yield
    finally:
        with _LOCK:
            before = _BEFORE.pop()
            if not _BEFORE and before[0] < SELDOM and gc.get_threshold()[0] == SELDOM:
                gc.set_threshold(*before)


def _unlock() -> None:
    global _LOCK
    _LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)  # a thread that held it is not in the child
