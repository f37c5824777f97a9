"""The tests bite: each defect planted here, of a kind that really happens, fails the check that should find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from harness import check_gradient, check_value
from op_checks import check_jvp, check_transpose
from op_checks import check_value as check_op_value
from programs import arrays, scalars

from srcgraph.codegen import expr
from srcgraph.errors import InternalError, SrcgraphError
from srcgraph.ir.graph import Apply, Graph, Value
from srcgraph.ir.op import COMPOSITES, OPS, Op
from srcgraph.ir.promote import Elementwise
from srcgraph.ir.types import FLOAT, PY_FLOAT
from srcgraph.opt import pipeline
from srcgraph.opt.ad import reverse, tape
from srcgraph.opt.passes import Pass
from srcgraph.runtime import specialization


@contextmanager
def planted(record: Any, **fields: Any) -> Iterator[None]:
    """A frozen record with some fields replaced for a while."""
    before = {name: getattr(record, name) for name in fields}
    try:
        for name, value in fields.items():
            object.__setattr__(record, name, value)
        yield
    finally:
        for name, value in before.items():
            object.__setattr__(record, name, value)


def fails(check: Callable, *args: Any, match: str | None = None) -> None:
    """Assert that a check fails as a check does, not by breaking down."""
    with pytest.raises(AssertionError, match=match) as caught:
        check(*args)
    assert not isinstance(caught.value, SrcgraphError)


def sine_program(x):
    return np.sum(np.sin(x) * x)


# -- records of ops --------------------------------------------------------------------------------

SIN: Op = OPS["sin"]
MUL: Op = OPS["mul"]
SAMPLE = SIN.samples[0]


def wrong_vjp(ct: Value, out: Value, x: Value) -> tuple[Value]:
    return (ct * OPS["sin"](x),)


def wrong_jvp(tangents: Any, out: Value, x: Value) -> Value:
    return tangents[0] * OPS["sin"](x)


def test_the_checks_pass_as_things_are() -> None:
    """Nothing below fails for another reason."""
    check_op_value(SIN, SAMPLE)
    check_jvp(SIN, SAMPLE)
    check_transpose(SIN, SAMPLE)
    check_gradient(scalars.triangular)
    check_gradient(sine_program)
    check_value(scalars.unbound_branch)
    check_value(scalars.division_by_zero)
    check_value(arrays.copy_store)
    check_value(negated)


def test_wrong_reverse_rule() -> None:
    """A wrong partial in the vjp alone: forward and reverse disagree, and so do differences."""
    with planted(SIN, vjp=wrong_vjp):
        fails(check_transpose, SIN, SAMPLE)
        fails(check_gradient, sine_program, match="differences give")
        check_jvp(SIN, SAMPLE)


def test_wrong_forward_rule() -> None:
    with planted(SIN, jvp=wrong_jvp):
        fails(check_jvp, SIN, SAMPLE)
        fails(check_transpose, SIN, SAMPLE)


def test_the_same_wrong_partial_in_both_rules() -> None:
    """Forward and reverse agree with each other; only differences tell."""
    with planted(SIN, jvp=wrong_jvp, vjp=wrong_vjp):
        check_transpose(SIN, SAMPLE)
        fails(check_jvp, SIN, SAMPLE)
        fails(check_gradient, sine_program, match="differences give")


def test_dropped_factor() -> None:
    """A rule that forgets one operand."""
    with planted(MUL, vjp=lambda ct, out, x, y: (ct * y, None)):
        fails(check_transpose, MUL, MUL.samples[0])
        fails(check_gradient, sine_program, match="differences give")


def test_wrong_type_rule() -> None:
    """A rule that promises another dtype than NumPy gives, and one that promises a Python number."""
    single = Elementwise(lambda types: ((FLOAT,), np.dtype(np.float32)))
    with planted(SIN, infer=single), pytest.raises(InternalError, match="expected f32"):
        check_op_value(SIN, SAMPLE)
    with planted(SIN, infer=lambda x: PY_FLOAT), pytest.raises(InternalError, match="expected float"):
        check_op_value(SIN, SAMPLE)


def test_wrong_shape_rule() -> None:
    """A rule that forgets an axis."""
    op = OPS["sum"]
    rule = op.infer
    sample = next(s for s in op.samples if "," in s.args[0])
    forgetful = planted(op, infer=lambda x, *, axes: rule(x, axes=axes[:1]) if len(axes) > 1 else x)
    with forgetful, pytest.raises(AssertionError):
        check_op_value(op, sample)


def test_wrong_text() -> None:
    """A target spells the op wrong: compiled differs from NumPy."""
    with planted(SIN, emit={"cpu": "np.cos(x)"}):
        expr_cache_clear()
        fails(check_op_value, SIN, SAMPLE)
    expr_cache_clear()
    check_op_value(SIN, SAMPLE)


def expr_cache_clear() -> None:
    """Scalar expressions are parsed once; parse again."""
    for found in vars(expr).values():
        if hasattr(found, "cache_clear"):
            found.cache_clear()


def test_wrong_expansion() -> None:
    """A function made of ops that computes something else."""
    mean = next(c for c in COMPOSITES.values() if np.mean in c.python)
    with planted(mean, expand=lambda a, axis=None, dtype=None, keepdims=False: OPS["sum"](a, axes=(0,))):
        fails(check_op_value, mean, mean.samples[0])


def test_check_that_never_raises() -> None:
    """A check that is simplified away: Python raises, the program goes on."""
    with planted(OPS["check_that"], simplify=lambda builder, inputs, attrs: inputs[0]):
        fails(check_value, scalars.unbound_branch, match="Python raises UnboundLocalError")
    with planted(OPS["check_nonzero"], simplify=lambda builder, inputs, attrs: inputs[0]):
        fails(check_value, scalars.division_by_zero, match="Python raises ZeroDivisionError")


# -- the derivative pass ---------------------------------------------------------------------------


def test_lost_contribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last contribution wins in place of the sum: a value used twice loses one."""

    def overwrite(self: reverse.Reverse, value: Value, ct: Value | None) -> None:
        if ct is not None and value in self.active:
            self.frames[-1][value] = self.fitted(ct, value)

    monkeypatch.setattr(reverse.Reverse, "accumulate", overwrite)
    fails(check_gradient, scalars.same_value_both_carry_and_capture, match="by tapes against by tangents")
    fails(check_gradient, sine_program, match="differences give")


