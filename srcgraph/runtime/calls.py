"""Calls of functions of numbers and arrays by machine code, which tests arguments and calls what numba compiled.

A compiled function has one list of tests for each set of types that it was called with (`calls_code` says what they
are), in a slot that nothing else finds. It is made an instance of a class whose ``tp_call`` is the machine code; what
fits none of the lists takes the longer way, which is the ``__call__`` of the class before. The code is one module, in
a process once. It reads objects where CPython and NumPy have what it looks for: `supported` tries each place first.
"""

from __future__ import annotations

import builtins
import ctypes
import struct
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
import numpy as np
from numba.core.types import BaseTuple

from srcgraph.frontend.session import ABSENT, FunctionGuard, Guard
from srcgraph.runtime.calls_code import DECLARED, MOST, RESULTS, TESTS, WORDS, text
from srcgraph.runtime.calls_layout import ENTRY, address_of, api, c_function, profile_place, scalar, supported
from srcgraph.runtime.kernels.machine import functions
from srcgraph.runtime.results import Part
from srcgraph.runtime.straight import Exactly, exactly, unstretched

if TYPE_CHECKING:
    from srcgraph.runtime.api import Compiled
    from srcgraph.runtime.specialization import Specialization

PREFIX = "srcgraph_calls_"
LISTS = 12
"""A function has so many lists at most; the oldest ones go."""
TRIES = 24
"""So often a list is looked for when a call of a version took the longer way."""
_C, _F, _ALIGNED, _WRITEABLE = 1, 2, 0x100, 0x400
_EXTENDED = 3
"""The flags of a C function of arguments by place and by name."""
_HEAP_TYPE = 1 << 18 | 1 << 10
"""``Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE``."""
_TP_CALL = 50


# -- lists of tests -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Tests:
    """A list that is written, and the objects that it has places of."""

    words: list[int] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)

    def place(self, x: Any) -> int:
        self.kept.append(x)
        return id(x)

    def add(self, kind: int, *operands: int) -> None:
        self.words += [kind, *operands, *[0] * (WORDS - 1 - len(operands))]

    def test(self, name: str, *operands: Any) -> None:
        """Integers stand for themselves, all else for where it is."""
        self.add(TESTS[name], *(x if type(x) is int else self.place(x) for x in operands))


class _Unsupported(Exception):
    """There is no test for something."""


def added(made: Compiled, version: Specialization, args: Sequence[Any]) -> bool:
    """Whether the next call with such arguments is one by machine code: a list of tests for it is there now."""
    kept = made.direct.setdefault(id(version), [version, TRIES])
    if not kept[1]:
        return False
    kept[1] -= 1
    how = exactly(made, version, args, MOST)
    if how is None or not any(version in versions for versions in made.versions.values()):
        kept[1] = 0
        return False
    lists = lists_of(made)
    if any(known[2] is version and known[3] is how.compiled for known in lists):
        return bool(lists)
    try:
        tests = _tests(made, version, args, how)
    except _Unsupported:
        kept[1] = 0
        return False
    packed = struct.pack(f"={len(tests.words)}q", *tests.words)
    valid = [known for known in lists if _is_valid(known[2])]
    new = [*valid[-LISTS + 1 :], (packed, version.entry, version, how.compiled, *tests.kept)]
    ENTRY.__set__(made, tuple(sorted(new, key=lambda known: not known[2].way.narrow)))
    return True


def _is_valid(version: Specialization) -> bool:
    try:
        return version.valid()
    except (TypeError, ValueError, NameError):  # what it reads is no longer there
        return False


def lists_of(made: Compiled) -> tuple[Any, ...]:
    """The lists of tests of a function."""
    try:
        return ENTRY.__get__(made)
    except AttributeError:
        return ()


def forget(made: Compiled) -> None:
    """Let all calls of a function take the longer way."""
    ENTRY.__set__(made, ())


