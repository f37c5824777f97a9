"""The code generator and numba as an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from srcgraph.codegen.cpu import generate
from srcgraph.codegen.storage import Interface
from srcgraph.ir.graph import Graph, Program, Value
from srcgraph.ir.interp import conformed
from srcgraph.ir.types import PYTHON_TYPE, ListType, ScalarType, Type
from srcgraph.ir.walk import calls
from srcgraph.opt.inline import inline
from srcgraph.opt.marks import unmarked
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import DERIVED
from srcgraph.runtime.depth import WithDepth
from srcgraph.runtime.effects import raised
from srcgraph.runtime.engines.registry import Run
from srcgraph.runtime.load import load
from srcgraph.runtime.results import same_place
from srcgraph.runtime.transforms import interfaces


class Numba:
    """Writes a program as Python text and compiles it with numba, for the types of the first arguments."""

    name = "numba"

    def compile(self, program: Program) -> Run:
        small = inline(program, rules=False)
        graphs = {n: run_passes(unmarked(g), DERIVED) for n, g in small.graphs.items()}
        main = graphs.pop(small.entry)
        changes = _changes([main, *graphs.values()])
        callees = interfaces({n: (g, changes.get(n, ())) for n, g in graphs.items()})
        every = range(len(main.results))
        interface = Interface({}, list(every), borrowed=set(every))
        generated = generate(main, interface, name=main.name, integers="Integers", callees=callees)
        run, _ = load(generated.text.text, generated.name)
        if generated.frame:
            run = WithDepth(run, generated.frame, generated.repeatable)
        return _Compiled(run, main)


def _changes(graphs: Sequence[Graph]) -> Mapping[str, tuple[tuple[int, int], ...]]:
    """What calls say that each function changes."""
    return {call.callee: call.changes for graph in graphs for call in calls(graph)}


class _Compiled:
    """Calls a compiled function as engines are called."""

    def __init__(self, run: Callable[..., Any], graph: Graph):
        self.run_compiled, self.graph = run, graph

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        results, given = self.graph.results, conformed(args, self.graph)
        try:
            outs = self.run_compiled(*given)
        except Exception as error:
            failure = raised(error)
        else:
            outs = (outs,) if len(results) == 1 else outs or ()
            return [_own(_returned(out, r), given) for out, r in zip(outs, results, strict=True)]
        raise failure


def _own(out: Any, given: Sequence[Any]) -> Any:
    """An argument itself where a result is in its memory."""
    if not isinstance(out, np.ndarray):
        return out
    return next((g for g in given if isinstance(g, np.ndarray) and same_place(out, g)), out)


def _returned(out: Any, result: Value) -> Any:
    """A result as the reference gives it: numbers of its type, lists as Python's."""
    if isinstance(result.type, ListType):
        return [_number(x, result.type.item) for x in out]
    return _number(out, result.type)


def _number(x: Any, type: Type) -> Any:
    """A value as one of its type: compiled code returns Python's numbers only."""
    if isinstance(type, ScalarType):
        return PYTHON_TYPE[type.dtype](x) if type.weak else type.dtype.type(x)
    return x
