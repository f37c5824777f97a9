"""Loops that gather, run again in the reverse sweep: cheaper than an array on a tape for each trip around them.

``x[columns]`` checks its indices and reads in a loop. What it needs is as a rule there in the reverse sweep, and that
the indices are in range is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srcgraph.ir.graph import Apply, For, Node, Value
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.opt.eliminated import is_of_few
from srcgraph.opt.fuse import stores_at_index
from srcgraph.opt.scalars import PRODUCTS, multiplied

MOST = 12
"""So many operations a trip has at most."""


def is_cheap_again(node: Apply) -> bool:
    """Whether running a node again in the reverse sweep is cheap and gives the same."""
    if node.op.kind == "check" or is_of_few(node):
        return True
    if node.op.name == "matmul":
        return sum(map(len, multiplied(node) or [[None] * PRODUCTS])) < PRODUCTS
    return node.op.kind in ("elementwise", "structural") and not node.op.heavy and not node.op.fresh


def gathers(loop: For, definition: Mapping[Value, Node]) -> bool:
    """Whether a loop does nothing but fill new arrays, in a few cheap operations on numbers for each element."""
    if loop.stops or len(loop.body.nodes) > MOST or not all(_is_new(v, definition) for v in loop.carry):
        return False
    cheap = all(isinstance(n, Apply) and _is_of_numbers(n) for n in loop.body.nodes)
    return cheap and all(stores_at_index(loop, k) for k in range(len(loop.carry)))


def _is_new(value: Value, definition: Mapping[Value, Node]) -> bool:
    node = definition.get(value)
    return isinstance(node, Apply) and node.op.name == "empty"


def _is_of_numbers(node: Apply) -> bool:
    if node.op.name == "setitem":
        return not node.inputs[1].type.ndim
    return is_cheap_again(node) and not any(v.type.ndim for v in node.outputs)


def arrays_of(loop: For, definition: Mapping[Value, Node]) -> list[Apply]:
    """What makes the arrays that such a loop fills."""
    return [node for v in loop.carry if isinstance(node := definition[v], Apply)]


class Again(Rebuild):
    """Puts such a loop into the sweep that another builder of graphs is at, without its checks."""

    def __init__(self, sweep: Rebuild):
        self.sweep = sweep
        self.builder = sweep.builder
        self.env = {}
        self.symbols = dict(sweep.symbols)

    def loop(self, node: For, arrays: Sequence[Apply]) -> Sequence[Value]:
        for made in arrays:
            self.nodes([made])
        with self.builder.at(origin=node.origin):
            return self.for_(node)

    def value(self, old: Value) -> Value:
        return self.env[old] if old in self.env else self.sweep.value(old)

    def bind(self, old: Value, new: Value) -> None:
        """As in all replays; but that sizes of the loop's own were something else in the other sweep."""
        self.env[old] = new
        if isinstance(old.type, ArrayType) and isinstance(new.type, ArrayType):
            sizes = zip(old.type.shape, new.type.shape, strict=True)
            self.symbols.update({before.symbol: now for before, now in sizes if before.symbol})
        elif isinstance(old.type, ScalarType) and isinstance(new.type, ScalarType):
            if old.type.value is not None and old.type.value.symbol and new.type.value is not None:
                self.symbols[old.type.value.symbol] = new.type.value

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.op.unchecked is not None:
            return (node.op.unchecked(*inputs, **node.attrs),)
        return super().apply(node, inputs)
