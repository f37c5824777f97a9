"""What loops carry so that both sweeps fit together: tapes, and variables that the reverse sweep changes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from srcgraph.ir.graph import For, Node, Value, While
from srcgraph.ir.rebuild import Extra
from srcgraph.ir.types import without_value
from srcgraph.opt.ad.functions import reached
from srcgraph.opt.ad.residuals import is_reverse

if TYPE_CHECKING:
    from srcgraph.opt.ad.tape import Assemble


class Threaded(Extra):
    """The tapes that are written or read inside a loop; what is undone goes from trip to trip."""

    def __init__(self, work: Assemble, node: For | While):
        super().__init__()
        self.work = work
        name = node.body.name.removesuffix("r")
        reverse = is_reverse(node.body)
        inside = work.touched(node.body)
        self.lists = [t for t in inside if t in work.state and (t.listed or not reverse)]
        self.blocks = [t for t in inside if t in work.block and t.listed and t.blocked and not reverse]
        self.blocks = [t for t in self.blocks if any(h.name == name for h in t.blocked)]
        called = reached(work.called.get(name, ()), work.called)
        self.lists = [
            t for t in self.lists
            if not t.listed or t.home.function in called or all(h.name != name for h in t.blocked)
        ]  # fmt: skip
        self.inits = [work.state[t] for t in self.lists] + [work.block[t] for t in self.blocks]
        self.names = [t.name for t in self.lists] + [t.block_name for t in self.blocks]
        self.cycles = work.residuals.undone.get(name, []) if reverse else []
        undone = [v for c in self.cycles for v in c.last]
        self.inits += map(work.value, undone)
        self.names += [v.name for v in undone]

    def enter(self) -> None:
        b = self.work.builder
        self.params = [b.fresh(n, without_value(v.type)) for n, v in zip(self.names, self.inits, strict=True)]
        self.put(self.params)
        undone = iter(self.params[len(self.lists) + len(self.blocks) :])
        self.work.after_trip |= {c: [next(undone) for _ in c.ways] for c in self.cycles}

    def put(self, values: Sequence[Value]) -> None:
        n = len(self.lists)
        self.work.state.update(zip(self.lists, values[:n], strict=True))
        self.work.block.update(zip(self.blocks, values[n:], strict=False))

    def finish(self, nodes: Sequence[Node], stop: Value | None) -> None:
        work = self.work
        self.results = [work.state[t] for t in self.lists] + [work.block[t] for t in self.blocks]
        self.results += [work.value(v) for c in self.cycles for v in c.before]

    def leave(self, outputs: Sequence[Value]) -> None:
        self.put(outputs)
