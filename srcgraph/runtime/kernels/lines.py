"""Sorting and Fourier transforms of one line after the other, by the C functions that NumPy itself calls.

References
----------
NumPy C-API, "Data type API": ``PyArray_ArrFuncs``, which has a sort per dtype, and ``PyArray_SortFunc``.
Reinecke, PocketFFT: the transforms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from srcgraph.runtime.kernels.glue import BYTES, INT32, WORD, Glue, Int
from srcgraph.runtime.kernels.record import kernel

SORTED = "?bBhHiIlLfdFD"
"""What can be put in order, as characters of NumPy."""


def _sort(g: Glue) -> None:
    lines, n = g.dims(2)
    by_line, by_item = g.strides(2)
    g.refuse_unless((n <= 1) | lines.equals(0) | by_item.equals(g.size))
    with g.when(n > 1), g.loop(lines) as k:
        line = g.out(0).offset(k * by_line)
        status = g.call("sort", g.dtype.name, (line, n, ir.Constant(BYTES, None)), INT32)
        g.refuse_unless(Int(g.builder, status).equals(0))


sort = kernel(
    "sort",
    SORTED,
    "Put lines in order, in place; NaN is larger than any number.",
    outs="x[lines, n]",
    dims="lines, n",
    strides="x (2)",
    write=_sort,
)


def _argsort(g: Glue) -> None:
    lines, n = g.dims(2)
    to_line, to_item, by_line, by_item = g.strides(4)
    g.refuse_unless((n <= 1) | lines.equals(0) | (to_item.equals(8) & by_item.equals(g.size)))
    with g.loop(lines) as k:
        to = g.out(0).offset(k * to_line).value
        order = g.builder.bitcast(to, WORD.as_pointer())
        with g.loop(n) as i:
            g.builder.store(i.value, g.builder.gep(order, [i.value]))
        line = g.given(0).offset(k * by_line)
        status = g.call("argsort", g.dtype.name, (line, to, n, ir.Constant(BYTES, None)), INT32)
        g.refuse_unless(Int(g.builder, status).equals(0))


argsort = kernel(
    "argsort",
    SORTED,
    "The indices, of 64 bits, that put lines in order; equal elements keep theirs. NumPy takes memory for it "
    "meanwhile.",
    outs="order[lines, n]",
    ins="x[lines, n]",
    dims="lines, n",
    strides="order (2), x (2)",
    write=_argsort,
)


def _transform(g: Glue, loop: str) -> None:
    """Call a loop of NumPy's for each stack: operands, sizes, and bytes from line to line and from item to item."""
    stacks, lines, n, m = g.dims(4)
    to_stack, to_line, to_item, by_stack, by_line, by_item = g.strides(6)
    sizes = g.in_memory([v.value for v in (lines, n, m)])
    steps = g.in_memory([v.value for v in (by_line, g.int(0), to_line, by_item, to_item)])
    with g.when(lines > 0), g.loop(stacks) as k:
        x, out = g.given(0).offset(k * by_stack), g.out(0).offset(k * to_stack)
        pointers = g.in_memory([x.value, g.given(1).value, out.value])
        g.call("fft", loop, (pointers, sizes, steps, g.data("fft_data", loop)))


def _fft(name: str) -> Callable[[Glue], None]:
    """Writes the kernel of a loop."""

    def write(g: Glue) -> None:
        _transform(g, f"{name}_{'float32' if g.dtype.char in 'fF' else 'float64'}")

    return write


def _rfft(g: Glue) -> None:
    length = g.dims(5)[4]
    with g.either((length % 2).equals(0)) as (even, odd):
        with even:
            _transform(g, f"rfft_n_even_{g.dtype.name}")
        with odd:
            _transform(g, f"rfft_n_odd_{g.dtype.name}")


_transforms = partial(
    kernel,
    outs="out[stacks, lines, m]",
    ins="x[stacks, lines, n], factor",
    dims="stacks, lines, n, m",
    strides="out (3), x (3)",
)
fft = _transforms(
    "fft",
    "FD",
    "The transforms of lines, cut or filled up with zeros to the length ``m``, times a real factor.",
    _fft("fft"),
)
ifft = _transforms("ifft", "FD", "As `fft`, the other way.", _fft("ifft"))
rfft = _transforms(
    "rfft",
    "fd",
    "The first ``m = length // 2 + 1`` numbers of the transforms of real lines, cut or filled up to a length.",
    _rfft,
    dims="stacks, lines, n, m, length",
)
irfft = _transforms(
    "irfft",
    "FD",
    "The real lines of length ``m`` whose transforms begin with these, times a real factor.",
    _fft("irfft"),
)
