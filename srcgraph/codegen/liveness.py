"""Which variables are still needed after each item."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from srcgraph.codegen.items import Block, Branch, Item, Loop, Raise, reads_of, refs, writes_of
from srcgraph.ir.graph import Value

Live = frozenset[Value]


class Liveness:
    """The variables live after every item of a function, and at the start of every loop's iteration.

    Attributes
    ----------
    after : dict
        By item.
    header : dict
        By loop: live where an iteration starts, its own parameters included.
    end : dict
        By block: live where it ends, before its results are handed on.
    """

    def __init__(self, block: Block, at_end: Iterable[Value] = ()):
        self.after: dict[int, Live] = {}
        self.header: dict[int, Live] = {}
        self.end: dict[int, Live] = {}
        self.entry = self.block(block, frozenset(at_end))

    def block(self, block: Block, after: Live) -> Live:
        """Live before a block, given what is live after its results are handed on."""
        live = after | result_reads(block)
        self.end[id(block)] = live
        for item in reversed(block.items):
            self.after[id(item)] = live
            live = self.item(item, live)
        return live

    def item(self, item: Item, live: Live) -> Live:
        without = live - frozenset(writes_of(item))
        match item:
            case Raise(fails=ast.Constant(value=True)):
                return frozenset(reads_of(item))
            case Branch():
                inner = self.block(item.then, without) | self.block(item.orelse, without)
                return inner | reads_of(item)
            case Loop():
                return self.loop(item, live, without) | reads_of(item)
        return without | reads_of(item)

    def loop(self, item: Loop, live: Live, without: Live) -> Live:
        """What a loop needs from outside, its bounds and first values excluded."""
        params = frozenset(item.params)
        own = params | ({item.index} if item.index else set())
        exits = frozenset(p for p, o in zip(item.params, item.outputs, strict=True) if o in live)
        stop = frozenset(refs(item.stop)) if item.stop is not None else frozenset()
        header: Live = without | exits
        while True:
            outer = header - own
            body = self.block(item.body, outer | stop)
            before = body if item.test is None else self.block(item.test, body | without | exits)
            grown = header | before | exits
            if grown == header:
                break
            header = grown
        self.header[id(item)] = header
        return header - own


def result_reads(block: Block) -> Live:
    return frozenset(v for e in block.results for v in refs(e))
