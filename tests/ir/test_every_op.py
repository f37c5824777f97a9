"""Tests generated from the records: every op and every function users call, see `op_checks`."""

from __future__ import annotations

import pytest
from op_checks import check_composite_gradient, check_jvp, check_transpose, check_value, differentiable

import srcgraph  # noqa: F401  (fills the tables)
from srcgraph.frontend.resolve import record_of
from srcgraph.ir.op import COMPOSITES, OPS, Composite, NoDerivative, Op, Sample

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


def test_no_derivative_says_why() -> None:
    """A rule that refuses gives its reason, unless the derivative is zero."""
    for op in OPS.values():
        if isinstance(op.vjp, NoDerivative) and op.vjp.why:
            assert len(op.vjp.why) > 10, op.name
