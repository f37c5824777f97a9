"""Directions in which an argument does not move: their tangents are 0, and what they are multiplied by is no matter.

A Jacobian by forward mode takes a direction for each argument, in which the others are at rest. Where arguments are
elements of small arrays, which become numbers of their own, these zeros are literals.
"""

from __future__ import annotations

from typing import Any

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS, current_builder
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import number_of
from srcgraph.opt.rules.rule import Rule, procedure


def _zeros(fgraph: FunctionGraph, node: Apply) -> list[Value]:
    """The operands that are 0, of numbers of a derivative."""
    if not node.origin.by or node.outputs[0].type.ndim:
        return []
    return [v for v in node.inputs if number_of(fgraph, v) == 0]


def _at_rest(fgraph: FunctionGraph, node: Apply) -> Any:
    zeros = _zeros(fgraph, node)
    return zeros[0] if zeros and zeros[0].type.dtype == node.outputs[0].type.dtype else None


def _moved(fgraph: FunctionGraph, node: Apply) -> Any:
    x, y = node.inputs
    zeros = _zeros(fgraph, node)
    if node.op.name == "sub" and x in zeros and y not in zeros:
        return OPS["neg"](y)
    kept = x if y in zeros else y if x in zeros and node.op.name == "add" else None
    return kept if kept is not None and kept.type == node.outputs[0].type else None


def _with_zero(name: str) -> Any:
    def example(x: Value) -> Any:
        with current_builder().at(by="jvp"):
            return OPS[name](x, 0.0)

    return example


RULES: tuple[Rule, ...] = (
    procedure(
        "at_rest",
        "0.0 * x",
        "0.0",
        "rounding",
        ["mul"],
        _at_rest,
        _with_zero("mul"),
        [("float",)],
        "tangents",
        condition="in derivatives, of numbers; also where x is NaN or infinite",
    ),
    procedure(
        "moved_alone",
        "x + 0.0",
        "x",
        "rounding",
        ["add", "sub"],
        _moved,
        _with_zero("add"),
        [("float",)],
        condition="in derivatives, of numbers; also `0.0 + x`, `x - 0.0` and `0.0 - x`",
    ),
)
