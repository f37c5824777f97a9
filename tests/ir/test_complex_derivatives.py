"""Ops that derivatives pass through with complex operands: every sample of such an op again, of complex numbers.

The tangent agrees with differences, and the rule backwards is its transpose: ``Re(conj(ct) jvp(t))`` is
``Re(conj(vjp(ct)) t)``, see `srcgraph.ir.ops.complex`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from op_checks import Case, draw, jvp_graph, node_of

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Graph
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import OPS, Op, Sample, building, sample
from srcgraph.ir.types import is_complex, is_inexact
from srcgraph.opt.ad.vjp import gradient


def of_complex(s: Sample) -> Sample:
    """A sample with complex numbers for its floats."""
    return replace(s, args=tuple(a.replace("f64", "c128") if isinstance(a, str) else a for a in s.args))


def suits(op: Op, s: Sample) -> bool:
    """Whether an op takes a sample, in double precision and with a complex number in it."""
    try:
        case = Case(op, s)
    except (InferenceError, KeyError):  # takes real numbers only
        return False
    types = [v.type for v in (*case.params, *case.graph.results)]
    single = any(t.dtype.char in "fF" for t in types)
    return not single and any(map(is_complex, types)) and node_of(case.graph, op) is not None


def cases() -> list[Any]:
    """Every sample once; `rfft` takes real numbers, and `cast` is tried to complex numbers."""
    found = []
    for op in OPS.values():
        samples = [*op.samples, *map(of_complex, op.samples)] if op.through_complex else []
        if op is OPS["cast"]:
            samples = [sample(x, dtype=np.dtype(complex), weak=False) for x in ("f64[3]", "c128[3]")]
        suiting = {str(s): s for s in samples if suits(op, s)}
        found += [pytest.param(op, s, id=f"{op.name}-{k}") for k, s in enumerate(suiting.values())]
    return found


def random(type: Any, seed: int) -> Any:
    """A value of a type, its imaginary part not 0."""
    x = draw(type, (-1.0, 1.0), seed)
    if not is_complex(type):
        return x
    with_imaginary = x + 1j * np.asarray(draw(type, (-1.0, 1.0), seed + 1)).real
    return with_imaginary.astype(type.dtype) if type.ndim else type.dtype.type(with_imaginary)


def inner(x: Any, y: Any) -> float:
    return float(np.sum(np.real(np.conj(x) * y)))


def transposed(op: Op, s: Sample, at: list[int]) -> Graph:
    """The gradient of ``Re(conj(ct) * out)``, summed, with respect to the parameters ``at``."""
    case = Case(op, s)
    b, out = case.builder, case.graph.results[0]
    ct = b.param("ct", out.type)
    with building(b):
        total = OPS["real"](OPS["mul"](out, OPS["conjugate"](ct) if is_complex(ct.type) else ct))
        total = OPS["sum"](total, axes=tuple(range(total.type.ndim))) if total.type.ndim else total
    return gradient(b.finish([total]), 0, at).graph


@pytest.mark.parametrize(("op", "s"), cases())
def test_through_complex_numbers(op: Op, s: Sample) -> None:
    case = Case(op, s)
    at = [k for k, v in enumerate(case.params) if is_inexact(v.type)]
    inputs = [
        random(v.type, 10 * k) if k in at else x for k, (v, x) in enumerate(zip(case.params, case.inputs, strict=True))
    ]
    directions = [random(case.params[k].type, 70 + 10 * k) for k in at]
    tangent = interpret(jvp_graph(op, s, is_inexact), [*inputs, *directions])[0]

    def moved(step: float) -> Any:
        by = dict(zip(at, directions, strict=True))
        return interpret(case.graph, [x + step * by[k] if k in by else x for k, x in enumerate(inputs)])[0]

    np.testing.assert_allclose(tangent, (moved(1e-5) - moved(-1e-5)) / 2e-5, rtol=1e-7, atol=1e-8)
    ct = random(case.graph.results[0].type, 500)
    cotangents = interpret(transposed(op, s, at), [*inputs, ct])
    back = sum(inner(c, d) for c, d in zip(cotangents, directions, strict=True))
    np.testing.assert_allclose(back, inner(ct, tangent), rtol=1e-12, atol=1e-12)


def test_all_have_samples() -> None:
    """Every op that says so is among the cases; lists, and `lu_solve` through the matrix, are in the corpus.

    ``stands_for`` has the derivative of something else: see `test_selected`.
    """
    holding = {op.name for op in OPS.values() if op.through_complex and not op.unread and op.kind != "list"}
    assert holding - {"list_array", "stands_for"} == {c.values[0].name for c in cases()}
