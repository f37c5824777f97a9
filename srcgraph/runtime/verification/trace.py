"""One run of a graph as straight code: which ops ran, on which numbers, in which order.

Branches, loops and calls leave nothing behind but copies, so that the reverse sweep over a trace is one loop without
tapes, and independent of `srcgraph.opt.ad`. Ops through which no derivative can pass are not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from srcgraph.errors import ArgumentError, InternalError, Loc, Problem
from srcgraph.ir.graph import Apply, Call, For, Graph, If, Node, Program, Value, While
from srcgraph.ir.interp import applied, conform, interpret
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.opt.ad.activity import carries_derivative, differentiable

LIMIT = 2**31
"""Bytes that a trace may keep."""
CONSTANTS = frozenset({"stopped", "held"})
"""Ops that mean that their operand is a constant for derivatives."""


class Ref:
    """A value of the run. ``varied`` if it depends on what is differentiated with respect to."""

    __slots__ = ("value", "varied")

    def __init__(self, value: Any, varied: bool = False):
        self.value = value
        self.varied = varied


@dataclass(frozen=True, slots=True)
class Trip:
    """The trips of the loops around a step, innermost first."""

    loc: Loc | None
    number: int
    outer: Trip | None

    def all(self) -> Iterator[Trip]:
        yield self
        if self.outer is not None:
            yield from self.outer.all()


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A node that ran; a copy of a value if it is a branch, a loop, or a call without a rule of its own.

    Attributes
    ----------
    sizes : mapping
        Sizes in the node's types that its own values do not tell.
    reads : tuple of (Value, Ref)
        What the node reads; of several copies, only the first knows.
    """

    node: Node
    inputs: tuple[Ref, ...]
    outputs: tuple[Ref, ...]
    trip: Trip | None
    sizes: Mapping[str, int]
    reads: tuple[tuple[Value, Ref], ...]

    @property
    def is_copy(self) -> bool:
        return not isinstance(self.node, Apply) and not has_rule(self.node)


