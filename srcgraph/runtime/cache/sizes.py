"""How large the folder may grow, and what goes first."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from srcgraph.runtime.cache.folder import Folder, warn_once
from srcgraph.runtime.cache.objects import RECORD

DEFAULT = 1 << 30
"""Bytes."""
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_OLD = 3600.0
"""Seconds after which a file that was being written is what a killed process left."""


def cap() -> int:
    """How many bytes may be kept: ``$SRCGRAPH_CACHE_SIZE``, such as ``500 MB``, or a gibibyte."""
    given = os.environ.get("SRCGRAPH_CACHE_SIZE", "")
    text = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kmgt]i?)?b?\s*", given, re.IGNORECASE)
    if text is None:
        if given.strip():
            warn_once(f"SRCGRAPH_CACHE_SIZE={given!r} is no amount of memory; it is taken to be 1 GiB")
        return DEFAULT
    return int(float(text[1]) * _UNITS[(text[2] or "").lower()])


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


def remove_all(root: Path) -> int:
    """Remove every entry; how many there were. Who compiles meanwhile finds, or makes, what it needs."""
    known = [g for g in groups(root) if not g.name.startswith(".aside-")]  # others may be writing these
    for g in known:
        g.remove()
    for other in root.parent.glob("v[0-9]*"):
        if other != root and not other.is_symlink():
            shutil.rmtree(other, ignore_errors=True)
    return sum(g.is_entry for g in known)
