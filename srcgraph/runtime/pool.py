"""Blocks of memory for large arrays, which are kept when an array goes, for the next one.

A system hands out memory page by page, when it is first written to, and clears each page: for an array that is filled
once, that takes longer than filling it. So the memory of arrays that nobody has any more is not given back at once.

The code (`pool_code`) is one module, in a process once, at an address that does not change: arrays outlive the
functions that made them. Its state is a few words that Python sees too. numba asks ``take`` for memory and gives it to
``give``, by its interface for allocators other than C's. There is one lock, tried once: who does not get it maps and
unmaps memory as if nothing were kept, so that nobody ever waits.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python as nrt  # type: ignore[reportAttributeAccessIssue]
from numba.core.runtime.nrt import rtsys

from srcgraph.runtime.kernels.machine import functions
from srcgraph.runtime.pool_code import PLACES, text

PREFIX = "srcgraph_memory_"
NEW = f"{PREFIX}new"
"""The symbol of what compiled code calls: ``MemInfo *new(int64 bytes, int64 cleared)``, or null."""
SUPPORTED = all(hasattr(mmap, n) for n in ("MAP_PRIVATE", "MAP_ANONYMOUS")) and sys.maxsize > 2**32
"""Whether the system is one of those that memory can be mapped from; elsewhere arrays are numba's."""
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class State(ctypes.Structure):
    """What the code and Python share. Blocks are in the order in which they were given back.

    Attributes
    ----------
    lock : int
        1 while a thread changes ``held`` and what follows ``lazy``.
    limit : int
        How many bytes may be kept.
    held : int
        How many are.
    used : int
        How many bytes the blocks of arrays have.
    perturb : int
        The byte that blocks are filled with when they are given back, and whose complement new arrays are full of, as
        glibc's ``MALLOC_PERTURB_``; -1 if they are left as they are.
    lazy : int
        Whether the system may take the memory of blocks that are kept when it runs short.
    count : int
        How many blocks are kept.
    bases, sizes : array
        Where they are, and how many bytes they have.
    """

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("lock", "limit", "held", "used", "perturb", "lazy", "count")),
        ("bases", ctypes.c_void_p * PLACES),
        ("sizes", ctypes.c_int64 * PLACES),
    )


STATE = State(perturb=-1)


class _Allocator(ctypes.Structure):
    """numba's ``NRT_ExternalAllocator``."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("malloc", "realloc", "free", "data"))


class _Api(ctypes.Structure):
    """numba's ``NRT_api_functions``."""

    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in ("allocate", "external", "manage", "acquire", "release", "data")
    )


class _Module(NamedTuple):
    """What `functions` compiles."""

    module: str
    needs: frozenset[tuple[str, str]] = frozenset()
    loops: bool = False


@cache
def enter() -> Any:
    """Let compiled code find the pool of this process; the function that gives back what is kept."""
    rtsys.initialize(cpu_target.target_context)
    api = ctypes.CFUNCTYPE(ctypes.POINTER(_Api))(nrt.c_helpers["get_api"])().contents
    allocator = _Allocator(data=ctypes.addressof(STATE))
    llvm.add_symbol(f"{PREFIX}external", api.external)
    llvm.add_symbol(f"{PREFIX}data", api.data)
    llvm.add_symbol(f"{PREFIX}allocator", ctypes.addressof(allocator))
    symbols = [f"{PREFIX}{name}" for name in ("new", "take", "give", "release")]
    _, allocator.malloc, allocator.free, release = functions(symbols, lambda: _Module(text()), optimised=False)
    STATE.lazy = hasattr(mmap, "MADV_FREE") and _has_huge_pages()
    STATE.perturb = _perturb()
    for needed in (STATE, allocator):  # arrays may go after Python's modules
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(needed))
    return ctypes.CFUNCTYPE(None, ctypes.POINTER(State), ctypes.c_int64)(release)


def _has_huge_pages() -> bool:
    """Whether much memory has few pages, so that telling the system about them is quick."""
    try:
        return "[never]" not in _HUGE_PAGES.read_text()
    except OSError:
        return False


def _perturb() -> int:
    given = os.environ.get("MALLOC_PERTURB_", "0")
    return int(given) % 256 if given.isdigit() and int(given) else -1


def shrink(most: int = 0) -> None:
    """Give back what was kept for longest, until no more than some bytes are kept, or another thread has the lock."""
    if enter.cache_info().currsize:
        enter()(STATE, most)


def _in_child() -> None:
    """What is kept is not: what a child writes to is copied then, which takes longer than new memory."""
    if STATE.lock:  # a thread that is not in the child was changing it; it is forgotten
        STATE.count = STATE.held = STATE.lock = 0
    shrink()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
