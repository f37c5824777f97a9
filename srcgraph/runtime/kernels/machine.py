"""From glue to machine code: compiled once, kept on disk, in a process once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import llvmlite.binding as llvm

from srcgraph.runtime.cache.objects import kept_object
from srcgraph.runtime.kernels.libraries import enter
from srcgraph.runtime.kernels.limits import limits


class Written(Protocol):
    """A module, as text or as what makes text, the functions of libraries that it calls, and whether LLVM is to make
    something else of its loops."""

    @property
    def module(self) -> Any: ...

    @property
    def needs(self) -> Collection[tuple[str, str]]: ...

    @property
    def loops(self) -> bool: ...


class _Linker:
    """LLVM, which makes machine code, and puts it into this process."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.target = self._target(2)
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self.target)

    @staticmethod
    def _target(level: int) -> llvm.TargetMachine:
        features = llvm.get_host_cpu_features().flatten()
        target = llvm.Target.from_default_triple()
        return target.create_target_machine(llvm.get_host_cpu_name(), features, opt=level, jit=True)

    def compiled(self, written: Written, optimised: bool) -> bytes:
        module = llvm.parse_assembly(str(written.module))
        module.verify()
        if not optimised:
            return self._target(0).emit_object(module)
        builder = llvm.create_pass_builder(self.target, llvm.create_pipeline_tuning_options(speed_level=2))
        passes = builder.getModulePassManager() if written.loops else _few_passes()
        passes.run(module, builder)
        return self.target.emit_object(module)

    def linked(self, symbols: Sequence[str], code: bytes) -> list[int]:
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self.engine.finalize_object()
        return [self.engine.get_function_address(symbol) for symbol in symbols]


def _few_passes() -> Any:
    """What clears away repetitions: code without loops that LLVM changes is no quicker for the others."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    passes.add_dead_code_elimination_pass()
    return passes


_LOCK = threading.RLock()
_FOUND: dict[str, int] = {}
_LINKERS: list[_Linker] = []


def _key(symbol: str) -> str:
    """What its object file depends on besides the environment."""
    return " ".join((symbol, *(f"{name}={value}" for name, value in limits().items())))


def function(symbol: str, build: Callable[[], Written]) -> int:
    """The address of a kernel, which is a symbol for compiled code from then on."""
    found = _FOUND.get(symbol)
    return functions([symbol], build)[0] if found is None else found


def functions(symbols: Sequence[str], build: Callable[[], Written], optimised: bool = True) -> list[int]:
    """The addresses of functions in one module, which is kept on disk by the first one's name.

    What is not optimised is compiled in a fifth of the time.
    """
    with _LOCK:
        if not all(symbol in _FOUND for symbol in symbols):
            if not _LINKERS:
                _LINKERS.append(_Linker())
            linker = _LINKERS[0]

            def make() -> tuple[bytes, Any]:
                written = build()
                return linker.compiled(written, optimised), sorted(written.needs)

            code, needs = kept_object(_key(symbols[0]), make)
            for library, name in needs:
                enter(library, name)
            for symbol, address in zip(symbols, linker.linked(symbols, code), strict=True):
                llvm.add_symbol(symbol, address)
                _FOUND[symbol] = address
        return [_FOUND[symbol] for symbol in symbols]
