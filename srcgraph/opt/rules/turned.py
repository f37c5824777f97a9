"""Reductions and products of what is turned, of what it was before.

Loops go through its memory in order, and a product of two turned matrices turns one.
"""

from __future__ import annotations

from typing import Any

from srcgraph.ir.graph import Apply
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.linalg import transpose
from srcgraph.ir.view import transposed
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rules.matrices import untransposed
from srcgraph.opt.rules.rule import Rule, procedure


def _reduction_of_turned(fgraph: FunctionGraph, node: Apply) -> Any:
    """Along the axes of the array itself, so that loops go through its memory in order."""
    inner = fgraph.definition(node.inputs[0], "getitem")
    if inner is None:
        return None
    x, view = inner.inputs[0], inner.attrs["view"]
    order, axes = view.order, node.attrs["axes"]
    if None in order or view != transposed(x.type.ndim, order) or len(order) != x.type.ndim:
        return None
    found = node.op(x, axes=tuple(sorted(order[k] for k in axes)))
    kept = [k for position, k in enumerate(order) if position not in axes]
    if kept == sorted(kept):
        return found
    return OPS["getitem"](found, view=transposed(len(kept), [sorted(kept).index(k) for k in kept]))


def _turned_product(fgraph: FunctionGraph, node: Apply) -> Any:
    x, y = (untransposed(fgraph, v) for v in node.inputs)
    return transpose(OPS["matmul"](y, x)) if x is not None and y is not None else None


CHEAPER: tuple[Rule, ...] = (
    procedure(
        "reduction_of_turned",
        "np.sum(x.T, axis=0)",
        "np.sum(x, axis=1)",
        "rounding",
        ["sum", "prod", "max", "min", "all", "any"],
        _reduction_of_turned,
        lambda x: OPS["sum"](OPS["getitem"](x, view=transposed(x.type.ndim, (*range(1, x.type.ndim), 0))), axes=(0,)),
        [("f64[3, 4]",), ("f64[2, 3, 4]",)],
        condition="also of other axes, and of products, extremes",
        any_dtype=True,
    ),
    procedure(
        "turned_product",
        "A.T @ B.T",
        "(B @ A).T",
        "rounding",
        ["matmul"],
        _turned_product,
        lambda a, b: OPS["matmul"](transpose(a), transpose(b)),
        [("f64[4, 3]", "f64[2, 4]")],
        "matrices",
        any_dtype=True,
    ),
)
