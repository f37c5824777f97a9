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
from itertools import permutations
from typing import TYPE_CHECKING, Any, TypeAlias

import llvmlite.binding as llvm
import numpy as np
from numba.core.types import BaseTuple

from srcgraph.frontend.session import ABSENT, FunctionGuard, Guard, Hidden
from srcgraph.infer.signature import AT_LEAST
from srcgraph.runtime.calls_code import DECLARED, MOST, TESTS, WORDS, text
from srcgraph.runtime.calls_layout import ENTRY, address_of, api, c_function, profile_place, scalar, supported
from srcgraph.runtime.calls_returned import RESULTS
from srcgraph.runtime.depth import WithDepth
from srcgraph.runtime.kernels.machine import functions
from srcgraph.runtime.results import Part, items_of
from srcgraph.runtime.straight import Exactly, axes_of, exactly, most_of, unstretched

if TYPE_CHECKING:
    from srcgraph.runtime.api import Compiled
    from srcgraph.runtime.specialized import Specialization

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


@dataclass(slots=True)
class Given:
    """How a call passes arguments: the first ``count`` by place, others by ``names``; the rest are defaults."""

    count: int
    names: Sequence[str]


def added(made: Compiled, version: Specialization, args: Sequence[Any], given: Given) -> bool:
    """Whether the next call with such arguments is one by machine code: a list of tests for it is there now.

    ``args`` are those of all parameters.
    """
    kept = made.direct.setdefault(id(version), [version, TRIES])
    if not kept[1]:
        return False
    kept[1] -= 1
    try:
        tests = _tests(made, version, args, given)
    except _Unsupported:
        kept[1] = 0
        return False
    if not any(version in versions for versions in made.versions.values()):  # the function was edited meanwhile
        return False
    packed = struct.pack(f"={len(tests.words)}q", *tests.words)
    lists = [known for known in lists_of(made) if known[0] != packed and _is_valid(known[2])]
    new = [*lists[-LISTS + 1 :], (packed, version.entry, version, *tests.kept)]
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


def _tests(made: Compiled, version: Specialization, args: Sequence[Any], given: Given) -> _Tests:
    tests = _Tests()
    deep = version.run if isinstance(version.run, WithDepth) else None
    depth = 0 if deep is None else deep.here()
    if deep is not None and not depth:
        raise _Unsupported
    leaves = _items(tests, made, version, args, given, depth)
    how = exactly(version, leaves, MOST, depth)
    if how is None:
        raise _Unsupported
    _checks(tests, version, leaves)
    own = made.guard if given.count + len(given.names) < len(args) else None
    asks = [ask for guard in (own, *version.guards) if guard and (ask := _guard(tests, guard)) is not None]
    tests.test("CODE", made.py_func, made.identity)
    if deep is not None:
        asks.append(_Deep(deep, depth))
    for ask in asks:
        tests.test("ASK", ask, True)
    if asks:  # which have run Python code
        _checks(tests, version, leaves)
    if deep is not None and not deep.is_last(depth):
        tests.test("DEEP", deep.give_up, RecursionError)
    _run(tests, version, how, leaves)
    return tests


def _items(
    tests: _Tests, made: Compiled, version: Specialization, args: Sequence[Any], given: Given, depth: int
) -> list[Any]:
    """The numbers and arrays that are passed on, and where they come from; with them goes a depth, if there is one."""
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in made.signature.parameters.values()):
        raise _Unsupported
    tests.test("COUNT", given.count, len(given.names))
    leaves, sources = list[Any](), list[_Source]()
    for k, value in enumerate(args):
        kind, own = source = _source(tests, made, k, value, given)
        if value is not None and type(value) is not str:
            leaves.append(value)
            sources.append(source)
        elif kind != "KNOWN":
            tests.test("IS" if kind == "PLACED" else "IS_NAMED", *own, value)
    for hidden in version.hidden:
        leaves.append(hidden.read())
        sources.append(_outside(tests, hidden))
    sources += [("KNOWN", [tests.place(depth)])] if depth else []
    if sources != [("PLACED", [k]) for k in range(given.count)]:
        tests.test("FILL", len(sources))
        for k, (kind, own) in enumerate(sources):
            tests.test(kind, k, *own)
    return leaves


_Source: TypeAlias = tuple[str, list[int]]
"""Where an item comes from: a kind of test, and its operands."""


def _source(tests: _Tests, made: Compiled, k: int, value: Any, given: Given) -> _Source:
    """Where an argument comes from; that a default is one still is looked at elsewhere."""
    name = made.names[k]
    if k < given.count:
        return "PLACED", [k]
    if name in given.names:
        return "NAMED", [tests.place(sys.intern(name))]
    if made.signature.parameters[name].default is not value or not made.guard.holds():
        raise _Unsupported
    return "KNOWN", [tests.place(value)]


def _outside(tests: _Tests, hidden: Hidden) -> _Source:
    """Where a number or an array is read from outside."""
    if type(hidden.container) is types.CellType and not hidden.static:
        return "INSIDE", [tests.place(hidden.container)]
    if type(hidden.container) is dict and not hidden.static:
        return "OUTSIDE", [tests.place(hidden.container), tests.place(sys.intern(hidden.name))]
    raise _Unsupported


