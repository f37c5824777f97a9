"""How many threads run the loops of functions compiled with ``parallel=True``."""

from __future__ import annotations

import os
import warnings

from srcgraph.errors import ArgumentError, Problem
from srcgraph.runtime.workers import STATE

__all__ = ["limit"]

MOST = 1024
"""Nobody has more cores, and threads that only wait take memory."""
_VARIABLE = "SRCGRAPH_NUM_THREADS"


def limit(most: int | None = None) -> int:
    """How many threads may run a loop, the calling one included; set if it is given.

    Parameters
    ----------
    most : int, optional
        The new limit; 1 for the calling thread alone.

    Returns
    -------
    int
        The limit from now on. At first that is ``$SRCGRAPH_NUM_THREADS``, or else the number of cores that the process
        may use.

    Notes
    -----
    Results do not depend on it: how a loop is divided follows from its size.
    """
    if most is not None:
        if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MOST:
            raise ArgumentError(Problem(f"limit takes a number of threads, 1 to {MOST}, not {most!r}"))
        STATE["THREADS"] = most
    return STATE["THREADS"]


def cores() -> int:
    """How many cores the process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _first_limit() -> int:
    given = os.environ.get(_VARIABLE, "")
    if given.isdigit() and 1 <= int(given) <= MOST:
        return int(given)
    if given:
        warnings.warn(f"{_VARIABLE} is {given!r}, not a number of threads; srcgraph uses {cores()}", stacklevel=2)
    return min(cores(), MOST)


STATE["THREADS"] = _first_limit()
