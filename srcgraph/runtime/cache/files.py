"""The files of an entry: text in an envelope that shows whether it is whole, and is this entry's."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from srcgraph.runtime.cache.environment import environment
from srcgraph.runtime.cache.folder import Folder

ENVIRONMENT = "environment"
"""Under which records have what they were compiled in: with another one they are never looked for."""
_HEAD = b'{"sha256": "'
_MIDDLE = b'", "entry": '


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sealed(content: Any) -> bytes:
    """JSON, and its hash before it."""
    inner = json.dumps(content, separators=(",", ":")).encode()
    return _HEAD + sha256(inner).encode() + _MIDDLE + inner + b"}\n"


def opened(data: bytes | None) -> Any:
    """What was sealed; None if it is not whole."""
    if data is None or not data.startswith(_HEAD) or not data.endswith(b"}\n"):
        return None
    at = len(_HEAD)
    found, middle, inner = data[at : at + 64], data[at + 64 : at + 64 + len(_MIDDLE)], data[at + 64 + len(_MIDDLE) : -2]
    if middle != _MIDDLE or sha256(inner).encode() != found:
        return None
    return json.loads(inner)


@dataclass(frozen=True, slots=True)
class Entry:
    """One compiled version on disk: the files that begin with its name.

    Attributes
    ----------
    key : str
        Of the function; its first letters are the folder's name.
    name : str
    """

    folder: Folder
    key: str
    name: str

    def file(self, end: str) -> str:
        return f"{self.name}.{end}"

    def read(self, end: str) -> Any:
        """A record; None if there is none that is whole and this entry's."""
        found = opened(self.folder.read(self.key, self.file(end)))
        return found if isinstance(found, dict) and found.get("is") == self.file(end) else None

    def write(self, end: str, content: dict[str, Any]) -> bool:
        note = {"is": self.file(end), ENVIRONMENT: environment(), **content}
        return self.folder.write(self.key, self.file(end), sealed(note))

    def read_bytes(self, end: str, hash_: str) -> bytes | None:
        """A file with that hash."""
        found = self.folder.read(self.key, self.file(end))
        return found if found is not None and sha256(found) == hash_ else None

    def write_bytes(self, end: str, data: bytes) -> bool:
        return self.folder.write(self.key, self.file(end), data)
