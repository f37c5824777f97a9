"""The folder that compiled code is kept in: where it is, whether it can be trusted, reading and writing.

What is read here becomes machine code that runs, so the folder belongs to the user alone: whoever could write there,
could run anything as that user. A folder that is not so is not used. Files are written aside and renamed, so that
others see a whole file or none; what cannot be written is not kept.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from srcgraph.runtime.cache.environment import FORMAT


@dataclass(slots=True)
class Locking:
    """Whether processes that need the same wait for the one that compiles it, and how many seconds; then both do."""

    on: bool = True
    patience: float = 60.0


LOCKING = Locking()
_OWNED = hasattr(os, "geteuid")
_STICKY_OR_OWN = stat.S_IWGRP | stat.S_IWOTH


class NotTrustedError(Exception):
    """The folder may hold what others have written."""


class CacheWarning(UserWarning):
    """Compiled code is not kept, and why."""


def _wish() -> str:
    return os.environ.get("SRCGRAPH_CACHE", "1").strip().lower()


def is_on() -> bool:
    """Whether the environment lets compiled functions be kept."""
    return _wish() not in ("0", "off", "no", "false", "kernels")


def keeps_kernels() -> bool:
    """Whether it lets be kept what compiled functions call: kernels and helpers, which are srcgraph's own."""
    return is_on() or _wish() == "kernels"


def place() -> Path:
    """Where it is: ``$SRCGRAPH_CACHE_DIR``, or the user's cache folder."""
    given = os.environ.get("SRCGRAPH_CACHE_DIR")
    return Path(os.path.abspath(os.path.expanduser(given) if given else platformdirs.user_cache_dir("srcgraph", False)))


_WARNED: set[str] = set()
_LOCK = threading.Lock()


KEEPS_NOTHING = "srcgraph keeps no compiled code on disk"


def warn_once(why: str, what: str = KEEPS_NOTHING) -> None:
    """Say what is so and why, each thing once per process."""
    with _LOCK:
        if what in _WARNED:
            return
        _WARNED.add(what)
    warnings.warn(f"{what}: {why}", CacheWarning, stacklevel=2)


# -- trust -------------------------------------------------------------------------------------------------


def check_own(path: Path, mask: int = 0o077) -> None:
    """A folder must be the user's, and no link, and the bits of ``mask`` not among its mode.

    Raises
    ------
    NotTrustedError
        It is not so.
    """
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        raise NotTrustedError(f"{path} is a symbolic link")
    if not stat.S_ISDIR(found.st_mode):
        raise NotTrustedError(f"{path} is not a folder")
    if _OWNED and found.st_uid != os.geteuid():
        raise NotTrustedError(f"{path} belongs to another user")
    if _OWNED and found.st_mode & mask:
        raise NotTrustedError(f"others may use {path}: its mode is {stat.S_IMODE(found.st_mode):o}, not 700")


def check_parents(path: Path) -> None:
    """No one else may rename what a folder is in, or put another one in its place.

    Raises
    ------
    NotTrustedError
        Somebody may.
    """
    if not _OWNED:
        return
    for parent in {*path.parents, *Path(os.path.realpath(path.parent)).parents, Path(os.path.realpath(path.parent))}:
        found = os.lstat(parent)
        if found.st_uid not in (0, os.geteuid()):
            raise NotTrustedError(f"{parent}, in which it is, belongs to another user")
        writable = not stat.S_ISLNK(found.st_mode) and found.st_mode & _STICKY_OR_OWN
        if writable and not found.st_mode & stat.S_ISVTX:
            raise NotTrustedError(f"others may write to {parent}, in which it is")


def _made(path: Path) -> None:
    """A folder of the user's alone, made where there is none."""
    if not os.path.lexists(path):
        if not path.parent.is_dir():
            _made(path.parent)  # `Path.mkdir` would give it the mode that files of the user have
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)


def _is_own_file(found: os.stat_result) -> bool:
    """Whether it is a file, and only the user could have written it."""
    if not stat.S_ISREG(found.st_mode):
        return False
    return not _OWNED or (found.st_uid == os.geteuid() and not found.st_mode & _STICKY_OR_OWN)


class Folder:
    """A folder that is trusted.

    Attributes
    ----------
    root : Path
        With the number of the format of entries.
    """

    def __init__(self, base: Path):
        _made(base)
        check_own(base)
        check_parents(base)
        self.root = base / f"v{FORMAT}"
        _made(self.root)
        check_own(self.root)
        self.checked: set[str] = set()

    def inner(self, key: str, make: bool = False) -> Path:
        """The folder that the entries of a key are in."""
        path = self.root / key[:2]
        if make and not path.is_dir():
            for part in (self.root.parent, self.root, path):
                _made(part)
        if key[:2] not in self.checked:
            check_own(path, 0o022)
            self.checked.add(key[:2])
        return path

    def names(self, key: str, prefix: str) -> list[str]:
        """The files of a key whose names begin so."""
        try:
            return [name for name in os.listdir(self.inner(key)) if name.startswith(prefix)]
        except (OSError, NotTrustedError):
            return []

    def read(self, key: str, name: str) -> bytes | None:
        """A file; None if there is none that can be trusted."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a pipe has no writer
        try:
            file = os.open(self.inner(key) / name, flags)
        except (OSError, NotTrustedError):
            return None
        try:
            if not _is_own_file(os.fstat(file)):
                return None
            with open(file, "rb", closefd=False) as f:
                return f.read()
        except OSError:
            return None
        finally:
            os.close(file)

    def write(self, key: str, name: str, data: bytes) -> bool:
        """Write a file aside, and rename it; whether that was possible."""
        aside = None
        try:
            inner = self.inner(key, make=True)
            file, aside = tempfile.mkstemp(prefix=".aside-", dir=inner)
            with open(file, "wb") as f:
                f.write(data)
            if (inner / name).is_dir() and not (inner / name).is_symlink():
                shutil.rmtree(inner / name, ignore_errors=True)  # nothing of ours: a file could not take its place
            os.replace(aside, inner / name)
        except (OSError, NotTrustedError) as error:
            if aside is not None:
                with contextlib.suppress(OSError):
                    os.unlink(aside)
            if not isinstance(error, FileNotFoundError):  # it was removed meanwhile: there is nothing to warn of
                warn_once(f"{self.root.parent} cannot be written: {error}")
            return False
        return True

    def used(self, key: str, name: str) -> None:
        """Note that a file was of use: one more byte, and the time."""
        with contextlib.suppress(OSError, NotTrustedError):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            file = os.open(self.inner(key) / name, flags, 0o600)
            try:
                os.write(file, b".")
            finally:
                os.close(file)

    @contextlib.contextmanager
    def alone(self, key: str, name: str) -> Iterator[bool]:
        """While no other process compiles the same; whether that is certain.

        The lock is the system's, so it ends with the process that holds it.
        """
        lock = None
        if not LOCKING.on:
            yield False
            return
        try:
            lock = FileLock(self.inner(key, make=True) / f"{name}.lock", timeout=LOCKING.patience, mode=0o600)
            lock.acquire()
        except (OSError, NotTrustedError, NotImplementedError, Timeout):
            lock = None
        try:
            yield lock is not None
        finally:
            if lock is not None:
                lock.release()


_FOLDERS: dict[Path, Folder | None] = {}


def folder() -> Folder | None:
    """The folder that is used; None, with one warning, if it cannot be."""
    base = place()
    if base not in _FOLDERS:
        try:
            _FOLDERS[base] = Folder(base)
        except (OSError, NotTrustedError) as error:
            warn_once(str(error))
            _FOLDERS[base] = None
    return _FOLDERS[base]