def _tests(made: Compiled, version: Specialization, args: Sequence[Any], how: Exactly) -> _Tests:
    tests = _Tests()
    tests.test("COUNT", len(args))
    _arguments(tests, version, args)
    tests.test("CODE", made.py_func, made.identity)
    asks = [ask for guard in version.guards if (ask := _guard(tests, guard)) is not None]
    for ask in asks:
        tests.test("ASK", ask, True)
    if asks:  # which have run Python code
        _arguments(tests, version, args)
    _run(tests, version, how)
    return tests


def _arguments(tests: _Tests, version: Specialization, args: Sequence[Any]) -> None:
    """What is to be known of arguments: their types, their lengths, that what is changed is apart from others."""
    contiguous = {*version.contiguous}
    for k, value in enumerate(args):
        if type(value) is int:
            tests.test("INTEGER", k, int)
        elif type(value) is np.ndarray:
            flags, mask = _layout(value, k in contiguous, k in version.changed)
            tests.test("ARRAY", k, np.ndarray, value.dtype, value.ndim, mask << 32 | flags)
        else:
            tests.test("TYPE", k, type(value))
    for k, axis in unstretched(args, version.between):
        tests.test("LONG", k, axis)
    for first, axis, second, other, difference in version.between:
        if not _is_size(args, second, other) or (first >= 0 and not _is_size(args, first, axis)):
            raise _Unsupported
        tests.test("LENGTH", first, axis, second, other, difference)
    for k in sorted({*version.changed, *version.private}):
        for other, value in enumerate(args):
            if other != k and type(value) is np.ndarray:
                tests.test("APART", k, args[k].itemsize, other, value.itemsize)


def _is_size(args: Sequence[Any], k: int, axis: int) -> bool:
    """Whether an argument has a length along an axis, or is an integer where none is named."""
    return type(args[k]) is int if axis < 0 else axis < np.ndim(args[k])


def _layout(value: np.ndarray, contiguous: bool, changed: bool) -> tuple[int, int]:
    """The flags that numba's type of an array says, and which these are."""
    flags, mask = value.flags.num, _C | _ALIGNED | _WRITEABLE
    if not flags & _C:
        mask |= _F
    if (contiguous and not flags & _C) or (changed and not flags & _WRITEABLE):
        raise _Unsupported
    return flags & mask, mask


def _guard(tests: _Tests, guard: Guard | FunctionGuard) -> Callable[[], bool] | None:
    """Test something read from outside; a function to ask where that takes Python."""
    if isinstance(guard, FunctionGuard):
        if guard.keywords or type(guard.container) is not types.FunctionType:
            return _Holds(guard)
        tests.test("FUNCTION", guard.container, guard.code, 0 if guard.defaults is None else guard.defaults)
        return None
    coded = type(guard.seen) is types.FunctionType
    if guard.code is not None and not coded:
        return _Holds(guard)
    code = guard.code if coded else 0
    if type(guard.container) is types.CellType:
        tests.test("CELL", guard.container, tests.place(guard.seen), code)
    elif type(guard.container) is dict and guard.seen is not ABSENT:
        tests.test("GLOBAL", guard.container, sys.intern(guard.name), tests.place(guard.seen), code)
    else:
        return _Holds(guard)
    return None


@dataclass(slots=True)
class _Holds:
    """Asks whether something is what it was; what cannot be read is not."""

    guard: Guard | FunctionGuard

    def __call__(self) -> bool:
        try:
            return self.guard.holds()
        except (TypeError, ValueError, NameError):
            return False


@dataclass(slots=True)
class _Raised:
    """Gives what a call raises for what the compiled function has raised."""

    version: Specialization

    def __call__(self, error: BaseException) -> BaseException:
        return self.version.failed(error) if isinstance(error, Exception) else error


