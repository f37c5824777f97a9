"""The memory of large arrays, which compiled functions keep for their next ones: how much, and giving it back."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from srcgraph.errors import ArgumentError, Problem
from srcgraph.runtime.cache.sizes import bytes_of
from srcgraph.runtime.pool import STATE, shrink

__all__ = ["held", "limit", "release", "used"]

MOST = 1 << 30
"""Bytes that are kept, if that is no more than an eighth of what there is."""
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much the processes of a container may have."""


def held() -> int:
    """How many bytes are kept, that no array has now."""
    return STATE.held


def used() -> int:
    """How many bytes large arrays have now."""
    return STATE.used


def limit(most: int | None = None) -> int:
    """How many bytes may be kept; set if it is given.

    Parameters
    ----------
    most : int, optional
        The new limit; 0 for keeping nothing. What is kept is given back, what was kept for longest first, until it is
        no more.

    Returns
    -------
    int
        The limit from now on. At first that is ``$SRCGRAPH_MEMORY_SIZE``, such as ``500 MB``, or else a gibibyte, or an
        eighth of the memory there is if that is less.
    """
    if most is not None:
        if not isinstance(most, int) or isinstance(most, bool) or not 0 <= most < 2**63:
            raise ArgumentError(Problem(f"limit takes a number of bytes, not {most!r}"))
        STATE.limit = most
        _shrink(most)
    return STATE.limit


def release() -> None:
    """Give back all that is kept. Arrays stay as they are."""
    _shrink(0)


def _shrink(most: int) -> None:
    for _ in range(_TRIES):
        shrink(most)
        if STATE.held <= most:
            return
        time.sleep(0)


_TRIES = 1000
"""How often it is tried while other threads take memory and give it back."""


def _first_limit() -> int:
    given = bytes_of("SRCGRAPH_MEMORY_SIZE", "srcgraph keeps up to 1 GiB of memory of arrays")
    return min(MOST, _there_is() // 8) if given is None else min(given, 2**63 - 1)


def _there_is() -> int:
    """How many bytes of memory this process may have."""
    found = [2**63]
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", ()):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in _GROUPS:
        with contextlib.suppress(OSError, ValueError):  # none, or "max"
            found.append(int(Path(name).read_text()))
    return min(n for n in found if n > 0)


STATE.limit = _first_limit()
