"""Reductions and products of what is turned, of what it was before.

Loops go through its memory in order, and a product of two turned matrices turns one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS, current_builder
from srcgraph.ir.ops.linalg import transpose
from srcgraph.ir.view import View, transposed
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rules.matrices import untransposed
from srcgraph.opt.rules.rule import Rule, procedure


def _reduction_of_turned(fgraph: FunctionGraph, node: Apply) -> Any:
    """Along the axes of the arrays themselves, so that loops go through their memory in order."""
    x, axes = node.inputs[0], node.attrs["axes"]
    order = order_of(fgraph, x)
    if order is None:
        return None
    found = node.op(_turned_back(fgraph, x, order), axes=tuple(sorted(order[k] for k in axes)))
    kept = [k for position, k in enumerate(order) if position not in axes]
    if kept == sorted(kept):
        return found
    return OPS["getitem"](found, view=transposed(len(kept), [sorted(kept).index(k) for k in kept]))


def _turned_result(fgraph: FunctionGraph, node: Apply) -> Any:
    """Computed in the order of memory, so that it lies as it is asked for."""
    x = node.inputs[0]
    order = order_of(fgraph, x)
    return None if order is None or order != tuple(range(x.type.ndim))[::-1] else _turned_back(fgraph, x, order)


def order_of(fgraph: FunctionGraph, x: Value) -> tuple[int, ...] | None:
    """The order of axes in which most arrays lie that something is computed of; None if they lie as it does."""
    as_it_is = tuple(range(x.type.ndim))
    votes = Counter(_orders(fgraph, x) if x.type.ndim > 1 else ())
    order, most = max(votes.items(), key=lambda found: found[1], default=(as_it_is, 0))
    return None if order == as_it_is or most <= votes[as_it_is] else order


def _orders(fgraph: FunctionGraph, x: Value) -> list[tuple[int, ...]]:
    """The orders of axes in which the arrays lie that something is computed of, element by element; of many, none."""
    left, seen, found = [x], set[Value](), list[tuple[int, ...]]()
    while left:
        if (v := left.pop()) in seen or v.type.ndim != x.type.ndim:
            continue
        seen.add(v)
        node = fgraph.definition(v)
        if node is not None and (node.op.name == "with_shape" or _is_computed(fgraph, node)):
            left += node.inputs
        elif node is None or node.op.name not in ("getitem", *_STRETCHED):
            found.append(tuple(range(x.type.ndim)))
        elif node.op.name == "getitem" and (order := _order(node)) is not None and _lies(fgraph, node.inputs[0]):
            found.append(order)
    return found if len(seen) < MANY else []


def _lies(fgraph: FunctionGraph, x: Value) -> bool:
    """Whether an array is in memory for certain. Others have no say, so that nothing is turned to and fro."""
    node = fgraph.definition(x)
    return node is None or (node.op.kind != "elementwise" and node.op.name not in ("getitem", *_STRETCHED))


def _order(node: Apply) -> tuple[int, ...] | None:
    """The order of axes of a transpose."""
    order = tuple(k for k in node.attrs["view"].order if k is not None)
    ndim = node.inputs[0].type.ndim
    return order if len(order) == ndim and node.attrs["view"] == transposed(ndim, order) else None


def _is_computed(fgraph: FunctionGraph, node: Apply) -> bool:
    """Whether an array is computed element by element, for one use of it, or again for each at no cost."""
    uses = len({client.holder for client in fgraph.clients(node.outputs[0])})
    return node.op.kind == "elementwise" and (uses == 1 or node.op.name in _FREE)


def _turned_back(fgraph: FunctionGraph, x: Value, order: tuple[int, ...]) -> Value:
    """What is in an order of axes, as it was before."""
    before = sorted(range(len(order)), key=order.__getitem__)
    known: dict[Value, Value] = {}

    def back(v: Value) -> Value:
        if v not in known:
            known[v] = _back(fgraph, v, order, before, back)
        return known[v]

    return back(x)


def _back(fgraph: FunctionGraph, x: Value, order: tuple[int, ...], before: list[int], back: Any) -> Value:
    """One value, which is in that order or is broadcast to it."""
    node = fgraph.definition(x)
    if node is not None and node.op.name == "getitem" and _order(node) == order:
        return node.inputs[0]
    if node is not None and x.type.ndim == len(order):
        if node.op.name == "with_shape":
            return current_builder().retype(back(node.inputs[0]), tuple(x.type.shape[k] for k in before))
        if _is_computed(fgraph, node):
            return node.op(*(back(v) if v.type.ndim else v for v in node.inputs), **node.attrs)
    missing = len(order) - x.type.ndim
    axes = tuple(None if k < missing else k - missing for k in before)
    return OPS["getitem"](x, view=View((":",) * x.type.ndim, axes))


def _turned_product(fgraph: FunctionGraph, node: Apply) -> Any:
    x, y = (untransposed(fgraph, v) for v in node.inputs)
    return transpose(OPS["matmul"](y, x)) if x is not None and y is not None else None


MANY = 200
"""What is computed of so many others is left as it is."""
_STRETCHED = ("broadcast_to", "full")
"""What lies in no order."""
_FREE = ("add", "mul", "neg", "sub")

LAST: tuple[Rule, ...] = (
    procedure(
        "reduction_of_turned",
        "np.sum(x.T, axis=0)",
        "np.sum(x, axis=1)",
        "rounding",
        ["sum", "prod", "max", "min", "all", "any"],
        _reduction_of_turned,
        lambda x: OPS["sum"](OPS["getitem"](x, view=transposed(x.type.ndim, (*range(1, x.type.ndim), 0))), axes=(0,)),
        [("f64[3, 4]",), ("f64[2, 3, 4]",)],
        condition="also of other axes, products, extremes; of what most arrays are turned for that it is computed of",
        any_dtype=True,
    ),
    procedure(
        "turned_result",
        "turned(exp(x.T))",
        "exp(x)",
        "exact",
        ["turned"],
        _turned_result,
        lambda x: OPS["turned"](OPS["exp"](transpose(x))),
        [("f64[3, 4]",)],
        any_dtype=True,
    ),
)
CHEAPER: tuple[Rule, ...] = (
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
