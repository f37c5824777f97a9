"""Comparisons of ``abs(z)`` and ``hypot(x, y)``, of which a square tells all but the closest."""

from __future__ import annotations

from typing import Any

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import FLOAT, INT
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rules.rule import Rule, procedure

_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def _by_squares(fgraph: FunctionGraph, node: Apply) -> Any:
    for size, bound, name in zip(node.inputs, node.inputs[::-1], (node.op.name, _MIRRORED[node.op.name]), strict=True):
        parts = _parts(fgraph, size)
        if parts is not None and not bound.type.ndim and bound.type.dtype in (FLOAT, INT):
            return OPS[f"hypot_{name}"](*parts, bound)
    return None


def _parts(fgraph: FunctionGraph, size: Value) -> tuple[Value, ...] | None:
    """What a number of 64 bits is the ``hypot`` of, if nothing but a comparison reads it."""
    made = fgraph.definition(size)
    if made is None or size.type.ndim or size.type.dtype != FLOAT or fgraph.uses(size) > 1:
        return None
    if made.op is OPS["hypot"]:
        return made.inputs
    (x,) = made.inputs if made.op is OPS["absolute"] else (None,)
    return None if x is None or x.type.dtype.kind != "c" else (OPS["real"](x), OPS["imag"](x))


RULES: tuple[Rule, ...] = tuple(
    procedure(
        f"{name}_by_squares",
        f"abs(z) {symbol} c",
        f"hypot_{name}(z.real, z.imag, c)",
        "exact",
        [name],
        _by_squares,
        lambda x, y, name=name: OPS[name](OPS["absolute"](x), y),
        [("c128", "f64"), ("complex", "float")],
        any_dtype=True,
        condition="numbers of 64 bits, whose size nothing else reads",
    )
    for name, symbol in (("less", "<"), ("less_equal", "<="), ("greater", ">"), ("greater_equal", ">="))
)
