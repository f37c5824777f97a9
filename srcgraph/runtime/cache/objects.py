"""What several entries use: machine code of kernels, and of helpers that generated code calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcgraph.runtime.cache.environment import EditedError, digest, environment
from srcgraph.runtime.cache.files import Entry, sha256
from srcgraph.runtime.cache.folder import folder, keeps_kernels

RECORD = "shared.json"
"""The last of its files to be written; it says that the others are whole."""


def shared_entry(kind: str, name: str) -> Entry | None:
    """Where something that several entries use is kept; None if nothing is."""
    found = folder() if keeps_kernels() else None
    if found is None:
        return None
    try:
        key = digest(environment(), kind, name)
    except (EditedError, OSError):
        return None
    return Entry(found, key, f"{kind}_{key[:32]}")


def kept_object(name: str, make: Callable[[], tuple[bytes, Any]]) -> tuple[bytes, Any]:
    """An object file and a note of what it needs, as JSON: from disk, or made and kept."""
    entry = shared_entry("kernel", name)
    if entry is None:
        return make()
    note = entry.read(RECORD)
    if note is not None and note.get("name") == name:
        code = entry.read_bytes("o", note["sha256"])
        if code is not None:
            return code, note["needs"]
    code, needs = make()
    if entry.write_bytes("o", code):
        entry.write(RECORD, {"name": name, "sha256": sha256(code), "needs": needs})
    return code, needs
