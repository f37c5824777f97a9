"""What is simpler of numbers of which facts are known: that they are finite, positive, or not negative.

The facts are those that users promise by `srcgraph.assume`, and those that follow from how numbers are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.ir.assumptions import facts_of
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import number_of
from srcgraph.opt.rules.rule import Rule, pattern, procedure

POSITIVE = (0.5, 2.0)
KINDS = [("f64",), ("f64[4]",), ("f32[4]",)]
assumed = OPS["assumed"]


def has(*facts: str) -> Any:
    """Whether facts are known of ``x``."""
    return lambda fgraph, x, **others: set(facts) <= facts_of(fgraph.definition, x)


def _promised(build: Any, *facts: str) -> Any:
    return lambda x: build(assumed(x, facts=facts))


def _log_of_product(fgraph: FunctionGraph, node: Apply) -> Any:
    made = fgraph.definition(node.inputs[0], "prod")
    if made is None or "positive" not in facts_of(fgraph.definition, made.inputs[0]):
        return None
    return OPS["sum"](OPS["log"](made.inputs[0]), axes=made.attrs["axes"])


def _log_of_power(fgraph: FunctionGraph, node: Apply) -> Any:
    made = fgraph.definition(node.inputs[0])
    if made is None or made.op.name not in ("power", "ipow"):
        return None
    x = made.inputs[0]
    n = made.attrs["n"] if made.op.name == "ipow" else number_of(fgraph, made.inputs[1])
    if n is None or isinstance(n, complex) or "positive" not in facts_of(fgraph.definition, x):
        return None
    return OPS["mul"](float(n), OPS["log"](x))


def _number(number: float, *facts: str) -> Any:
    """A number takes the place of ``x`` combined with itself, or with 0, if these facts are known of it."""

    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        x, y = node.inputs
        fits = number_of(fgraph, y) == 0 if node.op.name == "mul" else x is y
        if not fits or not set(facts) <= facts_of(fgraph.definition, x):
            return None
        return node.outputs[0].type.dtype.type(number)

    return transform


def _where_not_negative(fgraph: FunctionGraph, node: Apply) -> Any:
    test, x, other = node.inputs
    made, number = fgraph.definition(test, "greater_equal"), number_of(fgraph, other)
    if made is None or made.inputs[0] is not x or number_of(fgraph, made.inputs[1]) != 0 or number == number:
        return None
    return x if "nonnegative" in facts_of(fgraph.definition, x) else None


def _at_least_0(x: Value) -> Value:
    return OPS["greater_equal"](x, x.type.dtype.type(0))


def _sum(x: Value) -> Value:
    return OPS["log"](OPS["prod"](x, axes=(0,)))


CANONICAL: tuple[Rule, ...] = (
    procedure(
        "sub_of_finite",
        "x - x",
        "0",
        "exact",
        ["sub"],
        _number(0, "finite"),
        _promised(lambda x: OPS["sub"](x, x), "finite"),
        KINDS,
        "facts",
        condition="x is finite",
        domain=POSITIVE,
    ),
    procedure(
        "zero_times_finite",
        "x * 0",
        "0",
        "exact",
        ["mul"],
        _number(0, "finite", "nonnegative"),
        _promised(lambda x: OPS["mul"](x, x.type.dtype.type(0)), "finite", "nonnegative"),
        KINDS,
        "facts",
        condition="x is finite and not negative",
        domain=POSITIVE,
    ),
    procedure(
        "div_of_positive",
        "x / x",
        "1",
        "exact",
        ["div"],
        _number(1, "positive", "finite"),
        _promised(lambda x: OPS["div"](x, x), "positive", "finite"),
        KINDS,
        "facts",
        condition="x is positive and finite",
        domain=POSITIVE,
    ),
    pattern(
        "absolute_of_nonnegative",
        lambda x: abs(x),
        lambda x: x,
        "exact",
        "facts",
        where=has("nonnegative"),
        condition="x is not negative",
        types=KINDS,
        domain=POSITIVE,
        example=_promised(OPS["absolute"], "nonnegative"),
    ),
    pattern(
        "maximum_of_nonnegative",
        lambda x: np.maximum(x, 0.0),
        lambda x: x,
        "exact",
        "facts",
        where=has("nonnegative"),
        condition="x is not negative",
        types=KINDS,
        domain=POSITIVE,
        example=_promised(lambda x: OPS["maximum"](x, x.type.dtype.type(0)), "nonnegative"),
    ),
)

STABLE: tuple[Rule, ...] = (
    procedure(
        "where_not_negative",
        "where(x >= 0, x, nan)",
        "x",
        "exact",
        ["where"],
        _where_not_negative,
        _promised(lambda x: OPS["where"](_at_least_0(x), x, x.type.dtype.type(np.nan)), "nonnegative"),
        KINDS,
        "facts",
        condition="x is not negative",
        domain=POSITIVE,
    ),
    procedure(
        "log_of_product",
        "log(prod(x))",
        "sum(log(x))",
        "stability",
        ["log"],
        _log_of_product,
        _promised(_sum, "positive"),
        [("f64[4]",), ("f32[4]",)],
        "facts",
        condition="x is positive",
        domain=POSITIVE,
    ),
    procedure(
        "log_of_power",
        "log(x**n)",
        "n * log(x)",
        "stability",
        ["log"],
        _log_of_power,
        _promised(lambda x: OPS["log"](OPS["power"](x, x.type.dtype.type(3.5))), "positive"),
        KINDS,
        "facts",
        condition="x is positive, n is a literal",
        domain=POSITIVE,
    ),
)
