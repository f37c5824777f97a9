"""What kernels are written in: a few operations that become LLVM code, which a library's function is called from.

Glue reads what a kernel is given, decides what to tell the library, and calls it. Written as LLVM's instructions it is
compiled in milliseconds, where the same in Python would take numba some tenths of a second.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from srcgraph.runtime.kernels.libraries import symbol_of
from srcgraph.runtime.short_loops import keep_short

WORD = ir.IntType(64)
INT32, BYTE, BIT = ir.IntType(32), ir.IntType(8), ir.IntType(1)
BYTES = BYTE.as_pointer()
LETTER = {"f": "s", "d": "d", "F": "c", "D": "z"}
"""What the names of BLAS and LAPACK begin with."""
SIGNATURE = ir.FunctionType(
    WORD, [BYTES.as_pointer(), BYTES.as_pointer(), WORD.as_pointer(), WORD.as_pointer(), WORD.as_pointer()]
)
"""``int64 k(void **outs, void **ins, int64 *dims, int64 *strides, int64 *flags)``."""
REAL = {"f": ir.FloatType(), "d": ir.DoubleType(), "F": ir.FloatType(), "D": ir.DoubleType()}
MOST = 2**31 - 1
"""Libraries count with 32 bits."""


class Int:
    """An integer, or a truth, in a kernel."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: Any):
        self.builder, self.value = builder, value

    def _with(self, build: Callable[..., Any], *others: Int | int) -> Int:
        given = [o.value if isinstance(o, Int) else ir.Constant(self.value.type, o) for o in others]
        return Int(self.builder, build(self.value, *given))

    def _compared(self, how: str, other: Int | int) -> Int:
        return self._with(lambda x, y: self.builder.icmp_signed(how, x, y), other)

    def __add__(self, other: Int | int) -> Int:
        return self._with(self.builder.add, other)

    def __sub__(self, other: Int | int) -> Int:
        return self._with(self.builder.sub, other)

    def __mul__(self, other: Int | int) -> Int:
        return self._with(self.builder.mul, other)

    def __floordiv__(self, other: Int | int) -> Int:
        return self._with(self.builder.sdiv, other)

    def __mod__(self, other: Int | int) -> Int:
        return self._with(self.builder.srem, other)

    def __and__(self, other: Int | int) -> Int:
        return self._with(self.builder.and_, other)

    def __or__(self, other: Int | int) -> Int:
        return self._with(self.builder.or_, other)

    def __xor__(self, other: Int | int) -> Int:
        return self._with(self.builder.xor, other)

    def __invert__(self) -> Int:
        return Int(self.builder, self.builder.not_(self.value))

    def __lt__(self, other: Int | int) -> Int:
        return self._compared("<", other)

    def __le__(self, other: Int | int) -> Int:
        return self._compared("<=", other)

    def __gt__(self, other: Int | int) -> Int:
        return self._compared(">", other)

    def __ge__(self, other: Int | int) -> Int:
        return self._compared(">=", other)

    def equals(self, other: Int | int) -> Int:
        return self._compared("==", other)

    def where(self, x: Int | int, y: Int | int) -> Int:
        """``x`` where this is true, else ``y``."""
        kind = next((v.value.type for v in (x, y) if isinstance(v, Int)), WORD)
        found = [v.value if isinstance(v, Int) else ir.Constant(kind, v) for v in (x, y)]
        return Int(self.builder, self.builder.select(self.value, found[0], found[1]))


def at_least(x: Int, least: Int | int) -> Int:
    return (x < least).where(least, x)


