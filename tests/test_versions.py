"""Lists that change while something needs what they were."""

from __future__ import annotations

import numpy as np
import pytest
from harness import compiled_text

from srcgraph.codegen.cpu import generate
from srcgraph.codegen.storage import Interface
from srcgraph.ir.interp import interpret
from srcgraph.ir.parser import parse_graph

OLD_IS_READ = {
    "length after a push": """
def f(x: float) -> (int(n), int(m)):
    xs: list[float] = list_new(x, x, item=float)
    ys: list[float] = list_push(xs, 5.0)
    n: int(n) = list_len(xs)
    m: int(m) = list_len(ys)
    return (n, m)
""",
    "item after another is stored": """
def f(x: float) -> (float, float):
    xs: list[float] = list_new(x, x, item=float)
    ys: list[float] = list_set(xs, 0, 5.0)
    a: float = list_get(xs, 0)
    b: float = list_get(ys, 0)
    return (a, b)
""",
    "two that go on from one": """
def f(x: float) -> (int(n), int(m), float):
    xs: list[float] = list_new(x, x, item=float)
    ys: list[float] = list_push(xs, 5.0)
    zs: list[float] = list_push(xs, 6.0)
    n: int(n) = list_len(ys)
    m: int(m) = list_len(zs)
    a: float = list_get(ys, 2)
    return (n, m, a)
""",
    "in a branch": """
def f(x: float) -> (int(n), int(m)):
    xs: list[float] = list_new(x, x, item=float)
    c: bool = greater(x, 0.0)
    def then(xs_1: list[float]) -> list[float]:
        ys: list[float] = list_push(xs_1, 5.0)
        return ys
    def orelse(xs_2: list[float]) -> list[float]:
        return xs_2
    zs: list[float]
    (zs,) = if_(c, then, orelse, captures=(xs,))
    n: int(n) = list_len(xs)
    m: int(m) = list_len(zs)
    return (n, m)
""",
    "anew in each trip": """
def f(x: float) -> int(n):
    xs: list[float] = list_new(x, x, item=float)
    def body(k: int(k), t: int, xs_1: list[float]) -> int:
        ys: list[float] = list_push(xs_1, 5.0)
        m: int(m) = list_len(ys)
        t_1: int = add(t, m)
        return t_1
    s: int(n)
    (s,) = for_(0, 4, 1, body, carry=(0,), captures=(xs,))
    return s
""",
    "carried twice": """
def f(x: float) -> (int(n), int(m)):
    xs: list[float] = list_new(x, x, item=float)
    def body(k: int(k), a: list[float], b: list[float]) -> (list[float], list[float]):
        c: list[float] = list_push(a, 5.0)
        return (c, b)
    y: list[float]
    z: list[float]
    (y, z) = for_(0, 4, 1, body, carry=(xs, xs), captures=())
    n: int(n) = list_len(y)
    m: int(m) = list_len(z)
    return (n, m)
""",
}
ARRAYS = """
def f(x: f64[n]) -> (f64[list_get_len], f64[y_len]):
    xs: list[f64[_]] = list_new(x, x, item=f64[_])
    ys: list[f64[_]]
    y: f64[y_len]
    (ys, y,) = list_pop(xs)
    dim: int(y_len) = dim(y, axis=0)
    check_upper: int(0) = check_upper(0, dim, axis=0)
    y_1: f64[y_len] = setitem(y, f64(5.0), check_upper, view='i')
    list_get: f64[list_get_len] = list_get(xs, 1)
    return (list_get, y_1)
"""
NEVER_AGAIN = """
def f(x: float) -> (int(n), int(m)):
    xs: list[float] = list_new(x, x, item=float)
    n: int(n) = list_len(xs)
    ys: list[float] = list_push(xs, 5.0)
    m: int(m) = list_len(ys)
    return (n, m)
"""


@pytest.mark.parametrize("title", OLD_IS_READ)
def test_old_one(title: str) -> None:
    graph = parse_graph(OLD_IS_READ[title])
    made = generate(graph, Interface({}, list(range(len(graph.results)))))
    assert "xs[:]" in made.text.text
    got = compiled_text(made.text.text, "f")(0.5)
    np.testing.assert_equal(np.atleast_1d(got), np.atleast_1d(interpret(graph, [0.5])))


def test_no_copy() -> None:
    graph = parse_graph(NEVER_AGAIN)
    made = generate(graph, Interface({}, [0, 1]))
    assert "[:]" not in made.text.text
    assert compiled_text(made.text.text, "f")(0.5) == (2, 3)


def test_arrays() -> None:
    """What is taken off a list may be stored into."""
    graph = parse_graph(ARRAYS)
    made = generate(graph, Interface({}, [0, 1]))
    assert "copies(xs)" in made.text.text
    got = compiled_text(made.text.text, "f")(np.ones(3))
    np.testing.assert_equal(got, ([1.0, 1.0, 1.0], [5.0, 1.0, 1.0]))
