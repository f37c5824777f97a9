"""A machine of thunks: what is computed is what the results need, and what has to keep its order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from srcgraph.errors import ArgumentError
from srcgraph.ir.graph import Apply, Graph, Program, node_inputs
from srcgraph.ir.interp import conform, conformed
from srcgraph.ir.walk import has_order
from srcgraph.runtime.engines.kernels import applied
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
    lazy : bool or "auto"
        Whether thunks are asked what they need, one by one. What has no branch, loop, call or op with a ``make_thunk``
        runs straight from the first node to the last otherwise, which takes less time; "auto" chooses.

    Raises
    ------
    ArgumentError
        Such a graph is to be run with ``lazy=False``, when it is compiled.
    """

    name = "vm"

    def __init__(self, watch: Callable[[Apply], None] | None = None, lazy: bool | Literal["auto"] = "auto"):
        self.watch, self.lazy = watch, lazy

    def compile(self, program: Program) -> Run:
        main = program.main
        chosen = [n for n in main.nodes if not isinstance(n, Apply) or n.op.make_thunk is not None]
        if self.lazy is False and chosen:
            raise ArgumentError("a graph with branches, loops or calls runs on demand: lazy=True, or 'auto'")
        if not self.lazy or (self.lazy == "auto" and not chosen):
            return straight(main, self.watch)
        machine = Machine(program.graphs, self.watch)

        def run(args: Sequence[Any]) -> list[Any]:
            given = [Register(p.type) for p in main.params]
            for register, arg in zip(given, conformed(args, main), strict=True):
                register.store(arg)
            ordered, results = machine.enter(main, given, 0)
            force([*ordered, *results])
            return [r.value for r in results]

        return run


def straight(graph: Graph, watch: Callable[[Apply], None] | None = None) -> Run:
    """Runs what is needed of a graph without branches and loops, in order; what was read last goes."""
    needed, nodes = set(graph.results), []
    for node in reversed(graph.nodes):
        if has_order(node) or any(v in needed for v in node.outputs):
            gone = [v for v in dict.fromkeys((*node_inputs(node), *node.outputs)) if v not in needed]
            needed.update(node_inputs(node))
            nodes.append((node, gone))
    nodes.reverse()

    def run(args: Sequence[Any]) -> list[Any]:
        env = dict(zip(graph.params, conformed(args, graph), strict=True))
        for node, gone in nodes:
            assert isinstance(node, Apply)
            if watch is not None:
                watch(node)
            made = applied(node, [env[v] for v in node.inputs])
            env.update((v, conform(x, v.type)) for v, x in zip(node.outputs, made, strict=True))
            for value in gone:
                del env[value]
        return [env[v] for v in graph.results]

    return run
