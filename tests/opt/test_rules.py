"""Every rule of the product: it applies to its example, and what comes out is what its class promises.

On random numbers, and on zeros of both signs, infinities, NaN and numbers that are very large or small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_checks import draw, type_of

import srcgraph as sg
from srcgraph.ir.builder import Builder
from srcgraph.ir.graph import Graph
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import building
from srcgraph.ir.printer import format_graph
from srcgraph.ir.types import ArrayType
from srcgraph.ir.verify import verify
from srcgraph.opt.pipeline import db
from srcgraph.opt.rewriting.features import Profiler
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.walkers import Equilibrium
from srcgraph.opt.rules import CANONICALIZE, LAST, SPECIALIZE, STABILIZE, Rule
from srcgraph.opt.rules.rule import CLASSES

RULES = [*CANONICALIZE, *STABILIZE, *SPECIALIZE, *LAST]
CASES = [(rule, types) for rule in RULES for types in rule.types]
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-300, -1e-20, 1e-9, 40.0, -40.0, 800.0, -800.0, 1e200)


def example(rule: Rule, types: tuple[str, ...]) -> Graph:
    builder = Builder(rule.name)
    with building(builder):
        params = [builder.param("xyzwuv"[k], type_of(t)) for k, t in enumerate(types)]
        out = rule.example(*params)
    return builder.finish(list(out) if isinstance(out, tuple) else [out])


def rewritten(rule: Rule, graph: Graph) -> tuple[Graph, int]:
    """The graph after a rule, and how often the rule was applied."""
    fgraph, profiler = FunctionGraph(graph), Profiler()
    fgraph.attach(profiler)
    Equilibrium("one", [rule.rewrite]).rewrite(fgraph)
    return fgraph.graph(), profiler.applied.get(rule.name, 0)


@pytest.mark.parametrize(("rule", "types"), CASES, ids=lambda c: c.name if isinstance(c, Rule) else ",".join(c))
def test_rule(rule: Rule, types: tuple[str, ...]) -> None:
    before = example(rule, types)
    after, count = rewritten(rule, before)
    assert count, f"{rule.name} does not apply to\n{format_graph(before)}"
    verify(after)
    shown = f"{format_graph(before)}\n{format_graph(after)}"
    for seed in range(3):
        args = [draw(p.type, rule.domain, seed * 10 + k) for k, p in enumerate(before.params)]
        for x, y in zip(interpret(before, args), interpret(after, args), strict=True):
            assert np.asarray(x).dtype == np.asarray(y).dtype and np.shape(x) == np.shape(y), shown
            single = np.asarray(x).dtype == np.float32
            loose = 0.0 if "exact" in rule.tags else 2e-4 if single else 1e-11
            np.testing.assert_allclose(y, x, rtol=loose, atol=loose, err_msg=shown)


def special_args(graph: Graph, seed: int, rule: Rule) -> list[Any]:
    """Special numbers on the side of zero where a rule's formula is defined; what is promised of them holds."""
    low, high = rule.domain
    numbers = [s for s in SPECIAL if not (s < 0 < low or s > 0 > high)]
    if "facts" in rule.tags:
        numbers = [s for s in numbers if 1e-30 < s < 1e30]
    rng = np.random.default_rng(seed)
    args = []
    for p in graph.params:
        x = draw(p.type, (-2.0, 2.0), seed)
        if p.type.dtype.kind == "f":
            picked = np.asarray(rng.choice(numbers, np.shape(x)))
            with np.errstate(over="ignore"):
                picked = picked.astype(p.type.dtype)
            x = picked if isinstance(p.type, ArrayType) else type(x)(picked)
        args.append(x)
    return args


@pytest.mark.parametrize(("rule", "types"), CASES, ids=lambda c: c.name if isinstance(c, Rule) else ",".join(c))
def test_rule_on_special_numbers(rule: Rule, types: tuple[str, ...]) -> None:
    """Exact rules give the same; others NaN for NaN, and nothing else where the plain formula is finite and exact."""
    if "unsafe" in rule.tags or "matrices" in rule.tags:
        return
    before = example(rule, types)
    after, _ = rewritten(rule, before)
    for seed in range(40):
        args = special_args(before, seed, rule)
        for x, y in zip(interpret(before, args), interpret(after, args), strict=True):
            shown = f"{args}: {x} became {y}\n{format_graph(after)}"
            if "tangents" in rule.tags:  # what does not move is multiplied by nothing, NaN neither
                assert np.all(np.isclose(y, x) | ~np.isfinite(x)), shown
            elif "stability" in rule.tags:
                nan_in = any(np.isnan(a).any() for a in args if np.asarray(a).dtype.kind == "f")
                finite = np.isfinite(x)
                near = np.isclose(y, x, rtol=1e-3, atol=1e-3)
                assert np.all(near | ~finite), shown
                allowed = ~np.isfinite(x) if "domain" in rule.tags else np.isnan(x)
                assert nan_in or np.all(~np.isnan(y) | allowed), shown
            else:
                np.testing.assert_allclose(y, x, rtol=1e-6, err_msg=shown)


def test_every_rule_says_what_it_does() -> None:
    names = [r.name for r in dict.fromkeys(RULES)]
    assert len(set(names)) == len(names)
    assert len(names) >= 60
    for rule in RULES:
        assert len(set(rule.tags) & set(CLASSES)) == 1, rule.name
        assert rule.before and rule.after and (rule.types or rule.name == "fold"), rule.name
        assert ("unsafe" in rule.tags) != ("fast_run" in rule.tags), rule.name
        assert rule.name in db


def outside(x, y):
    return -np.maximum(-x, -y), np.abs(x * x), np.abs(x) * np.abs(y), (-x) ** 2, np.max(-x), np.min(-y), np.sum(-x)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "float32"])
def test_integers_wrap_as_before(dtype: str) -> None:
    """Signs of integers at the ends of their range: the rules for floats do not hold."""
    ends = np.array([0, 5, 100, 127]) if dtype[0] == "u" else np.array([-128, 127, -1, 0])
    if dtype == "int64":
        ends = np.array([-(2**63), 2**63 - 1, 3, 0])
    x, y = ends.astype(dtype), ends[::-1].astype(dtype).copy()
    with np.errstate(all="ignore"):
        wanted = outside(x, y)
    for found, want in zip(sg.compile(outside)(x, y), wanted, strict=True):
        assert np.asarray(found).dtype == np.asarray(want).dtype
        np.testing.assert_array_equal(found, want)


def branches(z):
    return np.log(np.exp(z)), np.sqrt(z * z), np.exp(np.log(z)), np.log(np.sqrt(z))


def test_complex_numbers_keep_their_branches() -> None:
    z = np.array([1.0 + 5.0j, -2.0 - 4.0j, 0.3j])
    for found, want in zip(sg.compile(branches)(z), branches(z), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12)
