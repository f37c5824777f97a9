"""What every op and every function users call is put through, on the samples in its record.

Values against the record's own NumPy meaning, on each engine; jvp against differences; vjp as the
transpose of jvp; the gradient of users' functions against differences.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import derivative
from plainly import natively, plain_text

import srcgraph  # noqa: F401  (fills the tables)
from srcgraph.codegen.cpu import generate
from srcgraph.codegen.storage import Interface
from srcgraph.ir.builder import Builder
from srcgraph.ir.dims import as_dim
from srcgraph.ir.graph import Graph, Value
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import OPS, Composite, Op, Sample, building
from srcgraph.ir.ops.shape import zeros_of
from srcgraph.ir.parser import parse_graph
from srcgraph.ir.printer import format_graph
from srcgraph.ir.types import ArrayType, Type, is_float, is_inexact, parse_type
from srcgraph.ir.verify import verify
from srcgraph.ir.walk import same_graph
from srcgraph.opt.ad.vjp import gradient
from srcgraph.opt.marks import unmarked
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import DERIVED, PRIMAL
from srcgraph.runtime.load import load


def type_of(text: str) -> Type:
    return parse_type(ast.parse(text, mode="eval").body)


def is_type(x: Any) -> bool:
    return isinstance(x, str) and re.match(r"([fiubc]\d+(\[|$)|float$|int$|bool$|complex$)", x) is not None


def draw(type: Type, domain: tuple[float, float], seed: int) -> Any:
    """What is drawn for an operand; lengths that its type does not say are 3."""
    rng = np.random.default_rng(seed)
    shape = tuple(3 if d.const is None else d.const for d in type.shape)
    low, high = domain
    if type.dtype.kind in "iu":
        x = rng.integers(int(low), max(int(high), int(low) + 1), shape)
    elif type.dtype.kind == "b":
        x = rng.uniform(size=shape) < 0.5
    else:
        x = rng.uniform(low, high, shape)
    x = np.asarray(x).astype(type.dtype)
    if isinstance(type, ArrayType):
        return x
    return x.item() if type.weak else type.dtype.type(x)


class Case:
    """A record applied to a sample: the graph, and inputs for its parameters."""

    def __init__(self, record: Op | Composite, s: Sample):
        self.record, self.sample = record, s
        self.builder = Builder(record.name)
        self.inputs: list[Any] = []
        self.params: list[Value] = []
        with building(self.builder):
            args = [self.argument(a) for a in s.args]
            attrs = {k: self.argument(v) for k, v in s.attrs.items()} if isinstance(record, Composite) else s.attrs
            out = record(*args, **attrs)
        self.graph = self.builder.finish(list(out) if isinstance(out, tuple) else [out])

    def argument(self, a: Any) -> Any:
        if isinstance(a, tuple) and any(is_type(x) for x in a):
            return tuple(self.argument(x) for x in a)
        if is_type(a):
            type = type_of(a)
            return self.parameter(type, draw(type, self.sample.domain, len(self.params)))
        if isinstance(a, np.ndarray):
            return self.parameter(ArrayType(a.dtype, tuple(map(as_dim, a.shape))), a)
        return a

    def parameter(self, type: Type, value: Any) -> Value:
        self.inputs.append(value)
        self.params.append(self.builder.param(f"p{len(self.params)}", type))
        return self.params[-1]

    def numpy(self) -> Any:
        values = iter(self.inputs)

        def concrete(a: Any) -> Any:
            if isinstance(a, tuple) and any(is_type(x) for x in a):
                return tuple(concrete(x) for x in a)
            return next(values) if is_type(a) or isinstance(a, np.ndarray) else a

        args = [concrete(a) for a in self.sample.args]
        is_composite = isinstance(self.record, Composite)
        attrs = {k: concrete(v) if is_composite else v for k, v in self.sample.attrs.items()}
        with np.errstate(all="ignore"):
            return self.record.numpy(*args, **attrs)


def run_compiled(graph: Graph, inputs: list[Any]) -> list[Any]:
    generated = generate(unmarked(graph), Interface({}, list(range(len(graph.results)))), name="op")
    run, _ = load(generated.text.text, "op")
    out = run(*inputs)
    return list(out) if len(graph.results) > 1 else [out]


def run_plainly(graph: Graph, inputs: list[Any]) -> list[Any]:
    """Run the generated text as plain Python: each op in it is compiled by another test."""
    generated = generate(unmarked(graph), Interface({}, list(range(len(graph.results)))), name="op")
    out = plain_text(generated.text.text, "op")(*inputs)
    return list(out) if len(graph.results) > 1 else [out]


def assert_value(got: Any, want: Any, type: Type) -> None:
    want = np.asarray(want)
    assert want.dtype == type.dtype, f"the rule says {type.dtype}, NumPy gives {want.dtype}"
    assert np.shape(got) == want.shape
    loose = 2e-6 if type.dtype in (np.float32, np.complex64) else 1e-13
    np.testing.assert_allclose(np.asarray(got), want, rtol=loose, atol=loose)


def node_of(graph: Graph, record: Op) -> Any:
    """The node of the op, None where the sample simplifies to something else."""
    return next((n for n in graph.nodes if getattr(n, "op", None) is record), None)


def differentiable(record: Op | Composite, s: Sample) -> bool:
    """Whether a sample has a float to differentiate, and one to differentiate with respect to."""
    case = Case(record, s)
    if isinstance(record, Op):
        ruled = (callable(record.vjp) or callable(record.vjp_into)) and callable(record.jvp)
        if not ruled or node_of(case.graph, record) is None:
            return False
    return any(is_float(v.type) for v in case.params) and bool(float_results(case.graph))


def float_results(graph: Graph) -> list[int]:
    """The positions of the results that have derivatives."""
    return [k for k, v in enumerate(graph.results) if is_float(v.type) and _has_known_shape(v)]


def _has_known_shape(value: Value) -> bool:
    """Whether a cotangent can be drawn for a value: the lengths do not depend on what inputs hold."""
    return all(d.const is not None for d in getattr(value.type, "shape", ()))


def check_value(record: Op | Composite, s: Sample) -> None:
    """The type rule and every engine agree with NumPy; the text reads back."""
    case = Case(record, s)
    verify(case.graph)
    assert same_graph(parse_graph(format_graph(case.graph)), case.graph)
    wants = case.numpy()
    wants = wants if isinstance(wants, tuple) else [wants]
    graph = run_passes(case.graph, PRIMAL, check=True)
    run = run_compiled if natively(f"{record.name} {s}", 6) else run_plainly
    for got in (interpret(case.graph, case.inputs), interpret(graph, case.inputs), run(graph, case.inputs)):
        for g, want, out in zip(got, wants, case.graph.results, strict=True):
            assert_value(g, want, out.type)


def check_jvp(record: Op, s: Sample) -> None:
    """The tangent along a random direction agrees with differences."""
    case = Case(record, s)
    floats = [k for k, v in enumerate(case.params) if is_float(v.type)]
    directions = {k: draw(case.params[k].type, (-1.0, 1.0), 50 + k) for k in floats}
    tangents = interpret(jvp_graph(record, s), [*case.inputs, *directions.values()])
    single = any(v.type.dtype == np.float32 for v in (*case.params, *case.graph.results))
    places = [(k, index) for k in float_results(case.graph) for index in np.ndindex(np.shape(tangents[k]))]
    for k, index in places:

        def at(step: float, k: int = k, index: tuple[int, ...] = index) -> float:
            moved = [v + step * directions[j] if j in directions else v for j, v in enumerate(case.inputs)]
            conformed = [np.asarray(m).astype(p.type.dtype) if isinstance(p.type, ArrayType) else p.type.dtype.type(m)
                         for m, p in zip(moved, case.params, strict=True)]  # fmt: skip
            return np.asarray(interpret(case.graph, conformed)[k])[index]

        want, error = derivative(lambda h: at(np.real(h)), single)
        got = np.asarray(tangents[k])[index]
        room = 5e-3 * (1 + abs(want)) if single else error + 1e-7 * (1 + abs(want))
        assert abs(got - want) <= room, f"{got} for {want} within {error}"


def jvp_graph(record: Op, s: Sample, moves: Callable[[Type], bool] = is_float) -> Graph:
    """The graph of the tangents: parameters, then one direction per parameter of a type that moves."""
    case = Case(record, s)
    b = case.builder
    tangents: dict[Value, Value] = {}
    for p in case.params:
        if moves(p.type):
            tangents[p] = b.param(f"t_{p.name}", p.type)
    with building(b):
        node = node_of(case.graph, record)
        moved = [through(b, v, tangents) for v in node.inputs]
        one = len(node.outputs) == 1
        found = record.jvp(moved, node.outputs[0] if one else node.outputs, *node.inputs, **node.attrs)
        outs = zip(node.outputs, [found] if one else found, strict=True)
        return b.finish([zeros_of(v) if t is None else t for v, t in outs])


def through(b: Builder, value: Value, tangents: dict[Value, Value]) -> Value | None:
    """The tangent of an operand: a parameter's, or that of a converted or stretched one."""
    if value in tangents:
        return tangents[value]
    node = b.definition(value)
    if node is not None and node.op.name in ("cast", "broadcast_to", "with_shape") and is_inexact(value.type):
        inner = through(b, node.inputs[0], tangents)
        return None if inner is None else node.op(inner, *node.inputs[1:], **node.attrs)
    return None


