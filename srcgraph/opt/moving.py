"""Graphs built anew with work in another place than it was: what every pass needs that moves nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.view import element


class Moving(Rebuild):
    """Notes whether what is built may stand where it is, and keeps numbers in arrays."""

    stands = True
    """Whether nothing built since it was set takes for granted what is not known."""

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        self.stands = self.stands and self.builder.stands(node.op, inputs, node.attrs)
        return super().apply(node, inputs)

    def kept(self, arrays: Sequence[Value], values: Sequence[Value], at: Value) -> Sequence[Value]:
        """Arrays with numbers of the old graph at a place, one in each."""
        return self.stored(arrays, self.values(values), at)

    def stored(self, arrays: Sequence[Value], numbers: Sequence[Value], at: Value) -> Sequence[Value]:
        """Arrays with numbers at a place, one in each."""
        cast = [self.builder.cast(v, a.type.dtype, weak=False) for a, v in zip(arrays, numbers, strict=True)]
        return [OPS["setitem"](a, v, at, view=element(1)) for a, v in zip(arrays, cast, strict=True)]

    def read(self, array: Value, at: Value, value: Value) -> Value:
        """What is kept of a number of the old graph."""
        found = OPS["getitem"](array, at, view=element(1))
        return self.builder.cast(found, found.type.dtype, weak=True) if value.type.weak else found

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is bound to values of the old graph meanwhile is forgotten after it."""
        before = self.env, self.symbols
        self.env, self.symbols = dict(self.env), dict(self.symbols)
        yield
        self.env, self.symbols = before
