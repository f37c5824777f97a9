"""Views: which elements they select, their text, stores through them, and views of views, against NumPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import srcgraph  # noqa: F401  (fills the table of ops)
from srcgraph.frontend.memory import compose
from srcgraph.ir.builder import Builder
from srcgraph.ir.dims import as_dim
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import OPS, building
from srcgraph.ir.ops.index import numpy_view
from srcgraph.ir.types import FLOAT, ArrayType
from srcgraph.ir.view import View, parse_view, view_shape

MANY = settings(max_examples=300, deadline=None, derandomize=True)


@st.composite
def indices(draw: Any, shape: tuple[int, ...], new_axes: bool = True) -> tuple[View, tuple[int, ...], Any]:
    """A view of an array of this shape, its operands, and the NumPy expression that means the same."""
    axes: list[Any] = []
    operands: list[int] = []
    index: list[Any] = []
    for size in shape:
        selector = draw(st.sampled_from([":", "i", 1, 2, -1, -2] if size else [":"]))
        axes.append(selector)
        if selector == ":":
            index.append(slice(None))
        elif selector == "i":
            operands.append(draw(st.integers(0, size - 1)))
            index.append(operands[-1])
        else:
            start = draw(st.integers(0, size - 1))
            room = (size - 1 - start) // selector + 1 if selector > 0 else start // -selector + 1
            length = draw(st.integers(0, room))
            operands += [start, length]
            index.append(np.arange(length) * selector + start)
    kept = sum(a != "i" for a in axes)
    order: list[int | None] = list(draw(st.permutations(range(kept))))
    if new_axes and draw(st.booleans()):
        order.insert(draw(st.integers(0, kept)), None)

    def meaning(x: np.ndarray) -> np.ndarray:
        for axis in reversed(range(len(shape))):
            x = np.take(x, index[axis], axis=axis) if not isinstance(index[axis], slice) else x
        x = np.transpose(x, [k for k in order if k is not None])
        for at, k in enumerate(order):
            x = np.expand_dims(x, at) if k is None else x
        return x

    return View(tuple(axes), tuple(order)), tuple(operands), meaning


SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(float(np.prod(shape))).reshape(shape)


@MANY
@given(st.data(), SHAPES)
def test_selected_elements(data: Any, shape: tuple[int, ...]) -> None:
    """The elements, the shape, and the memory: it is a view."""
    view, operands, meaning = data.draw(indices(shape))
    x = numbered(shape)
    part = numpy_view(x, operands, view)
    np.testing.assert_array_equal(part, meaning(x))
    assert np.shares_memory(part, x) or part.size == 0
    lengths = [as_dim(operands[k]) for k in _length_positions(view)]
    assert tuple(d.const for d in view_shape(view, tuple(map(as_dim, shape)), lengths)) == part.shape


def _length_positions(view: View) -> list[int]:
    found, at = [], 0
    for selector in view.axes:
        if selector == "i":
            at += 1
        elif selector != ":":
            found.append(at + 1)
            at += 2
    return found


@MANY
@given(st.data(), SHAPES)
def test_text_reads_back(data: Any, shape: tuple[int, ...]) -> None:
    view, _, _ = data.draw(indices(shape))
    assert parse_view(str(view)) == view


@MANY
@given(st.data(), SHAPES)
def test_stores(data: Any, shape: tuple[int, ...]) -> None:
    """`setitem` and `add_at` change the selected elements and no others; the operand stays as it was."""
    view, operands, meaning = data.draw(indices(shape))
    x = numbered(shape)
    value = -1.0 - numbered(meaning(x).shape)
    where = meaning(np.arange(x.size).reshape(shape)).ravel()
    for name, add in (("setitem", False), ("add_at", True)):
        want = x.copy().ravel()
        want[where] = value.ravel() + (want[where] if add else 0.0)
        np.testing.assert_array_equal(OPS[name].numpy(x, value, *operands, view=view), want.reshape(shape))
    np.testing.assert_array_equal(x, numbered(shape))


@MANY
@given(st.data(), SHAPES)
def test_view_of_view(data: Any, shape: tuple[int, ...]) -> None:
    """Composing two views selects what indexing twice does."""
    outer, outer_operands, outer_meaning = data.draw(indices(shape))
    x = numbered(shape)
    middle = outer_meaning(x)
    inner, inner_operands, inner_meaning = data.draw(indices(middle.shape, new_axes=None not in outer.order))
    b = Builder("compose")
    with building(b):
        base = b.param("x", ArrayType(FLOAT, tuple(map(as_dim, shape))))
        first, second = (list(map(b.const, operands)) for operands in (outer_operands, inner_operands))
        found = compose(SimpleNamespace(builder=b), outer, first, inner, second)
        if found is None:  # refused by the frontend: a slice of an axis made by None
            assert any(k is None and inner.axes[at] not in (":", "i") for at, k in enumerate(outer.order))
            return
        view, operands = found
        graph = b.finish([b.apply(OPS["getitem"], (base, *operands), {"view": view})])
    np.testing.assert_array_equal(interpret(graph, [x])[0], inner_meaning(middle))
