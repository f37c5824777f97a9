"""A machine of thunks: what is computed is what the results need, and what has to keep its order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from srcgraph.ir.graph import Apply, Program
from srcgraph.ir.interp import conformed
from srcgraph.runtime.engines.regions import Machine
from srcgraph.runtime.engines.registry import Run
from srcgraph.runtime.engines.thunks import Register, force


class Vm:
    """Runs graphs on demand.

    Checks, effects and draws run in order, whenever the graph that they stand in does. Other values are computed when
    they are first needed, once, or never: a value that only the branch not taken reads costs nothing. Nothing recurses,
    so that no chain is too long. An op with a ``make_thunk`` says itself which operands it needs.

    Parameters
    ----------
    watch : callable, optional
        Told of every use of an op that is computed.
    """

    name = "vm"

    def __init__(self, watch: Callable[[Apply], None] | None = None):
        self.watch = watch

    def compile(self, program: Program) -> Run:
        machine = Machine(program.graphs, self.watch)
        main = program.main

        def run(args: Sequence[Any]) -> list[Any]:
            given = [Register(p.type) for p in main.params]
            for register, arg in zip(given, conformed(args, main), strict=True):
                register.store(arg)
            ordered, results = machine.enter(main, given, 0)
            force([*ordered, *results])
            return [r.value for r in results]

        return run
