"""Random numbers for compiled code, by NumPy's own C functions or as those draw, so that streams are NumPy's.

``draw_standard_normal(rng)`` gives a number, ``draw_standard_normal_array(rng, (n, m))`` an array whose elements are
drawn one after the other in C order, as NumPy does; ``rng`` is the address of a generator's state, see
`srcgraph.ir.bitgen`. Parameters of a distribution come after ``rng``: numbers, or arrays of the full shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import njit, types
from numba.extending import overload

from srcgraph.ir.bitgen import ROOM, pointer
from srcgraph.ir.ops.random import DISTRIBUTIONS, SMALL, filling
from srcgraph.ir.types import DTYPE_OF
from srcgraph.runtime.arrays import empty
from srcgraph.runtime.ziggurat import written

_TYPES = {
    "f64": types.float64,
    "f32": types.float32,
    "u32": types.uint32,
    "void": types.void,
    "i64": types.int64,
    "u64": types.uint64,
    "b1": types.boolean,
    "ptr": types.intp,
}


def external(name: str, result: str, *params: str) -> Any:
    """A C function of NumPy for compiled code, called by a symbol that every process registers anew."""
    llvm.add_symbol(f"srcgraph_{name}", pointer(name))
    signature = _TYPES[result](types.intp, *(_TYPES[p] for p in params))
    return types.ExternalFunction(f"srcgraph_{name}", signature)


# -- distributions ----------------------------------------------------------------------------------


def line(x):
    """A parameter as something to index: a number as it is, an array as one line; for compiled code."""
    return x


def at(x, k):
    """A parameter at a position of the result: a number is the same everywhere; for compiled code."""
    return x


@overload(line)
def _line(x):
    if isinstance(x, types.Array):
        return lambda x: np.ascontiguousarray(x).reshape(-1)
    return lambda x: x


@overload(at)
def _at(x, k):
    if isinstance(x, types.Array):
        return lambda x, k: x[k]
    return lambda x, k: x


def _no_parameters(draw: Any, dtype: Any) -> tuple[Callable, Callable]:
    def one(rng):
        return draw(rng)

    def many(rng, shape):
        out = empty(shape, dtype)
        flat = out.reshape(-1)
        for k in range(flat.size):
            flat[k] = draw(rng)
        return out

    return one, many


def _one_parameter(draw: Any, dtype: Any) -> tuple[Callable, Callable]:
    def one(rng, a):
        return draw(rng, a)

    def many(rng, a, shape):
        out, a = empty(shape, dtype), line(a)
        flat = out.reshape(-1)
        for k in range(flat.size):
            flat[k] = draw(rng, at(a, k))
        return out

    return one, many


def _two_parameters(draw: Any, dtype: Any) -> tuple[Callable, Callable]:
    def one(rng, a, b):
        return draw(rng, a, b)

    def many(rng, a, b, shape):
        out, a, b = empty(shape, dtype), line(a), line(b)
        flat = out.reshape(-1)
        for k in range(flat.size):
            flat[k] = draw(rng, at(a, k), at(b, k))
        return out

    return one, many


def _three_parameters(draw: Any, dtype: Any) -> tuple[Callable, Callable]:
    def one(rng, a, b, c):
        return draw(rng, a, b, c)

    def many(rng, a, b, c, shape):
        out, a, b, c = empty(shape, dtype), line(a), line(b), line(c)
        flat = out.reshape(-1)
        for k in range(flat.size):
            flat[k] = draw(rng, at(a, k), at(b, k), at(c, k))
        return out

    return one, many


_BY_COUNT = (_no_parameters, _one_parameter, _two_parameters, _three_parameters)
_prepared_binomial = external("random_binomial", "i64", "f64", "i64", "ptr")


@njit(error_model="numpy")
def _binomial(rng, n, p):
    room = np.zeros(ROOM)
    out = _prepared_binomial(rng, p, np.int64(n), room.ctypes.data)
    room[0] = 0.0  # so long it must be there
    return out


def _enter(name: str, draw: Any, count: int, dtype: Any) -> None:
    one, many = (njit(error_model="numpy")(f) for f in _BY_COUNT[count](draw, dtype))
    globals()[name], globals()[f"{name}_array"] = one if isinstance(draw, types.ExternalFunction) else draw, many


for _d in DISTRIBUTIONS:
    _draw = written(_d.symbol) or external(_d.symbol, _d.result, *_d.params)
    _enter(_d.name, _draw, len(_d.params), DTYPE_OF[_d.result])
_enter("draw_binomial", _binomial, 2, np.int64)

# -- integers ---------------------------------------------------------------------------------------

bounded = external("random_bounded_uint64", "u64", "u64", "u64", "u64", "b1")
interval = external("random_interval", "u64", "u64")


@njit(error_model="numpy")
def draw_integer(rng, low, last):
    """An integer from ``low`` to ``last``."""
    return np.int64(bounded(rng, np.uint64(low), np.uint64(last) - np.uint64(low), np.uint64(0), False))


@njit(error_model="numpy")
def draw_integer_array(rng, low, last, shape):
    """Integers from ``low`` to ``last``, numbers or arrays."""
    out, low, last = empty(shape, np.int64), line(low), line(last)
    flat = out.reshape(-1)
    for k in range(flat.size):
        flat[k] = draw_integer(rng, at(low, k), at(last, k))
    return out


def _fewer_bits(dtype: np.dtype) -> tuple[Callable, Callable]:
    """An integer of fewer than 64 bits, and an array of them, which NumPy fills by a function of its own."""
    fill = external(filling(dtype), "void", "u32", "u32", "i64", "b1", "ptr")
    mask = 2 ** (8 * dtype.itemsize) - 1

    def many(rng, low, last, shape):
        out = empty(shape, dtype)
        if out.size > 0:
            fill(rng, np.uint32(low & mask), np.uint32((last - low) & mask), out.size, False, out.ctypes.data)
        return out

    inner = njit(error_model="numpy")(many)

    def one(rng, low, last):
        return inner(rng, low, last, 1)[0]

    return one, many


for _t in SMALL:
    _one, _many = (njit(error_model="numpy")(f) for f in _fewer_bits(_t))
    globals()[f"draw_{_t}"], globals()[f"draw_{_t}_array"] = _one, _many


@njit(error_model="numpy")
def draw_order(rng, n, draws):
    """The integers below ``n`` in random order, as `numpy.random.Generator.shuffle` swaps them.

    Only if ``draws``, else in order.
    """
    out = np.arange(n)
    if draws:
        for i in range(n - 1, 0, -1):
            j = np.int64(interval(rng, np.uint64(i)))
            out[i], out[j] = out[j], out[i]
    return out


@njit(error_model="numpy")
def draw_some_of(rng, n, count, in_any_order):
    """Different integers below ``n``, as `numpy.random.Generator.choice` draws them without replacement.

    References
    ----------
    Bentley and Floyd, "Programming pearls: a sample of brilliance", CACM 30 (1987); where many are wanted
    of many, the last swaps of a shuffle.
    """
    if n > 10000 and count > n // (50 if in_any_order else 20):
        out = np.arange(n)
        swap_down(rng, out, max(n - count, 1))
        return out[n - count :].copy()
    out = empty(count, np.int64)
    room = 1
    while room <= 2 * count:
        room *= 2
    taken = np.full(room, -1)
    for j in range(n - count, n):
        found = draw_integer(rng, 0, j)
        if taken[place(taken, found)] == found:
            found = j
        taken[place(taken, found)] = found
        out[j - n + count] = found
    if in_any_order:
        swap_down(rng, out, 1)
    return out


@njit(error_model="numpy")
def place(taken, x):
    """Where ``x`` is in a hash table, or would go."""
    k = x & (len(taken) - 1)
    while taken[k] != -1 and taken[k] != x:
        k = (k + 1) & (len(taken) - 1)
    return k


@njit(error_model="numpy")
def swap_down(rng, x, first):
    """Swap each element, the last first, down to number ``first``, with one at or before it."""
    for i in range(len(x) - 1, first - 1, -1):
        j = draw_integer(rng, 0, i)
        x[i], x[j] = x[j], x[i]