def check_transpose(record: Op, s: Sample) -> None:
    """``<ct, jvp(t)> == <vjp(ct), t>`` to rounding."""
    case = Case(record, s)
    results = case.graph.results
    floats = [k for k, v in enumerate(case.params) if is_float(v.type)]
    cts = weights(case)
    weighted = weighted_graph(record, s)
    derived = gradient(weighted, 0, floats)
    verify(derived.graph)
    graph = run_passes(derived.graph, DERIVED, check=True)
    inputs = [*case.inputs, *cts.values()]
    cotangents = interpret(graph, inputs)
    compiled = run_plainly(graph, inputs)
    directions = [draw(case.params[k].type, (-1.0, 1.0), 50 + k) for k in floats]
    tangents = interpret(jvp_graph(record, s), [*case.inputs, *directions])
    left = sum(np.sum(np.asarray(ct, float) * np.asarray(tangents[k], float)) for k, ct in cts.items())
    single = any(v.type.dtype == np.float32 for v in (*case.params, *results))
    for found in (cotangents, compiled):
        right = sum(np.sum(np.asarray(c, float) * np.asarray(d, float)) for c, d in zip(found, directions, strict=True))
        np.testing.assert_allclose(left, right, rtol=2e-5 if single else 1e-12, atol=1e-5 if single else 1e-12)
        for c, k in zip(found, floats, strict=True):
            assert np.shape(c) == np.shape(case.inputs[k])


