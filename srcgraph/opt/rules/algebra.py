"""Exact rules: signs, comparisons, conditions, extremes, powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS, current_builder
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import number_of, op
from srcgraph.opt.rules.rule import Rule, pattern, procedure

FLOATS = [("f64",), ("f64[4]",), ("f32[4]",), ("float",)]
PAIRS = [("f64", "f64"), ("f64[4]", "f64[4]"), ("f32[4]", "f32"), ("f64[3, 4]", "f64[4]"), ("float", "float")]
CONDITIONS = [("b1", "f64", "f64"), ("b1[4]", "f64[4]", "f64[4]"), ("bool", "float", "float")]


def negative(number: Any) -> bool:
    """Whether a number is a negative literal, not -0.0."""
    return isinstance(number, float | np.floating) and bool(number < 0)


def _negated(fgraph: FunctionGraph, value: Value) -> Value | None:
    number = number_of(fgraph, value)
    if not negative(number):
        return None
    return current_builder().const(-number)


def _add_negative(fgraph: FunctionGraph, node: Apply) -> Any:
    for x, y in (node.inputs, node.inputs[::-1]):
        positive = _negated(fgraph, y)
        if positive is not None:
            return OPS["sub"](x, positive)
    return None


def _sub_negative(fgraph: FunctionGraph, node: Apply) -> Any:
    x, y = node.inputs
    positive = _negated(fgraph, y)
    return None if positive is None else OPS["add"](x, positive)


def _div_of_negative(fgraph: FunctionGraph, node: Apply) -> Any:
    positive = _negated(fgraph, node.inputs[0])
    return None if positive is None else OPS["neg"](OPS["div"](positive, node.inputs[1]))


def _power_of_two(number: Any) -> bool:
    if not isinstance(number, float | np.floating) or not np.isfinite(number) or number == 0:
        return False
    return bool(abs(np.frexp(number)[0]) == 0.5 and 2.0**-100 < abs(number) < 2.0**100)


def _div_power_of_two(fgraph: FunctionGraph, node: Apply) -> Any:
    x, y = node.inputs
    number = number_of(fgraph, y)
    if not _power_of_two(number) or abs(number) == 1:
        return None
    return OPS["mul"](x, current_builder().const(type(number)(1 / number)))


def _even_power(fgraph: FunctionGraph, node: Apply, inner: str) -> Any:
    if node.attrs["n"] % 2:
        return None
    found = fgraph.definition(node.inputs[0], inner)
    return found and OPS["ipow"](found.inputs[0], n=node.attrs["n"])


def _two_numbers(name: str) -> Any:
    """``max(max(x, 1.0), 2.0)`` is ``max(x, 2.0)``."""

    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        for x, c in (node.inputs, node.inputs[::-1]):
            first, inner = number_of(fgraph, c), fgraph.definition(x, name)
            if first is None or inner is None or np.isnan(first):
                continue
            for y, d in (inner.inputs, inner.inputs[::-1]):
                second = number_of(fgraph, d)
                if second is not None and not np.isnan(second) and type(first) is type(second):
                    larger = (first >= second) == (name == "maximum")
                    return OPS[name](y, c if larger else d)
        return None

    return transform


def _idempotent(name: str) -> Rule:
    return pattern(f"{name}_of_itself", lambda x: op(name)(op(name)(x)), lambda x: op(name)(x), "exact", types=FLOATS)


def _even(name: str, domain: tuple[float, float] = (-2.0, 2.0)) -> Rule:
    return pattern(
        f"{name}_is_even", lambda x: op(name)(-x), lambda x: op(name)(x), "exact", types=FLOATS, domain=domain
    )


where = op("where")
_not = op("logical_not")

FOLDED = tuple(name for name, record in OPS.items() if record.simplify is not None or record.kind == "elementwise")


def _fold(fgraph: FunctionGraph, node: Apply) -> Any:
    """The node built anew: what the builder does with an op whose operands are literals, negations, and so on."""
    return current_builder().apply(node.op, node.inputs, dict(node.attrs))


_PARTS = "getitem", "with_shape", "broadcast_to", "reshape", "reshape_view"


def _number_in_place(fgraph: FunctionGraph, node: Apply) -> Any:
    """An operand whose elements are one number, beside one that has the result's shape, is that number.

    So is the result where all operands are numbers, or have one.
    """
    b, shape = current_builder(), node.outputs[0].type.shape
    found = [_number_everywhere(fgraph, v) if v.type.ndim else v for v in node.inputs]
    numbers = [
        n if n is None or not v.type.ndim else b.cast(n, v.type.dtype, weak=False)
        for n, v in zip(found, node.inputs, strict=True)
    ]
    known = tuple(n for n in numbers if n is not None)
    if len(known) == len(numbers) and shape:
        return OPS["full"](b.apply(node.op, known, dict(node.attrs)), *map(b.dim_value, shape))
    for k, (number, value) in enumerate(zip(numbers, node.inputs, strict=True)):
        others = node.inputs[:k] + node.inputs[k + 1 :]
        if number is not None and value.type.ndim and any(x.type.shape == shape for x in others):
            return b.apply(node.op, (*node.inputs[:k], number, *others[k:]), dict(node.attrs))
    return None


def _number_everywhere(fgraph: FunctionGraph, array: Value) -> Value | None:
    """The number that all elements of an array are, which may be a part of another one."""
    while (node := fgraph.definition(array)) is not None and node.op.name in _PARTS:
        array = node.inputs[0]
    made = fgraph.definition(array, "full")
    return None if made is None else made.inputs[0]


RULES: tuple[Rule, ...] = (
    procedure(
        "number_in_place_of_array",
        "op(x, full(c))",
        "op(x, c)",
        "exact",
        ["add", "sub", "mul", "div", "maximum", "minimum"],
        _number_in_place,
        lambda x: OPS["mul"](x, OPS["full"](np.float64(3.0), 4)),
        [("f64[4]",)],
        condition="x has the shape of the result",
    ),
    procedure(
        "fold",
        "op(...)",
        "what the builder makes of it",
        "exact",
        FOLDED,
        _fold,
        lambda x: OPS["neg"](OPS["neg"](x)),
        [],
        condition="an operand has changed",
        changed=True,
        any_dtype=True,
    ),
    # -- signs
    procedure(
        "add_negative_number",
        "x + (-c)",
        "x - c",
        "exact",
        ["add"],
        _add_negative,
        lambda x: OPS["add"](x, -1.5),
        FLOATS,
        condition="c is a literal",
    ),
    procedure(
        "sub_negative_number",
        "x - (-c)",
        "x + c",
        "exact",
        ["sub"],
        _sub_negative,
        lambda x: OPS["sub"](x, -1.5),
        FLOATS,
        condition="c is a literal",
    ),
    procedure(
        "negative_number_div",
        "(-c) / x",
        "-(c / x)",
        "exact",
        ["div"],
        _div_of_negative,
        lambda x: OPS["div"](-1.5, x),
        FLOATS,
        condition="c is a literal",
        domain=(0.5, 2.0),
    ),
    pattern("div_minus_one", lambda x: x / -1.0, lambda x: -x, "exact", types=FLOATS),
    procedure(
        "div_power_of_two",
        "x / c",
        "x * (1/c)",
        "exact",
        ["div"],
        _div_power_of_two,
        lambda x: OPS["div"](x, 8.0),
        FLOATS,
        condition="c is a literal, a power of two",
    ),
    pattern("absolute_neg", lambda x: abs(-x), lambda x: abs(x), "exact", types=FLOATS),
    pattern("absolute_absolute", lambda x: abs(abs(x)), lambda x: abs(x), "exact", types=FLOATS, any_dtype=True),
    pattern("absolute_square", lambda x: abs(x * x), lambda x: x * x, "exact", types=FLOATS),
    pattern(
        "absolute_product", lambda x, y: abs(x) * abs(y), lambda x, y: abs(x * y), "exact", types=PAIRS, shared=False
    ),
    procedure(
        "even_power_neg",
        "(-x)**n",
        "x**n",
        "exact",
        ["ipow"],
        lambda g, n: _even_power(g, n, "neg"),
        lambda x: OPS["ipow"](-x, n=4),
        FLOATS,
        condition="n is even",
    ),
    procedure(
        "even_power_absolute",
        "absolute(x)**n",
        "x**n",
        "exact",
        ["ipow"],
        lambda g, n: _even_power(g, n, "absolute"),
        lambda x: OPS["ipow"](OPS["absolute"](x), n=2),
        FLOATS,
        condition="n is even",
    ),
    pattern("square_absolute", lambda x: abs(x) * abs(x), lambda x: x * x, "exact", types=FLOATS),
    _even("cos"),
    _even("cosh"),
    pattern("maximum_negs", lambda x, y: -np.maximum(-x, -y), lambda x, y: np.minimum(x, y), "exact", types=PAIRS),
    pattern("minimum_negs", lambda x, y: -np.minimum(-x, -y), lambda x, y: np.maximum(x, y), "exact", types=PAIRS),
    # -- what is done twice
    *map(_idempotent, ("floor", "ceil", "trunc", "rint", "sign")),
    pattern("maximum_of_one", lambda x: np.maximum(x, x), lambda x: x, "exact", types=FLOATS),
    pattern("minimum_of_one", lambda x: np.minimum(x, x), lambda x: x, "exact", types=FLOATS),
    *(
        procedure(
            f"{name}_of_numbers",
            f"{name}({name}(x, c), d)",
            f"{name}(x, {name}(c, d))",
            "exact",
            [name],
            _two_numbers(name),
            lambda x, name=name: OPS[name](OPS[name](x, 0.5), 1.0),
            FLOATS,
            condition="c and d are literals",
        )
        for name in ("maximum", "minimum")
    ),
    # -- conditions
    pattern(
        "where_negs",
        lambda c, x, y: where(c, -x, -y),
        lambda c, x, y: -where(c, x, y),
        "exact",
        types=CONDITIONS[:2],
        shared=False,
    ),
    pattern("neg_equal_zero", lambda x: -x == 0, lambda x: x == 0, "exact", any_dtype=True),
    pattern("not_equal", lambda x, y: _not(x == y), lambda x, y: x != y, "exact", types=PAIRS, any_dtype=True),
    pattern("not_not_equal", lambda x, y: _not(x != y), lambda x, y: x == y, "exact", types=PAIRS, any_dtype=True),
)
