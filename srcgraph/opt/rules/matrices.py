"""Products, inverses and determinants of matrices.

References
----------
G. H. Golub, C. F. Van Loan, "Matrix Computations", on why not to invert.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.ir.graph import Apply, For, Value
from srcgraph.ir.op import COMPOSITES, OPS, current_builder
from srcgraph.ir.ops.linalg import transpose
from srcgraph.ir.view import View, element, split_operands, transposed, whole
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import number_of
from srcgraph.opt.rules.rule import Rule, procedure

SQUARE = "f64[3, 3]"
TURNED = transposed(2, (1, 0))


def _once(fgraph: FunctionGraph, value: Value, name: str) -> Apply | None:
    """The use of an op that gives a value, if that is read nowhere else."""
    node = fgraph.definition(value, name) if fgraph.uses(value) == 1 else None
    return node if node is not None and fgraph.uses(node.outputs[0]) == 1 else None


def _product_times_vector(fgraph: FunctionGraph, node: Apply) -> Any:
    x, y = node.inputs
    inner = _once(fgraph, x, "matmul")
    if inner is None or y.type.ndim != 1 or any(v.type.ndim != 2 for v in inner.inputs):
        return None
    left, right = inner.inputs
    right = current_builder().retype(right, (right.type.shape[0], x.type.shape[1]))
    return OPS["matmul"](left, OPS["matmul"](right, y))


def _vector_times_product(fgraph: FunctionGraph, node: Apply) -> Any:
    x, y = node.inputs
    inner = _once(fgraph, y, "matmul")
    if inner is None or x.type.ndim != 1 or any(v.type.ndim != 2 for v in inner.inputs):
        return None
    left, right = inner.inputs
    left = current_builder().retype(left, (y.type.shape[0], left.type.shape[1]))
    return OPS["matmul"](OPS["matmul"](x, left), right)


def untransposed(fgraph: FunctionGraph, value: Value) -> Value | None:
    node = fgraph.definition(value, "getitem")
    return node.inputs[0] if node is not None and node.attrs["view"] == TURNED else None


def _factors(fgraph: FunctionGraph, value: Value, turned: bool = False) -> tuple[Value, Value] | None:
    """What a product is of, that is read nowhere else; of ``(a @ b).T`` it is ``b.T`` and ``a.T``."""
    inner = untransposed(fgraph, value)
    made = _once(fgraph, value if inner is None else inner, "matmul") if fgraph.uses(value) == 1 else None
    if made is None or any(v.type.ndim != 2 for v in made.inputs):
        return None
    x, y = made.inputs
    return (x, y) if turned == (inner is not None) else (_turn(fgraph, y), _turn(fgraph, x))


def _turn(fgraph: FunctionGraph, value: Value) -> Value:
    inner = untransposed(fgraph, value)
    return transpose(value) if inner is None else inner


def _same_matrix(fgraph: FunctionGraph, x: Value, y: Value) -> bool:
    inner = untransposed(fgraph, x)
    return x is y or (inner is not None and inner is untransposed(fgraph, y))


def _common_matrix(fgraph: FunctionGraph, node: Apply) -> Any:
    """A sum of two products with one matrix, in derivatives: there the order of sums is nobody's."""
    turned = node.op.name == "add_at" and node.attrs["view"] == TURNED
    plain = node.op.name == "add" or node.attrs["view"] == whole(2)
    if not node.origin.by or not (plain or turned) or any(v.type.ndim != 2 for v in node.inputs):
        return None
    first, second = _factors(fgraph, node.inputs[0]), _factors(fgraph, node.inputs[1], turned)
    if first is None or second is None:
        return None
    if _same_matrix(fgraph, first[0], second[0]):
        return OPS["matmul"](first[0], OPS["add"](first[1], second[1]))
    if _same_matrix(fgraph, first[1], second[1]):
        return OPS["matmul"](OPS["add"](first[0], second[0]), first[1])
    return None


def _common_matrix_example(a: Value, b: Value, c: Value) -> Any:
    with current_builder().at(by="vjp"):
        return OPS["add"](OPS["matmul"](a, b), transpose(OPS["matmul"](c, transpose(a))))


