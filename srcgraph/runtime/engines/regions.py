"""Thunks of branches, loops and calls: what the graphs they run need is added to their inputs.

A graph that is entered has registers of its own; its parameters are the very registers that it is given, so that a
captured value is computed when a branch first needs it, or never.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from srcgraph.errors import InternalError
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, While, node_inputs
from srcgraph.ir.walk import has_order
from srcgraph.runtime.engines.thunks import ApplyThunk, Register, Thunk


@dataclass(frozen=True, slots=True)
class Step:
    """A node, and where in the registers of its graph its inputs and outputs are."""

    node: Node
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same whenever a graph is entered.

    Attributes
    ----------
    whole : bool
        Whether all of it runs, in order: it gives whoever called it an array's content before it raises, so that
        nothing may read the array later.
    """

    steps: tuple[Step, ...]
    results: tuple[int, ...]
    whole: bool


def plan_of(graph: Graph) -> Plan:
    """Number the values of a graph."""
    slots = {p: k for k, p in enumerate(graph.params)}
    steps = []
    for node in graph.nodes:
        inputs = tuple(slots[v] for v in node_inputs(node))
        slots.update({o: len(slots) + k for k, o in enumerate(node.outputs)})
        steps.append(Step(node, inputs, tuple(slots[o] for o in node.outputs), has_order(node)))
    whole = any(isinstance(n, Apply) and n.op.name == "keep" for n in graph.nodes)
    return Plan(tuple(steps), tuple(slots[r] for r in graph.results), whole)


class Machine:
    """Enters graphs.

    Attributes
    ----------
    graphs : mapping
        The functions of the program.
    watch : callable or None
        Told of every use of an op that is computed.
    """

    def __init__(self, graphs: Mapping[str, Graph], watch: Callable[[Apply], None] | None = None):
        self.graphs, self.watch = graphs, watch
        self.plans: dict[Graph, Plan] = {}

    def enter(self, graph: Graph, given: Sequence[Register], depth: int) -> tuple[list[Register], list[Register]]:
        """The registers of what has to run in a graph, in order, and of its results."""
        if graph not in self.plans:
            self.plans[graph] = plan_of(graph)
        plan = self.plans[graph]
        registers = list(given)
        ordered = list(given) if plan.whole else []
        for step in plan.steps:
            outputs = [Register(o.type) for o in step.node.outputs]
            registers += outputs
            thunk = self.thunk(step.node, [registers[k] for k in step.inputs], outputs or [Register()], depth)
            if step.ordered or plan.whole:
                ordered.append(thunk.outputs[0])
        return ordered, [registers[k] for k in plan.results]

    def thunk(self, node: Node, inputs: list[Register], outputs: list[Register], depth: int) -> Thunk:
        match node:
            case Apply():
                if node.op.make_thunk is not None:
                    return node.op.make_thunk(node, inputs, outputs)
                return ApplyThunk(node, inputs, outputs, self.watch)
            case Define():
                raise InternalError("a graph under differentiation cannot be run")
        return _REGIONS[type(node)](self, node, inputs, outputs, depth)


class RegionThunk(Thunk):
    """Runs graphs of a node."""

    lazy = True

    def __init__(self, machine: Machine, node: Any, inputs: list[Register], outputs: list[Register], depth: int):
        super().__init__(inputs, outputs)
        self.machine, self.node, self.depth = machine, node, depth
        self.own = len(inputs)
        self.results: list[Register] | None = None

    def enter(self, graph: Graph, given: Sequence[Register]) -> list[int]:
        """Ask for what has to run in a graph, and for its results."""
        ordered, self.results = self.machine.enter(graph, given, self.depth)
        self.inputs[self.own :] = [*ordered, *self.results]
        return list(range(self.own, len(self.inputs)))

    def give(self, registers: Sequence[Register]) -> None:
        """Hand values on as the outputs."""
        if self.node.outputs:
            for output, register in zip(self.outputs, registers, strict=True):
                output.store(register.value)


class IfThunk(RegionThunk):
    def __call__(self) -> list[int] | None:
        if self.results is None:
            if not self.inputs[0].computed:
                return [0]
            graph = self.node.then if self.inputs[0].value else self.node.orelse
            return self.enter(graph, self.inputs[1 : self.own]) or self.__call__()
        self.give(self.results)
        return None


class CallThunk(RegionThunk):
    def __call__(self) -> list[int] | None:
        if self.results is None:
            self.depth += 1
            if self.depth > sys.getrecursionlimit():
                raise RecursionError("maximum recursion depth exceeded")
            return self.enter(self.machine.graphs[self.node.callee], self.inputs) or self.__call__()
        self.give(self.results)
        return None


class LoopThunk(RegionThunk):
    """A loop; what its trips return is computed before the next one begins.

    Attributes
    ----------
    first : int
        Where among the inputs the carry begins.
    """

    first = 0

    def __init__(self, machine: Machine, node: Any, inputs: list[Register], outputs: list[Register], depth: int):
        super().__init__(machine, node, inputs, outputs, depth)
        last = self.first + len(node.carry)
        self.carry, self.captures = inputs[self.first : last], inputs[last:]

    def ended(self) -> bool:
        """Whether the trip that has run was the last one; its results are the carry now."""
        assert self.results is not None
        self.carry = self.results[: len(self.carry)]
        return bool(self.node.stops and self.results[-1].value)

    def leave(self) -> list[int] | None:
        """The carry is what comes of the loop; without a trip it may still be needed."""
        missing = [k for k, r in enumerate(self.inputs[: self.own]) if r in self.carry and not r.computed]
        if not missing:
            self.give(self.carry)
        return missing


class WhileThunk(LoopThunk):
    testing = False
    left = False

    def __call__(self) -> list[int] | None:
        if self.left:
            return self.leave()
        if self.testing:
            self.testing = False
            assert self.results is not None
            if self.results[0].value:
                return self.enter(self.node.body, [*self.carry, *self.captures]) or self.__call__()
        elif self.results is None or not self.ended():
            self.testing = True
            return self.enter(self.node.cond, [*self.carry, *self.captures])
        self.left = True
        return self.leave()


class ForThunk(LoopThunk):
    first = 3
    trips: Any = None

    def __call__(self) -> list[int] | None:
        if self.trips is None:
            missing = [k for k in range(3) if not self.inputs[k].computed]
            if missing:
                return missing
            self.trips = iter(range(*(r.value for r in self.inputs[:3])))
        if self.results is not None and self.ended():
            self.trips = iter(())
        self.results = None
        for trip in self.trips:
            index = Register(self.node.body.params[0].type)
            index.store(trip)
            needed = self.enter(self.node.body, [index, *self.carry, *self.captures])
            if needed:
                return needed
        return self.leave()


_REGIONS: dict[type, Callable[..., Thunk]] = {If: IfThunk, While: WhileThunk, For: ForThunk, Call: CallThunk}