def _run(tests: _Tests, version: Specialization, how: Exactly) -> None:
    """Call what numba compiled, and make the result of what that returns."""
    entry, returned = how.compiled.entry_point, how.compiled.signature.return_type
    tuples = isinstance(returned, BaseTuple)
    if type(entry) is not types.BuiltinFunctionType or c_function(entry)[0] != _EXTENDED:
        raise _Unsupported
    parts = list(_parts(tests, how, None if version.single else len(returned) if tuples else 0))
    same = [0, *[0] * (WORDS - 1)]
    as_it_is = not how.several and parts[0][:2] == [RESULTS["SAME"], -1]
    handler = tests.place(_Raised(version))
    _, function, own = c_function(entry)
    tests.place(entry)
    tests.add(TESTS["RUN"], function, own, handler, 0 if as_it_is else len(parts), int(how.several))
    for part in parts:
        tests.words += [*part, *same][:WORDS]


def _parts(tests: _Tests, how: Exactly, outputs: int | None) -> Iterator[list[int]]:
    """Words that say what is returned; ``outputs`` is how many items numba's tuple has."""
    for part in how.parts:
        match part:
            case Part(kind="argument"):
                yield [RESULTS["ARGUMENT"], part.at]
            case Part(kind="fixed"):
                yield [RESULTS["FIXED"], 0, tests.place(part.value)]
            case _:
                if outputs is not None and part.at >= outputs:
                    raise _Unsupported
                yield [*_number(tests, part.value, -1 if outputs is None else part.at)]


def _number(tests: _Tests, type: Any, at: int) -> list[int]:
    """Words for an output, which becomes a number of a type of NumPy's."""
    if type is None:
        return [RESULTS["SAME"], at]
    dtype = np.dtype(type)
    kinds = {"f8": "DOUBLE", "f4": "SINGLE", "c16": "COMPLEX", "c8": "COMPLEX_SINGLE"}
    kind = "NUMBER" if dtype.kind in "biu" and dtype.itemsize <= 8 else kinds.get(dtype.str[1:], "CONVERTED")
    return [RESULTS[kind], at, tests.place(type if kind == "CONVERTED" else dtype)]


# -- the machine code, and the class ------------------------------------------------------------------------


class _Slot(ctypes.Structure):
    """``PyType_Slot``."""

    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    """``PyType_Spec``."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("size", ctypes.c_int), ("item", ctypes.c_int), ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )  # fmt: skip


class _Module:
    """What `functions` compiles."""

    needs: frozenset[tuple[str, str]] = frozenset()

    @property
    def module(self) -> str:
        return text()


_NAMES, _PROFILE = ctypes.py_object(vars(builtins)), ctypes.c_int64()
_KEPT: list[Any] = []


@cache
def entered(base: Any) -> Any:
    """The class of those instances of ``base`` whose calls are by machine code; None if there is none here."""
    if not supported():
        return None
    way, _PROFILE.value = ctypes.py_object(base.__call__), profile_place()
    for name in DECLARED:
        llvm.add_symbol(name, address_of(name))
    llvm.add_symbol(f"{PREFIX}scalar", scalar())
    llvm.add_symbol(f"{PREFIX}builtins", ctypes.addressof(_NAMES))
    llvm.add_symbol(f"{PREFIX}longer", ctypes.addressof(way))
    llvm.add_symbol(f"{PREFIX}profile", ctypes.addressof(_PROFILE))
    (address,) = functions([f"{PREFIX}enter"], _Module, optimised=False)
    name = f"{base.__module__}.{base.__qualname__}".encode()
    slots = (_Slot * 2)(_Slot(_TP_CALL, address), _Slot(0, None))
    spec = _Spec(name, 0, 0, _HEAP_TYPE, slots)
    _KEPT.extend((way, name, slots, spec))
    make = api("PyType_FromSpecWithBases", ctypes.py_object, ctypes.POINTER(_Spec), ctypes.py_object)
    made = make(ctypes.byref(spec), (base,))
    made.straight = True
    return made
