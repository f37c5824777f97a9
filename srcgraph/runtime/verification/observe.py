"""Where the real reverse sweep parts from that over a trace, if its rules are right and its result is not.

The gradient is built once more, by the same code, with ops in it that note each cotangent before and after the reverse
step of a node. Names are hints that every pass keeps: they say which value of the function a cotangent is of.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np

from srcgraph.ir.graph import Apply, For, Graph, If, Node, Program, Value, While, node_graphs
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import Op, current_builder
from srcgraph.ir.types import PY_BOOL, ListType
from srcgraph.opt.ad.vjp import Derived, gradient
from srcgraph.runtime.transforms import Version
from srcgraph.runtime.verification.pullback import Cotangents, Pullbacks
from srcgraph.runtime.verification.sweep import swept
from srcgraph.runtime.verification.trace import Ref, Step, Trace

Key = tuple[str, str]
"""The labels of one of a node's outputs, and of the output or input whose cotangent it is."""


class Log:
    """Cotangents in the order the reverse sweep has them."""

    def __init__(self) -> None:
        self.seen: dict[Key, list[Any]] = {}

    def note(self, key: Key, ct: Any) -> bool:
        self.seen.setdefault(key, []).append(ct)
        return True


NOTE = Op(
    name="note",
    doc="True, once a cotangent is noted.",
    infer=lambda ct, *, log, key: PY_BOOL,
    numpy=lambda ct, *, log, key: log.note(key, ct),
    kind="effect",
)


@dataclass(frozen=True, slots=True)
class Found:
    """Where cotangents part, and why.

    Attributes
    ----------
    node : Node or None
        Whose reverse step is wrong; None if every noted cotangent is right.
    step : Step or None
        Which time that it ran.
    noted : bool
        Whether the gradient is right when cotangents are noted.
    graph : bool
        Whether its graph gives the right gradient, so that what is compiled does not.
    """

    node: Node | None = None
    step: Step | None = None
    noted: bool = False
    graph: bool = False


def observed(
    version: Version,
    output: int,
    inputs: Sequence[int],
    pullbacks: Pullbacks,
    run: Callable[[Callable[[Sequence[Any]], Any]], Any],
    same: Callable[[Sequence[Any]], bool],
) -> Found:
    """Find the first reverse step that is wrong.

    Parameters
    ----------
    run : callable
        Runs what it is given on the numbers and arrays of the call.
    same : callable
        Whether gradients are the right ones.
    """
    label(version.program.graphs.values())
    log = Log()
    noted = _derived(version, output, inputs, log)
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = run(lambda args: interpret(_program(noted), args))
    trace = Trace(version.program, version.rules, everything=True)
    _, outs = run(lambda args: trace.run(args, inputs))
    want = Expected()
    swept(trace, pullbacks, outs[output], want.after)
    found = want.first(trace, log)
    if found is not None:
        return found
    plain = _program(_derived(version, output, inputs, None))
    unnoted = run(lambda args: interpret(plain, args, effects=False))
    return Found(noted=same(results), graph=same(unnoted))


def _derived(version: Version, output: int, inputs: Sequence[int], log: Log | None) -> Derived:
    def watch(node: Node, value: Value, ct: Value) -> None:
        if (key := key_of(node, value)) is not None:
            current_builder().apply(NOTE, (ct,), {"log": log, "key": key})

    told = watch if log is not None else None
    return gradient(version.graph, output, inputs, (), version.functions, version.rules, watch=told)


def key_of(node: Node, value: Value) -> Key | None:
    """What a cotangent is noted under; None for those of lists, and where a pass has made a value."""
    if not node.outputs or isinstance(value.type, ListType):
        return None
    names = node.outputs[-1 if isinstance(node, Apply) else 0].name, value.name
    return names if all("#" in name for name in names) else None


def _program(derived: Derived) -> Program:
    graphs = {name: g for name, (g, _) in derived.callees.items()}
    return Program({**graphs, derived.graph.name: derived.graph}, derived.graph.name)


def label(graphs: Iterable[Graph]) -> None:
    """Give every value of closed graphs a name of its own; what a graph captures has one name in both."""
    numbers = itertools.count()
    for graph in graphs:
        _label(graph, numbers)


def _label(graph: Graph, numbers: Iterator[int], captured: Mapping[Value, str] | None = None) -> None:
    captured = captured or {}
    for value in (*graph.params, *(v for n in graph.nodes for v in n.outputs)):
        _rename(value, captured.get(value) or f"{unlabelled(value.name)}#{next(numbers)}")
    for node in graph.nodes:
        for inner in node_graphs(node):
            values = node.captures if isinstance(node, If | For | While) else ()
            own = inner.params[len(inner.params) - len(values) :]
            _label(inner, numbers, {p: v.name for p, v in zip(own, values, strict=True)})


def _rename(value: Value, name: str) -> None:
    object.__setattr__(value, "name", name)  # as the builder's `suggest` does: names mean nothing to a graph


def unlabelled(name: str) -> str:
    """A value's name without its label."""
    return name.split("#")[0]


class Expected:
    """The cotangents of the sweep over a trace, by what they are of, in the order it has them."""

    def __init__(self) -> None:
        self.all: dict[Key, list[tuple[Step, Ref, Any]]] = {}

    def after(self, step: Step, mine: Cotangents, given: Cotangents, cts: Mapping[Ref, Any]) -> None:
        node = step.node
        own = zip(node.outputs, step.outputs, strict=True) if isinstance(node, Apply) else ()
        for value, ref in dict((*step.reads, *own)).items():
            if (key := key_of(node, value)) is not None:
                self.all.setdefault(key, []).append((step, ref, cts.get(ref)))

    def first(self, trace: Trace, log: Log) -> Found | None:
        """The first reverse step after which a cotangent is not as it should be."""
        order = {step: k for k, step in enumerate(trace.steps)}
        parted = [p for key, steps in self.all.items() if (p := _parted(steps, log.seen.get(key, [])))]
        if not parted:
            return None
        step, ref = max(parted, key=lambda p: (order[p[0]], p[1] in p[0].outputs))
        if ref in step.outputs:  # what reads it, and is no op, has lost something
            for other in trace.steps[order[step] + 1 :]:
                if ref in other.inputs and not isinstance(other.node, Apply):
                    return Found(other.node, other)
        return Found(step.node, step)


def _parted(steps: Sequence[tuple[Step, Ref, Any]], seen: Sequence[Any]) -> tuple[Step, Ref] | None:
    """The first step with another cotangent than was noted; none was noted where it counts as zero."""
    for k, (step, ref, want) in enumerate(steps):
        got = seen[k] if k < len(seen) else 0.0
        if ref.varied and not close(got, 0.0 if want is None else want, 1e-6):
            return step, ref
    return None


def close(got: Any, want: Any, rtol: float) -> bool:
    """Whether cotangents are the same; what is not finite is not compared."""
    x, y = np.broadcast_arrays(np.asarray(got), np.asarray(want))
    single = any(np.asarray(v).dtype in (np.float32, np.complex64) for v in (got, want))
    finite = np.isfinite(x) & np.isfinite(y)
    size = float(np.max(np.abs(y[finite]), initial=0.0))
    return bool(np.all(np.abs(x[finite] - y[finite]) <= (1e4 * rtol if single else rtol) * size))
