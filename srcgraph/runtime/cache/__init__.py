"""Compiled code on disk, so that a process runs what another one compiled.

In: a call of a function that has no version for it yet. Out: the version, from disk if it is there. An entry is the
generated module, a record of what it means and what it was compiled from, and machine code. `docs/cache.md` says what
users need to know.

lookup       from a call to an entry: found, or compiled and kept
environment  what all compiled code depends on
prints       what a value is, the same in every process;  libraries: what has a name instead
places       where live objects are found again;  guards: what was compiled in, and whether it is the same now
versions     compiled versions as records, and back;  coders: what they return, as JSON
native       machine code: numba's pickles, read only where their hash is the one noted
objects      what several entries use: kernels, and helpers of `srcgraph.runtime`
folder       the folder: where it is, whether it can be trusted, reading and writing;  files: those of an entry
sizes        how large it may grow, and what goes first;  statistics: what happened in this process
commands     what users call: info, entries, path, verify, clear, purge, set_lock
"""

from srcgraph.runtime.cache.commands import (
    Info,
    Listed,
    NotTrustedError,
    clear,
    entries,
    info,
    path,
    purge,
    set_lock,
    verify,
)
from srcgraph.runtime.cache.folder import CacheWarning

__all__ = [
    "CacheWarning", "Info", "Listed", "NotTrustedError", "clear", "entries", "info", "path", "purge", "set_lock",
    "verify",
]  # fmt: skip
