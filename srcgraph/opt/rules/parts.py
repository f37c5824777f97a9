"""Logarithms of parts of a softmax: ``-log(p[k])``, ``log(p[:, 0])`` and ``log(p[mask])``, the cross entropy.

The part is taken of the logarithm of the whole, which has a form without overflow. What is not needed of it is not
computed where the part is one element, see ``element_of_elementwise``; in a loop the whole is computed before it.
For ``log(p[rows, labels])`` see `srcgraph.opt.gathers`.
"""

from __future__ import annotations

from typing import Any

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.masks import marked
from srcgraph.ir.view import View, element
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rules.arrays import element_of_elementwise
from srcgraph.opt.rules.reductions import ROWS, log_of_normalized, normalized, spread_sum
from srcgraph.opt.rules.rule import Rule, procedure


def _log_of_part(fgraph: FunctionGraph, node: Apply) -> Any:
    part = fgraph.definition(node.inputs[0], "getitem")
    whole = part and log_of_normalized(fgraph, part.inputs[0])
    if part is None or whole is None:
        return None
    return OPS["getitem"](whole, *part.inputs[1:], view=part.attrs["view"])


def _log_of_marked(fgraph: FunctionGraph, node: Apply) -> Any:
    part = fgraph.definition(node.inputs[0], "compress")
    if part is None:
        return None
    array = part.inputs[0]
    while (view := fgraph.definition(array, "getitem")) is not None:
        array = view.inputs[0]
    if normalized(fgraph, array) is None:
        return None
    return OPS["compress"](OPS["log"](part.inputs[0]), *part.inputs[1:])


def _softmax(x: Value) -> Value:
    terms = OPS["exp"](x)
    return terms / spread_sum(terms, (x.type.ndim - 1,))


def _part(x: Value) -> Value:
    axes = (*(":" for _ in range(x.type.ndim - 1)), "i")
    return OPS["getitem"](_softmax(x), 1, view=View(axes, tuple(range(x.type.ndim - 1))))


STABLE: tuple[Rule, ...] = (
    procedure(
        "log_of_part",
        "log(softmax(x)[i])",
        "log(softmax(x))[i]",
        "stability",
        ["log"],
        _log_of_part,
        lambda x: OPS["log"](_part(x)),
        ROWS,
    ),
    procedure(
        "log_of_marked",
        "log(softmax(x)[m])",
        "log(softmax(x))[m]",
        "stability",
        ["log"],
        _log_of_marked,
        lambda m, x: OPS["log"](marked(_softmax(x), m)),
        [("b1[4]", "f64[4]"), ("b1[3, 4]", "f64[3, 4]")],
    ),
)

CHEAPER: tuple[Rule, ...] = (
    procedure(
        "element_of_stable_form",
        "f(x)[i]",
        "f(x[i])",
        "exact",
        ["getitem"],
        element_of_elementwise,
        lambda x: OPS["getitem"](OPS["exp"](x), 1, view=element(1)),
        [("f64[4]",), ("f32[4]",)],
        condition="f(x) has got its stable form; nothing else of it is read",
    ),
)
