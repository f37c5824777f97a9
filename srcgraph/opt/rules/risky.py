"""What is right of real numbers, and not always of infinities, NaN and rounding: off unless asked for.

``mode=sg.opt.FAST_RUN.including("unsafe")`` asks for all of them, ``.including("mul_div")`` for one.
"""

from __future__ import annotations

import numpy as np

from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import number_of, op
from srcgraph.opt.rules.rule import Rule, pattern

POSITIVE = (0.5, 2.0)
KINDS = [("f64", "f64"), ("f64[4]", "f64[4]")]


def _numbers(fgraph: FunctionGraph, c: Value, d: Value, **others: Value) -> bool:
    return number_of(fgraph, c) is not None and number_of(fgraph, d) is not None


def _one(fgraph: FunctionGraph, c: Value, **others: Value) -> bool:
    return c.type.ndim == 0


CANONICAL: tuple[Rule, ...] = (
    pattern("sub_of_one", lambda x: x - x, lambda x: 0.0, "unsafe", "nan_unsafe", types=[("f64",)]),
    pattern("div_of_one", lambda x: x / x, lambda x: 1.0, "unsafe", "nan_unsafe", types=[("f64",)], domain=POSITIVE),
    pattern("mul_zero", lambda x: x * 0.0, lambda x: 0.0, "unsafe", "nan_unsafe", types=[("f64",), ("f64[4]",)]),
    pattern("zero_div", lambda x: 0.0 / x, lambda x: 0.0, "unsafe", "nan_unsafe", types=[("f64",)], domain=POSITIVE),
    pattern("mul_div", lambda x, y: x * y / y, lambda x, y: x, "unsafe", "nan_unsafe", types=KINDS, domain=POSITIVE),
    pattern("div_mul", lambda x, y: x / y * y, lambda x, y: x, "unsafe", "nan_unsafe", types=KINDS, domain=POSITIVE),
    pattern("add_sub", lambda x, y: x + y - y, lambda x, y: x, "unsafe", "fast_math", types=KINDS),
    pattern("sub_add", lambda x, y: x - y + y, lambda x, y: x, "unsafe", "fast_math", types=KINDS),
    pattern(
        "reciprocal_twice",
        lambda x: 1.0 / (1.0 / x),
        lambda x: x,
        "unsafe",
        "fast_math",
        types=[("f64",)],
        domain=POSITIVE,
    ),
    pattern(
        "less_than_itself", lambda x: x < x, lambda x: False, "unsafe", "nan_unsafe", types=[("f64",)], any_dtype=True
    ),
    pattern(
        "equal_to_itself", lambda x: x == x, lambda x: True, "unsafe", "nan_unsafe", types=[("f64",)], any_dtype=True
    ),
    pattern(
        "add_numbers",
        lambda x, c, d: (x + c) + d,
        lambda x, c, d: x + (c + d),
        "unsafe",
        "fast_math",
        where=_numbers,
        types=[("f64",), ("f64[4]",)],
        example=lambda x: OPS["add"](OPS["add"](x, 0.1), 0.3),
        condition="c and d are literals",
    ),
    pattern(
        "mul_numbers",
        lambda x, c, d: (x * c) * d,
        lambda x, c, d: x * (c * d),
        "unsafe",
        "fast_math",
        where=_numbers,
        types=[("f64",), ("f64[4]",)],
        example=lambda x: OPS["mul"](OPS["mul"](x, 0.1), 0.3),
        condition="c and d are literals",
    ),
)

