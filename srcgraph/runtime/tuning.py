"""Measure on this machine what is as fast as it can be, and keep that for later processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numba import njit

from srcgraph.runtime.kernels import blas
from srcgraph.runtime.kernels.glue import Glue
from srcgraph.runtime.kernels.limits import DEFAULTS, MOST, PRODUCTS, SUMS, keep, limits, trying
from srcgraph.runtime.kernels.machine import function
from srcgraph.runtime.kernels.record import PROTOTYPE, Kernel

__all__ = ["Tuned", "forget", "limits", "tune"]


@dataclass(frozen=True, slots=True)
class Tuned:
    """What `tune` found.

    Attributes
    ----------
    limits : mapping
        ``products``: products of matrices of at most so many multiplications are computed by loops, larger ones by
        BLAS; ``sums``: the same of products of vectors, and of a matrix and a vector.
    times : mapping
        For both, rows of a number of multiplications and the nanoseconds that loops and BLAS need for them.
    kept : bool
        Whether later processes go by these limits; not so if nothing is kept on disk.
    """

    limits: Mapping[str, int]
    times: Mapping[str, Sequence[tuple[int, float, float]]]
    kept: bool


def tune() -> Tuned:
    """Measure from which size on products are faster by BLAS than by loops, which takes some seconds.

    Results of products near the limits may change in their last digits, as BLAS adds up in another order; that is why
    nobody measures unless asked to.

    Returns
    -------
    Tuned
        The new limits hold for kernels that are made from now on, which are all of later processes on this machine.
    """
    times = {
        PRODUCTS: [_compared(blas.gemm, _square(n), n**3) for n in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20)],
        SUMS: [_compared(blas.dot, _vectors(n), n) for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256)],
    }
    found = {name: crossing(rows) for name, rows in times.items()}
    return Tuned(found, times, keep(found))


def forget() -> bool:
    """Go back to the limits that are the same everywhere; whether that is kept for later processes."""
    return keep(DEFAULTS)


def crossing(rows: Sequence[tuple[int, float, float]]) -> int:
    """The most multiplications, of those measured, for which loops take no longer; for all fewer they do not either.

    One row that says otherwise between two that do not is noise.
    """
    faster = [loops <= library for _, loops, library in rows]
    best = 0
    for k, (count, *_) in enumerate(rows):
        if faster[k]:
            best = count
        elif not any(faster[k + 1 : k + 2]):
            break
    return best


# -- measuring ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Call:
    """What a kernel is called with: addresses, and what keeps the memory."""

    memory: tuple[np.ndarray, ...]
    words: tuple[np.ndarray, ...]


def _call(outs: Sequence[np.ndarray], ins: Sequence[np.ndarray], *words: Sequence[int]) -> _Call:
    addresses = [np.array([a.ctypes.data for a in arrays], np.int64) for arrays in (outs, ins)]
    numbers = [np.array([*w, 0], np.int64) for w in words]
    return _Call((*outs, *ins), (*addresses, *numbers))


def _square(n: int) -> _Call:
    a, b, c, one, zero = np.ones((n, n)), np.ones((n, n)), np.empty((n, n)), np.array(1.0), np.array(0.0)
    return _call((c,), (a, b, one, zero), (n, n, n), (*c.strides, *a.strides, *b.strides), ())


def _vectors(n: int) -> _Call:
    x, y, out = np.ones(n), np.ones(n), np.empty(())
    return _call((out,), (x, y), (n,), (*x.strides, *y.strides), ())


def _compared(kernel: Kernel, call: _Call, count: int) -> tuple[int, float, float]:
    """A number of multiplications, and the nanoseconds of a call if loops compute them, and if BLAS does."""
    loops, library = (_repeating(kernel, most) for most in (MOST, 0))
    pairs = [(_nanoseconds(loops, call), _nanoseconds(library, call)) for _ in range(5)]
    return count, min(p[0] for p in pairs), min(p[1] for p in pairs)


@cache
def _repeating(kernel: Kernel, most: int) -> Callable[..., None]:
    """A compiled function that calls a kernel for ``float64`` with one limit a number of times."""
    symbol = f"{kernel.for_dtype(np.float64).symbol}_up_to_{most}"

    def build() -> Glue:
        glue = Glue(symbol, np.dtype(np.float64))
        kernel.write(glue)
        glue.finish()
        return glue

    with trying(dict.fromkeys(DEFAULTS, most)):
        call = PROTOTYPE(function(symbol, build))

    @njit
    def repeated(outs, ins, dims, strides, flags, calls):  # type: ignore[no-untyped-def]
        for _ in range(calls):
            call(outs.ctypes, ins.ctypes, dims.ctypes, strides.ctypes, flags.ctypes)

    return repeated


def _nanoseconds(repeated: Callable[..., None], call: _Call, calls: int = 2000) -> float:
    repeated(*call.words, 10)
    start = time.perf_counter_ns()
    repeated(*call.words, calls)
    return (time.perf_counter_ns() - start) / calls
