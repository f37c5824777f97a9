"""Where variables are needed, against sets of them that are carried from item to item, backwards."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
import pytest
from harness import calls, corpus, differentiable_calls, label

import srcgraph as sg
from srcgraph.codegen import names, storage
from srcgraph.codegen.items import Block, Branch, Item, Loop, Raise, all_blocks, reads_of, refs, writes_of
from srcgraph.codegen.liveness import Liveness
from srcgraph.errors import ArgumentError, DerivativeError
from srcgraph.ir.graph import Value

pytestmark = pytest.mark.plainly

Live = frozenset[Value]
HARD = ("saved_after_a_name_without_a_value", "copied_signed_to_unsigned", "resized_in_a_while")
CASES = [p for k, p in enumerate(corpus()) if (k % 10 == 0 or p.__name__ in HARD) and any(True for _ in calls(p))]


class Sets:
    """What is live after each item, at the start of each loop's iteration, and at the start of the function."""

    def __init__(self, block: Block, at_end: Live):
        self.after: dict[int, Live] = {}
        self.header: dict[int, Live] = {}
        self.entry = self.block(block, at_end)

    def block(self, block: Block, after: Live) -> Live:
        live = after | {v for e in block.results for v in refs(e)}
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
        own = frozenset(item.params) | ({item.index} if item.index else frozenset())
        exits = frozenset(p for p, o in zip(item.params, item.outputs, strict=True) if o in live)
        stop = frozenset(refs(item.stop)) if item.stop is not None else frozenset()
        header = without | exits
        while True:
            body = self.block(item.body, (header - own) | stop)
            before = body if item.test is None else self.block(item.test, body | without | exits)
            if header | before | exits == header:
                self.header[id(item)] = header
                return header - own
            header |= before | exits


def checked(block: Block, at_end: Live) -> Iterator[str]:
    """What `Liveness` says otherwise."""
    live, sets = Liveness(block, at_end), Sets(block, at_end)
    values = {v for found in (*sets.after.values(), *sets.header.values(), sets.entry) for v in found} | set(live.spans)
    items = [item for inner in all_blocks(block) for item in inner.items]
    points = [(live.after[id(i)], sets.after[id(i)], f"after {i}") for i in items]
    points += [(live.header[id(i)], sets.header[id(i)], f"at {i}") for i in items if isinstance(i, Loop)]
    for point, found, where in [*points, (live.entry, sets.entry, "at the start")]:
        yield from (f"{v.name or v} {where}" for v in values if live.needed(v, point) != (v in found))


@pytest.mark.parametrize("program", CASES, ids=label)
def test_ranges(program: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: list[str] = []
    seen: list[Block] = []

    def noted(block: Block, at_end: object = ()) -> Liveness:
        seen.append(block)
        wrong.extend(checked(block, frozenset(at_end)))  # type: ignore[arg-type]
        return Liveness(block, at_end)  # type: ignore[arg-type]

    monkeypatch.setattr(names, "Liveness", noted)
    monkeypatch.setattr(storage, "Liveness", noted)
    sg.inspect(program, *next(calls(program)))
    args = next(differentiable_calls(program), ())
    inner = [k for k, a in enumerate(args) if isinstance(a, float | np.ndarray)]
    if inner:
        with suppress(DerivativeError, ArgumentError):
            sg.inspect(sg.grad(program, argnums=inner[0]), *args)
    assert not wrong
    assert seen
