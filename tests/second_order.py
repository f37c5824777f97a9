"""Second derivatives of the corpus: reverse over reverse, forward over reverse, and differences of the gradient."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
from harness import (
    Versions,
    derived,
    differentiable_calls,
    differentiable_results,
    drawn_like,
    duplicate,
    float_arguments,
    float_leaves,
    is_full_size,
    leaves_of,
    uses_single_precision,
)

from srcgraph.ir.graph import Graph, Program, Value
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import OPS, building
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.verify import verify
from srcgraph.opt.ad.jvp import pushforward
from srcgraph.opt.ad.vjp import gradient
from srcgraph.runtime.transforms import Version


def check_second_order(program: Callable) -> None:
    """The Hessian times a vector, found in three ways, is the same."""
    versions = Versions(program, distinct=True)
    args = _typical(program)
    version, hidden = versions.of(args)
    argnums = tuple(float_arguments(version))
    if not argnums or not differentiable_results(version):
        return
    first = derived(version, argnums)
    moving = float_leaves(version, argnums)
    own: list[Any] = []  # generators move on with each run, and are leaves by their address

    def leaves() -> list[Any]:
        own.append(duplicate(args))
        return leaves_of(own[-1], hidden)

    slopes = _run(first.program, leaves())
    draw = np.random.default_rng(7)
    directions = [drawn_like(g, draw) for g in slopes]
    by_reverse = _run(reverse_over_reverse(first, moving), [*leaves(), *directions])
    by_forward = _run(forward_over_reverse(first, moving), [*leaves(), *directions])

    def moved(step: float) -> list[Any]:
        at = leaves()
        for k, d in zip(moving, directions, strict=True):
            at[k] = _as_was(at[k], at[k] + step * d)
        return _run(first.program, at)

    single = uses_single_precision(version.graph)
    for x, y, (near, error) in zip(by_reverse, by_forward, _differences(moved), strict=True):
        scale = 1 + float(np.max(np.abs(x), initial=0))
        np.testing.assert_allclose(x, y, rtol=2e-3 if single else 1e-9, atol=(1e-3 if single else 1e-11) * scale)
        if not single:
            assert np.all(np.abs(y - near) <= 1e-5 * scale + error), f"{y}, differences give {near} within {error}"


def _typical(program: Callable) -> tuple[Any, ...]:
    """A call of full size, with a few trips."""
    found = list(differentiable_calls(program))
    full = [args for args in found if is_full_size(args)] or found
    return full[-1]


def _run(program: Program, leaves: Sequence[Any]) -> list[Any]:
    with redirect_stdout(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return interpret(program, leaves)


def _as_was(before: Any, now: Any) -> Any:
    return np.asarray(now, before.dtype) if isinstance(before, np.ndarray) else type(before)(now)


def _differences(moved: Callable[[float], list[Any]]) -> list[tuple[Any, Any]]:
    """Central differences, extrapolated once, and by how much that changed them: a lot where there is a jump."""
    h = 1e-4
    wide, narrow = ([(a - b) / (2 * s) for a, b in zip(moved(s), moved(-s), strict=True)] for s in (2 * h, h))
    return [((4 * y - x) / 3, 4 * np.abs(y - x)) for x, y in zip(wide, narrow, strict=True)]


def _with_directions(graph: Graph, moving: Sequence[int]) -> Graph:
    directions = [Value(f"t_{graph.params[k].name}", graph.params[k].type) for k in moving]
    return replace(graph, params=(*graph.params, *directions))


def forward_over_reverse(first: Version, moving: Sequence[int]) -> Program:
    count = len(first.graph.params)
    places = {k: count + j for j, k in enumerate(moving)}
    results = range(len(first.graph.results))
    out = pushforward(_with_directions(first.graph, moving), places, results, (), first.functions)
    return _program(out.graph, {name: graph for name, (graph, _) in out.callees.items()})


def reverse_over_reverse(first: Version, moving: Sequence[int]) -> Program:
    graph = _with_directions(first.graph, moving)
    work = Rebuild(graph.name)
    with building(work.builder):
        work.params(graph.params)
        work.nodes(graph.nodes)
        total = work.builder.const(0.0)
        for result, direction in zip(graph.results, graph.params[len(first.graph.params) :], strict=True):
            term = OPS["mul"](work.value(result), work.value(direction))
            if term.type.ndim:
                term = OPS["sum"](term, axes=tuple(range(term.type.ndim)))
            total = OPS["add"](total, work.builder.cast(term, np.dtype(float), True))
        weighted = work.builder.finish([total])
    out = gradient(weighted, 0, moving, (), first.functions)
    return _program(out.graph, {name: graph for name, (graph, _) in out.callees.items()})


def _program(main: Graph, called: dict[str, Graph]) -> Program:
    program = Program({**called, main.name: main}, main.name)
    verify(program)
    return program
