"""Vectors and matrices in memory, and how a library for columns can take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from srcgraph.runtime.kernels.glue import MOST, Glue, Int, Pointer, at_least


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix in memory: sizes, and bytes from row to row and from column to column."""

    at: Pointer
    rows: Int
    columns: Int
    down: Int
    across: Int

    @property
    def transposed(self) -> Matrix:
        return Matrix(self.at, self.columns, self.rows, self.across, self.down)

    def element(self, i: Int, j: Int) -> Pointer:
        return self.at.offset(i * self.down, j * self.across)

    def by_columns(self) -> tuple[Int, Int]:
        """Whether its columns lie one after the other, and the elements from one to the next."""
        size = self.at.glue.size
        least = at_least(self.rows, 1)
        leading = (self.columns <= 1).where(least, self.across // size)
        fits = (self.columns <= 1) | ((self.across % size).equals(0) & (leading >= least) & (leading <= MOST))
        return ((self.rows <= 1) | self.down.equals(size)) & fits, leading

    def oriented(self) -> tuple[Int, Int, Int]:
        """Whether a library can take it; whether as a transpose, as it does a row; its leading dimension."""
        plain, leading = self.by_columns()
        other, leading_other = self.transposed.by_columns()
        flip = other & (~plain | (self.rows <= 1))
        return plain | other, flip, flip.where(leading_other, leading)


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector in memory: its length, and bytes from one element to the next."""

    at: Pointer
    length: Int
    stride: Int

    @property
    def column(self) -> Matrix:
        none = self.at.glue.int(0)
        return Matrix(self.at, self.length, none + 1, self.stride, none)

    @property
    def row(self) -> Matrix:
        return self.column.transposed

    def stepped(self) -> tuple[Int, Pointer, Int]:
        """Whether a library can take it; where its lowest element is; its increment, which may be negative."""
        size = self.at.glue.size
        few = self.length <= 1
        by = few.where(1, self.stride // size)
        fits = few | ((self.stride % size).equals(0) & ~self.stride.equals(0) & (by <= MOST) & (by >= -MOST))
        back = (few | (self.stride >= 0)).where(0, (self.length - 1) * self.stride)
        return fits, self.at.offset(back), by


def chosen(test: Int, x: Matrix, y: Matrix) -> Matrix:
    """One of two matrices."""
    at = Pointer(x.at.glue, x.at.glue.builder.select(test.value, x.at.value, y.at.value))
    pairs = ((x.rows, y.rows), (x.columns, y.columns), (x.down, y.down), (x.across, y.across))
    return Matrix(at, *(test.where(a, b) for a, b in pairs))


def countable(*sizes: Int) -> Int:
    """Whether a library that counts with 32 bits can."""
    out = sizes[0] <= MOST
    for n in sizes[1:]:
        out = out & (n <= MOST)
    return out


def multiply(g: Glue, c: Matrix, a: Matrix, b: Matrix, alpha: Any, beta: Any) -> None:
    """``c = alpha a b + beta c`` by loops, whatever the strides; ``c`` is not read if ``beta`` is 0."""
    same, fresh = g.is_one(alpha), g.is_zero(beta)
    with g.loop(c.rows, as_written=True) as i, g.loop(c.columns, as_written=True) as j:
        total = g.variable(g.number(0.0))
        with g.loop(a.columns, as_written=True) as k:
            total.store(g.plus(total.load(), g.times(a.element(i, k).load(), b.element(k, j).load())))
        with g.when(~same):
            total.store(g.times(alpha, total.load()))
        to = c.element(i, j)
        with g.when(~fresh):
            total.store(g.plus(total.load(), g.times(beta, to.load())))
        to.store(total.load())


def clear(g: Glue, c: Matrix) -> None:
    """Fill with zeros: some libraries multiply what is there by 0, which NaN survives."""
    with g.loop(c.rows, as_written=True) as i, g.loop(c.columns, as_written=True) as j:
        c.element(i, j).store(g.number(0.0))
