"""Loops that become one, and loops that stay apart: what they give is the same."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import loop_programs as programs
import numpy as np
import pytest

import srcgraph as sg
from srcgraph.ir.graph import For, Graph
from srcgraph.ir.interp import interpret
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.modes import FAST_RUN

X = np.array([0.3, -1.2, 2.5, 0.7, -0.4])
WITHOUT_STRIPS = FAST_RUN.excluding("strips")
APART = FAST_RUN.excluding("fuse", "states")


def loops(graph: Graph) -> int:
    return sum(isinstance(n, For) for n in all_nodes(graph))


def agree(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.concatenate([np.ravel(v) for v in _all(found)]),
                               np.concatenate([np.ravel(v) for v in _all(wanted)]), rtol=1e-12, atol=1e-14)  # fmt: skip


def _all(x: Any) -> list[Any]:
    return list(x) if isinstance(x, tuple) else [x]


@pytest.mark.parametrize("function", [*programs.FUSED, *programs.APART], ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [0, 1, 5])
def test_value(function: Callable[..., Any], size: int) -> None:
    mine, plain = X[:size].copy(), X[:size].copy()
    agree(sg.compile(function)(mine), function(plain))
    np.testing.assert_allclose(mine, plain)


@pytest.mark.parametrize("function", programs.FUSED, ids=lambda f: f.__name__)
def test_one_loop(function: Callable[..., Any]) -> None:
    assert loops(sg.compile(function, mode=WITHOUT_STRIPS).graph(X)) == 1
    assert loops(sg.compile(function, mode=APART).graph(X)) > 1
    (row,) = (r for r in sg.inspect(function, X).passes if r.name == "fuse")
    assert row.before != row.after


@pytest.mark.parametrize("function", programs.APART, ids=lambda f: f.__name__)
def test_apart(function: Callable[..., Any]) -> None:
    assert loops(sg.compile(function).graph(X)) == loops(sg.compile(function, mode=APART).graph(X))


def test_arrays_that_nobody_reads_any_more_go() -> None:
    for function in (programs.sum_of_what_was_stored, programs.rows):
        assert "empty(" not in sg.compile(function, mode=WITHOUT_STRIPS).python(X).replace("empty((n, n))", "")


@pytest.mark.parametrize("function", [f for f in programs.FUSED if f is not programs.three], ids=lambda f: f.__name__)
def test_gradient(function: Callable[..., Any]) -> None:
    if function is programs.of_the_argument:
        return
    agree(sg.grad(function)(X.copy()), sg.grad(function, mode=APART)(X.copy()))


def test_what_raises_first_is_what_python_raises() -> None:
    x, y = np.array([1.0, 1.0, -1.0]), np.array([-1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="first"):
        sg.compile(programs.both_may_raise)(x, y)
    with pytest.raises(KeyError, match="second"):
        sg.compile(programs.both_may_raise)(abs(x), y)


def test_what_was_stored_before_something_raises_stays() -> None:
    for function, more in ((programs.stored_before_it_raises, ()), (programs.stored_twice, (np.ones(2), np.ones(4)))):
        mine, plain = np.arange(4.0), np.arange(4.0)
        for run, x in ((sg.compile(function), mine), (function, plain)):
            with pytest.raises(ValueError, match=r"large|broadcast"):
                run(x, *more)
        np.testing.assert_array_equal(mine, plain)


def test_an_array_of_states_is_one_number() -> None:
    text = sg.inspect(sg.grad(programs.recurrence), X).cpu
    assert "d_t = 0.0" in text and "d_t[" not in text
    assert "zeros(" not in sg.inspect(programs.recurrence, X).cpu


# -- random programs ------------------------------------------------------------------------------------


def expression(draw: random.Random, i: str, depth: int = 0) -> str:
    kind = draw.random()
    if depth > 1 or kind < 0.45:
        a = draw.choice("abc")
        others = [
            f"{a}[{i} - 1]",
            f"{a}[n - 1 - {i}]",
            f"{a}[0]",
            "s",
            str(round(draw.uniform(-1, 1), 2)),
            f"float({i})",
        ]
        return draw.choice([f"{a}[{i}]"] * 18 + others)
    left, right = expression(draw, i, depth + 1), expression(draw, i, depth + 1)
    return f"({left} {draw.choice('+-*')} {right})" if kind < 0.85 else f"{draw.choice(['np.sin', 'abs'])}({left})"


def statement(draw: random.Random, i: str, indent: str) -> list[str]:
    kind, a, e = draw.random(), draw.choice("abc"), expression(draw, i)
    if kind < 0.5:
        return [f"{indent}{a}[{i}] = {e}"]
    if kind < 0.65:
        return [f"{indent}{a}[{i}] += {e}"]
    if kind < 0.8:
        return [f"{indent}s += 0.1 * {e}"]
    if kind < 0.88:
        return [f"{indent}if {e} > 0.0:", *statement(draw, i, indent + "    ")]
    if kind < 0.93:
        return [f"{indent}{a}[n - 1 - {i}] = {e}"]
    return [draw.choice([f"{indent}m[{i}] = m[{i}] * {e}", f"{indent}s += m[{i}].sum() * 0.01"])]


BETWEEN = ["s = s * 0.5", "s += 0.01 * a.sum()", "a = b.copy()", "c = np.zeros(n)", "b[0] = s", "a, b = b, a", "b = c",
           "c = a * 0.5 + b"]  # fmt: skip
RANGES = ["n"] * 16 + ["1, n", "0, n, 2", "n - 1, -1, -1"]


def program(seed: int) -> str:
    draw = random.Random(seed)
    lines = ["def f(a, b, x, s, n):", "    c = np.empty(n)", "    m = np.outer(x, x)"]
    lines += ["    for i in range(n):", "        c[i] = x[i] * 2.0"]
    for _ in range(draw.randint(2, 4)):
        i = draw.choice("ij")
        lines.append(f"    for {i} in range({draw.choice(RANGES)}):")
        for _ in range(draw.randint(1, 3)):
            lines += statement(draw, i, "        ")
        if draw.random() < 0.25:
            lines.append(f"    {draw.choice(BETWEEN)}")
    lines.append(f"    return {draw.choice(['s', 's, a', 's, b, c', 'c', 'a + b', 's, m'])}")
    return "import numpy as np\n\n\n" + "\n".join(lines) + "\n"


def recurrences(seed: int) -> str:
    """Loops over neighbours in arrays that nobody reads afterwards, or somebody does."""
    draw = random.Random(seed)
    first = draw.choice(["np.zeros(n + 2)", "np.ones(n + 2)", "np.full(n + 2, s)", "a.copy()"])
    lines = ["def f(a, b, x, s, n):", f"    t = {first}", "    u = np.zeros(n + 2)"]
    if draw.random() < 0.6:
        lines += [f"    t[{k}] = {draw.choice(['s', 'x[0]', '1.0'])}" for k in (0, 1)[: draw.randint(1, 2)]]
    down = draw.random() < 0.3
    lines.append(f"    for i in range({'n, 0, -1' if down else draw.choice(['1, n', '0, n', '2, n', '1, n + 1'])}):")
    back, here = ("t[i + 1]", "t[i]") if down or draw.random() < 0.2 else ("t[i - 1]", "t[i]")
    parts = [
        f"{here} = {draw.choice(['0.5', 's', 'x[0]'])} * {back} + x[i % n]",
        f"{here} += {back} * 0.25",
        f"s += {here} * 0.125",
        f"s += {back} * x[0]",
        f"u[i] = {here} + {back}",
        f"{back} = {here} * 0.5",
        f"if x[i % n] > 0.0:\n            {here} = 0.5 * {here}",
        f"{here} = {draw.choice(['1.0', 's'])}",
    ]
    lines += [f"        {part}" for part in draw.sample(parts, draw.randint(1, 4))]
    lines.append(f"    return {draw.choice(['s', 's', 's', 's, u', 's, t[n]', 's, u[1]'])}")
    return "import numpy as np\n\n\n" + "\n".join(lines).replace("a.copy()", "np.append(a, x[:2])") + "\n"


def loaded(text: str, path: Path) -> ModuleType:
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(seed: int, n: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=n), rng.normal(size=n), rng.normal(size=n), 0.3, n]


def outcome(run: Callable[..., Any], args: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        try:
            return run(*args)
        except (IndexError, ZeroDivisionError) as error:
            return type(error)


@pytest.mark.parametrize("batch", range(2))
def test_random_loops(batch: int, tmp_path: Path) -> None:
    """Graphs with and without fusion, by the interpreter; one of each batch compiled, against Python."""
    for seed in range(batch * 16, batch * 16 + 16):
        text = program(seed) if seed % 2 else recurrences(seed)
        function = loaded(text, tmp_path / f"loops_{seed}.py").f
        for n in (0, 2, 5):
            args = arguments(seed, n)
            graphs = [sg.compile(function, mode=mode).graph(*args) for mode in (FAST_RUN, APART)]
            fused, apart = (outcome(lambda *a, g=g: interpret(g, list(a)), args) for g in graphs)
            assert (isinstance(fused, type)) == (isinstance(apart, type)), text
            if not isinstance(fused, type):
                for mine, plain in zip(fused, apart, strict=True):
                    np.testing.assert_allclose(mine, plain, rtol=1e-9, atol=1e-12, err_msg=text)
    mine, plain = arguments(seed, 5), arguments(seed, 5)
    found, wanted = outcome(sg.compile(function), mine), outcome(function, plain)
    assert (isinstance(found, type)) == (isinstance(wanted, type)), text
    for one, other in (
        zip([*_all(found), *mine], [*_all(wanted), *plain], strict=True) if not isinstance(found, type) else []
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=text)
