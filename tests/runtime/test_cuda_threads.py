"""Nests whose points run at once: what is shown of them, rewritten, and refused, on nests made by hand."""

from __future__ import annotations

import ast

import pytest

from srcgraph.codegen.expr import loop_index
from srcgraph.codegen.items import INDICES, Block, InnerReduce, Kernel, LoopReduce, LoopStore, ref, refs
from srcgraph.codegen.threads import in_threads
from srcgraph.errors import UnsupportedError
from srcgraph.ir.dims import as_dim, symbol
from srcgraph.ir.graph import Value
from srcgraph.ir.types import FLOAT, ArrayType

N, M = symbol("n"), symbol("m")
X = Value("x", ArrayType(FLOAT, (N, M)))
I, J = INDICES[:2]


def element(array: Value, *index: ast.expr) -> ast.expr:
    where = index[0] if len(index) == 1 else ast.Tuple(list(index), ast.Load())
    return ast.Subscript(ref(array), where, ast.Load())


def stored(at: tuple, index: tuple[ast.expr, ...], expr: ast.expr, combine: str = "") -> list:
    """What becomes of a nest over n and m that stores into an array."""
    base, out = (Value("y", ArrayType(FLOAT, (N,) * len(at))) for _ in range(2))
    dims = (N, M)
    sizes = (ast.Name("n", ast.Load()), ast.Name("m", ast.Load()))
    block = Block([Kernel(dims, [LoopStore(out, base, at, index, expr, combine)], sizes)], [], [], [])
    in_threads(block)
    return block.items


def test_each_point_its_own_place() -> None:
    i, j = loop_index((N, M))
    (kernel,) = stored((i + 1, j * 2), (ref(I), ref(J)), element(X, ref(I), ref(J)), "add")
    assert isinstance(kernel.parts[0], LoopStore) and len(kernel.extents) == 2


def test_a_row_into_one_place_is_a_loop_in_a_thread() -> None:
    _, j = loop_index((N, M))
    (kernel,) = stored((j,), (ref(J),), element(X, ref(I), ref(J)), "add")
    inner, store = kernel.parts
    assert isinstance(inner, InnerReduce) and ast.unparse(inner.extents[0]) == "n"
    assert [e.value.name for e in inner.expr.slice.elts] == ["j", "i"]  # type: ignore[attr-defined]
    assert [v.name for v in refs(store.index[0])] == ["i"]
    assert [ast.unparse(e) for e in kernel.extents] == ["m"]


def test_a_place_that_may_not_be_there_is_left_alone() -> None:
    """``y[j, 0] += x[i, j]`` stores nothing where there is no ``i``."""
    _, j = loop_index((N, M))
    (kernel,) = stored((j, as_dim(0)), (ref(J), ast.Constant(0)), element(X, ref(I), ref(J)), "add")
    assert [ast.unparse(e) for e in kernel.extents] == ["m if n > 0 else 0"]


def test_all_into_one_place_is_a_reduction_and_a_store() -> None:
    total, kernel = stored((as_dim(0),), (ast.Constant(0),), element(X, ref(I), ref(J)), "maximum")
    assert isinstance(total.parts[0], LoopReduce) and total.parts[0].combine == "maximum"
    assert [ast.unparse(e) for e in kernel.extents] == ["1 if n > 0 and m > 0 else 0"]


@pytest.mark.parametrize(
    ("at", "combine"),
    [
        ((symbol("@0") + symbol("@1"),), "add"),
        ((symbol("@0") * symbol("k"), symbol("@1")), "add"),
        ((symbol("@0") * symbol("@1"), symbol("@1")), "add"),
        ((symbol("@0"),), ""),
    ],
)
def test_places_that_threads_may_share_are_refused(at: tuple, combine: str) -> None:
    with pytest.raises(UnsupportedError, match="store into one place"):
        stored(at, tuple(ref(I) for _ in at), element(X, ref(I), ref(J)), combine)


def test_reading_what_another_thread_stores_is_refused() -> None:
    y = Value("y", ArrayType(FLOAT, (N, M)))
    out = Value("y", ArrayType(FLOAT, (N, M)))
    sizes = (ast.Name("n", ast.Load()), ast.Name("m", ast.Load()))
    later = ast.BinOp(ref(J), ast.Add(), ast.Constant(1))
    for index, fine in ((ref(J), True), (later, False)):
        store = LoopStore(out, y, loop_index((N, M)), (ref(I), ref(J)), element(y, ref(I), index))
        block = Block([Kernel((N, M), [store], sizes)], [], [], [])
        if fine:
            in_threads(block)
        else:
            with pytest.raises(UnsupportedError, match="a place that another one stores into"):
                in_threads(block)
