"""Machine code in entries: numba's own pickles, read only where their hash is the one noted.

numba asks `Kept` for what it compiled before, and gives it what it compiles, as it does its own cache on disk, which
is not used: that cache reads its index without a check, does not know what a function calls, and has entries under
symbols that are alike in processes that were forked.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import pickle
import random
from typing import Any

import llvmlite.binding as llvm
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import _Cache
from numba.core.codegen import RuntimeLinker
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from srcgraph.runtime import workers
from srcgraph.runtime.cache.environment import digest
from srcgraph.runtime.cache.files import Entry, sha256
from srcgraph.runtime.cache.statistics import LOG, STATISTICS
from srcgraph.runtime.kernels import bound_of
from srcgraph.runtime.pool import NEW, enter

_SYMBOLS = "srcgraph_"
"""How the names of C functions begin that modules of `srcgraph.runtime` enter for compiled code."""


def number_apart() -> None:
    """Let no two processes give functions the same numbers, which are part of their symbols.

    Code of several processes meets in one that reads it, and LLVM takes functions of one name for the same.
    """
    FunctionIdentity._unique_ids = itertools.count(random.SystemRandom().getrandbits(96))  # type: ignore[assignment]


number_apart()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=number_apart)


class Kept(_Cache):
    """What numba compiled of one function of an entry, for several layouts of its arguments.

    Parameters
    ----------
    entry : Entry
    part : str
        Which of its functions.
    """

    counted = True
    """Whether statistics tell of it."""

    def __init__(self, entry: Entry, part: str):
        self.entry = entry
        self.part = part
        self.work = contextlib.ExitStack()

    @property
    def cache_path(self) -> str:  # type: ignore[override]
        return str(self.entry.folder.root)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for a signature; if nothing was, none but this process compiles it from now on."""
        found = self.read(sig, target_context)
        if found is None:
            certain = self.work.enter_context(self.entry.folder.alone(self.entry.key, self.entry.file(self.of(sig))))
            found = self.read(sig, target_context) if certain else None
        if self.counted:
            STATISTICS.native(found is not None)
        return found

    def of(self, sig: Any) -> str:
        return f"{self.part}-{digest(str(sig))[:12]}"

    def read(self, sig: Any, target_context: Any) -> Any:
        note = self.entry.read(f"{self.of(sig)}.json")
        if note is None or note.get("signature") != str(sig):
            return None
        data = self.entry.read_bytes(f"{self.of(sig)}.nbc", note["sha256"])
        if data is None or not all(_is_known(name) for name in note["symbols"]):
            return None
        target_context.refresh()
        waiting = [_room(name) for name in note["later"]]
        try:
            made = CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception as error:  # nothing on disk is a reason to fail
            LOG.warning("code of %s cannot be read: %r", self.entry.name, error)
            return None
        for name, pointer in zip(note["later"], waiting, strict=True):
            pointer.value = target_context.codegen()._engine.get_function_address(name)
        return made

    def save_overload(self, sig: Any, data: Any) -> None:
        if data.lifted or data.library.has_dynamic_globals:
            STATISTICS.uncached("numba cannot keep what it compiled: it has addresses of this process")
            return
        try:
            text = dumps(data._reduce())
        except Exception as error:  # whatever numba, or an object it met, has against pickling
            STATISTICS.uncached(f"numba cannot keep what it compiled: {error}")
            return
        symbols, later = _external(data.library)
        if any(name != data.fndesc.mangled_name for name in later):
            STATISTICS.uncached("numba cannot keep what it compiled: functions in it call each other")
            return
        note = {"signature": str(sig), "sha256": sha256(text), "symbols": symbols, "later": later}
        if self.entry.write_bytes(f"{self.of(sig)}.nbc", text):
            self.entry.write(f"{self.of(sig)}.json", note)

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


def _external(library: Any) -> tuple[list[str], list[str]]:
    """The C functions and data that code needs, of those that modules of ours enter; and what it finds later.

    Functions that call each other know of one by a pointer, which numba fills in when that function is compiled.
    """
    module = library._final_module
    found = {v.name for v in (*module.functions, *module.global_variables) if v.is_declaration}
    later = [name.removeprefix(_LATER) for name in found if name.startswith(_LATER)]
    return sorted(name for name in found if name.startswith(_SYMBOLS)), sorted(later)


def _is_known(symbol: str) -> bool:
    """Whether code that needs a symbol can be linked; kernels, and the pool, are made, or read, for that."""
    kernel = bound_of(symbol)
    if kernel is not None:
        kernel.enter()
    elif symbol == NEW:
        enter()
    elif symbol.startswith(workers.PREFIX):
        workers.enter()
    return bool(llvm.address_of_symbol(symbol))


_LATER = RuntimeLinker.PREFIX
_POINTERS: list[ctypes.c_void_p] = []


def _room(name: str) -> ctypes.c_void_p:
    """A pointer to a function under the symbol by which compiled code knows it."""
    pointer = ctypes.c_void_p()
    _POINTERS.append(pointer)
    llvm.add_symbol(f"{_LATER}{name}", ctypes.addressof(pointer))
    return pointer


def keep(function: Any, entry: Entry, part: str) -> None:
    """Let numba read and keep in an entry what it compiles of a function."""
    if not isinstance(function, Dispatcher) or isinstance(
        getattr(function, "_cache", None), Kept
    ):  # numba is switched off; or it does
        return
    attach(function, Kept(entry, part))


def attach(function: Dispatcher, kept: Kept) -> None:
    """Let numba ask for what was compiled of a function, and give what it compiles."""
    original = function.compile

    def compile(sig: Any) -> Any:
        with kept.work:
            return original(sig)

    function._cache = kept  # type: ignore[attr-defined]
    function.compile = compile  # type: ignore[method-assign]
