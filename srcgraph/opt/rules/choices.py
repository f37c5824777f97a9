"""Choices by conditions, ``where``: what is chosen once is not chosen again.

These come after derivatives, too: what a choice hands back to its sides are choices by the same condition.
"""

from __future__ import annotations

from typing import Any

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import BOOL, is_inexact
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import number_of, op
from srcgraph.opt.rules.algebra import CONDITIONS
from srcgraph.opt.rules.rule import Rule, pattern, procedure

MOST_USES = 64
"""What is chosen is not followed to more uses than these."""
_SIDES = [("b1[4]", "f64[4]", "f64[4]", "f64[4]")]

where = op("where")
_not = op("logical_not")


def _side(fgraph: FunctionGraph, value: Value, test: Value) -> int | None:
    """The side, 1 or 2, of choices by one condition to which everything made of a value goes, element by element."""
    sides, left, seen = set[int](), [value], set[Value]()
    while left:
        for client in fgraph.clients(left.pop()):
            node = client.node
            if not isinstance(node, Apply) or node.op.kind != "elementwise" or len(seen) > MOST_USES:
                return None
            if node.op.name == "where" and node.inputs[0] is test and client.position:
                sides.add(client.position)
            elif node.outputs[0] not in seen:
                left += node.outputs
                seen.update(node.outputs)
    return sides.pop() if len(sides) == 1 else None


def _chosen_again(fgraph: FunctionGraph, node: Apply) -> Any:
    out = node.outputs[0]
    sides = [k for k in (1, 2) if node.inputs[k].type == out.type]
    if not sides or not is_inexact(out.type):
        return None
    side = _side(fgraph, out, node.inputs[0])
    return node.inputs[side] if side in sides else None


def _one_of_two(fgraph: FunctionGraph, node: Apply) -> Any:
    first, second = (fgraph.definition(v, "where") for v in node.inputs)
    if first is None or second is None or first.inputs[0] is not second.inputs[0]:
        return None
    for one, other in ((first, second), (second, first)):
        if number_of(fgraph, one.inputs[2]) == 0 and number_of(fgraph, other.inputs[1]) == 0:
            return OPS["where"](one.inputs[0], one.inputs[1], other.inputs[2])
    return None


def _inverted(fgraph: FunctionGraph, node: Apply) -> Any:
    return OPS["logical_not"](node.inputs[0]) if node.outputs[0].type.dtype == BOOL else None


CHOICES: tuple[Rule, ...] = (
    procedure(
        "inverted_truth",
        "~c",
        "logical_not(c)",
        "exact",
        ["invert"],
        _inverted,
        lambda c: OPS["invert"](c),
        [("b1[4]",), ("b1",)],
        any_dtype=True,
        condition="c is a boolean",
    ),
    pattern(
        "where_not",
        lambda c, x, y: where(_not(c), x, y),
        lambda c, x, y: where(c, y, x),
        "exact",
        types=CONDITIONS[:2],
        any_dtype=True,
    ),
    pattern(
        "where_where_true",
        lambda c, x, y, z: where(c, where(c, x, y), z),
        lambda c, x, y, z: where(c, x, z),
        "exact",
        types=_SIDES,
        any_dtype=True,
    ),
    pattern(
        "where_where_false",
        lambda c, x, y, z: where(c, x, where(c, y, z)),
        lambda c, x, y, z: where(c, x, z),
        "exact",
        types=_SIDES,
        any_dtype=True,
    ),
)
LAST: tuple[Rule, ...] = (
    procedure(
        "chosen_again",
        "where(c, f(where(c, x, y)), z)",
        "where(c, f(x), z)",
        "exact",
        ["where"],
        _chosen_again,
        lambda c, x, y: OPS["where"](c, OPS["exp"](OPS["where"](c, x, y)), y),
        CONDITIONS[:2],
        any_dtype=True,
        condition="nothing else is made of where(c, x, y)",
    ),
    procedure(
        "one_of_two",
        "where(c, x, 0) + where(c, 0, y)",
        "where(c, x, y)",
        "exact",
        ["add"],
        _one_of_two,
        lambda c, x, y: OPS["where"](c, x, 0.0) + OPS["where"](c, 0.0, y),
        CONDITIONS[:2],
    ),
)
