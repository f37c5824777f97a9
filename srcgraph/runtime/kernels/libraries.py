"""The functions of libraries that kernels call, entered by name in every process that needs them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy._core._multiarray_umath as _umath
from numba.extending import get_cython_function_address
from numpy.fft import _pocketfft_umath  # type: ignore[attr-defined]

from srcgraph.runtime.loops import loop_of


def blas(name: str) -> int:
    return get_cython_function_address("scipy.linalg.cython_blas", name)


def lapack(name: str) -> int:
    return get_cython_function_address("scipy.linalg.cython_lapack", name)


# -- NumPy's transforms ------------------------------------------------------------------------------------


def fft(name: str) -> int:
    """The loop of a generalized ufunc: ``rfft_n_even_float64``."""
    return _loop(name)[0]


def fft_data(name: str) -> int:
    """What a loop is given as its data."""
    return _loop(name)[1]


def _loop(name: str) -> tuple[int, int]:
    ufunc, _, real = name.rpartition("_")
    letter = {"float32": "F", "float64": "D"}[real]
    found = getattr(_pocketfft_umath, ufunc)
    return loop_of(found, next(t for t in found.types if letter in t))


# -- NumPy's sorts -----------------------------------------------------------------------------------------

_GET_FUNCTIONS = 365
"""Which of NumPy's C functions is ``PyDataType_GetArrFuncs``."""
_CASTS, _BEFORE_SORTS, _KINDS, _QUICK, _STABLE = 21, 12, 3, 0, 2
"""How ``PyArray_ArrFuncs`` begins: casts, twelve other functions, sorts of three kinds, argsorts of these kinds."""


@cache
def _functions(dtype: str) -> Any:
    """The functions of a dtype, in the order of ``PyArray_ArrFuncs``."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(pointer(_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))  # type: ignore[attr-defined]
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[_GET_FUNCTIONS])
    return ctypes.cast(get(np.dtype(dtype)), ctypes.POINTER(ctypes.c_void_p))


_SORT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)
_ARGSORT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)
_CALLBACKS: list[Any] = []
"""Functions of Python that C calls live as long as the process."""


def sort(dtype: str) -> int:
    """NumPy's sort in place; through Python if NumPy has no function for it any more."""
    return _functions(dtype)[_CASTS + _BEFORE_SORTS + _QUICK] or sort_by_python(dtype)


def argsort(dtype: str) -> int:
    """NumPy's stable sort of indices."""
    return _functions(dtype)[_CASTS + _BEFORE_SORTS + _KINDS + _STABLE] or argsort_by_python(dtype)


def sort_by_python(dtype: str) -> int:
    """As `sort`, by calling Python."""

    def call(line: int, n: int, _: Any) -> int:
        _line(line, n, dtype).sort()
        return 0

    return _callback(_SORT(call))


def argsort_by_python(dtype: str) -> int:
    """As `argsort`, by calling Python."""

    def call(line: int, order: int, n: int, _: Any) -> int:
        _line(order, n, "int64")[:] = np.argsort(_line(line, n, dtype), kind="stable")
        return 0

    return _callback(_ARGSORT(call))


def _callback(made: Any) -> int:
    _CALLBACKS.append(made)
    address = ctypes.cast(made, ctypes.c_void_p).value
    assert address is not None
    return address


def _line(address: int, n: int, dtype: str) -> np.ndarray:
    size = n * np.dtype(dtype).itemsize
    return np.frombuffer(memoryview((ctypes.c_byte * size).from_address(address)), dtype)


# -- names -------------------------------------------------------------------------------------------------

FINDERS: Mapping[str, Callable[[str], int]] = {
    "blas": blas, "lapack": lapack, "fft": fft, "fft_data": fft_data, "sort": sort, "argsort": argsort,
}  # fmt: skip
"""From a name to an address, by library."""
_ENTERED: set[str] = set()


def symbol_of(library: str, name: str) -> str:
    """What a function is called in kernels."""
    return f"srcgraph_{library}_{name}"


def enter(library: str, name: str) -> None:
    """Let LLVM find a function."""
    symbol = symbol_of(library, name)
    if symbol not in _ENTERED:
        llvm.add_symbol(symbol, FINDERS[library](name))
        _ENTERED.add(symbol)
