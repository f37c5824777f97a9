"""The eager engine's reverse mode, which differentiates use by use, against the gradients made of source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import (
    Projected,
    Versions,
    corpus,
    derived,
    differentiable_calls,
    differentiable_results,
    duplicate,
    float_arguments,
    float_leaves,
    label,
    leaves_of,
)
from hypothesis import HealthCheck, given, settings
from random_graphs import Drawn, smooth_graphs

import srcgraph as sg
from srcgraph.ir.graph import Program
from srcgraph.ir.interp import interpret
from srcgraph.ir.types import is_float
from srcgraph.opt.ad.vjp import gradient
from srcgraph.runtime.engines.tape import gradient_by_tape

LISTS, DRAWS = "does not differentiate through lists", "does not differentiate through random numbers"


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(smooth_graphs())
def test_random_graphs(drawn: Drawn) -> None:
    wanted = [k for k, p in enumerate(drawn.graph.params) if is_float(p.type)]
    got = gradient_by_tape(Program({"random": drawn.graph}, "random"), drawn.args, wanted)
    for x, y in zip(got, interpret(gradient(drawn.graph, 0, wanted).graph, drawn.args), strict=True):
        assert type(x) is type(y)
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("program", corpus()[2::25], ids=label)
def test_corpus(program: Any) -> None:
    """What a program returns and changes, made one number, by both."""
    args = next(differentiable_calls(program), None)
    versions = Versions(program, distinct=True)
    if args is None:
        pytest.skip("Python finds nothing to differentiate")
    version, hidden = versions.of(args)
    argnums = tuple(float_arguments(version))
    if not argnums or not differentiable_results(version):
        pytest.skip("it has no float inputs or results")
    first, second = duplicate(args), duplicate(args)
    graph = Projected(version, differentiable_results(version)).projected()
    whole = Program({**version.program.graphs, "projected": graph}, "projected")  # it may call its original
    try:
        got = gradient_by_tape(whole, leaves_of(first, hidden), float_leaves(version, argnums))
    except sg.errors.DerivativeError as error:
        assert LISTS in str(error) or DRAWS in str(error)
        return
    want = interpret(derived(version, argnums).program, leaves_of(second, hidden))
    for x, y in zip(got, want, strict=True):
        known = ~np.isnan(x)  # a tape multiplies infinite derivatives of what is not used by 0, too
        close = 1e-7 if np.asarray(x).dtype.itemsize > 4 else 1e-5  # what is added up in another order
        np.testing.assert_allclose(np.asarray(x)[known], np.asarray(y)[known], rtol=close, atol=1e-9)


def test_infinite_derivatives_of_what_is_not_used() -> None:
    """A plain tape has none for them; the derivative that is compiled has, see `srcgraph.opt.ad.unused`."""

    def masked(x: np.ndarray) -> float:
        y = 1.0 / x
        y[0] = 0.0
        return np.sum(y)

    x = np.array([0.0, 2.0])
    version, hidden = Versions(masked).of((x,))
    (by_tape,) = gradient_by_tape(version.program, leaves_of((x,), hidden), [0])
    assert np.isnan(by_tape[0]) and by_tape[1] == -0.25
    np.testing.assert_array_equal(sg.grad(masked)(x), [0.0, -0.25])


def test_lists_are_refused() -> None:
    def squares(x: np.ndarray) -> float:
        found = []
        for item in x:
            if item > 0.5:
                found.append(item * item)
        total = 0.0
        for item in found:
            total += item
        return total

    graph = sg.compile(squares).graph(np.ones(3))
    with pytest.raises(sg.errors.DerivativeError, match=LISTS):
        gradient_by_tape(Program({graph.name: graph}, graph.name), [np.ones(3)], [0])


def test_draws_are_refused() -> None:
    """Going back would draw again."""

    def drawn(rng: np.random.Generator, a: float) -> float:
        return rng.weibull(a)

    args = (np.random.default_rng(1), 2.0)
    version, hidden = Versions(drawn, distinct=True).of(args)
    with pytest.raises(sg.errors.DerivativeError, match=DRAWS):
        gradient_by_tape(version.program, leaves_of(args, hidden), [1])