def _is_identity(fgraph: FunctionGraph, value: Value) -> bool:
    """Whether a matrix is ``where(rows == columns, 1, 0)``, as np.eye makes it."""
    node = fgraph.definition(value, "where")
    if node is None or [number_of(fgraph, v) for v in node.inputs[1:]] != [1, 0]:
        return False
    test = fgraph.definition(node.inputs[0], "equal")
    sides = [fgraph.definition(v, "getitem") for v in test.inputs] if test is not None else []
    if len(sides) != 2 or any(s is None or fgraph.definition(s.inputs[0], "arange") is None for s in sides):
        return False
    orders = {s.attrs["view"].order for s in sides if s is not None}
    return len({s.inputs[0] for s in sides if s is not None}) == 1 and orders == {(0, None), (None, 0)}


def _inverse(fgraph: FunctionGraph, value: Value) -> Apply | None:
    """The solution whose right sides are the identity, that is the inverse, if it is read nowhere else."""
    node = _once(fgraph, value, "lu_solve")
    return node if node is not None and _is_identity(fgraph, node.inputs[3]) else None


def _inverse_times(fgraph: FunctionGraph, node: Apply) -> Any:
    inverse = _inverse(fgraph, node.inputs[0])
    return inverse and OPS["lu_solve"](*inverse.inputs[:3], node.inputs[1], **inverse.attrs)


def _times_inverse(fgraph: FunctionGraph, node: Apply) -> Any:
    inverse = _inverse(fgraph, node.inputs[1])
    if inverse is None:
        return None
    left, turned = node.inputs[0], not inverse.attrs["transposed"]
    if left.type.ndim == 1:
        return OPS["lu_solve"](*inverse.inputs[:3], left, transposed=turned)
    return transpose(OPS["lu_solve"](*inverse.inputs[:3], transpose(left), transposed=turned))


def _log_det(fgraph: FunctionGraph, node: Apply) -> Any:
    det = fgraph.definition(node.inputs[0], "lu_det")
    if det is None:
        return None
    sign, size = OPS["lu_slogdet"](*det.inputs)
    dtype = size.type.dtype.type
    return OPS["where"](OPS["less"](sign, 0), dtype(np.nan), size)


def _log_absolute_det(fgraph: FunctionGraph, node: Apply) -> Any:
    inner = fgraph.definition(node.inputs[0], "absolute")
    det = inner and fgraph.definition(inner.inputs[0], "lu_det")
    return det and OPS["lu_slogdet"](*det.inputs)[1]


def _diagonal_of_product(fgraph: FunctionGraph, node: Apply) -> Any:
    """An element (i, i) of a product, read once for each i of a loop: the product itself is not needed."""
    view, made = node.attrs["view"], _once(fgraph, node.inputs[0], "matmul")
    if made is None or view != element(2) or node.inputs[1] is not node.inputs[2]:
        return None
    x, y = made.inputs
    here, there = fgraph.site(node.outputs[0]), fgraph.site(made.outputs[0])
    if x.type.ndim != 2 or y.type.ndim != 2 or here is None or there is None:
        return None
    owner = here.block.owner
    if owner is None or not isinstance(owner.node, For) or owner.block is not there.block:
        return None
    i = node.inputs[1]
    if i is not here.block.params[0]:
        return None
    row = OPS["getitem"](x, i, view=View(("i", ":"), (0,)))
    column = OPS["getitem"](y, i, view=View((":", "i"), (0,)))
    return OPS["matmul"](row, column)


def _part_of_product(fgraph: FunctionGraph, node: Apply) -> Any:
    """Rows and columns of a product: of the other ones nothing is needed."""
    view, made = node.attrs["view"], _once(fgraph, node.inputs[0], "matmul")
    if made is None or view == whole(2) or not set(view.axes) <= {":", "i", 1} or view.axes == ("i", "i"):
        return None
    here, there = fgraph.site(node.outputs[0]), fgraph.site(made.outputs[0])
    kept = sum(a != "i" for a in view.axes)
    if here is None or there is None or here.block is not there.block or view.order != tuple(range(kept)):
        return None
    x, y = made.inputs
    own = split_operands(view, node.inputs[1:])
    if x.type.ndim == 2 and view.axes[0] != ":":
        x = OPS["getitem"](x, *own[0], view=View((view.axes[0], ":"), (0, 1) if view.axes[0] != "i" else (0,)))
    if y.type.ndim == 2 and view.axes[-1] != ":":
        y = OPS["getitem"](y, *own[-1], view=View((":", view.axes[-1]), (0, 1) if view.axes[-1] != "i" else (0,)))
    return OPS["matmul"](x, y)


