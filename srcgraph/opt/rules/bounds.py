"""Comparisons and checks that cannot fail, as ``x * x + 0.1 < 0``: floats that are nowhere below a literal, or above.

Rounding is monotone, so what holds of real numbers holds of floats; NaN is below nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS, current_builder
from srcgraph.ir.types import ScalarType, is_float
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import number_of
from srcgraph.opt.rules.rule import Rule, procedure

DEEP = 12
"""How many operations one after the other are looked at."""


def lowest(fgraph: FunctionGraph, value: Value, deep: int = DEEP) -> float:
    """A number that a float is nowhere below, unless it is NaN; minus infinity if there is none."""
    number = number_of(fgraph, value)
    if isinstance(number, float | np.floating):
        return float(number) if not np.isnan(number) else -np.inf
    node = fgraph.definition(value)
    if not deep or not isinstance(node, Apply) or not is_float(value.type):
        return -np.inf
    if node.op.name in ("absolute", "exp", "square") or (node.op.name == "ipow" and node.attrs["n"] % 2 == 0):
        return 0.0
    if node.op.name == "mul" and node.inputs[0] is node.inputs[1]:
        return 0.0
    found = _OF_OPERANDS.get(node.op.name)
    if found is None:
        return -np.inf
    with np.errstate(all="ignore"):
        least = found(*(lowest(fgraph, v, deep - 1) for v in node.inputs if is_float(v.type)))
    return -np.inf if np.isnan(least) else float(least)


def highest(fgraph: FunctionGraph, value: Value, deep: int = DEEP) -> float:
    """A number that a float is nowhere above, unless it is NaN; infinity if there is none."""
    number = number_of(fgraph, value)
    if isinstance(number, float | np.floating):
        return float(number) if not np.isnan(number) else np.inf
    node = fgraph.definition(value)
    if not deep or not isinstance(node, Apply) or not is_float(value.type):
        return np.inf
    match node.op.name, node.inputs:
        case "neg", (x,):
            return -lowest(fgraph, x, deep - 1)
        case ("mul" | "div") as name, (x, y):
            return 0.0 if _sign(fgraph, x, y, name, deep - 1) < 0 else np.inf
    return np.inf


def _sign(fgraph: FunctionGraph, x: Value, y: Value, name: str, deep: int) -> int:
    """1 if a product or quotient is nowhere below 0, -1 if it is nowhere above, 0 if that is not known."""
    signs = [_sign_of(fgraph, v, deep) for v in (x, y)]
    if signs[0] * signs[1] or name == "div":
        return signs[0] * signs[1]
    for a, b in ((x, y), (y, x)):
        node = fgraph.definition(a)
        if isinstance(node, Apply) and node.op.name == "neg" and node.inputs[0] is b:  # -x * x
            return -1
        if isinstance(node, Apply) and node.op.name == "mul" and b in node.inputs:  # c * x * x
            other = node.inputs[0] if node.inputs[1] is b else node.inputs[1]
            return _sign_of(fgraph, other, deep)
    return 0


def _sign_of(fgraph: FunctionGraph, value: Value, deep: int) -> int:
    return 1 if lowest(fgraph, value, deep) >= 0 else -1 if highest(fgraph, value, deep) <= 0 else 0


def _product(x: float, y: float) -> float:
    return x * y if x >= 0 and y >= 0 and np.isfinite(x * y) else -np.inf


_OF_OPERANDS: dict[str, Callable[..., float]] = {
    "add": lambda x, y: np.float64(x) + np.float64(y),
    "mul": _product,
    "div": lambda x, y: 0.0 if x >= 0 and y >= 0 else -np.inf,
    "sqrt": lambda x: np.sqrt(max(x, 0.0)),
    "maximum": max,
    "minimum": min,
    "where": min,
    "cast": lambda x=-np.inf: x,
}


_MADE_SO = {
    lowest: "x is made so that it is nowhere below or at c, as x * x + 1 is not below 0",
    highest: "x is made so that it is nowhere above c, as -x * x is not above 0",
}


def _never(name: str, fails: Callable[[float, float], bool], bound: Callable[..., float] = lowest) -> Rule:
    """A comparison with a literal that does not hold, by a bound of what is compared."""

    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        x, limit = node.inputs[0], number_of(fgraph, node.inputs[1])
        out = node.outputs[0].type
        if not isinstance(limit, float | np.floating) or not isinstance(out, ScalarType) or out.ndim:
            return None
        if not is_float(x.type) or not fails(bound(fgraph, x), float(limit)):
            return None
        return current_builder().const(False if out.weak else np.bool_(False))

    return procedure(
        f"{name}_never",
        f"{name}(x, c)",
        "False",
        "exact",
        [name],
        transform,
        lambda x: OPS[name](x * x + 0.25, 0.125) if bound is lowest else OPS[name](-(x * x), 0.125),
        [("f64",), ("float",), ("f32",)],
        condition=_MADE_SO[bound],
        any_dtype=True,
    )


def _nonzero(fgraph: FunctionGraph, node: Apply) -> Any:
    return node.inputs[0] if is_float(node.inputs[0].type) and lowest(fgraph, node.inputs[0]) > 0 else None


LARGEST = {4: 88.72283172607422, 8: 709.782712893384}
"""What exp is finite of, by the bytes of a float: the largest such float32 and float64."""


def _exp_is_finite(fgraph: FunctionGraph, node: Apply) -> Any:
    made = fgraph.definition(node.inputs[0])
    if not isinstance(made, Apply) or made.op.name != "exp" or not isinstance(made.outputs[0].type, ScalarType):
        return None
    x = made.inputs[0]
    if not is_float(x.type) or x.type.dtype.itemsize not in LARGEST:
        return None
    return OPS["greater"](x, x.type.dtype.type(LARGEST[x.type.dtype.itemsize]))


RULES: tuple[Rule, ...] = (
    _never("less", lambda least, limit: least >= limit),
    _never("less_equal", lambda least, limit: least > limit),
    _never("equal", lambda least, limit: least > limit),
    _never("unused", lambda least, limit: least > limit),
    _never("greater", lambda most, limit: most <= limit, highest),
    procedure(
        "nonzero_known",
        "check_nonzero(x)",
        "x",
        "exact",
        ["check_nonzero"],
        _nonzero,
        lambda x: OPS["check_nonzero"](x * x + 0.5, message="division by zero"),
        [("float",)],
        condition="x is made so that it is above 0",
        any_dtype=True,
    ),
    procedure(
        "exp_is_finite",
        "isinf(exp(x))",
        "x > 709.782712893384",
        "exact",
        ["isinf"],
        _exp_is_finite,
        lambda x: OPS["isinf"](OPS["exp"](x)),
        [("float",), ("f64",), ("f32",)],
        any_dtype=True,
    ),
)
