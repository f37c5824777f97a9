"""What the cache did in this process."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field

LOG = logging.getLogger("srcgraph.cache")


@dataclass(slots=True)
class Statistics:
    """Counts since the process began.

    Attributes
    ----------
    hits, misses : int
        Versions of functions that were there, and that were not.
    stored : int
        Versions written.
    loaded, compiled : int
        Machine code that was read, and that numba made.
    reasons : Counter
        Why versions were not kept.
    """

    hits: int = 0
    misses: int = 0
    stored: int = 0
    loaded: int = 0
    compiled: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def uncached(self, why: str) -> None:
        self.reasons[why] += 1
        LOG.info("not kept: %s", why)

    def native(self, was_there: bool) -> None:
        if was_there:
            self.loaded += 1
        else:
            self.compiled += 1


STATISTICS = Statistics()
