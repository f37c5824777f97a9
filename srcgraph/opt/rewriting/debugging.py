"""Evaluate a graph again after each rewrite: which one changes what a function gives?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.errors import Problem
from srcgraph.ir.dims import Dim, evaluate
from srcgraph.ir.graph import Apply, Call, Graph, Value
from srcgraph.ir.interp import interpret
from srcgraph.ir.printer import format_graph
from srcgraph.ir.types import PYTHON_TYPE, ArrayType, ListType, ScalarType, Type
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.rewriting.features import Feature
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.local import RewriteError

SIZE = 3
"""The length of axes of arrays that are made up."""


class Reevaluation(Feature):
    """After each rewrite the graph is run by `interpret`, and has to give what it gave before.

    Parameters
    ----------
    args : sequence, optional
        What to run it on; made up from the parameters' types by default.
    stable : collection of str
        Rewrites that may make numbers of infinities and NaN: they avoid overflow.
    """

    def __init__(self, args: Sequence[Any] | None = None, stable: frozenset[str] = frozenset()):
        self.args = args
        self.stable = stable
        self.wanted: Any = None

    def on_attach(self, fgraph: FunctionGraph) -> None:
        graph = fgraph.graph()
        if not can_be_run(graph):
            self.args = None
            return
        own = self.args is not None and _fit(self.args, graph.params)
        self.args = self.args if own else made_up(graph.params)
        self.wanted = None if self.args is None else outcome(graph, self.args)
        if isinstance(self.wanted, type) and not own:  # lengths that are made up do not fit each other
            self.args = None

    def on_rewrite(self, fgraph: FunctionGraph, name: str, seconds: float) -> None:
        if self.args is None:
            return
        graph = fgraph.graph()
        found = outcome(graph, self.args)
        if not agree(self.wanted, found, name in self.stable):
            raise RewriteError(
                Problem(
                    f"the rewrite {name!r} changes what the function gives",
                    notes=(f"before: {self.wanted}", f"after: {found}", f"the graph after it:\n{format_graph(graph)}"),
                    hint=f"exclude it: mode=sg.opt.FAST_RUN.excluding({name!r})",
                )
            )
        if name in self.stable:
            self.wanted = found


def can_be_run(graph: Graph) -> bool:
    """Whether a graph stands alone and leaves the world as it is: no calls, no random numbers."""
    return not any(isinstance(n, Call) or (isinstance(n, Apply) and n.op.kind == "draw") for n in all_nodes(graph))


def outcome(graph: Graph, args: Sequence[Any]) -> Any:
    """The results, or the class of the exception that is raised."""
    try:
        return interpret(graph, args, effects=False)
    except ArithmeticError as error:
        return type(error)
    except (ValueError, IndexError, KeyError, AssertionError, TypeError, RuntimeError) as error:
        return type(error)


def _fit(args: Sequence[Any], params: Sequence[Value]) -> bool:
    return len(args) == len(params) and all(
        np.ndim(a) == p.type.ndim and np.asarray(a).dtype == p.type.dtype
        for a, p in zip(args, params, strict=True)
        if not isinstance(p.type, ListType)
    )


def made_up(params: Sequence[Value], seed: int = 0) -> list[Any] | None:
    """Arguments of the parameters' types: numbers about 1, arrays with `SIZE` along each axis that is not known."""
    rng = np.random.default_rng(seed)
    if any(isinstance(p.type, ListType) for p in params):
        return None
    return [_made_up(p.type, rng) for p in params]


def _made_up(type: Type, rng: np.random.Generator) -> Any:
    if isinstance(type, ArrayType):
        return _numbers(type.dtype, tuple(map(_length, type.shape)), rng)
    assert isinstance(type, ScalarType)
    if type.value is not None and type.value.const is not None:
        number: Any = type.dtype.type(type.value.const)
    else:
        number = _numbers(type.dtype, (), rng)[()]
    return PYTHON_TYPE[type.dtype](number) if type.weak else number


def _length(size: Dim) -> int:
    return size.const if size.const is not None else max(0, evaluate(size, dict.fromkeys(size.symbols(), SIZE)))


def _numbers(dtype: np.dtype, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if dtype.kind in "iub":
        return np.asarray(rng.integers(0, 2 if dtype.kind == "b" else SIZE, shape)).astype(dtype)
    numbers = rng.uniform(0.1, 1.7, shape)
    if dtype.kind == "c":
        numbers = numbers + 1j * rng.uniform(0.1, 1.7, shape)
    return np.asarray(numbers).astype(dtype)


def agree(wanted: Any, found: Any, stable: bool = False) -> bool:
    """Whether two outcomes are the same up to rounding; if ``stable``, where the first one is finite."""
    if isinstance(wanted, type) or isinstance(found, type):
        return wanted is found
    return len(wanted) == len(found) and all(_agree(x, y, stable) for x, y in zip(wanted, found, strict=True))


def _agree(x: Any, y: Any, stable: bool) -> bool:
    if isinstance(x, list):
        return len(x) == len(y) and all(_agree(a, b, stable) for a, b in zip(x, y, strict=True))
    a, b = np.asarray(x), np.asarray(y)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    if stable:
        finite = np.isfinite(a)
        a, b = a[finite], b[finite]
    single = a.dtype.itemsize <= (8 if a.dtype.kind == "c" else 4)
    loose = 1e-3 if single else 1e-7
    scale = float(np.max(np.abs(a[np.isfinite(a)]), initial=1.0))
    return bool(np.allclose(a, b, rtol=loose, atol=loose * scale * 1e-2, equal_nan=True))


__all__ = ["SIZE", "Reevaluation", "agree", "can_be_run", "made_up", "outcome"]
