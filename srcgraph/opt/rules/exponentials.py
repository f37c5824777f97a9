"""exp, log and what is made of them: without overflow, and without cancellation.

References
----------
N. J. Higham, "Accuracy and Stability of Numerical Algorithms", chapter 1, on cancellation.
M. Maechler, "Accurately computing log(1 - exp(-|a|))", 2012.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import number_of, op
from srcgraph.opt.rules.rule import Rule, pattern, procedure

log1mexp, where = op("log1mexp"), op("where")
POSITIVE = (0.1, 4.0)
FLOATS = [("f64",), ("f64[4]",), ("f32[4]",), ("float",)]


def _number_over_exp(fgraph: FunctionGraph, node: Apply) -> Any:
    c, y = node.inputs
    inner = fgraph.definition(y, "exp")
    if inner is None or number_of(fgraph, c) is None or fgraph.uses(y) > 1:
        return None
    return OPS["mul"](c, OPS["exp"](OPS["neg"](inner.inputs[0])))


def _log_base(base: float, name: str) -> Rule:
    """``log(x) / log(2)``: the divisor is a literal that is the logarithm of 2 to the last bit, or nearly."""

    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        x, y = node.inputs
        number, inner = number_of(fgraph, y), fgraph.definition(x, "log")
        if inner is None or not isinstance(number, float | np.floating):
            return None
        if abs(float(number) - math.log(base)) > 4 * np.finfo(type(number)).eps:
            return None
        return OPS[name](inner.inputs[0])

    def example(x: Value) -> Any:
        return OPS["div"](OPS["log"](x), math.log(base))

    return procedure(
        f"{name}_of_quotient",
        f"log(x) / log({base:.0f})",
        f"{name}(x)",
        "stability",
        ["div"],
        transform,
        example,
        [("f64",), ("f64[4]",), ("float",)],
        domain=POSITIVE,
    )


RULES: tuple[Rule, ...] = (
    # -- inverse functions
    pattern("log_exp", lambda x: np.log(np.exp(x)), lambda x: x, "stability"),
    pattern("exp_log", lambda x: np.exp(np.log(x)), lambda x: where(x >= 0.0, x, np.nan), "stability", domain=POSITIVE),
    pattern(
        "exp2_log2", lambda x: np.exp2(np.log2(x)), lambda x: where(x >= 0.0, x, np.nan), "stability", domain=POSITIVE
    ),
    pattern("log1p_expm1", lambda x: np.log1p(np.expm1(x)), lambda x: x, "stability"),
    pattern(
        "expm1_log1p",
        lambda x: np.expm1(np.log1p(x)),
        lambda x: where(x >= -1.0, x, np.nan),
        "stability",
        domain=POSITIVE,
    ),
    pattern("sqrt_square", lambda x: np.sqrt(x * x), lambda x: abs(x), "stability"),
    pattern("sqrt_power", lambda x: np.sqrt(x**2), lambda x: abs(x), "stability"),
    pattern(
        "square_sqrt",
        lambda x: np.sqrt(x) * np.sqrt(x),
        lambda x: where(x >= 0.0, x, np.nan),
        "stability",
        domain=POSITIVE,
    ),
    pattern(
        "power_sqrt", lambda x: np.sqrt(x) ** 2, lambda x: where(x >= 0.0, x, np.nan), "stability", domain=POSITIVE
    ),
    pattern(
        "log_sqrt", lambda x: np.log(np.sqrt(x)), lambda x: 0.5 * np.log(x), "rounding", domain=POSITIVE, shared=False
    ),
    # -- near 0
    pattern("log1p", lambda x: np.log(1.0 + x), lambda x: np.log1p(x), "stability", domain=POSITIVE),
    pattern("log1p_of_difference", lambda x: np.log(1.0 - x), lambda x: np.log1p(-x), "stability", domain=(-4.0, 0.9)),
    pattern("expm1", lambda x: np.exp(x) - 1.0, lambda x: np.expm1(x), "stability"),
    pattern("expm1_of_difference", lambda x: 1.0 - np.exp(x), lambda x: -np.expm1(x), "stability"),
    pattern("one_minus_cos", lambda x: 1.0 - np.cos(x), lambda x: 2.0 * np.sin(0.5 * x) ** 2, "stability"),
    pattern("cos_minus_one", lambda x: np.cos(x) - 1.0, lambda x: -2.0 * np.sin(0.5 * x) ** 2, "stability"),
    # -- logarithms of sums and differences of exponentials
    pattern("log1mexp", lambda x: np.log1p(-np.exp(x)), lambda x: log1mexp(x), "stability", domain=(-4.0, -0.1)),
    pattern(
        "log1mexp_of_expm1", lambda x: np.log(-np.expm1(x)), lambda x: log1mexp(x), "stability", domain=(-4.0, -0.1)
    ),
    pattern(
        "logaddexp",
        lambda x, y: np.log(np.exp(x) + np.exp(y)),
        lambda x, y: np.logaddexp(x, y),
        "stability",
        shared=False,  # Python's checks of a number read the sum, too
    ),
    pattern(
        "log_difference",
        lambda x, y: np.log(np.exp(x) - np.exp(y)),
        lambda x, y: x + log1mexp(where(y == -np.inf, y, y - x)),
        "stability",
        "domain",
        types=[("f64", "f64"), ("f64[4]", "f64[4]")],
    ),
    # -- products of exponentials
    pattern("exp_times_exp", lambda x, y: np.exp(x) * np.exp(y), lambda x, y: np.exp(x + y), "stability", shared=False),
    pattern("exp_over_exp", lambda x, y: np.exp(x) / np.exp(y), lambda x, y: np.exp(x - y), "stability", shared=False),
    procedure(
        "number_over_exp",
        "c / exp(x)",
        "c * exp(-x)",
        "stability",
        ["div"],
        _number_over_exp,
        lambda x: OPS["div"](3.0, OPS["exp"](x)),
        FLOATS,
        condition="c is a literal, exp(x) is read only here",
    ),
    # -- hyperbolic functions
    pattern(
        "tanh_of_exps", lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)), lambda x: np.tanh(x), "stability"
    ),
    pattern(
        "log_cosh",
        lambda x: np.log(np.cosh(x)),
        lambda x: np.logaddexp(x, -x) - math.log(2.0),
        "stability",
    ),
    pattern("tanh_of_quotient", lambda x: np.sinh(x) / np.cosh(x), lambda x: np.tanh(x), "stability", shared=False),
    # -- bases
    _log_base(2.0, "log2"),
    _log_base(10.0, "log10"),
)
