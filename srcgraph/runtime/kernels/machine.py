"""From glue to machine code: compiled once, kept on disk, in a process once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from srcgraph.runtime.cache.objects import kept_object
from srcgraph.runtime.kernels.glue import Glue
from srcgraph.runtime.kernels.libraries import enter
from srcgraph.runtime.kernels.limits import limits


class _Linker:
    """LLVM, which makes machine code, and puts it into this process."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features().flatten()
        target = llvm.Target.from_default_triple()
        self.target = target.create_target_machine(llvm.get_host_cpu_name(), features, opt=2, jit=True)
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.target)

    def compiled(self, glue: Glue) -> bytes:
        module = llvm.parse_assembly(str(glue.module))
        module.verify()
        builder = llvm.create_pass_builder(self.target, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
        return self.target.emit_object(module)

    def linked(self, symbol: str, code: bytes) -> int:
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self.engine.finalize_object()
        return self.engine.get_function_address(symbol)


_LOCK = threading.RLock()
_FOUND: dict[str, int] = {}
_LINKERS: list[_Linker] = []


def _key(symbol: str) -> str:
    """What its object file depends on besides the environment."""
    return " ".join((symbol, *(f"{name}={value}" for name, value in limits().items())))


def function(symbol: str, build: Callable[[], Glue]) -> int:
    """The address of a kernel, which is a symbol for compiled code from then on."""
    found = _FOUND.get(symbol)
    return _made(symbol, build) if found is None else found


def _made(symbol: str, build: Callable[[], Glue]) -> int:
    with _LOCK:
        if symbol not in _FOUND:
            if not _LINKERS:
                _LINKERS.append(_Linker())
            linker = _LINKERS[0]

            def make() -> tuple[bytes, Any]:
                glue = build()
                return linker.compiled(glue), sorted(glue.needs)

            code, needs = kept_object(_key(symbol), make)
            for library, name in needs:
                enter(library, name)
            address = linker.linked(symbol, code)
            llvm.add_symbol(symbol, address)
            _FOUND[symbol] = address
        return _FOUND[symbol]
