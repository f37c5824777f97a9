"""How deep compiled recursion may go: as deep as Python's, on a native stack that is large enough; and compiling.

A native stack that overflows ends the process. Generated functions that recurse therefore count down
from Python's own limit, and where that many calls may need more stack than the thread is sure to have,
they run in a thread with a stack of their own; starting one takes longer than a few hundred calls.

Compiling goes as deep as a text is nested: a sum of a thousand terms is a thousand sums inside each other. What is too
deep for Python's limit is compiled in such a thread, too, with a higher one.
"""

from __future__ import annotations

import contextvars
import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from srcgraph.errors import Problem, UnsupportedError
from srcgraph.frontend.room import room

try:
    import resource
except ImportError:  # Windows
    resource: Any = None

T = TypeVar("T")
SURE = 2 << 20
"""Bytes of stack that a thread of the usual size can be trusted to have left."""
PART = 4
"""So large a part of its stack can any thread be trusted to have left."""
UNKNOWN = 256 << 10
"""Bytes of stack that a thread may have where the system does not say: musl's have twice this, Windows' four times."""
MOST = 4 << 30
"""The largest stack that is asked for; it takes memory only as far as it is used."""
_sizes = threading.Lock()
DEEPEST = 50_000
"""Python's limit while something is compiled that is nested more deeply than usual."""
BELOW = 512 << 20
"""Bytes of stack for that."""


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

    __slots__ = ("frame", "repeatable", "run")

    def __init__(self, run: Callable[..., Any], frame: int, repeatable: bool = False):
        self.run, self.frame, self.repeatable = run, frame, repeatable

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
        if self.is_last(depth := sys.getrecursionlimit()):
            return depth
        return sure() // self.frame if self.repeatable else 0

    def is_last(self, depth: int) -> bool:
        """Whether it may not go deeper than that at all."""
        return depth == sys.getrecursionlimit() and depth * self.frame <= sure()

    def give_up(self) -> None:
        """Try it no more on the stack that is there."""
        self.repeatable = False


_thread = threading.local()


def sure() -> int:
    """How many bytes of stack this thread can be trusted to have left."""
    found = getattr(_thread, "sure", None)
    if found is None:
        found = _thread.sure = min(SURE, _stack_size() // PART)
    return found


def _stack_size() -> int:
    """How many bytes of stack this thread has, at least."""
    if threading.get_ident() == threading.main_thread().ident:
        limit = resource.getrlimit(resource.RLIMIT_STACK)[0] if resource is not None else UNKNOWN
        return SURE * PART if limit == getattr(resource, "RLIM_INFINITY", None) else limit
    try:
        c = ctypes.CDLL(None)
        attributes, base, size = ctypes.create_string_buffer(512), ctypes.c_void_p(), ctypes.c_size_t()
        if c.pthread_getattr_np(ctypes.c_void_p(threading.get_ident()), attributes) == 0:
            c.pthread_attr_getstack(attributes, ctypes.byref(base), ctypes.byref(size))
            c.pthread_attr_destroy(attributes)
    except (AttributeError, OSError, TypeError):  # another system
        size = ctypes.c_size_t()
    return size.value or UNKNOWN


def on_own_stack(action: Callable[[], Any], size: int) -> Any:
    """What ``action`` gives, run in a thread that has ``size`` bytes of stack."""
    result: list[Any] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            result.append(action())
        except BaseException as raised:
            error.append(raised)

    own = -(-size // 65536) * 65536
    with _sizes:
        before = threading.stack_size(own)
        try:
            thread = threading.Thread(target=run, name="srcgraph recursion")
            thread.start()
        finally:
            found = threading.stack_size(before)
            if found != own:  # another thread has set it since, for threads of its own
                threading.stack_size(found)
    thread.join()
    if error:
        raise error[0]
    return result[0]


def deeply(action: Callable[[], T], what: str) -> T:
    """What ``action`` gives, which goes as deep as a text is nested: on a stack of its own where that is too deep.

    Raises
    ------
    UnsupportedError
        If that does not do either; it is said of ``what``.
    """
    try:
        return action()
    except RecursionError:
        if getattr(_thread, "deep", False):
            raise
    context = contextvars.copy_context()
    try:
        return on_own_stack(lambda: context.run(_deeper, action), BELOW)
    except RecursionError as error:
        problem = Problem(f"{what} is nested too deeply to be compiled", hint="write it in several statements")
        raise UnsupportedError(problem) from error


def _deeper(action: Callable[[], T]) -> T:
    """Do something with a higher limit, in a thread with a large stack."""
    _thread.deep = True
    with room(DEEPEST):
        return action()