class Trace:
    """Runs a program.

    Parameters
    ----------
    rules : mapping
        The functions with rules of their own, and the graphs of these rules.
    everything : bool
        Whether to keep ops on what does not vary, too.

    Attributes
    ----------
    steps : list of Step
        In the order they ran.
    """

    def __init__(self, program: Program, rules: Mapping[str, Graph], everything: bool = False):
        self.program = program
        self.everything = everything
        self.graphs = {**rules, **program.graphs}
        self.steps: list[Step] = []
        self.trip: Trip | None = None
        self.bytes = 0
        self.missing: dict[Node, tuple[str, ...]] = {}
        self.made: dict[Ref, Step] = {}
        """The step that each value comes from."""

    def run(self, args: Sequence[Any], varied: Sequence[int]) -> tuple[list[Ref], list[Ref]]:
        """The parameters, those of ``varied`` marked so, and the results."""
        main = self.program.main
        params = [Ref(conform(a, p.type), k in varied) for k, (a, p) in enumerate(zip(args, main.params, strict=True))]
        return params, self.graph(main, params)

    def graph(self, graph: Graph, refs: Sequence[Ref], outer: Frame | None = None) -> list[Ref]:
        frame = Frame(dict(zip(graph.params, refs, strict=True)), outer)
        for node in graph.nodes:
            frame.env.update(zip(node.outputs, self.node(node, frame), strict=True))
        return frame.values(graph.results)

    def node(self, node: Node, frame: Frame) -> Sequence[Ref]:
        match node:
            case Apply():
                return self.apply(node, frame)
            case If():
                taken = bool(frame.env[node.cond].value)
                results = self.graph(node.then if taken else node.orelse, frame.values(node.captures), frame)
                return self.copies(node, results)
            case While() | For():
                return self.loop(node, frame)
            case Call() if has_rule(node):
                return self.ruled(node, frame)
            case Call():
                given = self.copies(node, frame.values(node.inputs), node.inputs)
                return self.copies(node, self.graph(self.graphs[node.callee], given))
        raise AssertionError(node)

    def copies(self, node: Node, refs: Sequence[Ref], values: Sequence[Value] = ()) -> list[Ref]:
        """What stands for values inside, or outside, of a branch, a loop or a call that reads ``values``."""
        out, reads = [], tuple(zip(values, refs, strict=False))
        for ref in refs:
            out.append(Ref(ref.value, True) if ref.varied else ref)
            if ref.varied:
                self.add(Step(node, (ref,), (out[-1],), self.trip, {}, reads))
                reads = ()
        return out

    def add(self, step: Step) -> None:
        self.steps.append(step)
        self.made.update((ref, step) for ref in step.outputs)

    def source(self, ref: Ref) -> Ref:
        """What a value is a copy of."""
        while (step := self.made.get(ref)) is not None and step.is_copy:
            (ref,) = step.inputs
        return ref

    # -- nodes ----------------------------------------------------------------------------------

    def apply(self, node: Apply, frame: Frame) -> Sequence[Ref]:
        if node.op.kind == "effect":
            return [Ref(True)]
        inputs = frame.values(node.inputs)
        found = applied(node, [ref.value for ref in inputs])
        values = [conform(x, v.type) for x, v in zip(found, node.outputs, strict=True)]
        constant = node.op.name in CONSTANTS or (node.op.kind == "draw" and not differentiable(node))
        passes = not constant and any(ref.varied for ref in inputs)
        outputs = [Ref(x, passes and carries_derivative(v.type)) for x, v in zip(values, node.outputs, strict=True)]
        if (passes or self.everything) and any(carries_derivative(v.type) for v in node.outputs):
            self.keep(node, inputs, outputs, frame)
        return outputs

    def ruled(self, node: Call, frame: Frame) -> Sequence[Ref]:
        """A call of a function with a rule of its own: one step."""
        inputs = frame.values(node.inputs)
        values = interpret(Program(self.graphs, node.callee), [ref.value for ref in inputs], effects=False)
        assert node.rule is not None
        moves = any(inputs[k].varied for k in node.rule.moving)
        outputs = [Ref(x, moves and carries_derivative(v.type)) for x, v in zip(values, node.outputs, strict=True)]
        if any(ref.varied for ref in outputs):
            self.keep(node, inputs, outputs, frame)
        return outputs

    def keep(self, node: Apply | Call, inputs: Sequence[Ref], outputs: Sequence[Ref], frame: Frame) -> None:
        if node not in self.missing:
            self.missing[node] = missing_sizes(node)
        sizes = {s: frame.size(s, node) for s in self.missing[node]}
        reads = tuple(zip(node.inputs, inputs, strict=True))
        self.add(Step(node, tuple(inputs), tuple(outputs), self.trip, sizes, reads))
        self.bytes += sum(getattr(ref.value, "nbytes", 8) for ref in outputs)
        if self.bytes > LIMIT:
            why = "verify=True keeps every value of a call, and this one has more than 2 GB of them"
            raise ArgumentError(Problem(why, hint="verify with smaller arrays, or fewer trips"))

    # -- loops ----------------------------------------------------------------------------------

    def loop(self, node: For | While, frame: Frame) -> Sequence[Ref]:
        outer, current, captures = self.trip, frame.values(node.carry), frame.values(node.captures)
        read = node.carry
        for number, first in self.trips(node, frame):
            if isinstance(node, While) and not self.holds(node, [*current, *captures]):
                break
            self.trip = Trip(node.origin.loc, number, outer)
            current = self.graph(node.body, [*first, *self.copies(node, current, read), *captures], frame)
            read = ()
            if node.stops and current.pop().value:
                break
        self.trip = outer
        return self.copies(node, current, read)

    def trips(self, node: For | While, frame: Frame) -> Iterator[tuple[int, list[Ref]]]:
        """The numbers of trips that may be made, each with the index if there is one."""
        if isinstance(node, For):
            start, stop, step = (frame.env[v].value for v in (node.start, node.stop, node.step))
            yield from ((k, [Ref(i)]) for k, i in enumerate(range(start, stop, step)))
            return
        number = 0
        while True:
            yield number, []
            number += 1

    def holds(self, node: While, refs: Sequence[Ref]) -> bool:
        program = Program({**self.graphs, "": node.cond}, "")
        return bool(interpret(program, [ref.value for ref in refs], effects=False)[0])


def has_rule(node: Node) -> bool:
    """Whether a derivative passes through a call by a rule that the user wrote."""
    return isinstance(node, Call) and node.rule is not None and bool(node.rule.forward)


class Frame:
    """The values of a graph that is running, and the frame of the graph around it."""

    __slots__ = ("env", "outer")

    def __init__(self, env: dict[Value, Ref], outer: Frame | None):
        self.env = env
        self.outer = outer

    def values(self, values: Sequence[Value]) -> list[Ref]:
        return [self.env[v] for v in values]

    def size(self, name: str, node: Node) -> int:
        """What a symbol stands for here."""
        for value, ref in reversed(self.env.items()):
            found = told(value, ref.value, name)
            if found is not None:
                return found
        if self.outer is None:
            raise InternalError(Problem(f"no value tells the size {name!r}", node.origin.loc))
        return self.outer.size(name, node)


def told(value: Value, x: Any, name: str) -> int | None:
    """What a value says of a symbol."""
    type = value.type
    if isinstance(type, ArrayType):
        return next((n for d, n in zip(type.shape, x.shape, strict=True) if d.symbol == name), None)
    known = type.value if isinstance(type, ScalarType) else None
    return int(x) if known is not None and known.symbol == name else None


def missing_sizes(node: Apply | Call) -> tuple[str, ...]:
    """The symbols in a node's types that none of its values tells."""
    wanted: set[str] = set()
    known: set[str | None] = set()
    for value in (*node.inputs, *node.outputs):
        type = value.type
        dims = type.shape if isinstance(type, ArrayType) else [getattr(type, "value", None)]
        dims = [d for d in dims if d is not None]
        known.update(d.symbol for d in dims)
        wanted.update(s for d in dims for s in d.symbols())
    return tuple(sorted(wanted - known))
