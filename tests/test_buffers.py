"""Arrays that loops make in each trip, made once before them."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.codegen.buffers import made_once

TWO_LOOPS = """
def f(x, y):
    n = len(x)
    for i in range(3):
        z = np.empty({first})
        z[0] = x[i]
        y[i] = z[0]
    {between}
    for i in range(3):
        z = np.empty({second})
        z[0] = y[i]
        y[i] = z[0] * {factor}
    return {returned}
"""
USUAL = {"first": "n", "second": "n", "between": "pass", "factor": "2.0", "returned": "y"}


def makings(text: str) -> list[int]:
    """How deep each making of ``z`` stands in loops."""
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    found: list[int] = []

    def walk(body: list[ast.stmt], depth: int) -> None:
        for node in body:
            if isinstance(node, ast.For):
                walk(node.body, depth + 1)
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "z":
                found.append(depth)

    walk(made_once(function).body, 0)
    return found


@pytest.mark.parametrize(
    ("changes", "depths"),
    [
        ({}, [0]),
        ({"second": "n + 1"}, [1, 1]),
        ({"between": "y[0] = z[1]"}, [1, 1]),
        ({"between": "n = 2"}, [1, 1]),
        ({"returned": "z"}, [1, 1]),
        ({"factor": "len(x)"}, [0]),
        ({"first": "3", "second": "3"}, [0]),
    ],
    ids=str,
)
def test_two_loops(changes: dict[str, str], depths: list[int]) -> None:
    assert makings(TWO_LOOPS.format(**USUAL | changes)) == depths


def test_loops_in_a_loop() -> None:
    inner = "\n".join("    " + line for line in TWO_LOOPS.format(**USUAL).splitlines()[3:-1])
    assert makings(f"def f(x, y):\n    n = len(x)\n    for k in range(2):\n{inner}\n    return y") == [0]


def steps(x, n):
    y = x * 1.0
    for _ in range(n):
        k = np.empty(len(y))
        k[0] = x[0]
        k[1:] = x[1:] * y[:-1]
        y = y + 0.1 * np.sin(k) * np.sum(k)
    return np.sum(y * y)


def test_what_both_sweeps_fill() -> None:
    """An array that the reverse sweep fills again is made once, for both."""
    x = np.linspace(0.1, 0.7, 5)
    text = sg.inspect(sg.grad(steps), x, 3).cpu
    assert text.count("k = empty(") == 1
    along = np.cos(np.arange(5.0))
    difference = (steps(x + 1e-6 * along, 3) - steps(x - 1e-6 * along, 3)) / 2e-6
    assert sg.grad(steps)(x, 3) @ along == pytest.approx(difference, rel=1e-7)


def test_few_numbers_that_some_trips_need() -> None:
    def chosen(x, n):
        total, last = 0.0, 0
        for k in range(n):
            if x[k] > 0.2:
                weights = np.array([x[k], 2.0 * x[k], x[0]])
                so_far = 0.0
                for j in range(3):
                    so_far += weights[j]
                    last = j
                    if so_far > 1.0:
                        break
                total += so_far * last
            elif x[k] > 0.1:
                total -= 1.0
        return total

    x = np.linspace(0.05, 0.9, 12)
    compiled = sg.compile(chosen)
    for n in (0, 1, 3, 12):
        assert compiled(x, n) == pytest.approx(chosen(x, n), rel=1e-14)
    text = compiled.python(x, 12)
    assert text.index("np.empty(3)") < text.index("for k in range"), text
