"""Where the C loops of NumPy's ufuncs are.

References
----------
NumPy reference, "Array API, types and structures": ``PyUFuncObject``, whose ``functions`` and ``data`` say what to
call, and ``PyUFuncGenericFunction``, how.
"""

from __future__ import annotations

import ctypes

import numpy as np


class _UFunc(ctypes.Structure):
    """The beginning of NumPy's ``PyUFuncObject``."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
    )


_NOTHING = ctypes.c_byte()
"""What a loop gets that has no data of its own."""


def loop_of(ufunc: np.ufunc, signature: str) -> tuple[int, int]:
    """The address of the loop for some types, such as ``dd->d``, and of its data."""
    found = _UFunc.from_address(id(ufunc))
    k = list[str](ufunc.types).index(signature)
    data = found.data[k] if found.data else None
    return found.functions[k], data or ctypes.addressof(_NOTHING)
