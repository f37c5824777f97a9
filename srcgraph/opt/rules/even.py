"""Products with a matrix that is the same along an axis, as the derivative of a sum is.

Along the axis that is added up, the product is made of sums of the other matrix; along another one, of one row or
column. Of one that is filled with a number it is the sums. A factor that is taken out of a sum may be infinite, or
the sum be so without it: that is left to derivatives, where the order of sums is nobody's.
"""

from __future__ import annotations

from typing import Any

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS, current_builder
from srcgraph.ir.ops.shape import broadcast_to, dims_of, with_new_axes
from srcgraph.ir.view import View
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import bare, number_of
from srcgraph.opt.rules.matrices import untransposed
from srcgraph.opt.rules.rule import Rule, procedure


def _even_product(fgraph: FunctionGraph, node: Apply) -> Any:
    x, y = node.inputs
    left, right = _stretched(fgraph, x), _stretched(fgraph, y)
    matrices = x.type.ndim == y.type.ndim == 2
    if left is not None and not left.type.ndim:
        found = _sum(fgraph, left, y, 0)
    elif right is not None and not right.type.ndim:
        found = _sum(fgraph, right, x, x.type.ndim - 1)
        found = with_new_axes(found, [1]) if matrices else found
    elif node.origin.by and matrices and (column := _even(left, 1)) is not None:
        found = OPS["mul"](_matrix(column), with_new_axes(OPS["sum"](y, axes=(0,)), [0]))
    elif node.origin.by and matrices and (row := _even(right, 0)) is not None:
        found = OPS["mul"](with_new_axes(OPS["sum"](x, axes=(1,)), [1]), _matrix(row))
    elif (row := _even(left, 0)) is not None:
        found = OPS["matmul"](_line(fgraph, row, 0), y)
    elif (column := _even(right, 1)) is not None:
        found = OPS["matmul"](x, _line(fgraph, column, 1))
        found = with_new_axes(found, [1]) if matrices else found
    else:
        return None
    out = node.outputs[0]
    return found if found.type == out.type else broadcast_to(found, *dims_of(out))


def _sum_of_product(fgraph: FunctionGraph, node: Apply) -> Any:
    product, axes = node.inputs[0], node.attrs["axes"]
    if (inner := untransposed(fgraph, product)) is not None and fgraph.uses(product) == 1:
        product, axes = inner, [1 - k for k in axes]
    made = fgraph.definition(product, "matmul")
    if made is None or fgraph.uses(product) > 1 or not node.origin.by:
        return None
    x, y = made.inputs
    if x.type.ndim == 2 and 0 in axes:
        x = OPS["sum"](x, axes=(0,))
    if y.type.ndim == 2 and product.type.ndim - 1 in axes:
        y = OPS["sum"](y, axes=(1,))
    return OPS["matmul"](x, y)


def _stretched(fgraph: FunctionGraph, value: Value) -> Value | None:
    """What is repeated to be a matrix. Products with vectors go through the matrix once, as sums do."""
    made = fgraph.definition(bare(fgraph, value)) if value.type.ndim == 2 else None
    return made.inputs[0] if made is not None and made.op.name in ("full", "broadcast_to") else None


def _even(x: Value | None, axis: int) -> Value | None:
    """What is repeated to be a matrix, if that is the same along an axis."""
    return x if x is not None and (1, *x.type.shape)[-2:][axis] == 1 else None


def _matrix(x: Value) -> Value:
    return with_new_axes(x, [0]) if x.type.ndim == 1 else x


def _line(fgraph: FunctionGraph, x: Value, axis: int) -> Value:
    """The only row or column of a matrix."""
    if x.type.ndim == 1:
        return x
    made = fgraph.definition(x, "getitem")
    order = (0, None) if axis else (None, 0)
    if made is not None and made.attrs["view"] == View((":",), order):
        return made.inputs[0]
    return OPS["getitem"](x, 0, view=View((":", "i") if axis else ("i", ":"), (0,)))


def _sum(fgraph: FunctionGraph, factor: Value, x: Value, axis: int) -> Value:
    return OPS["sum"](x if number_of(fgraph, factor) == 1 else OPS["mul"](factor, x), axes=(axis,))


def _sum_of_product_example(a: Value, b: Value) -> Any:
    with current_builder().at(by="vjp"):
        return OPS["sum"](OPS["matmul"](a, b), axes=(0,))


def _example(a: Value, b: Value) -> Any:
    with current_builder().at(by="vjp"):
        return OPS["matmul"](a, broadcast_to(b, 4, 3))


CHEAPER: tuple[Rule, ...] = (
    procedure(
        "even_product",
        "A @ np.full((n, m), c)",
        "np.sum(A * c, axis=1)[:, None]",
        "rounding",
        ["matmul"],
        _even_product,
        _example,
        [("f64[2, 4]", t) for t in ("f64", "f64[1, 3]", "f64[3]", "f64[4, 1]")],
        "matrices",
        condition="repeated to the shape of the product; also on the left, and what is the same along one axis: "
        "where it is added up, in derivatives",
    ),
    procedure(
        "sum_of_product",
        "np.sum(A @ B, axis=0)",
        "np.sum(A, axis=0) @ B",
        "rounding",
        ["sum"],
        _sum_of_product,
        _sum_of_product_example,
        [("f64[3, 4]", "f64[4, 2]"), ("f64[3, 4]", "f64[4]")],
        "matrices",
        condition="in derivatives; A @ B is read only here; also along the other axis, and both",
        any_dtype=True,
    ),
)