STABLE: tuple[Rule, ...] = (
    pattern(
        "sigmoid_of_logit",
        lambda x: op("expit")(op("logit")(x)),
        lambda x: x,
        "unsafe",
        "nan_unsafe",
        types=[("f64",)],
        domain=(0.1, 0.9),
    ),
    pattern(
        "log1p_of_reciprocal",
        lambda x: np.log1p(x) - np.log(x),
        lambda x: np.log1p(1.0 / x),
        "unsafe",
        "nan_unsafe",
        types=[("f64",)],
        domain=POSITIVE,
    ),
    pattern(
        "log_quotient",
        lambda x, y: np.log(x / y),
        lambda x, y: np.log(x) - np.log(y),
        "unsafe",
        "nan_unsafe",
        types=KINDS,
        domain=POSITIVE,
    ),
    pattern(
        "log_product",
        lambda x, y: np.log(x * y),
        lambda x, y: np.log(x) + np.log(y),
        "unsafe",
        "nan_unsafe",
        types=KINDS,
        domain=POSITIVE,
    ),
    pattern(
        "xlogy",
        lambda x, y: x * np.log(y),
        lambda x, y: op("xlogy")(x, y),
        "unsafe",
        "nan_unsafe",
        types=KINDS,
        domain=POSITIVE,
    ),
    pattern(
        "hypot",
        lambda x, y: np.sqrt(x * x + y * y),
        lambda x, y: np.hypot(x, y),
        "unsafe",
        "slow",
        types=KINDS,
    ),
    pattern(
        "hypot_of_powers",
        lambda x, y: np.sqrt(x**2 + y**2),
        lambda x, y: np.hypot(x, y),
        "unsafe",
        "slow",
        types=KINDS,
    ),
)

CHEAPER: tuple[Rule, ...] = (
    pattern(
        "common_factor",
        lambda x, y, z: x * y + x * z,
        lambda x, y, z: x * (y + z),
        "unsafe",
        "fast_math",
        types=[("f64",) * 3, ("f64[4]",) * 3],
        shared=False,
    ),
    pattern(
        "common_factor_of_difference",
        lambda x, y, z: x * y - x * z,
        lambda x, y, z: x * (y - z),
        "unsafe",
        "fast_math",
        types=[("f64",) * 3],
        shared=False,
    ),
    pattern(
        "common_divisor",
        lambda x, y, z: x / z + y / z,
        lambda x, y, z: (x + y) / z,
        "unsafe",
        "fast_math",
        types=[("f64",) * 3, ("f64[4]",) * 3],
        domain=POSITIVE,
        shared=False,
    ),
    pattern(
        "quotient_of_quotient",
        lambda x, y, z: x / y / z,
        lambda x, y, z: x / (y * z),
        "unsafe",
        "fast_math",
        types=[("f64",) * 3, ("f64[4]",) * 3],
        domain=POSITIVE,
        shared=False,
    ),
    pattern(
        "division_by_quotient",
        lambda x, y, z: x / (y / z),
        lambda x, y, z: x * z / y,
        "unsafe",
        "fast_math",
        types=[("f64",) * 3, ("f64[4]",) * 3],
        domain=POSITIVE,
        shared=False,
    ),
    pattern(
        "sum_of_multiple",
        lambda c, x: op("sum")(c * x),
        lambda c, x: c * op("sum")(x),
        "unsafe",
        "fast_math",
        where=_one,
        condition="c is a number",
        types=[("f64", "f64[4]"), ("f64", "f64[3, 4]")],
        example=lambda c, x: OPS["sum"](OPS["mul"](c, x), axes=(0,)),
        shared=False,
    ),
    pattern(
        "sum_of_quotient",
        lambda x, c: op("sum")(x / c),
        lambda x, c: op("sum")(x) / c,
        "unsafe",
        "fast_math",
        where=_one,
        condition="c is a number",
        types=[("f64[4]", "f64")],
        example=lambda x, c: OPS["sum"](OPS["div"](x, c), axes=(0,)),
        shared=False,
    ),
    pattern(
        "max_of_exp",
        lambda x: op("max")(np.exp(x)),
        lambda x: np.exp(op("max")(x)),
        "unsafe",
        "fast_math",
        types=[("f64[4]",), ("f64[3, 4]",)],
        example=lambda x: OPS["max"](OPS["exp"](x), axes=(0,)),
        shared=False,
    ),
)