def _checks(tests: _Tests, version: Specialization, leaves: Sequence[Any]) -> None:
    """What is to be known of items: their types, their lengths, that what is changed is apart from others."""
    contiguous = {*version.contiguous}
    for k, value in enumerate(leaves):
        if type(value) is int:
            tests.test("INTEGER", k, int)
        elif type(value) is np.ndarray:
            if k in {*version.changed, *version.private} and not value.flags.forc:  # its elements may share memory
                raise _Unsupported
            flags, mask = _layout(value, k in contiguous, k in version.changed)
            tests.test("ARRAY", k, np.ndarray, value.dtype, value.ndim, mask << 32 | flags)
        else:
            tests.test("TYPE", k, type(value))
    for k, axis in unstretched(leaves, version.between):
        if leaves[k].shape[axis] != 1:
            tests.test("LONG", k, axis)
    for k, axis in (place for place in axes_of(leaves) if leaves[place[0]].shape[place[1]] == 1):
        tests.test("LENGTH", -1, 0, k, axis, 1)
    for first, axis, second, other, difference in version.between:
        if not _is_size(leaves, second, other) or (first >= 0 and not _is_size(leaves, first, axis)):
            raise _Unsupported
        if first == AT_LEAST:
            tests.test("LEAST", second, other, difference)
            continue
        tests.test("LENGTH", first, axis, second, other, difference)
    for k, axis, most in most_of(leaves) if version.few else ():
        tests.test("SHORT", k, axis, most)
    _apart(tests, version, leaves)


def _apart(tests: _Tests, version: Specialization, leaves: Sequence[Any]) -> None:
    """Arrays are in memory of their own, or one and the same where the version is for that."""
    arrays = [k for k, value in enumerate(leaves) if type(value) is np.ndarray]
    changed = {*version.changed, *version.private}
    for k, other in permutations(arrays, 2):
        x, y = leaves[k], leaves[other]
        if version.shared and x is y:
            tests.test("TWICE", k, other)
        elif version.shared and np.may_share_memory(x, y):
            raise _Unsupported
        elif k in changed or version.shared:
            tests.test("APART", k, x.itemsize, other, y.itemsize)


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
class _Deep:
    """Asks whether a function that calls itself may go as deep as it might."""

    run: WithDepth
    depth: int

    def __call__(self) -> bool:
        return self.run.here() == self.depth


@dataclass(slots=True)
class _Raised:
    """Gives what a call raises for what the compiled function has raised."""

    version: Specialization

    def __call__(self, error: BaseException) -> BaseException:
        return self.version.failed(error) if isinstance(error, Exception) else error


def _run(tests: _Tests, version: Specialization, how: Exactly, leaves: Sequence[Any]) -> None:
    """Call what numba compiled, and make the result of what that returns."""
    entry, returned = how.compiled.entry_point, how.compiled.signature.return_type
    tuples = isinstance(returned, BaseTuple)
    if type(entry) is not types.BuiltinFunctionType or c_function(entry)[0] != _EXTENDED:
        raise _Unsupported
    parts = list(_parts(tests, how, None if version.single else len(returned) if tuples else 0, leaves))
    same = [0, *[0] * (WORDS - 1)]
    as_it_is = not how.several and parts[0][:2] == [RESULTS["SAME"], -1]
    handler = tests.place(_Raised(version))
    _, function, own = c_function(entry)
    tests.place(entry)
    count = sum(1 for _ in items_of(how.parts))
    tests.add(TESTS["RUN"], function, own, handler, 0 if as_it_is else count, int(how.several))
    for part in parts:
        tests.words += [*part, *same][:WORDS]


def _parts(tests: _Tests, how: Exactly, outputs: int | None, leaves: Sequence[Any]) -> Iterator[list[int]]:
    """Words that say what is returned; ``outputs`` is how many items numba's tuple has."""
    for part in how.parts:
        match part:
            case Part(kind="argument"):
                yield [RESULTS["ARGUMENT"], part.at]
            case Part(kind="fixed"):
                yield [RESULTS["FIXED"], 0, tests.place(part.value)]
            case Part(kind="made"):
                yield [RESULTS["CONVERTED"], -1, tests.place(part.value)]
            case Part(kind="tuple"):
                yield [RESULTS["TUPLE"], part.at, part.value]
            case Part(kind="either"):
                yield [RESULTS["EITHER"], -1 if outputs is None else part.at, part.value]
            case Part(kind="apart"):
                others = [k << 8 | leaves[k].itemsize for k in part.value.others(leaves)]
                own = [RESULTS["NO_ARGUMENT"], part.at, tests.place(part.value)]
                if len(own) + len(others) > WORDS or any(leaves[k].itemsize > 255 for k in part.value.others(leaves)):
                    raise _Unsupported
                yield [*own, *others, *[-1] * (WORDS - len(own) - len(others))]
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
    loops: bool = False

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
