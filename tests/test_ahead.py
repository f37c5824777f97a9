"""Elements that the next step of a loop reads, too, are read before anything is stored."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.codegen.ahead import read_ahead
from srcgraph.codegen.aliases import Aliases


def changed(text: str, params: str = "x y z n", axes: int = 1, views: str = "") -> str:
    """A function's statements after the change; ``params`` are arrays of so many axes, ``n`` a number."""
    body, names = ast.parse(text).body, params.split()
    held = {p: axes for p in (*names, "a", "b") if p not in ("n", "m")}
    return ast.unparse(read_ahead(body, {*names}, lambda: Aliases(body, names, {*held}, held, {*views.split()})))


LATE = """
for i in range(n):
    y[i] = x[i] * 2.0
    z[i] = x[i + 1]
"""


def test_it_is_read_first() -> None:
    assert changed(LATE).split("\n")[1:] == [
        "    x_next = x[i + 1]", "    y[i] = x[i] * 2.0", "    z[i] = x_next",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("for i in range(n):\n    t = x[i + 1]\n    y[i] = x[i]\n    z[i] = t", "it is read early"),
        ("for i in range(n):\n    y[i] = x[i + 1]\n    z[i] = x[i]", "it is read before the other one"),
        ("for i in range(n):\n    y[i] = x[i]\n    z[i] = x[i + 2]", "not the next step's"),
        ("for i in range(n):\n    y[i] = x[i]\n    x[i + 1] = 0.0\n    z[i] = x[i + 1]", "it is stored"),
        ("for i in range(n):\n    z[i] = x[i] + x[i + 1]", "nothing is stored before"),
        ("for i in range(n - 1, -1, -1):\n    y[i] = x[i]\n    z[i] = x[i + 1]", "downwards"),
        ("for i in range(n):\n    y[i] = x[i]\n    if y[i] > 0.0:\n        z[i] = x[i + 1]", "in some steps"),
        ("x = y\nfor i in range(n):\n    y[i] = x[i]\n    z[i] = x[i + 1]", "one memory"),
        ("for k in range(n):\n    for i in range(n):\n        y[i] = x[i]\n        z[i] = x[i + 1]\n    y = x",
         "one memory in later trips"),
    ],
    ids=lambda v: "" if "for" in v else v,
)  # fmt: skip
def test_others_stay(text: str, why: str) -> None:
    assert changed(text) == ast.unparse(ast.parse(text))


BRANCHES = """
for i in range(1, n):
    t = x[i]
    if t > 0.0:
        a = t - x[i - 1]
    else:
        a = x[i + 1] - t
    y[i] = a + x[i + 1]
"""


def test_branches() -> None:
    """What every step reads is read before it is asked which way to go; what some steps read is not."""
    assert changed(BRANCHES).split("\n")[1] == "    x_next = x[i + 1]"
    assert changed(BRANCHES).count("x[i + 1]") == 1
    some = BRANCHES.replace("a + x[i + 1]", "a")
    assert changed(some) == ast.unparse(ast.parse(some))
    last = BRANCHES.replace("a = x[i + 1] - t", "a = t")
    assert changed(last).split("\n")[1] == "    x_next = x[i + 1]"
    choice = "for i in range(n):\n    y[i] = x[i + 1] if x[i] > 0.0 else z[i]"
    assert changed(choice) == ast.unparse(ast.parse(choice))


def test_a_place_that_the_loop_computes_stays() -> None:
    text = "for i in range(n):\n    k = int(z[i])\n    y[i] = x[k, i]\n    z[i] = x[k, i + 1]"
    assert changed(text, axes=2) == ast.unparse(ast.parse(text))


def test_arrays_that_are_exchanged() -> None:
    """Both may be an argument, but not at once."""
    body = "for k in range(n):\n    for i in range(n):\n        y[i] = x[i]\n        z[i] = x[i + 1]\n    x, y = y, x"
    assert "x_next = x[i + 1]" in changed(body)


def upwind(u: Any, k: float, n: int) -> Any:
    before = np.empty(len(u))
    for _ in range(n):
        for i in range(len(u)):
            before[i] = u[i]
        for i in range(1, len(u) - 1):
            if before[i] > 0.0:
                flow = before[i] * (before[i] - before[i - 1])
            else:
                flow = before[i] * (before[i + 1] - before[i])
            u[i] = before[i] - k * flow + 0.1 * (before[i + 1] - 2.0 * before[i] + before[i - 1])
    return np.sum(u * u)


def test_a_program_with_a_branch() -> None:
    assert "before_next = before[i + 1]" in sg.inspect(upwind, np.ones(9), 0.1, 2).cpu
    for size in (0, 1, 2, 3, 50):
        u = np.cos(np.arange(float(size)))
        assert sg.compile(upwind)(u.copy(), 0.1, 3) == pytest.approx(upwind(u.copy(), 0.1, 3), rel=1e-13)


def waves(u: Any, k: float, n: int) -> Any:
    for _ in range(n):
        old = u.copy()
        steep = old[2:, 1:-1] - old[1:-1, :-2]
        u[1:-1, 1:-1] = old[1:-1, 1:-1] + k * np.sin(steep) * old[1:-1, 1:-1] + 0.2 * (old[:-2, 1:-1] - old[1:-1, 1:-1])
    return np.sum(u * u)


def test_a_gradient() -> None:
    """The sine and the cosine of a derivative, of several elements at a time."""
    rng = np.random.default_rng(3)
    u, along, h = rng.normal(size=(12, 13)) * 0.3, rng.normal(size=(12, 13)), 1e-6
    gradient = sg.grad(waves)
    text = sg.inspect(gradient, u, 0.1, 2).cpu
    assert "old_saved_next = old_saved[" in text
    slope = (waves(u + h * along, 0.1, 2) - waves(u - h * along, 0.1, 2)) / (2 * h)
    assert np.sum(gradient(u.copy(), 0.1, 2) * along) == pytest.approx(slope, rel=1e-7)
