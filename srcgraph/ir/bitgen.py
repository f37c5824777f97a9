"""NumPy's random generators, and its own C functions that draw from them.

A graph holds a generator as an integer: the address of its ``bitgen_t``. Whatever draws is NumPy's own
function, called with that address, so that streams are NumPy's to the last bit and the caller's
generator moves on as if NumPy had drawn.

References
----------
NumPy reference, "C API for random" and "Extending": the functions of ``numpy/random/distributions.h``,
which NumPy's extension module ``numpy.random._generator`` exports.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.random import _generator  # type: ignore[attr-defined]

_C = {
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
    "u32": ctypes.c_uint32,
    "void": None,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "b1": ctypes.c_bool,
    "ptr": ctypes.c_void_p,
}


def address(generator: np.random.Generator) -> int:
    """Where the state of a generator is, while the generator lives."""
    return generator.bit_generator.ctypes.bit_generator.value


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(_generator.__file__)


def pointer(name: str) -> int:
    """The address of a C function of NumPy; 0 if this build of NumPy does not export it."""
    found = getattr(_library(), name, None)
    return 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0


@cache
def function(name: str, result: str, params: Sequence[str]) -> Callable[..., Any]:
    """A C function of NumPy as one that Python can call; a generator is given by its address."""
    kind = ctypes.CFUNCTYPE(_C[result], ctypes.c_void_p, *(_C[p] for p in params))
    return kind(pointer(name))


def room() -> ctypes.Array:
    """Room for what NumPy's binomial generator prepares, nothing of it prepared yet."""
    return (ctypes.c_double * ROOM)()


ROOM = 32
"""Numbers that a ``binomial_t`` has room in: it has 19."""
