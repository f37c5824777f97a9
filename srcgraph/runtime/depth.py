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


def with_depth(run: Callable[..., Any], frame: int, repeatable: bool = False) -> Callable[..., Any]:
    """A function that runs ``run`` with the depth that recursion may have as its last argument.

    ``frame`` is how many bytes of stack one call needs at most. What is ``repeatable`` is tried on the stack that is
    there; after the first time that this did not do, no more: what was raised half-way through may leave memory behind.
    """
    shallow = SURE // frame if repeatable else 0

    def call(*leaves: Any) -> Any:
        nonlocal shallow
        depth = sys.getrecursionlimit()
        if depth * frame <= SURE:
            return run(*leaves, depth)
        if shallow:
            try:
                return run(*leaves, shallow)
            except RecursionError:
                shallow = 0
        depth = min(depth, MOST // frame)
        return on_own_stack(lambda: run(*leaves, depth), depth * frame + SURE)

    return call


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
