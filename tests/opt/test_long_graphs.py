"""Graphs of many nodes in a row: no stack is too small for them, and nothing looks at all of them for each."""

from __future__ import annotations

import sys

import pytest

from srcgraph.codegen.cpu import generate
from srcgraph.codegen.decisions import Decisions
from srcgraph.codegen.storage import Interface
from srcgraph.ir.parser import parse_graph
from srcgraph.ir.walk import size
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import PRIMAL


def chain(length: int):
    """A graph whose every node reads the one before."""
    ops = ("sin({0})", "add({0}, x)", "mul({0}, x)", "cos({0})")
    nodes = [f"    v{k}: f64 = {ops[k % 4].format(f'v{k - 1}' if k else 'x')}" for k in range(length)]
    return parse_graph("\n".join(["def chain(x: f64) -> f64:", *nodes, f"    return v{length - 1}", ""]))


def test_passes_have_no_depth():
    length = 20 * sys.getrecursionlimit()
    graph = run_passes(chain(length), PRIMAL)
    assert size(graph) == length


def test_where_numbers_are_read_last_is_not_looked_for_without_stores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Decisions, "evaluated_at", lambda *_: pytest.fail("walked through the graph"))
    assert generate(chain(100), Interface(returned=[0])).text.text.count("np.sin") == 25
