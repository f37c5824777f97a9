"""Tests generated from the records: every op and every function users call, see `op_checks`."""

from __future__ import annotations

import pytest
from op_checks import check_composite_gradient, check_jvp, check_transpose, check_value, differentiable

from srcgraph import ifelse
from srcgraph.errors import DerivativeError
from srcgraph.frontend.resolve import record_of
from srcgraph.ir import graph_of, scalar
from srcgraph.ir.op import COMPOSITES, OPS, ZERO, Composite, NoDerivative, Op, Sample
from srcgraph.ir.types import PY_BOOL
from srcgraph.opt.ad.jvp import pushforward
from srcgraph.runtime.symbolic import gradients

CASES = [
    pytest.param(record, s, id=f"{record.name}-{k}")
    for table in (OPS, COMPOSITES)
    for record in table.values()
    for k, s in enumerate(record.samples)
]
SMOOTH = [c for c in CASES if differentiable(*c.values)]
DERIVATIVES = [c for c in SMOOTH if isinstance(c.values[0], Op)]
COMPOSITE_CASES = [c for c in SMOOTH if isinstance(c.values[0], Composite)]


@pytest.mark.parametrize(("record", "s"), CASES)
def test_value(record: Op | Composite, s: Sample) -> None:
    check_value(record, s)


@pytest.mark.parametrize(("record", "s"), DERIVATIVES)
def test_jvp_is_the_derivative(record: Op, s: Sample) -> None:
    check_jvp(record, s)


@pytest.mark.parametrize(("record", "s"), DERIVATIVES)
def test_vjp_is_the_transpose_of_jvp(record: Op, s: Sample) -> None:
    check_transpose(record, s)


@pytest.mark.parametrize(("record", "s"), COMPOSITE_CASES)
def test_gradient_of_function(record: Composite, s: Sample) -> None:
    check_composite_gradient(record, s)


def test_every_function_has_a_record() -> None:
    """At least a hundred NumPy and math names, each found by the object users call."""
    names = {f for table in (OPS, COMPOSITES) for r in table.values() for f in r.python}
    assert len(names) >= 100
    for f in names:
        assert record_of(f) is not None


def test_a_derivative_is_zero_only_where_a_record_says_so() -> None:
    """An op of floats that says nothing of its derivative has none; one that makes no floats needs to say nothing."""
    cube = Op(name="cube", doc="x**3", infer=lambda x: x, numpy=lambda x: x**3)
    above = Op(name="above", doc="x > 1", infer=lambda x: PY_BOOL, numpy=lambda x: bool(x > 1))
    x = scalar("x", weak=True)
    for made in (lambda: gradients(cube(x), [x]), lambda: pushforward(graph_of([x], [cube(x)]), {0: 0}, [0])):
        with pytest.raises(DerivativeError, match="cube: its record says nothing of its derivative"):
            made()
    chosen = ifelse(above(x), x * x, x)
    assert len(gradients(chosen, [x])) == 1
    pushforward(graph_of([x], [chosen, above(x)]), {0: 0}, [0])
    assert OPS["floor"].jvp is ZERO


def test_no_derivative_says_why() -> None:
    """A rule that refuses gives its reason, unless the derivative is zero."""
    for op in OPS.values():
        if isinstance(op.vjp, NoDerivative) and op.vjp.why:
            assert len(op.vjp.why) > 10, op.name