class Glue:
    """The body of one kernel for one dtype, while it is built.

    Parameters
    ----------
    symbol : str
        The name of the function.
    dtype : np.dtype
    """

    def __init__(self, symbol: str, dtype: np.dtype):
        self.dtype, self.size = dtype, dtype.itemsize
        self.needs: set[tuple[str, str]] = set()
        self.loops = False
        self.module = ir.Module(name=symbol)
        self.function = ir.Function(self.module, SIGNATURE, symbol)
        self.builder = ir.IRBuilder(self.function.append_basic_block())

    # -- what the kernel is given -------------------------------------------------------------------------

    def _read(self, which: int, k: int) -> Any:
        return self.builder.load(self.builder.gep(self.function.args[which], [ir.Constant(WORD, k)]))

    def out(self, k: int) -> Pointer:
        return Pointer(self, self._read(0, k))

    def given(self, k: int) -> Pointer:
        return Pointer(self, self._read(1, k))

    def dims(self, count: int) -> list[Int]:
        return [Int(self.builder, self._read(2, k)) for k in range(count)]

    def strides(self, count: int) -> list[Int]:
        """Bytes from one element to the next."""
        return [Int(self.builder, self._read(3, k)) for k in range(count)]

    def flags(self, count: int) -> list[Int]:
        """Whether each is set."""
        return [self.flag(k) for k in range(count)]

    def flag(self, k: int) -> Int:
        return ~Int(self.builder, self._read(4, k)).equals(0)

    # -- control flow -------------------------------------------------------------------------------------

    def int(self, value: int) -> Int:
        return Int(self.builder, ir.Constant(WORD, value))

    def truth(self, value: bool) -> Int:
        return Int(self.builder, ir.Constant(BIT, int(value)))

    def when(self, test: Int) -> contextlib.AbstractContextManager[Any]:
        return self.builder.if_then(test.value)

    def either(self, test: Int) -> contextlib.AbstractContextManager[tuple[Any, Any]]:
        return self.builder.if_else(test.value)

    @contextlib.contextmanager
    def loop(self, count: Int, as_written: bool = False) -> Iterator[Int]:
        """A loop, which LLVM may be told to leave as it is."""
        self.loops = self.loops or not as_written
        with cgutils.for_range(self.builder, count.value) as trip:
            yield Int(self.builder, trip.index)
            last: Any = self.builder.block
        if as_written:
            keep_short(last.terminator, self.module)

    def give_back(self, status: int) -> None:
        """End here: 0 for done."""
        self.builder.ret(ir.Constant(WORD, status))

    def finish(self) -> None:
        """Return 0 at the end."""
        block = self.builder.block
        if block is not None and not block.is_terminated:
            self.give_back(0)

    def refuse_unless(self, test: Int) -> None:
        """Return 1, nothing done, unless the library can take what is given."""
        with self.when(~test):
            self.give_back(1)

    # -- libraries ----------------------------------------------------------------------------------------

    def call(self, library: str, name: str, args: Sequence[Any], result: Any = None) -> Any:
        """Call a function of a library."""
        self.needs.add((library, name))
        values = [getattr(a, "value", a) for a in args]
        kind = ir.FunctionType(result or ir.VoidType(), [v.type for v in values])
        return self.builder.call(cgutils.get_or_insert_function(self.module, kind, symbol_of(library, name)), values)

    def fortran(self, library: str, name: str, args: Sequence[Any], result: Any = None) -> Any:
        """Call a function of Fortran, which takes all by address: numbers of 32 bits, characters, arrays.

        Parameters
        ----------
        name : str
            Without the letter for the dtype.
        """
        return self.call(library, LETTER[self.dtype.char] + name, [self.address(a) for a in args], result)

    def data(self, library: str, name: str) -> Any:
        """Where something of a library is."""
        self.needs.add((library, name))
        symbol = symbol_of(library, name)
        return self.module.globals.get(symbol) or ir.GlobalVariable(self.module, BYTE, symbol)

    def in_memory(self, values: Sequence[Any]) -> Any:
        """An array of values, on the stack, as what C's loops take."""
        packed = cgutils.alloca_once_value(self.builder, cgutils.pack_array(self.builder, [*values]))
        return self.builder.bitcast(packed, BYTES)

    def address(self, x: Any) -> Any:
        if isinstance(x, Pointer):
            return x.value
        if isinstance(x, str):
            return cgutils.alloca_once_value(self.builder, ir.Constant(BYTE, ord(x)))
        value = x.value
        if value.type == WORD:
            value = self.builder.trunc(value, INT32)
        return cgutils.alloca_once_value(self.builder, value)

    def letter(self, test: Int, x: str, y: str) -> Int:
        """A character that tells the library which."""
        value = self.builder.select(test.value, ir.Constant(BYTE, ord(x)), ir.Constant(BYTE, ord(y)))
        return Int(self.builder, value)

    # -- numbers ------------------------------------------------------------------------------------------

    def variable(self, start: Any) -> Pointer:
        """Room for one number."""
        return Pointer(self, self.builder.bitcast(cgutils.alloca_once_value(self.builder, start), BYTES))

    @property
    def is_complex(self) -> bool:
        return self.dtype.kind == "c"

    @property
    def kind(self) -> Any:
        """A number of the dtype: two of them where it is complex."""
        if self.dtype.kind in "biu":
            return ir.IntType(8 * self.size)
        real = REAL[self.dtype.char]
        return ir.LiteralStructType([real, real]) if self.is_complex else real

    def number(self, value: float) -> Any:
        real = REAL[self.dtype.char]
        if self.is_complex:
            return ir.Constant(self.kind, [ir.Constant(real, value), ir.Constant(real, 0.0)])
        return ir.Constant(real, value)

    def _parts(self, x: Any) -> tuple[Any, Any]:
        return self.builder.extract_value(x, 0), self.builder.extract_value(x, 1)

    def _whole(self, real: Any, imag: Any) -> Any:
        start = ir.Constant(self.kind, ir.Undefined)
        return self.builder.insert_value(self.builder.insert_value(start, real, 0), imag, 1)

    def plus(self, x: Any, y: Any) -> Any:
        if not self.is_complex:
            return self.builder.fadd(x, y)
        (a, b), (c, d) = self._parts(x), self._parts(y)
        return self._whole(self.builder.fadd(a, c), self.builder.fadd(b, d))

    def times(self, x: Any, y: Any) -> Any:
        b = self.builder
        if not self.is_complex:
            return b.fmul(x, y)
        (p, q), (r, s) = self._parts(x), self._parts(y)
        return self._whole(b.fsub(b.fmul(p, r), b.fmul(q, s)), b.fadd(b.fmul(p, s), b.fmul(q, r)))

    def is_zero(self, x: Any) -> Int:
        return self._is(x, 0.0)

    def is_one(self, x: Any) -> Int:
        return self._is(x, 1.0)

    def _is(self, x: Any, number: float) -> Int:
        """Whether a number is a real one."""
        real = REAL[self.dtype.char]
        parts = zip(self._parts(x) if self.is_complex else [x], (number, 0.0), strict=False)
        tests = [Int(self.builder, self.builder.fcmp_ordered("==", v, ir.Constant(real, n))) for v, n in parts]
        return tests[0] if len(tests) == 1 else tests[0] & tests[1]


class Pointer:
    """Where an array or a number is."""

    __slots__ = ("glue", "value")

    def __init__(self, glue: Glue, value: Any):
        self.glue, self.value = glue, value

    def offset(self, *amounts: Int) -> Pointer:
        """Some bytes further."""
        value = self.value
        for amount in amounts:
            value = self.glue.builder.gep(value, [amount.value])
        return Pointer(self.glue, value)

    def _typed(self) -> Any:
        return self.glue.builder.bitcast(self.value, self.glue.kind.as_pointer())

    def load(self) -> Any:
        return self.glue.builder.load(self._typed())

    def store(self, number: Any) -> None:
        self.glue.builder.store(number, self._typed())

    def same(self, other: Pointer) -> Int:
        builder = self.glue.builder
        return Int(builder, builder.icmp_unsigned("==", self.value, other.value))
