"""How deep compiled recursion may go: as deep as Python's, on a native stack that is large enough.

A native stack that overflows ends the process. Generated functions that recurse therefore count down
from Python's own limit, and where that many calls may need more stack than the thread is sure to have,
they run in a thread with a stack of their own; starting one takes longer than a few hundred calls.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

SURE = 2 << 20
"""Bytes of stack that a thread of Python's can be trusted to have left."""
MOST = 4 << 30
"""The largest stack that is asked for; it takes memory only as far as it is used."""
_sizes = threading.Lock()


class WithDepth:
    """A function that runs ``run`` with the depth that recursion may have as its last argument.

    Parameters
    ----------
    run : callable
    frame : int
        How many bytes of stack one call needs at most.
    repeatable : bool
        Whether it may be tried on the stack that is there; after the first time that this did not do, it is no more:
        what was raised half-way through may leave memory behind.
    """

    __slots__ = ("frame", "run", "shallow")

    def __init__(self, run: Callable[..., Any], frame: int, repeatable: bool = False):
        self.run, self.frame = run, frame
        self.shallow = SURE // frame if repeatable else 0

    def __call__(self, *leaves: Any) -> Any:
        depth = self.here()
        if self.is_last(depth):
            return self.run(*leaves, depth)
        if depth:
            try:
                return self.run(*leaves, depth)
            except RecursionError:
                self.give_up()
        depth = min(sys.getrecursionlimit(), MOST // self.frame)
        return on_own_stack(lambda: self.run(*leaves, depth), depth * self.frame + SURE)

    def here(self) -> int:
        """How deep it may go on the stack that is there; 0 if it is not tried."""
        return depth if self.is_last(depth := sys.getrecursionlimit()) else self.shallow

    def is_last(self, depth: int) -> bool:
        """Whether it may not go deeper than that at all."""
        return depth == sys.getrecursionlimit() and depth * self.frame <= SURE

    def give_up(self) -> None:
        """Try it no more on the stack that is there."""
        self.shallow = 0


def on_own_stack(action: Callable[[], Any], size: int) -> Any:
    """What ``action`` gives, run in a thread that has ``size`` bytes of stack."""
    result: list[Any] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            result.append(action())
        except BaseException as raised:
            error.append(raised)

    with _sizes:
        before = threading.stack_size(-(-size // 65536) * 65536)
        try:
            thread = threading.Thread(target=run, name="srcgraph recursion")
            thread.start()
        finally:
            threading.stack_size(before)
    thread.join()
    if error:
        raise error[0]
    return result[0]