def _part_of_product_example(a: Value, b: Value) -> Any:
    return OPS["getitem"](OPS["matmul"](a, b), 1, 2, 0, view=View((1, "i"), (0,)))


def _inverse_example(left: bool) -> Any:
    def example(a: Value, b: Value) -> Any:
        inverse = COMPOSITES["inv"](a)
        return OPS["matmul"](inverse, b) if left else OPS["matmul"](b, inverse)

    return example


def _det_example(a: Value) -> Any:
    lu, pivots, _ = OPS["lu_factor"](a)
    return OPS["log"](OPS["lu_det"](a, lu, pivots))


def _absolute_det_example(a: Value) -> Any:
    lu, pivots, _ = OPS["lu_factor"](a)
    return OPS["log"](OPS["absolute"](OPS["lu_det"](a, lu, pivots)))


STABLE: tuple[Rule, ...] = (
    procedure(
        "inverse_times",
        "inv(A) @ b",
        "solve(A, b)",
        "stability",
        ["matmul"],
        _inverse_times,
        _inverse_example(True),
        [(SQUARE, "f64[3]"), (SQUARE, "f64[3, 2]")],
        "matrices",
        condition="the inverse is read only here",
        any_dtype=True,
    ),
    procedure(
        "times_inverse",
        "b @ inv(A)",
        "solve(A.T, b.T).T",
        "stability",
        ["matmul"],
        _times_inverse,
        _inverse_example(False),
        [(SQUARE, "f64[3]"), (SQUARE, "f64[2, 3]")],
        "matrices",
        condition="the inverse is read only here",
        any_dtype=True,
    ),
    procedure(
        "log_determinant",
        "log(det(A))",
        "slogdet(A), NaN if negative",
        "stability",
        ["log"],
        _log_det,
        _det_example,
        [(SQUARE,)],
        "matrices",
    ),
    procedure(
        "log_absolute_determinant",
        "log(absolute(det(A)))",
        "slogdet(A)[1]",
        "stability",
        ["log"],
        _log_absolute_det,
        _absolute_det_example,
        [(SQUARE,)],
        "matrices",
    ),
)

CHEAPER: tuple[Rule, ...] = (
    procedure(
        "product_times_vector",
        "(A @ B) @ v",
        "A @ (B @ v)",
        "rounding",
        ["matmul"],
        _product_times_vector,
        lambda a, b, v: OPS["matmul"](OPS["matmul"](a, b), v),
        [("f64[3, 4]", "f64[4, 2]", "f64[2]")],
        "matrices",
        condition="A @ B is read only here",
        any_dtype=True,
    ),
    procedure(
        "vector_times_product",
        "v @ (A @ B)",
        "(v @ A) @ B",
        "rounding",
        ["matmul"],
        _vector_times_product,
        lambda v, a, b: OPS["matmul"](v, OPS["matmul"](a, b)),
        [("f64[3]", "f64[3, 4]", "f64[4, 2]")],
        "matrices",
        condition="A @ B is read only here",
        any_dtype=True,
    ),
    procedure(
        "common_matrix",
        "A @ B + (C @ A.T).T",
        "A @ (B + C.T)",
        "rounding",
        ["add", "add_at"],
        _common_matrix,
        _common_matrix_example,
        [("f64[3, 4]", "f64[4, 2]", "f64[2, 4]")],
        "matrices",
        condition="in derivatives; both products are read only here; also `B @ A + C @ A`",
        any_dtype=True,
    ),
    procedure(
        "diagonal_of_product",
        "(A @ B)[i, i] for each i",
        "A[i] @ B[:, i]",
        "rounding",
        ["getitem"],
        _diagonal_of_product,
        lambda a, b: COMPOSITES["trace"](OPS["matmul"](a, b)),
        [("f64[3, 4]", "f64[4, 3]")],
        "matrices",
        condition="nothing else of A @ B is read",
        any_dtype=True,
    ),
    procedure(
        "part_of_product",
        "(A @ B)[i:j, k:l]",
        "A[i:j] @ B[:, k:l]",
        "rounding",
        ["getitem"],
        _part_of_product,
        _part_of_product_example,
        [("f64[3, 4]", "f64[4, 2]")],
        "matrices",
        condition="nothing else of A @ B is read",
        any_dtype=True,
    ),
)
