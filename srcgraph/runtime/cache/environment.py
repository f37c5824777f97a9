"""What compiled code depends on besides the user's functions: versions, processor, settings, the compiler itself."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding as llvm
from numba.core import config

FORMAT = 1
"""Of entries. Entries of another one are never read: the folder has the number in its name."""
_IMPORTED = time.time()
_ROOT = Path(__file__).parent.parent.parent
_SETTINGS = (
    "OPT", "BOUNDSCHECK", "CPU_NAME", "CPU_FEATURES", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DISABLE_INTEL_SVML",
    "ENABLE_AVX", "DEBUGINFO_DEFAULT", "DISABLE_JIT", "LLVM_REFPRUNE_FLAGS", "LLVM_REFPRUNE_PASS",
)  # fmt: skip
"""What numba goes by when it compiles, wherever it has it from."""
_LIBRARIES = ("numba", "llvmlite", "numpy", "scipy", "gast", "astunparse")


class EditedError(Exception):
    """The compiler's own sources may not be those that are running."""


def digest(*parts: object) -> str:
    """A hash of texts and what ``repr`` writes of the rest."""
    made = hashlib.sha256()
    for part in parts:
        text = part if isinstance(part, bytes) else repr(part).encode()
        made.update(len(text).to_bytes(8, "little"))
        made.update(text)
    return made.hexdigest()


def own_sources(root: Path = _ROOT, imported: float = _IMPORTED) -> str:
    """A hash of all modules of the package, so that whoever edits it gets no code of before.

    Raises
    ------
    EditedError
        One of them was changed after it may have been imported.
    """
    found = []
    for path in sorted(root.rglob("*.py")):
        if path.stat().st_mtime > imported:
            raise EditedError(f"{path.name} of srcgraph was edited after it was imported")
        found += [str(path.relative_to(root)), path.read_bytes()]
    return digest(*found)


@cache
def environment() -> str:
    """A hash of it all, found once per process."""
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
    settings += [(name, repr(getattr(config, name, None))) for name in _SETTINGS]
    python = sys.version, sys.implementation.cache_tag, sys.flags.optimize, sys.byteorder
    processor = platform.machine(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    libraries = [(name, version(name)) for name in _LIBRARIES]
    return digest(FORMAT, own_sources(), libraries, python, processor, settings)
