"""Calls that are replaced by nodes, and those that stay since the program would be too long."""

from __future__ import annotations

import math

import pytest

import srcgraph as sg
from srcgraph.ir.graph import Graph, Program, Value
from srcgraph.ir.op import OPS, building
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import PY_FLOAT
from srcgraph.ir.verify import verify
from srcgraph.ir.walk import calls, size
from srcgraph.opt.inline import LONG, inline


def doubling(depth: int) -> Program:
    """A function that calls the next one twice, and so on."""
    graphs: dict[str, Graph] = {}
    for k in range(depth):
        work = Rebuild(f"f{k}")
        b = work.builder
        with building(b):
            x = b.param("x", PY_FLOAT)
            found: list[Value] = []
            for factor in (0.5, 0.25):
                y = OPS["sin"](OPS["mul"](x, b.const(factor)))
                if k + 1 < depth:
                    (y,) = b.call_graph(f"f{k + 1}", [y], [PY_FLOAT], ["y"])
                found.append(y)
            graphs[f"f{k}"] = b.finish([OPS["add"](*found)])
    return Program(graphs, "f0")


@pytest.mark.parametrize("depth", [4, 30])
def test_length(depth: int) -> None:
    """Everything is in one graph where that is short; else it grows with the number of functions."""
    program = inline(doubling(depth))
    verify(program)
    entry = program.graphs[program.entry]
    assert bool(list(calls(entry))) is (depth > 10)
    assert sum(map(size, program.graphs.values())) < LONG


def simpson(f, a, b, eps, depth):
    c, h = (a + b) / 2, b - a
    whole = h / 6 * (f(a) + 4 * f(c) + f(b))
    left = h / 12 * (f(a) + 4 * f((a + c) / 2) + f(c))
    right = h / 12 * (f(c) + 4 * f((c + b) / 2) + f(b))
    if depth <= 0 or abs(left + right - whole) < 15 * eps:
        return left + right + (left + right - whole) / 15
    return simpson(f, a, c, eps / 2, depth - 1) + simpson(f, c, b, eps / 2, depth - 1)


def integral(k, b):
    return simpson(lambda x: math.exp(-k * x * x) * math.cos(3 * x), 0.0, b, 1e-5, 8)


@pytest.mark.timeout(60)
def test_depth_given_as_a_literal() -> None:
    """One version for each depth, and none is compiled twice."""
    assert sg.compile(integral)(1.3, 2.0) == pytest.approx(integral(1.3, 2.0), rel=1e-14)
    slope = (integral(1.3 + 1e-5, 2.0) - integral(1.3 - 1e-5, 2.0)) / 2e-5
    assert sg.grad(integral)(1.3, 2.0) == pytest.approx(slope, rel=1e-6)
