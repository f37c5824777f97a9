"""Sums and extremes along axes: exponentials without overflow, variance without cancellation, fewer passes.

References
----------
P. Blanchard, D. J. Higham, N. J. Higham, "Accurately computing the log-sum-exp and softmax functions", IMA J. Numer.
Anal. 41, 2021.
T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance", Am. Stat. 37, 1983.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.ir.dims import product
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS, current_builder
from srcgraph.ir.ops.shape import spread, with_new_axes
from srcgraph.ir.types import is_float
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import bare, number_of
from srcgraph.opt.rules.rule import Rule, procedure

Axes = tuple[int, ...]
TERMS = 16
"""So many parts of a sum are looked at."""
ROWS = [("f64[4]",), ("f64[3, 4]",), ("f32[4]",)]


def repeated(fgraph: FunctionGraph, value: Value, ndim: int) -> tuple[Value, Axes]:
    """What is repeated along axes to get a value of so many axes, and along which: by broadcasting, or new axes."""
    missing: list[int] = list(range(ndim - value.type.ndim))
    axes = list(range(ndim - value.type.ndim, ndim))
    while value.type.ndim:
        node = fgraph.definition(value)
        if node is None:
            break
        inner = node.inputs[0] if node.inputs else None
        if node.op.name == "full":
            return node.inputs[0], tuple(range(ndim))
        if node.op.name == "broadcast_to" and inner is not None:
            gone = len(axes) - inner.type.ndim
            kept = axes[gone:]
            if any(d not in (w, 1) for d, w in zip(inner.type.shape, value.type.shape[gone:], strict=True)):
                break
            missing, axes, value = missing + axes[:gone], kept, inner
        elif node.op.name == "getitem" and _adds_axes(node):
            order = node.attrs["view"].order
            missing += [a for a, k in zip(axes, order, strict=True) if k is None]
            axes = [a for a, k in zip(axes, order, strict=True) if k is not None]
            value = node.inputs[0]
        else:
            break
    return value, tuple(sorted(missing))


def _adds_axes(node: Apply) -> bool:
    view = node.attrs["view"]
    kept = [k for k in view.order if k is not None]
    return all(a == ":" for a in view.axes) and kept == list(range(len(view.axes))) and None in view.order


def _moved(x: Value, axes: Axes) -> tuple[Value, Value]:
    """``x`` less its largest along axes, and that; 0 in its place where it is infinite."""
    most = OPS["max"](x, axes=axes)
    most = OPS["held"](OPS["where"](OPS["isfinite"](most), most, x.type.dtype.type(0)))
    return x - spread(most, x, axes), most


def _is_moved(fgraph: FunctionGraph, x: Value) -> bool:
    """Whether the largest has been taken off already: by the program, or here, whatever became of the terms since."""
    node, ndim = fgraph.definition(x, "sub"), x.type.ndim
    taken = fgraph.definition(repeated(fgraph, node.inputs[1], ndim)[0]) if node is not None else None
    if taken is not None and taken.op.name == "max":
        return True
    todo, seen = [x], set[Value]()
    while todo and len(seen) < TERMS:
        term, _ = repeated(fgraph, todo.pop(), ndim)
        made = fgraph.definition(term)
        if made is not None and made.op.name == "held":
            return True
        if made is not None and made.op.name in ("add", "sub", "neg", "mul", "div", "where") and term not in seen:
            seen.add(term)
            parts = [fgraph.definition(repeated(fgraph, v, ndim)[0]) for v in made.inputs]
            if not {"log", "held"} <= {p.op.name for p in parts if p is not None}:  # the logarithm of another sum
                todo += made.inputs
    return False


def _exponentials(fgraph: FunctionGraph, total: Value) -> tuple[Value, Value, Axes] | None:
    """Of a sum of exponentials: the exponents, the exponentials, and the axes."""
    node = fgraph.definition(total, "sum")
    inner = node and fgraph.definition(node.inputs[0], "exp")
    if node is None or inner is None or inner.outputs[0].type.dtype.kind != "f":
        return None
    return inner.inputs[0], inner.outputs[0], node.attrs["axes"]


def _logsumexp(fgraph: FunctionGraph, node: Apply) -> Any:
    found = _exponentials(fgraph, node.inputs[0])
    if found is None or _is_moved(fgraph, found[0]):
        return None
    x, _, axes = found
    moved, most = _moved(x, axes)
    return OPS["log"](OPS["sum"](OPS["exp"](moved), axes=axes)) + most


def _logmeanexp(fgraph: FunctionGraph, node: Apply) -> Any:
    quotient = fgraph.definition(node.inputs[0], "div")
    if quotient is None:
        return None
    total, count = quotient.inputs
    found = _exponentials(fgraph, total)
    if found is None or count.type.ndim or _is_moved(fgraph, found[0]):
        return None
    return OPS["log"](total) - OPS["log"](count)


def normalized(fgraph: FunctionGraph, quotient: Value) -> tuple[Value, Axes] | None:
    """The exponents and axes of exponentials divided by their sums."""
    node = fgraph.definition(quotient, "div")
    if node is None:
        return None
    top, bottom = (bare(fgraph, v) for v in node.inputs)
    total, missing = repeated(fgraph, bottom, top.type.ndim)
    found = _exponentials(fgraph, total)
    if found is None or bare(fgraph, found[1]) is not top or found[2] != missing:
        return None
    return found[0], missing


def _softmax(fgraph: FunctionGraph, node: Apply) -> Any:
    found = normalized(fgraph, node.outputs[0])
    if found is None or _is_moved(fgraph, found[0]):
        return None
    x, axes = found
    return _shares(_moved(x, axes)[0], axes)


def _shares(x: Value, axes: Axes) -> Value:
    terms = OPS["exp"](x)
    return terms / spread(OPS["sum"](terms, axes=axes), x, axes)


def _less_largest(fgraph: FunctionGraph, x: Value, axes: Axes) -> tuple[Value, Value] | None:
    """``x - most``, ``most`` a constant for derivatives, and ``most`` itself, where it is the same along axes."""
    node = fgraph.definition(x, "sub")
    if node is None:
        return None
    most, missing = repeated(fgraph, node.inputs[1], x.type.ndim)
    if fgraph.definition(most, "max") is None or not {*axes} <= {*missing}:
        return None
    return node.inputs[0] - spread(OPS["held"](most), x, missing), most


def _shift_of_softmax(fgraph: FunctionGraph, node: Apply) -> Any:
    found = normalized(fgraph, node.outputs[0])
    if fgraph.uses(bare(fgraph, node.inputs[0])) > 2:  # who else reads the terms wants those of the program
        return None
    held = found and _less_largest(fgraph, *found)
    return _shares(held[0], found[1]) if found and held else None


def _shift_of_logsumexp(fgraph: FunctionGraph, node: Apply) -> Any:
    ndim = node.outputs[0].type.ndim
    for total, shift in (node.inputs, node.inputs[::-1]):
        log = fgraph.definition(total, "log")
        inside, kept = repeated(fgraph, log.inputs[0], ndim) if log else (total, ())
        found = log and _exponentials(fgraph, inside)
        found = found if found and fgraph.uses(found[1]) == 1 else None
        held = found and _less_largest(fgraph, found[0], found[2])
        if found and held and repeated(fgraph, shift, ndim) == (held[1], kept) and kept in ((), found[2]):
            value = OPS["log"](OPS["sum"](OPS["exp"](held[0]), axes=found[2])) + OPS["held"](held[1])
            return with_new_axes(value, list(kept)) if kept else value
    return None


def _log_softmax(fgraph: FunctionGraph, node: Apply) -> Any:
    return log_of_normalized(fgraph, node.inputs[0])


def log_of_normalized(fgraph: FunctionGraph, quotient: Value) -> Value | None:
    """The logarithm of exponentials divided by their sums, without overflow."""
    found = normalized(fgraph, quotient)
    if found is None:
        return None
    x, axes = found
    x = x if _is_moved(fgraph, x) else _moved(x, axes)[0]
    return x - spread(OPS["log"](OPS["sum"](OPS["exp"](x), axes=axes)), x, axes)


def _variance(fgraph: FunctionGraph, node: Apply) -> Any:
    """``mean(x**2) - mean(x)**2``: each mean is a sum over all of ``x`` divided by its size."""
    squares, mean = _mean(fgraph, node.inputs[0]), _square(fgraph, node.inputs[1])
    plain = None if mean is None else _mean(fgraph, mean)
    x = None if squares is None else _square(fgraph, squares[0])
    if squares is None or plain is None or x is None or not is_float(x.type):
        return None
    if bare(fgraph, plain[0]) is not bare(fgraph, x) or squares[1:] != plain[1:]:
        return None
    axes, count = squares[1:]
    moved = x - spread(OPS["div"](OPS["sum"](x, axes=axes), count), x, axes)
    return OPS["div"](OPS["sum"](OPS["mul"](moved, moved), axes=axes), count)


def _mean(fgraph: FunctionGraph, value: Value) -> tuple[Value, Axes, Value] | None:
    """What is averaged, along which axes, and the count."""
    node = fgraph.definition(value, "div")
    total = node and fgraph.definition(node.inputs[0], "sum")
    if node is None or total is None:
        return None
    count, x, axes = node.inputs[1], total.inputs[0], total.attrs["axes"]
    made = fgraph.definition(count)
    size = made.inputs[0].type if made is not None and made.op.name == "cast" else count.type
    number, items = number_of(fgraph, count), product(x.type.shape[k] for k in axes)
    if number != items.const if number is not None else getattr(size, "value", None) != items:
        return None
    return x, axes, count


def _square(fgraph: FunctionGraph, value: Value) -> Value | None:
    node = fgraph.definition(bare(fgraph, value))
    if node is not None and node.op.name == "ipow" and node.attrs["n"] == 2:
        return node.inputs[0]
    if node is not None and node.op.name in ("mul", "square") and len(set(node.inputs)) == 1:
        return node.inputs[0]
    return None


def _of_itself(name: str) -> Any:
    """``sum(sum(x, a), b)``: one reduction along the axes of both."""

    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        inner = fgraph.definition(node.inputs[0], name)
        if inner is None or fgraph.uses(inner.outputs[0]) > 1:
            return None
        x, first = inner.inputs[0], inner.attrs["axes"]
        left = [k for k in range(x.type.ndim) if k not in first]
        both = sorted({*first, *(left[k] for k in node.attrs["axes"])})
        return OPS[name](x, axes=tuple(both))

    return transform


def _mean_of(x: Value) -> Value:
    axes = tuple(range(x.type.ndim))
    return OPS["div"](OPS["sum"](x, axes=axes), current_builder().dim_value(product(x.type.shape)))


def spread_sum(x: Value, axes: Axes) -> Value:
    """The sum along axes, which stay with length 1."""
    return with_new_axes(OPS["sum"](x, axes=axes), list(axes))


def _last(x: Value) -> Axes:
    return (x.type.ndim - 1,)


def _log_of_shifted(x: Value, most: Value) -> Value:
    moved = x - spread(most, x, _last(x))
    return OPS["log"](OPS["sum"](OPS["exp"](moved), axes=_last(x))) + most


STABLE: tuple[Rule, ...] = (
    procedure(
        "logsumexp",
        "log(sum(exp(x)))",
        "log(sum(exp(x - max(x)))) + max(x)",
        "stability",
        ["log"],
        _logsumexp,
        lambda x: OPS["log"](OPS["sum"](OPS["exp"](x), axes=(x.type.ndim - 1,))),
        ROWS,
    ),
    procedure(
        "logmeanexp",
        "log(sum(exp(x)) / n)",
        "log(sum(exp(x))) - log(n)",
        "stability",
        ["log"],
        _logmeanexp,
        lambda x: OPS["log"](_mean_of(OPS["exp"](x))),
        ROWS[:1],
    ),
    procedure(
        "softmax",
        "exp(x) / sum(exp(x))",
        "exp(x - max(x)) / sum(exp(x - max(x)))",
        "stability",
        ["div"],
        _softmax,
        lambda x: OPS["exp"](x) / spread_sum(OPS["exp"](x), (x.type.ndim - 1,)),
        ROWS,
    ),
    procedure(
        "shift_of_softmax",
        "exp(x - max(x)) / sum(exp(x - max(x)))",
        "the same, max(x) a constant for derivatives",
        "exact",
        ["div"],
        _shift_of_softmax,
        lambda x: _shares(x - spread(OPS["max"](x, axes=_last(x)), x, _last(x)), _last(x)),
        ROWS,
    ),
    procedure(
        "shift_of_logsumexp",
        "log(sum(exp(x - max(x)))) + max(x)",
        "the same, max(x) a constant for derivatives",
        "exact",
        ["add"],
        _shift_of_logsumexp,
        lambda x: _log_of_shifted(x, OPS["max"](x, axes=_last(x))),
        ROWS,
    ),
    procedure(
        "log_softmax",
        "log(exp(x) / sum(exp(x)))",
        "y - log(sum(exp(y))), y = x - max(x)",
        "stability",
        ["log"],
        _log_softmax,
        lambda x: OPS["log"](OPS["exp"](x) / spread_sum(OPS["exp"](x), (x.type.ndim - 1,))),
        ROWS,
    ),
    procedure(
        "variance",
        "mean(x**2) - mean(x)**2",
        "mean((x - mean(x))**2)",
        "stability",
        ["sub"],
        _variance,
        lambda x: _mean_of(OPS["mul"](x, x)) - OPS["ipow"](_mean_of(x), n=2),
        [("f64[4]",), ("f64[3, 4]",)],
    ),
)


def _without_literals(fgraph: FunctionGraph, value: Value) -> tuple[float, Value]:
    """The literals that an array, read nowhere else, is multiplied by, and what it is without them."""
    node = fgraph.definition(value) if fgraph.uses(value) == 1 else None
    if node is None or not value.type.ndim:
        return 1.0, value
    name = node.op.name
    if name in ("with_shape", "broadcast_to", "neg") or (name == "getitem" and _adds_axes(node)):
        factor, x = _without_literals(fgraph, node.inputs[0])
        factor, x = (-factor, x) if name == "neg" else (factor, x)
        return factor, x if name == "neg" else node.op(x, *node.inputs[1:], **node.attrs) if factor != 1.0 else value
    if name not in ("mul", "div"):
        return 1.0, value
    x, y = node.inputs
    first, second = _usual(number_of(fgraph, x)), _usual(number_of(fgraph, y))
    if name == "div":
        return (first, OPS["div"](1.0, y)) if first is not None and first != 1.0 else (1.0, value)
    if first is not None or second is not None:
        literal, other = (first, y) if first is not None else (second, x)
        factor, rest = _without_literals(fgraph, other)
        return (literal or 1.0) * factor, rest
    (a, x), (b, y) = _without_literals(fgraph, x), _without_literals(fgraph, y)
    return a * b, OPS["mul"](x, y) if a * b != 1.0 else value


def _usual(number: Any) -> float | None:
    """A literal by which nothing overflows that did not before."""
    return float(number) if number is not None and not np.iscomplexobj(number) and 1e-6 < abs(number) < 1e6 else None


def _sum_of_scaled(fgraph: FunctionGraph, node: Apply) -> Any:
    if not node.origin.by or node.attrs.get("of"):
        return None
    factor, x = _without_literals(fgraph, node.inputs[0])
    if factor == 1.0 or x.type != node.inputs[0].type:
        return None
    return OPS["mul"](factor, OPS["sum"](x, **node.attrs))


def _sum_of_scaled_example(x: Value) -> Any:
    with current_builder().at(by="vjp"):
        return OPS["sum"](OPS["mul"](OPS["mul"](3.0, OPS["exp"](x)), OPS["div"](0.5, x + 3.0)), axes=(0,))


def _sum_of_number(fgraph: FunctionGraph, node: Apply) -> Any:
    x = node.inputs[0]
    whole = x.type.ndim and len(node.attrs["axes"]) == x.type.ndim and not node.attrs.get("of")
    number = number_of(fgraph, x) if whole and x.type.dtype.kind == "f" else None
    if number is None or not np.isfinite(number):
        return None
    return OPS["mul"](x.type.dtype.type(number), current_builder().dim_value(product(x.type.shape)))


def _negated(name: str, inner: str) -> Rule:
    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        x = fgraph.definition(node.inputs[0], "neg")
        if x is None or fgraph.uses(x.outputs[0]) > 1 or x.outputs[0].type.dtype.kind == "u":
            return None
        return OPS["neg"](OPS[inner](x.inputs[0], axes=node.attrs["axes"]))

    return procedure(
        f"{name}_of_neg",
        f"{name}(-x)",
        f"-{inner}(x)",
        "exact",
        [name],
        transform,
        lambda x: OPS[name](OPS["neg"](x), axes=(0,)),
        ROWS,
        condition="-x is read only here",
    )


CHEAPER: tuple[Rule, ...] = (
    procedure(
        "sum_of_multiples",
        "sum(c * x)",
        "c * sum(x)",
        "rounding",
        ["sum"],
        _sum_of_scaled,
        _sum_of_scaled_example,
        ROWS,
        condition="in derivatives; c are literals from 1e-6 to 1e6, of factors that are read only here",
    ),
    procedure(
        "sum_of_number",
        "sum(full(c, n))",
        "c * n",
        "rounding",
        ["sum"],
        _sum_of_number,
        lambda x: OPS["sum"](OPS["full"](0.5, current_builder().dim_value(x.type.shape[0])), axes=(0,)),
        [("f64[4]",)],
        condition="c is a literal, and all axes are summed",
    ),
    _negated("sum", "sum"),
    _negated("max", "min"),
    _negated("min", "max"),
    *(
        procedure(
            f"{name}_of_{name}",
            f"{name}({name}(x, a), b)",
            f"{name}(x, a and b)",
            kind,
            [name],
            _of_itself(name),
            lambda x, name=name: OPS[name](OPS[name](x, axes=(0,)), axes=(0,)),
            [("b1[3, 4]",) if name in ("all", "any") else ("f64[3, 4]",)],
            any_dtype=True,
            condition="the inner one is read only here",
        )
        for name, kind in (("sum", "rounding"), ("max", "exact"), ("min", "exact"), ("all", "exact"), ("any", "exact"))
    ),
)
