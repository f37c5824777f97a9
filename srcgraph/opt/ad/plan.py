"""Where each saved value is kept: in a variable, in an array with an axis per loop, in blocks on a list, or on a list.

What a branch computes outside every loop, once at most, is a variable; where the branch is not taken, it holds nothing.
A value inside counted loops only is saved in an array with an axis per loop, made before the nest; so is an array of
which the size is known there, with its own axes behind those. Inside a loop whose trips are not known beforehand, each
run of the counted loops below it fills a block, and the blocks go on a list; where there are no counted loops below,
numbers go on a list. So they do in loops in which a function that calls itself does so: few trips, many blocks. Other
arrays go on a list as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, Call, For, Graph, Node, Value, While
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.residuals import Home, Residuals, top_symbols


@dataclass(frozen=True, eq=False, slots=True)
class Tape:
    """Where one value is saved.

    Attributes
    ----------
    blocked : tuple of Home
        The counted loops that index the array or block; empty for a variable, or a list of items.
    listed : bool
        Whether items, or blocks, go on a list.
    outermost : Node
        The node of the outermost region before which the tape is made.
    """

    value: Value
    home: Home
    blocked: tuple[Home, ...]
    listed: bool
    outermost: Node

    hint: str = ""
    """What the value is called, or would be: ``u_i`` for an element of ``u``."""

    @property
    def name(self) -> str:
        if self.is_variable:
            return self.item_name
        return f"{self.hint}_saved" if self.hint else ""

    @property
    def is_variable(self) -> bool:
        return not self.blocked and not self.listed

    @property
    def container(self) -> str:
        """What the value is saved in, as the tape table says it."""
        if not self.blocked:
            return "list" if self.listed else "variable"
        return "blocks" if self.listed else "array"

    @property
    def item_name(self) -> str:
        """The name of a value read back: the user's own, or a suggestion."""
        return self.value.name or (f"_{self.hint}" if self.hint else "")

    @property
    def block_name(self) -> str:
        return f"{self.hint}_block" if self.hint and self.listed else self.name


class Plan:
    """Finds the place of each value of ``residuals.saved``.

    Attributes
    ----------
    tapes : list of Tape
    top_symbols : frozenset of str
        The sizes and integers that are known outside every loop.
    """

    def __init__(self, graph: Graph, residuals: Residuals):
        self.residuals = residuals
        self.top_symbols = top_symbols(graph)
        self.sizes = {d.symbol for p in graph.params if isinstance(p.type, ArrayType) for d in p.type.shape if d.symbol}
        self.tapes = [self.planned(v) for v in residuals.saved]

    def planned(self, value: Value) -> Tape:
        home = self.residuals.home_of[value]
        chain = home.chain()
        nest = [h for h in chain if isinstance(h.node, For | While)]
        outermost = chain[0].node
        assert outermost is not None
        hint = hint_of(value, self.residuals.definition.get(value))
        if not nest and not home.function and self.is_sized(value.type):
            return Tape(value, home, (), False, outermost, hint)
        if home.function and nest and _calls(nest[-1]):
            return Tape(value, home, (), True, outermost, hint)
        for k in range(len(nest)):
            if self.counted(nest[k:]):
                listed = bool(home.function) or not (k == 0 and self.sized_at_top(nest))
                if not isinstance(value.type, ArrayType) or (not listed and self.is_row(value.type, nest)):
                    return Tape(value, home, tuple(nest[k:]), listed, outermost, hint)
        return Tape(value, home, (), True, outermost, hint)

    def counted(self, nest: Sequence[Home]) -> bool:
        """Whether the trips of every loop are known before the first of them starts."""
        first, never_stops = nest[0], _never_stops(nest)
        for home in nest:
            if not isinstance(home.node, For):
                return False
            node = home.node
            bounds = (node.start, node.stop, node.step)
            if any(self.inside(v, first) and not (never_stops and self.known_at_top(v)) for v in bounds):
                return False
            if node.step.type.value.const is None or not self.known_in_reverse(node.start.type.value, home):
                return False
        return True

    def known_at_top(self, value: Value) -> bool:
        return value.type.value.symbols() <= self.top_symbols

    def inside(self, value: Value, home: Home) -> bool:
        where = self.residuals.home_of.get(value)
        return where is not None and home in where.chain()

    def known_in_reverse(self, dim: Dim, home: Home) -> bool:
        """Whether the reverse sweep can compute an expression without reading saved values."""
        indices = {h.graph.params[0].type.value.symbol for h in home.chain() if isinstance(h.node, For)}
        return dim.symbols() <= self.top_symbols | indices

    def sized_at_top(self, nest: Sequence[Home]) -> bool:
        values = [v for h in nest if isinstance(h.node, For) for v in (h.node.start, h.node.stop)]
        return all(map(self.known_at_top, values))

    def is_row(self, type: ArrayType, nest: Sequence[Home]) -> bool:
        """Whether there is place for an array: its size is known before the nest, each of whose trips is made."""
        return _never_stops(nest) and self.is_sized(type)

    def is_sized(self, type: ArrayType | ScalarType) -> bool:
        """Whether sizes are constants or given."""
        return all(d.const is not None or d.symbol in self.sizes for d in type.shape)


def _calls(home: Home) -> bool:
    """Whether each trip of a loop calls a function: what these save is on lists, and so a block would take longer."""
    return any(isinstance(n, Call) for n in all_nodes(home.graph))


def _never_stops(nest: Sequence[Home]) -> bool:
    """Whether every trip is made. One that may stop early is often given many more than there is memory for."""
    return not any(isinstance(h.node, For) and h.node.stops for h in nest)


def hint_of(value: Value, node: Node | None) -> str:
    """The user's name for a value, or one made of the array and indices it is read from."""
    if value.name:
        return value.name.lstrip("_")
    if isinstance(node, Apply) and node.op.name == "getitem" and node.inputs[0].name:
        parts = [node.inputs[0].name.lstrip("_"), *(v.name.lstrip("_") for v in node.inputs[1:] if v.name)]
        if len(parts) == len(node.inputs):
            return "_".join(parts)
    loc = node.origin.loc if node is not None else None
    return f"t_{loc.line}" if loc is not None else ""
