"""Sets of points as ranges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator


class Spans:
    """Points, as sorted ranges that do not touch; both ends belong to a range."""

    __slots__ = ("ends", "starts")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()):
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(ranges):
            self.add(start, end)

    def __contains__(self, point: int) -> bool:
        k = bisect_right(self.starts, point)
        return k > 0 and self.ends[k - 1] >= point

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.starts, self.ends, strict=True)

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, start: int, end: int) -> None:
        """Enter a range; those it meets or touches become one with it."""
        low = bisect_left(self.ends, start - 1)
        high = bisect_right(self.starts, end + 1)
        if low < high:
            start, end = min(start, self.starts[low]), max(end, self.ends[high - 1])
        self.starts[low:high] = [start]
        self.ends[low:high] = [end]
