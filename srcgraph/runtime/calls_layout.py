"""Objects of CPython and NumPy as they lie in memory, and whether they do where machine code looks for them."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from srcgraph.runtime.calls_code import PLACES


class Entered:
    """What has a slot for its tests: a tuple of tuples, each of ``bytes`` and all objects that these have places of."""

    __slots__ = ("entry",)


ENTRY: Any = vars(Entered)["entry"]
del Entered.entry  # type: ignore[attr-defined]  # what is in it is read as it stands


@cache
def api(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's C interface."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


def address_of(name: str) -> int:
    """Where a function of Python's C interface is."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def c_function(function: Any) -> tuple[int, int, int]:
    """The flags of a C function, where it is, and where its first argument is."""
    flags = api("PyCFunction_GetFlags", ctypes.c_int, ctypes.py_object)(function)
    places = (api(f"PyCFunction_Get{n}", ctypes.c_void_p, ctypes.py_object)(function) for n in ("Function", "Self"))
    return (flags, *(place or 0 for place in places))  # type: ignore[return-value]


def scalar() -> int:
    """Where NumPy's ``PyArray_Scalar`` is."""
    own: Any = getattr(np, "_core", None) or np.core  # type: ignore[reportAttributeAccessIssue]
    table = api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return ctypes.cast(table(own._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))[60] or 0


@cache
def profile_place() -> int:
    """The bytes from the start of a thread's state to the object that profiles it; 0 if that is not found."""
    before = sys.getprofile()
    mark = before or (lambda *event: None)
    if before is None:
        sys.setprofile(mark)
    try:
        start = api("PyThreadState_Get", ctypes.c_void_p)()
        words = [(ctypes.c_void_p * 32).from_address(start)[k] for k in range(32)]
    finally:
        if before is None:
            sys.setprofile(None)
    return 8 * words.index(id(mark)) if words.count(id(mark)) == 1 else 0


@cache
def supported() -> bool:
    """Whether CPython's objects and NumPy's arrays have everything where the code looks for it."""
    plain = sys.implementation.name == "cpython" and sys.maxsize > 2**32 and sys.byteorder == "little"
    if not plain or object.__basicsize__ != PLACES["SLOT"] or not _is_main():
        return False
    return (
        profile_place() > 0
        and _knows_objects()
        and all(map(_knows_array, _examples()))
        and all(map(_knows_numbers, "?bBhHiIlLqQfdFD"))
    )


def _is_main() -> bool:
    names = ("PyInterpreterState_Get", "PyInterpreterState_Main")
    here, main = (api(name, ctypes.c_void_p)() for name in names)
    return here == main


def _read(x: Any, place: str, kind: Any = ctypes.c_void_p) -> Any:
    return kind.from_address(id(x) + PLACES[place]).value


def _knows_objects() -> bool:
    pair, letters, one = (object(), object()), b"srcgraph", Entered()
    ENTRY.__set__(one, pair)
    sizes = tuple.__basicsize__ == PLACES["ITEMS"] and bytes.__basicsize__ == PLACES["BYTES"] + 1
    if not sizes or Entered.__basicsize__ != PLACES["SLOT"] + 8:
        return False
    ends = ctypes.c_void_p.from_address(id(pair) + PLACES["ITEMS"] + 8).value
    return (
        (_read(pair, "KIND"), _read(pair, "SIZE"), _read(pair, "ITEMS")) == (id(tuple), 2, id(pair[0]))
        and ends == id(pair[1])
        and ctypes.string_at(id(letters) + PLACES["BYTES"], len(letters)) == letters
        and _read(one, "SLOT") == id(pair)
    )


def _examples() -> Iterator[np.ndarray]:
    grid = np.arange(24.0).reshape(2, 3, 4)
    yield from (
        grid,
        grid.T,
        grid[:, ::2],
        np.zeros((0, 5), np.int8),
        np.zeros(3, ">f4"),
        np.frombuffer(b"fixed", "u1"),
    )


def _knows_array(x: np.ndarray) -> bool:
    if np.ndarray.__basicsize__ < PLACES["FLAGS"] + 4 or type(x.dtype).__basicsize__ < PLACES["ORDER"] + 1:
        return False
    lengths, strides = (ctypes.c_int64 * x.ndim).from_address, (ctypes.c_int64 * x.ndim).from_address
    return (
        _read(x, "AXES", ctypes.c_int) == x.ndim
        and _read(x, "FLAGS", ctypes.c_int) == x.flags.num
        and _read(x, "DTYPE") == id(x.dtype)
        and (_read(x, "DATA") or 0) == x.ctypes.data
        and tuple(lengths(_read(x, "DIMENSIONS"))) == x.shape
        and tuple(strides(_read(x, "STRIDES"))) == x.strides
        and _read(x.dtype, "ORDER", ctypes.c_char).decode() == x.dtype.byteorder
    )


def _knows_numbers(code: str) -> bool:
    """Whether NumPy makes numbers of memory as the code asks it to."""
    dtype = np.dtype(code)
    memory = np.ones(1, dtype)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(scalar())
    one = make(memory.ctypes.data, dtype, None)
    return type(one) is dtype.type and one == 1
