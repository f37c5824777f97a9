"""LAPACK's routines for compiled code: by pointer from SciPy, so that nothing of them is compiled here.

``getrf((m, n, a, lda, pivots, info))`` calls ``dgetrf`` or another of its kind as the arrays say. Arguments are
those of LAPACK: arrays are passed by their data, numbers by the address of a copy, so what a routine
returns goes into arrays. Matrices lie column by column, see `columns`.

References
----------
Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM 1999.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

_LETTER = {types.float32: "s", types.float64: "d", types.complex64: "c", types.complex128: "z"}
LOWER, UPPER, PLAIN, TRANSPOSED, UNIT = (ord(c) for c in "LUNTU")
NONE, SOME, ALL, VECTORS = (ord(c) for c in "NSAV")


def routine(name: str, flags: int = 0, letters: str = "sd") -> Any:
    """The LAPACK routine of that name without its first letter; the first arguments are ``flags`` characters.

    There is one for each of ``letters``. It is called by a symbol that every process registers anew, so that numba
    can keep what it compiled on disk.
    """
    for letter in letters:
        address = get_cython_function_address("scipy.linalg.cython_lapack", letter + name)
        llvm.add_symbol(f"srcgraph_{letter}{name}", address)

    @intrinsic
    def call(typingctx: Any, args: Any) -> Any:
        letter = next(_LETTER[t.dtype] for t in args if isinstance(t, types.Array) and t.dtype in _LETTER)

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointers = [
                _pointer(context, builder, type, builder.extract_value(values[0], k), k < flags)
                for k, type in enumerate(signature.args[0])
            ]
            kind = ir.FunctionType(ir.VoidType(), [p.type for p in pointers])
            symbol = f"srcgraph_{letter}{name}"
            builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), pointers)
            return context.get_dummy_value()

        return types.void(args), codegen

    return call


def _pointer(context: Any, builder: Any, type: Any, value: Any, is_flag: bool) -> Any:
    if isinstance(type, types.Array):
        return context.make_array(type)(context, builder, value).data
    if isinstance(type, types.Integer):
        value = context.cast(builder, value, type, types.int8 if is_flag else types.int32)
    return cgutils.alloca_once_value(builder, value)


getrf = routine("getrf", letters="sdcz")
getrs = routine("getrs", 1, letters="sdcz")
potrf = routine("potrf", 1)
trtrs = routine("trtrs", 3, letters="sdcz")
geqrf = routine("geqrf")
orgqr = routine("orgqr")
syevd = routine("syevd", 2)
geev = routine("geev", 2)
gesdd = routine("gesdd", 1)
gelsd = routine("gelsd")


@njit(error_model="numpy", cache=True)
def columns(a):
    """A new array of the columns of ``a``: what LAPACK takes for ``a``."""
    m, n = a.shape
    out = np.empty((n, m), a.dtype)
    for i in range(m):
        for j in range(n):
            out[j, i] = a[i, j]
    return out
