"""What users ask of the cache: what is in it, where it is, whether it is whole, to be emptied in part or whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srcgraph.errors import ArgumentError
from srcgraph.runtime.cache.environment import environment
from srcgraph.runtime.cache.files import ENVIRONMENT, Entry, opened
from srcgraph.runtime.cache.folder import LOCKING, CacheWarning, Folder, NotTrustedError, place
from srcgraph.runtime.cache.objects import RECORD
from srcgraph.runtime.cache.sizes import Group, cap, groups, remove_all, remove_stale
from srcgraph.runtime.cache.statistics import STATISTICS, Statistics

ENDING = ".entry.json"


@dataclass(frozen=True, slots=True)
class Info:
    """What is in the cache.

    Attributes
    ----------
    path : Path
    entries, bytes, hits : int
        Compiled versions, what they take, and how often they were of use.
    most : int
        The bytes that may be kept.
    process : Statistics
        What happened in this process.
    problem : str
        Why the folder is not used; '' if it is.
    """

    path: Path
    entries: int
    bytes: int
    hits: int
    most: int
    process: Statistics
    problem: str = ""


def path() -> Path:
    """Where compiled code is kept."""
    return place()


def _folder() -> Folder | None:
    """The folder, if there is one.

    Raises
    ------
    NotTrustedError
        It is not the user's alone.
    """
    return Folder(place()) if place().exists() or place().is_symlink() else None


def info() -> Info:
    """How many versions are kept, how large they are, how often they were of use; why nothing is, if that is so."""
    try:
        folder = _folder()
    except (OSError, NotTrustedError) as error:
        return Info(place(), 0, 0, 0, cap(), STATISTICS, f"the folder is not trusted, so it is not used: {error}")
    known = [] if folder is None else list(groups(folder.root))
    entries = sum(g.is_entry for g in known)
    return Info(place(), entries, sum(g.size for g in known), sum(g.hits for g in known), cap(), STATISTICS)


def clear() -> int:
    """Remove all that is kept; how many versions there were. What is being compiled is waited for.

    Raises
    ------
    NotTrustedError
        The folder is not the user's alone.
    TimeoutError
        Another process compiles for longer than processes wait for each other (`set_lock`); all else was removed.
    """
    folder = _folder()
    return 0 if folder is None else remove_all(folder)


@dataclass(frozen=True, slots=True)
class Listed:
    """One compiled version that is kept.

    Attributes
    ----------
    function, name : str
        Of what, and what its files are called.
    bytes, hits : int
    made, used : float
        When it was written, and last of use, in seconds as of `time.time`.
    reachable : bool
        Whether it can be of use here: it is not of other versions of srcgraph, Python or a library, nor of another
        processor.
    """

    function: str
    name: str
    bytes: int
    hits: int
    made: float
    used: float
    reachable: bool


def entries() -> list[Listed]:
    """What is kept, the last used first.

    Raises
    ------
    NotTrustedError
        The folder is not the user's alone.
    """
    folder = _folder()
    found = [] if folder is None else [_listed(folder, g) for g in groups(folder.root) if g.is_entry]
    return sorted(found, key=lambda e: -e.used)


def _listed(folder: Folder, group: Group) -> Listed:
    note = _note(folder, group)
    made = min((f.lstat().st_mtime for f in group.files if f.name.endswith(ENDING) and f.exists()), default=group.used)
    function = note.get("function", "(its record is not whole)")
    return Listed(function, group.name, group.size, group.hits, made, group.used, _is_reachable(note))


def _note(folder: Folder, group: Group) -> dict[str, Any]:
    """The record of an entry, or of what entries share; empty if it is not whole."""
    entry = Entry(folder, group.files[0].parent.name, group.name)
    return entry.read("entry.json" if group.is_entry else RECORD) or {}


def _is_reachable(note: Mapping[str, Any]) -> bool:
    return note.get(ENVIRONMENT) == environment()


def purge() -> int:
    """Remove what can never be of use again; how many versions, kernels and helpers that were.

    That is what was compiled by another version of srcgraph, Python or a library, or for another processor, and what is
    not whole. Other installations that share the folder compile theirs again.

    Raises
    ------
    NotTrustedError
        The folder is not the user's alone.
    """
    folder = _folder()
    if folder is None:
        return 0
    return remove_stale(folder, lambda g: (g.is_entry or g.is_shared) and not _is_reachable(_note(folder, g)))


def set_lock(on: bool = True, timeout: float | None = None) -> None:
    """Whether processes that need the same version at once wait for the one that compiles it.

    Without, each compiles for itself; what is kept is whole in any case. It is for file systems whose locks do not
    work, or are slow.

    Parameters
    ----------
    on : bool
    timeout : float, optional
        The seconds to wait at most, 60 at first; then this process compiles, too.
    """
    if timeout is not None and not timeout >= 0.0:
        raise ArgumentError(f"timeout must be a number of seconds, not {timeout!r}")
    LOCKING.on = bool(on)
    if timeout is not None:
        LOCKING.patience = float(timeout)


def verify() -> list[str]:
    """Check every entry, and name those that are not whole: they are not used, and can be removed.

    Raises
    ------
    NotTrustedError
        The folder is not the user's alone.
    """
    folder = _folder()
    return [] if folder is None else [bad for g in groups(folder.root) for bad in _problems(folder, g)]


def _problems(folder: Folder, group: Group) -> list[str]:
    names = {f.name for f in group.files}
    if group.is_shared:
        return _problems_of_shared(Entry(folder, group.files[0].parent.name, group.name), names)
    if not group.is_entry:  # what a process that was killed left, or one is writing: no one reads it
        return []
    entry = Entry(folder, group.files[0].parent.name, group.name)
    where = f"{entry.key}/{group.name}"
    bad = [f"{entry.key}/{f.name}: a symbolic link" for f in group.files if f.is_symlink()]
    note = entry.read("entry.json")
    if note is None:
        return [*bad, f"{where}: its record is not whole"]
    for part in ("first", "second"):
        if part in note and entry.read_bytes(f"{part}.py", note[part]["sha256"]) is None:
            bad.append(f"{where}.{part}.py: missing or not what was written")
    for name in sorted(n for n in names if n.endswith(".json") and not n.endswith(ENDING)):
        bad += _problem_of_code(entry, name)
    return bad


def _problems_of_shared(entry: Entry, names: set[str]) -> list[str]:
    """What is wrong with a kernel, or with a helper."""
    where = f"{entry.key}/{entry.name}"
    note = entry.read(RECORD)
    if note is None:
        return [f"{where}: its record is not whole"]
    if "sha256" in note and entry.read_bytes("o", note["sha256"]) is None:
        return [f"{where}.o: missing or not what was written"]
    code = sorted(n for n in names if n.endswith(".json") and not n.endswith(f".{RECORD}"))
    return [problem for name in code for problem in _problem_of_code(entry, name)]


def _problem_of_code(entry: Entry, name: str) -> list[str]:
    """What is wrong with a piece of machine code."""
    note = opened(entry.folder.read(entry.key, name))
    end = name.removeprefix(f"{entry.name}.").removesuffix(".json")
    if not isinstance(note, dict) or entry.read(f"{end}.json") is None:
        return [f"{entry.key}/{name}: not whole"]
    if entry.read_bytes(f"{end}.nbc", note["sha256"]) is None:
        return [f"{entry.key}/{entry.name}.{end}.nbc: missing or not what was written"]
    return []


__all__ = [
    "CacheWarning", "Info", "Listed", "NotTrustedError", "clear", "entries", "info", "path", "purge", "set_lock",
    "verify",
]  # fmt: skip
