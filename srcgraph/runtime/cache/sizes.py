"""How large the folder may grow, and what goes first."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from filelock import FileLock, Timeout

from srcgraph.runtime.cache.folder import LOCKING, Folder, warn_once
from srcgraph.runtime.cache.objects import RECORD

DEFAULT = 1 << 30
"""Bytes."""
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_OLD = 3600.0
"""Seconds after which a file that was being written is what a killed process left."""


def cap() -> int:
    """How many bytes may be kept: ``$SRCGRAPH_CACHE_SIZE``, such as ``500 MB``, or a gibibyte."""
    found = bytes_of("SRCGRAPH_CACHE_SIZE", "srcgraph keeps up to 1 GiB of compiled code on disk")
    return DEFAULT if found is None else found


def bytes_of(variable: str, otherwise: str) -> int | None:
    """The amount of memory that a variable of the environment names; None, with a warning, if it is none."""
    given = os.environ.get(variable, "")
    text = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kmgt]i?)?b?\s*", given, re.IGNORECASE)
    if text is None:
        if given.strip():
            warn_once(f"{variable}={given!r} is no amount of memory such as '500 MB' or '2 GiB'", otherwise)
        return None
    return int(Fraction(text[1]) * _UNITS[(text[2] or "").lower()])


@dataclass(slots=True)
class Group:
    """The files of one entry.

    Attributes
    ----------
    used : float
        When it was last of use.
    hits : int
        How often.
    """

    name: str
    files: list[Path] = field(default_factory=list)
    size: int = 0
    used: float = 0.0
    hits: int = 0

    @property
    def is_entry(self) -> bool:
        """Whether it is complete: its record is written last."""
        return any(f.name.endswith(".entry.json") for f in self.files)

    @property
    def is_shared(self) -> bool:
        """Whether it is a kernel or a helper, which several entries use, and complete."""
        return any(f.name.endswith(f".{RECORD}") for f in self.files)

    @property
    def is_note(self) -> bool:
        """Whether it is only a lock, or says that a source was found to be right."""
        return all(f.name.endswith((".lock", ".known")) for f in self.files)

    def remove(self) -> int:
        """Remove it, its record first; the bytes that are free then."""
        for file in sorted(self.files, key=lambda f: not f.name.endswith((".entry.json", RECORD))):
            with contextlib.suppress(OSError):
                if file.is_dir() and not file.is_symlink():
                    shutil.rmtree(file)
                else:
                    file.unlink()
        return self.size


def groups(root: Path) -> Iterator[Group]:
    """The entries below a folder; a file that belongs to none is one of its own."""
    for inner in sorted(p for p in root.glob("[0-9a-f][0-9a-f]") if p.is_dir() and not p.is_symlink()):
        found: dict[str, Group] = {}
        for file in inner.iterdir():
            try:
                state = file.lstat()
            except OSError:
                continue
            group = found.setdefault(file.name.split(".")[0] or file.name, Group(file.name.split(".")[0] or file.name))
            group.files.append(file)
            group.size += state.st_size
            group.used = max(group.used, state.st_mtime)
            if file.name.endswith(".hits"):
                group.hits = state.st_size
        yield from found.values()


_written: dict[Path, int] = {}


def make_room(folder: Folder) -> None:
    """Remove what was not of use for the longest time, if there is too much; looked at now and then."""
    most = cap()
    count = _written.get(folder.root, 0)
    _written[folder.root] = count + 1
    if count % 32 and most > 1 << 24:
        return
    trim(folder.root, most)


def trim(root: Path, most: int) -> None:
    """Remove entries until no more than four fifths of ``most`` bytes are left, if there are more than that."""
    known = sorted(groups(root), key=lambda g: g.used)
    newest = max((g.used for g in known), default=0.0)
    for g in known:
        if not g.is_entry and not g.is_shared and g.used < newest - _OLD and not g.is_note:
            g.remove()
    total = sum(g.size for g in known)
    if total <= most:
        return
    for g in known:
        if total <= most * 0.8:
            return
        total -= g.remove()


def remove_all(folder: Folder) -> int:
    """Remove every entry; how many there were. What is being compiled is waited for, and removed then.

    Raises
    ------
    TimeoutError
        It took longer than processes wait for each other; all else was removed.
    """
    known = list(groups(folder.root))
    names = {g.name for g in known if not g.name.startswith(".aside-")}  # others may be writing these
    removed, left = 0, 0
    with contextlib.ExitStack() as held:
        locks = {file.name.removesuffix(".lock"): file for g in known for file in g.files if file.suffix == ".lock"}
        busy = [name for name, file in locks.items() if not _taken(held, file)]
        for group in groups(folder.root):  # as it is now, with what was written meanwhile
            if any(_is_part_of(group.name, lock) for lock in busy):
                left += 1
            elif group.name in names or any(_is_part_of(group.name, lock) for lock in locks):
                removed += group.is_entry
                group.remove()
    _remove_other_formats(folder)
    if left:
        raise TimeoutError(f"{removed} entries were removed; what another process is compiling was left")
    return removed


def remove_stale(folder: Folder, is_stale: Callable[[Group], bool]) -> int:
    """Remove the entries of which that is so, what a killed process left, and other formats; how many entries."""
    known = list(groups(folder.root))
    before = time.time() - _OLD
    stale = [g for g in known if is_stale(g)]
    kept = [g.name for g in known if (g.is_entry or g.is_shared) and g not in stale]
    for group in stale:
        group.remove()
    for group in known:
        whole = group.is_entry or group.is_shared
        if not whole and group.used < before and not any(name.startswith(group.name) for name in kept):
            group.remove()
    _remove_other_formats(folder)
    return len(stale)


def _remove_other_formats(folder: Folder) -> None:
    for other in folder.root.parent.glob("v[0-9]*"):
        if other != folder.root and not other.is_symlink():
            shutil.rmtree(other, ignore_errors=True)


def _taken(held: contextlib.ExitStack, file: Path) -> bool:
    """Whether no other process has a lock now, or soon; where there are no locks, none has."""
    if not LOCKING.on:
        return True
    lock = FileLock(file, timeout=LOCKING.patience, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        return False
    except (OSError, NotImplementedError):
        return True
    held.callback(lock.release)
    return True


def _is_part_of(name: str, lock: str) -> bool:
    """Whether an entry is written by who has a lock: on all entries for a call, or on one piece of machine code."""
    return name == lock.split(".")[0] or name.startswith(f"{lock}_")