def weighted_graph(record: Op | Composite, s: Sample) -> Graph:
    """The sum of ``ct * result`` over all float results, with the weights as last parameters."""
    case = Case(record, s)
    b = case.builder
    total: Any = 0.0
    for k in float_results(case.graph):
        out = case.graph.results[k]
        ct = b.param(f"ct{k}", result_type(case, k))
        with building(b):
            value = OPS["mul"](out, ct)
            if value.type.ndim:
                value = OPS["sum"](value, axes=tuple(range(value.type.ndim)))
            total = OPS["add"](total, value) if isinstance(total, Value) else value
    return b.finish([total])


def weights(case: Case) -> dict[int, Any]:
    """A cotangent for every float result, by position."""
    types = {k: result_type(case, k) for k in float_results(case.graph)}
    return {k: draw(type, (-1.0, 1.0), 90 + k) for k, type in types.items()}


def result_type(case: Case, k: int) -> Type:
    """The type of a result; lengths known only at run time are those of the sample."""
    type = case.graph.results[k].type
    if not isinstance(type, ArrayType) or all(d.const is not None for d in type.shape):
        return type
    return ArrayType(type.dtype, tuple(map(as_dim, interpret(case.graph, case.inputs)[k].shape)))


def check_composite_gradient(record: Composite, s: Sample) -> None:
    """The gradient of users' functions agrees with differences."""
    case = Case(record, s)
    floats = [k for k, v in enumerate(case.params) if is_float(v.type)]
    cts = weights(case)
    graph = run_passes(gradient(weighted_graph(record, s), 0, floats).graph, DERIVED, check=True)
    run = run_compiled if natively(f"{record.name} {s}") else run_plainly
    found = run(graph, [*case.inputs, *cts.values()])
    single = any(v.type.dtype == np.float32 for v in (*case.params, *case.graph.results))
    for c, k in zip(found, floats, strict=True):
        for index in np.ndindex(np.shape(case.inputs[k])):

            def at(step: complex, k: int = k, index: tuple[int, ...] = index) -> float:
                moved = [np.array(v, copy=True) if isinstance(v, np.ndarray) else v for v in case.inputs]
                if isinstance(moved[k], np.ndarray):
                    moved[k][index] += np.real(step)
                else:
                    moved[k] = case.params[k].type.dtype.type(moved[k] + np.real(step))
                    if getattr(case.params[k].type, "weak", False):
                        moved[k] = moved[k].item()
                outs = interpret(case.graph, moved)
                return sum(float(np.sum(np.asarray(outs[r], float) * np.asarray(ct, float))) for r, ct in cts.items())

            want, error = derivative(at, single)
            room = 5e-3 * (1 + abs(want)) if single else error + 1e-7 * (1 + abs(want))
            assert abs(np.asarray(c)[index] - want) <= room, f"{np.asarray(c)[index]} for {want} within {error}"
