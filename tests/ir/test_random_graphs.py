"""Random graphs: the text reads back, `verify` accepts, and no pass changes what the interpreter computes."""

from __future__ import annotations

import numpy as np
import pytest
from harness import duplicate
from hypothesis import HealthCheck, given, settings
from plainly import plain_text
from random_graphs import Drawn, graphs, smooth_graphs

from srcgraph.codegen.cpu import generate
from srcgraph.codegen.storage import Interface
from srcgraph.ir.graph import Graph
from srcgraph.ir.interp import interpret
from srcgraph.ir.parser import parse_graph
from srcgraph.ir.printer import format_graph
from srcgraph.ir.types import is_float
from srcgraph.ir.verify import verify
from srcgraph.ir.walk import same_graph
from srcgraph.opt.ad.vjp import gradient
from srcgraph.opt.passes import Pass, run_passes
from srcgraph.opt.pipeline import DERIVED, PRIMAL

MANY = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PASSES = list({p.name: p for p in (*PRIMAL, *DERIVED)}.values())


def assert_same_answer(got: list, want: list) -> None:
    for x, y in zip(got, want, strict=True):
        assert type(x) is type(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        loose = 1e-5 if np.asarray(y).dtype == np.float32 else 1e-12
        np.testing.assert_allclose(x, y, rtol=loose, atol=loose)


def check_round_trip(graph: Graph) -> None:
    text = format_graph(graph)
    again = parse_graph(text)
    verify(again)
    assert same_graph(again, graph)
    assert format_graph(again) == text


@MANY
@given(graphs())
def test_text_reads_back(drawn: Drawn) -> None:
    """``parse(format(g))`` is ``g``, prints as the same text, and computes the same."""
    verify(drawn.graph)
    check_round_trip(drawn.graph)
    again = parse_graph(format_graph(drawn.graph))
    assert_same_answer(interpret(again, drawn.args), interpret(drawn.graph, drawn.args))


@pytest.mark.parametrize("item", PASSES, ids=lambda p: p.name)
@settings(MANY, max_examples=30)
@given(graphs())
def test_pass_keeps_the_answer(item: Pass, drawn: Drawn) -> None:
    """Each pass gives a valid graph that computes the same."""
    after = run_passes(drawn.graph, [item], check=True)
    assert_same_answer(interpret(after, drawn.args), interpret(drawn.graph, drawn.args))


@pytest.mark.parametrize("item", PASSES, ids=lambda p: p.name)
@settings(MANY, max_examples=20)
@given(graphs())
def test_pass_returns_the_same_object_when_done(item: Pass, drawn: Drawn) -> None:
    """A second run of a pass finds nothing to do, or the same text again."""
    once = item(drawn.graph)
    assert same_graph(item(once), once)


@MANY
@given(graphs())
def test_pipeline_keeps_the_answer(drawn: Drawn) -> None:
    """All passes one after the other."""
    after = run_passes(drawn.graph, PRIMAL, check=True)
    check_round_trip(after)
    assert_same_answer(interpret(after, drawn.args), interpret(drawn.graph, drawn.args))


@MANY
@given(smooth_graphs())
def test_gradient(drawn: Drawn) -> None:
    """The gradient is a valid graph, survives the passes, and agrees with differences along a direction."""
    wanted = [k for k, p in enumerate(drawn.graph.params) if is_float(p.type)]
    derived = gradient(drawn.graph, 0, wanted).graph
    verify(derived)
    check_round_trip(derived)
    optimised = run_passes(derived, DERIVED, check=True)
    grads = interpret(derived, drawn.args)
    assert_same_answer(interpret(optimised, drawn.args), grads)
    rng = np.random.default_rng(0)
    directions = [rng.uniform(-1, 1, np.shape(drawn.args[k])) for k in wanted]
    slope = sum(np.sum(np.asarray(g) * d) for g, d in zip(grads, directions, strict=True))
    found = [_difference(drawn, wanted, directions, h) for h in (1e-5, 1e-6)]
    if abs(found[0] - found[1]) < 1e-6 * (1 + abs(found[0])):  # else there is a kink, or a jump, close by
        np.testing.assert_allclose(slope, found[0], rtol=2e-5, atol=2e-5)


def _difference(drawn: Drawn, wanted: list[int], directions: list, h: float) -> float:
    ends = []
    for step in (h, -h):
        args = list(drawn.args)
        for k, d in zip(wanted, directions, strict=True):
            args[k] = args[k] + step * d if np.ndim(d) else type(args[k])(args[k] + step * float(d))
        ends.append(interpret(drawn.graph, args)[0])
    return (ends[0] - ends[1]) / (2 * h)


def check_text(graph: Graph, args: tuple) -> None:
    """The generated text, as plain Python, computes what the interpreter does, and leaves its arguments alone."""
    generated = generate(graph, Interface({}, list(range(len(graph.results)))), name="random")
    own = duplicate(args)
    out = plain_text(generated.text.text, "random")(*own)
    for got, want in zip([out] if len(graph.results) == 1 else out, interpret(graph, args), strict=True):
        loose = 1e-5 if np.asarray(want).dtype == np.float32 else 1e-12
        np.testing.assert_allclose(got, want, rtol=loose, atol=loose, err_msg=generated.text.text)
    np.testing.assert_equal(own, args, err_msg=generated.text.text)


@MANY
@given(graphs())
def test_generated_text(drawn: Drawn) -> None:
    check_text(run_passes(drawn.graph, PRIMAL), drawn.args)


@MANY
@given(smooth_graphs())
def test_generated_text_of_gradient(drawn: Drawn) -> None:
    wanted = [k for k, p in enumerate(drawn.graph.params) if is_float(p.type)]
    check_text(run_passes(gradient(drawn.graph, 0, wanted).graph, DERIVED), drawn.args)
