"""What calls cost: time, arrays made, work done, and when something is compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import srcgraph as sg
from srcgraph import engines
from srcgraph.ir import graph_of, scalar, vector
from srcgraph.ir.graph import Graph, Program
from srcgraph.opt import FAST_RUN
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import PRIMAL


def line(x):
    return 2.0 * x + 1.0


def best(run: Callable[[float], Any]) -> float:
    """Microseconds of a call, where nothing else interferes."""
    run(1.0)
    times = []
    for _ in range(40):
        began = time.perf_counter()
        for _ in range(500):
            run(1.0)
        times.append(time.perf_counter() - began)
    return min(times) / 500 * 1e6


def test_time_of_a_call() -> None:
    """A call with a number takes a microsecond or two, and what is checked before is among it."""
    assert best(sg.compile(line)) < 6.0


# -- arrays -------------------------------------------------------------------------------------------

ARRAYS = """
import json, numpy as np, srcgraph as sg
from numba.core.runtime import rtsys
from srcgraph.ir import vector

def made(f, *args):
    '''The arrays that a second call makes; numba counts one for each argument.'''
    f(*args)
    before = rtsys.get_allocation_stats()
    f(*args)
    return rtsys.get_allocation_stats().mi_alloc - before.mi_alloc - len(args)

def smooth(u):
    for _ in range(10):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
    return u.sum()

def wide(u):
    for _ in range(10):
        u[3:-1] = 0.5 * (u[:-4] + u[4:])
    return u.sum()

v = x = vector("v")
for k in range(50):
    x = np.sin(x) + k * x
text = "def chain(x):\\n" + "".join(f"    x = np.sin(x) + {k}.0 * x\\n" for k in range(50)) + "    return x\\n"
exec(text)
print(json.dumps({
    "chain": made(sg.compile(chain, source=text), np.ones(1000)),
    "variables": made(sg.function([v], x), np.ones(1000)),
    "two results": made(sg.compile(lambda x: (np.exp(x), np.sin(x) + x.mean())), np.ones(1000)),
    "number": made(sg.compile(lambda x: np.sum(np.exp(x) * x)), np.ones(1000)),
    "smooth": made(sg.compile(smooth), np.ones(1000)),
    "wide": made(sg.compile(wide), np.ones(1000)),
}))
"""


def test_arrays_that_a_call_makes(tmp_path: Path) -> None:
    """A chain of a hundred elementwise operations makes its result and no other array; a sum makes none."""
    (tmp_path / "arrays.py").write_text(ARRAYS)
    env = {**os.environ, "NUMBA_NRT_STATS": "1", "SRCGRAPH_CACHE": "0"}
    env["PYTHONPATH"] = str(Path(sg.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "arrays.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stderr
    expected = {"chain": 1, "variables": 1, "two results": 2, "number": 0, "smooth": 0, "wide": 1}
    assert json.loads(done.stdout) == expected


# -- work ---------------------------------------------------------------------------------------------


def count(graph: Graph, *args: Any) -> Counter[str]:
    """How often each op is computed."""
    found: Counter[str] = Counter()
    engines.Vm(watch=lambda node: found.update([node.op.name])).compile(Program({graph.name: graph}, graph.name))(args)
    return found


def weighted(a, n):
    total = 0.0
    for i in range(n):
        total += np.exp(a) * i
    return total


def test_what_is_the_same_on_every_trip_is_computed_once() -> None:
    assert count(sg.compile(weighted).graph(0.5, 10), 0.5, 10)["exp"] == 1
    apart = sg.compile(weighted, mode=FAST_RUN.excluding("licm"))
    assert count(apart.graph(0.5, 10), 0.5, 10)["exp"] == 10 and apart(0.5, 10) == sg.compile(weighted)(0.5, 10)


def either(a, flag):
    if flag:
        p, q = np.exp(a), np.sin(a)
    else:
        p, q = a, np.cos(a)
    return p + 0.0 * len((q,))


def test_what_nobody_reads_of_a_branch_is_not_computed() -> None:
    graph = sg.compile(either).graph(0.5, True)
    assert set(count(graph, 0.5, True)) & {"exp", "sin", "cos"} == {"exp"}
    assert not set(count(graph, 0.5, False)) & {"exp", "sin", "cos"}
    assert "sin" not in str(graph) and "cos" not in str(graph)


def test_a_second_round_changes_nothing() -> None:
    """Rewriting what was rewritten gives the same graph."""
    a, x = scalar("a"), vector("x")
    formulas = [
        np.log(np.sum(np.exp(x))), np.log(1.0 + np.exp(a)), (a * 2.0 * a) / a - (-a), np.sqrt(a) ** 2 / (a / 3.0),
        (x * a).sum() + (a * x).sum(), np.exp(x) / np.exp(x).sum(), np.where(x > 0.0, np.log(x), -x).mean(),
    ]  # fmt: skip
    for formula in formulas:
        once = run_passes(graph_of([a, x], [formula]), PRIMAL)
        assert sg.ir.structural_hash(run_passes(once, PRIMAL)) == sg.ir.structural_hash(once)


# -- compiling ----------------------------------------------------------------------------------------

COMPILED = """
import json, sys, numpy as np, srcgraph as sg

def f(x, n):
    for _ in range(n):
        x = np.tanh(x) + 1.0
    return x.sum()

counts, function = [], sg.compile(f)
def note():
    counts.append(sg.cache.info().process.compiled)
note()
gradient = sg.grad(f)
note()
function.graph(np.ones(3), 2)
note()
function(np.ones(3), 2)
gradient(np.ones(3), 2)
note()
function(np.ones(7), 5)
gradient(np.ones(7), 5)
note()
names = sorted(p.name for p in sg.cache.path().rglob("*.entry.json"))
print(json.dumps([counts, names]))
"""


def test_when_something_is_compiled(tmp_path: Path) -> None:
    """At the first call, and only then; another process compiles nothing, and finds it under the same names."""
    (tmp_path / "model.py").write_text(COMPILED)

    def run(place: str) -> Any:
        env = {**os.environ, "SRCGRAPH_CACHE": "1", "SRCGRAPH_CACHE_DIR": str(tmp_path / place)}
        env |= {"PYTHONPATH": str(Path(sg.__file__).parent.parent), "PYTHONHASHSEED": str(len(place))}
        done = subprocess.run(
            [sys.executable, "model.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=110
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    first, names = run("one")
    assert first[:2] == [0, 0] and first[3] == first[4] == 2 and len(names) == 2
    assert run("one") == [[0] * 5, names]
    assert run("other")[1] == names
