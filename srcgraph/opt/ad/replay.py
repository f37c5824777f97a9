"""The reverse sweep of a checkpointed loop: a graph of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from srcgraph.ir.graph import Graph, Value
from srcgraph.ir.op import OPS, building
from srcgraph.ir.ops._loops import chosen, counted, item, ranged, repeated, with_item
from srcgraph.ir.ops.shape import zeros_of
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import INT, ArrayType, type_symbols
from srcgraph.opt.ad.activity import loop_params
from srcgraph.opt.ad.states import Stored, as_kind, d_name, fitted, index_of, plain, store, varying
from srcgraph.opt.dce import dce

if TYPE_CHECKING:
    from srcgraph.opt.ad.checkpoint import Loop

SHOWN = 200
"""How often progress is shown."""


class Replay(Rebuild):
    """The reverse sweep of a loop as a graph of its own."""

    def __init__(self, loop: Loop, stored: Stored, start: tuple[Value, ...], progress: bool):
        super().__init__("replayed")
        self.loop = loop
        self.progress = progress
        self.residuals: list[Value] = []
        self.there: dict[Value, Value] = {}
        b = self.builder
        with building(b):
            values = (*loop.sizes, stored.at, *stored.pools, *loop.reads, stored.snapshots, stored.steps, stored.held)
            b.reserve(frozenset(s for v in (*values, *loop.inits) for s in type_symbols(v.type)))
            self.sizes = self.taken(loop.sizes)
            self.at, *self.pools = self.taken([stored.at, *stored.pools])
            self.reads = self.taken(loop.reads)
            self.snapshots, self.steps, self.held = self.taken([stored.snapshots, stored.steps, stored.held])
            self.order = None if stored.order is None else self.taken([stored.order])[0]
            self.start = self.taken(start)
            loop.inform(b)
            outs = [loop.inits[k] for k in loop.exact]
            names = [loop_params(loop.node)[k].name for k in loop.exact]
            seeds = [b.param(d_name(n), varying(v)) for n, v in zip(names, outs, strict=True)]
            self.seeds = dict(zip(loop.exact, seeds, strict=True))
        self.replay = dce(replace(loop.again, results=tuple(loop.again.results[k] for k in loop.kept)))

    def taken(self, values: Iterable[Value]) -> list[Value]:
        """Parameters for residuals; literals are written again."""
        return [self.there[v] if v in self.there else self.take(v) for v in values]

    def take(self, value: Value) -> Value:
        node = self.loop.builder.definition(value)
        if node is not None and node.op.name == "const":
            new = self.builder.const(node.attrs["value"])
        else:
            new = self.builder.param(value.name, value.type)
            self.residuals.append(value)
        self.there[value] = new
        return new

    def built(self) -> Graph:
        b, loop = self.builder, self.loop
        with building(b):
            cts = [self.seeds[k] if k in self.seeds else self.zeros(loop.inits[k]) for k in loop.moved]
            running = [zeros_of(self.reads[j]) for j in loop.tied]
            names = [loop_params(loop.node)[k].name for k in loop.moved] + [loop.outer[j].name for j in loop.tied]
            states = loop.names()[3 : 3 + len(self.pools)]
            inits = [self.held, self.at, *self.pools, *cts, *running]
            out = counted(self.steps, inits, self.backward, True, ["_held", "_at", *states, *map(d_name, names)])
            return b.finish(out[2 + len(self.pools) :])

    def zeros(self, init: Value) -> Value:
        if not isinstance(init.type, ArrayType):
            return self.builder.const(0.0 if init.type.weak else init.type.dtype.type(0))
        return OPS["full"](init.type.dtype.type(0), *map(self.builder.dim_value, init.type.shape))

    def backward(self, trip: Value, held: Value, at: Value, *rest: Value) -> list[Value]:
        """One step back: the latest state, the steps up to this one, this one forward and back."""
        b, loop = self.builder, self.loop
        if self.progress:
            self.show(trip)
        pools, cts = rest[: len(self.pools)], rest[len(self.pools) :]
        moved, running = cts[: len(loop.moved)], cts[len(loop.moved) :]
        top = OPS["sub"](held, 1)
        state = [as_kind(b, item(p, 0, self.place(top)), loop.inits[k]) for p, k in zip(pools, loop.kept, strict=True)]
        done = b.cast(item(at, 0, top), INT, weak=True)
        names = [loop_params(loop.node)[k].name for k in loop.kept]
        names = ["_done", "_held", "_at", *(p.name for p in pools), *names]
        before = [done, held, at, *pools, *state]
        test = lambda done, *more: OPS["less"](done, trip)  # noqa: E731
        forward = repeated(test, before, lambda *carry: self.forward(trip, *carry), names)
        _, held, at, *rest_ = forward
        pools, state = rest_[: len(pools)], rest_[len(pools) :]
        made = self.put(
            loop.reverse, [*self.sizes, *self.index(trip), *self.whole(state), *self.reads, *running, *moved]
        )
        latest = b.cast(item(at, 0, OPS["sub"](held, 1)), INT, weak=True)
        held = OPS["where"](OPS["equal"](latest, trip), OPS["sub"](held, 1), held)
        return [held, at, *pools, *(fitted(b, v, ct) for v, ct in zip(made, cts, strict=True))]

    def show(self, trip: Value) -> None:
        """Now and then, and at the end, say how many steps have been reversed before this one."""
        b = self.builder
        done, often = OPS["sub"](self.steps, trip), OPS["add"](OPS["floordiv"](self.steps, SHOWN), 1)
        due = OPS["logical_or"](OPS["equal"](OPS["mod"](trip, often), 0), OPS["equal"](trip, 0))
        loc = self.loop.node.origin.loc
        text = f"{Path(loc.file).name}:{loc.line}" if loc is not None else "loop"
        region = b.new_region()
        with b.inside(region):
            b.call_named("progress", done, self.steps, text=text)
        b.if_(due, (region, ()), (b.new_region(), ()))

    def forward(self, trip: Value, done: Value, held: Value, at: Value, *rest: Value) -> list[Value]:
        """Some steps ahead; if there is place, and they do not end where they are needed, the state is stored."""
        b, count = self.builder, len(self.pools)
        add, sub = (OPS[n] for n in ("add", "sub"))
        pools, state = rest[:count], rest[count:]
        left, free = sub(add(trip, 1), done), sub(add(self.snapshots, 1), held)
        stop = add(done, OPS["steps_ahead"](left, free))
        state = ranged((done, stop, b.const(1)), state, self.advance)
        room = OPS["logical_and"](OPS["less"](held, self.snapshots), OPS["less"](stop, trip))

        def stored() -> list[Value]:
            place = self.place(held)
            new = store(b, held, stop, at, [], [])[0]
            return [
                add(held, 1),
                new,
                *(with_item(p, 0, place, plain(b, v)) for p, v in zip(pools, state, strict=True)),
            ]

        held, at, *pools = chosen(room, stored, lambda: [held, at, *pools])
        return [stop, held, at, *pools, *state]

    def advance(self, trip: Value, *state: Value) -> Sequence[Value]:
        """One step of what is run again."""
        return self.put(self.replay, [*self.sizes, *self.index(trip), *self.whole(state), *self.reads])

    def whole(self, state: Sequence[Value]) -> list[Value]:
        """The carry, with anything in place of what no step reads."""
        known = dict(zip(self.loop.kept, state, strict=True))
        return [known[k] if k in known else self.zeros(v) for k, v in enumerate(self.loop.inits)]

    def place(self, number: Value) -> Value:
        """Where the state of that number is."""
        if self.order is None:
            return number
        return self.builder.cast(item(self.order, 0, number), INT, weak=True)

    def index(self, trip: Value) -> list[Value]:
        return [index_of(trip, *self.start)] if self.start else []
