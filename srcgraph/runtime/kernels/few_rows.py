"""Products of a few rows and a large matrix, which is read from memory once, as it lies.

BLAS copies the large matrix into an order that suits many rows, and for a few of them that takes longer than the
product. Here some rows of it at a time are multiplied by all numbers of the few rows that they meet, several columns at
once. Rounded sums are of a panel of rows each, and these are added up, so that errors are those of BLAS, which does the
same.

References
----------
Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM Transactions on Mathematical Software
34, 2008, section 3: what is to stay in which cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from srcgraph.runtime.kernels.glue import BYTES, Glue, Int, Pointer
from srcgraph.runtime.kernels.matrix import Matrix

MOST = 8
"""So many rows are few."""
LARGE = 4 << 20
"""A matrix of fewer bytes stays in a core's cache, where BLAS is quicker."""
_VECTOR = 64
"""The bytes of what is computed at once."""
_WIDTH = 8192
"""The bytes of a row of sums that stay in the first cache."""
_PANEL = 512
_AT_ONCE = 8
"""Rows of the large matrix that are multiplied at once, by"""
_ROWS = 4
"""as many of the few."""


def suits(g: Glue, c: Matrix, a: Matrix, b: Matrix) -> Int:
    """Whether ``a`` and ``c`` have few rows, ``b`` is large, and rows of ``b`` and ``c`` lie without gaps."""
    by_rows = b.across.equals(g.size) & c.across.equals(g.size)
    few = (c.rows > 1) & (c.rows <= MOST) & (c.columns >= _VECTOR)
    return by_rows & few & (b.rows * b.columns >= LARGE // g.size)


def few_rows(g: Glue, c: Matrix, a: Matrix, b: Matrix, alpha: Any, beta: Any) -> None:
    """``c = alpha a b + beta c``; ``c`` is not read if ``beta`` is 0."""
    width = _WIDTH // g.size
    with g.loop((c.columns + (width - 1)) // width, as_written=True) as tile:
        sums = _Sums(g, width, tile * width, _smaller(c.columns - tile * width, width))
        with g.loop((b.rows + (_PANEL - 1)) // _PANEL, as_written=True) as panel:
            top = panel * _PANEL
            height = _smaller(b.rows - top, _PANEL)
            sums.clear(c.rows)
            with g.loop(height // _AT_ONCE, as_written=True) as k:
                sums.add(a, b, top + k * _AT_ONCE, _AT_ONCE)
            done = height - height % _AT_ONCE
            with g.loop(height - done, as_written=True) as k:
                sums.add(a, b, top + done + k, 1)
            kept = g.builder.select(panel.equals(0).value, beta, g.number(1.0))
            sums.add_to(c, alpha, kept)


def _smaller(x: Int, y: int) -> Int:
    return (x < y).where(x, y)


@dataclass(slots=True)
class _Sums:
    """Rows of sums, for some columns, in memory of the function's own."""

    g: Glue
    width: int
    first: Int
    count: Int
    memory: Pointer = field(init=False)
    lanes: int = field(init=False)

    def __post_init__(self) -> None:
        g = self.g
        with g.builder.goto_entry_block():
            room = g.builder.alloca(ir.ArrayType(g.kind, MOST * self.width))
        self.memory, self.lanes = Pointer(g, g.builder.bitcast(room, BYTES)), _VECTOR // g.size

    def at(self, i: Int, j: Int) -> Pointer:
        return self.memory.offset((i * self.width + j) * self.g.size)

    def clear(self, rows: Int) -> None:
        zeros = ir.Constant(self._kind, None)
        with (
            self.g.loop(rows, as_written=True) as i,
            self.g.loop((self.count + (self.lanes - 1)) // self.lanes, as_written=True) as j,
        ):
            self._store(zeros, self.at(i, j * self.lanes))

    def add_to(self, c: Matrix, alpha: Any, kept: Any) -> None:
        """``c = alpha sums + kept c``; ``c`` is not read if ``kept`` is 0."""
        g, fresh = self.g, self.g.is_zero(kept)
        with g.loop(c.rows, as_written=True) as i, g.loop(self.count, as_written=True) as j:
            to, new = c.element(i, self.first + j), g.times(alpha, self.at(i, j).load())
            with g.either(fresh) as (yes, no):
                with yes:
                    to.store(new)
                with no:
                    to.store(g.plus(g.times(kept, to.load()), new))

    def add(self, a: Matrix, b: Matrix, k: Int, height: int) -> None:
        """Add the products of some rows of ``b``, from row ``k``, and what they meet of ``a``.

        Where ``a`` has no further row, the last one's products are added to sums that nobody reads.
        """
        g, last, lanes = self.g, a.rows - 1, self.lanes
        with g.loop((a.rows + (_ROWS - 1)) // _ROWS, as_written=True) as group:
            rows = [group * _ROWS + r for r in range(_ROWS)]
            from_a = [[a.element((last < i).where(last, i), k + u).load() for u in range(height)] for i in rows]
            factors = [[self._all(number) for number in row] for row in from_a]
            with g.loop((self.count + (lanes - 1)) // lanes, as_written=True) as step:
                j = step * lanes
                inside = self._are_before(self.count - j)
                lower = [self._some(b.element(k + u, self.first + j), inside) for u in range(height)]
                for i, row in zip(rows, factors, strict=True):
                    total = self._load(self.at(i, j))
                    for factor, number in zip(row, lower, strict=True):
                        total = self._call("fmuladd", factor, number, total)
                    self._store(total, self.at(i, j))

    # -- several numbers --------------------------------------------------------------------------

    @property
    def _kind(self) -> ir.VectorType:
        return ir.VectorType(self.g.kind, self.lanes)

    def _typed(self, at: Pointer) -> Any:
        return self.g.builder.bitcast(at.value, self._kind.as_pointer())

    def _load(self, at: Pointer) -> Any:
        return self.g.builder.load(self._typed(at), align=self.g.size)

    def _store(self, value: Any, at: Pointer) -> None:
        self.g.builder.store(value, self._typed(at), align=self.g.size)

    def _some(self, at: Pointer, inside: Any) -> Any:
        """Those numbers in memory that are to be read, and others."""
        align = ir.IntType(32)(self.g.size)
        return self._call("masked.load", self._typed(at), align, inside, ir.Constant(self._kind, ir.Undefined))

    def _are_before(self, count: Int) -> Any:
        """For each lane, whether it is one of the first."""
        whole = ir.VectorType(ir.IntType(32), self.lanes)
        lanes = ir.Constant(whole, list(range(self.lanes)))
        b = self.g.builder
        count = (count < self.lanes).where(count, self.lanes)
        return b.icmp_signed("<", lanes, self._all(b.trunc(count.value, ir.IntType(32))))

    def _all(self, value: Any) -> Any:
        """The same number in all lanes."""
        b, kind = self.g.builder, ir.VectorType(value.type, self.lanes)
        first = b.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
        return b.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), None))

    def _call(self, name: str, *args: Any) -> Any:
        """An operation of LLVM's on several numbers."""
        ends = f"v{self.lanes}f{8 * self.g.size}"
        name = f"llvm.{name}.{ends}" + (".p0" if "masked" in name else "")
        kind = ir.FunctionType(self._kind, [v.type for v in args])
        return self.g.builder.call(self.g.module.globals.get(name) or ir.Function(self.g.module, kind, name), args)