def test_contribution_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    add = reverse.Reverse.add
    monkeypatch.setattr(reverse.Reverse, "add", lambda self, running, ct: add(self, add(self, running, ct), ct))
    fails(check_gradient, scalars.same_value_both_carry_and_capture, match="by tapes against by tangents")


def test_stored_element_keeps_its_old_cotangent() -> None:
    """A store that does not clear the cotangent of what it overwrites."""
    op = OPS["setitem"]

    def kept(ct: Value, out: Value, x: Value, v: Value, *operands: Value, view: Any) -> tuple:
        return (ct, OPS["getitem"](ct, *operands, view=view), *(None for _ in operands))

    with planted(op, vjp=kept):
        fails(check_gradient, arrays.swap_elements, match="differences give")
        fails(check_transpose, op, op.samples[0])


def test_tape_that_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forward sweep that forgets to save: the reverse sweep finds nothing, or something else."""
    monkeypatch.setattr(tape.Assemble, "save", lambda self, old: None)
    with pytest.raises(Exception):  # noqa: B017  (pops from an empty list, or reads a block that nothing wrote)
        check_gradient(scalars.logistic_map)


def test_tape_read_one_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a block one place too low: the first trip gets the last one's value."""
    load = tape.Assemble.load
    slots = tape.Assemble.slots

    def shifted(self: Any, saved: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tape.Assemble, "slots", lambda work, t: tuple(OPS["sub"](k, 1) for k in slots(work, t)))
            load(self, saved)

    monkeypatch.setattr(tape.Assemble, "load", shifted)
    fails(check_gradient, scalars.logistic_map, match="by tapes against by tangents")


def test_reverse_loop_in_forward_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trips replayed in the order they were made."""

    def same_order(self: reverse.Reverse, node: Any) -> tuple[Value, Value, Value]:
        return node.start, node.stop, node.step

    monkeypatch.setattr(reverse.Reverse, "reversed_bounds", same_order)
    with pytest.raises(Exception):  # noqa: B017
        check_gradient(scalars.step_three)
    with pytest.raises(Exception):  # noqa: B017
        check_gradient(arrays.scan_with_state)


# -- passes ----------------------------------------------------------------------------------------


def negated(x):
    return -x


def without(name: str) -> Callable[[Graph], Graph]:
    """A pass that drops every node of one op and reads its first operand instead."""

    def run(graph: Graph) -> Graph:
        env: dict[Value, Value] = {}
        nodes = []
        for node in graph.nodes:
            if isinstance(node, Apply):
                node = replace(node, inputs=tuple(env.get(v, v) for v in node.inputs))
                if node.op.name == name:
                    env[node.outputs[0]] = node.inputs[0]
                    continue
            for field in ("then", "orelse", "cond", "body"):
                if isinstance(getattr(node, field, None), Graph):
                    node = replace(node, **{field: run(getattr(node, field))})
            nodes.append(node)
        return replace(graph, nodes=tuple(nodes), results=tuple(env.get(v, v) for v in graph.results))

    return run


@pytest.mark.parametrize(
    ("name", "program"),
    [("setitem", arrays.copy_store), ("neg", negated)],
    ids=["store", "sign"],
)
def test_pass_that_drops_something(name: str, program: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled program differs from Python."""
    monkeypatch.setattr(specialization, "PRIMAL", (*pipeline.PRIMAL, Pass("broken", without(name))))
    fails(check_value, program, match="compiled")
