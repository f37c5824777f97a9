"""Standard normal and exponential numbers for compiled code, drawn as NumPy draws them, without a call of NumPy's C.

Nearly all draws end after one word of the generator, two table look-ups and a comparison; that much becomes part of
the loop that draws. The streams are NumPy's to the last bit: `are_numpys` compares them, and where they are not, as
another version of NumPy may draw otherwise, its C functions are called.

References
----------
Marsaglia and Tsang, "The ziggurat method for generating random variables", Journal of Statistical Software 5(8), 2000;
with 256 layers, and words of 64 bits. The tables are those that numba has for NumPy's generators.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.random import _constants as tables

from srcgraph.ir import bitgen
from srcgraph.runtime.helpers import helper

NORMAL_X, NORMAL_Y = tables.wi_double, tables.fi_double
NORMAL_SURE = tables.ki_double.astype(np.int64)
NORMAL_END, NORMAL_END_INVERSE = float(tables.ziggurat_nor_r), float(tables.ziggurat_nor_inv_r)
EXPONENTIAL_X, EXPONENTIAL_Y = tables.we_double, tables.fe_double
EXPONENTIAL_SURE = tables.ke_double.astype(np.int64)
EXPONENTIAL_END = float(tables.ziggurat_exp_r)
CHECKED = 400
"""So many numbers of each kind are compared with NumPy's."""

# -- words of a generator ---------------------------------------------------------------------------


class _Interface(ctypes.Structure):
    """NumPy's ``bitgen_t``: a state, and functions of it."""

    _fields_ = (
        ("state", ctypes.c_void_p),
        ("next_uint64", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)),
        ("next_uint32", ctypes.c_void_p),
        ("next_double", ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)),
    )


def word(rng):
    """64 random bits of the generator whose ``bitgen_t`` is at the address ``rng``."""
    found = _Interface.from_address(rng)
    return found.next_uint64(found.state)


def fraction(rng):
    """A number from 0 to 1, not 1."""
    found = _Interface.from_address(rng)
    return found.next_double(found.state)


def _compiled(function: Callable, field: int, result: Any) -> None:
    """Let compiled code call the function in a field of a ``bitgen_t`` on its state."""

    @type_callable(function)
    def typed(context):
        return lambda rng: result

    @lower_builtin(function, types.Integer)
    def emitted(context, builder, signature, args):
        pointer = ir.IntType(8).as_pointer()
        held = builder.inttoptr(args[0], pointer.as_pointer())
        state = builder.load(held)
        kind = ir.FunctionType(context.get_value_type(result), [pointer]).as_pointer()
        address = builder.load(cgutils.gep_inbounds(builder, held, field))
        return builder.call(builder.bitcast(address, kind), [state])


_compiled(word, 1, types.uint64)
_compiled(fraction, 3, types.float64)

# -- numbers ----------------------------------------------------------------------------------------


def _normal(edge: Callable) -> Callable:
    def standard_normal(rng):
        bits = word(rng)
        layer, size = bits & 0xFF, np.int64((bits >> 9) & 0xFFFFFFFFFFFFF)
        x = size * NORMAL_X[layer]
        if bits & 0x100:
            x = -x
        if size < NORMAL_SURE[layer]:
            return x
        return edge(rng, np.int64(layer), size, x)

    return standard_normal


def normal_at_the_edge(rng, layer, size, x):
    """Of a draw that may be outside of the density: whether it is, and else another one."""
    while True:
        if layer == 0:
            far = 2.0 * NORMAL_END
            near = 0.0
            while near + near <= far * far:
                far = -NORMAL_END_INVERSE * np.log1p(-fraction(rng))
                near = -np.log1p(-fraction(rng))
            return -(NORMAL_END + far) if (size >> 8) & 1 else NORMAL_END + far
        below, above = NORMAL_Y[layer], NORMAL_Y[layer - 1]
        if (above - below) * fraction(rng) + below < np.exp(-0.5 * x * x):
            return x
        bits = word(rng)
        layer, size = np.int64(bits & 0xFF), np.int64((bits >> 9) & 0xFFFFFFFFFFFFF)
        x = size * NORMAL_X[layer]
        if bits & 0x100:
            x = -x
        if size < NORMAL_SURE[layer]:
            return x


def _exponential(edge: Callable) -> Callable:
    def standard_exponential(rng):
        bits = word(rng) >> 3
        layer, size = bits & 0xFF, np.int64(bits >> 8)
        x = size * EXPONENTIAL_X[layer]
        if size < EXPONENTIAL_SURE[layer]:
            return x
        return edge(rng, np.int64(layer), x)

    return standard_exponential


def exponential_at_the_edge(rng, layer, x):
    """As `normal_at_the_edge`."""
    while True:
        if layer == 0:
            return EXPONENTIAL_END - np.log1p(-fraction(rng))
        below, above = EXPONENTIAL_Y[layer], EXPONENTIAL_Y[layer - 1]
        if (above - below) * fraction(rng) + below < np.exp(-x):
            return x
        bits = word(rng) >> 3
        layer, size = np.int64(bits & 0xFF), np.int64(bits >> 8)
        x = size * EXPONENTIAL_X[layer]
        if size < EXPONENTIAL_SURE[layer]:
            return x


def are_numpys(draw: Callable[[int], float], symbol: str, count: int = CHECKED) -> bool:
    """Whether a function here draws what NumPy's C function draws, and leaves the generator as that does."""
    ours, theirs = np.random.default_rng(count), np.random.default_rng(count)
    theirs_drawn = bitgen.function(symbol, "f64", ())
    here, there = bitgen.address(ours), bitgen.address(theirs)
    alike = all(draw(here) == theirs_drawn(there) for _ in range(count))
    return alike and ours.bit_generator.state == theirs.bit_generator.state


WRITTEN: dict[str, tuple[Callable[[Callable], Callable], Callable]] = {
    "random_standard_normal": (_normal, normal_at_the_edge),
    "random_standard_exponential": (_exponential, exponential_at_the_edge),
}
"""What stands for C functions of NumPy, by their names: most draws, and the rare rest, which is a call."""


def written(symbol: str) -> Callable | None:
    """What stands for a C function of NumPy in compiled code, if anything does."""
    if symbol not in WRITTEN:
        return None
    make, edge = WRITTEN[symbol]
    if not are_numpys(make(edge), symbol):
        return None
    draw = make(helper(edge))
    draw.__qualname__ = draw.__name__ = symbol
    return helper(draw)
